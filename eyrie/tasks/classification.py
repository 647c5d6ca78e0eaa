# SPDX-License-Identifier: Apache-2.0
"""Classification of a picture or a sound: an output with a score for each class."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from PIL import Image

from eyrie.compiler.ir.graph import Graph
from eyrie.runtime.pictures import Fit, Source
from eyrie.runtime.report.about import softmax
from eyrie.tasks.drawing import Canvas
from eyrie.tasks.task import Answer, Category, Question, Task, ends_in

SHOWN = 5  # classes in words


@dataclass(frozen=True)
class Classification(Answer):
    """The classes of a picture or a sound. categories: all classes, the highest score first"""

    categories: tuple[Category, ...]

    @property
    def best(self) -> Category:
        """Return the class with the highest score."""
        return self.categories[0]

    def lines(self) -> list[str]:
        return [f"{each.name} {each.score:.3f}" for each in self.categories[:SHOWN]]

    def draw(self, picture: Source) -> Image.Image:
        return Canvas(picture).captioned([(None, str(each)) for each in self.categories[:3]])


@dataclass(frozen=True)
class ClassVector(Task):
    """A vector with a score for each class.

    It is certain if SOFTMAX or LOGISTIC computes it. Other vectors may be features or measurements: if the user calls
    them a classification, they are logits.

    classes  length of the vector
    logits   whether softmax is still to be applied
    """

    name: ClassVar[str] = "classification"
    needs: ClassVar[str] = "one output that is a vector of scores, from SOFTMAX or LOGISTIC"
    fit: ClassVar[Fit] = "square"

    classes: int
    logits: bool

    @classmethod
    def of(cls, graph: Graph, certain: bool) -> Self | None:
        if len(graph.results) != 1 or graph.results[0].size not in graph.results[0].shape:
            return None
        [output] = graph.results
        scores = ends_in(graph, output, "SOFTMAX", "LOGISTIC")
        return cls(output.size, not scores) if scores or (certain and output.size > 1) else None

    def answer(self, outputs: Sequence[np.ndarray], question: Question) -> Classification:
        scores = outputs[0].reshape(-1).astype(float)
        scores = softmax(scores) if self.logits else scores
        order = np.argsort(-scores, kind="stable")
        return Classification(tuple(question.category(int(n), scores[n]) for n in order))
