# SPDX-License-Identifier: Apache-2.0
"""Operators that a host computes: they need more than int8 in and out of the accelerator.

Sources: tensorflow/lite/kernels/internal/reference (softmax.h, resize_bilinear.h, quantize.h, dequantize.h,
arg_min_max.h); QuantizeLinear of the ONNX operator set.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from eyrie.model.arithmetic import (
    multiply_by_quantized_multiplier,
    quantize_multiplier,
    round_away,
    rounding_divide_by_pot,
)
from eyrie.model.arithmetic import saturating_rounding_doubling_high_mul as high_mul
from eyrie.model.operators import fixed_point
from eyrie.model.operators.quantization import INT8_MAX, INT8_MIN, Quantization

SOFTMAX_OUTPUT = Quantization(1 / 256, -128)  # required by the reference
_DIFFERENCE_BITS, _SUM_BITS = 5, 12  # integer bits of differences to the largest, and of the sum of exponentials


def softmax(values: np.ndarray, input_: Quantization, beta: float = 1.0) -> np.ndarray:
    """Compute int8 SOFTMAX over the last axis to SOFTMAX_OUTPUT, in fixed point; `beta` multiplies the input."""
    factor = min(np.float64(np.float32(beta)) * input_.scale * 2.0 ** (31 - _DIFFERENCE_BITS), 2.0**31 - 1)
    multiplier, shift = quantize_multiplier(factor)
    lowest = -int(np.floor((2**_DIFFERENCE_BITS - 1) * 2.0 ** (31 - _DIFFERENCE_BITS - int(shift))))
    difference = values.astype(np.int64) - values.max(axis=-1, keepdims=True)
    counted = difference >= lowest
    scaled = multiply_by_quantized_multiplier(np.where(counted, difference, 0), multiplier, shift)
    exponentials = np.where(counted, fixed_point.exp_on_negative_values(scaled, _DIFFERENCE_BITS), 0)
    total = rounding_divide_by_pot(exponentials, _SUM_BITS).sum(axis=-1, keepdims=True)
    inverse, bits = fixed_point.reciprocal(total, _SUM_BITS)
    results = rounding_divide_by_pot(high_mul(inverse, exponentials), bits + 31 - 8) + INT8_MIN
    return np.where(counted, np.clip(results, INT8_MIN, INT8_MAX), INT8_MIN).astype(np.int8)


def arg_max(values: np.ndarray, axis: int = -1) -> np.ndarray:
    """Compute ARG_MAX, int64: the index of the first largest value along `axis`, which the result does not have."""
    return np.argmax(values, axis=axis)


def quantize(values: ArrayLike, output: Quantization, to_even: bool = False) -> np.ndarray:
    """Quantise float32 to int8 (QUANTIZE). to_even: whether ties round to even, as in QuantizeLinear, or away from
    zero"""
    with np.errstate(over="ignore", invalid="ignore"):  # the code of a value that is no number is open
        quotients = np.asarray(values, np.float32) / np.float32(output.scale)
        steps = (np.rint(quotients) if to_even else round_away(quotients)) + output.zero_point
        return np.clip(steps, INT8_MIN, INT8_MAX).astype(np.int8)


def dequantize(values: np.ndarray, input_: Quantization) -> np.ndarray:
    """Dequantise int8 to float32 (DEQUANTIZE)."""
    return ((values.astype(np.int64) - input_.zero_point) * input_.scale).astype(np.float32)


def resize_bilinear(
    values: np.ndarray, shape: Sequence[int], align_corners: bool = False, half_pixel_centers: bool = False
) -> np.ndarray:
    """Compute int8 RESIZE_BILINEAR of maps [..., H, W, C] to `shape` (rows, columns), with 10 fraction bits."""
    rows, columns = (
        _neighbours(size, wanted, align_corners, half_pixel_centers)
        for size, wanted in zip(values.shape[-3:-1], shape, strict=True)
    )
    total = 0
    for row, vertical in rows:
        for column, horizontal in columns:
            picked = np.take(np.take(values, row, axis=-3), column, axis=-2).astype(np.int64)
            total = total + picked * vertical[:, None, None] * horizontal[:, None]
    # Rounded to nearest, ties away from zero.
    return (np.sign(total) * ((np.abs(total) + (1 << 19)) >> 20)).astype(np.int8)


def resize_bilinear_uint8(
    values: np.ndarray, shape: Sequence[int], align_corners: bool = False, half_pixel_centers: bool = False
) -> np.ndarray:
    """Compute resize_bilinear of uint8 values, which the reference interpolates in float32."""
    (up, down, y), (left, right, x) = (
        _real_neighbours(size, wanted, align_corners, half_pixel_centers)
        for size, wanted in zip(values.shape[-3:-1], shape, strict=True)
    )
    y, x, one = y[:, None, None], x[:, None], np.float32(1)

    def at(row: np.ndarray, column: np.ndarray) -> np.ndarray:
        return np.take(np.take(values, row, axis=-3), column, axis=-2).astype(np.float32)

    # The order of the reference's products and sums.
    total = at(up, left) * (one - y) * (one - x) + at(down, left) * y * (one - x)
    total = total + at(up, right) * (one - y) * x + at(down, right) * y * x
    return (total + np.float32(0.5)).astype(np.uint8)


def _real_neighbours(
    size: int, wanted: int, align_corners: bool, half_pixel_centers: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the two neighbours of each output position along an axis, and its distance from the first, in float32."""
    aligned = align_corners and wanted > 1
    scale = np.float32(size - aligned) / np.float32(wanted - aligned)
    place, half = np.arange(wanted, dtype=np.float32), np.float32(0.5)
    place = (place + half) * scale - half if half_pixel_centers else place * scale
    low = np.maximum(np.floor(place).astype(np.int64), 0)
    high = np.minimum(np.ceil(place).astype(np.int64), size - 1)
    return low, high, place - low.astype(np.float32)


def _neighbours(
    size: int, wanted: int, align_corners: bool, half_pixel_centers: bool
) -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """Return the two neighbours of each output position along an axis, and their weights in 1 / 1024."""
    if align_corners and wanted > 1:
        scale = (1024 * (size - 1) + (wanted - 1) // 2) // (wanted - 1)
    else:
        scale = (1024 * size + wanted // 2) // wanted
    place = np.arange(wanted) * scale
    if half_pixel_centers:
        place = place + scale // 2 - 512
    towards_zero = np.sign(place) * (np.abs(place) // 1024)
    low = np.maximum(towards_zero, 0)
    up = place + 1023
    high = np.minimum(np.sign(up) * (np.abs(up) // 1024), size - 1)
    fraction = place - 1024 * low
    return (low, 1024 - fraction), (high, fraction)
