# SPDX-License-Identifier: Apache-2.0
"""Helpers of records for the step from float values to int8 tensors."""

from collections.abc import Sequence

import numpy as np

from eyrie.compiler.ir.qdq.fold import Fold
from eyrie.compiler.ir.qdq.values import Held, Made, Target


def inner(fold: Fold, made: Made, target: Target, number: int = 0) -> Held:
    """Return an input of the operator in the scale of the result."""
    real = made.inputs[number]
    name = real.name if isinstance(real, Made) else f"{target.name} {number}"
    return fold.emit(real, Target(target.quantization, name, activation=target.activation))


def stored(shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of a tensor with these axes, for a shape in the framework's order."""
    return tuple(shape[axis] for axis in np.argsort(axes))


def channels_last(rank: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the order of axes with channels last, and the axes of a Held with this order."""
    order = (0, *range(2, rank), 1)
    return order, tuple(int(axis) for axis in np.argsort(order))


def common_axes(held: Sequence[Held]) -> tuple[int, ...]:
    """Return the axes for tensors of one rank: channels last if it is a map's and one of them has it, else the first
    one's."""
    last = any(each.axes == FROM_CHANNELS_LAST for each in held)
    return FROM_CHANNELS_LAST if last else held[0].axes


CHANNELS_LAST, FROM_CHANNELS_LAST = channels_last(4)
