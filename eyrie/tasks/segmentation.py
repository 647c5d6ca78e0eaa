# SPDX-License-Identifier: Apache-2.0
"""Segmentation: a class for each pixel."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from PIL import Image

from eyrie.compiler.ir.graph import Graph
from eyrie.runtime.pictures import Area, Fit, Source
from eyrie.runtime.preprocessing import has_channels_first
from eyrie.tasks.drawing import PAPER, Canvas, colour_of
from eyrie.tasks.task import Answer, Category, Question, Task, ends_in, last_node

LEAST = 0.0005  # share of the pixels from which a class is mentioned


@dataclass(frozen=True, eq=False)
class Segmentation(Answer):
    """The classes of the pixels of a picture.

    mask        numbers of the classes, [H, W] of the picture
    categories  the classes of the mask, the largest first; the score is the share of the pixels
    """

    mask: np.ndarray
    categories: tuple[Category, ...]

    def lines(self) -> list[str]:
        return [f"{each.name} {100 * each.score:.1f} % of the pixels" for each in self._named()]

    def _named(self) -> list[Category]:
        return [each for each in self.categories if each.score >= LEAST]

    def draw(self, picture: Source) -> Image.Image:
        canvas = Canvas(picture, (self.mask.shape[1], self.mask.shape[0]))
        for each in self._named():
            if each.index:
                canvas.tint(self.mask == each.index, colour_of(each.index))
        rows = zip(self._named(), self.lines())
        return canvas.captioned(
            [(colour_of(each.index), line) if each.index else (PAPER, f"{line}, not coloured") for each, line in rows]
        )


@dataclass(frozen=True)
class ClassMap(Task):
    """A map of scores for each class, or of the classes themselves (from ARG_MAX).

    Class 0 is not coloured: it is the background of most networks.
    """

    name: ClassVar[str] = "segmentation"
    needs: ClassVar[str] = "a map of classes from ARG_MAX, or of scores from SOFTMAX in the input's size"
    fit: ClassVar[Fit] = "pad"

    classes: int
    axis: int = 3  # of the scores for each class

    @classmethod
    def of(cls, graph: Graph, certain: bool) -> Self | None:
        if len(graph.results) != 1 or len(graph.arguments) != 1 or len(graph.input.shape) != 4:
            return None
        output, shape = graph.output, graph.output.shape
        if output.dtype in ("int32", "int64"):
            node = last_node(graph, output)
            flat = len(shape) == 3 and shape[0] == 1
            if node is None or node.operator.name != "ARG_MAX" or not flat or node.inputs[0].shape[:3] != shape:
                return None
            return cls(node.inputs[0].shape[-1])
        axis, rows = (1, 2) if has_channels_first(graph.input) else (3, 1)
        if len(shape) != 4 or shape[0] != 1 or shape[axis] < 2:
            return None
        size = slice(rows, rows + 2)
        whole = shape[size] == graph.input.shape[size] and ends_in(graph, output, "SOFTMAX")
        return cls(shape[axis], axis) if whole or certain else None

    def answer(self, outputs: Sequence[np.ndarray], question: Question) -> Segmentation:
        [found] = outputs[0].argmax(self.axis) if outputs[0].ndim == 4 else outputs[0]
        mask = on_picture(found.astype(np.uint16), question.seen)
        counts = np.bincount(mask.reshape(-1), minlength=self.classes) / mask.size
        order = [int(n) for n in np.argsort(-counts, kind="stable") if counts[n]]
        return Segmentation(mask, tuple(question.category(n, counts[n]) for n in order))


def on_picture(values: np.ndarray, area: Area) -> np.ndarray:
    """Return a map of the input, [h, w], as a map of the picture, [H, W]: the nearest value for each pixel."""
    width, height = area.size
    rows = (np.arange(height) + 0.5 - area.top) / (area.bottom - area.top) * values.shape[0]
    columns = (np.arange(width) + 0.5 - area.left) / (area.right - area.left) * values.shape[1]
    places = (np.clip(each.astype(int), 0, most - 1) for each, most in zip((rows, columns), values.shape))
    return values[np.ix_(*places)]
