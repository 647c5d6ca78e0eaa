# SPDX-License-Identifier: Apache-2.0
"""Detection of faces by BlazeFace (Bazarevsky et al., "BlazeFace: Sub-millisecond Neural Face Detection on Mobile
GPUs", 2019; MediaPipe's short-range model of 128 x 128 pixels)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from eyrie.compiler.ir.graph import Graph
from eyrie.runtime.pictures import Fit
from eyrie.tasks.detection import THRESHOLD, Box, Detection, box_in, detected
from eyrie.tasks.task import Question, Task

SIDE = 128  # pixels of the input, which the outputs count in
GRIDS = ((16, 2), (8, 6))  # cells a side, anchors a cell
VALUES = 16  # of an anchor: centre x, y, width, height, and six points x, y
OVERLAP = 0.3  # of two boxes of one face: intersection over union


@dataclass(frozen=True)
class BlazeFace(Task):
    """Boxes and scores of the anchors of BlazeFace.

    classes  faces only
    boxes    numbers of the outputs with boxes, in the order of the anchors
    scores   numbers of the outputs with scores, logits
    """

    name: ClassVar[str] = "detection"
    needs: ClassVar[str] = "the outputs of BlazeFace for 896 anchors, of 128 x 128 pixels"
    fit: ClassVar[Fit] = "pad"

    boxes: tuple[int, ...]
    scores: tuple[int, ...]
    classes: int = 1

    @classmethod
    def of(cls, graph: Graph, certain: bool) -> Self | None:
        shapes = [output.shape for output in graph.results]
        if [tensor.shape for tensor in graph.arguments] != [(1, SIDE, SIDE, 3)]:
            return None
        for counts in ([size * size * anchors for size, anchors in GRIDS], [len(anchor_centres())]):
            wanted = [(1, count, values) for values in (VALUES, 1) for count in counts]
            if sorted(shapes) == sorted(wanted):
                numbers = tuple(map(shapes.index, wanted))
                return cls(numbers[: len(counts)], numbers[len(counts) :])
        return None

    def answer(self, outputs: Sequence[np.ndarray], question: Question) -> Detection:
        threshold = question.least(THRESHOLD)
        values = np.concatenate([outputs[n][0] for n in self.boxes]).astype(float) / SIDE
        logits = np.concatenate([outputs[n].reshape(-1) for n in self.scores]).astype(float)
        scores = 1 / (1 + np.exp(-np.clip(logits, -100, 100)))
        kept = np.flatnonzero(scores >= threshold)
        question = replace(question, labels=question.labels or ("face",))
        centres = anchor_centres()
        found: list[Box] = []
        for n in kept[np.argsort(-scores[kept], kind="stable")]:
            x, y = centres[n] + values[n, :2]
            wide, high = values[n, 2:4] / 2
            points = centres[n] + values[n, 4:].reshape(-1, 2)
            edges = (x - wide, y - high, x + wide, y + high)
            box = box_in(question.seen, edges, question.category(0, scores[n]), points)
            if all(overlap(box, other) < OVERLAP for other in found):
                found.append(box)
        return detected(found, question.seen, threshold)


def anchor_centres() -> np.ndarray:
    """Return the centres of the anchors, [896, 2] of x, y, as fractions of the input."""
    made = []
    for side, anchors in GRIDS:
        centres = (np.arange(side) + 0.5) / side
        x, y = np.meshgrid(centres, centres)
        made.append(np.repeat(np.stack([x, y], -1).reshape(-1, 2), anchors, 0))
    return np.concatenate(made)


def overlap(first: Box, second: Box) -> float:
    """Return the intersection of two boxes over their union."""
    wide = min(first.right, second.right) - max(first.left, second.left)
    high = min(first.bottom, second.bottom) - max(first.top, second.top)
    shared = max(wide, 0) * max(high, 0)
    both = sum((box.right - box.left) * (box.bottom - box.top) for box in (first, second))
    return shared / (both - shared) if shared else 0.0
