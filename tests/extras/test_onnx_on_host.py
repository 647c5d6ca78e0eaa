# SPDX-License-Identifier: Apache-2.0
"""Operators of ONNX files that onnxruntime runs on the host, alone and between operators of the accelerator."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("onnx", reason="make extra-onnx")

import onnx
from onnx import TensorProto, helper

import eyrie
from eyrie.compiler.artefact import files
from eyrie.compiler.folder import save
from eyrie.compiler.frontend.file import load
from eyrie.compiler.operators.interpreted import Interpreted
from eyrie.compiler.parts import compile_parts
from eyrie.model.interpreters import ONNXRUNTIME, run
from eyrie.runtime.back_ends.golden import golden_outputs
from eyrie.runtime.back_ends.rtl import Rtl
from eyrie.testing.samples import scaled
from tests.commands.commands import eyrie as command
from tests.extras.onnx_model import Model

pytestmark = pytest.mark.extra("onnx")

SCALE = 0.0517  # no result is half a step


def branches(model: Model, x: str) -> str:
    """Return x or -x, by its mean. Both branches take x from the graph around them."""
    graphs = {
        f"{name}_branch": helper.make_graph(
            [helper.make_node(kind, [x], [f"{name}_result"])],
            name,
            [],
            [helper.make_tensor_value_info(f"{name}_result", TensorProto.FLOAT, None)],
        )
        for name, kind in (("then", "Identity"), ("else", "Neg"))
    }
    mean = model.add("ReduceMean", x, keepdims=0)
    return model.add("If", model.add("Greater", mean, model.constant(np.float32(0))), **graphs)


def whole(model: Model, x: str) -> str:
    """Return x in eighths, rounded to zero."""
    steps = model.add("Cast", model.add("Mul", x, model.constant(np.float32(8))), to=TensorProto.INT32)
    return model.add("Mul", model.add("Cast", steps, to=TensorProto.FLOAT), model.constant(np.float32(0.125)))


def sorted_by(model: Model, x: str) -> str:
    return model.add("TopK", x, model.constant(np.array([6])), outputs=2, axis=1)


def recurrent(model: Model, x: str) -> str:
    """Return an LSTM of all pixels: 80 steps of 6 values, 3 states."""
    steps = model.add("Transpose", model.add("Reshape", x, model.constant(np.array([1, 6, -1]))), perm=(2, 0, 1))
    weights = [model.constant(model.rng.normal(0, 0.4, (1, 12, n)).astype(np.float32)) for n in (6, 3)]
    return model.add("LSTM", steps, *weights, hidden_size=3)


def one(kind: str, *others: np.ndarray, **attributes: object) -> Callable[[Model, str], str]:
    return lambda model, x: model.add(kind, x, *map(model.constant, others), **attributes)


OPERATORS: dict[str, Callable[[Model, str], str]] = {
    "selu": one("Selu"),
    "sine": one("Sin"),
    "floor": one("Floor"),
    "power": one("Pow", np.float32(3)),
    "sums": one("CumSum", np.array(1)),
    "local response": one("LRN", size=3),
    "normalised": one("InstanceNormalization", np.ones(6, np.float32), np.zeros(6, np.float32)),
    "cubic": one("Resize", np.zeros(0, np.float32), np.array([1, 1, 2, 2], np.float32), mode="cubic"),
    "product of maps": lambda model, x: model.add("MatMul", x, model.add("Transpose", x, perm=(0, 1, 3, 2))),
    "transposed convolution": lambda model, x: model.add("ConvTranspose", x, model.weights(6, 1, 2, 2), group=6),
    "chosen": lambda model, x: model.add(
        "Where", model.add("Greater", x, model.constant(np.float32(0.1))), x, model.add("Neg", x)
    ),
    "branches": branches,
    "whole numbers": whole,
    "sorted": sorted_by,
    "recurrent": recurrent,
}
KEEP_SHAPE = ("selu", "sine", "floor", "power", "sums", "local response", "normalised", "chosen", "branches", "sorted")


def expected(path: Path, *inputs: np.ndarray) -> list[np.ndarray]:
    return run(ONNXRUNTIME, path.read_bytes(), [inputs])[0]


def on_host(path: Path) -> set[str]:
    return {node.operator.name for node in load(path).nodes if isinstance(node.operator, Interpreted)}


@pytest.mark.parametrize("unsigned", [False, True], ids=["int8", "uint8"])
@pytest.mark.parametrize("name", OPERATORS)
def test_between_codes(name: str, unsigned: bool, seed: int, tmp_path: Path) -> None:
    """The same bits as onnxruntime: nothing else rounds here."""
    model = Model(seed, unsigned=unsigned)
    made = OPERATORS[name](model, model.through("x", SCALE, 5))
    path = model.write(tmp_path / "net.onnx", model.through(made, SCALE, -3))
    x = model.rng.normal(0, 1.2, model.shape).astype(np.float32)
    [wanted] = expected(path, x)
    [got] = eyrie.load(path, back_end="functional")(x).values()
    assert on_host(path) or name == "product of maps"
    steps = np.abs(got - wanted) / SCALE
    if name == "product of maps":  # of int8, in fixed point: it rounds twice, the first time to sixteenths of a step
        assert steps.max() < 1.01 and (steps > 0.5).mean() < 0.1
    else:
        assert (got == wanted).all(), steps.max()


@pytest.mark.parametrize("name", OPERATORS)
def test_of_a_float_model(name: str, seed: int, tmp_path: Path) -> None:
    model = Model(seed)
    path = model.write(tmp_path / "net.onnx", OPERATORS[name](model, "x"))
    x = model.rng.normal(0, 1.2, model.shape).astype(np.float32)
    [got] = eyrie.load(path, back_end="golden")(x).values()
    assert (got == expected(path, x)[0]).all()


@pytest.mark.parametrize("number", range(scaled(40)))
def test_random_chains(number: int, seed: int, tmp_path: Path) -> None:
    """Random operators, with and without codes between them. Layers of the accelerator round otherwise, by a step."""
    model = Model(seed + 1000 * number)
    rng, made = model.rng, "x"
    for _ in range(8):
        name = rng.choice([*KEEP_SHAPE, "convolution", "convolution", "sigmoid", "relu", "pool"])
        if name == "convolution":
            made = model.add("Conv", model.through(made, SCALE, 5), model.weights(6, 6, 3, 3), pads=(1, 1, 1, 1))
        elif name == "pool":
            made = model.add("MaxPool", made, kernel_shape=(3, 3), pads=(1, 1, 1, 1))
        elif name in ("sigmoid", "relu"):
            made = model.add(name.title(), made)
        else:
            made = OPERATORS[name](model, made)
        made = model.through(made, SCALE, -3) if rng.random() < 0.6 else made
    path = model.write(tmp_path / "net.onnx", made, model.add("Identity", made))
    x = rng.normal(0, 1.2, model.shape).astype(np.float32)
    for got, wanted in zip(eyrie.load(path, back_end="functional")(x).values(), expected(path, x), strict=True):
        assert (got.shape, got.dtype) == (wanted.shape, wanted.dtype)
        assert np.abs(got - wanted).mean() <= 0.02 * max(np.ptp(wanted), SCALE), path


def test_a_picture_of_bytes(seed: int, tmp_path: Path) -> None:
    """Bytes without a scale become real numbers on the host; the convolution runs on the accelerator."""
    model = Model(seed, (1, 3, 8, 8), source=TensorProto.UINT8)
    real = model.add("Cast", "x", to=TensorProto.FLOAT)
    scaled_down = model.through(model.add("Div", real, model.constant(np.float32(255))), 1 / 255, -128)
    made = model.add("Conv", scaled_down, model.weights(4, 3, 3, 3))
    path = model.write(tmp_path / "net.onnx", model.through(made, SCALE, 3))
    x = model.rng.integers(0, 256, model.shape).astype(np.uint8)
    [got] = eyrie.load(path, back_end="functional")(x).values()
    steps = np.abs(got - expected(path, x)[0]) / SCALE
    assert steps.max() < 1.01 and (steps > 0.5).mean() < 0.02
    assert on_host(path) == {"Cast", "Div"}
    assert [str(part.side) for part in compile_parts(path).partition.parts] == ["host", "accelerator", "host"]


def test_codes_without_a_name_of_their_own(seed: int, tmp_path: Path) -> None:
    """onnxruntime takes and gives codes, and the layer after it takes these."""
    model = Model(seed, unsigned=True)
    by = model.scale(SCALE, 5)
    largest = model.add("ReduceMax", model.add("QuantizeLinear", "x", *by), axes=(1,))
    made = model.add("Conv", model.add("DequantizeLinear", largest, *by), model.weights(4, 1, 3, 3))
    path = model.write(tmp_path / "net.onnx", model.through(made, SCALE, 3))
    x = model.rng.normal(0, 1.2, model.shape).astype(np.float32)
    [got] = eyrie.load(path, back_end="functional")(x).values()
    steps = np.abs(got - expected(path, x)[0]) / SCALE
    assert on_host(path) == {"ReduceMax"} and steps.max() < 1.01 and (steps > 0.5).mean() < 0.02
    assert [str(part.side) for part in compile_parts(path).partition.parts] == ["host", "accelerator", "host"]


def test_functions_of_a_file(seed: int, tmp_path: Path) -> None:
    """The operators of a function that the file defines take its place."""
    model = Model(seed)
    codes = model.through("x", SCALE, 5)
    made = model.add("Add", codes, codes)
    path = model.write(tmp_path / "net.onnx", model.through(made, 2 * SCALE, -3))
    file = onnx.load(path)
    [node] = (each for each in file.graph.node if each.op_type == "Add")
    node.CopyFrom(helper.make_node("Twice", [codes], [made], domain="own"))
    body = [helper.make_node("Add", ["a", "a"], ["b"])]
    file.functions.append(helper.make_function("own", "Twice", ["a"], ["b"], body, [helper.make_opsetid("", 17)]))
    file.opset_import.append(helper.make_opsetid("own", 1))
    onnx.save(file, path)
    x = model.rng.normal(0, 1.2, model.shape).astype(np.float32)
    [got] = eyrie.load(path, back_end="functional")(x).values()
    assert (got == expected(path, x)[0]).all() and not on_host(path)


def test_outputs_of_other_types(seed: int, tmp_path: Path) -> None:
    model = Model(seed)
    codes = model.through("x", SCALE, 5)
    places = model.add("ArgMax", codes, axis=1, keepdims=0)
    above = model.add("Greater", codes, model.constant(np.float32(0)))
    path = model.write(tmp_path / "net.onnx", places, above)
    x = model.rng.normal(0, 1.2, model.shape).astype(np.float32)
    got = list(eyrie.load(path, back_end="functional")(x).values())
    assert [each.dtype for each in got] == [np.int64, bool]
    assert all((mine == other).all() for mine, other in zip(got, expected(path, x), strict=True))


def test_on_the_rtl(seed: int, tmp_path: Path) -> None:
    """A part of the host between two layers of the accelerator, from the folder that the compiler writes."""
    model = Model(seed)
    first = model.through(model.add("Conv", model.through("x", SCALE, 5), model.weights(8, 6, 3, 3)), SCALE, 3)
    between = model.through(OPERATORS["local response"](model, first), SCALE, 3)
    made = model.through(model.add("Conv", between, model.weights(4, 8, 1, 1)), SCALE, 3)
    path = model.write(tmp_path / "net.onnx", made)
    save(compile_parts(path).network, tmp_path / "program")
    network = files.load(tmp_path / "program")
    inputs = [model.rng.normal(0, 1.2, (1, *model.shape)).astype(np.float32)]
    done = Rtl().run(network, inputs)
    assert len(done.accelerator) == 2
    assert (done.outputs[0] == golden_outputs(network.whole_graph(), inputs)[0]).all()


def test_images_of_a_batch(seed: int, tmp_path: Path) -> None:
    """A batch of a size in the file runs as a whole if the host has a part in it; one without a size image by image,
    where images do not mix."""
    whole = Model(seed, (4, 6, 8, 10))
    made = whole.add("CumSum", whole.through("x", SCALE), whole.constant(np.array(0)))
    path = whole.write(tmp_path / "whole.onnx", made)
    x = whole.rng.normal(0, 1.2, whole.shape).astype(np.float32)
    [got] = eyrie.load(path, back_end="functional")(x).values()
    assert (got == expected(path, x)[0]).all()

    model = Model(seed)
    made = OPERATORS["local response"](model, model.through("x", SCALE))
    path = model.write(tmp_path / "free.onnx", made, batch="N")
    [got] = eyrie.load(path, back_end="functional")(x).values()
    assert (got == expected(path, x)[0]).all()

    mixing = Model(seed)
    made = mixing.add("CumSum", mixing.through("x", SCALE), mixing.constant(np.array(0)))
    path = mixing.write(tmp_path / "mixing.onnx", made, batch="N")
    with pytest.raises(ValueError, match="CumSum: .*, and it may mix images: export the model with a first axis of a"):
        compile_parts(path)


def random_branch(model: Model, x: str) -> str:
    made = [helper.make_node("RandomNormalLike", [x], ["drawn"])]
    graph = helper.make_graph(made, "drawn", [], [helper.make_tensor_value_info("drawn", TensorProto.FLOAT, None)])
    return model.add("If", model.constant(np.array(True)), then_branch=graph, else_branch=graph)


REJECTED: dict[str, tuple[Callable[[Model, str], str], str]] = {
    "places": (one("NonZero"), "operator #2 NonZero: .*; the shape of its output is known at run time only"),
    "random": (one("RandomNormalLike"), "operator #2 RandomNormalLike: .*, and it draws random numbers"),
    "random branch": (random_branch, "operator #2 If: .*, and it draws random numbers"),
    "sequence": (
        one("SplitToSequence"),
        r"operator #2 SplitToSequence: .*, and its output \S+ is seq",
    ),
    "no operator": (
        one("QAttention", domain="com.microsoft"),
        "operator #2 QAttention: .*, and onnxruntime does not run it ",
    ),
}


@pytest.mark.parametrize("name", REJECTED)
def test_rejected(name: str, seed: int, tmp_path: Path) -> None:
    make, reason = REJECTED[name]
    model = Model(seed)
    path = model.write(tmp_path / "net.onnx", make(model, model.through("x", SCALE, 5)))
    with pytest.raises(ValueError, match=reason):
        compile_parts(path)


def test_not_as_c(seed: int, tmp_path: Path) -> None:
    model = Model(seed)
    path = model.write(tmp_path / "net.onnx", OPERATORS["selu"](model, model.through("x", SCALE, 5)))
    ended = command("c", path, "-o", tmp_path / "c")
    said = "operator #2 Selu: runs in onnxruntime and is not written as C: end the model before it"
    assert (ended.returncode, ended.stderr.splitlines()[-1]) == (1, f"eyrie c: {path}: {said}")
    assert not (tmp_path / "c").exists()
