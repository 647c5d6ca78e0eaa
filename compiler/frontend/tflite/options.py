# SPDX-License-Identifier: Apache-2.0
"""Names of the schema's tables of options."""

from ai_edge_litert import schema_py_generated as schema

from eyrie.compiler.operators.registry import of_tflite

_TABLES = {name.lower(): name for name, value in vars(schema.BuiltinOptions).items() if isinstance(value, int)}


def options_table(name: str) -> str:
    """Return the name of the table of an operator's options, "" if the operator has none.

    A table is named after its operator, unless the operator's record has another name.
    """
    record = of_tflite().get(name)
    if record is not None and record.schema_table:
        return record.schema_table
    if name == "SUM" or name.startswith("REDUCE_"):
        return "ReducerOptions"
    return _TABLES.get(f"{name.replace('_', '')}options".lower(), "")
