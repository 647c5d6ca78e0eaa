# SPDX-License-Identifier: Apache-2.0
"""Pass descriptors: configuration words for one processing pass of a layer.

Each builder takes the geometry of the layer, where its tensors lie in the GLB, and the blocks of
pixels and filters that the pass works through, and returns a `Descriptor`. Loop levels of the streams
are listed innermost first; the loops are those of docs/hardware/overview.md.
"""

from dataclasses import dataclass, field

from eyrie.compiler.ir.feature_map import FeatureMap
from eyrie.compiler.ir.layer import Output
from eyrie.compiler.ir.window import Window, output_size
from eyrie.compiler.target.blocks import Blocks, Filters
from eyrie.compiler.target.descriptors.array import ArrayWork, ZeroPoints, set_array
from eyrie.compiler.target.descriptors.streams import inner_level, linear_stream, ofmap_stream, ring_of, rows_level
from eyrie.compiler.target.descriptors.taps import tap_stream
from eyrie.compiler.target.limits import (
    SHARED_TILE,
    alike,
    bands,
    bands_at_once,
    beat_filters,
    deal_of,
    dealt_filters,
    drains_two_pixels,
    equal_stride,
    ifmap_rows,
    legal,
    most_dealt,
    most_pixels,
    pairs,
    row_words,
    tile_words,
)
from eyrie.compiler.target.scan_ids import block_ids
from eyrie.model import encoding as enc
from eyrie.model.arithmetic import average_reciprocal
from eyrie.model.config import DEPTHWISE_PIXELS, GLB_WORD_BYTES, SET_ROWS, AcceleratorConfig
from eyrie.model.descriptor import Descriptor, Level, StreamDescriptor
from eyrie.model.encoding import ArrayMode, Axis, Destination, DrainMode, PoolMode, Stream
from eyrie.model.errors import InputError


@dataclass(frozen=True)
class SeparablePass:
    """A pass with pointwise or depthwise work.

    window: of the depthwise half, or of a convolution by taps, each of which is a channel group of its own.
    depthwise_address: `depthwise_group_words` a group; None: no depthwise half. Without ofmap the sums only leave the
    array. own_blocks: 0: filters take all channels; else so many blocks of 8 filters take one channel group, the next
    ones the next. one_pixel: sums leave for one pixel at a time, for an operation on the words or an ipsum.
    last_channels: valid ones of the last channel group of a pass without filters.
    """

    ifmap: FeatureMap
    ofmap: FeatureMap | None
    window: Window
    blocks: Blocks
    ifmap_zero_point: int
    output: Output
    filters: Filters | None = None
    depthwise_address: int | None = None
    middle: Output = field(default_factory=Output)
    pool: PoolMode = PoolMode.NONE
    pool_count: int = 1
    by_taps: bool = False
    own_blocks: int = 0
    one_pixel: bool = False
    filter_zero_point: int = 0
    depthwise_zero_point: int = 0
    last_channels: int = 8

    @property
    def two_pixels(self) -> bool:
        """Whether sums leave for two pixels at a time."""
        return bool(self.filters) and drains_two_pixels(self.blocks, self.pool, self.one_pixel)

    @property
    def groups(self) -> int:
        """Groups of 8 channels that are multiplied for a tile of filters."""
        return (1 if self.own_blocks else self.ifmap.groups) * (self.window.taps if self.by_taps else 1)


def _ifmap_stream(
    config: AcceleratorConfig,
    p: SeparablePass,
    inner_levels: list[Level],
    words: int,
    tiles: int,
    to_pixels: bool,
) -> StreamDescriptor:
    """The ifmap stream: words of a block's row, then `inner_levels`, then groups and blocks.

    words: ifmap words of a row of a block; tiles: of filters, each of which reads them all, or 0.
    """
    ifmap, blocks, stride, x = p.ifmap, p.blocks, p.window.stride[0], -p.window.pads[2]
    split = config.sets > 1
    beats = Level(pairs(words, x), 2, Axis.COLUMN, 2)
    # Depthwise work: rows and blocks go side by side, so that all PEs have their words at the same time; but a PE gets
    # the row of each band as a whole.
    at_once = 1 if to_pixels else bands_at_once(config, p.window, blocks.pixels)
    side_by_side = not to_pixels and at_once == 1
    levels = [*inner_levels, beats] if side_by_side else [beats, *inner_levels]
    if not to_pixels and bands(p.window) > at_once:
        levels.append(_tap_rows(p, bands(p.window), SET_ROWS))
    if not split:  # one set: the two halves of a word are two groups
        levels.append(Level(2, tag=enc.TAG.pack(half=1)))
    levels.append(Level(ifmap.groups, ifmap.group_step))
    if blocks.inner > 1 or not to_pixels:
        levels.append(inner_level(ifmap, blocks, blocks.rows * stride, blocks.width * stride))
    if tiles:
        levels.append(Level(tiles))
    along = blocks.outer_width * stride
    if not blocks.images:  # which have a row in one block
        levels.append(Level(blocks.along, along, Axis.COLUMN, along))
    levels.append(rows_level(ifmap, blocks.down, blocks.outer_rows * stride))
    y = blocks.first_row * stride - p.window.pads[0]
    # Depthwise work takes whole bands of rows: those that the kernel does not have are not there yet, or not any more.
    reached = y + (blocks.outer_rows * blocks.down - 1) * stride + p.window.dense[0]
    rows, cols = _rows_and_columns(p)
    return StreamDescriptor(
        {"row_address": ifmap.row_address(y), "offset": x & 0xFFFF, **ring_of(ifmap)},
        {"y": y, "x": x, "rows": min(rows, reached), "cols": cols},
        {
            "pad": p.ifmap_zero_point,
            "odd_words": words % 2,
            "destination": Destination.PIXELS if to_pixels else Destination.ROWS,
            "half_by_set": int(split),
            "more_bands": at_once - 1,
            "pair_level": len(inner_levels) if side_by_side else 0,
        },
        tuple(levels),
    )


def _tap_rows(p: SeparablePass, count: int, step: int, column_tag: int = 0) -> Level:
    """A loop over rows of the ifmap that rows of taps read. Rows of a folded window overlap in the only row of its
    ifmap; with padding they are columns, since each lacks others."""
    if not p.window.fold:
        return rows_level(p.ifmap, count, step, column_tag)
    columns, tag = step * p.window.fold, enc.TAG.pack(column=column_tag)
    if any(p.window.pads):
        return Level(count, columns, Axis.COLUMN, columns, tag)
    return Level(count, columns, Axis.ROW, step, tag)


def _rows_and_columns(p: SeparablePass) -> tuple[int, int]:
    """Return the rows and columns that there are for `_tap_rows`."""
    if not p.window.fold or any(p.window.pads):
        return p.ifmap.rows, p.ifmap.cols
    return p.window.kernel[0], p.ifmap.cols - (p.window.kernel[0] - 1) * p.window.fold


def _filter_stream(config: AcceleratorConfig, p: SeparablePass, filters: Filters) -> StreamDescriptor:
    """Pointwise filters, dealt in turn over the rows of a set."""
    blocks, groups, stored = p.blocks, p.groups, tile_words(filters.count)
    size = filters.ring[1] if filters.ring else 0

    def along(count: int, words: int, **tags: int) -> Level:
        return Level(count, words % size if size else words, Axis.ROW, 0, **tags)

    split = config.sets > 1
    chunked = filters.chunk_groups is not None
    chunk = filters.chunk_groups or groups
    if groups % chunk:
        raise InputError(f"chunks of {chunk} groups do not divide {groups}")
    if size and not chunked and size < filters.tiles * groups * stored:
        raise InputError("a filter ring smaller than the filters needs chunks")
    each = beat_filters(config, blocks.pixels, filters.count)
    levels = [along(stored // each, each, tag=enc.TAG.pack(row=1))]
    if not split:
        levels.append(Level(2, tag=enc.TAG.pack(half=1)))
    levels.append(along(chunk, stored))
    levels.append(along(groups // chunk, chunk * stored))
    chunk_level = len(levels) - 1
    if chunked and blocks.outer > 1:
        raise InputError("filters that come in chunks are used by one outer block only")
    levels.append(Level(blocks.inner))
    deal = deal_of(filters.count, each, filters.tiles)
    levels.append(along(filters.tiles, groups * stored, tag=enc.TAG.pack(row=deal)))
    levels.append(Level(blocks.outer))
    ring = {"ring_end": filters.ring[0], "ring_size": size} if filters.ring else {}
    return StreamDescriptor(
        {"row_address": filters.address, **ring},
        {"tag_wrap": enc.TAG.pack(row=SET_ROWS), "rows": 1, "cols": each},
        {
            "half_by_set": int(split),
            "single": config.filter_lanes - each,
            "chunk": int(chunked),
            "chunk_level": chunk_level if chunked else 0,
        },
        tuple(levels),
    )


def separable_descriptor(config: AcceleratorConfig, p: SeparablePass) -> Descriptor:
    """A fused, pointwise or depthwise pass. Raises InputError where the mapping does not fit."""
    descriptor, blocks, filters, depthwise = Descriptor(), p.blocks, p.filters, p.depthwise_address
    mode = ArrayMode.POINTWISE
    if depthwise is not None:
        mode = ArrayMode.FUSED if filters else ArrayMode.DEPTHWISE
    _check(config, p, mode)
    stride = None if depthwise is None else p.window.stride[0]
    at_once = bands_at_once(config, p.window, blocks.pixels)
    shared = filters is not None and filters.count == SHARED_TILE
    ids = block_ids(config, blocks.rows, blocks.cols, stride, blocks.images, at_once, shared)
    set_array(descriptor, ids, _work(config, p, mode))
    if depthwise is not None:
        descriptor.set_stream(Stream.IFMAP, _depthwise_ifmap(config, p))
        _set_depthwise(config, descriptor, p, depthwise)
    elif filters:
        descriptor.set_stream(Stream.IFMAP, _pointwise_ifmap(config, p, filters))
    channel_blocks, tiles, last_channels = p.ifmap.groups, 1, p.last_channels
    if filters:
        channel_blocks, tiles, last_channels = filters.blocks, filters.tiles, filters.last_channels
        descriptor.set_stream(Stream.FILTER, _filter_stream(config, p, filters))
        if p.ofmap:
            descriptor.set_stream(
                Stream.PARAMETERS,
                linear_stream(
                    filters.table_address,
                    Level(enc.PARAMETER_WORDS, 1),
                    Level(channel_blocks, enc.PARAMETER_WORDS),
                    Level(blocks.inner),
                    Level(tiles, channel_blocks * enc.PARAMETER_WORDS),
                    Level(blocks.outer),
                ),
            )
    if p.ofmap:
        descriptor.set_stream(
            Stream.OFMAP, ofmap_stream(p.ofmap, blocks, p.pool, channel_blocks, tiles, last_channels, p.two_pixels)
        )
    _set_output(config, descriptor, p, channel_blocks)
    return legal(config, descriptor)


def _work(config: AcceleratorConfig, p: SeparablePass, mode: ArrayMode) -> ArrayWork:
    depthwise, count = mode != ArrayMode.POINTWISE, p.filters.count if p.filters else 0
    each = beat_filters(config, p.blocks.pixels, count)
    dealt = dealt_filters(count, each)
    tiles = p.filters.tiles if p.filters else 1
    return ArrayWork(
        mode,
        p.blocks,
        p.window.dense[1] if depthwise else 1,
        p.window.stride[0] if depthwise else 1,
        ZeroPoints(
            p.ifmap_zero_point,
            p.middle.zero_point if depthwise else p.ifmap_zero_point,
            p.filter_zero_point,
            p.depthwise_zero_point,
        ),
        dealt,
        p.groups * (1 if config.sets > 1 else 2),
        tiles,
        deal_of(sum(dealt), each, tiles),
        bands(p.window) if depthwise else 0,
    )


def _depthwise_ifmap(config: AcceleratorConfig, p: SeparablePass) -> StreamDescriptor:
    blocks, stride = p.blocks, p.window.stride[0]
    at_once = bands_at_once(config, p.window, blocks.pixels)
    span, step = ifmap_rows(p.window, blocks.rows, at_once), blocks.pixels * stride
    tag = enc.TAG.pack(column=span)
    across = Level(blocks.cols, step, Axis.COLUMN, step, tag=tag)
    if blocks.images:
        across = Level(blocks.images, p.ifmap.image_step, tag=tag)
    words = row_words(p.window, blocks.pixels)
    return _ifmap_stream(config, p, [_tap_rows(p, span, 1, column_tag=1), across], words, 0, False)


def _pointwise_ifmap(config: AcceleratorConfig, p: SeparablePass, filters: Filters) -> StreamDescriptor:
    blocks = p.blocks
    if p.by_taps:
        return tap_stream(config, p.ifmap, p.window, blocks, p.ifmap_zero_point, filters, p.own_blocks)
    columns = [
        Level(blocks.cols, blocks.pixels, Axis.COLUMN, blocks.pixels, tag=enc.TAG.pack(column=1)),
        rows_level(p.ifmap, blocks.rows, 1, column_tag=blocks.cols),
    ]
    if blocks.images:
        columns = [
            rows_level(p.ifmap, blocks.rows, 1, column_tag=1),
            Level(blocks.images, p.ifmap.image_step, tag=enc.TAG.pack(column=blocks.rows)),
        ]
    return _ifmap_stream(config, p, columns, blocks.pixels, filters.tiles, True)


def _set_depthwise(config: AcceleratorConfig, descriptor: Descriptor, p: SeparablePass, address: int) -> None:
    halves = [Level(2, tag=enc.TAG.pack(half=1))] if config.sets == 1 else []
    words = enc.depthwise_group_words(p.window.dense)
    descriptor.set_stream(
        Stream.DEPTHWISE,
        linear_stream(
            address,
            Level(SET_ROWS, 1, tag=1),
            Level(words // SET_ROWS, SET_ROWS, tag=enc.DEPTHWISE_RUN_TAG),
            *halves,
            Level(p.ifmap.groups, words),
            Level(p.blocks.inner * p.blocks.outer),
            half_by_set=int(config.sets > 1),
        ),
    )
    descriptor.set(enc.DEPTHWISE_INDEX, enc.DEPTHWISE, **vars(p.middle))


def _set_output(config: AcceleratorConfig, descriptor: Descriptor, p: SeparablePass, channel_blocks: int) -> None:
    joined = descriptor.drain["link_enable"]
    if p.filters:
        drain = {
            "mode": DrainMode.POINTWISE,
            "block": GLB_WORD_BYTES,
            "chains": 1,
            "rows": 7,
            "link_enable": joined,
            "last_block": (p.filters.count - 1) % GLB_WORD_BYTES + 1,
            "pairs": beat_filters(config, p.blocks.pixels, p.filters.count) - 1,
        }
    else:  # the words of both sets, which are the halves of a GLB word
        drain = {
            "mode": DrainMode.WORDS,
            "block": 2,
            "last_block": 2,
            "chains": 2,
            "chain_sets": 1,
            "link_enable": joined & ~(1 << (SET_ROWS - 1)),
        }
    descriptor.set(
        enc.DRAIN_INDEX,
        enc.DRAIN,
        blocks=channel_blocks,
        set_filters=1,
        columns=p.blocks.columns,
        to_ppu=int(p.ofmap is not None),
        two_pixels=int(p.two_pixels),
        **drain,
    )
    reciprocal, shift = average_reciprocal(p.pool_count)
    pool_columns = (p.blocks.rows * p.blocks.cols - 1).bit_length()
    descriptor.set(
        enc.PPU_INDEX,
        enc.PPU,
        raw=int(p.filters is None),
        pool=p.pool,
        pool_count=p.pool_count,
        pool_reciprocal=reciprocal,
        pool_shift=shift,
        pool_columns=pool_columns,
        **vars(p.output),
    )


def _check(config: AcceleratorConfig, p: SeparablePass, mode: ArrayMode) -> None:
    """Raises InputError, naming demand and bound, where a pass does not fit the PEs."""
    blocks = p.blocks
    limits = [("pixels of a column", blocks.pixels, most_pixels(config))]
    if mode != ArrayMode.POINTWISE:
        side_by_side = blocks.cols * blocks.along * (1 if blocks.images or blocks.below else blocks.inner)
        if side_by_side > 1 and not alike(p.window, blocks.pixels):
            raise InputError(
                f"blocks of {blocks.pixels} pixels under a kernel of {p.window.dense[1]} columns, side by side: they "
                "take different numbers of pairs of words"
            )
        equal_stride(p.window, depthwise=True)
        limits.append(("ifmap words of a column", row_words(p.window, blocks.pixels), config.ifmap_words))
        if bands(p.window) > 1:
            limits.append((f"pixels of a kernel of {p.window.dense[0]} rows", blocks.pixels, DEPTHWISE_PIXELS))
    if p.filters:
        dealt = most_dealt(config, p.filters.count, blocks.pixels)
        limits.append(("partial sums of a PE", dealt * blocks.pixels, config.psum_words))
    if mode == ArrayMode.FUSED and p.filters and p.filters.tiles > 1:
        words = blocks.inner * p.ifmap.groups * blocks.pixels * (2 if config.sets == 1 else 1)
        limits.append(("depthwise words of a SUPER", words, config.word_buffer_words))
    for what, demand, bound in limits:
        if demand > bound:
            raise InputError(f"{what}: needs {demand}, has {bound}")
    if mode == ArrayMode.DEPTHWISE and config.sets < 2:
        raise InputError(f"a depthwise layer alone needs two PE sets, the accelerator has {config.sets}")
    if blocks.images:
        images = blocks.images * blocks.inner
        _, width = output_size((p.ifmap.rows, p.ifmap.cols), p.window)
        if blocks.pixels < width or blocks.cols * blocks.along > 1:
            raise InputError("several images in flight need a row in one block")
        if images != p.ifmap.images or (p.ofmap and images != p.ofmap.images):
            raise InputError(f"{images} images in flight, {p.ifmap.images} in the GLB")
        if p.by_taps:
            raise InputError("a convolution as pointwise work takes one image at a time")
        if p.pool != PoolMode.NONE and blocks.images > 1 and blocks.rows & blocks.rows - 1:
            raise InputError(f"averages of several images over {blocks.rows} columns each: must be a power of two")
