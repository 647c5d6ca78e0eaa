# SPDX-License-Identifier: Apache-2.0
"""Multipliers, shifts and ranges of the kernels, computed from the scales of a graph.

The code follows the reference's sources and does not use the golden model, so that the C code checks both. Sources:
tensorflow/lite/kernels/internal/quantization_util.cc and kernel_util.cc, reference/reduce.h (MEAN),
reference/integer_ops/logistic.h, reference/hard_swish.h, reference/softmax.h. `docs/concepts/compiler.md` says which of
the two sets of kernels each operator follows.
"""

from fractions import Fraction
from math import floor, frexp

import numpy as np

from eyrie.compiler.ir.operator import quantized
from eyrie.compiler.ir.tensor import Tensor
from eyrie.compiler.kernel_calls.steps import Fields, Real
from eyrie.model.errors import InputError

INT8 = (-128, 127)
_REAL_RANGES = {"NONE": (None, None), "RELU": (0, None), "RELU6": (0, 6), "RELU_N1_TO_1": (-1, 1)}
_MOST_SHIFT, _LEAST_SHIFT = 30, -31


def rounded(value: Fraction | float) -> int:
    """Return the nearest whole number; ties round away from zero."""
    value = Fraction(value)
    return floor(value + Fraction(1, 2)) if value >= 0 else -floor(-value + Fraction(1, 2))


def multiplier_of(factor: Real) -> tuple[int, int]:
    """Return (multiplier, shift): the factor is about multiplier * 2^(shift - 31). Raise InputError if it is too
    large."""
    fraction, shift = frexp(factor)
    multiplier = rounded(Fraction(fraction) * 2**31)
    if multiplier == 2**31:
        multiplier, shift = 2**30, shift + 1
    if shift > _MOST_SHIFT:
        raise InputError(f"a factor of {factor:g} is too large for fixed point")
    return (multiplier, shift) if shift >= _LEAST_SHIFT else (0, 0)


def scaling(factor: Real, prefix: str = "") -> Fields:
    """Return the fields of a kernel for a factor: multiplier and shift."""
    multiplier, shift = multiplier_of(float(factor))
    return {f"{prefix}multiplier": multiplier, f"{prefix}shift": shift}


def scalings(factors: np.ndarray) -> Fields:
    """Return the fields of a kernel for factors: multipliers int32 [M], shifts int8 [M]."""
    multipliers, shifts = zip(*(multiplier_of(float(factor)) for factor in factors))
    return {"multipliers": np.array(multipliers, np.int32), "shifts": np.array(shifts, np.int8)}


def limits(output: Tensor, activation: str = "NONE") -> Fields:
    """Return the fields of a kernel for the int8 range that a fused activation allows."""
    scale, zero_point = np.float32(scale_of(output)), zero_point_of(output)
    ends = []
    for real, end in zip(_REAL_RANGES[activation], INT8):
        steps = 0 if real is None else rounded(float(np.float32(real) / scale))
        ends.append(end if real is None else min(max(zero_point + steps, INT8[0]), INT8[1]))
    return {"minimum": ends[0], "maximum": ends[1]}


def range_of(output: Tensor, activation: str = "NONE") -> Fields:
    """Return the field of a kernel for struct range."""
    return {"to": {"zero_point": zero_point_of(output), **limits(output, activation)}}


def scale_of(tensor: Tensor) -> float:
    return quantized(tensor).quantization.scale


def zero_point_of(tensor: Tensor) -> int:
    return quantized(tensor).zero_point


# ---- Of single operators ----


def mean_scaling(factor: float, count: int) -> Fields:
    """Return the fields that divide a sum of `count` values and rescale it in one step."""
    multiplier, shift = multiplier_of(factor)
    raised = min(count.bit_length() - 1, 32, 31 + shift)
    return {"multiplier": (multiplier << raised) // count, "shift": shift - raised}


def to_integer_bits(scale: float, bits: int) -> tuple[int, int, int]:
    """Return (multiplier, shift, radius) for a conversion to numbers with `bits` integer bits.

    radius: how many steps of the scale these numbers hold, at most 256, which no value reaches
    """
    multiplier, shift = multiplier_of(scale * 2.0 ** (31 - bits))
    held = (2**bits - 1) * Fraction(2) ** (31 - bits - shift)
    return multiplier, shift, min(floor(held), 256)


def multiplier_of_16_bits(factor: Real) -> tuple[int, int]:
    """Return (multiplier, exponent): the factor is about multiplier * 2^(exponent - 15)."""
    multiplier, exponent = multiplier_of(factor)
    return min((multiplier + (1 << 15)) >> 16, 2**15 - 1), exponent
