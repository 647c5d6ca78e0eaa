# SPDX-License-Identifier: Apache-2.0
"""Words of 64 bits and the fields that they contain."""

from dataclasses import dataclass
from functools import cached_property

from eyrie.model.errors import InputError

WORD_BITS = 64


@dataclass(frozen=True)
class Field:
    """A field: `width` bits of a word, in two's complement if `signed`."""

    name: str
    width: int
    signed: bool = False


@dataclass(frozen=True)
class Word:
    """A 64-bit word: fields packed from bit 0 upwards, unused bits zero."""

    name: str
    fields: tuple[Field, ...]

    def __post_init__(self) -> None:
        if sum(field.width for field in self.fields) > WORD_BITS:
            raise InputError(f"{self.name} has more than {WORD_BITS} bits")

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the fields, in order."""
        return tuple(field.name for field in self.fields)

    @cached_property
    def _layout(self) -> tuple[tuple[str, int, int, int, int], ...]:
        """Return name, position, mask, least and largest value of each field."""
        found, position = [], 0
        for field in self.fields:
            least, largest = -(1 << field.width - 1) if field.signed else 0, (1 << field.width - field.signed) - 1
            found.append((field.name, position, (1 << field.width) - 1, least, largest))
            position += field.width
        return tuple(found)

    @cached_property
    def _largest(self) -> dict[str, int]:
        return {name: largest for name, *_, largest in self._layout}

    def largest(self, name: str) -> int:
        """Return the largest value of a field."""
        return self._largest[name]

    def mask(self, *names: str) -> int:
        """Return the bits of fields."""
        return sum(mask << position for name, position, mask, *_ in self._layout if name in names)

    def pack(self, **values: int) -> int:
        """Return the word with the given field values; missing fields are zero.

        Raise InputError if a field is unknown or a value does not fit.
        """
        word = 0
        for name, position, mask, least, largest in self._layout:
            if name in values:
                value = int(values.pop(name))
                if not least <= value <= largest:
                    raise InputError(f"{self.name}.{name} = {value}: must be in {least} to {largest}")
                word |= (value & mask) << position
        if values:
            raise InputError(f"{self.name} has no field {', '.join(values)}")
        return word

    def unpack(self, word: int) -> dict[str, int]:
        """Return the field values of a packed word."""
        values = {}
        for name, position, mask, _, largest in self._layout:
            value = word >> position & mask
            values[name] = value if value <= largest else value - mask - 1
        return values


def fields(text: str) -> tuple[Field, ...]:
    """Return the fields of "name:width" (unsigned) or "name:sWIDTH" (signed), separated by blanks."""
    pairs = (item.split(":") for item in text.split())
    return tuple(Field(name, int(width.lstrip("s")), width[0] == "s") for name, width in pairs)
