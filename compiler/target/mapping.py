# SPDX-License-Identifier: Apache-2.0
"""How a group's rows are laid on the array: every legal mapping, and what it costs."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from eyrie.compiler.ir.elementwise import Elementwise
from eyrie.compiler.ir.feature_map import word_groups
from eyrie.compiler.ir.layer import Convolution, Depthwise, Filtered, Group, Grouped, Pointwise, Separable
from eyrie.compiler.target.blocks import Blocks
from eyrie.compiler.target.limits import (
    alike,
    bands,
    bands_at_once,
    beat_filters,
    filter_sets,
    ifmap_rows,
    most_dealt,
    most_pixels,
    pairs,
    row_stationary_groups,
    row_words,
    single_tile,
    slides,
    slides_depthwise,
    tap_beats,
    tile_words,
    walks,
    window_pairs,
)
from eyrie.model.config import GLB_WORD_BYTES, WORD_CHANNELS, AcceleratorConfig
from eyrie.model.encoding import ARRAY_LOOPS, NO_COLUMN, PARAMETER_WORDS, STREAM_RANGE, ArrayMode

FINISHED_PIXEL = 8  # cycles of a SUPER for a pixel's depthwise sums
FIRST_SUM = 4  # cycles from a depthwise group's begin to that
PAIRS = 1.03  # by which pairs of words take longer than they would alone: they meet more clients in the GLB banks
MOST_REMEMBERED = 1000  # sets of blocks
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
        return (
            f"{self.mode.name.lower()}, {flat}{b.rows} rows x {b.cols} blocks x {b.pixels} pixels,"
            f" inner {b.inner}{below}, outer {b.outer}, {self.tiles} tiles of {self.tile}"
        )


def mappings(config: AcceleratorConfig, group: Group, rows: int, whole: bool = False) -> list[Mapping]:
    """Legal mappings of `rows` output rows of a group, cheapest first, of those that differ in their blocks alone the
    first (`_Candidates.first_of_each_kind`); none of a convolution of several images at once, none by taps of a packed
    map: single words are no pixels. whole: all maps of the group lie in the GLB as a whole, and all rows are made."""
    if isinstance(group, Elementwise):
        return [_elementwise(group, rows)]
    if isinstance(group, (Convolution, Grouped)):
        found = [] if group.images or group.source.packed else _by_taps(config, group, rows)
        found += [] if group.images else _row_stationary(config, group, rows)
    else:
        found = _separables(config, group, rows)
        if whole and isinstance(group, Pointwise) and group.flat:
            found += _flat(config, group)
    # Of equals fewer tiles, each of which reads the ifmap; or, where words are kept for all tiles, smaller ones: what
    # reads the ofmap waits for the sums of the last.
    kept = -1 if isinstance(group, Separable) else 1
    return sorted(
        found, key=lambda m: (m.cycles, kept * m.tiles, m.blocks.inner, -m.blocks.rows, -m.blocks.pixels, m.mode)
    )


@dataclass(frozen=True)
class _Candidates:
    """Blocks that a job may have; of each, as arrays [blocks, 1], what cycles depend on."""

    blocks: list[Blocks]
    rows: np.ndarray
    pixels: np.ndarray
    columns: np.ndarray
    inner: np.ndarray
    outer: np.ndarray
    odd: np.ndarray  # whether pairs of words that leave begin at odd columns, too

    @classmethod
    def of(cls, blocks: list[Blocks]) -> "_Candidates":
        counts = [
            (
                b.rows,
                b.pixels,
                b.columns,
                b.inner,
                b.outer,
                b.pixels % 2 and b.outer_width * b.along > b.pixels and not b.images,
            )
            for b in blocks
        ]
        return cls(blocks, *np.array(counts, np.int64).reshape(-1, 6).T[:, :, None])

    def first_of_each_kind(
        self, mode: ArrayMode, tile: np.ndarray, tiles: np.ndarray, cycles: np.ndarray, legal: np.ndarray
    ) -> Iterator[Mapping]:
        """The cheapest legal mapping for each tile, of one or more inner blocks and of one or more outer blocks: what
        is asked of mappings beside their cycles. tile, tiles: [tiles]; cycles, legal: [blocks, tiles]."""
        at, which = np.nonzero(legal)
        inner, rows, pixels, cycles = self.inner[at, 0], self.rows[at, 0], self.pixels[at, 0], cycles[at, which]
        order = np.lexsort((-pixels, -rows, inner, cycles))
        kind = which * 4 + 2 * (self.outer[at, 0] > 1) + (inner > 1)
        firsts = order[np.unique(kind[order], return_index=True)[1]]
        for n in sorted(firsts.tolist()):
            yield Mapping(mode, self.blocks[at[n]], int(tile[which[n]]), int(tiles[which[n]]), int(cycles[n]))


def _elementwise(group: Elementwise, rows: int) -> Mapping:
    """One word of the first operand, or a pair of a window, per cycle, row by row."""
    _, width, channels = group.output.shape
    words = max(group.images, 1) * rows * width * word_groups(channels)
    pairs = window_pairs(group.window, (*group.pixels(rows), *group.words), group.source.layout.pitch)
    taps = group.window.kernel[0] * pairs or group.window.taps
    return Mapping(ArrayMode.ELEMENTWISE, Blocks(1, 1, width, down=rows), 0, 1, taps * words)


def in_supers(config: AcceleratorConfig, group: Depthwise | Separable) -> bool:
    """Whether the SUPERs do a group's depthwise work: of each channel by itself, and two sets make a GLB word where it
    is not multiplied further."""
    alone = isinstance(group, Depthwise)
    return (
        slides_depthwise(group.window)
        and not (group.window.fold and group.images)
        and most_pixels(config, group.window) > 0
        and group.depthwise.shape[-1] == group.source.shape[2]
        and not (alone and config.sets < 2)
    )


def _arrangements(columns: int, rows: int, width: int, most_pixels: int) -> Iterator[tuple[int, int, int]]:
    """(rows, cols, pixels) of the blocks in flight on an array of so many columns: rows divide the job's, the columns
    do not overshoot the map by a whole block."""
    for down in range(1, min(rows, columns) + 1):
        if rows % down:
            continue
        for pixels in range(1, most_pixels + 1):
            for cols in range(1, min(columns // down, -(-width // pixels)) + 1):
                yield down, cols, pixels


def _candidates(config: AcceleratorConfig, group: Group, rows: int, most_pixels: int) -> _Candidates:
    """All blocks that a group of `rows` output rows can have, but for row-stationary convolutions."""
    below = not isinstance(group, (Depthwise, Separable))
    found = _blocks(config.cols, rows, group.map_shape[1], most_pixels, group.images, below)
    if not group.averaged:
        return found
    return _Candidates.of([blocks for blocks in found.blocks if _averages(group, blocks, rows)])


@lru_cache(maxsize=MOST_REMEMBERED)
def _blocks(columns: int, rows: int, width: int, most_pixels: int, images: int, below: bool) -> _Candidates:
    """Of an array of so many columns. below: inner blocks may lie below each other; depthwise work has none, since its
    words are kept for all inner blocks."""
    found = []
    for down, cols, pixels in () if images else _arrangements(columns, rows, width, most_pixels):
        along = -(-width // (cols * pixels))
        for inner in {1, along}:
            if inner == 1 or rows == down:
                found.append(Blocks(down, cols, pixels, rows // down, along // inner, inner))
        if along == 1 and rows > down and below:
            found.append(Blocks(down, cols, pixels, inner=rows // down, below=True))
    for each in range(1, min(images, columns) + 1):  # rows of several images side by side, a row in one block
        for down in range(1, min(rows, columns // each) + 1):
            inner = images // each
            if images % each == 0 and rows % down == 0 and width <= most_pixels and (inner == 1 or rows == down):
                found.append(Blocks(down, 1, width, rows // down, 1, inner, images=each))
    return _Candidates.of(found)


def _averages(group: Group, blocks: Blocks, rows: int) -> bool:
    """Whether a group's average, if it has one, can be made of these blocks."""
    if not group.averaged:
        return True
    if (blocks.rows, blocks.width) != (rows, group.map_shape[1]):
        return False  # an average is over all pixels in flight
    return blocks.images <= 1 or not rows & rows - 1  # over a power of two of columns each


def holds_at_once(config: AcceleratorConfig, shape: tuple[int, int]) -> bool:
    """Whether all pixels of a map of pointwise work, (E, F), can be in flight, as for an average over all of them."""
    rows, width = shape
    return any(
        (down, cols * pixels) == (rows, width) and most_dealt(config, 8, pixels) * pixels <= config.psum_words
        for down, cols, pixels in _arrangements(config.cols, rows, width, most_pixels(config))
    )


def has_mapping(config: AcceleratorConfig, group: Depthwise | Separable) -> bool:
    """Whether there is any: for all rows of a map that is averaged, else for one."""
    return bool(_separables(config, group, group.map_shape[0] if group.averaged else 1))


def _separables(config: AcceleratorConfig, group: Group, rows: int) -> list[Mapping]:
    if isinstance(group, (Depthwise, Separable)) and not in_supers(config, group):
        return []
    mode = {Pointwise: ArrayMode.POINTWISE, Depthwise: ArrayMode.DEPTHWISE, Separable: ArrayMode.FUSED}[type(group)]
    blocks = _candidates(
        config, group, rows, most_pixels(config, None if isinstance(group, Pointwise) else group.window)
    )
    if isinstance(group, Depthwise):
        tile, tiles, legal = np.zeros(1, np.int64), np.ones(1, np.int64), np.ones_like(blocks.rows, bool)
    else:
        assert isinstance(group, Filtered)
        tile, tiles, legal = _tiles(config, group, blocks)
    if mode == ArrayMode.FUSED:
        words = word_groups(group.source.shape[2]) * blocks.pixels * blocks.inner * (2 if config.sets == 1 else 1)
        legal &= (tiles == 1) | (words <= config.word_buffer_words)
    if not isinstance(group, Pointwise):
        span = ifmap_rows(group.window, blocks.rows, bands_at_once(config, group.window, blocks.pixels))
        legal &= span * blocks.columns // blocks.rows <= NO_COLUMN
        legal &= alike(group.window, blocks.pixels) | (blocks.pixels >= group.map_shape[1])
    cycles = _separable_cycles(config, group, blocks, tile, tiles)
    return [*blocks.first_of_each_kind(mode, tile, tiles, cycles, legal)]


def _flat(config: AcceleratorConfig, group: Pointwise) -> Iterator[Mapping]:
    """Of all rows as one, if that has no more columns than a stream counts."""
    cols, channels = group.source.layout.flat.cols, group.source.shape[2]
    if cols > STREAM_RANGE.largest("cols"):
        return
    one_row = replace(group, source=replace(group.source, shape=(1, cols, channels)))
    for mapping in _separables(config, one_row, 1):
        yield replace(mapping, blocks=replace(mapping.blocks, flat=True))


def pass_groups(group: Filtered, mode: ArrayMode) -> int:
    """Channel groups that are multiplied for a tile of filters; by taps, each tap is one."""
    if mode == ArrayMode.CONVOLUTION:
        return row_stationary_groups(group.source.shape[2])
    taps = group.window.taps if group.filters.ndim > 2 else 1
    return (1 if isinstance(group, Grouped) else word_groups(group.source.shape[2])) * taps


def _tiles(
    config: AcceleratorConfig, group: Filtered, blocks: _Candidates
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Tile sizes, multiples of 8 that divide the filters evenly or all of them; how many tiles; and for which blocks
    the PEs hold their sums, [blocks, tiles]."""
    total = word_groups(len(group.filters)) * 8
    shared = group.own_blocks * 8 if isinstance(group, Grouped) else total  # filters of the same channels
    tile = np.array([tile for tile in range(8, shared + 1, 8) if shared % tile == 0])
    tiles = total // tile
    if not isinstance(group, Grouped):
        tile[-1] = single_tile(config, len(group.filters), pass_groups(group, ArrayMode.POINTWISE))
    return tile, tiles, most_dealt(config, tile, blocks.pixels) * blocks.pixels <= config.psum_words


def _drain_cycles(group: Group, blocks: _Candidates, tile: np.ndarray | int) -> np.ndarray:
    """Until the sums of a tile have left, while the next tile is worked on: of each block of filters a beat of each
    filter and pixel, or two where they leave so (`drains_two_pixels`), the words that they make, or those of its table,
    whichever are more."""
    pixels, columns = blocks.pixels, blocks.columns
    beats = pixels
    if group.averaged:  # words leave with the last pixel only
        words = columns
    elif group.operations:
        words = columns * pixels
    else:
        beats = -(-pixels // 2)
        # Pairs of words that begin at odd columns are written one by one.
        words = np.where(blocks.odd, columns * (beats + pixels) // 2, columns * beats)
    whole, rest = np.divmod(tile, GLB_WORD_BYTES)
    least = np.maximum(words, PARAMETER_WORDS)
    return whole * np.maximum(GLB_WORD_BYTES * beats, least) + (rest > 0) * np.maximum(rest * beats, least)


def _separable_cycles(
    config: AcceleratorConfig, group: Group, blocks: _Candidates, tile: np.ndarray, tiles: np.ndarray
) -> np.ndarray:
    slow = WORD_CHANNELS // config.multipliers
    groups = word_groups(group.source.shape[2]) * (2 if config.sets == 1 else 1)
    left = group.window.pads[2]
    pointwise = most_dealt(config, tile, blocks.pixels) * blocks.pixels * slow
    arrival = tile_words(tile) // beat_filters(config, blocks.pixels, tile)
    if isinstance(group, Pointwise):
        beats = blocks.columns * pairs(blocks.pixels, left)
        first = later = np.maximum(np.maximum(pointwise, beats), arrival)
    else:
        taps, turns = group.window.dense[1], bands(group.window)
        depthwise = taps * turns * blocks.pixels * slow
        at_once = bands_at_once(config, group.window, blocks.pixels)
        rows = ifmap_rows(group.window, blocks.rows, at_once) * (turns // at_once)
        beats = rows * blocks.columns // blocks.rows * pairs(row_words(group.window, blocks.pixels), left)
        finished = FINISHED_PIXEL * blocks.pixels + FIRST_SUM
        later = np.maximum(pointwise, arrival)
        first = np.maximum(np.maximum(pointwise + depthwise, arrival), np.maximum(beats, finished))
        if isinstance(group, Depthwise):
            # A PE holds the words of one group; those of the next come when it is done.
            in_turn = beats + np.maximum(0, depthwise - beats // 2) + DEPTHWISE_LATENCY * turns
            words = blocks.columns * blocks.pixels  # depthwise words, which leave at once
            first = np.maximum(np.maximum(in_turn, finished), words)
    sums = _drain_cycles(group, blocks, tile)
    work = np.maximum(groups * first, sums) + (tiles - 1) * np.maximum(groups * later, sums)
    return blocks.outer * blocks.inner * work


def _by_taps(config: AcceleratorConfig, group: Convolution | Grouped, rows: int) -> list[Mapping]:
    """Each tap of a channel group as a channel group of its own."""
    slow, halves = WORD_CHANNELS // config.multipliers, 2 if config.sets == 1 else 1
    groups = pass_groups(group, ArrayMode.POINTWISE) * halves
    blocks = _candidates(config, group, rows, most_pixels(config))
    tile, tiles, legal = _tiles(config, group, blocks)
    legal &= tiles <= ARRAY_LOOPS.largest("tiles")
    legal &= np.array([walks(group.window, each, groups) for each in blocks.blocks], bool)[:, None]
    pointwise = most_dealt(config, tile, blocks.pixels) * blocks.pixels * slow
    arrival = tile_words(tile) // beat_filters(config, blocks.pixels, tile)
    busy = np.maximum(pointwise, arrival)
    words = np.maximum(busy, blocks.columns * blocks.pixels)
    paired = np.maximum(busy, blocks.columns * tap_beats(group.window, blocks.pixels))
    work = np.minimum(words, np.ceil(PAIRS * paired).astype(np.int64))
    drained = _drain_cycles(group, blocks, tile)
    cycles = blocks.outer * blocks.inner * tiles * np.maximum(groups * work, drained)
    return [*blocks.first_of_each_kind(ArrayMode.POINTWISE, tile, tiles, cycles, legal)]


def _row_stationary(config: AcceleratorConfig, group: Group, rows: int) -> list[Mapping]:
    """On sets that share the filters of a tile: words of 8 channels are made of p filters of each, or of one."""
    window, sets = group.window, filter_sets(config)
    if not isinstance(group, Convolution) or not sets or not slides(window) or group.averaged:
        return []
    total = word_groups(len(group.filters)) * GLB_WORD_BYTES
    taps, slow = window.kernel[1], WORD_CHANNELS // config.multipliers
    width, stride = group.map_shape[1], window.stride[0]
    groups, found = row_stationary_groups(group.source.shape[2]), list[Mapping]()
    for p in (GLB_WORD_BYTES // sets, GLB_WORD_BYTES):
        tile = p * sets
        if p * taps > config.filter_words or total % tile:
            continue
        most = min(config.psum_words // p, width + 1)
        blocks = _Candidates.of(
            [
                Blocks(down, cols, pixels, rows // down, -(-width // (cols * pixels)))
                for down, cols, pixels in _arrangements(config.cols, rows, width, most)
                if pixels * stride % 2 == 0 or pixels >= width
            ]
        )  # pairs of words begin at even columns
        span = (blocks.rows - 1) * stride + window.kernel[0]
        beats = span * blocks.columns // blocks.rows * pairs((blocks.pixels - 1) * stride + taps, window.pads[2])
        arrival = window.taps * tile // 2 // config.filter_lanes  # a word has half of two filters
        work = np.maximum(np.maximum(p * taps * blocks.pixels * slow, beats), arrival)
        cycles = blocks.outer * (total // tile) * np.maximum(groups * work, _drain_cycles(group, blocks, tile))
        found += blocks.first_of_each_kind(
            ArrayMode.CONVOLUTION, np.array([tile]), np.array([total // tile]), cycles, np.ones_like(cycles, bool)
        )
    return found
