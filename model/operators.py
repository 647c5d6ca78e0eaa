# SPDX-License-Identifier: Apache-2.0
"""Int8 layers of TensorFlow Lite's reference kernels in NumPy, bit for bit.

Shapes: activations are [H, W, C] or [N, H, W, C]; results keep the leading axes. Filters are
[M, R, S, C] (convolution), [R, S, C] (depthwise) and [M, C] (fully connected). Output maps are
[E, F, M]. Strides are one number or (vertical, horizontal); `pads` are always the four numbers
(top, bottom, left, right).

A layer is computed the way the machine computes it: raw int8 products are summed over a map padded
with the input zero point, the zero point's share is folded into the bias, and the int32 sums are
rescaled to int8. Each of these steps is a function, so a bench can compare sums where they leave
the array and maps where they leave the machine.

Sums are exact: sizes at which raw sums could leave int32 are refused with ValueError, a bias that
takes them out raises OverflowError. The reference and the machine would wrap silently there.

Sources: the TensorFlow Lite 8-bit quantization specification; tensorflow/lite/kernels/internal/
reference/integer_ops (conv, depthwise_conv, fully_connected, pooling, add); kernel_util.cc for the
scales and activation ranges; padding.h for SAME.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
from threadpoolctl import ThreadpoolController

from model.arithmetic import (
    INT32_MAX,
    INT32_MIN,
    multiply_by_quantized_multiplier,
    quantize_multiplier,
    rounding_average,
)
from model.messages import times

INT8_MIN, INT8_MAX = -128, 127
NO_PADS = (0, 0, 0, 0)
ADD_LEFT_SHIFT = 20  # headroom both addends are scaled up by before they are rescaled and added

# Real-valued bounds of the fused activations; None is the end of the int8 range.
ACTIVATIONS = {
    "NONE": (None, None),
    "RELU": (0.0, None),
    "RELU_N1_TO_1": (-1.0, 1.0),
    "RELU6": (0.0, 6.0),
}


# ---- Quantisation parameters ---------------------------------------------------------------------


@dataclass(frozen=True)
class Quantization:
    """One int8 activation tensor: real = scale * (q - zero_point). The scale is kept as float32."""

    scale: float
    zero_point: int

    def __post_init__(self):
        object.__setattr__(self, "scale", float(np.float32(self.scale)))
        if not 0 < self.scale < np.inf:
            raise ValueError(f"a scale is positive and finite, got {self.scale:g}")
        if not INT8_MIN <= self.zero_point <= INT8_MAX:
            raise ValueError(f"an int8 zero point is -128 to 127, got {self.zero_point}")


@dataclass(frozen=True, eq=False)
class Requantization:
    """How int32 sums become int8: multiplier and shift (int32, [M] or scalar), then a clamp."""

    multiplier: np.ndarray
    shift: np.ndarray
    zero_point: int
    minimum: int = INT8_MIN
    maximum: int = INT8_MAX


def activation_range(activation, output):
    """Return (minimum, maximum), the int8 clamp of a fused activation (a key of ACTIVATIONS)."""
    if activation not in ACTIVATIONS:
        raise ValueError(f"activation {activation!r} is not one of {', '.join(ACTIVATIONS)}")

    def quantize(real, default):
        if real is None:
            return default
        # In float32 and half away from zero, as the reference divides and rounds.
        steps = np.float32(real) / np.float32(output.scale)
        steps = int(np.copysign(np.floor(np.abs(np.float64(steps)) + 0.5), steps))
        return min(max(output.zero_point + steps, INT8_MIN), INT8_MAX)

    low, high = ACTIVATIONS[activation]
    return quantize(low, INT8_MIN), quantize(high, INT8_MAX)


def requantization(input_, filter_scales, output, activation="NONE"):
    """Return the Requantization of sums with scale input.scale * filter_scales[m].

    `filter_scales` is [M], or one number for per-tensor weights (1.0 for a plain change of scale).
    The product is formed in double from float32 scales, as the reference does.
    """
    filter_scales = np.asarray(filter_scales, np.float32).astype(np.float64)
    multiplier, shift = quantize_multiplier(input_.scale * filter_scales / output.scale)
    return Requantization(
        multiplier, shift, output.zero_point, *activation_range(activation, output)
    )


def requantize(sums, parameters):
    """Rescale int32 `sums` [..., M] to int8 and clamp."""
    scaled = multiply_by_quantized_multiplier(sums, parameters.multiplier, parameters.shift)
    scaled += parameters.zero_point
    return np.clip(scaled, parameters.minimum, parameters.maximum).astype(np.int8)


# ---- Geometry ------------------------------------------------------------------------------------


def same_pads(shape, kernel, stride):
    """Return TFLite's SAME pads for a map of `shape` (H, W): the odd one is at bottom and right."""
    pads = ()
    for size, taps, step in zip(shape, _pair(kernel), _pair(stride), strict=True):
        total = max((-(-size // step) - 1) * step + taps - size, 0)
        pads += (total // 2, total - total // 2)
    return pads


def _pair(value):
    return (value, value) if np.isscalar(value) else tuple(value)


def _pad(ifmap, pads, value):
    top, bottom, left, right = pads
    if min(pads) < 0:
        raise ValueError(f"pads are not negative, got {', '.join(map(str, pads))}")
    if not any(pads):
        return ifmap
    widths = [(0, 0)] * (ifmap.ndim - 3) + [(top, bottom), (left, right), (0, 0)]
    return np.pad(ifmap, widths, constant_values=value)


def _windows(padded, kernel, stride):
    """Return a view [..., E, F, C, R, S] of every filter window of a padded map."""
    if padded.ndim < 3 or any(k > n for k, n in zip(kernel, padded.shape[-3:-1], strict=True)):
        raise ValueError(f"a kernel of {times(kernel)} does not fit a padded map of {times(padded.shape)}")
    down, across = _pair(stride)
    windows = np.lib.stride_tricks.sliding_window_view(padded, kernel, axis=(-3, -2))
    return windows[..., ::down, ::across, :, :, :]


# ---- Sums ----------------------------------------------------------------------------------------


def _check_operands(ifmap, filter_, terms):
    if ifmap.dtype not in (np.int8, np.uint8) or filter_.dtype != np.int8:
        raise ValueError(f"operands are int8, got {ifmap.dtype} and {filter_.dtype}")
    peak = (255 if ifmap.dtype == np.uint8 else 128) * 128 * terms
    if peak > INT32_MAX:
        raise ValueError(f"sums of {terms} products can leave int32")
    return peak


@cache
def _blas():
    """The libraries of this process, which takes a while to find out."""
    return ThreadpoolController()


def _matmul(rows, columns):
    """Exact int32 product of int8 (or uint8) matrices [..., K] and [M, K].

    Done in floating point for the sake of BLAS: every partial sum is an integer that the chosen
    type holds exactly, so order and fusing do not matter. In one thread: those of BLAS wait for each
    other by spinning, which costs far more than they save on products of this size.
    """
    peak = _check_operands(rows, columns, rows.shape[-1])
    exact = np.float32 if peak <= 2**24 else np.float64
    with _blas().limit(limits=1, user_api="blas"):
        return (rows.astype(exact) @ columns.astype(exact).T).astype(np.int32)


def conv2d_sums(ifmap, filter_, stride=1, pads=NO_PADS, pad_value=0):
    """Return the raw sums of products, int32 [E, F, M]: no zero point, no bias.

    `ifmap` is int8 [H, W, C], or uint8 for activations read as q ^ 0x80; `filter_` int8
    [M, R, S, C]; `pad_value` fills the border. Raises ValueError where shapes do not fit.
    """
    if ifmap.shape[-1] != filter_.shape[-1]:
        raise ValueError(f"a filter of {times(filter_.shape)} does not fit a map of {ifmap.shape[-1]} channels")
    windows = _windows(_pad(ifmap, pads, pad_value), filter_.shape[1:3], stride)
    rows = np.moveaxis(windows, -3, -1)  # [..., E, F, R, S, C]
    return _matmul(rows.reshape(*rows.shape[:-3], -1), filter_.reshape(len(filter_), -1))


def depthwise_conv2d_sums(ifmap, filter_, stride=1, pads=NO_PADS, pad_value=0):
    """Return the raw sums of products, int32 [E, F, M], of a depthwise filter int8 [R, S, M].

    M is the number of channels or a multiple of it (TFLite's depth multiplier: input channel
    m // (M / C) feeds output channel m). Otherwise as conv2d_sums.
    """
    height, width, outputs = filter_.shape
    repeats, ragged = divmod(outputs, ifmap.shape[-1])
    if ragged or not repeats:
        raise ValueError(f"a filter of {times(filter_.shape)} does not fit a map of {ifmap.shape[-1]} channels")
    _check_operands(ifmap, filter_, height * width)
    if repeats > 1:
        ifmap = np.repeat(ifmap, repeats, axis=-1)
    padded = _pad(ifmap, pads, pad_value).astype(np.int32)
    windows = _windows(padded, (height, width), stride)
    sums = np.zeros(windows.shape[:-2], np.int32)
    for r, s in np.ndindex(height, width):
        sums += windows[..., r, s] * filter_[r, s].astype(np.int32)
    return sums


def fully_connected_sums(ifmap, filter_):
    """Return the raw sums, int32 [..., M], of int8 `ifmap` [..., C] and `filter_` [M, C]."""
    if ifmap.shape[-1] != filter_.shape[-1]:
        raise ValueError(f"a filter of {times(filter_.shape)} does not fit {ifmap.shape[-1]} inputs")
    return _matmul(ifmap, filter_)


def fold_zero_point(bias, filter_, zero_point, channel_axis=0):
    """Return bias[m] - zero_point * sum(filter of m), int32 [M]; `bias` None is zero.

    With it, raw sums over a map padded with the zero point equal the reference's sums of
    (x - zero_point) * w. `channel_axis` is 0, or -1 for a depthwise filter.
    """
    axes = tuple(np.delete(np.arange(filter_.ndim), channel_axis))
    folded = -zero_point * filter_.sum(axis=axes, dtype=np.int64)
    return _int32(folded if bias is None else folded + np.asarray(bias))


def accumulate(sums, folded_bias):
    """Return the int32 accumulators: `sums` [..., M] plus a folded bias [M]."""
    return _int32(np.add(sums, folded_bias, dtype=np.int64))


def _int32(values):
    if values.size and (values.min() < INT32_MIN or values.max() > INT32_MAX):
        raise OverflowError(f"accumulator {np.abs(values).max()} leaves int32: the bias is too big")
    return values.astype(np.int32)


# ---- Layers --------------------------------------------------------------------------------------


def conv2d(ifmap, filter_, bias, zero_point, parameters, stride=1, pads=NO_PADS):
    """Int8 convolution -> int8 [E, F, M].

    `ifmap` int8 [H, W, C] with `zero_point`, `filter_` int8 [M, R, S, C], `bias` int32 [M] or
    None, `parameters` a Requantization.
    """
    sums = conv2d_sums(ifmap, filter_, stride, pads, zero_point)
    return requantize(accumulate(sums, fold_zero_point(bias, filter_, zero_point)), parameters)


def depthwise_conv2d(ifmap, filter_, bias, zero_point, parameters, stride=1, pads=NO_PADS):
    """Int8 depthwise convolution -> int8 [E, F, M]; `filter_` int8 [R, S, M], else as conv2d."""
    sums = depthwise_conv2d_sums(ifmap, filter_, stride, pads, zero_point)
    return requantize(accumulate(sums, fold_zero_point(bias, filter_, zero_point, -1)), parameters)


def fully_connected(ifmap, filter_, bias, zero_point, parameters):
    """Int8 fully connected layer: `ifmap` [..., C], `filter_` [M, C] -> int8 [..., M].

    Rescaled in fixed point like every operator, as TensorFlow Lite did up to 2.19 and TensorFlow
    Lite Micro does. Since 2.20 (LiteRT) its kernel multiplies in double instead and rounds once;
    a few outputs in 1,000 then differ by one. LiteRT issue 8567 asks for fixed point again.
    """
    sums = fully_connected_sums(ifmap, filter_)
    return requantize(accumulate(sums, fold_zero_point(bias, filter_, zero_point)), parameters)


def average_pool2d(ifmap, kernel, stride, pads=NO_PADS, minimum=INT8_MIN, maximum=INT8_MAX):
    """Int8 average pooling -> int8 [E, F, C]; each window averages the pixels inside the map.

    Input and output share scale and zero point (the reference insists), so none is needed.
    Raises ValueError for pads that leave a window without a pixel.
    """
    counts = _windows(_pad(np.ones((*ifmap.shape[-3:-1], 1), int), pads, 0), _pair(kernel), stride)
    counts = counts.sum(axis=(-2, -1))
    if not counts.all():
        raise ValueError(f"pads of {', '.join(map(str, pads))} leave a window of {times(_pair(kernel))} outside the map")
    totals = _windows(_pad(ifmap, pads, 0), _pair(kernel), stride).sum(axis=(-2, -1), dtype=int)
    return np.clip(rounding_average(totals, counts), minimum, maximum).astype(np.int8)


def max_pool2d(ifmap, kernel, stride, pads=NO_PADS, minimum=INT8_MIN, maximum=INT8_MAX):
    """Int8 max pooling -> int8 [E, F, C]; padding never wins. Scales as in average_pool2d."""
    windows = _windows(_pad(ifmap, pads, INT8_MIN), _pair(kernel), stride)
    return np.clip(windows.max(axis=(-2, -1)), minimum, maximum).astype(np.int8)


@dataclass(frozen=True, eq=False)
class AddParameters:
    """Both addends' scalings to a common scale (zero_point is the input's), and the result's."""

    first: Requantization
    second: Requantization
    output: Requantization


def add_parameters(first, second, output, activation="NONE"):
    """Return the AddParameters of three Quantizations.

    Addends are scaled to 2^-20 of twice the larger input scale. Raises ValueError if the result
    would have to be scaled up, which the reference does not support.
    """
    twice_larger = 2 * max(first.scale, second.scale)
    factor = twice_larger / (2**ADD_LEFT_SHIFT * output.scale)
    if factor >= 1:
        raise ValueError(f"output scale {output.scale} is too small to hold the sum")
    inputs = (
        Requantization(*quantize_multiplier(addend.scale / twice_larger), addend.zero_point)
        for addend in (first, second)
    )
    clamp = activation_range(activation, output)
    return AddParameters(
        *inputs, Requantization(*quantize_multiplier(factor), output.zero_point, *clamp)
    )


def add(first, second, parameters):
    """Int8 element-wise addition of two maps of the same shape -> int8."""
    if first.shape != second.shape:
        raise ValueError(f"addends of different shapes, {times(first.shape)} and {times(second.shape)}")
    total = 0
    for addend, scaling in ((first, parameters.first), (second, parameters.second)):
        raised = (addend.astype(np.int64) - scaling.zero_point) << ADD_LEFT_SHIFT
        total += multiply_by_quantized_multiplier(raised, scaling.multiplier, scaling.shift)
    return requantize(total, parameters.output)
