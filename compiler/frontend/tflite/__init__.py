# SPDX-License-Identifier: Apache-2.0
"""The front end of TensorFlow Lite: reads files into Graphs.

Sources: the TensorFlow Lite schema (version 3) and the 8-bit quantization specification. Legacy uint8 becomes int8:
activations and their zero points less 128, filters less their zero point. An operator without a golden function becomes
a model of its own (cut.py) for an interpreter (interpreted.py). What no interpreter runs becomes an Unknown node, so
that one message can list all obstacles of a model. A file that contradicts itself is rejected.

reader, options   tensors and operators of a file; importer: from these to a Graph
variables         the state of a network
rounding          the interpreter whose rounding it follows
writer, functions the inverse
"""

from pathlib import Path

from eyrie.compiler.frontend.file import read_model
from eyrie.compiler.ir.failure import ModelImportError
from eyrie.compiler.ir.graph import Graph


def load(path: str | Path) -> Graph:
    """Import a TensorFlow Lite file. Raise ModelImportError, which begins with the path."""
    data = read_model(path)
    try:
        return from_bytes(data)
    except ModelImportError as error:
        raise ModelImportError(f"{path}: {error}", layer=error.layer) from error


def from_bytes(data: bytes) -> Graph:
    """Return the Graph of a file's contents. Raise ModelImportError."""
    from eyrie.compiler.frontend.tflite.importer import import_model

    return import_model(data)
