# SPDX-License-Identifier: Apache-2.0
"""Dataclasses as JSON, and back with a check of each type."""

import json
import types
import typing
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any, TypeVar

from eyrie.model.config import AcceleratorConfig
from eyrie.model.errors import InputError

WRONG_ENTRY = "an entry is unknown, missing or of the wrong kind"
T = TypeVar("T")
_NAMES: dict[object, str] = {int: "an integer", bool: "true or false", str: "a text", float: "a number"}
_TYPES: dict[object, tuple[type, ...]] = {int: (int,), bool: (bool,), str: (str,), float: (int, float)}


def plain(value: object) -> Any:
    """Return a value of dataclasses, tuples and mappings as objects and lists of JSON."""
    if isinstance(value, AcceleratorConfig):
        return value.as_dict()
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {name: plain(each) for name, each in value.items()}
    return [plain(each) for each in value] if isinstance(value, (tuple, list)) else value


def record(kind: type[T], value: object, name: str = "") -> T:
    """Return the value of a type that `plain` has written. name: of the entry, for messages

    Raise InputError, with one line, if the value is of another type.
    """
    return _of(kind, value, name)


def _of(kind: Any, value: Any, name: str) -> Any:
    if kind in _TYPES:
        if type(value) not in _TYPES[kind]:
            raise InputError(f"{name} must be {_NAMES[kind]}, is {json.dumps(value)}")
        return value
    if kind is AcceleratorConfig:
        _check_names(kind, value)
        return AcceleratorConfig.of(value)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return _member(kind, value)
    if is_dataclass(kind):
        return _dataclass(kind, value)
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is types.UnionType:
        [inner] = [each for each in arguments if each is not types.NoneType]
        return None if value is None else _of(inner, value, name)
    if origin is dict and isinstance(value, dict):
        return {key: _of(arguments[1], each, key) for key, each in value.items()}
    if origin is tuple and isinstance(value, list):
        if arguments[-1] is Ellipsis:
            return tuple(_of(arguments[0], each, name) for each in value)
        if len(value) == len(arguments):
            return tuple(_of(each, held, name) for each, held in zip(arguments, value))
    raise InputError(f"{name}: {WRONG_ENTRY}" if name else WRONG_ENTRY)


def _member(kind: type[Enum], value: object) -> Enum:
    found = [member for member in kind if member.value == value]
    if not found:
        raise InputError(f"unknown {kind.__name__.lower()} {json.dumps(value)}: {WRONG_ENTRY}")
    return found[0]


def _dataclass(kind: Any, value: object) -> object:
    entries = _check_names(kind, value)
    return kind(**{name: _of(_hints(kind)[name], each, name) for name, each in entries.items()})


def _check_names(kind: Any, value: object) -> dict:
    """Return the entries of an object. Raise InputError unless they are the fields of a dataclass."""
    if not isinstance(value, dict):
        raise InputError(WRONG_ENTRY)
    names = [field.name for field in fields(kind)]
    if missing := [name for name in names if name not in value]:
        raise InputError(f"{missing[0]} is missing")
    if extra := [name for name in value if name not in names]:
        raise InputError(f"{extra[0]}: {WRONG_ENTRY}")
    return value


@cache
def _hints(kind: type) -> dict[str, object]:
    return typing.get_type_hints(kind)
