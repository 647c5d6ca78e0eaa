# SPDX-License-Identifier: Apache-2.0
"""All records, by the names of their operators.

An operator has a record in one of FAMILIES, and no other list has to name it.
"""

from collections.abc import Callable, Iterator
from functools import cache
from operator import methodcaller
from types import ModuleType
from typing import Literal

from eyrie.compiler.ir.operator import Operator
from eyrie.compiler.ir.qdq.network import Operation
from eyrie.compiler.operators import (
    blocks,
    cells,
    channels,
    clips,
    composed,
    convolution,
    custom,
    elementwise,
    float_functions,
    fully_connected,
    functions,
    host,
    interpreted,
    joins,
    lookup,
    mean,
    normalization,
    padding,
    parts,
    pooling,
    poses,
    prelu,
    products,
    quantization,
    quotient,
    recurrent,
    resize,
    shapes,
    splits,
    transposed_convolution,
)
from eyrie.compiler.operators.lookup import Function
from eyrie.compiler.operators.record import FloatOperator, Names, Record

# In the order of the table of operators.
FAMILIES: tuple[ModuleType, ...] = (
    convolution,
    transposed_convolution,
    fully_connected,
    products,
    channels,
    elementwise,
    quotient,
    prelu,
    pooling,
    mean,
    normalization,
    cells,
    quantization,
    clips,
    functions,
    float_functions,
    shapes,
    blocks,
    padding,
    parts,
    splits,
    joins,
    resize,
    host,
    recurrent,
    poses,
    interpreted,
    lookup,
    composed,
    custom,
)
Framework = Literal["onnx", "microsoft", "aten", "relax"]
Translator = Callable[..., list[Operation]]  # from the call of a framework's operator


@cache
def records() -> tuple[type[FloatOperator], ...]:
    """Return all records, in the order of the table of operators."""
    return tuple(
        made
        for module in FAMILIES
        for made in vars(module).values()
        if isinstance(made, type) and issubclass(made, FloatOperator) and _is_record(made, module)
    )


def _is_record(made: type[FloatOperator], module: ModuleType) -> bool:
    """Return whether a class of a module stands for an operator, and is no base class."""
    named = getattr(made, "name", Operator.name) is not Operator.name
    return made.__module__ == module.__name__ and bool(named or made.kind or made.microsoft)


def tflite_names(record: type[FloatOperator]) -> tuple[str, ...]:
    """Return a record's names in TensorFlow Lite."""
    if not issubclass(record, Record):
        return ()
    return (str(record.name),) if record.tflite is None else record.tflite


@cache
def of_tflite() -> dict[str, type[Record]]:
    """Return the records by their names in TensorFlow Lite."""
    return {name: record for record in records() if issubclass(record, Record) for name in tflite_names(record)}


def version_of(name: str) -> int:
    """Return the first version of an operator in TensorFlow Lite with int8; of an operator without a record, 1."""
    record = of_tflite().get(name)
    return record.versions.get(name, record.version) if record else 1


@cache
def functions_of_one_value() -> tuple[type[Function], ...]:
    return tuple(record for record in records() if issubclass(record, Function))


@cache
def of_kinds() -> dict[str, type[FloatOperator]]:
    """Return the records by their kinds in ir/qdq/network.py."""
    return {record.kind: record for record in records() if record.kind}


def names(record: type[FloatOperator], framework: Framework) -> tuple[str, ...]:
    """Return a record's names in a framework."""
    return tuple(name for name, _ in _translators(record, framework))


@cache
def translators(framework: Framework) -> dict[str, Translator]:
    """Return the functions that translate the calls of a framework's operators, by name."""
    return {name: translate for record in records() for name, translate in _translators(record, framework)}


def _translators(record: type[FloatOperator], framework: Framework) -> Iterator[tuple[str, Translator]]:
    listed: Names = getattr(record, framework)
    if isinstance(listed, str):
        method = ("codes_" if framework == "microsoft" else "") + ("of_one" if record.operands == 1 else "of_two")
        yield from ((name, methodcaller(method, record.kind)) for name in listed.split())
    else:
        yield from listed.items()
