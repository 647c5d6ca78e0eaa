# SPDX-License-Identifier: Apache-2.0
"""The interface of records of operators to the Graph in progress."""

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np

from eyrie.compiler.ir.operator import Operator
from eyrie.compiler.ir.qdq.network import Operation
from eyrie.compiler.ir.qdq.values import Held, Made, Real, Target
from eyrie.compiler.ir.tensor import Tensor
from eyrie.model.operators.quantization import Quantization


class Rejected(Exception):
    """An operator that has no translation, with the reason."""

    def __init__(self, operation: Operation, reason: str) -> None:
        super().__init__(reason)
        self.operation, self.reason = operation, reason


class Fold(ABC):
    """The nodes of the Graph so far, and the names of their tensors."""

    @abstractmethod
    def emit(self, real: Real, target: Target) -> Held:
        """Return the tensor of a float value in a scale. Raise Rejected."""

    @abstractmethod
    def operand(self, real: Real) -> Held:
        """Return an input that has a scale of its own. Raise Unsupported or Rejected."""

    @abstractmethod
    def scale_of(self, made: Made) -> Quantization | None:
        """Return the scale of a value that is moved, pooled or clipped from codes of one scale, None for another
        value."""

    @abstractmethod
    def node(
        self,
        where: str,
        operator: Operator,
        inputs: tuple[Tensor, ...],
        shape: tuple[int, ...],
        axes: tuple[int, ...],
        target: Target,
    ) -> Held:
        """Add a node with one output, which has this shape and these axes, and return the output."""

    @abstractmethod
    def lookup(self, operation: Operation, source: Held, entries: np.ndarray, target: Target) -> Held:
        """Return the result of a table on a tensor, or the tensor itself if the table changes no value."""

    @abstractmethod
    def rescaled(self, operation: Operation, source: Held, target: Target) -> Held:
        """Return a tensor in another scale, with an activation."""

    @abstractmethod
    def constant(self, codes: np.ndarray, target: Target) -> Held:
        """Return a tensor of int8 codes, with axes in the framework's order."""

    @abstractmethod
    def ordered(self, held: Held, order: tuple[int, ...], where: str, name: str = "") -> Tensor:
        """Return the tensor whose axis n is the framework's axis order[n]."""


Rule = Callable[[Fold, Made, Target], Held]  # the tensor that a float value becomes
