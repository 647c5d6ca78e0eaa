# SPDX-License-Identifier: Apache-2.0
"""Moves that become one, or part of a layer: values stay, and what is left is what is counted here, not by the pass."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema

from eyrie.compiler import dumps
from eyrie.compiler.artefact import files
from eyrie.compiler.folder import save
from eyrie.compiler.frontend import tflite
from eyrie.compiler.ir.elementwise import Elementwise
from eyrie.compiler.ir.graph import Graph
from eyrie.compiler.ir.layer import Group, Pointwise
from eyrie.compiler.network import compile_network
from eyrie.compiler.parts import compile_parts
from eyrie.compiler.passes.simplify import simplified
from eyrie.measure.networks.wavenet import Wavenet
from eyrie.measure.networks.wavenet import model as wavenet
from eyrie.model.config import DEFAULT, AcceleratorConfig
from eyrie.model.encoding import Operation
from eyrie.model.functional_simulator import FunctionalSimulator
from eyrie.model.interpreters import RUN
from eyrie.model.operators.reference import Reference
from eyrie.runtime.back_ends.functional import Functional
from eyrie.runtime.inputs import random_inputs
from eyrie.testing.samples import scaled
from eyrie.testing.tflite_builder import STEPS, Builder
from tb.common.random_graphs import movement, weighted
from tb.common.random_graphs.net import Net
from tb.common.random_operators.drawing import chance, draw_quantization, whole

GRAPHS = scaled(60)
SEARCH_ITERATIONS = 4
MOVES = ("RESHAPE", "TRANSPOSE", "PAD", "SLICE", "SPLIT")


def stored_by_moves(model: bytes) -> list[int]:
    """Bytes of each tensor that an operator which only moves values makes, from the file itself."""
    file = schema.ModelT.InitFromPackedBuf(model, 0)
    (graph,), wanted = file.subgraphs, {getattr(schema.BuiltinOperator, name) for name in MOVES}
    return [
        int(np.prod(graph.tensors[made].shape))
        for operator in graph.operators
        if file.operatorCodes[operator.opcodeIndex].builtinCode in wanted
        for made in operator.outputs
    ]


def only_moves(group: Group) -> bool:
    """Whether a group copies words, or deals channels."""
    if isinstance(group, Elementwise):
        return group.operation.kind == Operation.NONE
    return isinstance(group, Pointwise) and bool(np.all((group.filters != 0).sum(axis=1) <= 1))


def same_values(before: Graph, after: Graph, seed: list[int]) -> None:
    """Of all outputs, and of every tensor that both have."""
    inputs = [np.random.default_rng(seed).integers(-128, 128, tensor.shape).astype(np.int8) for tensor in before.inputs]
    old, new = before.run(*inputs), after.verified().run(*inputs)
    for tensor, left in zip(before.outputs, after.outputs, strict=True):
        np.testing.assert_array_equal(new[left.name], old[tensor.name])
    for name in old.keys() & new.keys():
        np.testing.assert_array_equal(new[name], old[name], name)


# ---- WaveNet ----


def test_wavenet_keeps_one_pair_of_124(seed: int, tmp_path: Path) -> None:
    """As many as the literature has. The one left moves the sound by a sample."""
    model, path = wavenet(Wavenet(), seed), tmp_path / "net.tflite"
    path.write_bytes(model)
    before = stored_by_moves(model)
    assert (len(before), sum(before)) == (124, 1_248_226)
    stages = compile_network(path, search_iterations=SEARCH_ITERATIONS)
    left = [group for group in stages.groups if only_moves(group)]
    assert [int(np.prod(group.output.shape)) for group in left] == [512]
    weights = sum(node.operator.filters.size for node in stages.graph.nodes if node.operator.name == "CONV_2D")
    assert sum(group.weight_bytes for group in stages.groups) == weights
    same_values(stages.graph, stages.folded, [seed, 1])

    image, (source,) = stages.image, stages.graph.inputs
    values = np.random.default_rng([seed, 2]).integers(-128, 128, source.shape).astype(np.int8)
    simulator = FunctionalSimulator(image.with_inputs({source.name: values}), DEFAULT)
    simulator.run(image.program.address)
    golden, made = stages.graph.run(values), image.outputs_in(simulator.dram)
    for tensor in stages.graph.outputs:
        np.testing.assert_array_equal(made[tensor.name].reshape(tensor.shape), golden[tensor.name])
        assert len(np.unique(golden[tensor.name])) > 16


def test_wavenet_is_what_tensorflow_lite_computes(seed: int) -> None:
    """A smaller one: its golden model, with moves as they are and without."""
    model = wavenet(Wavenet(stacks=1, layers=4, channels=8, samples=32), seed)
    graph = tflite.from_bytes(model)
    values = np.random.default_rng(seed).integers(-128, 128, graph.input.shape).astype(np.int8)
    expected = RUN[Reference.MICRO](model, values)
    for network in (graph, simplified(graph)):
        made = network.run(values)
        for tensor, want in zip(network.outputs, expected, strict=True):
            np.testing.assert_array_equal(made[tensor.name], want)


def test_dump_says_what_became_of_each_pair() -> None:
    graph = tflite.from_bytes(wavenet(Wavenet(stacks=1, layers=2, channels=8, samples=16)))
    *lines, before, after = dumps.moves(graph, simplified(graph)).splitlines()
    assert [line.split(None, 4)[4] for line in lines[:4]] == [
        "gone: done by #2 MOVE",
        "gone: done by #2 MOVE",
        "left: #4 CONV_2D: its window would not begin at the edge of the map, or not end there",
        "gone: done by #4 CONV_2D",
    ]
    assert all("gone: done by" in line for line in lines[4:])
    assert before.split()[:3] == ["before", str(len(lines)), "pairs"]
    assert after.split() == ["after", "1", "pairs", "16", "bytes"]


# ---- One after another ----


class Drawn:
    """A network of one input, operator by operator; tensors are indices with shapes."""

    def __init__(self, seed: int, shape: tuple[int, ...]) -> None:
        self.rng, self.builder, self.shapes = np.random.default_rng(seed), Builder(), {}
        self.input = self.tensor(shape)

    def tensor(self, shape: tuple[int, ...], scale: float = 0.05) -> int:
        index = self.builder.tensor(shape, scale=scale, zero_point=3)
        self.shapes[index] = tuple(shape)
        return index

    def move(self, name: str, x: int, shape: tuple[int, ...], *constants, **options) -> int:
        taken = [self.builder.tensor(np.shape(each), "int32", data=np.array(each)) for each in constants]
        made = self.tensor(shape)
        self.builder.operator(name, [x, *taken], [made], **options)
        return made

    def reshape(self, x: int, *shape: int) -> int:
        return self.move("RESHAPE", x, shape, shape, newShape=shape)

    def transpose(self, x: int, *axes: int) -> int:
        return self.move("TRANSPOSE", x, tuple(self.shapes[x][axis] for axis in axes), axes)

    def slice(self, x: int, begin: tuple[int, ...], size: tuple[int, ...]) -> int:
        return self.move("SLICE", x, size, begin, size)

    def pad(self, x: int, *margins: tuple[int, int]) -> int:
        shape = tuple(size + sum(each) for size, each in zip(self.shapes[x], margins))
        return self.move("PAD", x, shape, margins)

    def concatenation(self, axis: int, *parts: int) -> int:
        shape = list(self.shapes[parts[0]])
        shape[axis] = sum(self.shapes[part][axis] for part in parts)
        made = self.tensor(tuple(shape))
        self.builder.operator("CONCATENATION", parts, [made], axis=axis, fusedActivationFunction=0)
        return made

    def conv(self, x: int, filters: int, rows: int = 1, cols: int = 1, stride: int = 1) -> int:
        """VALID."""
        images, height, width, channels = self.shapes[x]
        weight = self.builder.tensor(
            (filters, rows, cols, channels),
            scale=np.full(filters, 0.005),
            data=self.rng.integers(-127, 128, (filters, rows, cols, channels)),
        )
        bias = self.builder.tensor(
            (filters,), "int32", np.full(filters, 0.05 * 0.005), data=self.rng.integers(-999, 999, filters)
        )
        made = self.tensor((images, (height - rows) // stride + 1, (width - cols) // stride + 1, filters))
        steps = {**STEPS, "strideH": stride, "strideW": stride}
        self.builder.operator("CONV_2D", [x, weight, bias], [made], padding=1, **steps)
        return made

    def add(self, x: int, other: int) -> int:
        made = self.tensor(self.shapes[x], 0.08)
        self.builder.operator("ADD", [x, other], [made])
        return made

    def fully_connected(self, x: int, outputs: int) -> int:
        count = int(np.prod(self.shapes[x]))
        weight = self.builder.tensor((outputs, count), scale=0.005, data=self.rng.integers(-127, 128, (outputs, count)))
        bias = self.builder.tensor((outputs,), "int32", 0.05 * 0.005, data=self.rng.integers(-999, 999, outputs))
        made = self.tensor((1, outputs))
        self.builder.operator("FULLY_CONNECTED", [x, weight, bias], [made])
        return made

    def model(self, *outputs: int) -> bytes:
        return self.builder.pack([self.input], outputs)


def shuffled(net: Drawn, x: int) -> int:
    """Channels of two groups dealt in turn."""
    *shape, channels = net.shapes[x]
    apart = net.transpose(net.reshape(x, *shape, 2, channels // 2), 0, 1, 2, 4, 3)
    return net.reshape(apart, *shape, channels)


def images(net: Drawn, x: int, count: int) -> int:
    """Every so-many-th column as an image."""
    _, rows, cols, channels = net.shapes[x]
    return net.transpose(net.reshape(x, rows, cols // count, count, channels), 2, 0, 1, 3)


def columns(net: Drawn, x: int) -> int:
    """And back."""
    count, rows, cols, channels = net.shapes[x]
    return net.reshape(net.transpose(x, 1, 2, 0, 3), 1, rows, cols * count, channels)


def shared_images(net: Drawn) -> tuple[int, ...]:
    taken = images(net, net.input, 4)
    return tuple(columns(net, net.conv(taken, 8, 1, 2)) for _ in range(2))


def halves_back(net: Drawn) -> tuple[int]:
    parts = [net.slice(net.input, (0, 0, first, 0), (1, 6, 4, 16)) for first in (0, 4)]
    return (net.conv(net.concatenation(2, *parts), 8),)


def of_small_and_large(net: Drawn) -> tuple[int]:
    """Joined at once, the small ones would be written as large as the whole."""
    small = [net.slice(net.input, (0, 0, column, 0), (1, 6, 1, 16)) for column in range(3)]
    whole_map = net.concatenation(2, net.input, net.input)
    return (net.concatenation(2, net.concatenation(2, *small), whole_map),)


def crop(net: Drawn) -> tuple[int]:
    return (net.conv(net.slice(net.input, (0, 1, 1, 0), (1, 4, 6, 16)), 8, 3, 3),)


def flattened_by_channels(net: Drawn) -> tuple[int]:
    return (net.fully_connected(net.reshape(net.transpose(net.input, 0, 3, 1, 2), 1, 6 * 8 * 16), 10),)


MARGIN = (0, 0), (0, 0), (1, 0), (0, 0)
# What becomes of the operators of a network whose input is [1, 6, 8, 16], in their order.
CASES: dict[str, tuple[Callable[[Drawn], tuple[int, ...]], list[str]]] = {
    "channels dealt": (lambda net: (shuffled(net, net.input),), ["MOVE"]),
    "channels dealt before a layer": (lambda net: (net.conv(shuffled(net, net.input), 8),), ["CONV_2D"]),
    "channels dealt behind a layer": (lambda net: (shuffled(net, net.conv(net.input, 8)),), ["CONV_2D"]),
    "flattened by channels": (flattened_by_channels, ["FULLY_CONNECTED"]),
    "dilated": (lambda net: (columns(net, net.conv(images(net, net.input, 2), 8, 3, 2)),), ["CONV_2D"]),
    "two layers of the same images": (shared_images, ["CONV_2D", "CONV_2D"]),
    "there and back": (lambda net: (net.conv(columns(net, images(net, net.input, 2)), 8),), ["CONV_2D"]),
    "halves joined again": (halves_back, ["CONV_2D"]),
    "every second pixel behind a layer": (
        lambda net: (net.slice(net.reshape(net.conv(net.input, 8), 1, 6, 4, 16), (0, 0, 0, 0), (1, 6, 4, 8)),),
        ["CONV_2D"],
    ),
    "dilated with margins": (
        lambda net: (columns(net, net.conv(net.pad(images(net, net.input, 2), *MARGIN), 8, 1, 2)),),
        ["CONV_2D"],
    ),
    "a crop is no window": (crop, ["SLICE", "CONV_2D"]),
    "moved and cropped with margins": (
        lambda net: (net.slice(net.pad(net.input, (0, 0), (2, 0), (0, 1), (0, 0)), (0, 0, 1, 0), (1, 6, 8, 16)),),
        ["MOVE"],
    ),
    "small ones among large ones": (of_small_and_large, ["SLICE"] * 3 + ["CONCATENATION"] * 3),
}


@pytest.mark.parametrize("what", CASES)
def test_what_becomes_of_moves(what: str, seed: int, tmp_path: Path) -> None:
    build, left = CASES[what]
    net, path = Drawn(seed, (1, 6, 8, 16)), tmp_path / "net.tflite"
    path.write_bytes(net.model(*build(net)))
    graph = tflite.load(path)
    found = simplified(graph)
    assert [node.operator.name for node in found.nodes if node.operator.name != "RESHAPE"] == left, str(found)
    same_values(graph, found, [seed, 1])
    compiled = compile_parts(path, search_iterations=SEARCH_ITERATIONS)
    assert not compiled.partition.host_share
    runs(compiled, path, tmp_path, seed)


def runs(compiled, path: Path, folder: Path, seed: int) -> None:
    """The functional simulator gives what the golden model of the imported network gives."""
    save(compiled.network, folder / "program")
    network, graph = files.load(folder / "program"), tflite.load(path)
    inputs = random_inputs(graph, 1, seed)
    golden = graph.run(*(value[0] for value in inputs))
    for tensor, made in zip(graph.outputs, Functional().run(network, inputs).outputs, strict=True):
        np.testing.assert_array_equal(made[0], golden[tensor.name])


def test_a_layer_with_folded_moves_runs_in_parts(seed: int, tmp_path: Path) -> None:
    """As one row the map does not fit a GLB of 16 KiB beside the result; parts of its columns do."""
    net, path = Drawn(seed, (1, 1, 512, 32)), tmp_path / "net.tflite"
    rows = net.transpose(net.reshape(net.input, 1, 64, 8, 32), 0, 2, 1, 3)
    made = net.transpose(net.conv(rows, 8, 1, 2), 0, 2, 1, 3)
    path.write_bytes(net.model(net.reshape(made, 1, 1, 504, 8)))
    assert [node.operator.name for node in simplified(tflite.load(path)).nodes] == ["CONV_2D"]
    small, large = (
        compile_parts(path, AcceleratorConfig(glb_bank_words=words), search_iterations=SEARCH_ITERATIONS)
        for words in (256, 1024)
    )
    names = {node.operator.name for each in (small, large) for part in each.parts for node in part.part.graph.nodes}
    assert names == {"CONV_2D", "SLICE", "CONCATENATION"}
    assert [sum(len(part.part.graph.nodes) for part in each.parts) > 1 for each in (small, large)] == [True, False]
    assert not small.partition.host_nodes
    runs(small, path, tmp_path, seed)


# ---- Drawn ----

DRAWN_MOVES = (
    movement.concatenation,
    movement.split,
    movement.slice_,
    movement.strided_slice,
    movement.pad,
    movement.pad_v2,
    movement.mirror_pad,
    movement.squeeze,
    movement.expand_dims,
    movement.pack,
    movement.unpack,
    movement.gather,
    movement.reshape,
    movement.reshape,
    movement.transpose,
    movement.transpose,
)
OF_MAPS = (weighted.conv_2d, weighted.pointwise, weighted.depthwise_conv_2d, movement.resize_nearest_neighbor)


def drawn(rng: np.random.Generator) -> bytes | None:
    net = Net(rng, "int8")
    net.input((1, whole(rng, 1, 12), whole(rng, 1, 12), whole(rng, 1, 20)), draw_quantization(rng))
    for _ in range(whole(rng, 2, 14)):
        operator = net.one_of(DRAWN_MOVES if chance(rng, 0.7) else (*OF_MAPS, weighted.fully_connected))
        if x := net.take(lambda value: len(value.shape) == 4 or operator not in OF_MAPS):
            operator(net, x)
    outputs = [value.index for value in net.made if value.index not in net.taken]
    return net.builder.pack([value.index for value, _ in net.inputs], outputs) if outputs else None


def test_random_graphs_keep_their_values(seed: int) -> None:
    seen: Counter = Counter()
    for number in range(10 * GRAPHS):
        model = drawn(np.random.default_rng([seed, number]))
        if model:
            graph = tflite.from_bytes(model)
            found = simplified(graph)
            same_values(graph, found, [seed, number])
            seen[str(found) != str(simplified(graph, compose=False))] += 1
    assert seen[True] > seen[False] / 30, seen  # a sixth of them, on average


def test_random_graphs_on_the_accelerator(seed: int, tmp_path: Path) -> None:
    """Those that are changed: they run, and the host has no more to do than with moves as they are."""
    path, number, done = tmp_path / "net.tflite", 0, 0
    while done < GRAPHS // 4:
        number += 1
        model = drawn(np.random.default_rng([seed, 1, number]))
        if not model:
            continue
        path.write_bytes(model)
        compiled = compile_parts(path, search_iterations=SEARCH_ITERATIONS)
        if any(node.operator.name == "MOVE" for part in compiled.parts for node in part.graph.nodes):
            runs(compiled, path, tmp_path, seed)
            done += 1
