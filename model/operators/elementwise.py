# SPDX-License-Identifier: Apache-2.0
"""Operators of two tensors, value by value, which broadcast as NumPy does: aligned at the last axis.

MAXIMUM and MINIMUM compare quantised values: inputs and output share scale and zero point. Sources:
tensorflow/lite/kernels/internal/reference (add.h, sub.h, prelu.h, maximum_minimum.h) and integer_ops/mul.h;
squared_difference.cc in tensorflow/lite/micro/kernels.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from eyrie.model.arithmetic import multiply_by_quantized_multiplier, quantize_multiplier
from eyrie.model.errors import InputError
from eyrie.model.messages import times
from eyrie.model.operators.quantization import Quantization, Requantization, requantize, rescaling
from eyrie.model.operators.reference import Reference, factor_precision

ADD_LEFT_SHIFT = 20  # headroom both addends are scaled up by before they are rescaled and added
SQUARE_LEFT_SHIFT = 7  # the same of SQUARED_DIFFERENCE, whose square is an int32


@dataclass(frozen=True, eq=False)
class AddParameters:
    """Both addends' scalings to a common scale (zero_point is the input's), and the result's."""

    first: Requantization
    second: Requantization
    output: Requantization


def add_parameters(
    first: Quantization, second: Quantization, output: Quantization, activation: str = "NONE"
) -> AddParameters:
    """Return the AddParameters, of an addition or a subtraction, of three Quantizations.

    Both operands are scaled to 2^-20 of twice the larger input scale. Raise InputError if the result would have to be
    scaled up, which the reference does not support.
    """
    twice_larger = 2 * max(first.scale, second.scale)
    factor = twice_larger / (2**ADD_LEFT_SHIFT * output.scale)
    if factor >= 1:
        raise InputError(f"output scale {output.scale} is too small to hold the sum")
    return AddParameters(*_addends(first, second), rescaling(factor, output, activation))


def add(first: np.ndarray, second: np.ndarray, parameters: AddParameters) -> np.ndarray:
    """Return the int8 sum."""
    broadcast(first, second)
    return requantize(
        _to_common_scale(first, parameters.first) + _to_common_scale(second, parameters.second), parameters.output
    )


def sub(first: np.ndarray, second: np.ndarray, parameters: AddParameters) -> np.ndarray:
    """Return the int8 difference, first - second."""
    broadcast(first, second)
    return requantize(
        _to_common_scale(first, parameters.first) - _to_common_scale(second, parameters.second), parameters.output
    )


def square_parameters(first: Quantization, second: Quantization, output: Quantization) -> AddParameters:
    """Return the AddParameters of a squared difference of three Quantizations.

    Both operands are scaled to 2^-7 of twice the larger input scale. Raise InputError if the result would have to be
    scaled up, which LiteRT does not support.
    """
    twice_larger = 2 * max(first.scale, second.scale)
    factor = twice_larger**2 / (4**SQUARE_LEFT_SHIFT * output.scale)
    if factor >= 1:
        raise InputError(f"output scale {output.scale} is too small to hold the square")
    return AddParameters(*_addends(first, second), rescaling(factor, output))


def squared_difference(first: np.ndarray, second: np.ndarray, parameters: AddParameters) -> np.ndarray:
    """Return the int8 square of first - second."""
    broadcast(first, second)
    operands = (first, parameters.first), (second, parameters.second)
    minuend, subtrahend = (_to_common_scale(*operand, SQUARE_LEFT_SHIFT) for operand in operands)
    return requantize((minuend - subtrahend) ** 2, parameters.output)


def _addends(first: Quantization, second: Quantization) -> tuple[Requantization, Requantization]:
    """Return the scalings of both operands to twice the larger scale."""
    twice_larger = 2 * max(first.scale, second.scale)

    def scaling(addend: Quantization) -> Requantization:
        return Requantization(*quantize_multiplier(addend.scale / twice_larger), addend.zero_point)

    return scaling(first), scaling(second)


def _to_common_scale(values: np.ndarray, scaling: Requantization, left_shift: int = ADD_LEFT_SHIFT) -> np.ndarray:
    raised = (values.astype(np.int64) - scaling.zero_point) << left_shift
    return multiply_by_quantized_multiplier(raised, scaling.multiplier, scaling.shift)


def broadcast(first: np.ndarray, second: np.ndarray) -> tuple[int, ...]:
    """Return the shape of the result. Raise InputError if the two shapes do not broadcast."""
    try:
        return np.broadcast_shapes(first.shape, second.shape)
    except ValueError:
        raise InputError(
            f"operands of shapes that do not go together, {times(first.shape)} and {times(second.shape)}"
        ) from None


def mul_requantization(
    first: Quantization,
    second: Quantization,
    output: Quantization,
    activation: str = "NONE",
    reference: Reference = Reference.MICRO,
) -> Requantization:
    """Return the Requantization of products of values of two Quantizations, each less its zero point."""
    precision = factor_precision(reference)
    factor = precision(first.scale) * precision(second.scale) / precision(output.scale)
    return rescaling(factor, output, activation)


def mul(first: np.ndarray, second: np.ndarray, zero_points: Sequence[int], parameters: Requantization) -> np.ndarray:
    """Return the int8 product; `zero_points` has the zero point of each operand."""
    broadcast(first, second)
    factors = (values.astype(np.int64) - zero for values, zero in zip((first, second), zero_points, strict=True))
    return requantize(np.multiply(*factors), parameters)


def maximum(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the int8 maximum."""
    broadcast(first, second)
    return np.maximum(first, second)


def minimum(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the int8 minimum."""
    broadcast(first, second)
    return np.minimum(first, second)


@dataclass(frozen=True, eq=False)
class PreluParameters:
    """The rescaling of values that are not negative, and of products of negative values with their slope."""

    positive: Requantization
    negative: Requantization


def prelu_parameters(
    input_: Quantization, alpha: Quantization, output: Quantization, reference: Reference = Reference.MICRO
) -> PreluParameters:
    """Return the PreluParameters of three Quantizations."""
    precision = factor_precision(reference)
    scale, slope, out = (precision(quantization.scale) for quantization in (input_, alpha, output))
    return PreluParameters(rescaling(scale / out, output), rescaling(scale * slope / out, output))


def prelu(values: np.ndarray, alpha: np.ndarray, zero_points: Sequence[int], parameters: PreluParameters) -> np.ndarray:
    """Return int8 PRELU: values below zero are multiplied by `alpha`, which broadcasts.

    `zero_points` has the zero point of each operand.
    """
    if broadcast(values, alpha) != values.shape:
        raise InputError(f"slopes of {times(alpha.shape)} do not go with {times(values.shape)} values")
    centred = values.astype(np.int64) - zero_points[0]
    slopes = alpha.astype(np.int64) - zero_points[1]
    return np.where(
        centred >= 0, requantize(centred, parameters.positive), requantize(centred * slopes, parameters.negative)
    )
