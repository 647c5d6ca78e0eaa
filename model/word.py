# SPDX-License-Identifier: Apache-2.0
"""Words of 64 bits and the fields that they contain."""

from dataclasses import dataclass

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

    def largest(self, name: str) -> int:
        """Return the largest value of a field."""
        field = next(field for field in self.fields if field.name == name)
        return (1 << field.width - field.signed) - 1

    def pack(self, **values: int) -> int:
        """Return the word with the given field values; missing fields are zero.

        Raise InputError if a field is unknown or a value does not fit.
        """
        word, position = 0, 0
        for field in self.fields:
            value = int(values.pop(field.name, 0))
            low, high = (
                (-(1 << (field.width - 1)), (1 << (field.width - 1)) - 1)
                if field.signed
                else (0, (1 << field.width) - 1)
            )
            if not low <= value <= high:
                raise InputError(f"{self.name}.{field.name} = {value}: must be in {low} to {high}")
            word |= (value & ((1 << field.width) - 1)) << position
            position += field.width
        if values:
            raise InputError(f"{self.name} has no field {', '.join(values)}")
        return word

    def unpack(self, word: int) -> dict[str, int]:
        """Return the field values of a packed word."""
        values, position = {}, 0
        for field in self.fields:
            value = (word >> position) & ((1 << field.width) - 1)
            if field.signed and value >> (field.width - 1):
                value -= 1 << field.width
            values[field.name] = value
            position += field.width
        return values


def fields(text: str) -> tuple[Field, ...]:
    """Return the fields of "name:width" (unsigned) or "name:sWIDTH" (signed), separated by blanks."""
    pairs = (item.split(":") for item in text.split())
    return tuple(Field(name, int(width.lstrip("s")), width[0] == "s") for name, width in pairs)
