# SPDX-License-Identifier: Apache-2.0
"""Loops over rows in which several passes read one map: shortcuts and branches whose maps are larger than the GLB."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest

from eyrie.compiler.frontend import tflite
from eyrie.compiler.ir.layer import Group
from eyrie.compiler.ir.maps import Part
from eyrie.compiler.ir.nest import ONE, Nest
from eyrie.compiler.ir.plan import SOURCE, Segment
from eyrie.compiler.network import compile_network
from eyrie.compiler.performance import performance
from eyrie.compiler.pipeline import dumped
from eyrie.compiler.plan.flow import Flow
from eyrie.model.config import DEFAULT
from eyrie.model.interpreters import RUN
from eyrie.model.operators.reference import Reference
from eyrie.runtime.inputs import random_inputs
from eyrie.testing.samples import scaled
from eyrie.training.tflite_writer import Tensor
from tb.net.random_branches import _join, _out
from tests.commands.small_nets import INPUT, TfliteBuilder, bias, scales, weights
from tests.compiler.test_schedules import changed, golden, is_accepted
from tests.compiler.test_turned_maps import check_program, compiled

NETWORKS = scaled(40, least=8)
CONFIGS = (replace(DEFAULT, glb_bank_words=256), DEFAULT)


class Blocks:
    """A network of blocks that keep the map's size."""

    def __init__(self, rng: np.random.Generator, shape: tuple[int, int, int]) -> None:
        self.rng, self.net, self._count = rng, TfliteBuilder("blocks"), 0
        self.input = self.net.input("image", (1, *shape), INPUT)

    def conv(self, x: Tensor, filters: int, size: int = 1) -> Tensor:
        constants = weights(self.rng, filters, size, size, x.shape[3]), scales(self.rng, filters)
        return self.net.conv(self._name(), x, *constants, bias(self.rng, filters), _out(self.rng))

    def depthwise(self, x: Tensor, size: int = 3) -> Tensor:
        channels = x.shape[3]
        constants = weights(self.rng, 1, size, size, channels), scales(self.rng, channels), bias(self.rng, channels)
        return self.net.depthwise(self._name(), x, *constants, _out(self.rng))

    def join(self, x: Tensor, other: Tensor) -> Tensor:
        return _join(self.rng, self.net, self._name(), x, other)

    def block(self, kind: str, x: Tensor) -> Tensor:
        channels = x.shape[3]
        if kind == "shortcut":
            return self.join(self.conv(self.depthwise(x, int(self.rng.choice([3, 5]))), channels), x)
        if kind == "inverted":
            return self.join(self.conv(self.depthwise(self.conv(x, 2 * channels)), channels), x)
        if kind == "branches":
            return self.join(self.conv(x, 16, 3), self.conv(x, 16))
        if kind == "unequal branches":
            return self.join(self.depthwise(x), self.conv(x, channels))
        first = self.conv(x, channels)
        second = self.depthwise(first)
        return self.join(self.join(first, second), self.conv(second, channels))

    def _name(self) -> str:
        self._count += 1
        return f"layer{self._count}"


KINDS = ("shortcut", "inverted", "branches", "unequal branches", "nested")


def drawn(rng: np.random.Generator, kind: str) -> bytes:
    shape = int(rng.choice([20, 33, 48])), int(rng.choice([16, 31])), int(rng.choice([3, 8, 16]))
    net = Blocks(rng, shape)
    x = net.conv(net.input, int(rng.choice([8, 16, 24])), 3) if rng.random() < 0.5 else net.input
    for each in (kind, str(rng.choice(KINDS))):
        x = net.block(each, x)
    return net.net.build([x])


def shared(segment: Segment) -> int:
    """Maps of a loop that several operands read."""
    return sum(len(operands) > 1 for operands in segment.readers.values())


def test_random_networks(seed: int) -> None:
    """They have the outputs of tflite-micro, and many share loops."""
    found = Counter[str]()
    for n in range(NETWORKS):
        kind = KINDS[n % len(KINDS)]
        model = drawn(np.random.default_rng([seed, n]), kind)
        config, graph, where = CONFIGS[n % 3 == 2], tflite.from_bytes(model), f"network {n} of seed {seed}"
        [values] = random_inputs(graph, 1, seed)
        built = compiled(graph, config, turn=False)
        check_program(built.image, graph, values[0], RUN[Reference.MICRO](model, values[0]), config, where)
        found["shared"] += sum(map(shared, built.schedule.plan.segments))
        found["input"] += sum(segment.shares_input for segment in built.schedule.plan.segments)
    assert found["shared"] >= NETWORKS // 2 and found["input"], found


def test_given_schedules(seed: int, tmp_path: Path) -> None:
    """A changed schedule, in which other passes share loops, changes no output, or is rejected."""
    model, path, counts = tmp_path / "net.tflite", tmp_path / "schedule.txt", Counter[str]()
    for n in range(scaled(8, least=3)):
        random = Random(f"{seed}.{n}")
        model.write_bytes(drawn(np.random.default_rng([seed, 1, n]), KINDS[n % len(KINDS)]))
        stages = compile_network(model, CONFIGS[0], search_iterations=4)
        printed, expected = dumped(stages, "segments"), golden(stages.graph, seed)
        path.write_text(printed)
        assert is_accepted(model, CONFIGS[0], path, expected, seed)
        for _ in range(scaled(12, least=6)):
            path.write_text(changed(printed, random))
            counts["accepted" if is_accepted(model, CONFIGS[0], path, expected, seed) else "rejected"] += 1
    assert counts["accepted"] and counts["rejected"], counts


@pytest.mark.parametrize("kind", KINDS)
def test_large_maps_come_once(kind: str, seed: int, tmp_path: Path) -> None:
    """All maps of a block stay in the GLB, although each is larger: DRAM has its input, its output and constants."""
    net, model = Blocks(np.random.default_rng(seed), (96, 64, 16)), tmp_path / "net.tflite"
    model.write_bytes(net.net.build([net.block(kind, net.input)]))
    built = compile_network(model)
    assert built.groups[0].source.layout.words > DEFAULT.glb_words
    found = performance(built)
    spent = found.dram_read_bytes + found.dram_write_bytes - found.command_bytes
    assert spent < 1.02 * found.compulsory_dram_bytes


def groups_of(kind: str) -> tuple[Group, ...]:
    net = Blocks(np.random.default_rng(1), (12, 9, 8))
    return tuple(compiled(tflite.from_bytes(net.net.build([net.block(kind, net.input)])), DEFAULT, turn=False).groups)


def test_rows_of_a_shortcut() -> None:
    """By hand: an expansion, and a 3x3 depthwise layer with the shortcut; tiles of two rows."""
    segment = Segment(groups_of("inverted"), 0, 2, Nest((ONE,) * 2, rows=2, from_dram=True, to_dram=True))
    assert segment.readers == {SOURCE: [(0, 0), (1, 1)], 0: [(1, 0)]}
    assert [job[:3] for job in segment.jobs[:5]] == [(0, 0, 3), (1, 0, 2), (0, 3, 5), (1, 2, 4), (0, 5, 7)]
    assert segment.rows_read(segment.jobs[3], 0) == (1, 5) and segment.rows_read(segment.jobs[3], SOURCE) == (2, 4)
    assert segment.ring_rows(0) == 4  # rows 1 to 4 while tile 2 and 3 is made
    assert segment.input_ring_rows() == 5  # rows 2 to 6: of the shortcut, and for the pass after rows 3 and 4
    assert segment.shared_input_rows(early=True) == 7


def test_loops_have_all_readers_of_their_maps() -> None:
    """Passes share a loop if no other reads their outputs, and if they read them row by row."""
    first, second, *others = groups = groups_of("nested")
    assert [len(list(Flow(groups).strays(0, last))) for last in range(1, 5)] == [0, 1, 1, 0]
    assert not list(Flow(groups).strays(1, 4)) and Flow(groups).encloses(0, 4)

    def reason(*changed: Group) -> str:
        return next(Flow(changed).strays(0, 4))

    outside = "the output of pointwise0 is read by others than the passes of the loop"
    assert reason(replace(first, stored=True), second, *others) == outside
    assert (
        reason(replace(first, output=replace(first.output, part=Part(first.output, 0, 0))), second, *others) == outside
    )
    by_row = "reads layer1, which the loop does not bring row by row"
    small, third = replace(first.output, shape=(1, 9, 8)), others[0]
    broadcast = replace(third, others=(small,))
    found = reason(replace(first, output=small), replace(second, source=small), broadcast, *others[1:])
    assert found == f"{third.name} {by_row}"
    planar = replace(first.output, planar=True)
    assert reason(replace(first, output=planar), replace(second, source=planar), *others) == f"{second.name} {by_row}"
    elsewhere = replace(first.source, name="elsewhere")
    assert reason(first, replace(second, source=elsewhere), *others).startswith("depthwise1 reads elsewhere, which")
