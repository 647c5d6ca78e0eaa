# SPDX-License-Identifier: Apache-2.0
"""The pass descriptor: the configuration words of a PASS command."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from eyrie.model import encoding as enc
from eyrie.model.encoding import ArrayMode, Axis, Stream
from eyrie.model.errors import InputError
from eyrie.model.word import Word

MOST_LEVELS = 1 << 14  # that are remembered, packed and unpacked


@dataclass(frozen=True)
class Level:
    """One loop of an address generator (see `encoding.STREAM_LEVEL`).

    `stride` is in GLB words; `step` in rows or columns of the feature map; `tag` is added to the tag.
    """

    count: int
    stride: int = 0
    axis: Axis = Axis.NONE
    step: int = 0
    tag: int = 0


@dataclass(frozen=True)
class StreamDescriptor:
    """The program of an address generator: start address, range, options, and loops (innermost first).

    Outer levels that are not used run once.
    """

    address: dict[str, int] = field(default_factory=dict)
    range: dict[str, int] = field(default_factory=dict)
    options: dict[str, int] = field(default_factory=dict)
    levels: tuple[Level, ...] = ()

    @property
    def length(self) -> int:
        """Return the number of positions."""
        return int(np.prod([level.count for level in self.levels], dtype=np.int64))


def wrapped_stride(stride: int) -> int:
    """Return a stride as its field holds it: addresses count modulo 2**16.

    Raise InputError if the stride exceeds the address range.
    """
    size = 1 << enc.GLB_ADDRESS_BITS
    if not -size < stride < size:
        raise InputError(f"StreamLevel.stride = {stride}: a GLB has at most {size} words")
    return (stride + size // 2) % size - size // 2


@lru_cache(MOST_LEVELS)
def _level_word(level: Level) -> int:
    """Return the word of a loop. Raise InputError if a field does not fit."""
    if level.count == 1:  # which goes nowhere
        level = Level(1)
    return enc.STREAM_LEVEL.pack(
        last=level.count - 1, axis=level.axis, stride=wrapped_stride(level.stride), step=level.step, tag=level.tag
    )


@lru_cache(MOST_LEVELS)
def _level(word: int, ring: bool) -> Level:
    """Return the loop that a word describes, of a stream with a ring or without."""
    fields = enc.STREAM_LEVEL.unpack(word)
    axis = Axis(fields["axis"]) if fields["axis"] in list(Axis) else Axis.NONE  # as the generators take other numbers
    stride = fields["stride"]
    if ring and axis == Axis.ROW:  # goes forward
        stride %= 1 << enc.GLB_ADDRESS_BITS
    return Level(fields["last"] + 1, stride, axis, fields["step"], fields["tag"])


def _check_walk(name: str, program: StreamDescriptor) -> None:
    """Raise InputError if a generator would lose its position: coordinates that wrap, addresses outside a ring."""
    for axis, start in ((Axis.ROW, "y"), (Axis.COLUMN, "x")):
        first = program.range.get(start, 0)
        reaches = [(v.count - 1) * v.step for v in program.levels if v.axis == axis]
        low, high = first + sum(min(r, 0) for r in reaches), first + sum(max(r, 0) for r in reaches)
        # Beyond the largest coordinate they are negative, which is outside of the map as well.
        least, most = -(1 << enc.COORDINATE_BITS - 1), (1 << enc.COORDINATE_BITS) - 2
        if low < least or high > most:
            raise InputError(f"{name}: {start} = {low} to {high}: must be in {least} to {most}")
    if size := program.address.get("ring_size", 0):
        for v in program.levels:
            if v.axis == Axis.ROW and v.count > 1 and not 0 <= v.stride <= size:
                raise InputError(f"{name}: a stride of {v.stride} words in a ring of {size}")


def _levels_loaded(options: dict[str, int]) -> int:
    """Return the number of levels of a stream that are not ignored."""
    return min(2 * options["level_pairs"] + 2, enc.LEVELS)


class Descriptor:
    """A descriptor of `encoding.CONFIG_WORDS` words, with methods that read and write fields by their meaning."""

    def __init__(self, words: Iterable[int] | None = None) -> None:
        self.words = list(words) if words else [0] * enc.CONFIG_WORDS

    def set(self, index: int, word: Word, **values: int) -> None:
        self.words[index] = word.pack(**values)

    @property
    def shape(self) -> dict[str, int]:
        return enc.ARRAY_SHAPE.unpack(self.words[enc.ARRAY_SHAPE_INDEX])

    @property
    def loops(self) -> dict[str, int]:
        return enc.ARRAY_LOOPS.unpack(self.words[enc.ARRAY_LOOPS_INDEX])

    @property
    def depthwise(self) -> dict[str, int]:
        return enc.DEPTHWISE.unpack(self.words[enc.DEPTHWISE_INDEX])

    @property
    def drain(self) -> dict[str, int]:
        return enc.DRAIN.unpack(self.words[enc.DRAIN_INDEX])

    @property
    def ppu(self) -> dict[str, int]:
        return enc.PPU.unpack(self.words[enc.PPU_INDEX])

    @property
    def first(self) -> dict[str, int]:
        return enc.PPU_FIRST.unpack(self.words[enc.PPU_FIRST_INDEX])

    @property
    def second(self) -> dict[str, int]:
        return enc.PPU_SECOND.unpack(self.words[enc.PPU_SECOND_INDEX])

    @property
    def result(self) -> dict[str, int]:
        return enc.PPU_RESULT.unpack(self.words[enc.PPU_RESULT_INDEX])

    def set_ids(self, rows: list[dict[str, int]], columns: list[list[dict[str, int]]]) -> None:
        """Write row IDs, and column IDs by row."""
        self._set_bytes(enc.ROW_IDS_INDEX, [enc.ROW_ID.pack(**row) for row in rows])
        flat = [enc.COLUMN_ID.pack(**pe) for row in columns for pe in row]
        self._set_bytes(enc.COLUMN_IDS_INDEX, flat)

    def ids(self, rows: int, cols: int) -> tuple[list[dict[str, int]], list[list[dict[str, int]]]]:
        """Return row IDs, and column IDs by row, for an array of this size."""
        row_bytes = self._get_bytes(enc.ROW_IDS_INDEX, rows)
        pe_bytes = self._get_bytes(enc.COLUMN_IDS_INDEX, rows * cols)
        columns = [enc.COLUMN_ID.unpack(byte) for byte in pe_bytes]
        return (
            [enc.ROW_ID.unpack(byte) for byte in row_bytes],
            [columns[row * cols : (row + 1) * cols] for row in range(rows)],
        )

    def _set_bytes(self, index: int, values: list[int]) -> None:
        for n in range(0, len(values), enc.IDS_PER_WORD):
            word = values[n : n + enc.IDS_PER_WORD]
            self.words[index + n // enc.IDS_PER_WORD] = sum(v << (8 * k) for k, v in enumerate(word))

    def _get_bytes(self, index: int, count: int) -> list[int]:
        return [self.words[index + n // enc.IDS_PER_WORD] >> (8 * (n % enc.IDS_PER_WORD)) & 0xFF for n in range(count)]

    def set_stream(self, stream: Stream, program: StreamDescriptor) -> None:
        stream = Stream(stream)
        if len(program.levels) > enc.LEVELS:
            raise InputError(f"stream {stream.name}: {len(program.levels)} loops, at most {enc.LEVELS}")
        _check_walk(f"stream {stream.name}", program)
        base = enc.STREAMS_INDEX + stream * enc.STREAM_WORDS
        used = max((n + 1 for n, level in enumerate(program.levels) if level.count > 1), default=1)
        options = {"enable": 1, **program.options, "level_pairs": (used - 1) // 2}
        address = dict(program.address)
        end, size = address.pop("ring_end", 0), address.pop("ring_size", 0)
        if size and size < 1 << enc.GLB_ADDRESS_BITS:  # a ring of all addresses needs no wrap
            address |= {"ring_last": end - 1, "ring_size": size}
        self.set(base + enc.STREAM_ADDRESS_OFFSET, enc.STREAM_ADDRESS, **address)
        self.set(base + enc.STREAM_RANGE_OFFSET, enc.STREAM_RANGE, **program.range)
        self.set(base + enc.STREAM_OPTIONS_OFFSET, enc.STREAM_OPTIONS, **options)
        for n in range(enc.LEVELS):
            level = program.levels[n] if n < len(program.levels) else Level(1)
            self.words[base + enc.STREAM_LEVELS_OFFSET + n] = _level_word(level)

    def uses(self, stream: Stream) -> bool:
        """Return whether a pass uses a stream."""
        options = self.words[enc.STREAMS_INDEX + stream * enc.STREAM_WORDS + enc.STREAM_OPTIONS_OFFSET]
        return bool(enc.STREAM_OPTIONS.unpack(options)["enable"])

    def stream(self, stream: Stream) -> StreamDescriptor:
        base = enc.STREAMS_INDEX + stream * enc.STREAM_WORDS
        address = enc.STREAM_ADDRESS.unpack(self.words[base + enc.STREAM_ADDRESS_OFFSET])
        last, size = address.pop("ring_last"), address["ring_size"]
        options = enc.STREAM_OPTIONS.unpack(self.words[base + enc.STREAM_OPTIONS_OFFSET])
        used = _levels_loaded(options)
        first = base + enc.STREAM_LEVELS_OFFSET
        levels = [_level(int(word), size > 0) for word in self.words[first : first + used]]
        return StreamDescriptor(
            {**address, "ring_end": last + 1 if size else 0},
            enc.STREAM_RANGE.unpack(self.words[base + enc.STREAM_RANGE_OFFSET]),
            options,
            (*levels, *[Level(1)] * (enc.LEVELS - used)),
        )

    @property
    def ignored(self) -> list[int]:
        """Return the indices of the words that the pass does not depend on."""
        found = [] if self.loops["bands"] else [enc.DEPTHWISE_INDEX]
        if self.shape["mode"] == ArrayMode.ELEMENTWISE:
            found += range(enc.ROW_IDS_INDEX, enc.STREAMS_INDEX)
        for stream in Stream:
            base = enc.STREAMS_INDEX + stream * enc.STREAM_WORDS
            options, levels = base + enc.STREAM_OPTIONS_OFFSET, base + enc.STREAM_LEVELS_OFFSET
            if self.uses(stream):
                loaded = _levels_loaded(enc.STREAM_OPTIONS.unpack(self.words[options]))
                found += range(levels + loaded, levels + enc.LEVELS)
            else:
                found += (n for n in range(base, base + enc.STREAM_WORDS) if n != options)
        return found

    def following(self, before: "Descriptor") -> "Descriptor":
        """Return the descriptor of the same pass, with the ignored words of the descriptor before it."""
        found = Descriptor(self.words)
        for index in self.ignored:
            found.words[index] = before.words[index]
        return found

    def changes(self, before: "Descriptor") -> dict[int, int]:
        """Return the words that differ from another descriptor, by index."""
        return {n: new for n, (old, new) in enumerate(zip(before.words, self.words)) if old != new}
