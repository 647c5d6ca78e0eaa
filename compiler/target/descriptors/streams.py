# SPDX-License-Identifier: Apache-2.0
"""Loops and streams that passes of all kinds have. Levels are listed innermost first."""

from eyrie.compiler.ir.feature_map import FeatureMap
from eyrie.compiler.target.blocks import Blocks
from eyrie.model import encoding as enc
from eyrie.model.descriptor import Level, StreamDescriptor
from eyrie.model.encoding import Axis, PoolMode
from eyrie.model.errors import InputError


def rows_level(feature_map: FeatureMap, count: int, step: int, column_tag: int = 0) -> Level:
    """A loop over rows, `step` at a time, around the ring."""
    stride = step * feature_map.row_step % (feature_map.ring_rows * feature_map.row_step)
    return Level(count, stride, Axis.ROW, step, enc.TAG.pack(column=column_tag))


def columns_level(feature_map: FeatureMap, count: int, step: int, tag: int = 0) -> Level:
    """A loop over columns, `step` at a time, of a stream of pairs. Raises InputError where one would begin at an odd
    column."""
    if count > 1 and step % 2:
        raise InputError(f"a step of {step} columns: pairs of pixels begin at even ones")
    return Level(count, feature_map.column_step(step), Axis.COLUMN, step, tag)


def inner_level(feature_map: FeatureMap, blocks: Blocks, rows: int, columns: int) -> Level:
    """The loop over inner blocks, so many rows or columns, or so many images, at a time."""
    if blocks.images:
        return Level(blocks.inner, blocks.images * feature_map.image_step)
    if blocks.below:
        return rows_level(feature_map, blocks.inner, rows)
    return Level(blocks.inner, columns, Axis.COLUMN, columns)


def ring_of(feature_map: FeatureMap) -> dict[str, int]:
    size = feature_map.ring_rows * feature_map.row_step
    return {"ring_end": feature_map.address + size, "ring_size": size}


def ofmap_stream(
    ofmap: FeatureMap,
    blocks: Blocks,
    pool: PoolMode,
    channel_blocks: int,
    tiles: int,
    last_channels: int,
    two_pixels: bool = False,
) -> StreamDescriptor:
    """The ofmap stream: words of the columns, of a block's pixels, of channel blocks, of tiles.

    Pooling leaves one word per block of filters (average), or one per 2 x 2 words (max). two_pixels: the words of two
    pixels side by side come together.
    """
    rows, cols, pixels, width, y = blocks.rows, blocks.cols, blocks.pixels, blocks.width, blocks.first_row
    if blocks.images and pool == PoolMode.MAX:
        raise InputError("maxima of several images in flight")
    if pool == PoolMode.AVERAGE:
        rows = cols = pixels = width = 1
    elif pool == PoolMode.MAX:
        rows, pixels, width, y = rows // 2, pixels // 2, width // 2, y // 2
    along, step = width * (1 if blocks.below else blocks.inner), 2 if two_pixels else 1
    return StreamDescriptor(
        {"row_address": ofmap.row_address(y), **ring_of(ofmap)},
        {"y": y, "rows": ofmap.rows, "cols": ofmap.cols},
        {"last_strobe": (1 << last_channels) - 1},
        (
            *(
                [rows_level(ofmap, rows, 1), Level(blocks.images, ofmap.image_step)]
                if blocks.images
                else [Level(cols, pixels, Axis.COLUMN, pixels), rows_level(ofmap, rows, 1)]
            ),
            Level(-(-pixels // step), step, Axis.COLUMN, step),
            Level(channel_blocks, ofmap.group_step),
            inner_level(ofmap, blocks, rows, width),
            Level(tiles, channel_blocks * ofmap.group_step),
            Level(blocks.along, along, Axis.COLUMN, along),
            rows_level(ofmap, blocks.down, rows * (blocks.inner if blocks.below else 1)),
        ),
    )


def linear_stream(address: int, *levels: Level, **options: int) -> StreamDescriptor:
    """A stream that is nowhere outside."""
    return StreamDescriptor({"offset": address}, {"rows": 1, "cols": 1}, options, levels)
