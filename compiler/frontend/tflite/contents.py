# SPDX-License-Identifier: Apache-2.0
"""The contents of a file from the schema's classes, and what these classes leave to their user."""

import flatbuffers  # type: ignore[import-untyped]  # the package has no types
from ai_edge_litert import schema_py_generated as schema


def packed(model: schema.ModelT) -> bytes:
    """Return the contents of a model's file."""
    builder = flatbuffers.Builder(1 << 10)
    builder.Finish(model.Pack(builder), file_identifier=b"TFL3")
    return bytes(builder.Output())


def operator_number(code: schema.OperatorCodeT) -> int:
    """Return the number of an operator. Old files have it in the deprecated field only."""
    return max(code.builtinCode, code.deprecatedBuiltinCode)
