# SPDX-License-Identifier: Apache-2.0
"""Padding and windows of maps [..., H, W, C].

Strides and dilations are one number or (vertical, horizontal); `pads` are always the four numbers (top, bottom, left,
right). Source: tensorflow/lite/kernels/padding.h.
"""

from collections.abc import Sequence

import numpy as np

from eyrie.model.errors import InputError
from eyrie.model.messages import times

Pair = int | Sequence[int]  # of both directions, or vertical and horizontal

NO_PADS = (0, 0, 0, 0)


def pair(value: Pair) -> tuple[int, int]:
    """Return (vertical, horizontal) of one number or two."""
    if isinstance(value, int | np.integer):
        return value, value
    vertical, horizontal = value
    return vertical, horizontal


def same_pads(shape: Sequence[int], kernel: Pair, stride: Pair, dilation: Pair = 1) -> tuple[int, int, int, int]:
    """Return TFLite's SAME pads for a map of `shape` (H, W): the odd one is at bottom and right."""
    pads: list[int] = []
    for size, taps, step, gap in zip(shape, pair(kernel), pair(stride), pair(dilation), strict=True):
        total = max((-(-size // step) - 1) * step + (taps - 1) * gap + 1 - size, 0)
        pads += (total // 2, total - total // 2)
    top, bottom, left, right = pads
    return top, bottom, left, right


def pad(ifmap: np.ndarray, pads: Sequence[int], value: int) -> np.ndarray:
    """Return the map with a border of `value`. Raise InputError for a negative pad."""
    top, bottom, left, right = pads
    if min(pads) < 0:
        raise InputError(f"pads are not negative, got {', '.join(map(str, pads))}")
    if not any(pads):
        return ifmap
    widths = [(0, 0)] * (ifmap.ndim - 3) + [(top, bottom), (left, right), (0, 0)]
    return np.pad(ifmap, widths, constant_values=value)


def windows(padded: np.ndarray, kernel: Pair, stride: Pair, dilation: Pair = 1) -> np.ndarray:
    """Return a view [..., E, F, C, R, S] of every window of a padded map. Raise InputError if no window fits."""
    gaps = pair(dilation)
    reach = tuple((taps - 1) * gap + 1 for taps, gap in zip(pair(kernel), gaps, strict=True))
    if padded.ndim < 3 or any(k > n for k, n in zip(reach, padded.shape[-3:-1], strict=True)):
        raise InputError(f"a kernel of {times(reach)} does not fit a padded map of {times(padded.shape)}")
    down, across = pair(stride)
    view = np.lib.stride_tricks.sliding_window_view(padded, reach, axis=(-3, -2))
    return view[..., ::down, ::across, :, :: gaps[0], :: gaps[1]]
