# SPDX-License-Identifier: Apache-2.0
"""Parts of a network for accelerator and host: what is said of those that do not fit."""

import argparse
import json
import re
from dataclasses import replace
from itertools import count
from pathlib import Path

import numpy as np
import pytest

from eyrie.compiler import command
from eyrie.compiler.artefact import files
from eyrie.compiler.artefact.network import HostSubgraph
from eyrie.compiler.folder import save
from eyrie.compiler.frontend.file import load
from eyrie.compiler.ir.failure import DoesNotFit
from eyrie.compiler.ir.tensor import Quantized
from eyrie.compiler.network import compile_network
from eyrie.compiler.options import OBJECTIVES
from eyrie.compiler.parts import compile_parts
from eyrie.compiler.passes.partition import Side
from eyrie.compiler.performance import performance
from eyrie.model.config import DEFAULT
from eyrie.model.interpreters import run_litert
from eyrie.runtime.back_ends.functional import Functional
from eyrie.runtime.back_ends.golden import golden_outputs
from eyrie.testing.samples import scaled
from eyrie.testing.tflite_builder import STEPS, Builder
from tb.common.random_graphs import draw_graph
from tests.compiler.rejections import with_room

SMALL = replace(DEFAULT, glb_bank_words=256)


def written(path: Path, seed: int) -> Path:
    """Two convolutions whose maps of one pixel do not fit, the second with more channels, and their sum."""
    rng, net = np.random.default_rng(seed), Builder()
    sources = [net.tensor((1, 1, 1, channels), scale=0.1) for channels in (18_000, 20_000)]
    made = [net.tensor((1, 1, 1, 8), scale=0.1) for _ in range(3)]
    for source, output in zip(sources, made):
        filters = rng.integers(-127, 128, (8, 1, 1, net.tensors[source].shape[-1]), np.int8)
        net.operator("CONV_2D", [source, net.tensor(filters.shape, scale=0.01, data=filters)], [output], **STEPS)
    net.operator("ADD", made[:2], made[2:])
    path.write_bytes(net.pack(sources, made[2:]))
    return path


def test_the_part_that_needs_most_is_named(seed: int, tmp_path: Path) -> None:
    """With a little more than the demand, for places, all of the network fits. Each part is planned once: the whole,
    both layers, each of them, and the sum, which is fused with the second layer."""
    path, stages = written(tmp_path / "net.tflite", seed), []
    with pytest.raises(ValueError, match=f"^{re.escape(str(path))}: operator") as caught:
        compile_parts(path, SMALL, search_iterations=8, on_stage=stages.append)
    failure = caught.value.__cause__
    assert isinstance(failure, DoesNotFit) and stages.count("segments") == 5
    assert str(failure) == (
        f"operator #1: group fc0 needs at least {failure.demand} bytes of GLB, there are {SMALL.glb_bytes}: "
        "use a larger GLB or a smaller layer"
    )
    with pytest.raises(ValueError, match="bytes of GLB"):
        compile_parts(path, with_room(DEFAULT, failure.demand - 64), search_iterations=8)
    compile_parts(path, with_room(DEFAULT, failure.demand * 101 // 100), search_iterations=200)


def averaged(path: Path, rng: np.random.Generator) -> Path:
    """An average is over a map of 32 KiB as a whole; the convolution before it goes through it in stripes."""
    net = Builder()
    x, made = (net.tensor((1, 32, 32, 32), scale=0.1) for _ in range(2))
    mean, last = (net.tensor((1, 1, 1, 32), scale=0.1) for _ in range(2))
    for source, output in ((x, made), (mean, last)):
        filters = net.tensor((32, 1, 1, 32), scale=0.01, data=rng.integers(-127, 128, (32, 1, 1, 32), np.int8))
        net.operator("CONV_2D", [source, filters], [output], **STEPS)
        if output == made:
            net.operator(
                "AVERAGE_POOL_2D", [made], [mean], padding=1, filterHeight=32, filterWidth=32, strideH=1, strideW=1
            )
    path.write_bytes(net.pack([x], [last]))
    return path


def test_a_map_that_is_too_large_is_the_hosts(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    path = averaged(tmp_path / "net.tflite", rng)
    compiled = compile_parts(path, SMALL, search_iterations=8)
    assert [each.part.side for each in compiled.parts] == [Side.ACCELERATOR, Side.HOST, Side.ACCELERATOR]
    assert [node.operator.name for node in compiled.partition.host_nodes] == ["AVERAGE_POOL_2D"]
    reason = str(compiled.partition).splitlines()[-1].strip()
    said = (
        r"operator #1 AVERAGE_POOL_2D: group average0 needs at least (\d+) bytes of GLB, there are "
        f"{SMALL.glb_bytes}"
    )
    assert int(re.fullmatch(said, reason)[1]) > 2 * 32 * 32 * 8  # two slices of 8 channels in turn
    save(compiled.network, tmp_path / "net")
    network = files.load(tmp_path / "net")
    assert [each.reasons for each in network.subgraphs if isinstance(each, HostSubgraph)] == [(reason,)]
    values = [rng.integers(-128, 128, (2, 1, 32, 32, 32), np.int8)]
    golden = golden_outputs(compiled.graph, values)
    np.testing.assert_array_equal(Functional().run(network, values).outputs, golden)
    assert not compile_parts(path, search_iterations=8).partition.host_nodes


def test_the_command_takes_the_same_road(seed: int, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """Networks that do not fit as a whole: the same parts, the same rejection; each whole is planned once."""
    (tmp_path / "small.json").write_text(json.dumps(SMALL.as_dict()))
    path, parser = averaged(tmp_path / "net.tflite", np.random.default_rng(seed)), argparse.ArgumentParser()
    stages: list[list[str]] = [[], []]
    command.add_arguments(parser)

    def compile_(model: Path) -> None:
        words = [model, "-o", tmp_path / "command", "--config", tmp_path / "small.json", "--search-iterations", 8]
        command.run(parser.parse_args([*map(str, words)], argparse.Namespace(quiet=False)), stages[0].append)

    compile_(path)
    assert "average" in capsys.readouterr().out.lower()
    parts = compile_parts(path, SMALL, search_iterations=8, on_stage=stages[1].append)
    save(parts.network, tmp_path / "parts")
    made = [
        sorted((each.relative_to(folder), each.read_bytes()) for each in folder.rglob("*") if each.is_file())
        for folder in (tmp_path / "command", tmp_path / "parts")
    ]
    assert made[0] == made[1] and stages[0].count("segments") == stages[1].count("segments") > 1
    path, said = written(tmp_path / "rejected.tflite", seed), []
    for compiled in (compile_, lambda model: compile_parts(model, SMALL, search_iterations=8)):
        with pytest.raises(ValueError, match="bytes of GLB") as caught:
            compiled(path)
        said.append(str(caught.value))
    assert said[0] == said[1]


@pytest.mark.parametrize("kind", ["int8", "uint8"])
@pytest.mark.parametrize("per_channel", [False, True])
def test_a_depthwise_layer_that_does_not_fit_runs_in_parts(
    kind: str, per_channel: bool, seed: int, tmp_path: Path
) -> None:
    """A dilated one between two layers that fit; its channels are no multiple of the parts'."""
    rng, net, zero = np.random.default_rng(seed), Builder(), 0 if kind == "int8" else 128
    channels = 88
    maps = [net.tensor((1, 9, 20, count), kind, 0.1, zero) for count in (8, channels, channels, 8)]

    def weights(shape: tuple[int, ...], axis: int = 0, per_channel: bool = False) -> list[int]:
        count = shape[axis]
        scales = rng.uniform(0.005, 0.02, count) if per_channel and kind == "int8" else np.float64(0.01)
        drawn = rng.integers(-127, 128, shape) + zero
        bias = net.tensor((count,), "int32", 0.1 * scales, data=rng.integers(-999, 999, count))
        return [net.tensor(shape, kind, scales, zero, axis, data=drawn), bias]

    net.operator("CONV_2D", [maps[0], *weights((channels, 1, 1, 8))], [maps[1]], **STEPS)
    dilated = STEPS | {"dilationHFactor": 4, "dilationWFactor": 4, "depthMultiplier": 1}
    depthwise = [maps[1], *weights((1, 3, 3, channels), 3, per_channel)]
    net.operator("DEPTHWISE_CONV_2D", depthwise, [maps[2]], **dilated)
    net.operator("CONV_2D", [maps[2], *weights((8, 1, 1, channels))], [maps[3]], **STEPS)
    model = net.pack([maps[0]], [maps[3]])
    (tmp_path / "net.tflite").write_bytes(model)
    compiled = compile_parts(tmp_path / "net.tflite", SMALL, search_iterations=8)
    split = [part.graph for part in compiled.parts if any(node.operator.name == "SPLIT" for node in part.graph.nodes)]
    assert split and not compiled.partition.host_nodes
    x = rng.integers(0, 256, (1, 9, 20, 8)).astype(np.uint8).view(kind)
    [made] = Functional().run(compiled.network, [x[None]]).outputs
    assert (made[0] == run_litert(model, x)[0]).all()


@pytest.mark.parametrize(
    ("kernel", "stride", "dilation", "same"),
    [(3, 1, 1, True), (3, 2, 1, True), (5, 1, 1, False), (3, 1, 2, True), (4, 3, 1, True)],
)
def test_a_layer_that_does_not_fit_runs_in_parts_of_its_columns(
    kernel: int, stride: int, dilation: int, same: bool, seed: int, tmp_path: Path
) -> None:
    rng, net, span = np.random.default_rng(seed), Builder(), (kernel - 1) * dilation + 1
    shape = (1, 7, 90, 80)
    sizes = (-(-size // stride) if same else (size - span) // stride + 1 for size in shape[1:3])
    x, y = net.tensor(shape, scale=0.1, zero_point=5), net.tensor((1, *sizes, 8), scale=2.0, zero_point=-9)
    filters = net.tensor((8, kernel, kernel, 80), "int8", 0.01, data=rng.integers(-127, 128, (8, kernel, kernel, 80)))
    bias = net.tensor((8,), "int32", 0.001, data=rng.integers(-999, 999, 8))
    steps = {"strideH": stride, "strideW": stride, "dilationHFactor": dilation, "dilationWFactor": dilation}
    net.operator("CONV_2D", [x, filters, bias], [y], padding=0 if same else 1, **steps)
    model = net.pack([x], [y])
    (tmp_path / "net.tflite").write_bytes(model)
    compiled = compile_parts(tmp_path / "net.tflite", SMALL, search_iterations=8)
    names = [node.operator.name for part in compiled.parts for node in part.graph.nodes]
    assert names.count("CONV_2D") > 1 and "CONCATENATION" in names
    assert compiled.partition.host_share < 0.1
    values = rng.integers(-128, 128, shape).astype(np.int8)
    [made] = Functional().run(compiled.network, [values[None]]).outputs
    assert (made[0] == run_litert(model, values)[0]).all()


@pytest.mark.parametrize("per_channel", [False, True])
def test_a_layer_of_few_columns_runs_in_parts_of_its_filters(per_channel: bool, seed: int, tmp_path: Path) -> None:
    """A layer of speech recognition: a row with many channels, and filters of half of its columns."""
    rng, net, count = np.random.default_rng(seed), Builder(), 420
    x, y = net.tensor((1, 1, 60, 96), scale=0.1, zero_point=5), net.tensor((1, 1, 60, count), scale=2.0, zero_point=-9)
    scales = rng.uniform(0.005, 0.02, count) if per_channel else np.float64(0.01)
    filters = net.tensor((count, 1, 31, 96), "int8", scales, data=rng.integers(-127, 128, (count, 1, 31, 96)))
    bias = net.tensor((count,), "int32", 0.1 * scales, data=rng.integers(-999, 999, count))
    net.operator("CONV_2D", [x, filters, bias], [y], **STEPS)
    model = net.pack([x], [y])
    (tmp_path / "net.tflite").write_bytes(model)
    compiled = compile_parts(tmp_path / "net.tflite", SMALL, search_iterations=8)
    operators = [node.operator for part in compiled.parts for node in part.graph.nodes]
    assert any(operator.name == "CONV_2D" and operator.outputs < count for operator in operators)
    assert compiled.partition.host_share < 0.1
    values = rng.integers(-128, 128, (1, 1, 60, 96)).astype(np.int8)
    [made] = Functional().run(compiled.network, [values[None]]).outputs
    assert (made[0] == run_litert(model, values)[0]).all()


@pytest.mark.parametrize("kind", ["RESHAPE", "PAD", "QUANTIZE"])
@pytest.mark.parametrize("also", [False, True])
@pytest.mark.parametrize("where", ["whole", "host", "split"])
def test_a_last_operator_that_changes_nothing(kind: str, also: bool, where: str, seed: int, tmp_path: Path) -> None:
    """The folder has the model's outputs. also: the values before the operator are one, too"""
    net, rng, scale = Builder(), np.random.default_rng(seed), {"scale": 0.1, "zero_point": 3}
    shape = {"whole": (1, 8, 8, 8), "host": (1, 1, 4100, 8), "split": (1, 7, 90, 80)}[where]
    x, made, last = (net.tensor(each, **scale) for each in (shape, (*shape[:3], 8), (*shape[:3], 8)))
    values = rng.integers(-127, 128, (8, 5, 5, shape[3]), np.int8)
    net.operator("CONV_2D", [x, net.tensor(values.shape, scale=0.001, data=values)], [made], **STEPS)
    margins = [net.tensor((4, 2), "int32", data=np.zeros((4, 2), np.int32))] if kind == "PAD" else []
    net.operator(kind, [made, *margins], [last], **({"newShape": [*shape[:3], 8]} if kind == "RESHAPE" else {}))
    (tmp_path / "net.tflite").write_bytes(net.pack([x], [made, last] if also else [last]))
    compiled = compile_parts(tmp_path / "net.tflite", SMALL, search_iterations=8)
    assert bool(compiled.whole) == (where == "whole")
    assert any(node.operator.name == "CONCATENATION" for node in compiled.parts[0].part.graph.nodes) == (
        where == "split"
    )
    save(compiled.network, tmp_path / "net")
    network = files.load(tmp_path / "net")
    assert [each.name for each in network.outputs] == [each.name for each in load(tmp_path / "net.tflite").outputs]
    images = [rng.integers(-128, 128, (1, *shape), np.int8)]
    golden = golden_outputs(network.whole_graph(), images)
    np.testing.assert_array_equal(Functional().run(network, images).outputs, golden)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_the_objective_chooses_the_variant(objective: str, seed: int, tmp_path: Path) -> None:
    """A compilation in parts is as good as one as a whole, by any objective."""
    path, numbers, wholes = tmp_path / "net.tflite", count(), 0
    while wholes < scaled(20, least=3):
        number = next(numbers)
        path.write_bytes(draw_graph(np.random.default_rng([seed, number])).model)
        compiled = compile_parts(path, objective=objective, search_iterations=4)
        if compiled.whole and not any(isinstance(each, Quantized) and each.unsigned for each in compiled.graph.inputs):
            whole = performance(compile_network(path, objective=objective, search_iterations=4))
            assert compiled.performances[0].rating(objective) <= whole.rating(objective), f"graph {number}"
            wholes += 1
