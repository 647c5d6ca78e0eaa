# SPDX-License-Identifier: Apache-2.0
"""Networks with branches, joins, several inputs and outputs: compiled and executed command by command they give what
the golden model gives."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from eyrie.compiler.emit.races import Kind, ScheduleError, find_races
from eyrie.compiler.emit.timeline import Timeline
from eyrie.compiler.frontend.file import load
from eyrie.compiler.ir.elementwise import Elementwise
from eyrie.compiler.ir.failure import DoesNotFit
from eyrie.compiler.ir.graph import Graph, Node
from eyrie.compiler.ir.image import Image
from eyrie.compiler.ir.program import Run, Transfer
from eyrie.compiler.ir.tensor import Quantized
from eyrie.compiler.network import compile_network
from eyrie.compiler.operators.elementwise import Add
from eyrie.compiler.passes.order_nodes import most_waiting, order_nodes
from eyrie.compiler.passes.remove_idle import remove_idle
from eyrie.compiler.pipeline import dumped
from eyrie.compiler.results import Built
from eyrie.model.config import DEFAULT
from eyrie.model.functional_simulator import FunctionalSimulator
from eyrie.model.operators.quantization import Quantization
from eyrie.testing.samples import scaled
from tb.net.random_branches import draw_inputs, draw_network, expected_outputs
from tests.commands.small_nets import INPUT, Quant, TfliteBuilder, bias, scales, weights
from tests.compiler.test_networks import CONFIGS

COUNT = scaled(60)
SEEN = ("held", "fetched", "rides", "by itself", "waits", "several inputs", "several outputs", "read on", "striped")


def seen(stages: Built) -> set[str]:
    """What there is in a plan that a chain does not have, and stripes."""
    groups, segments = stages.groups, stages.plan.segments
    riding = [group for group in groups if group.others and not isinstance(group, Elementwise)]
    read = {operand.name for group in groups for operand in group.operands}
    what = {
        "held": any(segment.beside > segment.fetched for segment in segments),
        "fetched": any(segment.fetched for segment in segments),
        "rides": bool(riding),
        "by itself": any(isinstance(group, Elementwise) for group in groups),
        "waits": "wait" in stages.schedule.dram.areas,
        "several inputs": len(stages.image.inputs) > 1,
        "several outputs": len(stages.image.outputs) > 1,
        "read on": any(group.stored and group.output.name in read for group in groups),
        "striped": any(segment.nest.rows and any(group.others for group in segment.groups) for segment in segments),
    }
    return {name for name, there in what.items() if there}


def test_accelerator_computes_the_golden_outputs(seed: int, tmp_path: Path) -> None:
    path, found = tmp_path / "net.tflite", Counter()
    number = -1
    while (number := number + 1) < COUNT or not found.keys() >= set(SEEN):
        assert number < 10 * COUNT, f"never seen: {set(SEEN) - found.keys()}"
        rng = np.random.default_rng([seed, number])
        path.write_bytes(draw_network(rng, side=int(rng.choice([6, 20, 40]))))
        config = CONFIGS[rng.integers(len(CONFIGS))] if rng.random() < 0.5 else DEFAULT
        try:
            stages = compile_network(path, config, search_iterations=8, images=int(rng.choice([1, 1, 1, 2])))
        except DoesNotFit as error:
            assert str(error).startswith("group "), error
            continue
        check(stages, rng, f"network {number} of seed {seed}")
        found.update(seen(stages))


def check(stages: Built, rng: np.random.Generator, about: str) -> None:
    image = stages.image
    inputs = draw_inputs(image, rng)
    simulator = FunctionalSimulator(image.with_inputs(inputs), stages.config)
    simulator.run(image.program.address)
    outputs, golden = image.outputs_in(simulator.dram), expected_outputs(stages.graph, inputs)
    assert list(outputs) == list(golden)
    for name, values in golden.items():
        assert np.array_equal(outputs[name], values), f"{about}, {name}:\n{dumped(stages, 'groups')}"


def test_order_of_branches(seed: int, tmp_path: Path) -> None:
    """The same nodes in an order in which no more values wait; now and then fewer."""
    path, better, number = tmp_path / "net.tflite", 0, 0
    while number < COUNT or not better:
        assert number < 1000, "no order is better"
        path.write_bytes(draw_network(np.random.default_rng([seed, 1, number])))
        graph = remove_idle(load(path))
        ordered = order_nodes(graph).verified()
        assert set(map(id, ordered.nodes)) == set(map(id, graph.nodes)) and len(ordered.nodes) == len(graph.nodes)
        assert most_waiting(ordered) <= most_waiting(graph)
        better, number = better + (most_waiting(ordered) < most_waiting(graph)), number + 1


def test_most_waiting() -> None:
    """A map of 8 values waits while two of 24 and 6 are there."""
    scale = Quantization(1.0, 0)
    image, wide, first, second, total = (
        Quantized(name=name, shape=(1, 1, 1, size), dtype="int8", quantization=scale)
        for name, size in (("image", 5), ("wide", 24), ("first", 8), ("second", 6), ("total", 8))
    )
    nodes = [
        Node(Add(), name, inputs, (output,))
        for name, inputs, output in (
            ("#0", (image,), first),
            ("#1", (image,), wide),
            ("#2", (wide,), second),
            ("#3", (first, second), total),
        )
    ]
    assert most_waiting(Graph((image,), tuple(nodes), (total,))) == 8 + 24 + 6
    graph = Graph((image,), (nodes[1], nodes[2], nodes[0], nodes[3]), (total,))
    assert most_waiting(graph) == 24 + 6
    assert most_waiting(order_nodes(Graph((image,), tuple(nodes), (total,)))) == 24 + 6


# ---- What the last pass has written, as another operand than the source ----


def residual(rng: np.random.Generator) -> bytes:
    """Two branches from a map in the GLB; the second is made right after the first, and takes it."""
    net = TfliteBuilder("residual")
    x = net.input("image", (1, 1, 16, 8), INPUT)
    x = net.conv("stem", x, weights(rng, 8, 1, 1, 8), scales(rng, 8), bias(rng, 8), Quant(0.05, 3))
    parts = [
        net.conv(name, x, weights(rng, 8, size, size, 8), scales(rng, 8), bias(rng, 8), Quant(0.05, 3))
        for name, size in (("first", 3), ("second", 1))
    ]
    return net.build([net.add("sum", *parts, Quant(0.1, -4))])


def test_waits_for_a_residual(seed: int, tmp_path: Path) -> None:
    rng, path = np.random.default_rng(seed), tmp_path / "net.tflite"
    path.write_bytes(residual(rng))
    stages = compile_network(path, search_iterations=8)
    assert len(stages.groups) == 3 and "waits" in seen(stages)
    check(stages, rng, "residual")
    commands = stages.schedule.commands
    stores = [n for n, command in enumerate(commands) if isinstance(command, Transfer) and not command.load]
    last = max(n for n, command in enumerate(commands) if isinstance(command, Run))
    assert stores[0] < last < stores[1]
    hasty = list(commands)
    hasty[stores[0]] = replace(commands[stores[0]], wait_passes=0)
    assert Kind.RESIDUAL in {race.second.kind for race in find_races(hasty, DEFAULT)}
    early = list(commands)
    early[last] = replace(commands[last], wait_transfers=commands[last].wait_transfers - 1)
    assert Kind.RESIDUAL in {race.second.kind for race in find_races(early, DEFAULT)}


def test_compiler_rejects_a_residual_without_a_wait(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "net.tflite"
    path.write_bytes(residual(np.random.default_rng(seed)))
    monkeypatch.setattr(Timeline, "fresh", lambda self, region: None)
    with pytest.raises(ScheduleError, match=r"\(pass, ofmap\) and command [0-9]+ \(pass, residual\)"):
        compile_network(path, search_iterations=8)


# ---- Ends ----


def test_inputs_by_name(seed: int, tmp_path: Path) -> None:
    rng, net, path = np.random.default_rng(seed), TfliteBuilder("two"), tmp_path / "net.tflite"
    parts = [net.input(name, (1, 2, 2, 8), INPUT) for name in ("left", "right", "unread")]
    made = net.add("sum", *parts[:2], Quant(0.1, 0)), net.binary("MUL", "product", *parts[:2], INPUT)
    path.write_bytes(net.build(list(made)))
    stages = compile_network(path, search_iterations=8)
    image: Image = stages.image
    assert (list(image.inputs), list(image.outputs)) == (["left", "right"], ["sum", "product"])
    check(stages, rng, "two inputs")
    values = np.zeros((2, 2, 8), np.int8)
    with pytest.raises(ValueError, match="^the network has 2 inputs, this is for one with a single one$"):
        image.with_input(values)
    with pytest.raises(ValueError, match="^inputs are left, the network takes left, right$"):
        image.with_inputs({"left": values})
    with pytest.raises(ValueError, match="^input right is int8 2 x 8, the network takes int8 2 x 2 x 8$"):
        image.with_inputs({"left": values, "right": values[0]})
