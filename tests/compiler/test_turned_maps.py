# SPDX-License-Identifier: Apache-2.0
"""Maps of one column as rows: results are the reference's either way, and the way with fewer cycles is taken."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from eyrie.compiler import network
from eyrie.compiler.cost.predict import predict
from eyrie.compiler.frontend import tflite
from eyrie.compiler.ir.failure import DoesNotFit, Unsupported
from eyrie.compiler.ir.graph import Graph
from eyrie.compiler.ir.image import Image
from eyrie.compiler.ir.plan import Plan
from eyrie.compiler.network import compile_whole
from eyrie.compiler.passes.simplify import simplified, turns
from eyrie.compiler.pipeline import STAGES, run_stages
from eyrie.compiler.plan import settle
from eyrie.compiler.plan.search import Placed
from eyrie.compiler.results import Built, Imported
from eyrie.model.config import DEFAULT, AcceleratorConfig
from eyrie.model.functional_simulator import FunctionalSimulator
from eyrie.model.interpreters import RUN
from eyrie.model.operators.reference import Reference
from eyrie.runtime.inputs import random_inputs
from eyrie.testing.samples import scaled
from tb.common.random_graphs import elementwise, movement, weighted
from tb.common.random_graphs.net import Net
from tb.common.random_operators.drawing import draw_quantization, whole
from tests.compiler.test_moves import Drawn

LARGE = 1e6  # an estimate above what the networks take
NETWORKS = scaled(40)
SEARCH_ITERATIONS = 4
CONFIGS = (DEFAULT, AcceleratorConfig(rows=3), AcceleratorConfig(rows=12), AcceleratorConfig(multipliers=1, cols=5))
OPERATORS = (
    weighted.conv_2d,
    weighted.conv_2d,
    weighted.depthwise_conv_2d,
    weighted.pointwise,
    weighted.max_pool_2d,
    weighted.average_pool_2d,
    weighted.mean,
    weighted.fully_connected,
    elementwise.add,
    elementwise.leaky_relu,
    movement.split,
    movement.pad,
    movement.concatenation,
    movement.slice_,
    movement.strided_slice,
    movement.reshape,
)


def column_network(seed: int) -> bytes:
    """Operators of any window one after the other, from a map of one column on."""
    rng = np.random.default_rng(seed)
    net = Net(rng, "int8")
    net.input((1, whole(rng, 2, 60), 1, net.one_of((1, 3, 8, 20, 40))), draw_quantization(rng))
    for _ in range(whole(rng, 1, 6)):
        if x := net.take(lambda value: len(value.shape) == 4):
            net.one_of(OPERATORS)(net, x)
    if not net.made:
        weighted.conv_2d(net, net.values[0])
    return net.builder.pack(
        [net.inputs[0][0].index], [value.index for value in net.made if value.index not in net.taken]
    )


def compiled(graph: Graph, config: AcceleratorConfig, turn: bool) -> Built:
    return run_stages(replace(imported(graph, config), turn=turn), STAGES[1:])


def checked(model: bytes, config: AcceleratorConfig, seed: int, where: str = "", turn: bool = False) -> Built:
    """Compile a network, and compare the outputs of its program for a random input with the reference's."""
    graph = tflite.from_bytes(model)
    [values] = random_inputs(graph, 1, seed)
    built = compiled(graph, config, turn)
    check_program(built.image, graph, values[0], RUN[Reference.MICRO](model, values[0]), config, where)
    return built


def check_program(
    image: Image,
    graph: Graph,
    values: np.ndarray,
    expected: Sequence[np.ndarray],
    config: AcceleratorConfig,
    where: str,
) -> None:
    """Run the program of a graph with one input on the functional simulator, and compare its outputs."""
    [(name, place)] = image.inputs.items()
    run = FunctionalSimulator(image.with_inputs({name: values.reshape(place.shape)}), config)
    run.run(image.program.address)
    outputs = image.outputs_in(run.dram)
    for tensor, want in zip(graph.outputs, expected, strict=True):
        np.testing.assert_array_equal(outputs[tensor.name].ravel(), want.ravel(), err_msg=where)


def imported(graph: Graph, config: AcceleratorConfig) -> Imported:
    asked = {"objective": "cycles", "search_iterations": SEARCH_ITERATIONS, "images": 1}
    return Imported(model="drawn", config=config, graph=graph, **asked)


def test_random_networks(seed: int) -> None:
    """The graph with rows, and the accelerator's program of it where no host is needed, make what the reference
    makes."""
    seen, n = Counter(), 0
    while n < NETWORKS or 3 * seen["rejected"] >= 2 * n:
        n += 1
        assert n < 5 * NETWORKS, seen
        model, config = column_network(seed + n), CONFIGS[n % len(CONFIGS)]
        graph = tflite.from_bytes(model)
        [values] = random_inputs(graph, 1, seed)
        expected = RUN[Reference.MICRO](model, values[0])
        turned = simplified(graph, turn=True).verified()
        made = turned.run(values[0].reshape(turned.inputs[0].shape))
        for tensor, want in zip(turned.outputs, expected, strict=True):
            np.testing.assert_array_equal(made[tensor.name].reshape(want.shape), want, err_msg=f"seed {seed + n}")
        seen["turned"] += turns(graph)
        try:
            image = compiled(graph, config, turn=True).image
        except (DoesNotFit, Unsupported):
            seen["rejected"] += 1
            continue
        check_program(image, graph, values[0], expected, config, f"seed {seed + n}")
    assert seen["turned"] > n // 3, seen


def column_convolutions(rows: int) -> Graph:
    """As networks of sound have them: 9 x 1, pointwise, 9 x 1, fully connected."""
    net = Drawn(1, (1, rows, 1, 40))
    x = net.conv(net.conv(net.conv(net.input, 48, rows=9), 40), 24, rows=9)
    return tflite.from_bytes(net.builder.pack([net.input], [net.fully_connected(x, 4)]))


def test_inputs_and_outputs_are_rows() -> None:
    """No pass moves them; an output that others read, or that another operator makes or reads, is a column."""
    net = Drawn(1, (1, 30, 1, 8))
    x = net.conv(net.input, 16, rows=9)
    graph = tflite.from_bytes(net.builder.pack([net.input], [net.conv(x, 24, rows=9), net.conv(x, 8, rows=3)]))
    stages = compiled(graph, DEFAULT, turn=True)
    assert [group.operators for group in stages.groups] == ["conv"] * 3
    maps = (*stages.image.inputs.values(), *stages.image.outputs.values())
    assert [map_.laid for map_ in maps] == [(1, 30, 8), (1, 14, 24), (1, 20, 8)]
    assert [map_.shape for map_ in stages.image.outputs.values()] == [(14, 1, 24), (20, 1, 8)]
    vector = net.tensor((1, 22 * 16))
    net.builder.operator("RESHAPE", [x], [vector])
    read = simplified(tflite.from_bytes(net.builder.pack([net.input], [x, vector])), turn=True)
    assert [tensor.shape for tensor in read.outputs] == [(1, 22, 1, 16), (1, 22 * 16)]
    behind = simplified(tflite.from_bytes(net.builder.pack([net.input], [x, net.conv(x, 8)])), turn=True)
    assert [tensor.shape for tensor in behind.outputs] == [(1, 22, 1, 16), (1, 1, 22, 8)]


@pytest.mark.parametrize("config", CONFIGS)
def test_what_costs_less_is_taken(config: AcceleratorConfig) -> None:
    graph = column_convolutions(97)
    upright, turned = (predict(compiled(graph, config, turn).image).cycles for turn in (False, True))
    assert turned < 0.85 * upright
    model = imported(graph, config)
    assert predict(compile_whole(model).image).cycles == turned


@pytest.mark.parametrize("worse", [network.FAR / 1.01, network.FAR * 1.01])
@pytest.mark.parametrize("finds_places", [True, False])
def test_a_plan_far_from_the_best_gets_places_only_if_the_best_finds_none(
    worse: float, finds_places: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, seen = imported(column_convolutions(97), DEFAULT), list[str]()
    candidates = settle.search.candidates

    def found(plan: Plan, *rest: object) -> list[Placed]:
        if not finds_places and any(group.output.shape[1] > 1 for group in plan.groups):
            raise DoesNotFit("no places")
        return candidates(plan, *rest)

    monkeypatch.setattr(network, "_planned_cycles", lambda work, _: LARGE if work.turn else LARGE * worse)
    monkeypatch.setattr(settle.search, "candidates", found)
    made = compile_whole(model, on_stage=seen.append)
    assert made.turn == finds_places
    assert seen.count("segments") == 2
    assert seen.count("places") == 1 + (worse > network.FAR and not finds_places) + (worse < network.FAR)


def test_what_is_wider_than_a_column_stays() -> None:
    """A map of two columns, and a window that makes two columns of one."""
    net = Drawn(1, (1, 30, 2, 8))
    assert not turns(tflite.from_bytes(net.builder.pack([net.input], [net.conv(net.input, 8, rows=3, cols=2)])))
    net = Drawn(1, (1, 30, 1, 8))
    padded = net.pad(net.input, (0, 0), (0, 0), (1, 1), (0, 0))
    assert not turns(tflite.from_bytes(net.builder.pack([net.input], [net.conv(padded, 8, rows=3, cols=2)])))
