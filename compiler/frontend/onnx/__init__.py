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
from eyrie.model.messages import one_line


def with_weights(path: str | Path, data: bytes) -> bytes:
    """Return the contents of a file with the weights that it has in other files. Raise ModelImportError, which begins
    with the path."""
    try:
        onnx = require("onnx")
    except InputError as error:
        raise ModelImportError(f"{path}: {error}") from error
    try:
        model = onnx.load_model_from_string(data)
    except Exception:  # protobuf's own, which the importer reports
        return data
    try:
        onnx.external_data_helper.load_external_data_for_model(model, str(Path(path).parent))
        return model.SerializeToString()
    except Exception as error:  # onnx's own
        reason = one_line(next(iter(str(error).splitlines()), type(error).__name__)).rstrip(".")
        remedy = "keep the files in one folder"
        raise ModelImportError(f"{path}: its weights are in another file ({reason})", remedy=remedy) from error


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
