# SPDX-License-Identifier: Apache-2.0
"""The format of a model file, which selects the front end.

Imports no slow module, so that a command line can reject a file fast.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from eyrie.compiler.ir.failure import ModelImportError
from eyrie.compiler.ir.heading import IMPORT, MAGIC
from eyrie.model.reading import read_file

if TYPE_CHECKING:
    from eyrie.compiler.ir.graph import Graph


@dataclass(frozen=True)
class Format:
    """A file format.

    begins   the pattern of its first bytes
    module   has load(path), which returns the Graph; and if files have an `outside`, with_weights(path, contents)
    outside  text of files whose weights are in other files
    """

    name: str
    suffix: str
    begins: re.Pattern[bytes]
    module: str
    outside: bytes = b""


# An ONNX file is a protobuf message. Field 1 is the version; text, a number, or the graph follows it.
FORMATS = (
    Format("TensorFlow Lite", ".tflite", re.compile(rb"....TFL3", re.DOTALL), "eyrie.compiler.frontend.tflite"),
    Format(
        "ONNX",
        ".onnx",
        re.compile(rb"\x08[\x01-\x1f][\x12\x1a\x22\x28\x32\x3a\x42\x72]"),
        "eyrie.compiler.frontend.onnx",
        outside=b"location",
    ),
)
OWN = Format("Eyrie text", ".ir", re.compile(re.escape(f"{MAGIC} {IMPORT}\n".encode())), "eyrie.compiler.ir_text")
SUFFIXES = tuple(known.suffix for known in FORMATS)
REMEDY = f"give an int8 {' or '.join(SUFFIXES)} model"


def format_of(path: str | Path, data: bytes) -> Format:
    """Return the format of a file's contents. Raise ModelImportError, which begins with the path."""
    for known in (*FORMATS, OWN):
        if known.begins.match(data):
            return known
    names = " or ".join(known.name for known in FORMATS)
    raise ModelImportError(f"{path}: not a {names} file", remedy=REMEDY)


def read_model(path: str | Path) -> bytes:
    """Read a model file, with weights that it has in other files. Raise InputError, which begins with the path."""
    data = read_file(path, REMEDY)
    known = format_of(path, data)
    if known.outside and known.outside in data:
        return import_module(known.module).with_weights(path, data)
    return data


def load(path: str | Path) -> Graph:
    """Import a model file. Raise ModelImportError, which begins with the path."""
    return import_module(format_of(path, read_model(path)).module).load(path)
