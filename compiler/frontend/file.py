# SPDX-License-Identifier: Apache-2.0
"""The model's file, and which front end reads it.

Imports nothing slow, so that a command line can refuse a file at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from compiler.ir.failure import Failure
from model.reading import read_file

if TYPE_CHECKING:
    from compiler.ir.graph import Graph

REMEDY = "give an int8 .tflite model"


class ImportFailure(Failure):
    """The model can't be read or has something the machine does not run."""


@dataclass(frozen=True)
class Format:
    """A type of file: the bytes `magic` stand at byte `at`. module: has load(path), which makes the Graph."""

    name: str
    at: int
    magic: bytes
    module: str


FORMATS = (Format("TensorFlow Lite", 4, b"TFL3", "compiler.frontend.tflite"),)


def format_of(path: str | Path, data: bytes) -> Format:
    """Raises ImportFailure, which begins with the path."""
    for known in FORMATS:
        if data[known.at :].startswith(known.magic):
            return known
    names = " or ".join(known.name for known in FORMATS)
    raise ImportFailure(f"{path}: not a {names} file", remedy=REMEDY)


def read_model(path: str | Path) -> bytes:
    """Raises ValueError, which begins with the path."""
    data = read_file(path, REMEDY)
    format_of(path, data)
    return data


def load(path: str | Path) -> Graph:
    """Raises ImportFailure, which begins with the path."""
    return import_module(format_of(path, read_model(path)).module).load(path)
