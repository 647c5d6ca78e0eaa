# SPDX-License-Identifier: Apache-2.0
"""Poses of people: the 17 keypoints of COCO, as networks give them.

Sources: https://www.tensorflow.org/hub/tutorials/movenet, https://github.com/google-coral/project-posenet.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from PIL import Image

from eyrie.compiler.ir.graph import Graph
from eyrie.compiler.operators.poses import DecodePoses
from eyrie.runtime.pictures import Fit, Source
from eyrie.tasks.drawing import Canvas, colour_of
from eyrie.tasks.task import Answer, Question, Task

THRESHOLD = 0.3
KEYPOINTS = (
    *("nose", "left eye", "right eye", "left ear", "right ear", "left shoulder", "right shoulder", "left elbow"),
    *("right elbow", "left wrist", "right wrist", "left hip", "right hip", "left knee", "right knee", "left ankle"),
    "right ankle",
)
BONES = (
    *((0, 1), (0, 2), (1, 3), (2, 4), (5, 6), (5, 7), (7, 9), (6, 8), (8, 10)),
    *((5, 11), (6, 12), (11, 12), (11, 13), (13, 15), (12, 14), (14, 16)),
)
_BONE_COLOURS = (0, 3, 4, 5, 6, 7)  # of one person after the other


@dataclass(frozen=True)
class Keypoint:
    """A keypoint. x, y: in pixels of the picture"""

    name: str
    x: float
    y: float
    score: float

    def __str__(self) -> str:
        return f"{self.name} {self.score:.2f} at ({self.x:.0f}, {self.y:.0f})"


@dataclass(frozen=True)
class Person:
    """A person. keypoints: all 17, in the order of COCO: nose, left eye, right eye, ..."""

    keypoints: tuple[Keypoint, ...]


@dataclass(frozen=True)
class Poses(Answer):
    """The poses of people.

    people     the surest first
    size       width and height of the picture
    threshold  keypoints of a lower score are neither named nor drawn
    """

    people: tuple[Person, ...]
    size: tuple[int, int]
    threshold: float

    def lines(self) -> list[str]:
        several = len(self.people) > 1
        found = [
            f"{f'person {number}: ' if several else ''}{keypoint}"
            for number, person in enumerate(self.people, 1)
            for keypoint in person.keypoints
            if keypoint.score >= self.threshold
        ]
        return found or [f"no keypoint with a score of {self.threshold:g} or more"]

    def draw(self, picture: Source) -> Image.Image:
        canvas, any_seen = Canvas(picture, self.size), False
        for number, person in enumerate(self.people):
            seen = {n: point for n, point in enumerate(person.keypoints) if point.score >= self.threshold}
            any_seen |= bool(seen)
            for start, end in BONES:
                if start in seen and end in seen:
                    ends = (seen[start].x, seen[start].y), (seen[end].x, seen[end].y)
                    canvas.line(*ends, colour_of(_BONE_COLOURS[number % len(_BONE_COLOURS)]))
            for n, point in seen.items():
                canvas.dot((point.x, point.y), colour_of(1 if KEYPOINTS[n].startswith("left") else 2))
        rows = [(colour_of(1), "left"), (colour_of(2), "right, and the nose")]
        return canvas.captioned(rows if any_seen else [(None, line) for line in self.lines()])


@dataclass(frozen=True)
class MoveNet(Task):
    """Rows of y, x and score for 17 keypoints, the places as fractions of the input."""

    name: ClassVar[str] = "pose"
    needs: ClassVar[str] = "one output 1 x 1 x 17 x 3 of MoveNet"
    fit: ClassVar[Fit] = "pad"

    classes: int = 0

    @classmethod
    def of(cls, graph: Graph, certain: bool) -> Self | None:
        return cls() if [output.shape for output in graph.results] == [(1, 1, len(KEYPOINTS), 3)] else None

    def answer(self, outputs: Sequence[np.ndarray], question: Question) -> Poses:
        return Poses((_person(outputs[0].reshape(-1, 3), question),), question.seen.size, question.least(THRESHOLD))


@dataclass(frozen=True)
class PoseNet(Task):
    """The outputs of PosenetDecoderOp: keypoints, their scores, scores of poses and their number.

    size   height and width of the input
    order  the numbers of these four among the outputs of the model
    """

    name: ClassVar[str] = "pose"
    needs: ClassVar[str] = "the outputs of PosenetDecoderOp"
    fit: ClassVar[Fit] = "pad"

    size: tuple[int, int]
    order: tuple[int, ...]
    classes: int = 0

    @classmethod
    def of(cls, graph: Graph, certain: bool) -> Self | None:
        names = [output.name for output in graph.results]
        for node in graph.nodes:
            made = [output.name for output in node.outputs[:4]]
            if isinstance(node.operator, DecodePoses) and len(graph.arguments) == 1 and set(made) <= set(names):
                _, height, width, _ = graph.input.shape
                return cls((height, width), tuple(names.index(name) for name in made))
        return None

    def answer(self, outputs: Sequence[np.ndarray], question: Question) -> Poses:
        places, scores, _, count = (outputs[n] for n in self.order)
        # Places are cells times the stride; the first and the last cell lie on the edges of the input.
        rows = np.concatenate([places[0] / (np.array(self.size) - 1), scores[0, ..., None]], axis=-1)
        people = tuple(_person(row, question) for row in rows[: int(count[0])])
        return Poses(people, question.seen.size, question.least(THRESHOLD))


def _person(rows: np.ndarray, question: Question) -> Person:
    """Return a person. rows: y, x and score of each keypoint, places as fractions of the input"""
    return Person(
        tuple(
            Keypoint(name, *question.seen.place(x, y), score)
            for name, (y, x, score) in zip(KEYPOINTS, rows.astype(float).tolist(), strict=True)
        )
    )
