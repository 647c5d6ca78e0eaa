# SPDX-License-Identifier: Apache-2.0
"""The writer of text: from values of the compiler to text."""

import base64
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np

from eyrie.compiler.text.classes import class_named
from eyrie.model.errors import InputError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

WIDTH = 100  # characters from which on a value has a line of its own
FEW = 16  # elements of an array that are written out
ALIGNMENT = 64  # bytes, of arrays in a file beside the text


class NoText(InputError):
    """A value that cannot be written as text."""


def written(values: Mapping[str, object], data: bytearray | None = None) -> str:
    """Return an assignment for each value, after the values that it names; long arrays come last.

    data: gets the contents of long arrays, which the text then has by their offset. Raise NoText.
    """
    return "\n".join(_Writer(values.values(), data).lines_of(values)) + "\n"


class _Writer:
    def __init__(self, values: Iterable[object], data: bytearray | None) -> None:
        self._contents = data
        self._seen: Counter = Counter()
        self._names: dict[int, str] = {}
        self._count: Counter = Counter()
        self._lines: list[str] = []
        self._data: list[str] = []
        self._kept = list(values)  # so that no identity is given twice
        for value in self._kept:
            self._look(value)

    def lines_of(self, values: Mapping[str, object]) -> list[str]:
        for name, value in values.items():
            self._lines.append(f"{name} = {self._text(value, whole=True)}")
        return self._lines + self._data

    def _look(self, value: object) -> None:
        """Count how often each value occurs, to find the values that need a name."""
        if _may_be_named(value):
            self._seen[id(value)] += 1
            if self._seen[id(value)] > 1:
                return
        for each in _inside(value):
            self._look(each)

    def _text(self, value: object, whole: bool = False) -> str:
        """Return a value as text. whole: the value has an assignment of its own"""
        if id(value) in self._names:
            return self._names[id(value)]
        text = self._plain(value)
        if (
            whole
            or not _may_be_named(value)
            or (len(text) <= WIDTH and (self._seen[id(value)] == 1 or isinstance(value, tuple)))
        ):
            return text
        array = isinstance(value, np.ndarray)
        kind = "data" if array else type(value).__name__.lower()
        self._count[kind] += 1
        self._names[id(value)] = name = f"{kind}{self._count[kind]}"
        (self._data if array else self._lines).append(f"{name} = {text}")
        return name

    def _plain(self, value: object) -> str:
        if isinstance(value, Enum):
            return f"{type(value).__name__}.{value.name}"
        if isinstance(value, np.ndarray):
            return self._array(value)
        if isinstance(value, np.generic):
            return repr(value.item())
        if value is None or isinstance(value, (bool, int, float, str, bytes)):
            return repr(value)
        if is_dataclass(value) and not isinstance(value, type):
            return self._dataclass(value)
        if isinstance(value, Mapping):
            return "{" + ", ".join(f"{self._text(k)}: {self._text(v)}" for k, v in value.items()) + "}"
        if isinstance(value, tuple):
            return "(" + ", ".join(map(self._text, value)) + ("," if len(value) == 1 else "") + ")"
        if isinstance(value, list):
            return "[" + ", ".join(map(self._text, value)) + "]"
        if isinstance(value, frozenset):
            return "frozenset([" + ", ".join(map(self._text, sorted(value))) + "])"
        raise NoText(f"a {type(value).__name__} has no text")

    def _dataclass(self, value: "DataclassInstance") -> str:
        name = type(value).__name__
        if class_named(name) is not type(value):
            raise NoText(f"a {name} has no text")
        given = ", ".join(
            f"{field.name}={self._text(getattr(value, field.name))}"
            for field in fields(value)
            if field.init and not _is_default(field, getattr(value, field.name))
        )
        return f"{name}({given})"

    def _array(self, value: np.ndarray) -> str:
        if value.ndim == 1 and value.size <= FEW:
            return f"array({str(value.dtype)!r}, {value.tolist()})"
        contents, shape = np.ascontiguousarray(value).tobytes(), tuple(map(int, value.shape))
        if self._contents is None:
            return f"array({str(value.dtype)!r}, {shape}, {base64.b64encode(zlib.compress(contents)).decode()!r})"
        self._contents += bytes(-len(self._contents) % ALIGNMENT)
        place = len(self._contents)
        self._contents += contents
        return f"array({str(value.dtype)!r}, {shape}, {place})"


def _may_be_named(value: object) -> bool:
    return isinstance(value, (np.ndarray, tuple)) or is_dataclass(value)


def _inside(value: object) -> Iterator[object]:
    if isinstance(value, Mapping):
        yield from value.values()
    elif isinstance(value, (tuple, list, frozenset)):
        yield from value
    elif is_dataclass(value):
        yield from (getattr(value, field.name) for field in fields(value) if field.init)


def _is_default(field: Field, value: object) -> bool:
    default = field.default if field.default_factory is MISSING else field.default_factory()
    return type(default) is type(value) and not isinstance(value, np.ndarray) and default == value
