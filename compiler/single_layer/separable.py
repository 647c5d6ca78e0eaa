# SPDX-License-Identifier: Apache-2.0
"""Single-layer runs of fused, depthwise and pointwise layers."""

from dataclasses import dataclass, replace

import numpy as np

from eyrie.compiler.ir.layer import Output, Table
from eyrie.compiler.ir.window import Window, output_size
from eyrie.compiler.single_layer.layer_run import (
    SUMS,
    Allocator,
    Case,
    Finish,
    Ifmap,
    LayerPass,
    last_channels,
    pack_ipsum,
    place_map,
    place_ofmap,
    rows_of,
    set_addition,
    split,
)
from eyrie.compiler.target.blocks import Blocks, Filters
from eyrie.compiler.target.descriptors.separable import SeparablePass, separable_descriptor
from eyrie.compiler.target.limits import bands, ifmap_rows, most_filters, most_pixels, single_tile, tile_words
from eyrie.compiler.target.packing import pack_depthwise, pack_pointwise, pack_table
from eyrie.model import encoding as enc
from eyrie.model.array import drain_transfers
from eyrie.model.config import DEFAULT, AcceleratorConfig
from eyrie.model.descriptor import Descriptor, Level, StreamDescriptor
from eyrie.model.encoding import NO_COLUMN, PoolMode, Stream
from eyrie.model.operators.quantization import stored_zero_point


@dataclass(frozen=True)
class Depthwise:
    """Filters [C, R, S], int8, or int16 with a range of at most 255, and the quantisation parameters of their sums."""

    filters: np.ndarray
    table: Table


@dataclass(frozen=True)
class Tiling:
    """The tiling of a pass. blocks: of pixels; tile: filters of a tile, a multiple of 8. None: any"""

    blocks: Blocks | None = None
    tile: int | None = None


ANY = Tiling()


def separable_case(
    ifmap: Ifmap,
    window: Window,
    depthwise: Depthwise | None,
    pointwise: np.ndarray | None,
    finish: Finish = SUMS,
    config: AcceleratorConfig = DEFAULT,
    tiling: Tiling = ANY,
) -> Case:
    """Return a fused (both filters), depthwise or pointwise pass. pointwise: [M, C]

    A depthwise pass must have an ofmap; it supports no processing of the sums except an addition.
    """
    window = window if depthwise is not None else Window()
    height, width = output_size(ifmap.shape[1:], window)
    blocks = tiling.blocks or pointwise_blocks(height, width, config, None if depthwise is None else window)
    memory = Allocator(config.glb_words)
    placed = place_map(memory, ifmap.values.transpose(1, 2, 0))
    depthwise_address = filters = None
    channels = ifmap.shape[0]
    if depthwise is not None:
        taps = depthwise.filters.transpose(1, 2, 0)
        depthwise_address = memory.place(pack_depthwise(taps, pack_table(depthwise.table, placed.groups)))
    if pointwise is not None:
        channels = len(pointwise)
        tile = tiling.tile or tile_of(channels, placed.groups, blocks.pixels, config)
        filters = place_filters(memory, pointwise, finish.output, tile)
    ofmap, pool = None, 2 if finish.maxima else 1
    if finish.output or pointwise is None:
        groups = filters.blocks * filters.tiles if filters else -(-channels // 8)
        ofmap = place_ofmap(memory, height // pool, width // pool, groups)
    final = finish.output.output if pointwise is not None and finish.output else Output()
    p = SeparablePass(
        placed,
        ofmap,
        window,
        blocks,
        ifmap.zero_point,
        final,
        filters,
        depthwise_address,
        depthwise.table.output if depthwise else Output(),
        PoolMode.MAX if finish.maxima else PoolMode.NONE,
        one_pixel=finish.one_pixel,
        filter_zero_point=0 if pointwise is None else stored_zero_point(pointwise),
        depthwise_zero_point=0 if depthwise is None else stored_zero_point(depthwise.filters),
    )
    descriptor = separable_descriptor(config, p)
    places = block_places(config, p, descriptor, (channels, height, width))
    if finish.ipsum is not None:
        _set_ipsum(descriptor, memory, pack_ipsum(finish.ipsum, places, descriptor))
    if finish.addition is not None:
        assert ofmap is not None  # the sum is stored as words
        set_addition(descriptor, memory, ofmap, finish.addition)
    return Case(memory.words, descriptor, places, (channels, height, width), ofmap)


def _set_ipsum(descriptor: Descriptor, memory: Allocator, words: np.ndarray) -> None:
    """Let the sums of a pass start with `words`, uint64 [tiles, transfers, pairs of columns]."""
    tiles, beats, pairs = words.shape
    descriptor.set(enc.DRAIN_INDEX, enc.DRAIN, **{**descriptor.drain, "ipsum": 1})
    descriptor.set_stream(
        Stream.IPSUM,
        StreamDescriptor(
            {"offset": memory.place(words)},
            {"rows": 1, "cols": 1},
            {},
            (Level(pairs, 1), Level(beats, pairs), Level(tiles, beats * pairs)),
        ),
    )


def fused_cases(
    ifmap: Ifmap,
    window: Window,
    depthwise: Depthwise,
    pointwise: np.ndarray,
    ipsum: np.ndarray | None = None,
    config: AcceleratorConfig = DEFAULT,
) -> list[LayerPass]:
    """Return the passes of a fused layer whose sums are the result, as many as the GLB requires.

    The function splits output rows, then filters. Each part of the filters repeats the depthwise half.
    """
    height, width = output_size(ifmap.shape[1:], window)
    pixels = pointwise_blocks(height, width, config, window).pixels

    def build(m: slice, rows: slice) -> Case:
        part, cut = rows_of(ifmap, window, rows)
        return separable_case(part, cut, depthwise, pointwise[m], Finish(ipsum).of(m, rows), config)

    # The SUPERs keep depthwise words for all tiles of a pass. If they have no space, a pass has one tile.
    words = -(-ifmap.shape[0] // 8) * pixels * (2 if config.sets == 1 else 1)
    count = len(pointwise)
    most = count if words <= config.word_buffer_words else most_filters(config, pixels)
    parts = []
    for first in range(0, count, most):
        filters = slice(first, min(count, first + most))
        parts += split(build, filters, slice(0, height), (8, 1))
    return parts


def pointwise_blocks(
    height: int, width: int, config: AcceleratorConfig, depthwise: Window | None = None, pixels: int = 4
) -> Blocks:
    """Return the pixel blocks of a map: at most `pixels` pixels a column, as many rows as possible.

    depthwise: the window of depthwise work; None: pointwise
    """
    most = min(pixels, most_pixels(config, depthwise))
    stride = depthwise.stride[0] if depthwise else 1
    if most > 1 and most % 2 and stride == 1:
        most -= 1
    pixels = min(most, width + width % 2 if width > 1 else 1)
    rows = min(height, config.cols)
    most_cols = config.cols // rows
    if depthwise:  # the ifmap rows of all blocks have IDs
        most_cols = min(most_cols, NO_COLUMN // ifmap_rows(depthwise, rows, bands(depthwise)))
    cols = min(most_cols, -(-width // pixels))
    while pixels > 2 and pixels // 2 * stride % 2 == 0 and cols * 2 <= most_cols and cols * pixels >= width:
        pixels, cols = pixels // 2, cols * 2
    if cols * pixels < width and pixels * stride % 2 and pixels < most:
        pixels += 1
    return Blocks(rows, cols, pixels, -(-height // rows), -(-width // (cols * pixels)))


def place_filters(memory: Allocator, filters: np.ndarray, table: Table | None, tile: int) -> Filters:
    """Place filters [M, C], and their quantisation parameters if they have any."""
    packed, count = pack_pointwise(filters, tile_words(tile)), len(filters)
    address = memory.place(packed)
    found = Filters(tile, len(packed), address, 0)
    blocks = found.blocks * found.tiles
    tables = memory.place(pack_table(table, blocks)) if table else 0
    return replace(found, table_address=tables, last_channels=last_channels(count, blocks))


def tile_of(filters: int, groups: int, pixels: int, config: AcceleratorConfig) -> int:
    """Return the filters of a tile: as many as the psum buffers hold, evenly spread, in blocks of 8; or all of them."""
    tiles = -(-filters // most_filters(config, pixels))
    return single_tile(config, filters, groups) if tiles == 1 else -(-filters // (tiles * 8)) * 8


def block_places(
    config: AcceleratorConfig, p: SeparablePass, descriptor: Descriptor, shape: tuple[int, int, int]
) -> np.ndarray:
    """Return (m, y, x) of every sum of a pass with pixel blocks. A word of a depthwise pass counts as its first
    channel."""
    blocks, beats = p.blocks, drain_transfers(descriptor)
    tiles = p.filters.tiles if p.filters else 1
    down, along, tile, inner, _, block, pixel, slot, col = np.indices(
        (blocks.down, blocks.along, tiles, blocks.inner, *beats.loops, config.cols)
    )
    y = down * blocks.outer_rows + col // blocks.cols
    x = along * blocks.outer_width + col % blocks.cols * blocks.pixels + pixel
    if blocks.below:
        y = y + inner * blocks.rows
    else:
        x = x + inner * blocks.width
    per_block = 8 if p.filters is None else beats.loops[3]
    m = (tile * beats.loops[1] + block) * per_block + (slot * 4 if p.filters is None else slot)
    used = (col < blocks.rows * blocks.cols) & (m < shape[0]) & (y < shape[1]) & (x < shape[2])
    places = np.where(used[..., None], np.stack([m, y, x], axis=-1), -1)
    return places.reshape(-1, np.prod(beats.loops), config.cols, 3)[:, beats.place]
