# SPDX-License-Identifier: Apache-2.0
"""The lexer of assembly. A line is a keyword and items, `value` or `name=value`, separated by blanks; '#' begins a
comment."""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from enum import IntEnum

from eyrie.model.errors import InputError
from eyrie.model.messages import unknown


class AssemblyError(InputError):
    """An error in a source; the message begins with the place: line and column, counted from 1."""

    def __init__(self, place: tuple[int, int], what: str) -> None:
        super().__init__(f"{place[0]}:{place[1]}: {what}")
        self.place, self.what = place, what


@dataclass(frozen=True)
class Item:
    """A value with its place in the source. name: "" for a value without a name."""

    place: tuple[int, int]
    name: str
    text: str

    def error(self, what: str) -> AssemblyError:
        return AssemblyError(self.place, what)

    def number(self, symbols: dict[str, int] | None = None) -> int:
        """Return an integer, or a symbol's value plus an optional integer. Raise AssemblyError."""
        parts = re.fullmatch(r"(.*?)(?:(\+)(\w+))?", self.text, re.DOTALL)
        assert parts  # every text is like that
        name, sign, offset = parts.groups()
        if symbols is not None and name in symbols:
            return symbols[name] + (_number(offset, self) if sign else 0)
        if symbols and re.match(r"[^\W\d]", name):
            raise self.error(unknown("place", name, symbols))
        return _number(self.text, self)

    def numbers(self) -> list[int]:
        """Return integers that commas separate. Raise AssemblyError."""
        return [_number(text, self) for text in self.text.split(",")]

    def real(self) -> float:
        """Return a number. Raise AssemblyError."""
        try:
            return float(self.text)
        except ValueError:
            raise self.error(f"{self.text!r} is no number: write one like 0.05") from None

    def one_of(self, kind: str, names: Collection[str]) -> str:
        """Return the value, which is one of `names`. Raise AssemblyError if it is not."""
        if self.text not in names:
            raise self.error(unknown(kind, self.text, names))
        return self.text

    def member(self, kind: type[IntEnum], symbols: dict[str, int] | None = None) -> int:
        """Return a member of an enumeration by name, or its number. Raise AssemblyError."""
        if re.match(r"[^\W\d]", self.text):
            return kind[self.one_of(kind.__name__, kind.__members__)]
        return self.number(symbols)


@dataclass(frozen=True)
class Statement:
    """A line. unnamed, named: its items without and with names; taken: names that the parser has read"""

    place: tuple[int, int]
    keyword: str
    unnamed: tuple[Item, ...]
    named: dict[str, Item] = field(default_factory=dict)

    def error(self, what: str) -> AssemblyError:
        return AssemblyError(self.place, what)

    @property
    def items(self) -> tuple[Item, ...]:
        return (*self.unnamed, *self.named.values())

    def expect(self, unnamed: tuple[str, ...], named: Collection[str], needed: Collection[str] = ()) -> None:
        """Raise AssemblyError unless the items are these: all of the unnamed ones, named ones, and all that are needed.

        An unnamed one that ends in "..." stands for one or more.
        """
        many = bool(unnamed) and unnamed[-1].endswith("...")
        if len(self.unnamed) < len(unnamed):
            raise self.error(f"{self.keyword} needs {' '.join(unnamed)}: {unnamed[len(self.unnamed)]} is missing")
        if len(self.unnamed) > len(unnamed) and not many:
            surplus = self.unnamed[len(unnamed)]
            takes = f"takes {' '.join(unnamed)}" if unnamed else "takes values by name only"
            raise surplus.error(f"{self.keyword} {takes}, not {surplus.text!r} as well: leave it out")
        for name, item in self.named.items():
            if name not in named:
                if not named:
                    raise item.error(f"{self.keyword} takes no named values, not {name!r}: leave it out")
                raise item.error(unknown(f"field of {self.keyword}", name, named))
        for name in needed:
            if name not in self.named:
                raise self.error(f"{self.keyword} needs {name}=: it is missing")


def _number(text: str, item: Item) -> int:
    try:
        return int(text, 0)
    except ValueError:
        raise item.error(f"{text!r} is no whole number: write one like 12, 0x1f or -3") from None


def statements(text: str) -> Iterator[Statement]:
    """Yield the lines that are not empty. Raise AssemblyError if a line gives a name twice."""
    for number, line in enumerate(text.split("\n"), 1):
        found = [(match.start() + 1, match[0]) for match in re.finditer(r"\S+", line.split("#")[0])]
        if found:
            (column, keyword), *rest = found
            unnamed, named = [], {}
            for at, word in rest:
                name, equals, value = word.partition("=")
                item = Item((number, at), name if equals else "", value if equals else word)
                if equals and name in named:
                    raise item.error(f"{name}= is given twice: leave one out")
                if equals and not value:
                    raise item.error(f"{name}= has no value: write it after the =, without a blank")
                if equals:
                    named[name] = item
                else:
                    unnamed.append(item)
            yield Statement((number, column), keyword, tuple(unnamed), named)
