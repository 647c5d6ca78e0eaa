# SPDX-License-Identifier: Apache-2.0
"""The base class of elementwise operators of two tensors."""

from abc import abstractmethod
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from eyrie.compiler.ir.failure import Unsupported
from eyrie.compiler.ir.feature_map import split_channels, words_of
from eyrie.compiler.ir.graph import Node
from eyrie.compiler.ir.operator import Tensors, expect, int8, only
from eyrie.compiler.ir.qdq.fold import Fold
from eyrie.compiler.ir.qdq.values import Coded, Held, Known, Made, Target, int8_codes
from eyrie.compiler.ir.tensor import Constant, Form, Tensor
from eyrie.compiler.ir.word_operation import WordOperation
from eyrie.compiler.kernel_calls.axes import Walk, broadcast
from eyrie.compiler.kernel_calls.scales import scale_of, scaling, zero_point_of
from eyrie.compiler.kernel_calls.steps import Fields, Real
from eyrie.compiler.operators.folding import common_axes
from eyrie.compiler.operators.parts import Tile
from eyrie.compiler.operators.record import Constraint, Record, Site
from eyrie.compiler.operators.shapes import Reshape
from eyrie.model.encoding import PPU_FIRST, PPU_RESULT, PPU_SECOND
from eyrie.model.encoding import Operation as WordKind
from eyrie.model.errors import InputError
from eyrie.model.messages import times
from eyrie.model.operators.quantization import Quantization, Requantization
from eyrie.model.operators.reference import Reference

if TYPE_CHECKING:
    from eyrie.compiler.frontend.tflite.reader import Call

WordFields = tuple[list[dict[str, int]], dict[str, int]]  # of both operands, and of the result


# ---- Constraints of the accelerator ----


def a_map_first(site: Site) -> str:
    """the first operand of SUB or PRELU is no constant"""
    assert isinstance(site.operator, Binary)
    first = site.node.inputs[0]
    return f"one of {times(first.shape)}" if not site.operator.commutes and isinstance(first, Constant) else ""


def fields(site: Site) -> str:
    """its factors and shifts fit the fields of the accelerator's operation"""
    assert isinstance(site.operator, Binary)
    try:
        operation = site.operator.word_operation(site.node)
        for word, values in (
            (PPU_FIRST, operation.first),
            (PPU_SECOND, operation.second),
            (PPU_RESULT, operation.result),
        ):
            word.pack(**values)
    except InputError as error:
        return str(error)
    return ""


def operands_of(node: Node) -> tuple[Tensor, ...]:
    """Return the operands that are feature maps, the one of the result's shape first."""
    first, *others = node.activations
    if others and first.shape != node.outputs[0].shape:
        return *others, first
    return node.activations


def is_uniform(node: Node) -> bool:
    """Return whether a node combines a feature map with a constant whose values are all equal."""
    if not isinstance(node.operator, Binary) or len(node.activations) != 1:
        return False
    constants = [tensor.data for tensor in node.inputs if isinstance(tensor, Constant)]
    uniform = all((data == data.flat[0]).all() for data in constants)
    return uniform and node.activations[0].shape == node.outputs[0].shape


@dataclass(frozen=True, kw_only=True)
class Binary(Record):
    """An elementwise operator. unsigned: the model has it in uint8, which only LiteRT supports

    operation: of the vector unit, None if the vector unit has no such operation
    commutes: the operands may change places
    """

    constraints: ClassVar[tuple[Constraint, ...] | None] = (a_map_first, fields)
    operation: ClassVar[WordKind | None] = None
    commutes: ClassVar[bool] = True

    unsigned: bool = False

    @property
    def reference(self) -> Reference:
        return Reference.LITERT if self.unsigned else Reference.MICRO

    @classmethod
    def inputs(cls, call: "Call") -> tuple[Tensor, ...]:
        call.quantized_output()
        return call.quantized(0), call.quantized(1)

    def infer(self, inputs: Tensors) -> tuple[Form, ...]:
        shapes = [expect(tensor, "int8").shape for tensor in only(inputs, 2)]
        try:
            return int8(np.broadcast_shapes(*shapes))
        except ValueError:
            raise InputError(f"operands of {' and '.join(map(times, shapes))} do not go together") from None

    # ---- Accelerator ----

    def expanded(self, node: Node) -> tuple[Node, ...]:
        """Return the node, after a TILE of an operand that has a single channel, and of one that must have the shape of
        the result: any of them, or the first one if the operator does not commute."""
        [result], maps = node.outputs, [n for n, tensor in enumerate(node.inputs) if tensor in node.activations]
        shapes = [tensor.shape for tensor in node.inputs]
        for n in maps:
            if shapes[n][-1] == 1 < result.shape[-1]:
                shapes[n] = (*shapes[n][:-1], result.shape[-1])
        sources = [n for n in maps if n == 0 or self.commutes]
        if sources and all(shapes[n] != result.shape for n in sources):
            shapes[max(sources, key=lambda n: prod(shapes[n]))] = result.shape
        nodes, inputs = list[Node](), list[Tensor]()
        for tensor, shape in zip(node.inputs, shapes, strict=True):
            if tensor.shape != shape:
                tensor = _copies(node, tensor, shape, nodes)
            inputs.append(tensor)
        return *nodes, replace(node, inputs=tuple(inputs))

    def word_operation(self, node: Node, first: int = 0) -> WordOperation:
        """Return the operation of the vector unit. first: the operand that is the source, 0 if it does not commute

        The other operand may be a constant.
        """
        assert self.operation is not None
        operands, result = self.word_fields(node)
        other = node.inputs[1 - first]
        constants = _constant_words(other, node.outputs[0]) if isinstance(other, Constant) else None
        return WordOperation(self.operation, operands[first], operands[1 - first], result, constants)

    @abstractmethod
    def word_fields(self, node: Node) -> WordFields: ...

    # ---- C ----

    def scales(self, node: Node) -> tuple[Real, ...]:
        """Return the scales of inputs and output, as the reference computes factors from them: uint8 in float32."""
        precision = np.float32 if self.unsigned else np.float64
        return tuple(precision(scale_of(tensor)) for tensor in (*node.inputs, *node.outputs))

    def zero_point_fields(self, node: Node) -> Fields:
        first, second = map(zero_point_of, node.inputs)
        return {"first_zero_point": first, "second_zero_point": second}

    def addend_fields(self, node: Node) -> tuple[Fields, float]:
        """Return the fields of addends, and their common scale: twice the larger one."""
        first, second = map(scale_of, node.inputs)
        common = 2 * max(first, second)
        settings = self.operand_fields(node) | self.zero_point_fields(node)
        return settings | scaling(first / common, "first_") | scaling(second / common, "second_"), common

    def operand_fields(self, node: Node) -> Fields:
        shape = node.outputs[0].shape
        walk = Walk(shape, tuple(broadcast(tensor.shape, shape) for tensor in node.inputs)).merged()
        length, steps = (walk.sizes[-1], [strides[-1] for strides in walk.strides]) if walk.sizes else (1, (0, 0))
        rows = walk.without_last()
        return {
            "operands": {
                "rows": rows.count,
                "length": length,
                "axes": len(rows.sizes),
                "sizes": np.array(rows.sizes, np.int32),
                "first_strides": np.array(rows.strides[0], np.int32),
                "second_strides": np.array(rows.strides[1], np.int32),
                "first_step": steps[0],
                "second_step": steps[1],
            }
        }


def result_fields(scaling: Requantization) -> dict[str, int]:
    """Return the fields of the result."""
    return {
        "multiplier": int(scaling.multiplier),
        "shift": int(scaling.shift),
        "zero_point": int(scaling.zero_point),
        "act_min": int(scaling.minimum),
        "act_max": int(scaling.maximum),
    }


def _copies(node: Node, tensor: Tensor, shape: tuple[int, ...], nodes: list[Node]) -> Tensor:
    """Return an operand of a node, broadcast to a shape by nodes that are added."""
    own = (1,) * (len(shape) - len(tensor.shape)) + tensor.shape
    name = f"{node.outputs[0].name}#{tensor.name}"
    if own != tensor.shape:
        axes = replace(tensor, name=f"{name}#axes", shape=own)
        nodes.append(replace(node, operator=Reshape(to=own), inputs=(tensor,), outputs=(axes,)))
        tensor = axes
    made = replace(tensor, name=name, shape=shape)
    multiples = tuple(size // count for size, count in zip(shape, own, strict=True))
    nodes.append(replace(node, operator=Tile(multiples=multiples), inputs=(tensor,), outputs=(made,)))
    return made


def _constant_words(operand: Constant, result: Tensor) -> np.ndarray:
    """Return uint64 [rows, columns, groups] of an operand. Rows or columns are 1 if it is broadcast along them."""
    axes = (1,) * (len(result.shape) - len(operand.shape)) + operand.shape
    channels = np.broadcast_to(operand.data.reshape(axes), (*axes[:-1], result.shape[-1]))
    return words_of(split_channels(channels.reshape((1, 1, *channels.shape[1:])[-3:])))


# ---- From float values ----


def operands_of_fold(
    fold: Fold, made: Made, to: Quantization | None = None
) -> tuple[tuple[Tensor, ...], tuple[int, ...], tuple[int, ...]]:
    """Return the operands as tensors with one order of axes, this order, and the shape of the result in it.

    to: the scale of all operands, None if each has its own
    """
    operands: list[Held | Known] = []
    for real in made.inputs:
        if isinstance(real, Known):
            operands.append(real)
        elif to is None:
            operands.append(fold.operand(real))
        else:
            name = real.name if isinstance(real, Made) else f"{made.name} operand"
            operands.append(fold.emit(real, Target(to, name)))
    rank = len(made.shape)
    full = [each for each in operands if isinstance(each, Held) and len(each.axes) == rank]
    axes = common_axes(full) if full else tuple(range(rank))
    order = tuple(int(axis) for axis in np.argsort(axes))
    tensors = []
    for each in operands:
        if isinstance(each, Known):
            each = fold.constant(*codes_of(each, made, to))
        elif len(each.axes) < rank:
            raise Unsupported(f"its operands have {len(each.axes)} and {rank} axes")
        tensors.append(fold.ordered(each, order, made.operation.where))
    return tuple(tensors), axes, tuple(made.shape[axis] for axis in order)


def codes_of(constant: Known, made: Made, to: Quantization | None = None) -> tuple[np.ndarray, Target]:
    """Return the int8 codes of a constant operand with as many axes as the result, and their scale. A constant without
    a scale gets a new one."""
    rank, name = len(made.shape), made.name
    values = constant.values.reshape((1,) * (rank - constant.values.ndim) + constant.shape)
    if to is None and constant.coded and _is_single(constant.coded):
        codes, scale = constant.coded.codes, constant.coded.scale
        offset = 128 if codes.dtype == np.uint8 else 0
        to = Quantization(float(scale.scale.reshape(-1)[0]), int(scale.zero_point.reshape(-1)[0]) - offset)
        shifted = (codes.astype(np.int16) - offset).astype(np.int8)
        return shifted.reshape(values.shape), Target(to, f"{name} constant")
    if to is None:
        to = Quantization(max(float(np.abs(values).max()), 1e-30) / 127, 0)
    return int8_codes(values, to), Target(to, f"{name} constant")


def _is_single(coded: Coded) -> bool:
    """Return whether a constant has 8-bit codes and one scale."""
    return coded.codes.dtype.name in ("int8", "uint8") and coded.scale.scale.size == 1
