# SPDX-License-Identifier: Apache-2.0
"""Pose of a person: the 17 keypoints of COCO, as MoveNet gives them (https://www.tensorflow.org/hub/tutorials/movenet)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from PIL import Image

from eyrie.compiler.ir.graph import Graph
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
class Pose(Answer):
    """The keypoints of a person.

    keypoints  all 17, in the order of COCO: nose, left eye, right eye, ...
    size       width and height of the picture
    threshold  keypoints of a lower score are neither named nor drawn
    """

    keypoints: tuple[Keypoint, ...]
    size: tuple[int, int]
    threshold: float

    def lines(self) -> list[str]:
        found = [str(keypoint) for keypoint in self.keypoints if keypoint.score >= self.threshold]
        return found or [f"no keypoint with a score of {self.threshold:g} or more"]

    def draw(self, picture: Source) -> Image.Image:
        canvas = Canvas(picture, self.size)
        seen = {n: keypoint for n, keypoint in enumerate(self.keypoints) if keypoint.score >= self.threshold}
        for start, end in BONES:
            if start in seen and end in seen:
                canvas.line((seen[start].x, seen[start].y), (seen[end].x, seen[end].y), colour_of(0))
        for n, keypoint in seen.items():
            canvas.dot((keypoint.x, keypoint.y), colour_of(1 if KEYPOINTS[n].startswith("left") else 2))
        rows = [(colour_of(1), "left"), (colour_of(2), "right, and the nose")]
        return canvas.captioned(rows if seen else [(None, line) for line in self.lines()])


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

    def answer(self, outputs: Sequence[np.ndarray], question: Question) -> Pose:
        rows = outputs[0].reshape(len(KEYPOINTS), 3).astype(float).tolist()
        keypoints = [Keypoint(name, *question.seen.place(x, y), score) for name, (y, x, score) in zip(KEYPOINTS, rows)]
        return Pose(tuple(keypoints), question.seen.size, question.least(THRESHOLD))
