# SPDX-License-Identifier: Apache-2.0
"""Layers with folded data-movement operators (fold_moves.py): windows and filters from index maps."""

from dataclasses import replace

import numpy as np

from eyrie.compiler.ir.feature_map import word_groups
from eyrie.compiler.ir.graph import Node, map_shape
from eyrie.compiler.ir.maps import map_of
from eyrie.compiler.ir.operator import quantized
from eyrie.compiler.ir.tensor import Tensor
from eyrie.compiler.operators.convolution import Conv2D, Windowed
from eyrie.compiler.operators.fully_connected import FullyConnected
from eyrie.compiler.operators.moves import by_pixel
from eyrie.compiler.passes.index_maps import IndexMap


class Unfoldable(ValueError):
    """Data-movement operators that cannot be folded into a layer; the message says why."""


def folded_connected(layer: Node, operator: FullyConnected, front: IndexMap) -> Node:
    """Return a fully connected layer whose filters are in the order of `front`. Raise Unfoldable."""
    (source,), count = front.sources, layer.inputs[0].size
    places = front.places.reshape(-1)
    permuted = source.size == count and np.array_equal(np.sort(places), np.arange(count))
    if operator.keep_axes or operator.filters.shape[1] != count or not permuted:
        raise Unfoldable("its inputs are other values, not others' order")
    if not 2 <= len(source.shape) <= 4 or source.shape[0] != 1 or _words(source) > _words(layer.inputs[0]):
        raise Unfoldable("its inputs would be in more words")
    filters = np.empty_like(operator.filters)
    filters[:, places] = operator.filters
    return replace(layer, operator=replace(operator, filters=filters), inputs=(source,))


def _words(tensor: Tensor) -> int:
    if not 2 <= len(tensor.shape) <= 4 or tensor.shape[0] != 1:
        return tensor.size
    rows, cols, channels = map_shape(tensor.shape)
    return rows * cols * word_groups(channels)


def folded_window(layer: Node, operator: Windowed, front: IndexMap, end: Tensor, back: IndexMap) -> Windowed:
    """Return the convolution on the source of `front` whose output is the tensor `end`, which `back` maps to the layer.

    Raise Unfoldable or Unmovable.
    """
    (source,), (ifmap,), (ofmap,) = front.sources, layer.inputs, layer.outputs
    if np.any(front.places < 0) and front.fill != quantized(source).zero_point:
        raise Unfoldable("margins are other values than its padding")
    if np.any(back.places < 0):
        raise Unfoldable("margins after it")
    *rows_in, _channels_in = ifmap.shape
    shape, made = map_of(source).shape, map_shape(end.shape)
    pixels, taken = by_pixel(front.places.reshape(-1, *ifmap.shape[2:]), shape[2])
    asked, kept = by_pixel(back.places.reshape(made), ofmap.shape[3])
    if np.any(taken < 0):
        raise Unfoldable("channels that are margins")
    taps = _taps(operator, pixels.reshape(rows_in), ofmap.shape, asked)
    stride, dilation, pads = window_of_taps(taps, shape[:2])
    return replace(_with_channels(operator, taken, kept, shape[2]), stride=stride, dilation=dilation, pads=pads)


def _taps(operator: Windowed, pixels: np.ndarray, made: tuple[int, ...], asked: np.ndarray) -> np.ndarray:
    """Return int [E, F, R, S], the pixel of the source that each tap reads, -1 outside.

    pixels: int [N, H, W], of the layer's input; made: shape of its output; asked: int [E, F], the pixels of the output
    to make
    """
    image, row, col = np.unravel_index(asked, made[:3])
    places = []
    for at, taps, step, gap, before in zip(
        (row, col), operator.kernel, operator.stride, operator.dilation, operator.pads[::2]
    ):
        places.append(at[:, :, None] * step + np.arange(taps) * gap - before)
    down, across = places[0][:, :, :, None], places[1][:, :, None, :]
    inside = (down >= 0) & (down < pixels.shape[1]) & (across >= 0) & (across < pixels.shape[2])
    found = pixels[
        image[:, :, None, None], np.clip(down, 0, pixels.shape[1] - 1), np.clip(across, 0, pixels.shape[2] - 1)
    ]
    return np.where(inside, found, -1)


def window_of_taps(
    taps: np.ndarray, shape: tuple[int, int]
) -> tuple[tuple[int, int], tuple[int, int], tuple[int, int, int, int]]:
    """Return the stride, dilation and pads of the window on a map of this shape that reads the pixels of `taps`.

    Raise Unfoldable if no window reads them.
    """
    inside = taps >= 0
    if not inside.any():
        raise Unfoldable("it reads no pixel of the map")
    strides, dilations, pads, expected, there = [], [], [], [], True
    for axis, places in enumerate(np.divmod(taps, shape[1])):
        stride, dilation = (_step(places, inside, along) for along in (axis, axis + 2))
        first = [int(index[0]) for index in np.nonzero(inside)]
        start = int(places[tuple(first)]) - first[axis] * stride - first[axis + 2] * dilation
        along = [np.arange(size).reshape([-1 if n == k else 1 for n in range(4)]) for k, size in enumerate(taps.shape)]
        place = along[axis] * stride + along[axis + 2] * dilation + start
        span = (taps.shape[axis] - 1) * stride + (taps.shape[axis + 2] - 1) * dilation + 1
        after = span + start - shape[axis]
        if start > 0 or after <= -stride:
            raise Unfoldable("its window would not begin at the edge of the map, or not end there")
        strides.append(stride)
        dilations.append(dilation)
        pads += [-start, max(after, 0)]
        expected.append(place)
        there = there & (place >= 0) & (place < shape[axis])
    if not np.array_equal(taps, np.where(there, expected[0] * shape[1] + expected[1], -1)):
        raise Unfoldable("its sums would not be of a window")
    return (strides[0], strides[1]), (dilations[0], dilations[1]), tuple(pads)


def _step(places: np.ndarray, inside: np.ndarray, along: int) -> int:
    """Return the step between places along an axis of [E, F, R, S], 1 if the axis has one place. Raise Unfoldable."""
    here, behind = (np.take(each, range(places.shape[along] - 1), along) for each in (places, inside))
    following, there = (np.take(each, range(1, places.shape[along]), along) for each in (places, inside))
    steps = (following - here)[behind & there]
    if places.shape[along] == 1:
        return 1
    if not len(steps) or steps[0] < 1:
        raise Unfoldable("its sums would not be of a window")
    return int(steps[0])


def _with_channels(operator: Windowed, taken: np.ndarray, kept: np.ndarray, channels: int) -> Windowed:
    """Return the operator with other channels. taken: the input channel of each of the layer's channels, of `channels`;
    kept: the output channels that remain, in order

    Raise Unfoldable if this needs more channels.
    """
    same = np.array_equal(taken, np.arange(channels)), np.array_equal(kept, np.arange(operator.outputs))
    if all(same):
        return operator
    if not isinstance(operator, Conv2D) or operator.filters.shape[3] != len(taken):
        raise Unfoldable("its channels are not summed")
    filters = operator.filters
    if not same[0]:
        if len(np.unique(taken)) < len(taken) or word_groups(channels) > word_groups(len(taken)):
            raise Unfoldable("its channels would be others, or more")
        filters = np.zeros((*filters.shape[:3], channels), filters.dtype)
        filters[..., taken] = operator.filters
    scales = operator.scales[kept] if len(operator.scales) > 1 else operator.scales
    return replace(operator, filters=filters[kept], bias=operator.bias[kept], scales=scales)
