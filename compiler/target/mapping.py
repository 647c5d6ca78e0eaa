# SPDX-License-Identifier: Apache-2.0
"""How a group's rows are laid on the array: every legal mapping, and what it costs."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from compiler.ir.elementwise import Elementwise
from compiler.ir.feature_map import word_groups
from compiler.ir.layer import Convolution, Depthwise, Group, Grouped, Pointwise, Separable
from compiler.target.blocks import Blocks
from compiler.target.limits import drains_two_pixels, most_dealt, most_pixels, pairs, slides, walks
from model.config import DEPTHWISE_TAPS, GLB_WORD_BYTES, SET_ROWS, WORD_CHANNELS, MachineConfig
from model.encoding import STREAM_RANGE, TABLE_WORDS, ArrayMode, Operation, PoolMode

FINISHED_PIXEL = 8  # cycles of a SUPER for a pixel's depthwise sums
FIRST_SUM = 4  # cycles from a depthwise group's begin to that
DEPTHWISE_LATENCY = 12  # cycles from a group's last word to its first product, and from its last to the next word


@dataclass(frozen=True)
class Packing:
    """What the order of packed filters depends on: the array's mode and the filters of a tile."""

    mode: ArrayMode
    tile: int


@dataclass(frozen=True)
class Mapping:
    """One job of a group: `blocks` (its first_row is the job's to fill in), `tile` filters at a time.

    mode    of the array: a convolution of all channels is row-stationary (CONVOLUTION) or by taps (POINTWISE)
    cycles  estimate for a job when nothing but the array holds it up
    """

    mode: ArrayMode
    blocks: Blocks
    tile: int
    tiles: int
    cycles: int

    @property
    def packing(self) -> Packing:
        return Packing(self.mode, self.tile)

    def __str__(self) -> str:
        b = self.blocks
        below, flat = " below" if b.below else "", "flat, " if b.flat else ""
        return (f"{self.mode.name.lower()}, {flat}{b.rows} rows x {b.cols} blocks x {b.pixels} pixels,"
                f" inner {b.inner}{below}, outer {b.outer}, {self.tiles} tiles of {self.tile}")


def mappings(machine: MachineConfig, group: Group, rows: int, whole: bool = False) -> list[Mapping]:
    """All legal mappings of `rows` output rows of a group, cheapest first; none of a convolution of several
    images at once, none by taps of a packed map: single words are no pixels. whole: all maps of the group lie in the
    GLB as a whole, and all rows are made."""
    if isinstance(group, Elementwise):
        return [_elementwise(group, rows)]
    if isinstance(group, (Convolution, Grouped)):
        found = [] if group.images or group.source.packed else _by_taps(machine, group, rows)
        found += [] if group.images else _row_stationary(machine, group, rows)
    else:
        found = [*_separables(machine, group, rows), *(_flat(machine, group) if whole and group.flat else ())]
    # Of equals fewer tiles, each of which reads the ifmap; or, where words are kept for all tiles, smaller ones: what
    # reads the ofmap waits for the sums of the last.
    kept = -1 if isinstance(group, Separable) else 1
    return sorted(found, key=lambda m: (m.cycles, kept * m.tiles, m.blocks.inner, -m.blocks.rows, -m.blocks.pixels,
                                        m.mode))


def _elementwise(group: Elementwise, rows: int) -> Mapping:
    """The words of the rows in turn: two cycles each, or one for each word of their windows; copies take one."""
    _, width, channels = group.output.shape
    words = max(group.images, 1) * rows * width * word_groups(channels)
    each = 1 if group.operation.kind == Operation.NONE else max(2, group.window.taps)
    return Mapping(ArrayMode.ELEMENTWISE, Blocks(1, 1, width, down=rows), 0, 1, each * words)


def in_supers(machine: MachineConfig, group: Depthwise | Separable) -> bool:
    """Whether the SUPERs do a group's depthwise work: in int8, of each channel by itself, and two sets make a GLB word
    where it is not multiplied further."""
    alone = isinstance(group, Depthwise)
    return (slides(group.window) and group.depthwise.dtype == np.int8
            and group.depthwise.shape[-1] == group.source.shape[2] and not (alone and machine.sets < 2))


def _arrangements(machine: MachineConfig, rows: int, width: int,
                  most_pixels: int) -> Iterator[tuple[int, int, int]]:
    """(rows, cols, pixels) of the blocks in flight: rows divide the job's, the columns do not overshoot the map by a
    whole block."""
    for down in range(1, min(rows, machine.cols) + 1):
        if rows % down:
            continue
        for pixels in range(1, most_pixels + 1):
            for cols in range(1, min(machine.cols // down, -(-width // pixels)) + 1):
                yield down, cols, pixels


def _blocks(machine: MachineConfig, group: Group, rows: int, most_pixels: int) -> Iterator[Blocks]:
    """All blocks that a group of `rows` output rows can have, but for row-stationary convolutions. Depthwise work has
    no inner blocks below each other: its words are kept for all inner blocks."""
    width = group.map_shape[1]
    if group.images:  # rows of several images side by side, a row in one block
        for images in range(1, min(group.images, machine.cols) + 1):
            for down in range(1, min(rows, machine.cols // images) + 1):
                inner = group.images // images
                if images * inner == group.images and rows % down == 0 and width <= most_pixels and (
                        inner == 1 or rows == down):
                    yield Blocks(down, 1, width, rows // down, 1, inner, images=images)
        return
    for down, cols, pixels in _arrangements(machine, rows, width, most_pixels):
        along = -(-width // (cols * pixels))
        for inner in {1, along}:
            if inner == 1 or rows == down:
                yield Blocks(down, cols, pixels, rows // down, along // inner, inner)
        if along == 1 and rows > down and not isinstance(group, (Depthwise, Separable)):
            yield Blocks(down, cols, pixels, inner=rows // down, below=True)


def _averages(group: Group, blocks: Blocks, rows: int) -> bool:
    """Whether a group's average, if it has one, can be made of these blocks."""
    if not group.averaged:
        return True
    if (blocks.rows, blocks.width) != (rows, group.map_shape[1]):
        return False  # an average is over all pixels in flight
    return blocks.images <= 1 or not rows & rows - 1  # over a power of two of columns each


def holds_at_once(machine: MachineConfig, shape: tuple[int, int]) -> bool:
    """Whether all pixels of a map of pointwise work, (E, F), can be in flight, as for an average over all of them."""
    rows, width = shape
    least = most_dealt(machine, 8)  # filters of a PE
    return any((down, cols * pixels) == (rows, width) and least * pixels <= machine.psum_words
               for down, cols, pixels in _arrangements(machine, rows, width, most_pixels(machine)))


def has_mapping(machine: MachineConfig, group: Depthwise | Separable) -> bool:
    """Whether there is any: for all rows of a map that is averaged, else for one."""
    return next(_separables(machine, group, group.map_shape[0] if group.averaged else 1), None) is not None


def _separables(machine: MachineConfig, group: Group, rows: int) -> Iterator[Mapping]:
    depthwise = isinstance(group, (Depthwise, Separable))
    if depthwise and not in_supers(machine, group):
        return
    mode = {Pointwise: ArrayMode.POINTWISE, Depthwise: ArrayMode.DEPTHWISE, Separable: ArrayMode.FUSED}[type(group)]
    groups = word_groups(group.source.shape[2])
    most = most_pixels(machine, group.window.stride[0] if depthwise else None)
    tiles_of = [_tiles(machine, group, pixels) for pixels in range(1, most + 1)]
    for blocks in _blocks(machine, group, rows, most):
        if not _averages(group, blocks, rows):
            continue
        for tile in tiles_of[blocks.pixels - 1]:
            tiles = word_groups(len(group.filters)) * 8 // tile if tile else 1
            words = groups * blocks.pixels * blocks.inner * (2 if machine.sets == 1 else 1)
            if mode == ArrayMode.FUSED and tiles > 1 and words > machine.word_buffer_words:
                continue
            yield Mapping(mode, blocks, tile, tiles, _separable_cycles(machine, group, blocks, tile, tiles))


def _flat(machine: MachineConfig, group: Pointwise) -> Iterator[Mapping]:
    """Of all rows as one, if that has no more columns than a stream counts."""
    cols, channels = group.source.layout.flat.cols, group.source.shape[2]
    if cols > STREAM_RANGE.largest("cols"):
        return
    one_row = replace(group, source=replace(group.source, shape=(1, cols, channels)))
    for mapping in _separables(machine, one_row, 1):
        yield replace(mapping, blocks=replace(mapping.blocks, flat=True))


def _tiles(machine: MachineConfig, group: Group, pixels: int) -> list[int]:
    """Tile sizes: multiples of 8 that divide the filters evenly and whose sums the PEs hold; 0 without filters."""
    if isinstance(group, Depthwise):
        return [0]
    total = word_groups(len(group.filters)) * 8
    shared = group.own_blocks * 8 if isinstance(group, Grouped) else total  # filters of the same channels
    return [tile for tile in range(8, shared + 1, 8)
            if shared % tile == 0 and most_dealt(machine, tile) * pixels <= machine.psum_words]


def _drain_cycles(group: Group, blocks: Blocks, tile: int) -> int:
    """Until the sums of a tile have left, while the next tile is worked on: of each block of filters a beat of each
    filter and pixel or two, the words that they make, or those of its table, whichever are more."""
    pixels, columns = blocks.pixels, blocks.columns
    beats = pixels
    if group.averaged:  # words leave with the last pixel only
        words = columns
    elif drains_two_pixels(blocks, PoolMode.NONE, bool(group.operations)):
        beats = -(-pixels // 2)
        # Pairs of words that begin at odd columns are written one by one.
        odd = pixels % 2 and blocks.outer_width * blocks.along > pixels and not blocks.images
        words = columns * (beats + pixels) // 2 if odd else columns * beats
    else:
        words = columns * pixels * (2 if group.operations else 1)
    return tile // 8 * max(8 * beats, words, TABLE_WORDS)


def _separable_cycles(machine: MachineConfig, group: Group, blocks: Blocks, tile: int, tiles: int) -> int:
    slow = WORD_CHANNELS // machine.multipliers
    groups = word_groups(group.source.shape[2]) * (2 if machine.sets == 1 else 1)
    stride, left = group.window.stride[0], group.window.pads[2]
    pointwise = most_dealt(machine, tile) * blocks.pixels * slow
    arrival = tile // machine.filter_lanes
    if isinstance(group, Pointwise):
        beats = blocks.columns * pairs(blocks.pixels, left)
        first = later = max(pointwise, beats, arrival)
    else:
        depthwise = DEPTHWISE_TAPS * blocks.pixels * slow
        span = (blocks.rows - 1) * stride + SET_ROWS
        words = (blocks.pixels - 1) * stride + DEPTHWISE_TAPS
        beats = span * blocks.columns // blocks.rows * pairs(words, left)
        finished = FINISHED_PIXEL * blocks.pixels + FIRST_SUM
        first, later = max(pointwise + depthwise, beats, arrival, finished), max(pointwise, arrival)
        if isinstance(group, Depthwise):
            # A PE holds the words of one group; those of the next come when it is done.
            in_turn = beats + max(0, depthwise - beats // 2) + DEPTHWISE_LATENCY
            first = max(in_turn, blocks.columns * blocks.pixels)  # depthwise words, which leave at once
    sums = _drain_cycles(group, blocks, tile)
    work = max(groups * first, sums) + (tiles - 1) * max(groups * later, sums)
    return blocks.outer * blocks.inner * work


def _by_taps(machine: MachineConfig, group: Convolution | Grouped, rows: int) -> list[Mapping]:
    """Each tap of a channel group as a channel group of its own, whose pixels come one by one."""
    slow, halves = WORD_CHANNELS // machine.multipliers, 2 if machine.sets == 1 else 1
    channel_groups = 1 if isinstance(group, Grouped) else word_groups(group.source.shape[2])
    groups = channel_groups * group.window.taps * halves
    total = word_groups(len(group.filters)) * 8
    found = []
    for blocks in _blocks(machine, group, rows, most_pixels(machine)):
        if not _averages(group, blocks, rows):
            continue
        for tile in _tiles(machine, group, blocks.pixels):
            tiles, pointwise = total // tile, most_dealt(machine, tile) * blocks.pixels * slow
            work = max(pointwise, blocks.columns * blocks.pixels, tile // machine.filter_lanes)
            if walks(group.window, blocks, groups, tiles):
                drained = _drain_cycles(group, blocks, tile)
                cycles = blocks.outer * blocks.inner * tiles * max(groups * work, drained)
                found.append(Mapping(ArrayMode.POINTWISE, blocks, tile, tiles, cycles))
    return found


def _row_stationary(machine: MachineConfig, group: Group, rows: int) -> list[Mapping]:
    """On two sets, which share the filters of a tile: words of 8 channels are made of p filters of each, or of one."""
    window, total = group.window, word_groups(len(group.filters)) * GLB_WORD_BYTES
    taps, slow = window.kernel[1], WORD_CHANNELS // machine.multipliers
    if not isinstance(group, Convolution) or machine.sets != 2 or not slides(window) or group.averaged:
        return []
    width, stride = group.map_shape[1], window.stride[0]
    groups = -(-group.source.shape[2] // WORD_CHANNELS)
    found = []
    for p in (GLB_WORD_BYTES // machine.sets, GLB_WORD_BYTES):
        tile = p * machine.sets
        if p * taps > machine.filter_words or total % tile:
            continue
        for down, cols, pixels in _arrangements(machine, rows, width, min(machine.psum_words // p, width + 1)):
            if pixels * stride % 2 and pixels < width:
                continue  # pairs of words begin at even columns
            blocks = Blocks(down, cols, pixels, rows // down, -(-width // (cols * pixels)))
            span = (down - 1) * stride + window.kernel[0]
            beats = span * cols * pairs((pixels - 1) * stride + taps, window.pads[2])
            work = max(p * taps * pixels * slow, beats)
            cycles = blocks.outer * (total // tile) * max(groups * work, _drain_cycles(group, blocks, tile))
            found.append(Mapping(ArrayMode.CONVOLUTION, blocks, tile, total // tile, cycles))
    return found
