# SPDX-License-Identifier: Apache-2.0
"""The base classes: a task reads the outputs of a network, and its answer has words and a drawing."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from PIL import Image

from eyrie.compiler.ir.graph import Graph, Node
from eyrie.compiler.ir.tensor import Quantized, Tensor
from eyrie.runtime.inputs import is_unsigned
from eyrie.runtime.pictures import Area, Fit, Source

# Operators that change the type or the shape of values, but not their meaning.
CARRIERS = ("QUANTIZE", "DEQUANTIZE", "RESHAPE", "SQUEEZE")


@dataclass(frozen=True)
class Category:
    """A class and its score. name: its label, or its number if no labels are known"""

    index: int
    name: str
    score: float

    def __str__(self) -> str:
        return f"{self.name} {self.score:.2f}"


class Answer(ABC):
    """The answer of a network."""

    @abstractmethod
    def lines(self) -> list[str]:
        """Return the answer in words."""

    @abstractmethod
    def draw(self, picture: Source) -> Image.Image:
        """Return the picture, 800 pixels on its longer side, with the answer drawn into it.

        picture: the file or image of Pillow that was given to the network. Raise InputError, with one line, if it has
        another size.
        """

    def __str__(self) -> str:
        return "\n".join(self.lines())


@dataclass(frozen=True)
class Question:
    """The circumstances of an answer.

    labels     class names, or None
    area       the part of the picture that the network saw; None for a sound
    threshold  the score from which boxes and keypoints count; None for the task's own
    """

    labels: Sequence[str] | None = None
    area: Area | None = None
    threshold: float | None = None

    @property
    def seen(self) -> Area:
        """Return the area of a picture."""
        assert self.area is not None
        return self.area

    def least(self, own: float) -> float:
        """Return the threshold; own: of the task"""
        return own if self.threshold is None else self.threshold

    def category(self, index: int, score: float) -> Category:
        return Category(index, self.labels[index] if self.labels else f"#{index}", float(score))


class Task(ABC):
    """The meaning of a network's outputs.

    name     as for --task
    needs    the outputs that it is recognised by, for messages
    fit      how a picture is fitted to the input: as the networks of this task were trained
    classes  the number of classes that labels name; 0: there are none
    """

    name: ClassVar[str]
    needs: ClassVar[str]
    fit: ClassVar[Fit]
    classes: int

    @classmethod
    @abstractmethod
    def of(cls, graph: Graph, certain: bool) -> Self | None:
        """Return the task if the outputs of a network fit it. certain: the user has named the task"""

    @abstractmethod
    def answer(self, outputs: Sequence[np.ndarray], question: Question) -> Answer:
        """Return the answer. outputs: of the model's shapes, in its order; quantised ones as real numbers"""


def real(tensor: Tensor, values: np.ndarray) -> np.ndarray:
    """Return an output, in the model's type, as real numbers if it is quantised; of the model's shape."""
    values = values.reshape(tensor.shape)
    if not isinstance(tensor, Quantized):
        return values
    zero_point = tensor.zero_point + (128 if is_unsigned(tensor) else 0)
    return (values.astype(float) - zero_point) * tensor.quantization.scale


def last_node(graph: Graph, tensor: Tensor) -> Node | None:
    """Return the node that computes the values of a tensor, before nodes that only carry them."""
    makers = {output.name: node for node in graph.nodes for output in node.outputs}
    node = makers.get(tensor.name)
    while node and node.operator.name in CARRIERS and node.inputs[0].name in makers:
        node = makers[node.inputs[0].name]
    return node


def ends_in(graph: Graph, tensor: Tensor, *operators: str) -> bool:
    """Return whether one of the operators computes a tensor, along the same last axis."""
    node = last_node(graph, tensor)
    return bool(node and node.operator.name in operators and node.outputs[0].shape[-1] == tensor.shape[-1])
