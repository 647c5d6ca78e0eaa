# SPDX-License-Identifier: Apache-2.0
"""Averages and maxima over windows, and means over axes.

Sources: tensorflow/lite/kernels/internal/reference/integer_ops/pooling.h, reference/pooling.h (uint8) and
reference/reduce.h.
"""

from collections.abc import Sequence

import numpy as np

from eyrie.model.arithmetic import quantize_multiplier, rounding_average
from eyrie.model.errors import InputError
from eyrie.model.messages import times
from eyrie.model.operators.quantization import INT8_MAX, INT8_MIN, Quantization, Requantization, requantize
from eyrie.model.operators.windows import NO_PADS, Pair, pad, pair, windows


def average_pool2d(
    ifmap: np.ndarray,
    kernel: Pair,
    stride: Pair,
    pads: Sequence[int] = NO_PADS,
    minimum: int = INT8_MIN,
    maximum: int = INT8_MAX,
    ties_up: bool = False,
) -> np.ndarray:
    """Compute int8 average pooling, int8 [E, F, C]; each window averages the pixels inside the map.

    The reference requires input and output to have the same scale and zero point. A tie rounds away from zero; with
    `ties_up` towards the larger value, as the uint8 kernel rounds values that int8 values stand for. Raise InputError
    if a window has no pixel because of `pads`.
    """
    counts = windows(pad(np.ones((*ifmap.shape[-3:-1], 1), int), pads, 0), pair(kernel), stride)
    counts = counts.sum(axis=(-2, -1))
    if not counts.all():
        raise InputError(f"pads of {', '.join(map(str, pads))} leave a window of {times(pair(kernel))} outside the map")
    totals = windows(pad(ifmap, pads, 0), pair(kernel), stride).sum(axis=(-2, -1), dtype=int)
    averages = (totals + counts // 2) // counts if ties_up else rounding_average(totals, counts)
    return np.clip(averages, minimum, maximum).astype(np.int8)


def max_pool2d(
    ifmap: np.ndarray,
    kernel: Pair,
    stride: Pair,
    pads: Sequence[int] = NO_PADS,
    minimum: int = INT8_MIN,
    maximum: int = INT8_MAX,
) -> np.ndarray:
    """Compute int8 max pooling, int8 [E, F, C]; padding never wins. Scales are as in average_pool2d."""
    view = windows(pad(ifmap, pads, INT8_MIN), pair(kernel), stride)
    return np.clip(view.max(axis=(-2, -1)), minimum, maximum).astype(np.int8)


def mean_requantization(input_: Quantization, output: Quantization, count: int) -> Requantization:
    """Return the Requantization of sums of `count` values less their zero point, as MEAN divides and rescales at once.

    The multiplier is divided by the count in integers, shifted left first as far as 32 bits, and a right shift of 31 in
    all, allow. Not what AVERAGE_POOL_2D does: its ties go away from zero, here the quotient is a little too small.
    """
    multiplier, shift = (int(part) for part in quantize_multiplier(input_.scale / output.scale))
    extra = min(int(count).bit_length() - 1, 32, 31 + shift)
    return Requantization(
        np.array((multiplier << extra) // count, np.int32), np.array(shift - extra, np.int32), output.zero_point
    )


def mean(
    values: np.ndarray, axes: int | Sequence[int], keep_dims: bool, input_: Quantization, output: Quantization
) -> np.ndarray:
    """Compute int8 MEAN of an array of any shape over `axes`; `keep_dims` leaves them with size 1."""
    axes = tuple({axis % values.ndim for axis in np.atleast_1d(axes)})
    count = int(np.prod([values.shape[axis] for axis in axes]))
    sums = values.sum(axis=axes, keepdims=keep_dims, dtype=np.int64) - input_.zero_point * count
    return requantize(sums.astype(np.int32), mean_requantization(input_, output, count))
