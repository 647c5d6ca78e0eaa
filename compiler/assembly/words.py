# SPDX-License-Identifier: Apache-2.0
"""The words of a pass descriptor by name, as the encoding has them (model/encoding.py).

The constant NAME_INDEX of model/encoding.py becomes the statement `name`, a word of stream S `s.address`, `s.range`,
`s.options`, `s.level0`, ... IDs are lists, eight in a word: `row_ids.0`, `column_ids.0`, ... A word without a meaning
is `wordN`.
"""

import re
from dataclasses import dataclass
from enum import IntEnum
from functools import cache

from eyrie.compiler.assembly.lexer import Item, Statement
from eyrie.model import encoding as enc
from eyrie.model.encoding import ArrayMode, Axis, Destination, DrainMode, Operation, PoolMode, Stream
from eyrie.model.errors import InputError
from eyrie.model.messages import unknown
from eyrie.model.word import WORD_BITS, Word

MEMBERS: dict[tuple[str, str], type[IntEnum]] = {  # fields that are numbers of something with names
    (enc.ARRAY_SHAPE.name, "mode"): ArrayMode,
    (enc.DRAIN.name, "mode"): DrainMode,
    (enc.PPU.name, "pool"): PoolMode,
    (enc.PPU_SECOND.name, "operation"): Operation,
    (enc.STREAM_OPTIONS.name, "destination"): Destination,
    (enc.STREAM_LEVEL.name, "axis"): Axis,
}
ID_BITS = WORD_BITS // enc.IDS_PER_WORD
_ANY = re.compile(r"word(\d+)")  # a place without a meaning


@dataclass(frozen=True)
class Slot:
    """A field position of the descriptor: its name, its fields, and how many copies it has, ID_BITS apart."""

    index: int
    name: str
    word: Word
    count: int = 1

    def text(self, value: int) -> str:
        """Return the name and the fields that are not 0, or a number if the fields do not cover all bits that are
        set."""
        parts = [
            self.word.unpack(value >> ID_BITS * n & (1 << ID_BITS) - 1 if self.count > 1 else value)
            for n in range(self.count)
        ]
        if self._packed(parts) != value:
            return f"{self.name} 0x{value:016x}"
        fields = (
            (field.name, [self._said(field.name, part[field.name]) for part in parts]) for field in self.word.fields
        )
        return " ".join(
            [
                self.name,
                *(f"{name}={','.join(values)}" for name, values in fields if set(values) != {self._said(name, 0)}),
            ]
        )

    def _said(self, field: str, value: int) -> str:
        kind = MEMBERS.get((self.word.name, field))
        return kind(value).name if kind and value in set(kind) else str(value)

    def parse(self, statement: Statement, symbols: dict[str, int]) -> int:
        """Return the word that a line writes. Raise AssemblyError."""
        if len(statement.unnamed) == 1 and not statement.named:
            return _whole_word(statement.unnamed[0])
        statement.expect((), [field.name for field in self.word.fields])
        parts: list[dict[str, int]] = [{} for _ in range(self.count)]
        for name, item in statement.named.items():
            values = item.numbers() if self.count > 1 else [self._value(item, symbols)]
            if len(values) != self.count:
                raise item.error(f"{len(values)} values: {self.name} has {self.count} of each, with commas between")
            for part, value in zip(parts, values):
                try:
                    self.word.pack(**{name: value})
                except InputError as error:
                    raise item.error(str(error)) from None
                part[name] = value
        return self._packed(parts)

    def _value(self, item: Item, symbols: dict[str, int]) -> int:
        kind = MEMBERS.get((self.word.name, item.name))
        return item.member(kind, symbols) if kind else item.number(symbols)

    def _packed(self, parts: list[dict[str, int]]) -> int:
        return sum(self.word.pack(**part) << ID_BITS * n for n, part in enumerate(parts))


@cache
def slots() -> dict[int, Slot]:
    """Return the words that have a meaning, by index."""
    words = {name: value for name, value in vars(enc).items() if isinstance(value, Word)}
    found = [
        Slot(getattr(enc, f"{name}_INDEX"), name.lower(), word)
        for name, word in words.items()
        if hasattr(enc, f"{name}_INDEX")
    ]
    for name, word, first, last in (
        ("row_ids", enc.ROW_ID, enc.ROW_IDS_INDEX, enc.COLUMN_IDS_INDEX),
        ("column_ids", enc.COLUMN_ID, enc.COLUMN_IDS_INDEX, enc.STREAMS_INDEX),
    ):
        found += [Slot(first + n, f"{name}.{n}", word, enc.IDS_PER_WORD) for n in range(last - first)]
    for stream in Stream:
        base, name = enc.STREAMS_INDEX + stream * enc.STREAM_WORDS, stream.name.lower()
        found += [
            Slot(base + getattr(enc, f"{key}_OFFSET"), f"{name}.{key.removeprefix('STREAM_').lower()}", word)
            for key, word in words.items()
            if hasattr(enc, f"{key}_OFFSET")
        ]
        found += [
            Slot(base + enc.STREAM_LEVELS_OFFSET + n, f"{name}.level{n}", enc.STREAM_LEVEL) for n in range(enc.LEVELS)
        ]
    return {slot.index: slot for slot in found}


@cache
def by_name() -> dict[str, Slot]:
    return {slot.name: slot for slot in slots().values()}


def is_word(name: str) -> bool:
    return name in by_name() or bool(_ANY.fullmatch(name))


def word_text(index: int, value: int) -> str:
    """Return a line that writes a word of the descriptor."""
    slot = slots().get(index)
    return slot.text(value) if slot else f"word{index} 0x{value:016x}"


def parse_word(statement: Statement, symbols: dict[str, int]) -> tuple[int, int]:
    """Return index and value of the word that a line writes; its keyword is the name. Raise AssemblyError."""
    name = statement.keyword
    if slot := by_name().get(name):
        return slot.index, slot.parse(statement, symbols)
    if not (match := _ANY.fullmatch(name)):
        raise statement.error(unknown("word of the descriptor", name, by_name()))
    index = int(match[1])
    if index >= enc.CONFIG_WORDS:
        raise statement.error(f"{name} lies beyond the descriptor: it has words 0 to {enc.CONFIG_WORDS - 1}")
    if index in slots():
        raise statement.error(f"{name} is {slots()[index].name}: write that")
    statement.expect(("VALUE",), ())
    return index, _whole_word(statement.unnamed[0])


def _whole_word(item: Item) -> int:
    value = item.number()
    if not 0 <= value < 1 << WORD_BITS:
        raise item.error(f"{item.text}: a word has {WORD_BITS} bits")
    return value
