# SPDX-License-Identifier: Apache-2.0
"""The classes that the text of a stage may name, and the values that their fields accept."""

import types
import typing
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from importlib import import_module

import numpy as np

MODULES = (
    "eyrie.model.config",
    "eyrie.model.encoding",
    "eyrie.model.operators.quantization",
    "eyrie.compiler.ir.buffer_tree",
    "eyrie.compiler.ir.elementwise",
    "eyrie.compiler.ir.graph",
    "eyrie.compiler.ir.layer",
    "eyrie.compiler.ir.nest",
    "eyrie.compiler.ir.patches",
    "eyrie.compiler.ir.plan",
    "eyrie.compiler.ir.tensor",
    "eyrie.compiler.ir.word_operation",
    "eyrie.compiler.ir.operators.convolution",
    "eyrie.compiler.ir.operators.custom",
    "eyrie.compiler.ir.operators.elementwise",
    "eyrie.compiler.ir.operators.host",
    "eyrie.compiler.ir.operators.movement",
    "eyrie.compiler.ir.operators.pooling",
    "eyrie.compiler.ir.operators.tables",
)


@cache
def classes() -> dict[str, type]:
    """Return the dataclasses and enumerations, by name."""
    found: dict[str, type] = {}
    for name in MODULES:
        module = import_module(name)
        for made in vars(module).values():
            if isinstance(made, type) and made.__module__ == name and (is_dataclass(made) or issubclass(made, Enum)):
                if found.setdefault(made.__name__, made) is not made:
                    raise TypeError(f"{name}: has two classes {made.__name__}")
    return found


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
