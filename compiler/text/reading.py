# SPDX-License-Identifier: Apache-2.0
"""The reader of text: from text to values of the compiler. The text has Python's syntax, but no code is executed."""

import ast
import base64
import warnings
import zlib
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from math import inf, nan, prod
from pathlib import Path
from typing import Any

import numpy as np

from eyrie.compiler.text.classes import class_named, hints, said, takes
from eyrie.model.errors import InputError

CONSTANTS = {"inf": inf, "nan": nan}
_INTEGERS = tuple(f"{sign}int{bits}" for bits in (8, 16, 32, 64) for sign in ("", "u"))
TYPES = ("bool", *_INTEGERS, "float16", "float32", "float64", "complex64")
MOST_BYTES = 1 << 32  # of an array
DEEPEST = 100  # names within each other


class Misread(InputError):
    """An error in a text. The message begins with the path, the line and the column."""


def values_of(path: str | Path, text: str, data: bytes = b"") -> dict[str, object]:
    """Return the values of a text, by name. data: contents of arrays that the text has by their offset

    Raise Misread.
    """
    try:
        with warnings.catch_warnings():  # what Python takes with a warning, like 1or 2, is no value either
            warnings.simplefilter("error")
            parsed = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line, column = getattr(error, "lineno", None) or 1, getattr(error, "offset", None) or 1
        raise Misread(
            f"{path}:{line}:{column}: {getattr(error, 'msg', error)}: write a value as docs/reference/ir.md says"
        ) from error
    return _Reader(path, parsed.body, data).all_values()


class _Reader:
    """The reader of values. A value is made when its name is first read, in any order."""

    def __init__(self, path: str | Path, statements: list[ast.stmt], data: bytes) -> None:
        self.path, self._data = path, data
        self._given: dict[str, ast.expr] = {}
        self._known: dict[str, object] = {}
        self._open: list[str] = []  # names whose values are being made
        for statement in statements:
            self._take(statement)

    def all_values(self) -> dict[str, object]:
        return {name: self._named(node, name) for name, node in self._given.items()}

    def _take(self, statement: ast.stmt) -> None:
        if (
            not isinstance(statement, ast.Assign)
            or len(statement.targets) != 1
            or not isinstance(statement.targets[0], ast.Name)
        ):
            raise self._misread(statement, "name = value is wanted")
        name = statement.targets[0].id
        if name in self._given or name in CONSTANTS:
            raise self._misread(statement, f"{name} is there already: give another name")
        self._given[name] = statement.value

    def _named(self, node: ast.expr, name: str) -> object:
        if name not in self._known:
            if name not in self._given:
                raise self._misread(node, f"unknown value {name}: define it first")
            if name in self._open or len(self._open) >= DEEPEST:
                raise self._misread(node, f"{name} is made of itself: leave that out")
            self._open.append(name)
            self._known[name] = self._value(self._given[name])
            self._open.pop()
        return self._known[name]

    def _value(self, node: ast.expr) -> object:
        match node:
            case ast.Constant(value=None | bool() | int() | float() | str() | bytes()):
                return node.value
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                value = self._value(operand)
                if isinstance(value, (int, float)) and not isinstance(value, bool):
                    return -value
            case ast.Name(id=name):
                return CONSTANTS[name] if name in CONSTANTS else self._named(node, name)
            case ast.Tuple(elts=elements):
                return tuple(map(self._value, elements))
            case ast.List(elts=elements):
                return list(map(self._value, elements))
            case ast.Dict(keys=keys, values=held) if None not in keys:
                return {self._key(key): self._value(value) for key, value in zip(keys, held) if key}
            case ast.Attribute(value=ast.Name(id=name), attr=member):
                return self._member(node, name, member)
            case ast.Call(func=ast.Name(id=name)):
                return self._made(node, name)
        raise self._misread(node, "not a value: write one as docs/reference/ir.md says")

    def _key(self, node: ast.expr) -> object:
        key = self._value(node)
        if not isinstance(key, (str, int, tuple)):
            raise self._misread(node, "a key is a number, a string or several of these")
        return key

    def _member(self, node: ast.expr, name: str, member: str) -> Enum:
        made = class_named(name)
        if made is None or not issubclass(made, Enum) or member not in made.__members__:
            raise self._misread(
                node,
                f"{name}.{member} is not there: "
                + (
                    f"{name} has {', '.join(made.__members__)}"
                    if made and issubclass(made, Enum)
                    else "give a member of an enumeration"
                ),
            )
        return made[member]

    def _made(self, node: ast.Call, name: str) -> object:
        """Return an array, a frozenset or an object."""
        if name == "array":
            return self._array(node)
        if name == "frozenset" and len(node.args) == 1 and isinstance(node.args[0], ast.List):
            return frozenset(map(self._key, node.args[0].elts))
        made = class_named(name)
        if made is None or not is_dataclass(made):
            raise self._misread(node, f"no class {name}: docs/reference/ir.md lists the classes")
        if node.args:
            raise self._misread(node.args[0], f"{name} takes its fields by name, as in field=value")
        given, wanted = {}, hints(made)
        for keyword in node.keywords:
            if keyword.arg not in wanted or keyword.arg in given:
                raise self._misread(
                    keyword,
                    f"{name} has {'one' if keyword.arg in given else 'no'} field "
                    f"{keyword.arg}: it has {', '.join(wanted)}",
                )
            value = self._value(keyword.value)
            if not takes(wanted[keyword.arg], value):
                raise self._misread(
                    keyword.value, f"{name}.{keyword.arg} is {_short(value)}: it has to be {said(wanted[keyword.arg])}"
                )
            given[keyword.arg] = value
        missing = [
            field.name
            for field in fields(made)
            if field.name in wanted
            and field.name not in given
            and field.default is MISSING
            and field.default_factory is MISSING
        ]
        if missing:
            raise self._misread(node, f"{name} lacks {', '.join(missing)}: give {missing[0]}=value")
        try:
            return made(**given)
        except (ValueError, TypeError, IndexError, KeyError, AttributeError, OverflowError) as error:
            raise self._misread(node, f"no {name} is like that: {error}") from error

    def _array(self, node: ast.Call) -> np.ndarray:
        given: list[Any] = [self._value(argument) for argument in node.args]  # TypeError says which ones do not go
        if node.keywords or len(given) not in (2, 3) or given[0] not in TYPES:
            raise self._misread(
                node, "array takes a type, and numbers or shape and contents: one of " + ", ".join(TYPES)
            )
        dtype = np.dtype(given[0])
        try:
            if len(given) == 2:
                exact = np.array(given[1])
                found = exact.astype(dtype)
                if exact.ndim != 1 or not np.array_equal(found, exact, equal_nan=dtype.kind == "f"):
                    raise InputError(f"numbers are not a row of {dtype}")
                return found
            shape, size = given[1], prod(given[1]) * dtype.itemsize
            if isinstance(given[2], int) and min(shape, default=1) > 0:
                return np.frombuffer(self._data, dtype, prod(shape), given[2]).reshape(shape)
            unpacker = zlib.decompressobj()
            data = unpacker.decompress(base64.b64decode(given[2], validate=True), size + 1)
            if not 0 <= size < MOST_BYTES or min(shape, default=1) < 0 or len(data) != size or unpacker.unconsumed_tail:
                raise InputError(f"{given[1]} of {dtype} are {size} bytes, not those that are there")
            return np.frombuffer(data, dtype).reshape(shape).copy()
        except (ValueError, TypeError, zlib.error, OverflowError) as error:
            raise self._misread(node, f"no array: {error}") from error

    def _misread(self, node: ast.stmt | ast.expr | ast.keyword, what: str) -> Misread:
        return Misread(f"{self.path}:{node.lineno}:{node.col_offset + 1}: {what}")


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:40]} .."
