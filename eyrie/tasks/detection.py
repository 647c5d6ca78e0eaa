# SPDX-License-Identifier: Apache-2.0
"""Detection: boxes around objects."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from ai_edge_litert import schema_py_generated as schema
from flatbuffers import flexbuffers  # type: ignore[import-untyped]  # the package has no types
from PIL import Image

from eyrie.compiler.ir.graph import Graph
from eyrie.compiler.operators.interpreted import Interpreted
from eyrie.runtime.pictures import Area, Fit, Source
from eyrie.tasks.drawing import Canvas, Place, colour_of
from eyrie.tasks.task import Answer, Category, Question, Task, ends_in

THRESHOLD = 0.5


@dataclass(frozen=True)
class Box:
    """A box around an object.

    left, top, right, bottom  in pixels of the picture
    keypoints                 (x, y) in pixels of the picture, if the network has them
    """

    left: float
    top: float
    right: float
    bottom: float
    category: Category
    keypoints: tuple[Place, ...] = ()

    def __str__(self) -> str:
        return f"{self.category} from ({self.left:.0f}, {self.top:.0f}) to ({self.right:.0f}, {self.bottom:.0f})"


@dataclass(frozen=True)
class Detection(Answer):
    """The objects in a picture.

    boxes      the highest score first
    size       width and height of the picture
    threshold  no box has a lower score
    """

    boxes: tuple[Box, ...]
    size: tuple[int, int]
    threshold: float

    def lines(self) -> list[str]:
        return [*map(str, self.boxes)] or [f"no object with a score of {self.threshold:g} or more"]

    def draw(self, picture: Source) -> Image.Image:
        canvas = Canvas(picture, self.size)
        for box in reversed(self.boxes):
            colour = colour_of(box.category.index)
            canvas.box(box.left, box.top, box.right, box.bottom, str(box.category), colour)
            for point in box.keypoints:
                canvas.dot(point, colour)
        return canvas.captioned([] if self.boxes else [(None, line) for line in self.lines()])


def box_in(area: Area, edges: Sequence[float], category: Category, points: Iterable[tuple[float, float]] = ()) -> Box:
    """Return a box within the picture. edges: left, top, right, bottom, as fractions of the input, as are points"""
    corners = [area.place(*edges[:2]), area.place(*edges[2:])]
    (left, top), (right, bottom) = (
        tuple(min(max(float(place), 0.0), float(most)) for place, most in zip(corner, area.size)) for corner in corners
    )
    return Box(left, top, right, bottom, category, tuple(area.place(float(x), float(y)) for x, y in points))


def detected(boxes: Iterable[Box], area: Area, threshold: float) -> Detection:
    """Return the boxes that lie in the picture, the highest score first."""
    kept = [box for box in boxes if box.right > box.left and box.bottom > box.top]
    return Detection(tuple(sorted(kept, key=lambda box: -box.category.score)), area.size, threshold)


@dataclass(frozen=True)
class PostProcess(Task):
    """The outputs of TFLite_Detection_PostProcess: boxes, classes, scores and their number.

    classes  without the background
    order    the numbers of these four among the outputs of the model
    """

    name: ClassVar[str] = "detection"
    needs: ClassVar[str] = "the four outputs of TFLite_Detection_PostProcess"
    fit: ClassVar[Fit] = "stretch"

    classes: int
    order: tuple[int, ...]

    @classmethod
    def of(cls, graph: Graph, certain: bool) -> Self | None:
        names = [output.name for output in graph.results]
        for node in graph.nodes:
            made = [output.name for output in node.outputs]
            operator = node.operator
            if isinstance(operator, Interpreted) and operator.name == "TFLite_Detection_PostProcess":
                if set(made) == set(names):
                    return cls(_classes(operator), tuple(names.index(name) for name in made))
        return None

    def answer(self, outputs: Sequence[np.ndarray], question: Question) -> Detection:
        boxes, classes, scores, count = (outputs[n].reshape(-1, 4 if n == self.order[0] else 1) for n in self.order)
        threshold = question.least(THRESHOLD)
        found = []
        for n in range(round(float(count[0, 0]))):
            top, left, bottom, right = boxes[n]
            if scores[n, 0] >= threshold:
                category = question.category(int(classes[n, 0]), scores[n, 0])
                found.append(box_in(question.seen, (left, top, right, bottom), category))
        return detected(found, question.seen, threshold)


def _classes(operator: Interpreted) -> int:
    """Return the option num_classes of TFLite_Detection_PostProcess."""
    model = schema.ModelT.InitFromPackedBuf(operator.model.tobytes())
    return int(flexbuffers.Loads(bytes(list(model.subgraphs[0].operators[0].customOptions)))["num_classes"])


@dataclass(frozen=True)
class HeatMap(Task):
    """A map of class probabilities for cells of 8 x 8 pixels, class 0 the background (FOMO of Edge Impulse).

    Cells of a class that touch each other are one object. Its box has the extent of the cells: the network gives no
    size of the object.
    """

    name: ClassVar[str] = "detection"
    needs: ClassVar[str] = "a map from SOFTMAX at 1/8 of the input's size"
    fit: ClassVar[Fit] = "square"

    classes: int

    @classmethod
    def of(cls, graph: Graph, certain: bool) -> Self | None:
        if len(graph.results) != 1 or len(graph.arguments) != 1:
            return None
        shape, given = graph.output.shape, graph.input.shape
        if len(shape) != 4 or len(given) != 4 or shape[3] < 2 or not ends_in(graph, graph.output, "SOFTMAX"):
            return None
        return cls(shape[3]) if (8 * shape[1], 8 * shape[2]) == given[1:3] else None

    def answer(self, outputs: Sequence[np.ndarray], question: Question) -> Detection:
        [scores], threshold = outputs[0], question.least(THRESHOLD)
        rows, columns, classes = scores.shape
        found = []
        for index in range(1, classes):
            for cells in _regions(scores[..., index] >= threshold):
                (top, left), (bottom, right) = cells.min(0), cells.max(0) + 1
                edges = (left / columns, top / rows, right / columns, bottom / rows)
                score = scores[cells[:, 0], cells[:, 1], index].max()
                found.append(box_in(question.seen, edges, question.category(index, score)))
        return detected(found, question.seen, threshold)


def _regions(cells: np.ndarray) -> list[np.ndarray]:
    """Return the connected regions of a map, bool [H, W]: arrays [N, 2] of rows and columns. Corners connect."""
    left, found = set(zip(*(axis.tolist() for axis in np.nonzero(cells)))), []
    while left:
        region, border = [], [left.pop()]
        while border:
            row, column = border.pop()
            region.append((row, column))
            near = {(row + down, column + right) for down in (-1, 0, 1) for right in (-1, 0, 1)} & left
            left -= near
            border += near
        found.append(np.array(region))
    return found
