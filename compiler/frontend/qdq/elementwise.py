# SPDX-License-Identifier: Apache-2.0
"""Rules of operators on two values: two quantised tensors, or one and a constant."""

import numpy as np

from eyrie.compiler.frontend.qdq import functions, weighted
from eyrie.compiler.frontend.qdq.fold import Fold, Rule
from eyrie.compiler.frontend.qdq.values import Coded, Held, Known, Made, Target
from eyrie.compiler.ir.failure import Unsupported
from eyrie.compiler.ir.operators import elementwise
from eyrie.compiler.ir.tensor import Tensor
from eyrie.model.operators.quantization import Quantization


def _operands(
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
    axes = full[0].axes if full else tuple(range(rank))
    order = tuple(int(axis) for axis in np.argsort(axes))
    tensors = []
    for each in operands:
        if isinstance(each, Known):
            each = fold.constant(*_codes(each, rank, made.name, to))
        elif len(each.axes) < rank:
            raise Unsupported(f"its operands have {len(each.axes)} and {rank} axes")
        tensors.append(fold.ordered(each, order, made.operation.where))
    return tuple(tensors), axes, tuple(made.shape[axis] for axis in order)


def _codes(constant: Known, rank: int, name: str, to: Quantization | None) -> tuple[np.ndarray, Target]:
    """Return the int8 codes of a constant with `rank` axes, and their scale. A constant without a scale gets a new
    one."""
    values = constant.values.reshape((1,) * (rank - constant.values.ndim) + constant.shape)
    if to is None and constant.coded and _is_single(constant.coded):
        codes, scale = constant.coded.codes, constant.coded.scale
        offset = 128 if codes.dtype == np.uint8 else 0
        to = Quantization(float(scale.scale.reshape(-1)[0]), int(scale.zero_point.reshape(-1)[0]) - offset)
        shifted = (codes.astype(np.int16) - offset).astype(np.int8)
        return shifted.reshape(values.shape), Target(to, f"{name} constant")
    if to is None:
        to = Quantization(max(float(np.abs(values).max()), 1e-30) / 127, 0)
    return functions.int8_codes(values, to), Target(to, f"{name} constant")


def _is_single(coded: Coded) -> bool:
    """Return whether a constant has 8-bit codes and one scale."""
    return coded.codes.dtype.name in ("int8", "uint8") and coded.scale.scale.size == 1


def _both(kind: type[elementwise.Sum | elementwise.Mul]) -> Rule:
    """Return the rule of an operator whose operands each have their own scale."""

    def rule(fold: Fold, made: Made, target: Target) -> Held:
        if layer := weighted.affine(made):
            return weighted.with_weights(fold, layer, target)
        channels = weighted.of_channels(made)
        if channels:
            return weighted.scaled_channels(fold, made, fold.operand(channels.source), channels, target)
        if made.kind == "div":
            raise Unsupported("its divisor is not a constant per channel")
        tensors, axes, shape = _operands(fold, made)
        return fold.node(
            made.operation.where,
            kind(activation=target.activation),
            tensors,
            shape,
            axes,
            Target(target.quantization, target.name),
        )

    return rule


def _choice(kind: type[elementwise.Binary]) -> Rule:
    """Return the rule of an operator that compares codes, so that all operands have the result's scale."""

    def rule(fold: Fold, made: Made, target: Target) -> Held:
        tensors, axes, shape = _operands(fold, made, target.quantization)
        return fold.node(made.operation.where, kind(), tensors, shape, axes, target)

    return functions.clamped(rule)


def _prelu(fold: Fold, made: Made, target: Target) -> Held:
    slopes = made.inputs[1]
    if not isinstance(slopes, Known):
        raise Unsupported("its slopes are no constant")
    tensors, axes, shape = _operands(fold, made)
    return fold.node(made.operation.where, elementwise.Prelu(), tensors, shape, axes, target)


RULES: dict[str, Rule] = {
    "add": _both(elementwise.Add),
    "sub": _both(elementwise.Sub),
    "mul": _both(elementwise.Mul),
    "div": _both(elementwise.Mul),
    "maximum": _choice(elementwise.Maximum),
    "minimum": _choice(elementwise.Minimum),
    "prelu": functions.clamped(_prelu),
}
