# SPDX-License-Identifier: Apache-2.0
"""Random graphs of one operator, and random networks, as C with sanitizers: the outputs are the golden model's."""

import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path

import numpy as np
import pytest

from eyrie.compiler.c import kernels
from eyrie.compiler.c.sources import Sources, sources_of
from eyrie.compiler.frontend import tflite
from eyrie.compiler.frontend.file import load
from eyrie.compiler.operators.interpreted import Interpreted
from eyrie.model.errors import InputError
from eyrie.model.operators.quantization import to_uint8
from eyrie.model.operators.reference import Reference
from eyrie.runtime.back_ends.golden import golden_outputs
from eyrie.runtime.folders import ROOT
from eyrie.runtime.inputs import random_inputs
from eyrie.runtime.portable_c.executable import FAST, Library, RunError, build_library, build_program
from eyrie.testing.samples import scaled
from eyrie.testing.tflite_builder import Builder
from tb.common.random_graphs import draw_graph
from tb.common.random_operators import OPERATORS, draw
from tb.common.seed import run_seed

OF_EACH = scaled(2)
NETWORKS = scaled(16)
RUNS = 3
SEED = run_seed()
DEMO = ROOT / "data/mobilenetv1_cifar10/mobilenetv1_cifar10.tflite"
GROUPS = 4  # of operators, each a program


@dataclass(frozen=True, eq=False)
class Case:
    """A network as C, inputs [N, ...], and what has to come out of the first runs."""

    text: str
    sources: Sources
    inputs: list[np.ndarray]
    expected: list[np.ndarray]


def of_operator(name: str) -> Iterator[Case]:
    """Without end. Each runs twice on the same values: nothing may be left of a run."""
    for number in count():
        drawn = draw(name, np.random.default_rng([SEED, list(OPERATORS).index(name), number]))
        sources = sources_of(tflite.from_bytes(drawn.model), f"{name} {number}")
        golden = drawn.golden(Reference.MICRO if Reference.MICRO in drawn.references else Reference.LITERT)
        yield Case(
            drawn.text, sources, *([np.stack([value, value]) for value in values] for values in (drawn.inputs, golden))
        )


def of_network(number: int) -> Case:
    """A random network without operators that only an interpreter runs."""
    rng = np.random.default_rng([SEED, number])
    graphs = (tflite.from_bytes(draw_graph(rng).model) for _ in count())
    graph = next(graph for graph in graphs if not any(isinstance(node.operator, Interpreted) for node in graph.nodes))
    inputs = random_inputs(graph, RUNS, SEED + number)
    return Case(str(graph), sources_of(graph, f"network{number}"), inputs, golden_outputs(graph, inputs))


def of_rescaling() -> Iterator[Case]:
    """Without end: int32 to int8 by factors at which every other sum is all but a tie, of either rounding."""
    for number in count():
        rng = np.random.default_rng([SEED, number])
        factor, zero_point = 2.0 ** rng.uniform(-4, 1), int(rng.integers(-20, 20))
        net, shape = Builder(), (1, 2000)
        x, y = net.tensor(shape, "int32", 0.1 * factor), net.tensor(shape, "int8", 0.1, zero_point)
        net.operator("QUANTIZE", (x,), (y,))
        graph = tflite.from_bytes(net.pack((x,), (y,)))
        inputs = [np.rint(rng.uniform(-140, 140, (RUNS, *shape)) / factor).astype(np.int32)]
        yield Case(f"by {factor}", sources_of(graph, f"rescaling{number}"), inputs, golden_outputs(graph, inputs))


def compare(cases: list[Case], folder: Path) -> int:
    """How many values are compared."""
    program, compared = build_program([case.sources for case in cases], folder), 0
    for number, case in enumerate(cases):
        for output, expected in zip(program.run(case.inputs, number), case.expected, strict=True):
            np.testing.assert_array_equal(output, expected, case.text, strict=True)
            compared += output.size
    return compared


@pytest.mark.parametrize("group", range(GROUPS))
def test_operators(group: int, tmp_path: Path) -> None:
    cases = [case for name in list(OPERATORS)[group::GROUPS] for case in islice(of_operator(name), OF_EACH)]
    assert compare(cases, tmp_path) > 10 * len(cases) > 0


def test_networks(tmp_path: Path) -> None:
    cases = [of_network(number) for number in range(NETWORKS)]
    assert compare(cases, tmp_path) > 10 * len(cases) > 0


def test_a_library_runs_in_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No call starts a process, and calls of one network side by side do not meet."""
    graph = load(DEMO)
    inputs = random_inputs(graph, 4, SEED)
    library = build_library([sources_of(graph, "network")], tmp_path)
    monkeypatch.delattr(subprocess, "Popen")
    alone = [library.run([values[None] for values in run])[0] for run in zip(*inputs)]
    np.testing.assert_array_equal(alone[0], golden_outputs(graph, [values[:1] for values in inputs])[0])
    with ThreadPoolExecutor(len(alone)) as pool:
        made = list(pool.map(lambda n: library.run([values[n % 4 : n % 4 + 1] for values in inputs])[0], range(40)))
    for number, output in enumerate(made):
        np.testing.assert_array_equal(output, alone[number % 4], strict=True)


def test_a_library_that_cannot_be_loaded(tmp_path: Path) -> None:
    (tmp_path / "library.so").write_text("none")
    case = next(of_operator("ADD"))
    with pytest.raises(InputError, match=r"^.*library.so: cannot be loaded \(.*\): name a compiler .* in CC$"):
        Library(tmp_path / "library.so", (case.sources,)).run(case.inputs)


def test_every_kernel_is_random() -> None:
    """By graphs of one operator, after some rounds: no kernel is left that they do not test."""
    wanted, found = {path.stem for path in kernels.FOLDER.glob("*.c")}, set()
    drawn = [of_operator(name) for name in OPERATORS]
    for _ in range(200):
        found |= {step.kernel for each in drawn for step in next(each).sources.lowered.steps}
        if found == wanted:
            return
    assert found == wanted


def test_rescaling(tmp_path: Path) -> None:
    assert compare(list(islice(of_rescaling(), 10)), tmp_path) > 10_000


NAMES = (
    "arena",
    "conv_2d",
    "step0",
    "step0_filters",
    "int8_t",
    "NULL",
    "INT8_MIN",
    "memcpy",
    "net_run",
    "printf",
    "int",
    "class",
    "main",
    "input0",
    "0",
    "*/",
    "??/",
    "\\",
    "caf\u00e9",
    "linux",
    "a b",
    "a?b",
    "A_B",
)


def test_tensors_may_have_any_name(tmp_path: Path) -> None:
    """Those of inputs and outputs are names in C, all are in comments."""
    net, rng = Builder(), np.random.default_rng(SEED)
    inputs = [net.tensor((1, 6), "int8", 0.1) for _ in NAMES]
    joined = net.tensor((1, 6 * len(NAMES)), "int8", 0.1)
    for tensor, name in zip(inputs, NAMES):
        net.tensors[tensor].name = name
    net.operator("CONCATENATION", inputs, (joined,), axis=1)
    graph = tflite.from_bytes(net.pack(inputs, (joined,)))
    values = [rng.integers(-128, 128, (RUNS, 1, 6), np.int8) for _ in NAMES]
    case = Case("names", sources_of(graph, "net"), values, golden_outputs(graph, values))
    assert compare([case], tmp_path) == RUNS * 6 * len(NAMES)


RESCALING = "rescaling"
PLANTED = [  # operator, file, and what becomes of what
    (RESCALING, "high_mul.h", "1 - (INT64_C(1) << 30)", "0"),
    (RESCALING, "high_mul.h", "INT64_C(1) << 30 :", "0 :"),
    (RESCALING, "rounding_shift.h", "value < 0 ? 1 : 0", "0"),
    (RESCALING, "rounding_shift.h", "remainder > threshold", "remainder >= threshold"),
    ("CONV_2D", "requantize.h", "clamp(value, ", "clamp(sum, "),
    ("CONV_2D uint8", "conv_2d.c", "- layer->filter_zero_point", ""),
    ("DEPTHWISE_CONV_2D", "depthwise_conv_2d.c", "m / (layer->M / layer->C)", "m % layer->C"),
    ("AVERAGE_POOL_2D", "average_pool_2d.c", "sum > 0 ? sum + count / 2 : sum - count / 2", "sum + count / 2"),
    ("ADD", "add.c", "INT32_C(1) << 20", "INT32_C(1) << 12"),
    ("SOFTMAX", "exponential.h", "i < 3", "i < 1"),
    ("TRANSPOSE", "place_of.h", "number /= sizes[axis]", "number /= 2"),
]


def planted(monkeypatch: pytest.MonkeyPatch, file: str, before: str, after: str) -> None:
    read = kernels.read
    assert read(file).count(before) == 1
    monkeypatch.setattr(kernels, "read", lambda name: read(name).replace(before, after) if name == file else read(name))


@pytest.mark.parametrize(("operator", "file", "before", "after"), PLANTED)
def test_planted_errors_are_found(
    operator: str, file: str, before: str, after: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted(monkeypatch, file, before, after)
    cases = list(islice(of_rescaling() if operator == RESCALING else of_operator(operator), 12))
    program = build_program([case.sources for case in cases], tmp_path, FAST)
    different = [
        output.tobytes() != expected.tobytes()
        for number, case in enumerate(cases)
        for output, expected in zip(program.run(case.inputs, number), case.expected, strict=True)
    ]
    assert any(different)


def test_what_is_undefined_ends_the_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planted(monkeypatch, "lookup.c", "i < layer->count", "i <= layer->count")
    case = next(of_operator("ELU"))
    with pytest.raises(RunError, match="heap-buffer-overflow"):
        build_program([case.sources], tmp_path).run(case.inputs)


def test_no_c_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "nosuch -x")
    said = "nosuch: C compiler not found: install one, like gcc, or name it in CC"
    with pytest.raises(ValueError, match=f"^{said}$"):
        build_library([next(of_operator("ADD")).sources], tmp_path)


def test_uint8_comes_and_goes_as_uint8() -> None:
    case = next(of_operator("MAX_POOL_2D uint8"))
    arguments = case.sources.inputs + case.sources.outputs
    assert [argument.dtype for argument in arguments] == ["uint8", "uint8"]
    assert all(0 <= argument.zero_point <= 255 for argument in arguments)
    assert case.inputs[0].dtype == np.uint8 and to_uint8(np.int8([-128])) == 0
