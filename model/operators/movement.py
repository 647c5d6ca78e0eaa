# SPDX-License-Identifier: Apache-2.0
"""Operators that put values in other places. They take arrays of any type, so that they move indices as well.

Axes may be negative and count from the end then. Values keep scale and zero point. Sources: tensorflow/lite/kernels
(strided_slice.cc and its logic, split_v.cc, mirror_pad.cc, gather.cc) and internal/reference/resize_nearest_neighbor.h.
"""

import numpy as np

from eyrie.model.arithmetic import round_away
from eyrie.model.errors import InputError
from eyrie.model.messages import times


def concatenation(parts, axis):
    """CONCATENATION of several arrays."""
    return np.concatenate(parts, axis=axis)


def split(values, count, axis):
    """SPLIT into `count` arrays of one size. Raises InputError where the axis does not divide."""
    if values.shape[axis] % count:
        raise InputError(f"{values.shape[axis]} values along an axis do not split into {count}")
    return np.split(values, count, axis=axis)


def split_v(values, sizes, axis):
    """SPLIT_V into arrays of given sizes, one of which may be -1: what is left."""
    sizes, total = np.array(sizes), values.shape[axis]
    sizes[sizes == -1] = total - sizes[sizes != -1].sum()
    if sizes.min() < 0 or sizes.sum() != total:
        raise InputError(f"{total} values along an axis do not split into {', '.join(map(str, sizes))}")
    return np.split(values, np.cumsum(sizes)[:-1], axis=axis)


def slice_(values, begin, size):
    """SLICE; a size of -1 is up to the end."""
    ends = [
        total if count == -1 else start + count for start, count, total in zip(begin, size, values.shape, strict=True)
    ]
    if any(not 0 <= start <= end <= total for start, end, total in zip(begin, ends, values.shape, strict=True)):
        raise InputError(f"a slice of {times(size)} from {times(begin)} leaves {times(values.shape)} values")
    return values[tuple(map(slice, begin, ends))]


def strided_slice(
    values, begin, end, strides, begin_mask=0, end_mask=0, ellipsis_mask=0, new_axis_mask=0, shrink_axis_mask=0
):
    """STRIDED_SLICE; bit n of a mask makes entry n start or end at the edge, an ellipsis, a new axis or an index.

    An index whose begin is masked is 0, unlike in TensorFlow.
    """
    picks = []
    for place, (first, last, step) in enumerate(zip(begin, end, strides, strict=True)):
        bit = 1 << place
        if ellipsis_mask & bit:
            picks.append(Ellipsis)
        elif new_axis_mask & bit:
            picks.append(None)
        elif shrink_axis_mask & bit:
            picks.append(0 if begin_mask & bit else int(first))
        else:
            picks.append(
                slice(None if begin_mask & bit else int(first), None if end_mask & bit else int(last), int(step))
            )
    return values[tuple(picks)]


def pad(values, margins, value):
    """PAD (`value` is the zero point) and PADV2: `margins` are (before, after) of each axis."""
    return np.pad(values, margins, constant_values=value)


def mirror_pad(values, margins, mode):
    """MIRROR_PAD; `mode` is REFLECT, without the edge, or SYMMETRIC, with it."""
    return np.pad(values, margins, mode=mode.lower())


def tile(values, multiples):
    """TILE: how often along each axis."""
    return np.tile(values, multiples)


def reshape(values, shape):
    """RESHAPE; one size may be -1."""
    return values.reshape(tuple(int(size) for size in shape))


def transpose(values, axes):
    """TRANSPOSE: axis n of the result is axis axes[n]."""
    return values.transpose(tuple(axes))


def squeeze(values, axes=()):
    """SQUEEZE: without these axes of size 1; all of them if none is given."""
    return np.squeeze(values, tuple(axes) or None)


def expand_dims(values, axis):
    """EXPAND_DIMS: with a new axis of size 1."""
    return np.expand_dims(values, axis)


def pack(parts, axis):
    """PACK of arrays of one shape along a new axis."""
    return np.stack(parts, axis=axis)


def unpack(values, axis):
    """UNPACK into arrays without the axis."""
    return [np.take(values, place, axis=axis) for place in range(values.shape[axis])]


def gather(values, places, axis=0):
    """GATHER: the entries at `places`, an array of integers, along `axis`."""
    return np.take(values, places, axis=axis)


def resize_nearest_neighbor(values, shape, align_corners=False, half_pixel_centers=False):
    """RESIZE_NEAREST_NEIGHBOR of maps [..., H, W, C] to `shape` (rows, columns)."""
    rows, columns = (
        _nearest(size, wanted, align_corners, half_pixel_centers)
        for size, wanted in zip(values.shape[-3:-1], shape, strict=True)
    )
    return np.take(np.take(values, rows, axis=-3), columns, axis=-2)


def _nearest(size, wanted, align_corners, half_pixel_centers):
    """Which of `size` places each of `wanted` takes; in float32, as the reference does."""
    if align_corners and wanted > 1:
        scale = np.float32(size - 1) / np.float32(wanted - 1)
    else:
        scale = np.float32(size) / np.float32(wanted)
    place = (np.arange(wanted, dtype=np.float32) + np.float32(0.5 if half_pixel_centers else 0)) * scale
    nearest = round_away(place) if align_corners else np.floor(place).astype(np.int64)
    return np.clip(nearest, 0, size - 1)
