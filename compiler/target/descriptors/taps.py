# SPDX-License-Identifier: Apache-2.0
"""The ifmap stream of any convolution as pointwise work: each tap of the kernel is a channel group of its own.

The stream moves the window: it brings the pixels of a channel group once for each tap, in pairs where it can
(limits.tap_beats) and the PEs would wait otherwise: single words meet fewer other clients in the GLB banks. All else is
the pointwise pass of a map of C x R x S channels.
"""

from eyrie.compiler.ir.feature_map import FeatureMap
from eyrie.compiler.ir.window import Window
from eyrie.compiler.target.blocks import Blocks, Filters
from eyrie.compiler.target.descriptors.streams import inner_level, ring_of, rows_level
from eyrie.compiler.target.limits import most_dealt, tap_beats
from eyrie.model import encoding as enc
from eyrie.model.config import WORD_CHANNELS, AcceleratorConfig
from eyrie.model.descriptor import Level, StreamDescriptor
from eyrie.model.encoding import Axis, Destination
from eyrie.model.errors import InputError


def tap_stream(
    config: AcceleratorConfig,
    ifmap: FeatureMap,
    window: Window,
    blocks: Blocks,
    zero_point: int,
    filters: Filters,
    own_blocks: int,
) -> StreamDescriptor:
    """own_blocks: 0: each tile of filters takes all channels; else so many blocks of 8 filters take a channel group.

    Raises InputError where these are not whole tiles.
    """
    down, across = window.stride

    def columns(count: int, step: int, column_tag: int = 0) -> Level:
        return Level(count, step, Axis.COLUMN, step, enc.TAG.pack(column=column_tag))

    cycles = most_dealt(config, filters.count, blocks.pixels) * WORD_CHANNELS // config.multipliers  # of a pixel
    in_pairs = tap_beats(window, blocks.pixels) < blocks.pixels and cycles < blocks.columns and ifmap.pitch % 2 == 0
    y, x = blocks.first_row * down - window.pads[0], -window.pads[2]
    split = config.sets > 1
    channels = Level(ifmap.groups, ifmap.group_step)
    inner = inner_level(ifmap, blocks, blocks.rows * down, blocks.width * across)
    groups_and_tiles = channels, inner, Level(filters.tiles)
    if own_blocks:
        tiles, rest = divmod(own_blocks * 8, filters.count)
        if rest or tiles * ifmap.groups != filters.tiles:
            raise InputError(
                f"{filters.tiles} tiles of {filters.count} filters for {ifmap.groups} channel groups of "
                f"{own_blocks * 8} each"
            )
        groups_and_tiles = inner, Level(tiles), channels
    return StreamDescriptor(
        {"row_address": ifmap.row_address(y), "offset": x % (1 << enc.GLB_ADDRESS_BITS), **ring_of(ifmap)},
        {"y": y, "x": x, "rows": ifmap.rows, "cols": ifmap.cols},
        {
            "pad": zero_point,
            "odd_words": blocks.pixels % 2 * in_pairs,
            "destination": Destination.PIXELS,
            "half_by_set": int(split),
            "single": int(not in_pairs),
        },
        (
            columns(tap_beats(window, blocks.pixels), 2) if in_pairs else columns(blocks.pixels, across),
            columns(blocks.cols, blocks.pixels * across, column_tag=1),
            rows_level(ifmap, blocks.rows, down, column_tag=blocks.cols),
            Level(1 if split else 2, tag=enc.TAG.pack(half=1)),
            columns(window.kernel[1], window.dilation[1]),
            rows_level(ifmap, window.kernel[0], window.dilation[0]),
            *groups_and_tiles,
            columns(blocks.along, blocks.outer_width * across),
            rows_level(ifmap, blocks.down, blocks.outer_rows * down),
        ),
    )
