# SPDX-License-Identifier: Apache-2.0
"""Data-movement operators. They accept arrays of any type, so that they can move indices as well as values.

Axes may be negative and then count from the end. Values keep scale and zero point. Sources: tensorflow/lite/kernels
(strided_slice.cc and its logic, split_v.cc, mirror_pad.cc, gather.cc) and internal/reference/resize_nearest_neighbor.h.
"""

from collections.abc import Sequence
from types import EllipsisType

import numpy as np

from eyrie.model.arithmetic import round_away
from eyrie.model.errors import InputError
from eyrie.model.messages import times


def concatenation(parts: Sequence[np.ndarray], axis: int) -> np.ndarray:
    """Concatenate arrays along `axis` (CONCATENATION)."""
    return np.concatenate(parts, axis=axis)


def split(values: np.ndarray, count: int, axis: int) -> list[np.ndarray]:
    """Split into `count` arrays of one size (SPLIT). Raise InputError if `count` does not divide the axis."""
    if values.shape[axis] % count:
        raise InputError(f"{values.shape[axis]} values along an axis do not split into {count}")
    return np.split(values, count, axis=axis)


def split_v(values: np.ndarray, sizes: Sequence[int], axis: int) -> list[np.ndarray]:
    """Split into arrays of given sizes (SPLIT_V). One size may be -1: the remaining entries."""
    parts, total = np.array(sizes), values.shape[axis]
    parts[parts == -1] = total - parts[parts != -1].sum()
    if parts.min() < 0 or parts.sum() != total:
        raise InputError(f"{total} values along an axis do not split into {', '.join(map(str, parts))}")
    return np.split(values, np.cumsum(parts)[:-1], axis=axis)


def slice_(values: np.ndarray, begin: Sequence[int], size: Sequence[int]) -> np.ndarray:
    """Cut out a part of an array (SLICE). A size of -1 reaches to the end."""
    ends = [
        total if count == -1 else start + count for start, count, total in zip(begin, size, values.shape, strict=True)
    ]
    if any(not 0 <= start <= end <= total for start, end, total in zip(begin, ends, values.shape, strict=True)):
        raise InputError(f"a slice of {times(size)} from {times(begin)} leaves {times(values.shape)} values")
    return values[tuple(map(slice, begin, ends))]


def strided_slice(
    values: np.ndarray,
    begin: Sequence[int],
    end: Sequence[int],
    strides: Sequence[int],
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
) -> np.ndarray:
    """Cut out a part with strides (STRIDED_SLICE).

    Bit n of a mask makes entry n start at the edge (begin), end at the edge (end), an ellipsis, a new axis, or an index
    (shrink axis). An index whose begin is masked is 0, unlike in TensorFlow.
    """
    picks: list[EllipsisType | slice | int | None] = []
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


def pad(values: np.ndarray, margins: Sequence[tuple[int, int]], value: int) -> np.ndarray:
    """Pad with `value` (PAD with the zero point, PADV2); `margins` are (before, after) for each axis."""
    return np.pad(values, margins, constant_values=value)


def mirror_pad(values: np.ndarray, margins: Sequence[tuple[int, int]], mode: str) -> np.ndarray:
    """Pad with mirrored values (MIRROR_PAD); `mode` is REFLECT, without the edge, or SYMMETRIC, with it."""
    return np.pad(values, margins, mode="reflect" if mode == "REFLECT" else "symmetric")


def tile(values: np.ndarray, multiples: Sequence[int]) -> np.ndarray:
    """Repeat an array along each axis (TILE)."""
    return np.tile(values, multiples)


def reshape(values: np.ndarray, shape: Sequence[int]) -> np.ndarray:
    """Reshape an array (RESHAPE). One size may be -1."""
    return values.reshape(tuple(int(size) for size in shape))


def transpose(values: np.ndarray, axes: Sequence[int]) -> np.ndarray:
    """Permute axes (TRANSPOSE): axis n of the result is axis axes[n]."""
    return values.transpose(tuple(axes))


def squeeze(values: np.ndarray, axes: Sequence[int] = ()) -> np.ndarray:
    """Remove the given axes, which have size 1 (SQUEEZE); without `axes`, remove all axes of size 1."""
    return np.squeeze(values, tuple(axes) or None)


def expand_dims(values: np.ndarray, axis: int) -> np.ndarray:
    """Insert a new axis of size 1 (EXPAND_DIMS)."""
    return np.expand_dims(values, axis)


def pack(parts: Sequence[np.ndarray], axis: int) -> np.ndarray:
    """Stack arrays of one shape along a new axis (PACK)."""
    return np.stack(parts, axis=axis)


def unpack(values: np.ndarray, axis: int) -> list[np.ndarray]:
    """Split into arrays without the axis (UNPACK)."""
    return [np.take(values, place, axis=axis) for place in range(values.shape[axis])]


def gather(values: np.ndarray, places: np.ndarray, axis: int = 0) -> np.ndarray:
    """Return the entries at the indices `places` along `axis` (GATHER)."""
    return np.take(values, places, axis=axis)


def resize_nearest_neighbor(
    values: np.ndarray, shape: Sequence[int], align_corners: bool = False, half_pixel_centers: bool = False
) -> np.ndarray:
    """Resize maps [..., H, W, C] to `shape` (rows, columns) by the nearest value (RESIZE_NEAREST_NEIGHBOR)."""
    rows, columns = (
        _nearest(size, wanted, align_corners, half_pixel_centers)
        for size, wanted in zip(values.shape[-3:-1], shape, strict=True)
    )
    return np.take(np.take(values, rows, axis=-3), columns, axis=-2)


def _nearest(size: int, wanted: int, align_corners: bool, half_pixel_centers: bool) -> np.ndarray:
    """Return which of `size` positions each of `wanted` positions reads; in float32, as the reference does."""
    if align_corners and wanted > 1:
        scale = np.float32(size - 1) / np.float32(wanted - 1)
    else:
        scale = np.float32(size) / np.float32(wanted)
    place = (np.arange(wanted, dtype=np.float32) + np.float32(0.5 if half_pixel_centers else 0)) * scale
    nearest = round_away(place) if align_corners else np.floor(place).astype(np.int64)
    return np.clip(nearest, 0, size - 1)
