# SPDX-License-Identifier: Apache-2.0
"""Modules of TVM through the partition, held to TVM's own results and to the golden model."""

import os
import re
import subprocess
import sys
import xml.etree.ElementTree as xml
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

pytest.importorskip("tvm", reason="make extra-tvm")

from tvm import ir, relax

import eyrie.tvm
from eyrie.compiler.frontend.file import load
from eyrie.compiler.frontend.tvm.read import graph_of_steps
from eyrie.compiler.frontend.tvm.steps import steps_of
from eyrie.compiler.ir.failure import DoesNotFit, Unsupported
from eyrie.compiler.ir.graph import Graph
from eyrie.model.errors import InputError
from eyrie.runtime.diagrams.networks import ACCELERATOR, HOST
from eyrie.runtime.folders import ROOT
from eyrie.runtime.preprocessing import photo_input
from eyrie.runtime.report.palette import LIGHT
from eyrie.session import Session
from eyrie.tvm import codegen
from eyrie.tvm.partition import functions_of
from tests.extras.tvm_networks import Module, constant, module_of, op, run

pytestmark = pytest.mark.extra("tvm")
MODEL = ROOT / "data" / "mobilenetv1_cifar10" / "mobilenetv1_cifar10.tflite"
PHOTO = ROOT / "data" / "photos" / "cat.png"
ONE_COUNT = 0.995  # of the outputs of a layer
IMAGES = 24
CLEAR = 4  # counts: by so many the largest output is ahead where it is no near tie
MIDDLE = "block4/pointwise"
PYTHON = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def graph() -> Graph:
    return load(MODEL)


def pictures(graph: Graph, count: int, seed: int) -> np.ndarray:
    """Parts of a photo, int8 codes [N, 1, H, W, C] of the network's input."""
    rng, made = np.random.default_rng(seed), []
    photo = Image.open(PHOTO).convert("RGB")
    for _ in range(count):
        size = int(rng.uniform(0.3, 1) * min(photo.size))
        left, top = (int(rng.integers(0, side - size + 1)) for side in photo.size)
        made.append(photo_input(photo.crop((left, top, left + size, top + size)), graph)[0].reshape(graph.input.shape))
    return np.stack(made)


def reals(graph: Graph, codes: np.ndarray) -> np.ndarray:
    """float32, channels first."""
    scale = graph.input.quantization
    return ((codes.astype(np.float32) - scale.zero_point) * np.float32(scale.scale)).transpose(0, 3, 1, 2)


def generated(module: ir.IRModule, back_end: str = "golden") -> ir.IRModule:
    return relax.transform.RunCodegen()(eyrie.tvm.partitioned(module, back_end))


def virtual(module: ir.IRModule) -> Callable[[np.ndarray], list[np.ndarray]]:
    import tvm

    config = relax.VirtualMachine(tvm.compile(module, "llvm"), tvm.cpu())

    def call(values: np.ndarray) -> list[np.ndarray]:
        made = config["main"](tvm.runtime.tensor(values))
        return [made.numpy()] if hasattr(made, "numpy") else [each.numpy() for each in made]

    return call


def codes_of(graph: Graph, values: np.ndarray) -> np.ndarray:
    """Outputs as int."""
    scale = graph.output.quantization
    return np.rint(values / np.float32(scale.scale)).astype(int) + scale.zero_point


def turned(values: relax.Expr) -> relax.Expr:
    """An operator that the accelerator does not run, on channels first."""
    return op.flip(values, 3)


def golden(graph: Graph, codes: np.ndarray, between: bool) -> np.ndarray:
    """The golden model of the file, node by node, with what `turned` does."""
    values = {graph.input.name: codes}
    for node in graph.nodes:
        (values[node.outputs[0].name],) = node.run(tuple(values[tensor.name] for tensor in node.inputs))
        if between and node.outputs[0].name == MIDDLE:
            values[MIDDLE] = values[MIDDLE][:, :, ::-1]
    return values[graph.output.name].reshape(-1)


@pytest.mark.parametrize("between", [False, True])
def test_outputs_are_those_of_the_golden_model_and_of_tvm(between: bool, graph: Graph, seed: int) -> None:
    """With an operator in the middle that stays in TVM, and without."""
    module = module_of(graph, (MIDDLE, turned) if between else None)
    split = eyrie.tvm.partitioned(module)
    made_by, expected_of = virtual(relax.transform.RunCodegen()(split)), virtual(module)
    off, clear = [], 0
    for codes in pictures(graph, IMAGES, seed):
        values = reals(graph, codes)
        made = codes_of(graph, made_by(values)[0]).ravel()
        assert np.array_equal(made, golden(graph, codes, between))
        expected = codes_of(graph, expected_of(values)[0]).ravel()
        off.append(np.abs(made - expected))
        second, first = np.sort(expected)[-2:]
        if first - second >= CLEAR:
            clear += 1
            assert made.argmax() == expected.argmax()
    assert clear > IMAGES / 2 and max(map(np.max, off)) < 8
    found = eyrie.tvm.report(split)
    assert [each.operator for each in found.rest] == (["flip"] if between else [])
    assert len(found.parts) == 1 + between and sum(part.macs for part in found.parts) == sum(
        node.macs for node in graph.nodes
    )
    assert sum(part.operators["nn.conv2d"] for part in found.parts) == 18


def test_layers_are_those_of_tvm(graph: Graph, seed: int) -> None:
    """Each layer on TVM's own values in front of it: the network is a chain, so that codes come in the same order."""
    run_all = virtual(module_of(graph, all_codes=True))
    [(_, function)] = functions_of(eyrie.tvm.partitioned(module_of(graph), "golden"))
    steps = steps_of(function)
    own = graph_of_steps(steps)
    names = [steps.taken[0].name, *(step.made.name for step in steps.steps if step.operator == "quantize")]
    differences: dict[str, list[np.ndarray]] = {}
    for codes in pictures(graph, 4, seed + 1):
        of_tvm = dict(zip(names, run_all(reals(graph, codes))[1:], strict=True))
        known = {own.input.name: of_tvm[names[0]].transpose(0, 2, 3, 1)}
        for node in own.nodes:
            [made] = node.run(tuple(known[each.name] for each in node.activations))
            [tensor] = node.outputs
            known[tensor.name] = of_tvm[tensor.name.partition("#")[0].removesuffix(".image")].transpose(0, 2, 3, 1)
            differences.setdefault(str(node), []).append(np.abs(made.astype(int) - known[tensor.name]))
    assert len(differences) == len(graph.nodes)
    for layer, off in differences.items():
        assert np.mean(np.stack(off) <= 1) >= ONE_COUNT, layer


def test_back_ends(seed: int) -> None:
    """A part on the functional simulator, on the RTL and as C."""
    module, values = small(seed), np.random.default_rng(seed).normal(0, 1, (1, 6, 8, 10)).astype(np.float32)
    expected = run(generated(module), values)[0]
    assert expected.std() > 0
    for back_end in ("functional", "rtl", "c"):
        assert np.array_equal(run(generated(module, back_end), values)[0], expected), back_end


def small(seed: int) -> ir.IRModule:
    rng = np.random.default_rng(seed)
    weights, scales = rng.integers(-127, 128, (8, 6, 3, 3)).astype(np.int8), rng.uniform(0.001, 0.002, 8)

    def make(module: Module) -> relax.Expr:
        x = module.through(module.inputs[0], 0.03, 5)
        made = module.builder.emit(op.nn.conv2d(x, module.weights(weights, scales), padding=1))
        return module.through(op.nn.relu(made), 0.02, -128)

    return Module((1, 6, 8, 10)).module(make)


def test_networks_of_one_form_keep_apart(seed: int) -> None:
    """Their functions have the same names in TVM."""
    values = np.random.default_rng(seed).normal(0, 1, (1, 6, 8, 10)).astype(np.float32)
    modules = [small(seed), small(seed + 1)]
    apart = [virtual(generated(module)) for module in modules]
    first, second = (call(values)[0] for call in apart)
    assert not np.array_equal(first, second)
    for made, module in zip((first, second), modules):
        assert np.mean(np.abs(made - run(module, values)[0]) < 0.02 * 1.01) >= ONE_COUNT


def test_maps_of_rows(seed: int) -> None:
    """Operators on [N, C, W], whose maps have channels first, too."""
    rng = np.random.default_rng(seed)
    weights, scales = rng.integers(-127, 128, (8, 6, 3)).astype(np.int8), rng.uniform(0.001, 0.002, 8)

    def make(module: Module) -> relax.Expr:
        x = module.through(module.inputs[0], 0.03, 5)
        made = module.through(op.nn.conv1d(x, module.weights(weights, scales), padding=1), 0.02, 3)
        return module.through(op.nn.max_pool1d(made, 2, strides=2), 0.02, 3)

    module, values = Module((1, 6, 12)).module(make), rng.normal(0, 1, (1, 6, 12)).astype(np.float32)
    split = eyrie.tvm.partitioned(module, "golden")
    made, expected = run(relax.transform.RunCodegen()(split), values)[0], run(module, values)[0]
    assert made.shape == expected.shape == (1, 8, 6) and np.mean(np.abs(made - expected) < 0.0201) >= ONE_COUNT
    assert {name for part in eyrie.tvm.report(split).parts for name in part.operators} == {"nn.conv1d", "nn.max_pool1d"}


def branched(module: Module, seed: int = 1) -> relax.Expr:
    """A sum of what goes through TVM and what goes beside it, and a readers of both."""
    rng = np.random.default_rng(seed)

    def conv(source: relax.Expr, channels: int) -> relax.Expr:
        codes = rng.integers(-127, 128, (8, channels, 3, 3)).astype(np.int8)
        made = op.nn.conv2d(source, module.weights(codes, rng.uniform(0.5, 1.5, 8) / 1000), padding=1)
        return module.through(module.builder.emit(op.nn.relu(module.builder.emit(made))), 0.02, -128)

    first = conv(module.through(module.inputs[0], 0.03, 5), 6)
    beside, through = conv(first, 8), module.through(op.flip(first, 3), 0.02, -128)
    joined = module.through(op.add(beside, through), 0.03, -128)
    last = module.through(op.add(conv(joined, 8), first), 0.03, -128)
    return module.builder.emit(op.concat([last, through], 1))


def test_branches(seed: int) -> None:
    """What is in no part keeps its place between parts: none needs what it makes itself by way of TVM."""
    module = Module((1, 6, 8, 10)).module(lambda made: branched(made, seed))
    split = eyrie.tvm.partitioned(module, "golden")
    found = eyrie.tvm.report(split)
    assert {each.operator for each in found.rest} == {"flip", "concat"}
    assert sum(sum(part.operators.values()) for part in found.parts) == 8
    values = np.random.default_rng(seed).normal(0, 1, (1, 6, 8, 10)).astype(np.float32)
    made, expected = run(relax.transform.RunCodegen()(split), values)[0], run(module, values)[0]
    assert np.mean(np.abs(made - expected) < 0.0301) >= ONE_COUNT


# ---- What is left to TVM, and what is rejected ----


def reasons(make: Callable[[Module], relax.Expr]) -> set[str]:
    split = eyrie.tvm.partitioned(Module((1, 6, 8, 10)).module(make), "golden")
    found = eyrie.tvm.report(split)
    assert not found.parts
    return {f"{each.operator}: {each.reason}" for each in found.rest}


def test_a_float_convolution() -> None:
    weights = constant(np.ones((8, 6, 3, 3)), "float32")
    assert reasons(lambda module: module.builder.emit(op.nn.conv2d(module.inputs[0], weights))) == {
        "nn.conv2d: it is not between int8 values"
    }


def test_what_the_accelerator_has_not() -> None:
    def make(module: Module) -> relax.Expr:
        made = module.builder.emit(op.nn.softmax(module.through(module.inputs[0], 0.03, 5), 1))
        return module.through(module.builder.emit(op.expand_dims(module.through(made, 1 / 256, -128), 2)), 1 / 256, 0)

    softmax, expand = sorted(reasons(make), reverse=True)
    assert softmax == "nn.softmax: SOFTMAX: the accelerator has no such operator"
    assert expand.startswith("expand_dims: RESHAPE: ")


def test_layouts_of_others() -> None:
    def make(module: Module) -> relax.Expr:
        weights = module.weights(np.ones((8, 3, 3, 10), np.int8), np.ones(8) / 100)
        made = op.nn.conv2d(
            module.through(module.inputs[0], 0.03, 5), weights, data_layout="NHWC", kernel_layout="OHWI"
        )
        return module.through(module.builder.emit(made), 0.1, 0)

    [reason] = reasons(make)
    assert "its layouts are NHWC and OHWI, not NCHW and OIHW: see ConvertLayout" in reason


def test_a_value_that_is_read_elsewhere() -> None:
    def make(module: Module) -> relax.Expr:
        made = module.builder.emit(op.nn.relu(module.through(module.inputs[0], 0.03, 5)))
        return module.builder.emit(op.sin(module.builder.emit(op.add(module.through(made, 0.02, -128), made))))

    assert "nn.relu: its output is also read elsewhere" in reasons(make)


def test_a_part_that_does_not_compile(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def too_large(*_: object) -> None:
        raise DoesNotFit("a layer needs more than there is")

    monkeypatch.setattr("eyrie.tvm.partition.session_of", too_large)
    with pytest.raises(ValueError, match="^a layer needs more than there is$"):
        eyrie.tvm.partitioned(small(seed))


def test_what_means_nothing(seed: int) -> None:
    module = small(seed)
    with pytest.raises(ValueError, match="unknown back end 'chip': choose from c, cosim, functional, golden, rtl"):
        eyrie.tvm.partitioned(module, "chip")
    with pytest.raises(ValueError, match="ROWS"):
        eyrie.tvm.partitioned(module, config={"ROWS": 7})
    split = eyrie.tvm.partitioned(module, "golden")
    [(variable, function)] = functions_of(split)
    split.update_func(variable, function.without_attr("eyrie.back_end"))
    with pytest.raises(ValueError, match="call eyrie.tvm.partitioned"):
        relax.transform.RunCodegen()(split)


def test_errors_reach_the_caller(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """As InputError, of a type of their own, too."""
    split = eyrie.tvm.partitioned(small(seed), "golden")

    def reject(*_: object) -> Session:
        raise Unsupported("no accelerator", remedy="find one")

    monkeypatch.setattr(codegen, "session_of", reject)
    with pytest.raises(InputError, match="^no accelerator: find one$"):
        relax.transform.RunCodegen()(split)


def test_one_line_without_the_package(tmp_path: Path) -> None:
    """tvm that cannot be imported is as good as none."""
    script = (
        "import sys\nclass No:\n def find_spec(self, name, path=None, target=None):\n"
        "  if name == 'tvm': raise ModuleNotFoundError('no', name='tvm')\n"
        "sys.meta_path.insert(0, No())\nimport eyrie.tvm"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'runtime' / 'python'}"},
    )
    assert done.stderr.endswith("tvm is not installed: make extra-tvm\n")


def test_the_module_stays_as_it_is(seed: int) -> None:
    import tvm

    module = small(seed)
    eyrie.tvm.partitioned(module, "golden")
    tvm.ir.assert_structural_equal(module, small(seed))


# ---- Pictures ----


def test_picture() -> None:
    module = Module((1, 6, 8, 10)).module(branched)
    split = eyrie.tvm.partitioned(module, "golden")
    root = xml.fromstring(eyrie.tvm.picture(module, split).encode())
    hues: dict[str, list[str]] = {}
    for box in root.iter(f"{SVG}g"):
        if "data-key" in box.attrib:
            said = [text.text for text in box.iter(f"{SVG}text") if text.get("font-weight")]
            hues.setdefault(box.find(f"{SVG}rect").get("fill"), []).extend(said)
    assert {"flip", "concat"} <= set(hues[LIGHT[HOST]]) <= {"flip", "concat", "quantize", "dequantize"}
    parts = [hues[LIGHT[hue]] for hue in ACCELERATOR if LIGHT[hue] in hues]
    assert len(parts) == len(eyrie.tvm.report(split).parts)
    assert sorted(said for part in parts for said in part) == sorted(3 * ["nn.conv2d", "nn.relu"] + 2 * ["add"])
    before = [said for said in hues[LIGHT["idle"]] if said not in ("quantize", "dequantize")]
    assert sorted(before) == sorted([*(said for part in parts for said in part), "flip", "concat"])


def test_the_example_of_the_page(seed: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    block = PYTHON.findall((ROOT / "docs" / "howto" / "tvm.md").read_text())[0]
    monkeypatch.chdir(tmp_path)
    names = {"module": small(seed), "x": np.random.default_rng(seed).normal(0, 1, (1, 6, 8, 10)).astype(np.float32)}
    exec(block, names)
    assert np.array_equal(names["made"].numpy(), run(generated(small(seed)), names["x"])[0])
    assert (tmp_path / "graph.svg").read_text().startswith("<?xml")
