# SPDX-License-Identifier: Apache-2.0
"""The page of the operators: the names of an operator in each front end, and the unit that runs it."""

from eyrie.compiler.operators.record import FloatOperator, Row
from eyrie.compiler.operators.registry import names, records, tflite_names
from scripts.reference.markdown import code, page, table


def _columns(record: type[FloatOperator]) -> tuple[tuple[str, ...], ...]:
    """Return the names of a record in each column."""
    onnx = *names(record, "onnx"), *names(record, "microsoft")
    library = (record.library,) if record.library else ()
    return tflite_names(record), onnx, names(record, "aten"), names(record, "relax"), library


def _rows() -> list[tuple[str, ...]]:
    """Return a row for each Row of the records, with the names of all its records."""
    groups: dict[Row, list[type[FloatOperator]]] = {}
    for record in records():
        if any(_columns(record)):
            groups.setdefault(record.row, []).append(record)
    made = []
    for row, group in groups.items():
        columns = (dict.fromkeys(name for listed in column for name in listed) for column in zip(*map(_columns, group)))
        made.append((row.operators, row.unit, *(", ".join(map(code, column)) for column in columns)))
    return made


def text() -> str:
    return page(
        "Operators",
        "Each row is an operator, the unit that runs it, and its names in the front ends. An operator that the unit "
        "cannot run with its shape or its attributes runs on the host, or stays in PyTorch or TVM; the report of the "
        "compiler names it with the reason. Any other operator of a file runs on the host, in LiteRT, tflite-micro or "
        "onnxruntime. `eyrie c` writes every operator of the TensorFlow Lite column as portable C, except recurrent "
        "ones.",
        "the records of operators in `compiler/operators/`",
        table(
            ("operator", "unit", "TensorFlow Lite", "ONNX", "PyTorch (ATen)", "TVM (Relax)", "operator library"),
            _rows(),
        ),
        "Array: the PE array. PPU: the post-processing unit, either after a layer of the array or in a vector pass. "
        "Data movement: address generators of the DMA and of the streams, or no work at all if the neighbour layer "
        "reads or writes in the new order. Host: the CPU, also for `eyrie_softmax` of the operator library.",
    )
