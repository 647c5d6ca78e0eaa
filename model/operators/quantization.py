# SPDX-License-Identifier: Apache-2.0
"""Quantisation parameters, fused activations, and the way from int32 sums to int8.

Sources: the TensorFlow Lite 8-bit quantization specification; kernel_util.cc for scales and activation ranges.
"""

from bisect import bisect_left
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from eyrie.model.arithmetic import (
    INT32_MAX,
    INT32_MIN,
    multiply_by_quantized_multiplier,
    quantize_multiplier,
    round_away,
)
from eyrie.model.errors import InputError

INT8_MIN, INT8_MAX = -128, 127
UINT8_OFFSET = 128  # a uint8 value or zero point less this is the int8 one

# Real-valued bounds of the fused activations; None is the end of the int8 range.
ACTIVATIONS = {
    "NONE": (None, None),
    "RELU": (0.0, None),
    "RELU_N1_TO_1": (-1.0, 1.0),
    "RELU6": (0.0, 6.0),
}


@dataclass(frozen=True)
class Quantization:
    """One int8 activation tensor: real = scale * (q - zero_point). The scale is kept as float32."""

    scale: float
    zero_point: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", float(np.float32(self.scale)))
        if not 0 < self.scale < np.inf:
            raise InputError(f"a scale is positive and finite, got {self.scale:g}")
        if not INT8_MIN <= self.zero_point <= INT8_MAX:
            raise InputError(f"an int8 zero point is -128 to 127, got {self.zero_point}")


@dataclass(frozen=True, eq=False)
class Requantization:
    """The rescaling of int32 sums to int8: multiplier and shift (int32, [M] or scalar), then a clamp."""

    multiplier: np.ndarray
    shift: np.ndarray
    zero_point: int
    minimum: int = INT8_MIN
    maximum: int = INT8_MAX


def stored_zero_point(values: np.ndarray) -> int:
    """Return the zero point z, nearest to 0, with which int8 holds z and values + z for all integers `values`.

    Raise InputError if no such zero point exists: `values` and 0 span more than 255.
    """
    least, most = (int(getattr(values, end)(initial=0)) for end in ("min", "max"))
    if most - least > INT8_MAX - INT8_MIN:
        raise InputError(f"values of {least} to {most} are not int8 with a zero point")
    return min(max(0, INT8_MIN - least), INT8_MAX - most)


def activation_range(activation: str, output: Quantization) -> tuple[int, int]:
    """Return (minimum, maximum), the int8 clamp of a fused activation (a key of ACTIVATIONS)."""
    if activation not in ACTIVATIONS:
        raise InputError(f"activation {activation!r} is not one of {', '.join(ACTIVATIONS)}")

    def quantize(real: float | None, default: int) -> int:
        if real is None:
            return default
        # The reference divides in float32.
        steps = int(round_away(np.float32(real) / np.float32(output.scale)))
        return min(max(output.zero_point + steps, INT8_MIN), INT8_MAX)

    low, high = ACTIVATIONS[activation]
    return quantize(low, INT8_MIN), quantize(high, INT8_MAX)


def requantization(
    input_: Quantization, filter_scales: ArrayLike, output: Quantization, activation: str = "NONE"
) -> Requantization:
    """Return the Requantization of sums with scale input.scale * filter_scales[m].

    `filter_scales` is [M], or one number for per-tensor weights (1.0 for a plain change of scale).
    The product is formed in double from float32 scales, as the reference does.
    """
    filter_scales = np.asarray(filter_scales, np.float32).astype(np.float64)
    return rescaling(input_.scale * filter_scales / output.scale, output, activation)


def uint8_requantization(
    input_: Quantization, filter_scale: ArrayLike, output: Quantization, activation: str = "NONE"
) -> Requantization:
    """Return the Requantization of the sums of a uint8 convolution: the product of the scales is rounded to float32.

    Otherwise as `requantization`. Source: `GetQuantizedConvolutionMultipler`.
    """
    product = np.float32(input_.scale) * np.asarray(filter_scale, np.float32)
    return rescaling(np.float64(product) / output.scale, output, activation)


def rescaling(factor: ArrayLike, output: Quantization, activation: str = "NONE") -> Requantization:
    """Return the Requantization that multiplies by `factor`, a number or [M] in double."""
    return Requantization(*quantize_multiplier(factor), output.zero_point, *activation_range(activation, output))


def requantize(sums: np.ndarray, parameters: Requantization) -> np.ndarray:
    """Rescale int32 `sums` [..., M] to int8 and clamp."""
    scaled = multiply_by_quantized_multiplier(sums, parameters.multiplier, parameters.shift)
    scaled += parameters.zero_point
    return np.clip(scaled, parameters.minimum, parameters.maximum).astype(np.int8)


def requantize_once(sums: np.ndarray, factor: ArrayLike, parameters: Requantization) -> np.ndarray:
    """Rescale int32 `sums` by a `factor` in double, rounding once, to int8 and clamp.

    LiteRT's FULLY_CONNECTED does so since TensorFlow Lite 2.20, and no other kernel. Its uint8 form, which TensorFlow
    Lite Micro does not have, can only be had so. `parameters` give zero point and clamp.
    """
    return np.clip(round_away(sums * factor) + parameters.zero_point, parameters.minimum, parameters.maximum).astype(
        np.int8
    )


def once_in_fixed_point(factor: ArrayLike, parameters: Requantization) -> Requantization | None:
    """Return the Requantization with which `requantize` equals `requantize_once` by `factor` for every int32 sum.

    `factor` is a number or [M]. Return None if no such Requantization shifts to the right. Its multipliers need not be
    normalised: without a shift they also round only once.
    """
    low, high = parameters.minimum - int(parameters.zero_point), parameters.maximum - int(parameters.zero_point)
    factors, places = np.unique(factor, return_inverse=True)
    found = list[tuple[int, int]]()
    for each in factors:
        pair = _once_in_fixed_point(float(each), low, high)
        if pair is None:
            return None
        found.append(pair)
    multiplier, shift = np.array(found, np.int32).T[:, places.reshape(np.shape(factor))]
    return replace(parameters, multiplier=multiplier, shift=shift)


@lru_cache(4096)
def _once_in_fixed_point(factor: float, low: int, high: int) -> tuple[int, int] | None:
    """Return (multiplier, shift) for outputs `low` to `high` before the zero point, or None.

    Outputs rise with the sums, so that it is enough that each is reached at the same sum.
    """
    sums = range(INT32_MIN, INT32_MAX + 1)
    outputs = range(low + 1, high + 1)
    first = [
        INT32_MIN + bisect_left(sums, output, key=lambda total: int(round_away(total * factor))) for output in outputs
    ]
    for right in range(32):
        least, most = 1, INT32_MAX
        for output, total in zip(outputs, first, strict=True):
            # The second rounding takes ties away from zero, the first one up: reached at multiplier * total >= edge.
            scaled = (output << right) - ((1 << right) >> 1) + (output <= 0 < right)
            edge = (2 * scaled - 1) << 30
            if output > 0:  # total > 0, total - 1 >= 0
                least = max(least, -(-edge // total))
                most = min(most, -(-edge // (total - 1)) - 1) if total > 1 else most
            else:  # total <= 0, total - 1 < 0
                least = max(least, edge // (total - 1) + 1)
                most = min(most, edge // total) if total < 0 else most
        if least <= most:
            return least, -right
    return None


def from_uint8(values: ArrayLike) -> np.ndarray:
    """Convert a uint8 array to the int8 array that represents it: q - 128."""
    return (np.asarray(values, np.uint8) ^ 0x80).view(np.int8)


def to_uint8(values: ArrayLike) -> np.ndarray:
    """Convert an int8 array to the uint8 array that it represents: q + 128."""
    return np.asarray(values, np.int8).view(np.uint8) ^ 0x80
