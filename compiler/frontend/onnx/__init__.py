# SPDX-License-Identifier: Apache-2.0
"""The front end of ONNX: reads files into Graphs (docs/howto/onnx.md).

It supports QDQ (float operators between DequantizeLinear and QuantizeLinear) and QLinear (operators of codes, which
become QDQ first).
"""

from pathlib import Path

from eyrie.compiler.frontend.extra import require
from eyrie.compiler.frontend.file import read_model
from eyrie.compiler.ir.failure import ModelImportError
from eyrie.compiler.ir.graph import Graph
from eyrie.model.errors import InputError


def load(path: str | Path) -> Graph:
    """Import an ONNX file. Raise ModelImportError, which begins with the path."""
    data = read_model(path)
    try:
        return from_bytes(data)
    except ModelImportError as error:
        raise ModelImportError(f"{path}: {error}", layer=error.layer) from error


def from_bytes(data: bytes) -> Graph:
    """Return the Graph of a file's contents. Raise ModelImportError."""
    try:
        require("onnx")
    except InputError as error:
        raise ModelImportError(str(error)) from error
    from eyrie.compiler.frontend.onnx.importer import import_model

    return import_model(data)
