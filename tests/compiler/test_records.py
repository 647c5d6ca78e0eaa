# SPDX-License-Identifier: Apache-2.0
"""The records of operators: every operator has one, and every front end and back end finds it."""

import subprocess
import sys
from collections import Counter
from contextlib import suppress
from importlib import import_module

import numpy as np
import pytest

from eyrie.compiler import operators
from eyrie.compiler.frontend.tflite import from_bytes
from eyrie.compiler.frontend.tflite.writer import written
from eyrie.compiler.ir.failure import Unsupported
from eyrie.compiler.operators import registry
from eyrie.compiler.operators.record import FloatOperator, Record
from eyrie.compiler.operators.registry import Framework
from eyrie.model.interpreters import RUN, Rejected
from eyrie.runtime.folders import ROOT
from tb.common.random_operators import OPERATORS, draw

FRAMEWORKS: tuple[Framework, ...] = ("onnx", "microsoft", "aten", "relax")
SEVERAL = {"Resize"}  # names of several records: an attribute tells which


def test_every_module_with_a_record_is_a_family() -> None:
    names = {path.stem for path in (ROOT / "compiler" / "operators").glob("*.py")} - {"__init__", "registry"}
    modules = [import_module(f"{operators.__name__}.{name}") for name in names]
    found = {made for module in modules for made in vars(module).values() if isinstance(made, type)}
    with_records = {
        module
        for module in modules
        for made in found
        if issubclass(made, FloatOperator) and registry._is_record(made, module)
    }
    assert with_records == set(registry.FAMILIES)


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_names_of_a_framework_are_unique(framework: Framework) -> None:
    count = Counter(name for record in registry.records() for name in registry.names(record, framework))
    assert {name for name, times in count.items() if times > 1} <= SEVERAL
    assert set(count) == set(registry.translators(framework))


def test_names_of_tensorflow_lite_are_unique() -> None:
    names = [name for record in registry.records() for name in registry.tflite_names(record)]
    assert len(names) > 40 and len(set(names)) == len(names)
    kinds = [record.kind for record in registry.records() if record.kind]
    assert len(kinds) > 40 and len(set(kinds)) == len(kinds)


@pytest.mark.parametrize("record", registry.records(), ids=lambda record: record.__name__)
def test_a_record_is_whole(record: type[FloatOperator]) -> None:
    """A name in a front end needs a row of the table; a float operator needs a rule; an operator of a file needs C."""
    if registry.tflite_names(record) or any(registry.names(record, framework) for framework in FRAMEWORKS):
        assert record.row.operators and record.row.unit
    if record.kind not in ("", "quantize", "dequantize"):
        assert record.as_int8.__func__ is not FloatOperator.as_int8.__func__  # type: ignore[attr-defined]
    if issubclass(record, Record) and registry.tflite_names(record):
        assert record.to_c is not Record.to_c and record.infer is not Record.infer and record.run is not Record.run
    if record.moves:
        assert record.keeps_scale and record.takes_codes


def test_records_import_no_framework() -> None:
    """Not even the schema of `.tflite` files."""
    code = "import sys; import eyrie.compiler.operators.registry; print(*sys.modules)"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    loaded = {name.partition(".")[0] for name in ended.stdout.split()}
    assert not loaded & {"torch", "onnx", "tvm", "ai_edge_litert", "flatbuffers"}


@pytest.mark.parametrize("name", [name for name in OPERATORS if "uint8" not in name])
def test_a_written_operator_is_read_again(name: str, seed: int) -> None:
    """With the same results, which are TensorFlow Lite's, too. Some pads cannot be written."""
    index, count, compared = list(OPERATORS).index(name), 0, 0
    for number in range(12):
        drawn = draw(name, np.random.default_rng([seed, 5, index, number]))
        graph = from_bytes(drawn.model)
        try:
            file = written(graph)
        except Unsupported as error:
            assert "pads" in str(error)
            continue
        count, again = count + 1, from_bytes(file)
        first, second = (each.run(*drawn.inputs) for each in (graph, again))
        for one, other in zip(graph.outputs, again.outputs, strict=True):
            np.testing.assert_array_equal(first[one.name], second[other.name], drawn.text)
        for reference in drawn.references:
            with suppress(Rejected):
                made = RUN[reference](file, *drawn.inputs)
                for one, other in zip(made, drawn.golden(reference), strict=True):
                    np.testing.assert_array_equal(one, other, drawn.text)
                compared += 1
    assert compared > 2 and count > 2
