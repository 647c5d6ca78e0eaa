# SPDX-License-Identifier: Apache-2.0
"""The classes that the text of a stage may name, and the values that their fields accept."""

import types
import typing
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from importlib import import_module

import numpy as np

from eyrie.compiler.ir.operator import Operator
from eyrie.compiler.operators.registry import FAMILIES

MODULES = (  # those of a Graph come first, so that reading one imports no others
    "eyrie.compiler.ir.graph",
    "eyrie.compiler.ir.tensor",
    "eyrie.model.operators.quantization",
    "eyrie.model.operators.recurrent",
    "eyrie.model.operators.poses",
    *(family.__name__ for family in FAMILIES),
    "eyrie.model.config",
    "eyrie.model.encoding",
    "eyrie.compiler.ir.buffer_tree",
    "eyrie.compiler.ir.elementwise",
    "eyrie.compiler.ir.layer",
    "eyrie.compiler.ir.maps",
    "eyrie.compiler.ir.window",
    "eyrie.compiler.ir.nest",
    "eyrie.compiler.ir.input_layout",
    "eyrie.compiler.ir.plan",
    "eyrie.compiler.ir.word_operation",
)


@cache
def _classes_of(name: str) -> dict[str, type]:
    """Return the dataclasses and enumerations of a module, by name."""
    return {
        made.__name__: made
        for made in vars(import_module(name)).values()
        if isinstance(made, type) and made.__module__ == name and (is_dataclass(made) or issubclass(made, Enum))
    }


@cache
def classes() -> dict[str, type]:
    """Return the dataclasses and enumerations, by name."""
    found: dict[str, type] = {}
    for module in MODULES:
        for name, made in _classes_of(module).items():
            if found.setdefault(name, made) is not made:
                raise TypeError(f"{module}: has two classes {name}")
    return found


def class_named(name: str) -> type | None:
    """Return a class that the text may name. The user's own operators are among them."""
    known = (_classes_of(module) for module in MODULES)
    own = {made.__name__: made for made in _subclasses(Operator)}
    return next((found[name] for found in known if name in found), own.get(name))


def _subclasses(base: type) -> Iterator[type]:
    found: list[type] = type.__subclasses__(base)
    for each in found:
        yield each
        yield from _subclasses(each)


@cache
def hints(made: type) -> dict[str, object]:
    """Return the type of each field of a dataclass, by name."""
    types_of = typing.get_type_hints(made)
    return {field.name: types_of[field.name] for field in fields(made) if field.init}


def takes(hint: object, value: object) -> bool:
    """Return whether a value is of a type, with all values that it contains."""
    if hint is typing.Any:
        return True
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return any(takes(each, value) for each in arguments)
    if origin is tuple:
        if not isinstance(value, tuple):
            return False
        if arguments[-1:] == (Ellipsis,):
            return all(takes(arguments[0], each) for each in value)
        return len(value) == len(arguments) and all(map(takes, arguments, value))
    if origin in (dict, Mapping):
        key, held = arguments
        return isinstance(value, dict) and all(takes(key, k) and takes(held, v) for k, v in value.items())
    if origin in (list, set, frozenset):
        return isinstance(value, origin) and all(takes(arguments[0], each) for each in value)
    if origin is np.ndarray or hint is np.ndarray:
        return isinstance(value, np.ndarray)
    return _takes_plain(hint, value)


def _takes_plain(hint: object, value: object) -> bool:
    """Return whether a value is of a type that has no arguments."""
    if hint is None or hint is type(None):
        return value is None
    if hint is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if hint is int and isinstance(value, bool):
        return False
    return isinstance(hint, type) and isinstance(value, hint)


def said(hint: object) -> str:
    """Return a type's name, for messages."""
    return hint.__name__ if isinstance(hint, type) and not typing.get_args(hint) else str(hint).replace("typing.", "")
