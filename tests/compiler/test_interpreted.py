# SPDX-License-Identifier: Apache-2.0
"""Operators without a golden function run in an interpreter; networks with variables remember."""

import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema

import eyrie
from eyrie.compiler.artefact.network import HostSubgraph
from eyrie.compiler.frontend import tflite
from eyrie.compiler.ir.failure import ModelImportError
from eyrie.compiler.ir.graph import Graph
from eyrie.compiler.operators.fully_connected import FullyConnected
from eyrie.compiler.operators.interpreted import Interpreted
from eyrie.compiler.passes.partition import partition
from eyrie.measure.expected import references
from eyrie.model.config import DEFAULT
from eyrie.model.errors import InputError
from eyrie.model.interpreters import APART, Rejected, run
from eyrie.model.operators.reference import Reference
from eyrie.runtime.programs import compiled
from eyrie.testing.tflite_builder import STEPS, Builder
from tests.compiler.streaming_nets import FRAME, recurrent, streaming
from tests.compiler.test_tflite import change

FRAMES = 8


def interpreted(graph: Graph) -> dict[str, str]:
    """Return the interpreters of a graph's operators."""
    found = (node.operator for node in graph.nodes)
    return {operator.name: operator.interpreter for operator in found if isinstance(operator, Interpreted)}


def convolution(rng: np.random.Generator, kind: str, **options: object) -> bytes:
    net = Builder()
    scale = None if kind == "float32" else 0.1
    x, y = (net.tensor((1, 5, 5, 4), kind, scale) for _ in range(2))
    filters = net.tensor((4, 3, 3, 4), "int8", 0.01, data=rng.integers(-127, 128, (4, 3, 3, 4)))
    bias_type = {"int8": "int32", "int16": "int64", "float32": "float32"}[kind]
    bias = net.tensor((4,), bias_type, scale and 0.001, data=rng.integers(-500, 500, 4))
    net.operator("CONV_2D", [x, filters, bias], [y], **STEPS | options)
    return net.pack([x], [y])


@pytest.mark.parametrize(
    ("kind", "options", "reason"),
    [
        ("int8", {"fusedActivationFunction": 4}, "fused activation TANH; supported are NONE, "),
        ("int16", {}, "its input 0 is int16, not int8"),
        ("float32", {}, "its input 0 is float32, not int8"),
    ],
)
def test_a_convolution_that_has_no_golden_function(kind: str, options: dict, reason: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    model = convolution(rng, kind, **options)
    graph = tflite.from_bytes(model)
    [node] = graph.nodes
    assert isinstance(node.operator, Interpreted) and node.operator.reason.startswith(reason)
    assert node.elements == 5 * 5 * 4 * 3 * 3 * 4
    x = rng.integers(-100, 100, graph.input.shape).astype(kind)
    assert (graph.run(x)[graph.output.name] == run(Reference.LITERT, model, [[x]])[0][0]).all()


@pytest.mark.parametrize("last", ["LOGISTIC", "RSQRT", "EXP", "GELU"])
def test_fully_connected_rounds_as_what_runs_the_network(last: str, seed: int) -> None:
    """tflite-micro has LOGISTIC and RSQRT only. The two interpreters round some of many sums differently."""
    rng, net = np.random.default_rng(seed), Builder()
    x, made, y = (
        net.tensor((400, shape), "int8", *at) for shape, *at in ((32, 0.06, -4), (64, 0.05, -128), (64, 1 / 256, -128))
    )
    filters = net.tensor((64, 32), "int8", 0.002, data=rng.integers(-127, 128, (64, 32)))
    net.operator("FULLY_CONNECTED", [x, filters], [made])
    net.operator(last, [made], [y])
    model = net.pack([x], [made, y])
    graph, values = tflite.from_bytes(model), rng.integers(-128, 128, (400, 32)).astype(np.int8)
    layer = graph.nodes[0].operator
    assert isinstance(layer, FullyConnected) and layer.once == (last in ("EXP", "GELU"))
    reference, *_ = references(graph)
    assert reference == (Reference.LITERT if layer.once else Reference.MICRO)
    wanted = run(reference, model, [[values]])[0]
    found = graph.run(values)
    for output, tensor in zip(wanted, graph.outputs, strict=True):
        np.testing.assert_array_equal(found[tensor.name], output, strict=True)
    other = replace(graph.nodes[0], operator=replace(layer, once=not layer.once))
    assert np.any(other.run((values,))[0] != wanted[0])


def test_weights_of_four_bits(seed: int) -> None:
    """Arrays have no such type; only the interpreter reads the constants."""
    rng, net = np.random.default_rng(seed), Builder()
    x, y = net.tensor((1, 8), "int8", 0.1, 3), net.tensor((1, 4), "int8", 0.2, -5)
    drawn = rng.integers(-8, 8, (4, 8))
    weights, bias = net.tensor((4, 8), "int8", 0.05, data=drawn), net.tensor((4,), "int32", 0.005, data=[9, -9, 0, 70])
    net.operator("FULLY_CONNECTED", [x, weights, bias], [y])
    of_eight_bits = net.pack([x], [y])

    def pack(model: schema.ModelT) -> None:
        tensor = model.subgraphs[0].tensors[weights]
        low, high = drawn.reshape(-1, 2).T & 15
        tensor.type, model.buffers[tensor.buffer].data = schema.TensorType.INT4, (low | high << 4).astype(np.uint8)

    graph = tflite.from_bytes(change(of_eight_bits, pack))
    assert interpreted(graph) == {"FULLY_CONNECTED": "litert"}
    values = rng.integers(-128, 128, (1, 8)).astype(np.int8)
    assert (graph.run(values)[graph.output.name] == run(Reference.LITERT, of_eight_bits, [[values]])[0][0]).all()


def test_layers_of_real_numbers_get_advice(seed: int) -> None:
    said = str(partition(tflite.from_bytes(convolution(np.random.default_rng(seed), "float32"))))
    assert "host    3,600 operations, 100.000 % of all" in said
    assert said.endswith("1 layer has weights or values that are not int8: quantise the model (eyrie quantize-model)")


def test_shapes_that_the_file_leaves_open_are_found(seed: int) -> None:
    """A dilated convolution of real numbers, whose file has wrong shapes and computes pads from the input's shape."""
    net = Builder()
    x, blocks, made, y = (
        net.tensor(shape, "float32") for shape in ((1, 5, 5, 2), (1, 1, 1, 2), (1, 1, 1, 2), (1, 1, 1, 2))
    )
    for index in (blocks, made, y):
        net.tensors[index].shapeSignature = [-1, -1, -1, 2]
    shape, rows, pads, crops = (net.tensor(size, "int32") for size in ((4,), (1,), (2, 2), (2, 2)))
    one, two = (net.tensor((1,), "int32", data=[value]) for value in (1, 2))
    sizes = net.tensor((2,), "int32", data=[2, 2])
    none = net.tensor((2, 2), "int32", data=[[0, 0], [0, 0]])
    net.operator("SHAPE", [x], [shape], outType=schema.TensorType.INT32)
    net.operator("STRIDED_SLICE", [shape, one, two, one], [rows])
    padding = net.tensor((2, 2), "int32", data=[[0, 1], [0, 1]])
    factor = net.tensor((1,), "int32")
    net.operator("FLOOR_MOD", [rows, two], [factor])
    net.operator("MUL", [padding, factor], [pads])
    net.operator("ADD", [pads, none], [crops])
    net.operator("SPACE_TO_BATCH_ND", [x, sizes, pads], [blocks])
    net.operator("NEG", [blocks], [made])
    net.operator("BATCH_TO_SPACE_ND", [made, sizes, crops], [y])
    model = net.pack([x], [y])
    graph = tflite.from_bytes(model)
    assert [node.operator.name for node in graph.nodes] == ["SPACE_TO_BATCH_ND", "NEG", "BATCH_TO_SPACE_ND"]
    assert graph.output.shape == (1, 5, 5, 2) and graph.nodes[0].outputs[0].shape == (4, 3, 3, 2)
    values = np.random.default_rng(seed).normal(size=(1, 5, 5, 2)).astype(np.float32)
    assert (graph.run(values)[graph.output.name] == -values).all()


def test_a_pool_with_scales_that_nearly_agree(seed: int) -> None:
    """LiteRT takes them as the same; the golden function does not."""
    net = Builder()
    x, y = net.tensor((1, 4, 4, 8), "int8", 0.1, 3), net.tensor((1, 2, 2, 8), "int8", np.float32(0.1) + 1e-7, 3)
    net.operator("AVERAGE_POOL_2D", [x], [y], filterHeight=2, filterWidth=2, strideH=2, strideW=2)
    model = net.pack([x], [y])
    graph = tflite.from_bytes(model)
    assert interpreted(graph) == {"AVERAGE_POOL_2D": "litert"}
    values = np.random.default_rng(seed).integers(-128, 128, (1, 4, 4, 8)).astype(np.int8)
    assert (graph.run(values)[graph.output.name] == run(Reference.LITERT, model, [[values]])[0][0]).all()


def test_an_interpreter_that_rejects_values_or_ends_says_so() -> None:
    net = Builder()
    x, places, y = net.tensor((4, 2), "float32"), net.tensor((3,), "int32"), net.tensor((3, 2), "float32")
    net.operator("GATHER", [x, places], [y], axis=0)
    graph = tflite.from_bytes(net.pack([x, places], [y]))
    values = np.arange(8, dtype=np.float32).reshape(4, 2)
    assert (graph.run(values, np.int32([3, 0, 3]))[graph.output.name] == values[[3, 0, 3]]).all()
    with pytest.raises(InputError, match="^GATHER in litert: .*gather index out of bounds"):
        graph.run(values, np.int32([3, 0, 4]))
    with pytest.raises(Rejected, match="^it ended its process$"):
        APART._result(_end, b"")
    assert (graph.run(values, np.int32([1, 0, 3]))[graph.output.name] == values[[1, 0, 3]]).all()


def _end(_: bytes) -> None:
    import os

    os._exit(1)


@pytest.mark.parametrize(("kind", "starts"), [("int8", True), ("int8", False), ("uint8", True)])
def test_variables_are_kept_between_calls(kind: str, starts: bool, seed: int, tmp_path: Path) -> None:
    """By all back ends, frame by frame and several at once, and apart by each session."""
    rng = np.random.default_rng(seed)
    model, path = streaming(rng, kind, starts), tmp_path / "net.tflite"
    path.write_bytes(model)
    limits = np.iinfo(kind)
    frames = rng.integers(limits.min, limits.max + 1, (FRAMES, *FRAME)).astype(kind)
    reference = Reference.MICRO if kind == "int8" else Reference.LITERT
    wanted = np.stack([outputs[0] for outputs in run(reference, model, [[frame] for frame in frames])])
    assert (wanted[3:] != np.stack([run(reference, model, [[frame]])[0][0] for frame in frames[3:]])).any()
    for back_end in ("functional", "rtl", "cosim", "golden", "c") if kind == "int8" else ("functional", "c"):
        session, other = (eyrie.load(path, back_end=back_end) for _ in range(2))
        assert len(session.inputs) == len(session.outputs) == 1
        [name] = (port.name for port in session.outputs)
        for frame, expected in zip(frames[:3], wanted):
            assert (session.golden(frame)[name] == expected).all()
            assert (session(frame)[name] == expected).all()
        assert (session(frames[3:, 0])[name] == wanted[3:, 0]).all()
        assert (other(frames[0])[name] == wanted[0]).all()
        session.reset()
        assert (session(frames[:, 0])[name] == wanted[:, 0]).all()
    assert not session.network.host


def test_calls_of_threads_come_one_after_the_other(seed: int, tmp_path: Path) -> None:
    """The state after calls of the same frame does not depend on their order."""
    rng = np.random.default_rng(seed)
    (tmp_path / "net.tflite").write_bytes(streaming(rng))
    frame = rng.integers(-128, 128, FRAME).astype(np.int8)
    session = eyrie.load(tmp_path / "net.tflite", back_end="functional")
    made: list = []
    threads = [threading.Thread(target=lambda: made.append(session(frame))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    [name] = made[0]
    wanted = eyrie.load(tmp_path / "net.tflite", back_end="functional")(np.stack([frame[0]] * 4))[name]
    assert sorted(each[name].tobytes() for each in made) == sorted(each.tobytes() for each in wanted)


def test_variables_of_an_operator(seed: int, tmp_path: Path) -> None:
    for number in range(20):  # until all outputs differ
        rng = np.random.default_rng([seed, number])
        model, frames = recurrent(rng), rng.integers(-128, 128, (FRAMES, 1, 6)).astype(np.int8)
        wanted = np.stack([outputs[0] for outputs in run(Reference.LITERT, model, [[frame] for frame in frames])])
        if len(np.unique(wanted, axis=0)) == FRAMES:
            break
    (tmp_path / "net.tflite").write_bytes(model)
    session = eyrie.load(tmp_path / "net.tflite", back_end="functional")
    assert interpreted(session.graph) == {"SVDF": "litert"} and len(session.graph.start) == 1
    [made] = session(frames[:, 0]).values()
    assert (made == wanted[:, 0]).all() and len(np.unique(wanted, axis=0)) == FRAMES
    with pytest.raises(InputError, match=r"SVDF: runs in litert and is not written as C: .*end the model before it$"):
        eyrie.load(tmp_path / "net.tflite", back_end="c")


def test_a_variable_has_one_scale(seed: int) -> None:
    model = streaming(np.random.default_rng(seed))
    edited = change(model, lambda file: setattr(file.subgraphs[0].tensors[3].quantization, "scale", np.float32([0.2])))
    with pytest.raises(ModelImportError, match="variable last is written as int8 1 x 3 x 1 x 8 and read as int8 1 x 3"):
        tflite.from_bytes(edited)


def conditional(keeps: bool) -> bytes:
    """Return a network that negates its input if a condition holds; keeps: one branch has a variable of its own."""
    net = Builder()
    condition, x, y = net.tensor((1,), "bool"), net.tensor((2, 3), "float32"), net.tensor((2, 3), "float32")
    net.operator("IF", [condition, x], [y], thenSubgraphIndex=1, elseSubgraphIndex=2)
    branches = []
    for name in ("NEG", "SQUARE"):
        branch = Builder(codes=net.codes, buffers=net.buffers)
        source, made = branch.tensor((2, 3), "float32"), branch.tensor((2, 3), "float32")
        branch.operator(name, [source], [made])
        branch.tensors[made].isVariable = keeps
        branches.append(
            schema.SubGraphT(
                name=name, tensors=branch.tensors, inputs=[source], outputs=[made], operators=branch.operators
            )
        )
    return change(net.pack([condition, x], [y]), lambda model: model.subgraphs.extend(branches))


def test_control_flow(seed: int) -> None:
    model = conditional(False)
    graph = tflite.from_bytes(model)
    assert interpreted(graph) == {"IF": "litert"}
    x = np.random.default_rng(seed).normal(size=(2, 3)).astype(np.float32)
    for holds, wanted in ((True, -x), (False, x * x)):
        assert (graph.run(np.array([holds]), x)[graph.output.name] == wanted).all()
    [node] = tflite.from_bytes(conditional(True)).nodes
    assert str(node.operator).endswith("subgraph 1, which it may call, keeps a state or draws random numbers")


def test_a_state_goes_from_image_to_image(seed: int, tmp_path: Path) -> None:
    (tmp_path / "net.tflite").write_bytes(streaming(np.random.default_rng(seed)))
    with pytest.raises(InputError, match="net.tflite: it keeps a state from image to image: leave out --batch$"):
        compiled(tmp_path / "net.tflite", DEFAULT, 2)


def test_buffers_after_the_tables_are_read(seed: int) -> None:
    """Large models, and all that ai-edge-quantizer makes, have their constants there."""
    rng = np.random.default_rng(seed)
    plain = convolution(rng, "float32")
    tail, contents = [], schema.ModelT.InitFromPackedBuf(plain, 0).buffers

    def move(model: schema.ModelT, begin: int) -> None:
        for buffer, held in zip(model.buffers, contents, strict=True):
            if held.data is not None:
                buffer.data, buffer.offset, buffer.size = None, begin + sum(map(len, tail)), len(held.data)
                tail.append(bytes(held.data))

    tables = change(plain, lambda model: move(model, 1 << 20))
    tail.clear()
    tables = change(plain, lambda model: move(model, len(tables)))
    moved = tables + b"".join(tail)
    x = rng.normal(size=(1, 5, 5, 4)).astype(np.float32)
    outputs = [graph.run(x)[graph.output.name] for graph in map(tflite.from_bytes, (plain, moved))]
    assert (outputs[0] == outputs[1]).all() and (run(Reference.LITERT, moved, [[x]])[0][0] == outputs[0]).all()
    with pytest.raises(ModelImportError, match="damaged TensorFlow Lite file: buffer . lies beyond its end"):
        tflite.from_bytes(moved[:-1])


# ---- Functions of one value ----


def layer_norm(rng: np.random.Generator, shape: tuple[int, ...], variance: int = -128) -> bytes:
    """Return a network: layer normalisation over channels, then GELU; of several images, LOGISTIC and a dense layer.

    variance: the zero point of the variance
    """
    net, one = Builder(), (*shape[:-1], 1)
    x, squares, centred, normal, y = (
        net.tensor(shape, "int8", *at) for at in ((0.05, 3), (0.02, -128), (0.05, -2), (0.03, 1), (0.03, -100))
    )
    mean = net.tensor(one, "int8", 0.05, 3)
    spread, raised = (net.tensor(one, "int8", 0.02, variance) for _ in range(2))
    factor = net.tensor(one, "int8", 0.05, -128)
    axis = net.tensor((1,), "int32", data=[len(shape) - 1])
    small = net.tensor((1,) * len(shape), "int8", 0.02, 0, data=rng.integers(1, 9, (1,) * len(shape)))
    plain = {"fusedActivationFunction": 0}
    net.operator("MEAN", [x, axis], [mean], keepDims=True)
    net.operator("SQUARED_DIFFERENCE", [x, mean], [squares])
    net.operator("MEAN", [squares, axis], [spread], keepDims=True)
    net.operator("ADD", [spread, small], [raised], **plain)
    net.operator("RSQRT", [raised], [factor])
    net.operator("SUB", [x, mean], [centred], **plain)
    net.operator("MUL", [centred, factor], [normal], **plain)
    if shape[0] == 1:
        net.operator("GELU", [normal], [y], approximate=bool(rng.integers(2)))
        return net.pack([x], [y])
    probabilities = net.tensor(shape, "int8", 1 / 256, -128)
    filters = net.tensor((shape[-1],) * 2, scale=0.01, data=rng.integers(-127, 128, (shape[-1],) * 2))
    net.operator("LOGISTIC", [normal], [probabilities])
    net.operator("FULLY_CONNECTED", [probabilities, filters], [y], keepNumDims=True)
    return net.pack([x], [y])


@pytest.mark.parametrize("shape", [(1, 6, 5, 20), (1, 9, 16), (3, 8, 16)])
def test_layer_norm_runs_on_the_accelerator(shape: tuple[int, ...], seed: int, tmp_path: Path) -> None:
    """RSQRT and GELU are tables; operands of one channel are copied to all channels."""
    rng, path = np.random.default_rng([seed, len(shape)]), tmp_path / "norm.tflite"
    path.write_bytes(layer_norm(rng, shape))
    values = rng.integers(-128, 128, shape, np.int8)
    session = eyrie.load(path, back_end="functional")
    [expected] = run(Reference.LITERT if shape[0] == 1 else Reference.MICRO, path.read_bytes(), [[values]])[0]
    assert len(np.unique(expected)) > 20
    hosts = [each.graph for each in session.network.subgraphs if isinstance(each, HostSubgraph)]
    assert {node.operator.name for graph in hosts for node in graph.nodes} <= {"RESHAPE"}
    [found] = session(values).values()
    np.testing.assert_array_equal(found, expected)


def test_a_function_that_the_interpreter_rejects_stays_on_the_host(seed: int) -> None:
    """RSQRT has no result for negative numbers."""
    graph = tflite.from_bytes(layer_norm(np.random.default_rng(seed), (1, 4, 4, 8), variance=-100))
    said = "operator #4 RSQRT: the interpreter has a result for all values of a function, not for some"
    assert said in str(partition(graph))


@pytest.mark.parametrize("kind", ["int8", "int16", "uint8"])
def test_sums_are_right(kind: str, seed: int, tmp_path: Path) -> None:
    """LiteRT's reference kernel gets them wrong, unless they are uint8."""
    rng, net = np.random.default_rng(seed), Builder()
    zero = 0 if kind == "int16" else 5
    x, y = net.tensor((1, 4, 6, 3), kind, 0.05, zero), net.tensor((1, 1, 1, 3), kind, 0.25, zero)
    net.operator("SUM", [x, net.tensor((2,), "int32", data=np.array([1, 2]))], [y], keepDims=True)
    path = tmp_path / "sum.tflite"
    path.write_bytes(net.pack([x], [y]))
    values = rng.integers(0, 40, (1, 4, 6, 3)).astype(kind)
    exact = (values.astype(float) - zero).sum((1, 2)) * 0.05 / 0.25 + zero
    (made,) = eyrie.load(path, back_end="golden")(values).values()
    assert np.abs(made.reshape(1, 3) - exact.clip(np.iinfo(kind).min, np.iinfo(kind).max)).max() <= 1
