# SPDX-License-Identifier: Apache-2.0
"""How much of a pass the PEs hold, and which passes the accelerator runs at all."""

from collections.abc import Iterable
from math import prod
from typing import TypeVar

import numpy as np

from eyrie.compiler.ir.elementwise import Loop
from eyrie.compiler.ir.feature_map import word_groups
from eyrie.compiler.ir.window import Window
from eyrie.compiler.target.blocks import Blocks
from eyrie.model.config import (
    DEPTHWISE_BANDS,
    DEPTHWISE_PIXELS,
    DEPTHWISE_TAPS,
    SET_ROWS,
    WORD_CHANNELS,
    AcceleratorConfig,
)
from eyrie.model.descriptor import Descriptor
from eyrie.model.encoding import ARRAY_LOOPS, COORDINATE_BITS, STREAM_LEVEL, Axis, PoolMode, kernel_bands
from eyrie.model.errors import InputError
from eyrie.model.legality import broken_rule
from eyrie.model.messages import times

Count = TypeVar("Count", int, np.ndarray)  # of one mapping, or of several
MOST_CONVOLUTION = (SET_ROWS, 3)  # rows and columns of the kernel of a row-stationary convolution
MOST_DEPTHWISE = (DEPTHWISE_BANDS * SET_ROWS, DEPTHWISE_TAPS)  # rows and columns of a depthwise kernel


def most_pixels(config: AcceleratorConfig, depthwise: Window | None = None) -> int:
    """Pixels of a column in pointwise work, or with a window in depthwise work: those of the group in use and of the
    one to come; two where that would be a single pixel. 0: not even one"""
    pointwise = max(config.pixel_words // 2, 2)
    if depthwise is None:
        return pointwise
    held = (config.ifmap_words - depthwise.dense[1]) // depthwise.stride[0] + 1
    return min(pointwise, held, DEPTHWISE_PIXELS if bands(depthwise) > 1 else held)


def pairs(words: Count, x: int) -> Count:
    """Pairs of adjacent words, beginning at even columns, that cover `words` words from column x on. Where they are odd
    in number, x may be any column: they are as many."""
    return -(-(words + x % 2) // 2)


def tap_beats(window: Window, pixels: Count) -> Count:
    """Ifmap beats of a block's pixels for a tap of a convolution by taps: pairs of words where all blocks and taps take
    as many, else words."""
    as_many = (pixels % 2 == 1) | (window.kernel[1] == 1) | (window.dilation[1] % 2 == 0)
    return pixels - (pixels - pairs(pixels, window.pads[2])) * (as_many & (window.stride[1] == 1))


def window_pairs(window: Window, loops: Iterable[Loop], pitch: int) -> int:
    """Return the pairs of words in which a vector pass reads a row of a window, or 0 if it reads word by word. loops:
    from window to window; pitch: words of a row of the map

    All windows must have as many transfers. A row of even width has a pair more from an odd column on.
    """
    cols = window.kernel[1]
    steps = (loop.step for loop in loops if loop.axis == Axis.COLUMN and loop.count > 1)
    if window.dilation[1] > 1 or pitch % 2 or (cols % 2 == 0 and any(step % 2 for step in steps)):
        return 0
    found = pairs(cols, window.pads[2])
    return found if found < cols else 0


def drains_two_pixels(blocks: Blocks, pool: PoolMode, one_pixel: bool) -> bool:
    """Whether the sums of a block leave for two pixels at a time; one_pixel: they must not."""
    return blocks.pixels > 1 and pool == PoolMode.NONE and not one_pixel


def bands(window: Window) -> int:
    """Bands of a depthwise kernel: rows that a set works on at a time."""
    return kernel_bands(window.dense[0])


def row_words(window: Window, pixels: Count) -> Count:
    """Ifmap words that a PE takes for so many pixels of depthwise work, of one row."""
    return (pixels - 1) * window.stride[0] + window.dense[1]


def bands_at_once(config: AcceleratorConfig, window: Window, pixels: Count) -> Count:
    """Bands that the ifmap rows of a group of depthwise work are sent for at once: all, if a PE holds its rows of all
    of them, so that no PE waits for taps that wait for another; else the rows are sent again for each."""
    held = bands(window) * row_words(window, pixels) <= config.ifmap_words
    return 1 + held * (bands(window) - 1)


def ifmap_rows(window: Window, rows: Count, at_once: Count) -> Count:
    """Ifmap rows that depthwise work takes for so many output rows and so many bands."""
    return (rows - 1) * window.stride[0] + at_once * SET_ROWS


def alike(window: Window, pixels: Count) -> Count:
    """Return whether depthwise blocks of so many pixels that stand side by side take as many pairs of words each: all
    begin at even columns, or all at odd ones, or their words are odd in number."""
    return (pixels * window.stride[0] % 2 == 0) | (row_words(window, pixels) % 2 == 1)


def slides(window: Window) -> bool:
    """Return whether PEs can move the kernel of a row-stationary convolution along rows of the ifmap by themselves."""
    return window.dilation == (1, 1) and _moves(window, MOST_CONVOLUTION)


def slides_depthwise(window: Window) -> bool:
    """Return whether PEs and SUPERs can move a depthwise kernel along rows of the ifmap by themselves. Taps of zero
    fill a dilated kernel."""
    return _moves(window, MOST_DEPTHWISE)


def _moves(window: Window, most: tuple[int, int]) -> bool:
    fits = all(size <= limit for size, limit in zip(window.dense, most))
    return fits and window.stride in ((1, 1), (2, 2))


def folded(window: Window) -> Window | None:
    """Return a kernel of one row as one of several rows that PEs can move, with the fewest taps; None if there is none.

    Pairs of words begin at even columns, so the fold is even.
    """
    if window.kernel[0] > 1 or any(window.pads[:2]) or window.fold or window.dilation != (1, 1):
        return None
    most_rows, most_taps = MOST_DEPTHWISE
    found = [
        Window((rows, taps), window.stride[1:] * 2, window.pads, fold=fold)
        for rows in range(2, most_rows + 1)
        for fold in range(2, most_taps + 1, 2)
        if fold <= (taps := window.kernel[1] - (rows - 1) * fold) <= most_taps
    ]
    return min(found, key=lambda each: (bands(each), prod(each.kernel)), default=None)


def walks(window: Window, blocks: Blocks, groups: int) -> bool:
    """Return whether the loops of a convolution by taps, without the loop over tiles, and the coordinates of its ifmap
    words fit their fields."""
    loops = {"groups": groups, "inner": blocks.inner, "outer": blocks.outer}
    made = blocks.first_row + blocks.outer_rows * blocks.down, blocks.outer_width * blocks.along
    last = [(size - 1) * step + span for size, step, span in zip(made, window.stride, window.span)]
    return (
        all(count <= ARRAY_LOOPS.largest(name) for name, count in loops.items())
        and max(last) < 1 << COORDINATE_BITS
        and max(window.pads) < 1 << COORDINATE_BITS - 1
        and max(*window.stride, *window.dilation) <= STREAM_LEVEL.largest("step")
    )


def equal_stride(window: Window, depthwise: bool = False) -> int:
    """U of a kernel that PEs move. Raises InputError for one that they cannot"""
    if not (slides_depthwise(window) if depthwise else slides(window)):
        most, dilation = (MOST_DEPTHWISE, "with dilation") if depthwise else (MOST_CONVOLUTION, "without dilation")
        raise InputError(
            f"a {times(window.kernel)} kernel, {window}: PEs move kernels of up to "
            f"{times(most)} at stride 1 or 2, the same along rows and columns, {dilation}"
        )
    return window.stride[0]


SHARED_TILE = SET_ROWS  # filters of a tile that is one filter, which all rows of a set take; other tiles are even
SHARED_GROUPS = 16  # channel groups of which such a filter has at least: else other IDs cost more than it saves


def tile_words(tile: Count) -> Count:
    """Words of a channel group of a tile."""
    return tile - (SHARED_TILE - 1) * (tile == SHARED_TILE)


def beat_filters(config: AcceleratorConfig, pixels: Count, tile: Count) -> Count:
    """Filters of a beat in pointwise work of so many pixels a PE: as many as the port has where the PEs would wait for
    the next otherwise, else one, since rows are dealt one at a time more evenly."""
    slow = WORD_CHANNELS // config.multipliers
    return 1 + (config.filter_lanes - 1) * (pixels * slow < SET_ROWS) * (tile != SHARED_TILE)


def dealt_filters(count: int, each: int) -> tuple[int, ...]:
    """Filters of a tile for each row of a set: dealt in turn, as many at a time as come in a beat."""
    return tuple(each * -(-(count // each - row) // SET_ROWS) for row in range(SET_ROWS))


def deal_of(count: int, each: int, tiles: int) -> int:
    """Rows by which each of so many tiles is dealt from behind the one before: on from where that ended. each: filters
    of a beat."""
    return count // each % SET_ROWS if tiles > 1 else 0


def single_tile(config: AcceleratorConfig, filters: int, groups: int) -> int:
    """Filters of a tile that has all of a group: as many as there are, but an even number, so that words of DRAM and of
    ports come whole, and for each row of a set. All rows take a single filter of many channel groups, if its words may
    come one by one."""
    if filters == 1 and groups >= SHARED_GROUPS and config.bus_words == 1 and not config.weight_codes:
        return SHARED_TILE
    least = max(filters, SET_ROWS * config.filter_lanes)
    return least + least % 2


def most_dealt(config: AcceleratorConfig, count: Count, pixels: Count) -> Count:
    """Filters of a tile for the row of a set that has most, the first, in work of so many pixels a PE."""
    each = beat_filters(config, pixels, count)
    return each * -(-(count // each) // SET_ROWS)


def most_filters(config: AcceleratorConfig, pixels: int) -> int:
    """Filters of a tile whose sums the PEs hold, in blocks of 8; 0: not even one block."""
    most = SET_ROWS * (config.psum_words // pixels) // 8 * 8
    while most_dealt(config, most, pixels) * pixels > config.psum_words:
        most -= 8
    return most


def filter_sets(config: AcceleratorConfig) -> int:
    """PE sets that share the filters of a row-stationary tile: an even number, since two read each of their words, of
    which each has as many of the 8 of a GLB word. 0: there are no two."""
    return min(config.sets // 2 * 2, 4)


def row_stationary_groups(channels: int) -> int:
    """Channel groups of a row-stationary pass: halves of words, of which a single one may be without channels."""
    return 1 if channels <= WORD_CHANNELS else 2 * word_groups(channels)


def legal(config: AcceleratorConfig, descriptor: Descriptor) -> Descriptor:
    """A descriptor that is done. Raises InputError, with the rule, where the accelerator would stop at its pass."""
    if rule := broken_rule(config, descriptor):
        raise InputError(f"{rule}: the accelerator does not run such a pass")
    return descriptor
