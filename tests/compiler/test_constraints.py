# SPDX-License-Identifier: Apache-2.0
"""What the accelerator asks of a network: each constraint's message, and all obstacles of a network at once."""

import itertools
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from eyrie.compiler.frontend import tflite
from eyrie.compiler.ir.graph import Graph
from eyrie.compiler.network import compile_network
from eyrie.compiler.operators.record import Record
from eyrie.compiler.operators.registry import records
from eyrie.compiler.parts import compile_parts
from eyrie.compiler.passes import constraints
from eyrie.compiler.passes.constraints import Obstacles, check
from eyrie.compiler.passes.fold_pads import fold_pads
from eyrie.compiler.passes.partition import Side
from eyrie.compiler.passes.remove_idle import remove_idle
from eyrie.model.interpreters import RUN
from eyrie.model.operators.reference import Reference
from eyrie.runtime.back_ends.functional import Functional
from eyrie.testing.tflite_builder import STEPS, Builder
from tb.common.random_graphs import draw_graph
from tests.commands.bad_files import conv, two_to_one
from tests.compiler.test_groups import Net


def uint8() -> bytes:
    """A convolution of uint8."""
    net = Builder()
    x, y = (net.tensor((1, 4, 4, 2), "uint8", 0.1) for _ in range(2))
    filters = net.tensor((2, 1, 1, 2), "uint8", 0.01, data=np.ones((2, 1, 1, 2), np.uint8))
    net.operator("CONV_2D", [x, filters], [y], **STEPS)
    return net.pack([x], [y])


def softmax() -> bytes:
    net = Builder()
    x, y = net.tensor((1, 8), scale=0.1), net.tensor((1, 8), scale=1 / 256, zero_point=-128)
    net.operator("SOFTMAX", [x], [y], beta=1.0)
    return net.pack([x], [y])


def uint8_connected() -> bytes:
    """A fully connected layer of uint8, whose sums are doubled."""
    net = Builder()
    x, y = net.tensor((1, 4), "uint8", 0.1), net.tensor((1, 2), "uint8", 0.05)
    filters = net.tensor((2, 4), "uint8", 1.0, data=np.ones((2, 4), np.uint8))
    net.operator("FULLY_CONNECTED", [x, filters], [y])
    return net.pack([x], [y])


def mean_of_a_channel() -> bytes:
    """Over the only channel, which leaves columns as channels."""
    net = Builder()
    x, y = net.tensor((1, 5, 4, 1), scale=0.1), net.tensor((1, 5, 4), scale=0.2)
    net.operator("MEAN", [x, net.tensor((1,), "int32", data=np.int32([3]))], [y], keepDims=False)
    return net.pack([x], [y])


def constant_minuend() -> bytes:
    """A difference of a constant and the input."""
    net = Builder()
    values = np.arange(96).reshape(1, 3, 4, 8).astype(np.int8)
    minuend, source, made = (
        net.tensor(values.shape, scale=0.1, data=values),
        *(net.tensor(values.shape, scale=0.1) for _ in range(2)),
    )
    net.operator("SUB", [minuend, source], [made], fusedActivationFunction=0)
    return net.pack([source], [made])


def of_constants(name: str) -> bytes:
    """An operator of constants, of which the network adds what comes out to its input."""
    net, rng = Builder(), np.random.default_rng(0)
    x, made, total = (net.tensor((1, 4, 4, 8), scale=0.1, zero_point=3) for _ in range(3))
    options = {
        "RELU": {},
        "ADD": {"fusedActivationFunction": 0},
        "AVERAGE_POOL_2D": {"filterHeight": 1, "filterWidth": 1, "strideH": 1, "strideW": 1},
        "CONV_2D": STEPS,
    }[name]
    taken = [
        net.tensor((1, 4, 4, 8), scale=0.1, zero_point=3, data=rng.integers(-128, 128, (1, 4, 4, 8)))
        for _ in range(2 if name == "ADD" else 1)
    ]
    if name == "CONV_2D":
        taken.append(net.tensor((8, 1, 1, 8), scale=0.01, data=rng.integers(-127, 128, (8, 1, 1, 8))))
    net.operator(name, taken, [made], **options)
    net.operator("ADD", [x, made], [total], fusedActivationFunction=0)
    return net.pack([x], [total])


def far_window(name: str, seed: int = 0) -> bytes:
    """Over 9,000 columns of a PAD, in steps of 3."""
    net, rng, scale = Builder(), np.random.default_rng(seed), {"scale": 0.1, "zero_point": -128}
    x, padded, made = (net.tensor((1, 1, columns, 8), **scale) for columns in (8, 9008, 3003))
    margins = net.tensor((4, 2), "int32", data=np.int32([[0, 0], [0, 0], [2000, 7000], [0, 0]]))
    net.operator("PAD", [x, margins], [padded])
    if name == "CONV_2D":
        filters = net.tensor((8, 1, 1, 8), scale=0.01, data=rng.integers(-127, 128, (8, 1, 1, 8)))
        net.operator(name, [padded, filters], [made], **STEPS | {"strideW": 3})
    else:
        net.operator(name, [padded], [made], filterHeight=1, filterWidth=1, strideH=1, strideW=3)
    return net.pack([x], [made])


BROKEN: dict[str, tuple[bytes, str]] = {
    "operator": (softmax(), "operator #0 SOFTMAX: the accelerator has no such operator"),
    "batch": (
        conv(batch=2),
        "operator #0 CONV_2D: the model is converted with a batch of 1 and tensors of 2 to 4 axes, not 2 x 8 x 8 x 8",
    ),
    "uint8": (uint8(), "input t0 is uint8: inputs are int8; output t1 is uint8: outputs are int8"),
    "uint8 sums": (
        uint8_connected(),
        "input t0 is uint8: inputs are int8; output t1 is uint8: outputs are int8; "
        "operator #0 FULLY_CONNECTED: sums are rescaled as fixed point can, not in "
        "double, by a factor that it does not have",
    ),
    "shape": (
        two_to_one("RESHAPE", (1, 16, 16, 2)),
        "operator #0 RESHAPE: values are moved pixel by pixel in loops, and channel by channel, not other "
        "channels of other pixels",
    ),
    "difference": (
        constant_minuend(),
        "operator #0 SUB: the first operand of SUB or PRELU is no constant, not one of 1 x 3 x 4 x 8",
    ),
    "constants": (
        of_constants("ADD"),
        "operator #0 ADD: an operator has an input that is known only at run time, not constants alone",
    ),
    "window of a convolution": (
        far_window("CONV_2D"),
        "operator #1 CONV_2D: the accelerator's fields count the steps of a "
        "window, over margins, too, not a 1 x 1 kernel with stride 1 x 3 pads 0 0 2000 7000",
    ),
    "window of a pool": (
        far_window("MAX_POOL_2D"),
        "operator #1 MAX_POOL_2D: the accelerator's fields count the steps of "
        "a window, over margins, too, not a 1 x 1 kernel with stride 1 x 3 pads 0 0 2000 7000",
    ),
    "mean": (
        mean_of_a_channel(),
        "operator #0 MEAN: means leave axes in their places, and their number and factor fit "
        "the accelerator's fields, not pixels that become channels",
    ),
}


@pytest.mark.parametrize("what", BROKEN)
def test_broken(what: str, tmp_path: Path) -> None:
    model, said = BROKEN[what]
    path = tmp_path / "net.tflite"
    path.write_bytes(model)
    with pytest.raises(Obstacles) as caught:
        compile_network(path)
    assert str(caught.value) == said


@pytest.mark.parametrize("name", ["RELU", "ADD", "AVERAGE_POOL_2D", "CONV_2D"])
def test_what_is_made_of_constants_is_the_hosts(name: str, seed: int, tmp_path: Path) -> None:
    assert sides_of(of_constants(name), seed, tmp_path) == [Side.HOST, Side.ACCELERATOR]


@pytest.mark.parametrize("name", ["CONV_2D", "MAX_POOL_2D"])
def test_what_no_field_counts_is_the_hosts(name: str, seed: int, tmp_path: Path) -> None:
    assert sides_of(far_window(name, seed), seed, tmp_path) == [Side.HOST]


def sides_of(model: bytes, seed: int, folder: Path) -> list[Side]:
    """Of a model's parts, which give what the reference gives."""
    path = folder / "net.tflite"
    path.write_bytes(model)
    compiled = compile_parts(path, search_iterations=8)
    network = compiled.network
    values = np.random.default_rng(seed).integers(-128, 128, (2, *network.inputs[0].shape), np.int8)
    [output] = Functional().run(network, [values]).outputs
    for number, image in enumerate(values):
        [expected] = RUN[Reference.MICRO](model, image)
        np.testing.assert_array_equal(output[number], expected, strict=True)
    return [each.part.side for each in compiled.parts]


def test_all_obstacles_at_once() -> None:
    """A place each, in one clause for each operator and reason."""
    net = Builder()
    x, *others = (net.tensor((1, 8, 8, 8), scale=1 / 256, zero_point=-128) for _ in range(4))
    size = net.tensor((2,), "int32", data=np.int32([8, 8]))
    net.operator("SOFTMAX", [x], [others[0]], beta=1.0)
    net.operator("RESIZE_BILINEAR", [others[0], size], [others[1]])
    net.operator("SOFTMAX", [others[1]], [others[2]], beta=1.0)
    with pytest.raises(Obstacles) as caught:
        check(tflite.from_bytes(net.pack([x], [others[2]])))
    assert str(caught.value) == (
        "operators #0, #2 SOFTMAX: the accelerator has no such operator; operator #1 "
        "RESIZE_BILINEAR: the accelerator has no such operator"
    )
    assert [obstacle.where for obstacle in caught.value.obstacles] == ["#0", "#1", "#2"]


def test_every_constraint_has_a_message() -> None:
    own = (record.constraints or () for record in records() if issubclass(record, Record))
    used = {constraint for group in (constraints.ANYWHERE, constraints.SIZES, *own) for constraint in group}
    messages = [constraint.__doc__ for constraint in used]
    assert all(messages) and len(set(messages)) == len(messages)


# ---- Passes ----


KEPT: dict[str, tuple[Callable[[Net], Net], list[str]]] = {
    "PAD into a convolution": (lambda net: net.pad("p", 1, 0, 0, 1).conv("c", 2), ["CONV_2D"]),
    "PADs": (lambda net: net.pad("p", 1, 0, 0, 1).pad("q", 0, 1, 2, 0).depthwise("c", 2), ["DEPTHWISE_CONV_2D"]),
    "PAD that is an output": (lambda net: net.conv("c", 2).pad("p", 1, 0, 0, 1), ["CONV_2D", "PAD"]),
    "PAD before an average": (lambda net: net.pad("p", 2, 0, 2, 0).pool("a", 2), ["PAD", "AVERAGE_POOL_2D"]),
    "PAD of nothing": (lambda net: net.pad("p", 0, 0, 0, 0).pool("a", 2), ["AVERAGE_POOL_2D"]),
    "average of one value": (lambda net: net.conv("c", 1).pool("a", 1), ["CONV_2D"]),
    "average of the input": (lambda net: net.pool("a", 1), ["AVERAGE_POOL_2D"]),
}


@pytest.mark.parametrize("what", KEPT)
def test_passes(what: str, seed: int, tmp_path: Path) -> None:
    """Which operators are left."""
    change, left = KEPT[what]
    graph = tflite.load(change(Net(seed)).write(tmp_path))
    after = fold_pads(remove_idle(graph)).verified()
    assert [node.operator.name for node in after.nodes] == left


@pytest.mark.parametrize("zero_point", [-128, 3])
def test_pad_before_a_max_pool(zero_point: int) -> None:
    """A window's border never wins there, so that only a PAD with the lowest value goes into it."""
    net = Builder()
    x, padded, y = (
        net.tensor(shape, scale=0.1, zero_point=zero_point) for shape in ((1, 4, 4, 2), (1, 5, 5, 2), (1, 4, 4, 2))
    )
    margins = np.int32([[0, 0], [1, 0], [0, 1], [0, 0]])
    net.operator("PAD", [x, net.tensor((4, 2), "int32", data=margins)], [padded])
    net.operator("MAX_POOL_2D", [padded], [y], strideH=1, strideW=1, filterHeight=2, filterWidth=2, padding=1)
    after = fold_pads(tflite.from_bytes(net.pack([x], [y])))
    assert len(after.nodes) == (1 if zero_point == -128 else 2)
    if len(after.nodes) == 1:
        assert after.nodes[0].operator.pads == (1, 0, 0, 1)


def sliced_pad(rng: np.random.Generator, readers: list[str], strided: bool, cuts: bool) -> Graph:
    """A PAD of a map of 9 x 7, of which each reader takes rows of its own; cuts: perhaps without the first column"""
    net, zero_point = Builder(), -128
    margins = [(0, 0), *(tuple(int(each) for each in rng.integers(0, 3, 2)) for _ in range(2)), (0, 0)]
    size = [inner + before + after for inner, (before, after) in zip((1, 9, 7, 2), margins)]
    x, padded = (net.tensor(shape, scale=0.1, zero_point=zero_point) for shape in ((1, 9, 7, 2), size))
    net.operator("PAD", [x, net.tensor((4, 2), "int32", data=np.int32(margins))], [padded])
    made = []
    for reader in readers:
        begin = [0, int(rng.integers(0, size[1] - 3)), int(rng.integers(0, margins[2][0] + 1 + cuts)), 0]
        end = [1, int(rng.integers(begin[1] + 3, size[1] + 1)), size[2] - int(rng.integers(0, margins[2][1] + 1)), 2]
        shape = [last - first for first, last in zip(begin, end)]
        part = net.tensor(shape, scale=0.1, zero_point=zero_point)
        first, last = (net.tensor((4,), "int32", data=each) for each in (begin, end if strided else shape))
        if strided:
            net.operator("STRIDED_SLICE", [padded, first, last, net.tensor((4,), "int32", data=[1] * 4)], [part])
        else:
            net.operator("SLICE", [padded, first, last], [part])
        result = net.tensor((1, shape[1] - 1, shape[2] - 1, 2), scale=0.1, zero_point=zero_point)
        window = {"strideH": 1, "strideW": 1, "padding": 1}
        if reader == "CONV_2D":
            filters = net.tensor((2, 2, 2, 2), scale=0.01, data=rng.integers(-127, 128, (2, 2, 2, 2)))
            net.operator(reader, [part, filters], [result], **window, dilationHFactor=1, dilationWFactor=1)
        else:
            net.operator(reader, [part], [result], **window, filterHeight=2, filterWidth=2)
        made.append(result)
    return tflite.from_bytes(net.pack([x], made))


@pytest.mark.parametrize("strided", [False, True])
def test_pad_before_slices(strided: bool, seed: int) -> None:
    """Rows are taken of the map, and layers pad them; a reader that pads otherwise keeps the PAD for all, and so does
    one that does not take all columns."""
    moved = 0
    for number in range(40):
        rng = np.random.default_rng((seed, number, strided))
        readers = ["CONV_2D", "MAX_POOL_2D"] if number % 4 else ["CONV_2D", "AVERAGE_POOL_2D"]
        graph = sliced_pad(rng, readers, strided, number % 4 == 1)
        after = fold_pads(remove_idle(graph)).verified()
        names = [node.operator.name for node in after.nodes]
        moved += "PAD" not in names and "PAD" in [node.operator.name for node in remove_idle(graph).nodes]
        values = rng.integers(-128, 128, (1, 9, 7, 2)).astype(np.int8)
        before, behind = graph.run(values), after.run(values)
        for output, other in zip(graph.outputs, after.outputs, strict=True):
            np.testing.assert_array_equal(behind[other.name], before[output.name])
    assert moved > 15


def test_pad_before_a_slice_of_padding_alone() -> None:
    net = Builder()
    x, padded, part, y = (
        net.tensor(shape, scale=0.1, zero_point=-128)
        for shape in ((1, 4, 4, 2), (1, 7, 4, 2), (1, 2, 4, 2), (1, 1, 3, 2))
    )
    margins = net.tensor((4, 2), "int32", data=[[0, 0], [3, 0], [0, 0], [0, 0]])
    begin, size = (net.tensor((4,), "int32", data=each) for each in ([0, 0, 0, 0], [1, 2, 4, 2]))
    net.operator("PAD", [x, margins], [padded])
    net.operator("SLICE", [padded, begin, size], [part])
    net.operator("MAX_POOL_2D", [part], [y], strideH=1, strideW=1, filterHeight=2, filterWidth=2, padding=1)
    after = fold_pads(tflite.from_bytes(net.pack([x], [y])))
    assert [node.operator.name for node in after.nodes] == ["PAD", "SLICE", "MAX_POOL_2D"]


@pytest.mark.parametrize("scale", [0.1, 0.2])
def test_quantize_between_scales(scale: float) -> None:
    net = Builder()
    x, y, z = (net.tensor((1, 4, 4, 2), scale=each) for each in (0.1, scale, 0.4))
    net.operator("QUANTIZE", [x], [y])
    net.operator("ABS", [y], [z])
    left = [node.operator.name for node in remove_idle(tflite.from_bytes(net.pack([x], [z]))).nodes]
    assert left == (["ABS"] if scale == 0.1 else ["QUANTIZE", "ABS"])


@pytest.mark.parametrize("place", ["input", "inside", "output"])
def test_quantize_between_types(place: str) -> None:
    """From uint8 to int8 with the same scale: nothing is left of it, but where it makes the model's output."""
    net = Builder()
    x = net.tensor((1, 4, 4, 2), "uint8", 0.1, 131)
    kinds = {"input": ["int8"], "inside": ["uint8", "int8"], "output": ["uint8"]}[place]
    tensors = [net.tensor((1, 4, 4, 2), kind, 0.1, 131 if kind == "uint8" else 3) for kind in kinds]
    chain = [x, *tensors, net.tensor((1, 4, 4, 2), "int8", 0.1, 3)]
    for source, made in itertools.pairwise(chain):
        quantize = {"input": source == x, "inside": source == chain[1], "output": made == chain[-1]}[place]
        net.operator("QUANTIZE" if quantize else "LEAKY_RELU", [source], [made], **({} if quantize else {"alpha": 0.5}))
    left = [node.operator.name for node in remove_idle(tflite.from_bytes(net.pack([x], chain[-1:]))).verified().nodes]
    assert ("QUANTIZE" in left) == (place == "output")


def test_reshape_before_a_fully_connected_layer() -> None:
    """Another reader of the same RESHAPE keeps it."""
    for keep in (False, True):
        net = Builder()
        x, flat, y, z = (net.tensor(shape, scale=0.1) for shape in ((1, 2, 2, 3), (1, 12), (1, 4), (1, 12)))
        net.operator("RESHAPE", [x], [flat], newShape=[1, 12])
        filters = net.tensor((4, 12), scale=0.01, data=np.ones((4, 12), np.int8))
        net.operator("FULLY_CONNECTED", [flat, filters], [y])
        if keep:
            net.operator("ABS", [flat], [z])
        after = remove_idle(tflite.from_bytes(net.pack([x], [y, z] if keep else [y]))).verified()
        assert len(after.nodes) == (3 if keep else 1)


def test_passes_keep_all_values(seed: int) -> None:
    """Of random networks, which have branches and joins."""
    shorter = number = 0
    while number < 60 or shorter < 3:
        assert number < 1000, "nothing to leave out"
        drawn = draw_graph(np.random.default_rng([seed, number]))
        graph = tflite.from_bytes(drawn.model)
        after = fold_pads(remove_idle(graph)).verified()
        shorter, number = shorter + (len(after.nodes) < len(graph.nodes)), number + 1
        inputs = drawn.values
        before, behind = graph.run(*inputs), after.run(*inputs)
        for tensor, other in zip(graph.outputs, after.outputs, strict=True):
            np.testing.assert_array_equal(behind[other.name].reshape(tensor.shape), before[tensor.name])
