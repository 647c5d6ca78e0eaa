# SPDX-License-Identifier: Apache-2.0
"""The GLB words that transfers and the streams of passes touch."""

from dataclasses import replace

import numpy as np

from eyrie.compiler.ir.program import Transfer
from eyrie.model import encoding as enc
from eyrie.model import streams
from eyrie.model.config import MAX_GLB_WORDS, AcceleratorConfig
from eyrie.model.descriptor import Descriptor, StreamDescriptor
from eyrie.model.encoding import ArrayMode, Operation, Stream


def transfer_words(transfer: Transfer) -> np.ndarray:
    """Addresses of a LOAD's or STORE's words, rising."""
    block = transfer.block
    if not block:
        return np.arange(transfer.glb_address, transfer.glb_address + transfer.words)
    rows, planes = np.arange(block.rows) * block.row_glb, np.arange(block.planes) * block.plane_glb
    starts = (transfer.glb_address + np.add.outer(planes, rows)).ravel() % MAX_GLB_WORDS
    return np.unique(np.add.outer(starts, np.arange(transfer.words)))


class StreamWords:
    """The words of the streams of an accelerator's passes; what many passes have in common is worked out once."""

    def __init__(self, config: AcceleratorConfig) -> None:
        self.config = config
        self._programs: dict[tuple[int, ...], StreamDescriptor] = {}
        self._words: dict[tuple[int, ...], np.ndarray] = {}

    def program(self, descriptor: Descriptor, stream: Stream) -> StreamDescriptor:
        key = _key(descriptor, stream)
        if key not in self._programs:
            self._programs[key] = descriptor.stream(stream)
        return self._programs[key]

    def words(self, descriptor: Descriptor, stream: Stream) -> np.ndarray:
        """Addresses of all words that a stream reads or writes, rising."""
        key = _key(descriptor, stream)
        if stream == Stream.OFMAP:
            key += tuple(descriptor.words[n] for n in (enc.ARRAY_SHAPE_INDEX, enc.DRAIN_INDEX))
            if key not in self._words:
                self._words[key] = _rising(*_written(descriptor))
        elif key not in self._words:
            program = self.program(descriptor, stream)
            # Loops that stay where they are add nothing.
            once = replace(
                program,
                levels=tuple(
                    level if level.stride or level.step else replace(level, count=1) for level in program.levels
                ),
            )
            self._words[key] = _rising(*_touched(once, lanes(stream, self.config)))
        return self._words[key]

    def chunks(self, program: StreamDescriptor) -> list[np.ndarray]:
        """Addresses of the words of each filter chunk, in the order in which they are waited for."""
        level = program.options["chunk_level"]
        levels = list(program.levels)
        levels[level + 1] = replace(levels[level + 1], count=1)  # inner blocks use the same chunks again
        addresses, fetched = _touched(replace(program, levels=tuple(levels)), self.config.filter_lanes)
        size = int(np.prod([v.count for v in levels[:level]]))
        parts = (slice(n, n + size) for n in range(0, len(addresses), size))
        return [_rising(addresses[part], fetched[part]) for part in parts]


def read_too_late(descriptor: Descriptor, stream: Stream, config: AcceleratorConfig) -> np.ndarray:
    """Addresses of words that a pass writes as ofmap before its stream has read them for the last time.

    The sums of a turn (of outer block, tile and inner block; of a depthwise pass each group is one) leave
    when all that they need has been read. Tables and ipsums go along with the sums, a block of filters or a
    beat at a time: only those of earlier turns count as read. A word of a vector pass leaves when its own have
    been read.
    """
    ofmap, reader = descriptor.stream(Stream.OFMAP), descriptor.stream(stream)
    loops, mode = descriptor.loops, descriptor.shape["mode"]
    outer, tiles, inner = loops["outer"], loops["tiles"], loops["inner"]
    if mode == ArrayMode.DEPTHWISE:
        inner *= loops["groups"]
    turns = ofmap.length if mode == ArrayMode.ELEMENTWISE else outer * tiles * inner
    written_at = np.arange(ofmap.length) * turns // ofmap.length
    if stream == Stream.RESIDUAL:  # a word for each of the ofmap, or a table before the first one
        read_at, written_at = np.arange(reader.length), np.arange(ofmap.length)
        if descriptor.second["operation"] == Operation.TABLE:
            read_at = np.zeros(reader.length, int)
    elif mode == ArrayMode.ELEMENTWISE:
        read_at = np.arange(reader.length) // (max(descriptor.first["window"], 1) if stream == Stream.IFMAP else 1)
    elif mode == ArrayMode.FUSED and stream in (Stream.IFMAP, Stream.DEPTHWISE):  # with the first tile only
        read_at = np.arange(reader.length) * (outer * inner) // reader.length
        read_at = read_at // inner * (tiles * inner) + read_at % inner
    else:
        read_at = np.arange(reader.length) * turns // reader.length
    if stream in (Stream.PARAMETERS, Stream.IPSUM) and mode != ArrayMode.ELEMENTWISE:
        read_at = read_at + 1
    last, first = np.full(MAX_GLB_WORDS + 1, -1), np.full(MAX_GLB_WORDS + 1, max(turns, ofmap.length))
    addresses, fetched = _touched(reader, lanes(stream, config))
    for lane, there in enumerate(fetched.T):
        np.maximum.at(last, addresses[there] + lane, read_at[there])
    addresses, written = _written(descriptor)
    for lane, there in enumerate(written.T):
        np.minimum.at(first, addresses[there] + lane, written_at[there])
    return np.flatnonzero(last > first)


def lanes(stream: Stream, config: AcceleratorConfig) -> int:
    """Words at a time, of a stream that reads."""
    return {Stream.IFMAP: 2, Stream.FILTER: config.filter_lanes}.get(stream, 1)


def _key(descriptor: Descriptor, stream: Stream) -> tuple[int, ...]:
    base = enc.STREAMS_INDEX + stream * enc.STREAM_WORDS
    return tuple(descriptor.words[base : base + enc.STREAM_WORDS])


def _touched(program: StreamDescriptor, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Addresses of the words of lane 0; whether each lane's word is accessed, bool [positions, lanes]."""
    at = streams.positions(program, count)
    return at.address, streams.fetched(program, at, count)


def _written(descriptor: Descriptor) -> tuple[np.ndarray, np.ndarray]:
    """As well of the ofmap stream, with the two pixels of a position as lanes."""
    at = streams.positions(descriptor.stream(Stream.OFMAP))
    return at.address, streams.written(descriptor, at)


def _rising(addresses: np.ndarray, fetched: np.ndarray) -> np.ndarray:
    mask = np.zeros(MAX_GLB_WORDS + 1, bool)
    for lane, there in enumerate(fetched.T):
        mask[addresses[there] + lane] = True
    return np.flatnonzero(mask)
