# SPDX-License-Identifier: Apache-2.0
"""Custom operators: functions of the user's between accelerator parts."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from eyrie.compiler.artefact import files
from eyrie.compiler.c.sources import sources_of
from eyrie.compiler.folder import save
from eyrie.compiler.frontend.tflite import load
from eyrie.compiler.ir.graph import Graph, Node
from eyrie.compiler.ir.tensor import Quantized
from eyrie.compiler.operators.functions import RealFunction
from eyrie.compiler.operators.lookup import Function
from eyrie.compiler.parts import compile_graph, compile_parts
from eyrie.compiler.passes.partition import Side
from eyrie.compiler.results import Imported
from eyrie.model.operators import tables
from eyrie.model.operators.elementwise import add, add_parameters
from eyrie.model.operators.quantization import Quantization
from eyrie.runtime.back_ends.functional import Functional
from eyrie.runtime.back_ends.golden import golden_outputs
from eyrie.runtime.portable_c.executable import CHECKED, build_program
from eyrie.testing.tflite_builder import Builder
from tests.commands.commands import eyrie

SCALE = Quantization(0.1, 3)
FUNCTIONS = """
def Swap(first, second, options):
    return second[..., ::-1], first + first.dtype.type(options[0])

def Fails(value, options):
    raise KeyError("nothing")

def Other(value, options):
    return value[:, :2]
"""


def write(folder: Path, name: str = "Swap", kind: str = "int8") -> Path:
    """Sums of two inputs with themselves, a custom operator of them, the sum of what it makes."""
    net = Builder()
    zero_point = SCALE.zero_point + (128 if kind == "uint8" else 0)
    first, second, a, b, c, d, total = (net.tensor((1, 3, 4, 5), kind, SCALE.scale, zero_point) for _ in range(7))
    net.operator("ADD", [first, first], [a])
    net.operator("ADD", [second, second], [b])
    if name == "Swap":
        net.custom(name, [a, b], [c, d], bytes([2, 9]))
    else:
        net.custom(name, [a], [c])
        d = b
    net.operator("ADD", [c, d], [total])
    (folder / "net.tflite").write_bytes(net.pack([first, second], [total]))
    (folder / "functions.py").write_text(FUNCTIONS)
    return folder / "net.tflite"


@pytest.mark.parametrize("kind", ["int8", "uint8"])
def test_a_function_between_accelerator_parts(kind: str, seed: int, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("EYRIE_CUSTOM", str(tmp_path / "functions.py"))
    compiled = compile_parts(write(tmp_path, kind=kind))
    assert [part.part.side for part in compiled.parts] == [Side.ACCELERATOR, Side.HOST, Side.ACCELERATOR]
    save(compiled.network, tmp_path / "net")
    values = np.random.default_rng(seed).integers(0, 256, (2, 1, 1, 3, 4, 5)).astype(np.uint8)
    stored = [value if kind == "uint8" else value.view(np.int8) for value in values]
    (made,) = Functional().run(files.load(tmp_path / "net"), stored).outputs
    parameters = add_parameters(SCALE, SCALE, SCALE)
    inside = [(value ^ 0x80).view(np.int8) if kind == "uint8" else value for value in stored]
    a, b = (add(value, value, parameters) for value in inside)
    golden = add(b[..., ::-1], a + np.int8(2), parameters)
    np.testing.assert_array_equal(made, (golden.view(np.uint8) ^ 0x80) if kind == "uint8" else golden)


def test_without_a_function(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="operator #2 Swap: no such operator is known: write a function Swap into a "):
        compile_parts(write(tmp_path))
    assert "Swap" in str(load(tmp_path / "net.tflite"))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Fails", "custom operator Fails: KeyError: 'nothing'"),
        ("Other", "custom operator Other: its function gives int8 1 x 2 x 4 x 5, the model says int8 1 x 3 x 4 x 5"),
    ],
)
def test_a_function_that_fails(name: str, said: str, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("EYRIE_CUSTOM", str(tmp_path / "functions.py"))
    save(compile_parts(write(tmp_path, name)).network, tmp_path / "net")
    inputs = [np.zeros((1, 1, 3, 4, 5), np.int8)] * 2
    with pytest.raises(ValueError) as caught:
        Functional().run(files.load(tmp_path / "net"), inputs)
    assert str(caught.value) == said


def test_a_file_that_is_none(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("EYRIE_CUSTOM", str(tmp_path / "nothing.py"))
    ended = eyrie("compile", write(tmp_path), "-o", tmp_path / "net")
    assert ended.returncode and ended.stderr.count("\n") == 1
    assert "/nothing.py: cannot be read (No such file or directory): check the path" in ended.stderr


@dataclass(frozen=True, kw_only=True)
class Parity(Function):
    """1 for odd values, else 0."""

    name = "PARITY"

    def table(self, input_: Quantization, output: Quantization) -> np.ndarray:
        return (tables.VALUES & 1).astype(np.int8)


@dataclass(frozen=True, kw_only=True)
class Sine(RealFunction):
    name = "SIN"


@pytest.mark.parametrize("operator", [Parity(), Sine()], ids=["class", "function"])
def test_a_new_function_of_one_value(operator: Function, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its table is all that the accelerator, the golden model and C need."""
    monkeypatch.setitem(tables.FUNCTIONS, "SIN", lambda x: np.sin(x.astype(np.float64)).astype(np.float32))
    x, y = (
        Quantized(name=name, shape=(1, 16, 16, 1), dtype="int8", quantization=Quantization(scale, 2))
        for name, scale in (("x", 0.05), ("y", 0.01))
    )
    graph = Graph((x,), (Node(operator, "#0", (x,), (y,)),), (y,)).verified()
    values = [tables.VALUES.astype(np.int8).reshape(1, 1, 16, 16, 1)]
    save(compile_graph(Imported("net", graph=graph)).network, tmp_path / "net")
    network = files.load(tmp_path / "net")
    [golden] = golden_outputs(network.whole_graph(), values)
    assert not network.host and len(set(golden.ravel().tolist())) > 1
    assert np.array_equal(Functional().run(network, values).outputs[0], golden)
    [made] = build_program([sources_of(graph, "net")], tmp_path / "c", CHECKED).run(values)
    assert np.array_equal(made, golden)
