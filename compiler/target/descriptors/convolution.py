# SPDX-License-Identifier: Apache-2.0
"""Pass descriptors of row-stationary convolutions: a free mapping of rows, filters and channels to PE sets.

Loop levels of the streams are listed innermost first; the loops are those of docs/hardware/overview.md.
"""

from dataclasses import dataclass, field, replace

from eyrie.compiler.ir.feature_map import FeatureMap
from eyrie.compiler.ir.layer import Output
from eyrie.compiler.ir.window import Window
from eyrie.compiler.target.blocks import Blocks
from eyrie.compiler.target.descriptors.array import ArrayWork, ZeroPoints, set_array
from eyrie.compiler.target.descriptors.streams import columns_level, linear_stream, ofmap_stream, ring_of, rows_level
from eyrie.compiler.target.limits import drains_two_pixels, equal_stride, legal, pairs
from eyrie.compiler.target.scan_ids import convolution_ids
from eyrie.model import encoding as enc
from eyrie.model.config import GLB_WORD_BYTES, SET_ROWS, WORD_CHANNELS, AcceleratorConfig
from eyrie.model.descriptor import Descriptor, Level, StreamDescriptor
from eyrie.model.encoding import ArrayMode, Axis, DrainMode, PoolMode, Stream
from eyrie.model.errors import InputError


@dataclass(frozen=True)
class ConvolutionPass:
    """A row-stationary convolution pass with a free mapping.

    e, p, q, r, t as in the Eyeriss taxonomy; filters and ipsum lie in stream order
    (`pack_convolution`, drain order); without ofmap the sums only leave the array. one_pixel: they leave for one pixel
    at a time, for an operation on the words.
    """

    ifmap: FeatureMap
    window: Window
    blocks: Blocks  # rows = e, pixels = F
    ifmap_zero_point: int
    p: int
    q: int
    r: int
    t: int
    tiles: int
    filter_address: int
    ipsum_address: int | None = None
    table_address: int | None = None
    ofmap: FeatureMap | None = None
    output: Output = field(default_factory=Output)
    last_channels: int = 8
    halves: int = 2  # groups in a word where sets do not split it; 1: only the low half has channels
    one_pixel: bool = False
    filter_zero_point: int = 0
    ring: tuple[int, int] | None = None  # as of Filters (compiler/target/blocks.py)
    chunk_groups: int | None = None  # as well

    @property
    def two_pixels(self) -> bool:
        """Whether sums leave for two pixels at a time."""
        return drains_two_pixels(self.blocks, PoolMode.NONE, self.one_pixel or self.ipsum_address is not None)


@dataclass(frozen=True)
class Sets:
    """How the PE sets of a convolution share the work."""

    folds: int  # row groups one set is folded over
    down: int  # sets over filters, stacked
    across: int  # sets over filters, side by side
    split: bool  # the sets of a pair split channels
    by_set: bool  # filter words hold a half for each set of a pair
    in_turn: bool  # chains drain one after the other: they hold different rows, or more filters than fit a GLB word

    @property
    def pairs(self) -> int:
        """Pairs of sets with filters of their own; of an odd number of stacked sets the last has no partner."""
        return -(-self.down // (1 if self.split else 2))

    @property
    def chains(self) -> int:
        return max(self.folds, self.down)


def convolution_sets(config: AcceleratorConfig, c: ConvolutionPass) -> Sets:
    folds = -(-c.blocks.rows // config.cols)
    down = max(1, min(c.t, config.sets // c.r)) if folds == 1 else 1
    return Sets(folds, down, c.t // down, c.r > 1, c.r * down > 1, folds > 1 or c.p * down > GLB_WORD_BYTES)


def convolution_groups(c: ConvolutionPass) -> tuple[int, int]:
    """(groups of a pass, halves of a word that are groups of their own)."""
    halves = 1 if c.r > 1 or c.ifmap.packed else c.halves
    return c.ifmap.groups * halves, halves


def convolution_descriptor(config: AcceleratorConfig, c: ConvolutionPass) -> Descriptor:
    """Raises InputError where the mapping does not fit the accelerator."""
    descriptor = Descriptor()
    rows, taps = c.window.kernel
    blocks, stride = c.blocks, equal_stride(c.window)
    sets = convolution_sets(config, c)
    ids = convolution_ids(config, blocks.rows, c.r, c.t, rows, stride, blocks.cols)
    groups, halves = convolution_groups(c)
    for what, demand, bound in (
        ("channels of a PE", c.q, WORD_CHANNELS),
        ("filter words of a PE", c.p * taps, config.filter_words),
        ("partial sums of a PE", c.p * blocks.pixels, config.psum_words),
    ):
        if demand > bound:
            raise InputError(f"{what}: needs {demand}, has {bound}")
    zero_points = ZeroPoints(c.ifmap_zero_point, c.ifmap_zero_point, c.filter_zero_point)
    filters = tuple(c.p if row < rows else 0 for row in range(SET_ROWS))
    set_array(
        descriptor, ids, ArrayWork(ArrayMode.CONVOLUTION, blocks, taps, stride, zero_points, filters, groups, c.tiles)
    )

    x = -c.window.pads[2]
    words, y = (blocks.pixels - 1) * stride + taps, blocks.first_row * stride - c.window.pads[0]
    span = (blocks.rows - 1) * stride + rows
    step = blocks.pixels * stride
    descriptor.set_stream(
        Stream.IFMAP,
        StreamDescriptor(
            {"row_address": c.ifmap.row_address(y), "offset": c.ifmap.column_step(x) & 0xFFFF, **ring_of(c.ifmap)},
            {"y": y, "x": x, "rows": c.ifmap.rows, "cols": c.ifmap.cols},
            {
                "pad": c.ifmap_zero_point,
                "odd_words": words % 2,
                "half_by_set": int(sets.split),
                "pair_level": 2,
                "packed_pixels": int(c.ifmap.packed),
            },
            (  # rows and blocks go side by side: a PE holds only a few words of its own
                rows_level(c.ifmap, span, 1, column_tag=1),
                columns_level(c.ifmap, blocks.cols, step, enc.TAG.pack(column=span)),
                columns_level(c.ifmap, pairs(words, x), 2),
                Level(halves, tag=enc.TAG.pack(half=1)),
                Level(c.ifmap.groups, c.ifmap.group_step),
                Level(c.tiles),
                columns_level(c.ifmap, blocks.along, step * blocks.cols),
                rows_level(c.ifmap, blocks.down, blocks.rows * stride),
            ),
        ),
    )
    _set_convolution_filters(config, descriptor, c, sets, halves)
    _set_convolution_output(descriptor, c, sets)
    return legal(config, descriptor)


def _set_convolution_filters(
    config: AcceleratorConfig, descriptor: Descriptor, c: ConvolutionPass, sets: Sets, halves: int
) -> None:
    """Order: tile, group, set across, pair of sets and row, filter, tap."""
    size = c.ring[1] if c.ring else 0

    def along(count: int, words: int, **tags: int) -> Level:
        return Level(count, words % size if size else words, Axis.ROW, 0, **tags)

    rows, taps = c.window.kernel
    run, lanes = c.p * taps, config.filter_lanes
    run_words = -(-run // lanes) * lanes
    pair_words = rows * run_words
    across_words = sets.pairs * pair_words
    group_words = sets.across * across_words
    # Words by set pair hold one group for each half; others hold both halves' groups.
    twice = 1 if sets.by_set else halves
    stored = c.ifmap.groups * halves // twice
    group = [
        level
        for level in (
            along(run_words // lanes, lanes),
            along(rows, run_words, tag=enc.TAG.pack(row=1)),
            along(sets.pairs, pair_words, tag=enc.TAG.pack(row=SET_ROWS)),
            along(sets.across, across_words, tag=enc.TAG.pack(column=1)),
            Level(twice, tag=enc.TAG.pack(half=1)),
        )
        if level.count > 1
    ]
    chunk, groups = c.chunk_groups or stored, [along(stored, group_words)]
    if c.chunk_groups:
        if stored % chunk or twice > 1 or c.blocks.outer > 1:
            raise InputError(f"chunks of {chunk} groups of {stored}, each {twice} times, for {c.blocks.outer} blocks")
        groups = [along(chunk, group_words), along(stored // chunk, chunk * group_words), Level(1)]
    descriptor.set_stream(
        Stream.FILTER,
        StreamDescriptor(
            {"row_address": c.filter_address, **({"ring_end": c.ring[0], "ring_size": size} if c.ring else {})},
            {"rows": 1, "cols": lanes},
            {
                "half_by_set": int(sets.by_set),
                "odd_words": run % lanes,
                "single": int(run < lanes),
                "chunk": int(c.chunk_groups is not None),
                "chunk_level": len(group) + 1 if c.chunk_groups else 0,
            },
            (*group, *groups, along(c.tiles, stored * group_words), Level(c.blocks.outer)),
        ),
    )


def _set_convolution_output(descriptor: Descriptor, c: ConvolutionPass, sets: Sets) -> None:
    blocks, chains = c.blocks, sets.chains
    block = c.p if sets.in_turn else c.p * chains
    if block > GLB_WORD_BYTES:
        raise InputError(f"p = {c.p} filters are drained at a time: at most {GLB_WORD_BYTES}")
    columns = blocks.rows * blocks.cols // sets.folds * sets.across
    descriptor.set(
        enc.DRAIN_INDEX,
        enc.DRAIN,
        mode=DrainMode.CONVOLUTION,
        block=block,
        blocks=1,
        last_block=block,
        set_filters=c.p,
        chains=chains,
        chain_sets=c.r,
        fold=int(sets.in_turn),
        columns=columns,
        rows=(1 << c.window.kernel[0]) - 1,
        ipsum=int(c.ipsum_address is not None),
        to_ppu=int(c.ofmap is not None),
        two_pixels=int(c.two_pixels),
        link_enable=descriptor.drain["link_enable"],
    )
    beats = blocks.outer * c.tiles * (chains if sets.in_turn else 1) * blocks.pixels * block
    if c.ipsum_address is not None:
        pairs = -(-columns // 2)
        descriptor.set_stream(
            Stream.IPSUM,
            linear_stream(
                c.ipsum_address,
                Level(pairs, 1),
                Level(blocks.pixels * block, pairs),
                Level(beats // (blocks.pixels * block), blocks.pixels * block * pairs),
            ),
        )
    if c.ofmap is None:
        return
    if sets.across > 1 or block != GLB_WORD_BYTES:
        raise InputError("an int8 ofmap needs p = 8 filters or p * t = 8, stacked, in one block of columns")
    assert c.table_address is not None
    groups = c.p * sets.down // GLB_WORD_BYTES  # of channels, that a tile makes
    descriptor.set_stream(
        Stream.PARAMETERS,
        linear_stream(
            c.table_address,
            Level(enc.PARAMETER_WORDS, 1),
            *([Level(sets.folds)] if sets.folds > 1 else []),
            Level(c.tiles * groups, enc.PARAMETER_WORDS),
            Level(blocks.outer),
        ),
    )
    chain = replace(blocks, rows=blocks.rows // sets.folds)
    words = ofmap_stream(c.ofmap, chain, PoolMode.NONE, groups, c.tiles, c.last_channels, c.two_pixels)
    if sets.folds > 1:  # the rows of the chains come in place of inner blocks
        folds, down = rows_level(c.ofmap, sets.folds, chain.rows), rows_level(c.ofmap, blocks.down, blocks.rows)
        words = replace(words, levels=(*words.levels[:4], folds, *words.levels[5:7], down))
    descriptor.set_stream(Stream.OFMAP, words)
    descriptor.set(enc.PPU_INDEX, enc.PPU, **vars(c.output))
