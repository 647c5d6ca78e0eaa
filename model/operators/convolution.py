# SPDX-License-Identifier: Apache-2.0
"""Convolutions and fully connected layers.

Filters are [M, R, S, C] (convolution), [R, S, C] (depthwise) and [M, C] (fully connected): int8, or int16 if they
are uint8 less their zero point. Output maps are [E, F, M].

A layer is computed the way the accelerator computes it: raw products are summed over a map padded with the input zero
point, the zero point's share is folded into the bias, and the int32 sums are rescaled to int8. Each of these steps is a
function, so a testbench can compare the sums that leave the array and the maps that leave the accelerator.

Sums wrap around at 32 bits, as in the reference and in the accelerator: a bias may take them so far. Sizes at which raw
sums could leave int32 are rejected with InputError.

Sources: tensorflow/lite/kernels/internal/reference/integer_ops (conv, depthwise_conv, fully_connected).
"""

from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import ArrayLike
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]  # it has no types

from eyrie.model.arithmetic import INT32_MAX
from eyrie.model.errors import InputError
from eyrie.model.messages import times
from eyrie.model.operators.quantization import Requantization, requantize, requantize_once
from eyrie.model.operators.windows import NO_PADS, Pair, pad, pair, windows


def _check_operands(ifmap: np.ndarray, filter_: np.ndarray, terms: int) -> int:
    if ifmap.dtype not in (np.int8, np.uint8) or filter_.dtype not in (np.int8, np.int16):
        raise InputError(f"operands are int8, got {ifmap.dtype} and {filter_.dtype}")
    peak = (255 if ifmap.dtype == np.uint8 else 128) * (128 if filter_.dtype == np.int8 else 255) * terms
    if peak > INT32_MAX:
        raise InputError(f"sums of {terms} products can leave int32")
    return peak


@cache
def _blas() -> ThreadpoolController:
    """Return the controller of the BLAS libraries of this process. It is cached because the search takes a while."""
    return ThreadpoolController()


def _matmul(rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Return the exact int32 product of integer matrices [..., K] and [M, K].

    The product is computed in floating point to use BLAS. Every partial sum is an integer that the type holds exactly,
    so that order and fusing do not matter. One thread is used: BLAS threads wait for each other by spinning, which
    costs more time than they save on products of this size.
    """
    peak = _check_operands(rows, columns, rows.shape[-1])
    exact: np.dtype[np.floating] = np.dtype(np.float32 if peak <= 2**24 else np.float64)
    with _blas().limit(limits=1, user_api="blas"):
        return (rows.astype(exact) @ columns.astype(exact).T).astype(np.int32)


def conv2d_sums(
    ifmap: np.ndarray,
    filter_: np.ndarray,
    stride: Pair = 1,
    pads: Sequence[int] = NO_PADS,
    pad_value: int = 0,
    dilation: Pair = 1,
) -> np.ndarray:
    """Return the raw sums of products, int32 [E, F, M]: no zero point, no bias.

    `ifmap` is int8 [H, W, C], or uint8 for activations read as q ^ 0x80; `filter_` [M, R, S, C], or
    [M, R, S, C / G] in G groups, of M / G filters and C / G channels each; `pad_value` fills the
    border. Raise InputError if the shapes do not match.
    """
    groups, ragged = divmod(ifmap.shape[-1], filter_.shape[-1])
    if ragged or not groups or len(filter_) % groups:
        raise InputError(f"a filter of {times(filter_.shape)} does not fit a map of {ifmap.shape[-1]} channels")
    view = windows(pad(ifmap, pads, pad_value), filter_.shape[1:3], stride, dilation)
    parts = np.split(np.moveaxis(view, -3, -1), groups, axis=-1)  # [..., E, F, R, S, C / G]
    filters = np.split(filter_, groups)
    sums = [
        _matmul(part.reshape(*part.shape[:-3], -1), taps.reshape(len(taps), -1))
        for part, taps in zip(parts, filters, strict=True)
    ]
    return np.concatenate(sums, axis=-1)


def depthwise_conv2d_sums(
    ifmap: np.ndarray,
    filter_: np.ndarray,
    stride: Pair = 1,
    pads: Sequence[int] = NO_PADS,
    pad_value: int = 0,
    dilation: Pair = 1,
) -> np.ndarray:
    """Return the raw sums of products, int32 [E, F, M], of a depthwise filter [R, S, M].

    M is the number of channels or a multiple of it (TFLite's depth multiplier: input channel
    m // (M / C) is the input of output channel m). Otherwise as conv2d_sums.
    """
    height, width, outputs = filter_.shape
    repeats, ragged = divmod(outputs, ifmap.shape[-1])
    if ragged or not repeats:
        raise InputError(f"a filter of {times(filter_.shape)} does not fit a map of {ifmap.shape[-1]} channels")
    _check_operands(ifmap, filter_, height * width)
    if repeats > 1:
        ifmap = np.repeat(ifmap, repeats, axis=-1)
    view = windows(pad(ifmap, pads, pad_value).astype(np.int32), (height, width), stride, dilation)
    sums = np.zeros(view.shape[:-2], np.int32)
    for r, s in np.ndindex(height, width):
        sums += view[..., r, s] * filter_[r, s].astype(np.int32)
    return sums


def fully_connected_sums(ifmap: np.ndarray, filter_: np.ndarray) -> np.ndarray:
    """Return the raw sums, int32 [..., M], of int8 `ifmap` [..., C] and `filter_` [M, C]."""
    if ifmap.shape[-1] != filter_.shape[-1]:
        raise InputError(f"a filter of {times(filter_.shape)} does not fit {ifmap.shape[-1]} inputs")
    return _matmul(ifmap, filter_)


def fold_zero_point(bias: ArrayLike | None, filter_: np.ndarray, zero_point: int, channel_axis: int = 0) -> np.ndarray:
    """Return bias[m] - zero_point * sum(filter of m), int32 [M]; `bias` None is zero.

    With it, raw sums over a map padded with the zero point equal the reference's sums of
    (x - zero_point) * w. `channel_axis` is 0, or -1 for a depthwise filter.
    """
    axes = tuple(np.delete(np.arange(filter_.ndim), channel_axis))
    folded = -zero_point * filter_.sum(axis=axes, dtype=np.int64)
    return (folded if bias is None else folded + np.asarray(bias)).astype(np.int32)


def accumulate(sums: np.ndarray, folded_bias: np.ndarray) -> np.ndarray:
    """Return the int32 accumulators: `sums` [..., M] plus a folded bias [M]."""
    return np.add(sums, folded_bias, dtype=np.int64).astype(np.int32)


def conv2d(
    ifmap: np.ndarray,
    filter_: np.ndarray,
    bias: np.ndarray | None,
    zero_point: int,
    parameters: Requantization,
    stride: Pair = 1,
    pads: Sequence[int] = NO_PADS,
    dilation: Pair = 1,
) -> np.ndarray:
    """Compute an int8 convolution: int8 [E, F, M].

    `ifmap` is int8 [H, W, C] with `zero_point`; `filter_` [M, R, S, C] (groups as in conv2d_sums); `bias` int32 [M] or
    None; `parameters` a Requantization.
    """
    sums = conv2d_sums(ifmap, filter_, stride, pads, zero_point, dilation)
    return requantize(accumulate(sums, fold_zero_point(bias, filter_, zero_point)), parameters)


def transpose_conv2d(
    ifmap: np.ndarray,
    filter_: np.ndarray,
    bias: np.ndarray | None,
    zero_point: int,
    parameters: Requantization,
    stride: Pair,
    pads: tuple[int, int],
    size: tuple[int, int],
) -> np.ndarray:
    """Compute an int8 transposed convolution: int8 [E, F, M].

    Each pixel of `ifmap`, int8 [H, W, C] with `zero_point`, is added to the pixels of the result that its product with
    `filter_` [M, R, S, C] covers; `stride` apart. `size` is E and F; `pads` are rows and columns of the sums above and
    left of the result. Source: tensorflow/lite/kernels/internal/reference/integer_ops/transpose_conv.h
    """
    if ifmap.shape[-1] != filter_.shape[-1]:
        raise InputError(f"a filter of {times(filter_.shape)} does not fit a map of {ifmap.shape[-1]} channels")
    (down, across), (top, left), (rows, columns) = pair(stride), pads, size
    height, width = (count * step for count, step in zip(ifmap.shape[-3:-1], (down, across)))
    outputs, kernel_rows, kernel_columns, _ = filter_.shape
    covered = max(height + kernel_rows, top + rows), max(width + kernel_columns, left + columns)
    sums = np.zeros((*ifmap.shape[:-3], *covered, outputs), np.int64)
    centred = ifmap.astype(np.int64) - zero_point
    for r, s in np.ndindex(kernel_rows, kernel_columns):
        sums[..., r : r + height : down, s : s + width : across, :] += centred @ filter_[:, r, s].T.astype(np.int64)
    inside = sums[..., top : top + rows, left : left + columns, :]
    return requantize((inside if bias is None else inside + np.asarray(bias)).astype(np.int32), parameters)


def depthwise_conv2d(
    ifmap: np.ndarray,
    filter_: np.ndarray,
    bias: np.ndarray | None,
    zero_point: int,
    parameters: Requantization,
    stride: Pair = 1,
    pads: Sequence[int] = NO_PADS,
    dilation: Pair = 1,
) -> np.ndarray:
    """Compute an int8 depthwise convolution: int8 [E, F, M]. `filter_` is [R, S, M]; otherwise as conv2d."""
    sums = depthwise_conv2d_sums(ifmap, filter_, stride, pads, zero_point, dilation)
    return requantize(accumulate(sums, fold_zero_point(bias, filter_, zero_point, -1)), parameters)


def fully_connected(
    ifmap: np.ndarray, filter_: np.ndarray, bias: np.ndarray | None, zero_point: int, parameters: Requantization
) -> np.ndarray:
    """Compute an int8 fully connected layer of `ifmap` [..., C] and `filter_` [M, C]: int8 [..., M].

    Rescaled in fixed point like every operator, as TensorFlow Lite did up to 2.19 and TensorFlow
    Lite Micro does. Since 2.20 (LiteRT) its kernel multiplies in double instead and rounds once;
    a few outputs in 1,000 then differ by one. LiteRT issue 8567 asks for fixed point again.
    """
    return requantize(_fully_connected(ifmap, filter_, bias, zero_point), parameters)


def fully_connected_once(
    ifmap: np.ndarray,
    filter_: np.ndarray,
    bias: np.ndarray | None,
    zero_point: int,
    factor: ArrayLike,
    parameters: Requantization,
) -> np.ndarray:
    """Compute fully_connected, rescaled by `factor` in double, as LiteRT does.

    For uint8 it is the only reference.
    """
    return requantize_once(_fully_connected(ifmap, filter_, bias, zero_point), factor, parameters)


def _fully_connected(ifmap: np.ndarray, filter_: np.ndarray, bias: np.ndarray | None, zero_point: int) -> np.ndarray:
    return accumulate(fully_connected_sums(ifmap, filter_), fold_zero_point(bias, filter_, zero_point))
