# SPDX-License-Identifier: Apache-2.0
"""A pass as its timeline needs it: loops, beats, and the GLB banks of every word in order."""

from dataclasses import dataclass

import numpy as np

from eyrie.compiler.cost.timing.banks import bank_masks
from eyrie.model import encoding as enc
from eyrie.model.config import SET_ROWS, WORD_CHANNELS, AcceleratorConfig
from eyrie.model.descriptor import Descriptor, StreamDescriptor
from eyrie.model.encoding import ArrayMode, Operation, Stream
from eyrie.model.streams import Positions, fetched, inside, positions, read_anew, sent, written, written_lanes

PAIR = 2  # words of a beat of two lanes
STAGES = {Operation.NONE: 0, Operation.TABLE: 1, Operation.SQUARED_DIFFERENCE: 7}
OTHER_STAGES = 6


@dataclass(frozen=True)
class PassShape:
    """A descriptor as the timeline needs it.

    beats    of a channel group's ifmap: (PEs, words), PEs of the first set as row * cols + column
    pairs    pixels of a PE by what drains at a time: as many as there are, or pairs of two
    banks_*  of each beat or word of the pass, the banks that it touches, a bit each, 0 where it is outside; of a word
             or pair of words of the ofmap those of each cycle: a pair from an odd address on takes two
    """

    mode: ArrayMode
    pixels: int
    stride: int
    taps: int
    bands: int  # of a depthwise kernel
    filters: tuple[int, ...]  # by row of a set
    each: int  # pointwise filters that come, and are dealt, at a time
    rotation: int  # rows by which each tile is dealt from behind the one before
    groups: int
    inner: int
    tiles: int
    outer: int
    sets: int  # of PEs that take part, as columns
    columns: int
    pairs: int
    block: int  # filters whose sums make a word
    last_block: int  # those of a chain's last block
    blocks: int  # of a chain
    chains: int  # whose beats come one after the other
    joined: bool  # the two sets make one column adder chain
    average: bool
    chunk_groups: int  # groups of the pass in a filter chunk, 0: no chunks
    level_pairs: dict[Stream, int]  # of the streams that are used: pairs of loops
    beats: list[tuple[tuple[int, ...], int]]
    banks_ifmap: list[int]
    banks_filter: list[int]
    banks_depthwise: list[int]
    banks_table: list[int]
    banks_ofmap: list[tuple[int, ...]]
    banks_residual: list[int]
    operation: Operation  # on the words that leave
    window: int  # transfers of the first operand that become a word, 0: each is one

    @property
    def tile(self) -> int:
        """Filters of a tile that a set does."""
        return sum(self.filters)

    def dealt_from(self, turn: int) -> int:
        """The row of a set that has the first filter of a pointwise group's tile."""
        return turn // (self.inner * self.groups) % self.tiles * self.rotation % SET_ROWS

    @property
    def later_sets(self) -> int:
        """Beats at the end of a convolution's tile to which only sets behind the first add, which is free before."""
        if self.mode != ArrayMode.CONVOLUTION:
            return 0
        return self.block - self.filters[0] if self.chains == 1 else (self.chains - 1) * self.block * self.pairs

    @property
    def stages(self) -> int:
        """Cycles from the take of a word by elementwise_unit to its result."""
        return STAGES.get(self.operation, OTHER_STAGES)

    @property
    def has_operands(self) -> bool:
        """Return whether the words that leave have second operands."""
        return bool(self.banks_residual) and self.operation not in (Operation.NONE, Operation.TABLE)

    @property
    def runs(self) -> int:
        """Runs of a pass through its channel groups."""
        return self.outer * self.tiles * self.inner

    @property
    def turns(self) -> int:
        """Pointwise or convolution groups of the pass."""
        return self.runs * self.groups

    @property
    def set_pairs(self) -> int:
        """Of a convolution: pairs of sets, which read the same filter words."""
        return self.sets // 2

    @property
    def jobs(self) -> int:
        """Depthwise groups of the pass."""
        return self.outer * self.inner * self.groups


def macs(config: AcceleratorConfig, descriptor: Descriptor) -> int:
    """MACs that a pass issues, padding included."""
    shape, loops = descriptor.shape, descriptor.loops
    mode, taps = ArrayMode(shape["mode"]), shape["taps"]
    filters = sum(shape[f"filters_{row}"] for row in range(SET_ROWS)) * loops["tiles"]
    if mode == ArrayMode.CONVOLUTION:
        filters *= taps
    elif mode in (ArrayMode.FUSED, ArrayMode.DEPTHWISE):
        filters += SET_ROWS * taps * loops["bands"]
    jobs = loops["outer"] * loops["inner"] * loops["groups"]
    return _sets(config, descriptor) * descriptor.drain["columns"] * shape["pixels"] * filters * jobs * WORD_CHANNELS


def _sets(config: AcceleratorConfig, descriptor: Descriptor) -> int:
    """Sets of PEs that a pass has at work."""
    drain = descriptor.drain
    if descriptor.shape["mode"] == ArrayMode.CONVOLUTION:
        return drain["chains"] * drain["chain_sets"]
    return min(config.sets, 2)


def pass_shape(config: AcceleratorConfig, descriptor: Descriptor) -> PassShape:
    shape, loops, drain = descriptor.shape, descriptor.loops, descriptor.drain
    mode = ArrayMode(shape["mode"])
    filters = descriptor.stream(Stream.FILTER)
    chunk_groups = 0
    if filters.options["enable"] and filters.options["chunk"]:
        chunk_groups = loops["groups"] // filters.levels[filters.options["chunk_level"]].count
    ifmap = descriptor.stream(Stream.IFMAP)
    at = positions(ifmap, PAIR)
    turns = loops["outer"] * loops["inner"] * loops["groups"]
    turns *= 1 if mode == ArrayMode.FUSED else loops["tiles"]
    pairs = -(-shape["pixels"] // 2) if drain["two_pixels"] else shape["pixels"]
    return PassShape(
        mode,
        shape["pixels"],
        shape["stride_2"] + 1,
        shape["taps"],
        loops["bands"],
        tuple(shape[f"filters_{row}"] for row in range(SET_ROWS)),
        drain["pairs"] + 1,
        shape["rotation"],
        loops["groups"],
        loops["inner"],
        loops["tiles"],
        loops["outer"],
        _sets(config, descriptor),
        drain["columns"],
        pairs,
        drain["block"],
        drain["last_block"],
        drain["blocks"],
        drain["chains"] if drain["fold"] else 1,
        bool(drain["link_enable"] >> (SET_ROWS - 1) & 1),
        descriptor.ppu["pool"] == enc.PoolMode.AVERAGE,
        chunk_groups,
        {s: descriptor.stream(s).options["level_pairs"] + 1 for s in Stream if descriptor.uses(s)},
        [] if mode == ArrayMode.ELEMENTWISE else _beats(config, descriptor, mode, ifmap, at, ifmap.length // turns),
        _pair_banks(config, ifmap, at),
        _word_banks(config, filters, config.filter_lanes),
        _word_banks(config, descriptor.stream(Stream.DEPTHWISE)),
        _word_banks(config, descriptor.stream(Stream.PARAMETERS)),
        _ofmap_banks(config, descriptor),
        _word_banks(config, descriptor.stream(Stream.RESIDUAL), keeps=True),
        Operation(descriptor.second["operation"]),
        descriptor.first["window"],
    )


def _beats(
    config: AcceleratorConfig,
    descriptor: Descriptor,
    mode: ArrayMode,
    stream: StreamDescriptor,
    at: Positions,
    length: int,
) -> list[tuple[tuple[int, ...], int]]:
    """The first `length` beats, a group's. In a pointwise pass a column's PEs all get the same pixels: the
    first is named."""
    row_ids, column_ids = descriptor.ids(config.rows, config.cols)
    takers: dict[tuple[int, int], list[int]] = {}
    for row in range(1 if mode == ArrayMode.POINTWISE else SET_ROWS):
        for col in range(config.cols):
            for band in range(stream.options["more_bands"] + 1):
                key = row_ids[row]["ifmap"], column_ids[row][col]["ifmap"] + SET_ROWS * band
                takers.setdefault(key, []).append(row * config.cols + col)
    words = sent(stream, at, PAIR)[:length].sum(axis=1).tolist()
    tags = map(enc.TAG.unpack, at.tag[:length].tolist())
    return [(tuple(takers.get((tag["row"], tag["column"]), ())), count) for tag, count in zip(tags, words)]


def _pair_banks(config: AcceleratorConfig, stream: StreamDescriptor, at: Positions) -> list[int]:
    masks = np.zeros(len(at.address), np.int64)
    for lane, there in enumerate(fetched(stream, at, PAIR).T):
        masks |= np.where(there, bank_masks(config, at.address + lane), 0)
    return masks.tolist()


def _ofmap_banks(config: AcceleratorConfig, descriptor: Descriptor) -> list[tuple[int, ...]]:
    if not descriptor.uses(Stream.OFMAP):
        return []
    at = positions(descriptor.stream(Stream.OFMAP))
    one, other = (
        np.where(there, bank_masks(config, at.address + lane), 0)
        for lane, there in enumerate(written(descriptor, at).T)
    )
    apart = written_lanes(descriptor)[:, 1] & (at.address % 2 == 1)
    if not apart.any():
        return list(zip((one | other).tolist()))
    return [
        masks if two else (masks[0] | masks[1],)
        for masks, two in zip(zip(one.tolist(), other.tolist()), apart.tolist())
    ]


def _word_banks(config: AcceleratorConfig, stream: StreamDescriptor, lanes: int = 1, keeps: bool = False) -> list[int]:
    if not stream.options["enable"]:
        return []
    at = positions(stream, lanes)
    if lanes == 2:
        return _pair_banks(config, stream, at)
    there = read_anew(stream, at) if keeps else inside(stream, at)
    return np.where(there, bank_masks(config, at.address), 0).tolist()
