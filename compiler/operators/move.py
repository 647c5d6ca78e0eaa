# SPDX-License-Identifier: Apache-2.0
"""The base class of data-movement operators. They take tensors of any type, and copy values without regard to their
scale."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from eyrie.compiler.ir.graph import Node
from eyrie.compiler.ir.layer import Group
from eyrie.compiler.ir.maps import Map
from eyrie.compiler.ir.operator import Arrays, Tensors, only
from eyrie.compiler.ir.tensor import Form, Tensor
from eyrie.compiler.operators.moves import Unmovable, move_groups, moves_of
from eyrie.compiler.operators.record import Record, Site

if TYPE_CHECKING:
    from eyrie.compiler.frontend.tflite.reader import Call


def movable(site: Site) -> str:
    """values are moved pixel by pixel in loops, and channel by channel"""
    if not has_one_scale(site.node):
        return "with a change of scale"
    try:
        moves_of(site.node)
    except Unmovable as error:
        return str(error)
    return ""


def has_one_scale(node: Node) -> bool:
    return len({getattr(tensor, "quantization", None) for tensor in (*node.inputs, *node.outputs)}) == 1


class Movement(Record):
    """A data-movement operator."""

    moves = takes_codes = keeps_scale = True
    constraints = (movable,)

    @classmethod
    def inputs(cls, call: "Call") -> tuple[Tensor, ...]:
        return (call.tensor(0),)

    def groups(self, node: Node, maps: Mapping[str, Map]) -> list[Group]:
        return move_groups(node, maps)


class Move(Movement):
    """A data-movement operator from one tensor to one of the same type."""

    def infer(self, inputs: Tensors) -> tuple[Form, ...]:
        (source,) = only(inputs)
        return (Form(source.dtype, tuple(map(int, self.shape(source.shape)))),)

    @abstractmethod
    def shape(self, source: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape of the result. Raise InputError if the source does not fit."""

    def run(self, values: Arrays, inputs: Tensors, outputs: Tensors) -> Arrays:
        return (self.move(values[0]),)

    @abstractmethod
    def move(self, values: np.ndarray) -> np.ndarray: ...
