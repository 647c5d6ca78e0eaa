# SPDX-License-Identifier: Apache-2.0
"""The pass descriptor: the configuration words that a PASS command runs with."""

from dataclasses import dataclass, field

import numpy as np

from model import encoding as enc
from model.encoding import Axis, Stream


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
    """An address generator's program: where it starts, its range and options, its loops (innermost
    first). Unused outer levels run once."""

    address: dict[str, int] = field(default_factory=dict)
    range: dict[str, int] = field(default_factory=dict)
    options: dict[str, int] = field(default_factory=dict)
    levels: tuple[Level, ...] = ()

    @property
    def length(self) -> int:
        """Number of positions."""
        return int(np.prod([level.count for level in self.levels], dtype=np.int64))


class Descriptor:
    """`encoding.CONFIG_WORDS` words; reads and writes them by meaning."""

    def __init__(self, words: list[int] | None = None) -> None:
        self.words = list(words) if words else [0] * enc.CONFIG_WORDS

    def set(self, index: int, word: enc.Word, **values: int) -> None:
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

    def set_ids(self, rows: list[dict[str, int]], columns: list[list[dict[str, int]]]) -> None:
        """Row IDs, and column IDs by row."""
        self._set_bytes(enc.ROW_IDS_INDEX, [enc.ROW_ID.pack(**row) for row in rows])
        flat = [enc.COLUMN_ID.pack(**pe) for row in columns for pe in row]
        self._set_bytes(enc.COLUMN_IDS_INDEX, flat)

    def ids(self, rows: int, cols: int) -> tuple[list[dict[str, int]], list[list[dict[str, int]]]]:
        """Row IDs, and column IDs by row, of an array of this size."""
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
        return [
            self.words[index + n // enc.IDS_PER_WORD] >> (8 * (n % enc.IDS_PER_WORD)) & 0xFF
            for n in range(count)
        ]

    def set_stream(self, stream: Stream, program: StreamDescriptor) -> None:
        if len(program.levels) > enc.LEVELS:
            raise ValueError(f"stream {stream.name}: {len(program.levels)} loops, {enc.LEVELS} there are")
        base = enc.STREAMS_INDEX + stream * enc.STREAM_WORDS
        options = {"enable": 1, **program.options}
        self.set(base + enc.STREAM_ADDRESS_OFFSET, enc.STREAM_ADDRESS, **program.address)
        self.set(base + enc.STREAM_RANGE_OFFSET, enc.STREAM_RANGE, **program.range)
        self.set(base + enc.STREAM_OPTIONS_OFFSET, enc.STREAM_OPTIONS, **options)
        for n in range(enc.LEVELS):
            level = program.levels[n] if n < len(program.levels) else Level(1)
            values = dict(vars(level))
            self.set(base + enc.STREAM_LEVELS_OFFSET + n, enc.STREAM_LEVEL, **values)

    def stream(self, stream: Stream) -> StreamDescriptor:
        base = enc.STREAMS_INDEX + stream * enc.STREAM_WORDS
        levels = (
            enc.STREAM_LEVEL.unpack(self.words[base + enc.STREAM_LEVELS_OFFSET + n])
            for n in range(enc.LEVELS)
        )
        return StreamDescriptor(
            enc.STREAM_ADDRESS.unpack(self.words[base + enc.STREAM_ADDRESS_OFFSET]),
            enc.STREAM_RANGE.unpack(self.words[base + enc.STREAM_RANGE_OFFSET]),
            enc.STREAM_OPTIONS.unpack(self.words[base + enc.STREAM_OPTIONS_OFFSET]),
            tuple(Level(**{**level, "axis": Axis(level["axis"])}) for level in levels),
        )

    def changes(self, before: "Descriptor") -> dict[int, int]:
        """Words that differ from another descriptor, by index."""
        return {n: new for n, (old, new) in enumerate(zip(before.words, self.words)) if old != new}
