# SPDX-License-Identifier: Apache-2.0
"""Functions of one int8 value, as tables int8 [256]: entry q + 128 is the result of q.

Sources: tensorflow/lite/kernels/internal/reference (leaky_relu.h, hard_swish.h), integer_ops (logistic.h, tanh.h), the
preparations in tensorflow/lite/micro/kernels, `LUTPopulate` in internal/common.h.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from eyrie.model.arithmetic import (
    multiply_by_quantized_multiplier,
    quantize_multiplier,
    round_away,
    rounding_divide_by_pot,
    saturating_rounding_doubling_high_mul,
)
from eyrie.model.errors import InputError
from eyrie.model.operators import fixed_point
from eyrie.model.operators.quantization import INT8_MAX, INT8_MIN, UINT8_OFFSET, Quantization, requantize, rescaling
from eyrie.model.operators.reference import Reference, factor_precision

VALUES = np.arange(INT8_MIN, INT8_MAX + 1)
INT16_MIN, INT16_MAX = -(2**15), 2**15 - 1
LOGISTIC_OUTPUT = Quantization(1 / 256, -128)  # required by the reference
TANH_OUTPUT = Quantization(1 / 128, 0)
_INPUT_BITS = 4  # integer bits of what logistic and tanh take
FIXED_POINT_SCALES = 8  # their inputs' are below it in fixed point: no left shift is for more

# Functions that the reference evaluates in float32, for `of_function`.
FUNCTIONS = {
    "LOGISTIC": lambda x: np.float32(1) / (np.float32(1) + _float32(np.exp, -x)),
    "TANH": lambda x: _float32(np.tanh, x),
    "EXP": lambda x: _float32(np.exp, x),
    "ELU": lambda x: np.where(x < 0, _float32(np.expm1, x), x),
    "LOG": lambda x: _float32(np.log, np.maximum(x, 0)),  # also of negative values the least result
}


def apply(table: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the int8 results of int8 `values` of any shape."""
    return table[values.astype(np.int64) - INT8_MIN]


def rescale(input_: Quantization, output: Quantization) -> np.ndarray:
    """Return the table of QUANTIZE from one scale to another."""
    return requantize(VALUES - input_.zero_point, rescaling(input_.scale / output.scale, output))


def relu(
    input_: Quantization, output: Quantization, activation: str = "RELU", reference: Reference = Reference.MICRO
) -> np.ndarray:
    """Return the table of RELU, RELU6 or RELU_N1_TO_1: another scale, and a clamp.

    The last two are LiteRT's: TensorFlow Lite Micro has no RELU_N1_TO_1, and its RELU6 takes the output's scale for the
    input's.
    """
    precision = factor_precision(reference if activation == "RELU" else Reference.LITERT)
    factor = precision(input_.scale) / precision(output.scale)
    return requantize(VALUES - input_.zero_point, rescaling(factor, output, activation))


def leaky_relu(
    input_: Quantization, output: Quantization, alpha: float, reference: Reference = Reference.MICRO
) -> np.ndarray:
    """Return the table of LEAKY_RELU. If `alpha` is negative, the multiplier is negative."""
    precision = factor_precision(reference)
    scale, out = precision(input_.scale), precision(output.scale)
    centred = VALUES - input_.zero_point
    slope = np.float64(scale * precision(np.float32(alpha)) / out)
    positive, negative = (rescaling(np.float64(factor), output) for factor in (scale / out, np.abs(slope)))
    negative = replace(negative, multiplier=np.where(slope < 0, -negative.multiplier, negative.multiplier))
    return np.where(centred >= 0, requantize(centred, positive), requantize(centred, negative))


def absolute(input_: Quantization, output: Quantization, reference: Reference = Reference.MICRO) -> np.ndarray:
    """Return the table of ABS."""
    precision = factor_precision(reference)
    factor = precision(input_.scale) / precision(output.scale)
    return requantize(np.abs(VALUES - input_.zero_point), rescaling(factor, output))


def logistic(input_: Quantization, reference: Reference = Reference.MICRO) -> np.ndarray:
    """Return the table of LOGISTIC to LOGISTIC_OUTPUT.

    TensorFlow Lite Micro computes it in fixed point, LiteRT in float32.
    """
    if reference == Reference.LITERT:
        return of_function("LOGISTIC", input_, LOGISTIC_OUTPUT)
    scaled, radius = _in_q4(input_)
    inside = rounding_divide_by_pot(fixed_point.logistic(scaled, _INPUT_BITS), 23) + LOGISTIC_OUTPUT.zero_point
    return _within(input_, radius, inside)


def tanh(input_: Quantization, reference: Reference = Reference.MICRO) -> np.ndarray:
    """Return the table of TANH to TANH_OUTPUT: in fixed point for TensorFlow Lite Micro, in float32 for LiteRT."""
    if reference == Reference.LITERT:
        return of_function("TANH", input_, TANH_OUTPUT)
    scaled, radius = _in_q4(input_)
    return _within(input_, radius, rounding_divide_by_pot(fixed_point.tanh(scaled, _INPUT_BITS), 24))


def _in_q4(input_: Quantization) -> tuple[np.ndarray, int]:
    """Return all 256 values in Q4, and the distance from the zero point at which they leave its range."""
    multiplier, shift = quantize_multiplier(input_.scale * 2.0 ** (31 - _INPUT_BITS))
    radius = int(np.floor((2**_INPUT_BITS - 1) * 2.0 ** (31 - _INPUT_BITS - int(shift))))
    centred = np.clip(VALUES - input_.zero_point, -radius, radius)
    return multiply_by_quantized_multiplier(centred, multiplier, shift), radius


def _within(input_: Quantization, radius: int, inside: np.ndarray) -> np.ndarray:
    centred = VALUES - input_.zero_point
    values = np.where(centred <= -radius, INT8_MIN, np.where(centred >= radius, INT8_MAX, inside))
    return np.clip(values, INT8_MIN, INT8_MAX).astype(np.int8)


def hard_swish(input_: Quantization, output: Quantization, reference: Reference = Reference.MICRO) -> np.ndarray:
    """Return the table of HARD_SWISH, in 16-bit fixed point.

    Raise InputError if the result would have to be scaled up.
    """
    precision = factor_precision(reference)
    fine_scale = precision(input_.scale) / 128
    multiplier, exponent = _int16_multiplier(fine_scale / precision(output.scale))
    if exponent > 0:
        raise InputError(f"output scale {output.scale} is too small for HARD_SWISH")
    fine = (VALUES - input_.zero_point) << 7
    before_shift = _high_mul16(fine, multiplier)
    multiplier, gate_exponent = _int16_multiplier(fine_scale / precision(3 / 32768))
    gate = fine
    if gate_exponent > 0:
        gate = _int16(gate << (gate_exponent - 1))
    gate = _high_mul16(gate, multiplier)
    gate = _int16(gate << 1) if gate_exponent > 0 else rounding_divide_by_pot(gate, -gate_exponent)
    gate = (gate + (1 << 15)) >> 1
    product = gate * before_shift
    product = np.sign(product) * (np.abs(product) >> 15)  # towards zero
    return np.clip(rounding_divide_by_pot(product, -exponent) + output.zero_point, INT8_MIN, INT8_MAX).astype(np.int8)


def _int16(values: np.ndarray) -> np.ndarray:
    return np.clip(values, INT16_MIN, INT16_MAX)


def _int16_multiplier(factor: float | np.floating) -> tuple[int, int]:
    """Split a factor into a Q15 number and a power of two."""
    multiplier, exponent = quantize_multiplier(factor)
    return min((int(multiplier) + (1 << 15)) >> 16, INT16_MAX), int(exponent)


def _high_mul16(a: np.ndarray, b: ArrayLike) -> np.ndarray:
    """Return a * b / 2^15, rounded."""
    return saturating_rounding_doubling_high_mul(np.asarray(a) << 16, b)


def of_function(function: str, input_: Quantization, output: Quantization) -> np.ndarray:
    """Evaluate one of FUNCTIONS at each value in float32: ELU, EXP, LOG, and for LiteRT LOGISTIC and TANH.

    If a result is very close to a tie, the entry of the reference depends on its C library.
    """
    with np.errstate(over="ignore", divide="ignore"):  # values too large for float32 are clipped like infinity
        real = np.float32(input_.scale) * (VALUES - input_.zero_point).astype(np.float32)
        result = FUNCTIONS[function](real).astype(np.float32)
        steps = np.clip(result * (np.float32(1) / np.float32(output.scale)), INT16_MIN, INT16_MAX)
    return np.clip(round_away(steps) + output.zero_point, INT8_MIN, INT8_MAX).astype(np.int8)


def joined_uint8(input_: Quantization, output: Quantization) -> np.ndarray:
    """Return the table of CONCATENATION for a uint8 input whose scale or zero point differs from the output's."""
    if input_ == output:
        return VALUES.astype(np.int8)
    scale = np.float32(input_.scale) * (np.float32(1) / np.float32(output.scale))
    bias = np.float32(-(input_.zero_point + UINT8_OFFSET)) * scale
    steps = (VALUES + UINT8_OFFSET).astype(np.float32) * scale + bias
    return np.clip(round_away(steps) + output.zero_point, INT8_MIN, INT8_MAX).astype(np.int8)


def _float32(function: np.ufunc, x: np.ndarray) -> np.ndarray:
    """Evaluate a function in double and round to float32. C's float32 functions are this accurate."""
    return function(x.astype(np.float64)).astype(np.float32)
