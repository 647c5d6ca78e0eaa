# SPDX-License-Identifier: Apache-2.0
"""The importer: what it rejects, and how it says so."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema

from eyrie.compiler.frontend import tflite
from eyrie.compiler.frontend.tflite.contents import packed
from eyrie.compiler.ir.failure import ModelImportError
from eyrie.compiler.ir.operator import Unknown
from eyrie.compiler.operators.interpreted import Interpreted
from eyrie.model.interpreters import run_litert
from eyrie.testing.tflite_builder import Builder
from tb.common.random_operators import draw
from tests.commands.small_nets import separable
from tests.compiler.test_groups import Net


def change(model: bytes, edit: Callable[[schema.ModelT], None]) -> bytes:
    parsed = schema.ModelT.InitFromPackedBuf(model, 0)
    edit(parsed)
    return packed(parsed)


def tensor(model: schema.ModelT, operator: int, end: str = "inputs", number: int = 0) -> schema.TensorT:
    graph = model.subgraphs[0]
    return graph.tensors[getattr(graph.operators[operator], end)[number]]


def set_shape(operator: int, end: str, shape: list[int]) -> Callable[[schema.ModelT], None]:
    return lambda model: setattr(tensor(model, operator, end), "shape", shape)


def set_scale(value: float) -> Callable[[schema.ModelT], None]:
    return lambda model: setattr(tensor(model, 0).quantization, "scale", [value])


def set_option(operator: int, name: str, value: int) -> Callable[[schema.ModelT], None]:
    return lambda model: setattr(model.subgraphs[0].operators[operator].builtinOptions, name, value)


def drop_options(model: schema.ModelT) -> None:
    model.subgraphs[0].operators[2].builtinOptions = None


def fill(model: schema.ModelT, index: int) -> None:
    """Give a tensor values of its own."""
    tensor = model.subgraphs[0].tensors[index]
    tensor.buffer = len(model.buffers)
    model.buffers.append(schema.BufferT(data=np.zeros(np.prod(tensor.shape), np.uint8)))


def set_filters(name: str, value: object) -> Callable[[schema.ModelT], None]:
    return lambda model: setattr(tensor(model, 0, number=1), name, value)


def shorten_filters(model: schema.ModelT) -> None:
    buffer = model.buffers[tensor(model, 0, "inputs", 1).buffer]
    buffer.data = buffer.data[:-4]


# Of the small separable network: conv, pad, depthwise, pointwise, average, logits.
EDITS: dict[str, tuple[Callable[[schema.ModelT], None], str]] = {
    "rank": (
        set_shape(0, "inputs", [1, 2, 8, 8, 3]),
        "operator #0 CONV_2D: its input is 1 x 2 x 8 x 8 x 3, must be N x H x W x C: convert",
    ),
    "wide": (
        set_shape(0, "inputs", [1, 8, 4096, 3]),
        "operator #0 CONV_2D: makes int8 1 x 8 x 4096 x 16, its output is int8 1 x 8 x 8 x 16: convert",
    ),
    "channels": (
        set_shape(0, "inputs", [1, 8, 8, 4]),
        "operator #0 CONV_2D: filters of 16 x 3 x 3 x 3 do not go with a map of 4 channels: convert",
    ),
    "map": (
        set_shape(0, "outputs", [1, 4, 4, 16]),
        "operator #0 CONV_2D: makes int8 1 x 8 x 8 x 16, its output is int8 1 x 4 x 4 x 16: convert",
    ),
    "no rows": (set_shape(0, "inputs", [1, 0, 8, 3]), "tensor image is 1 x 0 x 8 x 3: convert"),
    "scale": (set_scale(float("nan")), "tensor image: a scale is positive and finite, got nan: quantise"),
    "small scale": (set_scale(1e-45), "tensor image: a scale of 1.4013e-45 is too small: quantise"),
    "no options": (
        drop_options,
        "operator #2 DEPTHWISE_CONV_2D: its options are missing, must be DepthwiseConv2DOptions: convert",
    ),
    "short constant": (shorten_filters, "operator #0 CONV_2D: a constant of 16 x 3 x 3 x 3 has 428 bytes, needs 432"),
    "no operators": (lambda model: model.subgraphs[0].operators.clear(), "the model has no operators"),
    "another order": (
        lambda model: model.subgraphs[0].operators.reverse(),
        "operator #0 CONV_2D: takes pool, which no operator before it makes: convert",
    ),
    "filters that are not there": (
        set_filters("buffer", 0),
        "operator #0 CONV_2D: takes conv/weight, which no operator before it makes: convert",
    ),
    "made twice": (
        lambda model: model.subgraphs[0].operators.append(model.subgraphs[0].operators[-1]),
        "operator #6 CONV_2D: makes logits, which is there already: convert",
    ),
    "output that is an input": (
        lambda model: setattr(model.subgraphs[0], "outputs", model.subgraphs[0].inputs),
        "the model's output image is one of its inputs: convert",
    ),
    "constant that is made": (
        lambda model: fill(model, model.subgraphs[0].operators[0].outputs[0]),
        "operator #0 CONV_2D: makes conv, which is a constant: convert",
    ),
    "constant that is given": (
        lambda model: fill(model, model.subgraphs[0].inputs[0]),
        "the model's input image is a constant: convert",
    ),
    "tensor that is not there": (
        lambda model: setattr(model.subgraphs[0].operators[3], "inputs", [4000, 1, 2]),
        "operator #3 CONV_2D: tensor 4000 of ",
    ),
}


@pytest.mark.parametrize("what", EDITS)
def test_rejected(what: str, seed: int, tmp_path: Path) -> None:
    edit, message = EDITS[what]
    path = tmp_path / "net.tflite"
    path.write_bytes(change(separable(np.random.default_rng(seed)), edit))
    with pytest.raises(ModelImportError) as caught:
        tflite.load(path)
    assert str(caught.value).startswith(f"{path}: {message}"), caught.value
    assert "\n" not in str(caught.value)


def rename(model: schema.ModelT) -> None:
    """The first operator becomes one that only its maker knows."""
    custom = schema.BuiltinOperator.CUSTOM
    model.operatorCodes.append(
        schema.OperatorCodeT(builtinCode=custom, deprecatedBuiltinCode=custom, customCode="Their\nOwn")
    )
    model.subgraphs[0].operators[0].opcodeIndex = len(model.operatorCodes) - 1


UNKNOWN: dict[str, tuple[Callable[[schema.ModelT], None], str, str]] = {
    "custom": (rename, "Their?Own", "no such operator is known"),
    "float filters": (set_filters("quantization", None), "CONV_2D", "its filters are without scale"),
    "input without scale": (
        lambda model: setattr(tensor(model, 0), "quantization", None),
        "CONV_2D",
        "its input 0 is without scale, and no interpreter runs it (litert: ",
    ),
}


@pytest.mark.parametrize("what", UNKNOWN)
def test_unknown_operators(what: str, seed: int) -> None:
    """An operator that Eyrie does not run is imported, and those behind it, too."""
    edit, name, reason = UNKNOWN[what]
    graph = tflite.from_bytes(change(separable(np.random.default_rng(seed)), edit))
    node, *others = graph.nodes
    assert isinstance(node.operator, Unknown) and node.operator.name == name
    assert node.operator.reason.startswith(reason), node.operator.reason
    assert len(others) == 5 and not any(isinstance(other.operator, Unknown) for other in others)


def test_names_are_different_and_print_in_one_line(seed: int, tmp_path: Path) -> None:
    path = Net(seed).conv("two\nlines", 3).write(tmp_path)
    assert tflite.load(path).output.name == "two?lines"

    def call_all_the_same(model: schema.ModelT) -> None:
        for each in model.subgraphs[0].tensors:
            each.name = "x"

    graph = tflite.from_bytes(change(path.read_bytes(), call_all_the_same))
    assert graph.input.name.startswith("x#") and graph.input.name != graph.output.name


def other_options(kind: str) -> Callable[[schema.ModelT], None]:
    def edit(model: schema.ModelT) -> None:
        operator = model.subgraphs[0].operators[0]
        operator.builtinOptionsType = getattr(schema.BuiltinOptions, kind)
        operator.builtinOptions = getattr(schema, f"{kind}T")()

    return edit


@pytest.mark.parametrize(
    ("name", "kind", "wanted"),
    [
        ("RESIZE_BILINEAR", "ResizeNearestNeighborOptions", "ResizeBilinearOptions"),
        ("ADD", "MulOptions", "AddOptions"),
        ("AVERAGE_POOL_2D", "Conv2DOptions", "Pool2DOptions"),
        ("MEAN", "SoftmaxOptions", "ReducerOptions"),
        ("LEAKY_RELU", "AddOptions", "LeakyReluOptions"),
    ],
)
def test_the_options_of_another_operator_are_rejected(name: str, kind: str, wanted: str, seed: int) -> None:
    model = change(draw(name, np.random.default_rng(seed)).model, other_options(kind))
    with pytest.raises(
        ModelImportError, match=f"^operator #0 {name}: its options are {kind}, must be {wanted}: convert"
    ):
        tflite.from_bytes(model)


@pytest.mark.parametrize(("name", "scale"), [("TANH", 1 / 128), ("LOGISTIC", 1 / 256)])
def test_scales_that_fixed_point_does_not_take(name: str, scale: float) -> None:
    """An interpreter runs the operator. The reason is the true one."""

    def model(input_scale: float) -> bytes:
        net = Builder()
        x = net.tensor((1, 4, 4, 1), scale=input_scale)
        y = net.tensor((1, 4, 4, 1), scale=scale, zero_point=-128 if name == "LOGISTIC" else 0)
        net.operator(name, [x], [y])
        return net.pack([x], [y])

    graph = tflite.from_bytes(model(9))
    [operator] = (node.operator for node in graph.nodes)
    assert isinstance(operator, Interpreted) and operator.reason == (
        "its input has scale 9, its fixed point takes less than 8: quantise its input with a smaller scale"
    )
    x = np.arange(-8, 8, dtype=np.int8).reshape(1, 4, 4, 1)
    assert (graph.run(x)[graph.output.name] == run_litert(model(9), x)[0]).all()
    below = tflite.from_bytes(model(float(np.nextafter(np.float32(8), np.float32(0)))))
    assert not any(isinstance(node.operator, Interpreted) for node in below.nodes)
