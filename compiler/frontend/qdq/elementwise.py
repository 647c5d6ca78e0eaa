# SPDX-License-Identifier: Apache-2.0
"""Operators of two values: two quantised tensors, or one and a constant."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from eyrie.compiler.frontend.qdq import functions, weighted
from eyrie.compiler.frontend.qdq.values import Held, Known, Made, Real, Target
from eyrie.compiler.ir.failure import Unsupported
from eyrie.compiler.ir.operators import elementwise
from eyrie.model.operators.quantization import Quantization

if TYPE_CHECKING:
    from eyrie.compiler.frontend.qdq.fold import Fold


def _operands(fold: Fold, made: Made, reals: tuple[Real, ...], to: Quantization | None = None) -> tuple[list, tuple]:
    """Tensors whose axes are in one order, and those axes. to: the scale of all, None: each has its own."""
    held: list[Held | None] = []
    for real in reals:
        if isinstance(real, Known):
            held.append(None)
        elif to is None:
            held.append(fold.operand(real))
        else:
            held.append(fold.emit(real, Target(to, real.name if isinstance(real, Made) else f"{made.name} operand")))
    rank = len(made.shape)
    full = [each for each in held if each is not None and len(each.axes) == rank]
    axes = full[0].axes if full else tuple(range(rank))
    order = tuple(int(axis) for axis in np.argsort(axes))
    tensors = []
    for real, each in zip(reals, held):
        if each is None:
            each = fold.constant(*_codes(real, rank, made.name, to))
        elif len(each.axes) < rank:
            raise Unsupported(f"its operands have {len(each.axes)} and {rank} axes")
        tensors.append(fold.ordered(each, order, made.operation.where))
    return tensors, axes


def _codes(constant: Known, rank: int, name: str, to: Quantization | None) -> tuple[np.ndarray, Target]:
    """int8 of a constant, of as many axes; a scale is drawn up where there is none."""
    values = constant.values.reshape((1,) * (rank - constant.values.ndim) + constant.shape)
    codes = constant.codes
    if to is None and codes is not None and codes.dtype.name in ("int8", "uint8") and constant.scale.scale.size == 1:
        offset = 128 if codes.dtype == np.uint8 else 0
        to = Quantization(
            float(constant.scale.scale.reshape(-1)[0]), int(constant.scale.zero_point.reshape(-1)[0]) - offset
        )
        shifted = (codes.astype(np.int16) - offset).astype(np.int8)
        return shifted.reshape(values.shape), Target(to, f"{name} constant")
    if to is None:
        to = Quantization(max(float(np.abs(values).max()), 1e-30) / 127, 0)
    return functions.int8_codes(values, to), Target(to, f"{name} constant")


def _both(kind: type[elementwise.Binary]):
    """Each operand has its scale."""

    def rule(fold: Fold, made: Made, target: Target) -> Held:
        if weighted.affine(made):
            return weighted.layer_with_weights(fold, made, target)
        channels = weighted.of_channels(made)
        if channels:
            return weighted.scaled_channels(fold, made, fold.operand(channels.source), channels, target)
        if made.kind == "div":
            raise Unsupported("it divides by what is no constant for each channel")
        tensors, axes = _operands(fold, made, made.inputs)
        shape = tuple(made.shape[axis] for axis in np.argsort(axes))
        return fold.node(
            made.operation.where,
            kind(activation=target.activation),
            tuple(tensors),
            shape,
            axes,
            Target(target.quantization, target.name),
        )

    return rule


def _choice(kind: type[elementwise.Binary]):
    """Codes are compared: all are in the result's scale."""

    def rule(fold: Fold, made: Made, target: Target) -> Held:
        tensors, axes = _operands(fold, made, made.inputs, target.quantization)
        shape = tuple(made.shape[axis] for axis in np.argsort(axes))
        return fold.node(made.operation.where, kind(), tuple(tensors), shape, axes, target)

    return functions.clamped(rule)


def _prelu(fold: Fold, made: Made, target: Target) -> Held:
    slopes = made.inputs[1]
    if not isinstance(slopes, Known):
        raise Unsupported("its slopes are no constant")
    tensors, axes = _operands(fold, made, made.inputs)
    shape = tuple(made.shape[axis] for axis in np.argsort(axes))
    return fold.node(made.operation.where, elementwise.Prelu(), tuple(tensors), shape, axes, target)


RULES = {
    "add": _both(elementwise.Add),
    "sub": _both(elementwise.Sub),
    "mul": _both(elementwise.Mul),
    "div": _both(elementwise.Mul),
    "maximum": _choice(elementwise.Maximum),
    "minimum": _choice(elementwise.Minimum),
    "prelu": functions.clamped(_prelu),
}
