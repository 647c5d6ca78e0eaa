# SPDX-License-Identifier: Apache-2.0
"""ONNX models against onnxruntime, and through all that takes a model."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("onnx", reason="make extra-onnx")

from eyrie.compiler.artefact import files
from eyrie.compiler.artefact.network import CompiledNetwork
from eyrie.compiler.c.sources import sources_of
from eyrie.compiler.folder import save
from eyrie.compiler.frontend.file import load
from eyrie.compiler.ir.failure import ModelImportError
from eyrie.compiler.ir.graph import Graph
from eyrie.compiler.ir.operator import Unknown
from eyrie.compiler.operators.interpreted import Interpreted
from eyrie.compiler.parts import compile_parts
from eyrie.model.interpreters import ONNXRUNTIME, run
from eyrie.runtime.back_ends.functional import Functional
from eyrie.runtime.back_ends.golden import golden_outputs
from eyrie.runtime.back_ends.rtl import Rtl
from eyrie.runtime.folders import ROOT
from eyrie.runtime.portable_c.executable import CHECKED, build_program
from tests.extras.onnx_comparison import compare, weighted
from tests.extras.onnx_model import Model
from tests.extras.onnx_networks import FORMATS, NETWORKS, images, write

pytestmark = pytest.mark.extra("onnx")

WITHIN_ONE = 0.995  # of the outputs of each operator
CLEAR = 0.03  # of the range of outputs: by so much the largest is ahead where it is no near tie
PUBLIC = ROOT.parent / "shared" / "data" / "models" / "public"  # models of others, where they are


def clean(graph: Graph) -> Graph:
    assert not [node for node in graph.nodes if isinstance(node.operator, (Interpreted, Unknown))], str(graph)
    return graph


@pytest.mark.parametrize("name", NETWORKS)
def test_networks(name: str, seed: int, tmp_path: Path) -> None:
    """Operator by operator and as a whole as onnxruntime has it; on the accelerator as the golden model has it."""
    paths = {form: tmp_path / f"{name}_{form}.onnx" for form in FORMATS}
    write(name, seed, paths, batch=None if name == "vgg" else 1)
    for path in paths.values():
        graph, pictures = clean(load(path)), images(100, seed)[0]
        found = compare(path, pictures)
        for row in found.rows:
            assert row.within_one >= WITHIN_ONE, str(found)
        assert sum(row.node.macs > 0 for row in found.rows) == weighted(graph), str(found)
        assert found.same.mean() >= 0.97 and found.same[found.margin > CLEAR].all(), str(found)
        assert (found.margin > CLEAR).mean() > 0.5
        network = compiled(path, tmp_path / path.stem)
        inputs = [pictures[:2, None]]
        done, golden = Functional().run(network, inputs), golden_outputs(network.whole_graph(), inputs)
        assert done.outputs and (done.outputs[0] == golden[0]).all()


def test_a_session_with_onnxruntimes_interface(seed: int, tmp_path: Path) -> None:
    """The names, shapes and types of onnxruntime; the values of the golden model."""
    import onnxruntime

    from eyrie import onnxruntime as ours

    paths = {name: tmp_path / f"{name}.onnx" for name in FORMATS}
    write("ds_cnn", seed, paths)
    pictures = images(4, seed)[0]
    for path in paths.values():
        theirs = onnxruntime.InferenceSession(path)
        for given in (path, path.read_bytes()):
            session = ours.InferenceSession(given, back_end="functional")
            for mine, other in (
                (session.get_inputs(), theirs.get_inputs()),
                (session.get_outputs(), theirs.get_outputs()),
            ):
                assert [(e.name, e.shape, e.type) for e in mine] == [(e.name, e.shape, e.type) for e in other]
            [name] = (each.name for each in session.get_inputs())
            [golden] = golden_outputs(load(path), [pictures[:, None]])
            assert (session.run(None, {name: pictures})[0] == golden[:, 0]).all()
    assert ours.SessionOptions is onnxruntime.SessionOptions


def compiled(path: Path, folder: Path) -> CompiledNetwork:
    save(compile_parts(path).network, folder / "program")
    return files.load(folder / "program")


@pytest.mark.parametrize("name", ["lug_ic_quantized_int8.onnx", "lug_ks_quantized_int8.onnx"])
@pytest.mark.skipif(not PUBLIC.is_dir(), reason="models of others are not here")
def test_models_of_others(name: str, tmp_path: Path) -> None:
    """One of them is of batches of 16."""
    from tests.extras.onnx_comparison import random_images

    pictures = random_images(PUBLIC / name, 16, 1)
    found = compare(PUBLIC / name, pictures)
    assert all(row.within_one >= WITHIN_ONE for row in found.rows) and not found.unseen, str(found)
    assert found.same.all()
    network = compiled(PUBLIC / name, tmp_path)
    inputs = [pictures[:1, None]]
    golden = golden_outputs(network.whole_graph(), inputs)
    assert (Functional().run(network, inputs).outputs[0] == golden[0]).all()


# ---- Single operators ----


def check(model: Model, path: Path, output: str, **options: object) -> Graph:
    """Against onnxruntime, all operators that it sees."""
    graph = clean(load(model.write(path, output, **options)))
    given = model.rng.normal(0, 1.2, (4, *model.shape[1:])).astype(np.float32)
    found = compare(path, given)
    for row in found.rows:
        assert row.within_one >= WITHIN_ONE and row.equal >= 0.5, f"{found}\n{graph}"
    computed = {str(node) for node in graph.nodes if node.operator.name not in ("QUANTIZE", "TRANSPOSE", "DEQUANTIZE")}
    assert {str(row.node) for row in found.rows} & computed or not computed, f"{found}\n{graph}"
    return graph


SAME = {"kernel_shape": (3, 3), "strides": (2, 2)}
OPERATORS = {
    "relu": ("Relu", {}, ()),
    "clip": ("Clip", {}, (np.float32(-0.5), np.float32(0.9))),
    "sigmoid": ("Sigmoid", {}, ()),
    "tanh": ("Tanh", {}, ()),
    "hard swish": ("HardSwish", {}, ()),
    "hard sigmoid": ("HardSigmoid", {}, ()),
    "leaky": ("LeakyRelu", {"alpha": 0.2}, ()),
    "elu": ("Elu", {}, ()),
    "exp": ("Exp", {}, ()),
    "abs": ("Abs", {}, ()),
    "neg": ("Neg", {}, ()),
    "erf": ("Erf", {}, ()),
    "softplus": ("Softplus", {}, ()),
    "prelu": ("PRelu", {}, (np.linspace(0.1, 0.6, 6, dtype=np.float32).reshape(6, 1, 1),)),
    "add constant": ("Add", {}, (np.linspace(-1, 1, 6, dtype=np.float32).reshape(6, 1, 1),)),
    "div constant": ("Div", {}, (np.linspace(1, 2, 6, dtype=np.float32).reshape(6, 1, 1),)),
    "square": ("Pow", {}, (np.float32(2),)),
    "batch norm": (
        "BatchNormalization",
        {"epsilon": 1e-3},
        tuple(np.linspace(low, high, 6, dtype=np.float32) for low, high in ((-1, 2), (0, 1), (-1, 1), (0.5, 2))),
    ),
    "max": ("MaxPool", SAME | {"auto_pad": "SAME_UPPER"}, ()),
    "max, lower": ("MaxPool", SAME | {"auto_pad": "SAME_LOWER"}, ()),
    "max, up": ("MaxPool", SAME | {"ceil_mode": 1}, ()),
    "max, pads": ("MaxPool", SAME | {"pads": (1, 0, 0, 2)}, ()),
    "average": ("AveragePool", SAME, ()),
    "average, pads": ("AveragePool", SAME | {"pads": (1, 0, 0, 1)}, ()),
    "average, counted": ("AveragePool", SAME | {"pads": (1, 0, 0, 1), "count_include_pad": 1}, ()),
    "average, up": ("AveragePool", SAME | {"ceil_mode": 1}, ()),
    "global average": ("GlobalAveragePool", {}, ()),
    "global max": ("GlobalMaxPool", {}, ()),
    "mean": ("ReduceMean", {"axes": (2,), "keepdims": 0}, ()),
    "transpose": ("Transpose", {"perm": (0, 3, 1, 2)}, ()),
    "flatten": ("Flatten", {}, ()),
    "reshape": ("Reshape", {}, (np.array([0, -1, 4]),)),
    "unsqueeze": ("Unsqueeze", {}, (np.array([2]),)),
    "pad": ("Pad", {}, (np.array([0, 0, 1, 2, 0, 0, 0, 3]), np.float32(0.4))),
    "slice": ("Slice", {}, (np.array([1, -6]), np.array([6, 99]), np.array([1, 3]), np.array([2, 1]))),
    "gather": ("Gather", {"axis": 1}, (np.array([4, 0, -1]),)),
    "deeper": ("DepthToSpace", {"blocksize": 2}, ()),
    "deeper, by columns": ("DepthToSpace", {"blocksize": 2, "mode": "CRD"}, ()),
    "shallower": ("SpaceToDepth", {"blocksize": 2}, ()),
    "softmax": ("Softmax", {"axis": 1}, ()),
    "nearest": (
        "Resize",
        {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"},
        (None, np.array([1, 1, 2, 3], np.float32)),
    ),
    "linear": ("Resize", {"mode": "linear"}, (None, np.array([1, 1, 2, 2], np.float32))),
}


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("unsigned", [False, True])
def test_operators(name: str, unsigned: bool, seed: int, tmp_path: Path) -> None:
    kind, attributes, constants = OPERATORS[name]
    shape = (1, 8, 8, 10) if "deeper" in name else (1, 6, 8, 10)
    model = Model(seed, shape, unsigned)
    others = ["" if values is None else model.constant(values) for values in constants]
    made = model.add(kind, model.through("x", 0.03, 5), *others, **attributes)
    scale, zero = (1 / 256, -128) if kind in ("Softmax", "Sigmoid", "HardSigmoid") else (0.03, 5)
    scale = 0.02 if kind in ("ReduceMean", "AveragePool", "GlobalAveragePool") else scale
    check(model, tmp_path / "net.onnx", model.through(made, scale, zero))


CONVOLUTIONS = {
    "same": ((8, 6, 3, 3), {"auto_pad": "SAME_UPPER", "strides": (2, 2)}),
    "pads": ((8, 6, 3, 2), {"pads": (1, 0, 2, 1)}),
    "groups": ((6, 2, 3, 3), {"group": 3, "dilations": (2, 1)}),
    "depthwise": ((12, 1, 3, 3), {"group": 6}),
}


@pytest.mark.parametrize("name", CONVOLUTIONS)
@pytest.mark.parametrize("unsigned", [False, True])
def test_convolutions(name: str, unsigned: bool, seed: int, tmp_path: Path) -> None:
    (shape, attributes), model = CONVOLUTIONS[name], Model(seed, unsigned=unsigned)
    bias = model.constant(model.rng.normal(0, 0.5, shape[0]).astype(np.float32))
    made = model.add("Conv", model.through("x", 0.03, 5), model.weights(*shape), bias, **attributes)
    check(model, tmp_path / "net.onnx", model.through(model.add("Relu", made), 0.02, -128))


TRANSPOSED = {
    "by two": ((6, 8, 2, 2), {"strides": (2, 2)}, {}),
    "overlapping": ((6, 8, 3, 3), {"strides": (2, 2), "pads": (1, 1, 1, 1), "output_padding": (1, 1)}, {}),
    "other pads": ((6, 5, 4, 3), {"strides": (3, 2), "pads": (2, 0, 1, 3), "output_padding": (2, 1)}, {}),
    "as large": ((6, 8, 3, 3), {"pads": (1, 1, 1, 1)}, {}),
    "same": ((6, 8, 4, 4), {"strides": (2, 2), "auto_pad": "SAME_UPPER"}, {}),
    "to a shape": ((6, 8, 4, 4), {"strides": (2, 2), "output_shape": (16, 20)}, {}),
    "columns": ((6, 8, 4), {"strides": (2,), "pads": (1, 1)}, {"shape": (1, 6, 20)}),
}


@pytest.mark.parametrize("unsigned", [False, True], ids=["int8", "uint8"])
@pytest.mark.parametrize("name", TRANSPOSED)
def test_transposed_convolutions(name: str, unsigned: bool, seed: int, tmp_path: Path) -> None:
    shape, attributes, options = TRANSPOSED[name]
    model = Model(seed, unsigned=unsigned, **options)
    bias = model.constant(model.rng.normal(0, 0.5, shape[1]).astype(np.float32))
    made = model.add("ConvTranspose", model.through("x", 0.03, 5), model.weights(*shape, axis=1), bias, **attributes)
    check(model, tmp_path / "net.onnx", model.through(model.add("Relu", made), 0.02, -128))


@pytest.mark.parametrize("turned", [False, True])
def test_gemm_behind_a_batch_without_a_size(turned: bool, seed: int, tmp_path: Path) -> None:
    """The batch is found by Shape, Gather and Concat, as PyTorch exports view(x.size(0), -1)."""
    model = Model(seed)
    x = model.through("x", 0.03, 5)
    size = model.add("Gather", model.add("Shape", x), model.constant(np.array(0)), axis=0)
    to = model.add(
        "Concat", model.add("Unsqueeze", size, model.constant(np.array([0]))), model.constant(np.array([-1])), axis=0
    )
    weights = model.weights(*((20, 480) if turned else (480, 20)), axis=0 if turned else 1)
    made = model.add(
        "Gemm",
        model.add("Reshape", x, to),
        weights,
        model.constant(model.rng.normal(0, 1, 20).astype(np.float32)),
        transB=int(turned),
    )
    graph = check(model, tmp_path / "net.onnx", model.through(made, 0.05, 2), batch="N")
    assert graph.input.shape == (1, 6, 8, 10)


QLINEAR = {
    "QLinearSigmoid": ({}, (1 / 256, -128)),
    "QLinearLeakyRelu": ({"alpha": 0.1}, (0.03, 2)),
    "QLinearGlobalAveragePool": ({}, (0.01, 0)),
    "QLinearAveragePool": (SAME, (0.02, 0)),
    "QLinearSoftmax": ({"axis": 1, "opset": 13}, (1 / 256, -128)),
}


@pytest.mark.parametrize("kind", QLINEAR)
def test_operators_of_codes(kind: str, seed: int, tmp_path: Path) -> None:
    model, (attributes, to) = Model(seed, unsigned=True), QLINEAR[kind]
    by, result = model.scale(0.03, 5), model.scale(*to)
    made = model.add(kind, model.add("QuantizeLinear", "x", *by), *by, *result, domain="com.microsoft", **attributes)
    check(model, tmp_path / "net.onnx", model.add("DequantizeLinear", made, *result))


@pytest.mark.parametrize("kind", ["QLinearAdd", "QLinearMul", "QLinearConcat"])
def test_two_tensors_of_codes(kind: str, seed: int, tmp_path: Path) -> None:
    model = Model(seed, unsigned=True)
    first, second, result = model.scale(0.03, 5), model.scale(0.008, -3), model.scale(0.05, 1)
    a, b = model.add("QuantizeLinear", "x", *first), model.add("QuantizeLinear", "x", *second)
    if kind == "QLinearConcat":
        made = model.add(kind, *result, a, *first, b, *second, domain="com.microsoft", axis=1)
    else:
        made = model.add(kind, a, *first, b, *second, *result, domain="com.microsoft")
    check(model, tmp_path / "net.onnx", model.add("DequantizeLinear", made, *result))


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("known", [False, True])
def test_matrix_products(known: bool, turned: bool, seed: int, tmp_path: Path) -> None:
    """Both operands depend on the input, as in attention, or one is a constant."""
    model = Model(seed)
    x = model.through("x", 0.03, 5)
    constant = model.constant(model.rng.normal(0, 0.1, (6, 10, 7)).astype(np.float32))
    y = constant if known else model.add("Transpose", x, perm=(0, 1, 3, 2))
    x, y = (y, model.through("x", 0.02, -3)) if turned and not known else (x, y)
    check(model, tmp_path / "net.onnx", model.through(model.add("MatMul", x, y), 0.03 if known else 0.06, 2))


def test_matrix_product_of_codes(seed: int, tmp_path: Path) -> None:
    model = Model(seed, unsigned=True)
    first, second, result = model.scale(0.03, 5), model.scale(0.02, -3), model.scale(0.06, 1)
    a, b = model.add("QuantizeLinear", "x", *first), model.add("QuantizeLinear", "x", *second)
    made = model.add("QLinearMatMul", a, *first, model.add("Transpose", b, perm=(0, 1, 3, 2)), *second, *result)
    check(model, tmp_path / "net.onnx", model.add("DequantizeLinear", made, *result))


# ---- What is rejected ----


DAMAGED = {
    "half": lambda data: data[: len(data) // 2],
    "no graph": lambda data: data[:4],
    "noise": lambda data: data[:40] + bytes(200) + data[240:],
}


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_files(name: str, seed: int, tmp_path: Path) -> None:
    model = Model(seed)
    path = model.write(tmp_path / "net.onnx", model.through("x", 0.03))
    path.write_bytes(DAMAGED[name](path.read_bytes()))
    with pytest.raises(ModelImportError, match=f"^{path}: (damaged|not a)"):
        load(path)


def test_weights_in_another_file(seed: int, tmp_path: Path) -> None:
    """As PyTorch exports them. Without that file, one line says so."""
    import onnx

    model = Model(seed)
    made = model.through(model.add("Conv", model.through("x", 0.03), model.weights(8, 6, 3, 3)), 0.03)
    path = model.write(tmp_path / "net.onnx", made)
    graph = load(path)
    onnx.save(onnx.load(path), path, save_as_external_data=True, location="net.data", size_threshold=0)
    assert str(load(path)) == str(graph)
    x = model.rng.normal(0, 1, model.shape).astype(np.float32)
    assert (load(path).run(x)[graph.output.name] == graph.run(x)[graph.output.name]).all()
    (tmp_path / "net.data").unlink()
    with pytest.raises(ModelImportError, match=f"^{path}: its weights are in another file .*: keep the files in one"):
        load(path)


def test_one_line_without_the_package(tmp_path: Path, seed: int) -> None:
    """onnx that cannot be imported is as good as none."""
    model = Model(seed)
    model.write(tmp_path / "net.onnx", model.through("x", 0.03))
    hidden = tmp_path / "hidden" / "sitecustomize.py"
    hidden.parent.mkdir()
    hidden.write_text(
        "import sys\nclass No:\n def find_spec(self, name, path=None, target=None):\n"
        "  if name == 'onnx': raise ModuleNotFoundError('no', name='onnx')\n"
        "sys.meta_path.insert(0, No())\n"
    )
    run = subprocess.run(
        [sys.executable, "-m", "eyrie", "compile", tmp_path / "net.onnx", "-o", tmp_path / "out"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": f"{hidden.parent}{os.pathsep}{ROOT}"},
    )
    assert run.stderr == f"eyrie compile: {tmp_path / 'net.onnx'}: onnx is not installed: make extra-onnx\n"


# ---- Through all that takes a model ----


@pytest.fixture(scope="module")
def small(seed: int, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A convolution, a sum, a pool and a layer of outputs, with PyTorch's order of axes."""
    model = Model(seed, (1, 3, 8, 8))
    x = model.through("x", 0.03, 5)
    first = model.through(
        model.add("Relu", model.add("Conv", x, model.weights(8, 3, 3, 3), pads=(1, 1, 1, 1))), 0.02, -128
    )
    second = model.through(model.add("Conv", first, model.weights(8, 8, 1, 1)), 0.02, 3)
    joined = model.through(model.add("Add", first, second), 0.03, -40)
    pooled = model.add("MaxPool", joined, kernel_shape=(2, 2), strides=(2, 2))
    made = model.add("Gemm", model.add("Flatten", pooled), model.weights(10, 128), transB=1)
    return model.write(tmp_path_factory.mktemp("small") / "small.onnx", model.through(made, 0.03, 1))


def test_on_the_rtl(small: Path, tmp_path: Path, seed: int) -> None:
    network = compiled(small, tmp_path)
    inputs = [np.random.default_rng([seed, 4]).normal(0, 1, (1, 1, 3, 8, 8)).astype(np.float32)]
    done = Rtl().run(network, inputs)
    assert done.outputs and (done.outputs[0] == golden_outputs(network.whole_graph(), inputs)[0]).all()


def test_as_c(small: Path, tmp_path: Path, seed: int) -> None:
    inputs = [np.random.default_rng([seed, 4]).normal(0, 1, (3, 1, 3, 8, 8)).astype(np.float32)]
    graph = load(small)
    expected = np.stack([graph.run(each)[graph.output.name] for each in inputs[0]])
    made = build_program([sources_of(graph, "network")], tmp_path / "c", (*CHECKED, "-O2")).run(inputs)
    assert (made[0].reshape(expected.shape) == expected).all()


def test_ties_of_inputs_round_to_even(seed: int, tmp_path: Path) -> None:
    """In the golden model and in C, as in onnxruntime."""
    model = Model(seed)
    path = model.write(tmp_path / "net.onnx", model.through("x", 0.5, 3))
    x = (np.arange(480, dtype=np.float32).reshape(model.shape) - 240) / 4
    [wanted] = run(ONNXRUNTIME, path.read_bytes(), [(x,)])[0]
    graph = load(path)
    made = build_program([sources_of(graph, "network")], tmp_path / "c", (*CHECKED, "-O2")).run([x[None]])
    assert (graph.run(x)[graph.output.name] == wanted).all() and (made[0].reshape(wanted.shape) == wanted).all()


def test_commands(small: Path, tmp_path: Path) -> None:
    def eyrie(*words: object) -> str:
        run = subprocess.run(
            [sys.executable, "-m", "eyrie", *map(str, words)],
            capture_output=True,
            text=True,
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
        )
        assert run.returncode == 0, run.stdout + run.stderr
        return run.stdout

    eyrie("compile", small, "-o", tmp_path / "out")
    np.save(tmp_path / "x.npy", np.zeros((1, 3, 8, 8), np.float32))
    eyrie(
        "run",
        tmp_path / "out",
        "--input",
        tmp_path / "x.npy",
        "--output",
        tmp_path / "y.npy",
        "--back-end",
        "functional",
    )
    assert np.load(tmp_path / "y.npy").size == 10
    assert "1 ok" in eyrie("zoo", small.parent, "--rtl-macs", 0)
