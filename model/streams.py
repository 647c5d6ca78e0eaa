# SPDX-License-Identifier: Apache-2.0
"""The address generators: positions, beats, and the words at the addresses.

The walk is the same as in `rtl/streams/address_generator.sv`, for all positions at once.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from eyrie.model import encoding as enc
from eyrie.model.config import MAX_GLB_WORDS
from eyrie.model.descriptor import Descriptor, StreamDescriptor
from eyrie.model.encoding import Axis, Stream
from eyrie.model.errors import InputError

_HALF = enc.TAG.pack(half=1)
_PLACE = _HALF - 1  # the tag's row and column
_LOW_HALF = np.uint64(0xFFFFFFFF)  # of a GLB word
_SHIFTS = np.array([0, 32], np.uint64)  # to its halves


@dataclass(frozen=True)
class Positions:
    """All positions of a generator, in order; every array has one entry per position.

    address, x: of the first word of a pair, if beats are pairs; odd: rows that begin with the second word of a pair;
    first_pair, last_pair: first or last pair of a row; digits: iteration of each level, innermost first, [positions,
    levels].
    """

    address: np.ndarray
    x: np.ndarray
    odd: np.ndarray
    y: np.ndarray
    tag: np.ndarray
    first_pair: np.ndarray
    last_pair: np.ndarray
    digits: np.ndarray


def coordinate(value: np.ndarray) -> np.ndarray:
    """Return a coordinate as the generators hold it: signed, modulo 2**COORDINATE_BITS."""
    size = 1 << enc.COORDINATE_BITS
    return (value + size // 2) % size - size // 2


def positions(stream: StreamDescriptor, lanes: int = 1) -> Positions:
    """Walk through the loops of a descriptor; `lanes` is the number of lanes of its stream."""
    counts = [level.count for level in stream.levels]
    pair = stream.options["pair_level"]
    index = np.arange(stream.length, dtype=np.int64)
    digits = np.zeros((stream.length, len(counts)), np.int64)
    used = [n for n, count in enumerate(counts) if count > 1]
    for n in used:
        digits[:, n] = index % counts[n]
        index = index // counts[n]
    moving = digits[:, used]

    def walk(start: int, steps: list[int]) -> np.ndarray:
        return start + moving @ np.array([steps[n] for n in used], np.int64)

    def wrapped(start: int, steps: Sequence[int | None], end: int, size: int, bits: int) -> np.ndarray:
        """Walk less `size` after a step to `end` or beyond, in numbers of some bits; None: the level makes no step."""
        moves = {n: step for n in reversed(used) if (step := steps[n]) is not None}
        if 0 <= end - size <= start < end <= 1 << bits and all(0 <= step <= size for step in moves.values()):
            return end - size + (walk(start, [step or 0 for step in steps]) - end) % size
        found = np.array(start)
        for n, step in moves.items():
            rounds = [found]
            for _ in range(counts[n] - 1):
                after = rounds[-1] + step % (1 << bits)
                rounds.append((after - ((after - end) >> bits & 1 == 0) * size) % (1 << bits))
            found = np.stack(rounds, axis=-1)
        return found[tuple(digits[:, n] for n in moves)]

    on_row = [level.axis == Axis.ROW for level in stream.levels]
    if ring := stream.address["ring_size"]:
        strides = [v.stride if on else None for v, on in zip(stream.levels, on_row)]
        start, end = stream.address["row_address"], stream.address["ring_end"]
        row = wrapped(start, strides, end, ring, enc.GLB_ADDRESS_BITS)
    else:
        row = walk(stream.address["row_address"], [v.stride * on for v, on in zip(stream.levels, on_row)])
    offset = walk(stream.address["offset"], [v.stride * (not on) for v, on in zip(stream.levels, on_row)])
    tags, wrap = [v.tag & _PLACE for v in stream.levels], stream.range["tag_wrap"]  # of row and column
    place = wrapped(0, tags, wrap, wrap, _PLACE.bit_length()) if wrap else walk(0, tags)
    half = walk(0, [v.tag & _HALF for v in stream.levels])
    x = coordinate(walk(stream.range["x"], [v.step * (v.axis == Axis.COLUMN) for v in stream.levels]))
    odd = x & (lanes == 2 and not stream.options["single"])
    return Positions(
        address=(row + offset) & 0xFFFF ^ odd * (not packed(stream, lanes)),
        x=coordinate(x - odd),
        odd=odd == 1,
        y=coordinate(walk(stream.range["y"], [v.step * on for v, on in zip(stream.levels, on_row)])),
        tag=(place & _PLACE) | (half & _HALF),
        first_pair=digits[:, pair] == 0,
        last_pair=digits[:, pair] == counts[pair] - 1,
        digits=digits,
    )


@dataclass(frozen=True)
class Beats:
    """The beats of a read stream: data uint64 [beats, lanes], lanes bool [beats, lanes], tags."""

    data: np.ndarray
    lanes: np.ndarray
    tag: np.ndarray
    half_by_set: bool

    def words(self, row: int, columns: Sequence[int], odd_set: bool, column_bits: int = 6) -> np.ndarray:
        """Return the 32-bit PE words (uint32) that a PE receives, with its row ID and the column tags that it takes."""
        mine = np.isin(self.tag & ((1 << column_bits) - 1), columns) & (((self.tag >> 6) & 0xF) == row)
        data, lanes = self.data[mine], self.lanes[mine]
        half = np.full(len(data), odd_set) if self.half_by_set else (self.tag[mine] >> 10) & 1 == 1
        words = np.where(half[:, None], data >> _SHIFTS[1], data & _LOW_HALF)
        return words[lanes].astype(np.uint32)


def inside(stream: StreamDescriptor, at: Positions, lane: int = 0) -> np.ndarray:
    """Return, per position (bool), whether the word of a lane is inside the tensor."""
    x = coordinate(at.x + lane)
    return (at.y >= 0) & (at.y < stream.range["rows"]) & (x >= 0) & (x < stream.range["cols"])


def sent(stream: StreamDescriptor, at: Positions, lanes: int) -> np.ndarray:
    """Return whether the word of each lane is sent, bool [positions, lanes].

    At the ends of a row, one word of a pair may not be sent. `at` must have this number of lanes.
    """
    kept = np.ones((len(at.address), lanes), bool)
    if lanes == 2 and stream.options["single"]:
        kept[:, 1] = False
    elif lanes == 2:
        kept[:, 0] = ~(at.first_pair & at.odd)
        kept[:, 1] = ~(at.last_pair & (at.odd ^ bool(stream.options["odd_words"])))
    return kept


def packed(stream: StreamDescriptor, lanes: int) -> bool:
    """Return whether the two pixels of a beat are the halves of one GLB word."""
    return lanes == 2 and bool(stream.options["packed_pixels"])


def fetched(stream: StreamDescriptor, at: Positions, lanes: int) -> np.ndarray:
    """Return whether the GLB word at the address, and the following one, are read: bool [positions, lanes]."""
    there = np.stack([inside(stream, at, lane) for lane in range(lanes)], axis=1) & sent(stream, at, lanes)
    if packed(stream, lanes):
        there = np.stack([there.any(axis=1), np.zeros(len(there), bool)], axis=1)
    return there


def read_anew(stream: StreamDescriptor, at: Positions) -> np.ndarray:
    """Return, per position (bool), whether the residual stream reads the GLB: it keeps the last word that it read."""
    there = np.flatnonzero(inside(stream, at))
    anew = np.zeros(len(at.address), bool)
    anew[there] = np.diff(at.address[there], prepend=-1) != 0
    return anew


def read(stream: StreamDescriptor, memory: np.ndarray, lanes: int = 1, where: Positions | None = None) -> Beats:
    """Read a stream from the GLB (uint64 words). Positions outside the tensor give the pad value."""
    at = where or positions(stream, lanes)
    data = np.empty((len(at.address), lanes), np.uint64)
    kept, asked = sent(stream, at, lanes), fetched(stream, at, lanes)
    if (odd := asked[:, 1:].any(axis=1) & (at.address % 2 == 1)).any():
        raise IndexError(f"a pair of words at the odd address {at.address[odd][0]}")
    pad = np.uint64(int.from_bytes(bytes([stream.options["pad"] & 0xFF]) * 8, "little"))
    words = memory[np.where(asked, at.address[:, None] + np.arange(lanes), 0)]
    if packed(stream, lanes):
        words = words[:, :1] >> _SHIFTS & _LOW_HALF
    for lane in range(lanes):
        data[:, lane] = np.where(inside(stream, at, lane), words[:, lane], pad)
    return Beats(data, kept, at.tag, bool(stream.options["half_by_set"]))


def written_lanes(descriptor: Descriptor) -> np.ndarray:
    """Return which words come for each ofmap position, and for the following pixel: bool [positions, 2]."""
    drain, count = descriptor.drain, descriptor.stream(Stream.OFMAP).length
    there = np.ones((count, 2), bool)
    pixels = descriptor.shape["pixels"]
    pair = np.arange(count) // max(drain["columns"], 1) % max(-(-pixels // 2), 1)
    there[:, 1] = bool(drain["two_pixels"]) & (pair < pixels // 2)
    return there


def written(descriptor: Descriptor, at: Positions) -> np.ndarray:
    """Return whether the GLB word at the address, and the following one, are written: bool [positions, 2]."""
    ofmap = descriptor.stream(Stream.OFMAP)
    return np.stack([inside(ofmap, at, lane) for lane in range(2)], axis=1) & written_lanes(descriptor)


SPREAD = np.uint64(0x9E3779B97F4A7C15)


def write(
    stream: StreamDescriptor, memory: np.ndarray, words: np.ndarray, lanes: np.ndarray | None = None
) -> tuple[int, int]:
    """Write ofmap words (uint64) into the GLB: one per position, or as `written_lanes` says.

    Return the bytes written and a signature of the writes: the sum over the words of (data ^ address * SPREAD) * SPREAD
    modulo 2**64. Bytes without strobe count as zero.
    """
    at = positions(stream)
    lanes = np.ones((len(at.address), 1), bool) if lanes is None else lanes
    if len(words) != lanes.sum():
        raise InputError(f"{len(words)} ofmap words for {lanes.sum()} places")
    place, lane = np.nonzero(lanes)
    address = (at.address[place] + lane) % MAX_GLB_WORDS
    there = np.stack([inside(stream, at, n) for n in range(lanes.shape[1])], axis=1)[place, lane]
    last = np.ones(len(words), bool)
    for level in (enc.OFMAP_BLOCK_LEVEL, enc.OFMAP_TILE_LEVEL):
        last &= at.digits[place, level] == stream.levels[level].count - 1
    strobe = np.where(last, stream.options["last_strobe"], 0xFF)
    there &= strobe != 0
    target = memory.view(np.uint8).reshape(-1, 8)
    source = np.ascontiguousarray(words, np.uint64).view(np.uint8).reshape(-1, 8)
    kept = source * (strobe[:, None] >> np.arange(8) & 1).astype(np.uint8)
    data = np.ascontiguousarray(kept[there]).view(np.uint64)[:, 0]
    with np.errstate(over="ignore"):
        signature = ((data ^ address[there].astype(np.uint64) * SPREAD) * SPREAD).sum(dtype=np.uint64)
    count = 0
    for byte in range(8):
        use = there & ((strobe >> byte) & 1 == 1)
        target[address[use], byte] = source[use, byte]
        count += int(use.sum())
    return count, int(signature)
