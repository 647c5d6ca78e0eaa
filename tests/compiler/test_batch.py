# SPDX-License-Identifier: Apache-2.0
"""Batches: what all images go through together, halves of blocks, slices of filters, and what it saves."""

from dataclasses import replace
from itertools import groupby
from math import inf
from pathlib import Path

import numpy as np
import pytest

from eyrie.compiler.frontend import tflite
from eyrie.compiler.ir.divisions import halves
from eyrie.compiler.ir.layer import Group, Separable
from eyrie.compiler.ir.nest import Nest, Tiling
from eyrie.compiler.ir.plan import Segment
from eyrie.compiler.network import compile_network
from eyrie.compiler.passes.form_groups import form_groups
from eyrie.compiler.plan import batch
from eyrie.compiler.plan.batch import BatchPlanner, Network, _repeated
from eyrie.compiler.plan.bounds import Bounds
from eyrie.compiler.plan.flow import Flow
from eyrie.compiler.plan.nests import segments_of_images
from eyrie.compiler.plan.pieces import in_pieces
from eyrie.compiler.plan.segments import SegmentPlanner
from eyrie.compiler.results import Built
from eyrie.model.config import DEFAULT, AcceleratorConfig
from eyrie.model.functional_simulator import FunctionalSimulator
from tests.commands.small_nets import INPUT, Quant, TfliteBuilder, bias, scales, weights
from tests.compiler.test_segments import BUSY, cost_of, estimates, sums

SMALL = replace(DEFAULT, glb_bank_words=256, word_buffer_words=64)  # the smallest GLB and word buffer
IMAGES = 4
SEARCH_ITERATIONS = 200


def late_blocks(rng: np.random.Generator) -> bytes:
    """Blocks 6 to 8 and the classifier, with an eighth of the channels: maps of 8 x 8, 4 x 4, 2 x 2."""
    net = TfliteBuilder("late blocks")
    x = net.input("image", (1, 8, 8, 32), INPUT)
    for n, (filters, stride) in enumerate(((64, 2), (64, 1), (128, 2))):
        channels = x.shape[3]
        x = net.depthwise(
            f"block{n}/depthwise",
            x,
            weights(rng, 1, 3, 3, channels),
            scales(rng, channels),
            bias(rng, channels),
            Quant(0.05, -128),
            stride=stride,
            relu=1,
        )
        x = net.conv(
            f"block{n}",
            x,
            weights(rng, filters, 1, 1, channels),
            scales(rng, filters),
            bias(rng, filters),
            Quant(0.05, -128),
            relu=1,
        )
    x = net.average_pool("pool", x, 2, 2)
    return net.build([net.conv("fc", x, weights(rng, 10, 1, 1, 128), scales(rng, 10), bias(rng, 10), Quant(0.2, 3))])


@pytest.fixture
def model(seed: int, tmp_path: Path) -> Path:
    path = tmp_path / "net.tflite"
    path.write_bytes(late_blocks(np.random.default_rng(seed)))
    return path


def run(stages: Built, values: np.ndarray) -> tuple[np.ndarray, FunctionalSimulator]:
    """Outputs of one run of the functional simulator, and the accelerator behind it."""
    [filled] = stages.image.runs(stages.image.named(values))
    simulator = FunctionalSimulator(stages.image.with_inputs(filled), stages.config)
    simulator.run(stages.image.program.address)
    [outputs] = stages.image.results([stages.image.outputs_in(simulator.dram)], len(values)).values()
    return outputs, simulator


def images(seed: int, count: int = IMAGES) -> np.ndarray:
    return np.random.default_rng([seed, 1]).integers(-128, 128, (count, 8, 8, 32)).astype(np.int8)


def bundled_plan(groups: list[Group]) -> Network:
    """As the bundled network's later blocks are done: the first depthwise half image by image; then in halves,
    the second one's depthwise half in place, its pointwise half in slices."""
    (first, second), (third, fourth) = halves(groups[0]), halves(groups[1])
    together = [replace(group, images=IMAGES) for group in (second, third, fourth, *groups[2:])]
    alone, chain = (first,), tuple(together)
    plan = [
        Segment(chain, 0, 1, Nest(from_dram=True)),
        Segment(chain, 1, 2, Nest(rows=third.map_shape[0], in_place=True)),
        Segment(chain, 2, 3, Nest((Tiling(filters=4),), to_dram=True)),
        Segment(chain, 3, 4, Nest(from_dram=True)),
        Segment(chain, 4, 5, Nest(to_dram=True)),
    ]
    whole = Segment(alone, 0, 1, Nest(from_dram=True, to_dram=True))
    return _repeated(2 * IMAGES, IMAGES, [([first], [whole]), (together, plan)])


def test_every_image_gets_its_own_result(model: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the compiler's own plan, and with halves, slices and work in place; eight images, four at a time."""
    values, texts = images(seed, 2 * IMAGES), set()
    for forced in (False, True):
        if forced:
            monkeypatch.setattr(BatchPlanner, "cheapest", lambda *_: bundled_plan(stages.groups))
        stages = compile_network(model, SMALL, search_iterations=SEARCH_ITERATIONS, images=2 * IMAGES)
        assert any(group.images for group in stages.schedule.plan.groups)
        texts.add(stages.text)
        output, _ = run(stages, values)
        assert np.array_equal(output, stages.graph.run_images(values))
        turned, _ = run(stages, values[::-1])
        assert np.array_equal(turned, output[::-1]) and not np.array_equal(turned, output)
    assert len(texts) == 2


def test_weights_come_once(model: Path, seed: int) -> None:
    """DRAM bytes of a batch: those of the images one by one, less the weights that they share."""
    bytes_ = {}
    for count in (1, IMAGES):
        stages = compile_network(model, DEFAULT, search_iterations=SEARCH_ITERATIONS, images=count)
        _, config = run(stages, images(seed, count))
        bytes_[count] = config.counters["DRAM_READ_BYTES"] + config.counters["DRAM_WRITE_BYTES"]
    shared = sum(g.weight_bytes for g in stages.schedule.plan.groups if g.images)
    assert shared > 0
    assert bytes_[IMAGES] < IMAGES * bytes_[1] - (IMAGES - 1) * shared * 0.9


@pytest.fixture
def busy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the port, as `sums` has it."""
    monkeypatch.setattr(batch, "port_busy", lambda groups, config: BUSY)


def alone(groups: list[Group], config: AcceleratorConfig) -> tuple[float, float]:
    """Cost of the best plan for one image, each block in the pieces that cost less."""
    return SegmentPlanner(Flow(tuple(in_pieces(groups, estimates(config)))), estimates(config)).cheapest()[0]


def spent(segments: list[Segment], config: AcceleratorConfig) -> float:
    """Cycles as planned, with what neighbours wait for that each image goes through alone."""
    runs = groupby(segments, lambda segment: (segment.groups[0].images, segment.groups[0].image))
    return sum(
        sums(list(run), config, "cycles")[0]
        if not images
        else sum(Bounds(segment, config).cost("cycles", BUSY)[0] for segment in run)
        for (images, _), run in runs
    )


def test_no_worse_than_one_by_one(model: Path, busy: None) -> None:
    groups = form_groups(tflite.load(model))
    for config in (SMALL, DEFAULT):
        one = alone(groups, config)
        _, segments = BatchPlanner(groups, config, "cycles", IMAGES).cheapest(frozenset())
        assert spent(segments, config) <= IMAGES * one[0]


def cheapest(groups: list[Group], config: AcceleratorConfig, count: int) -> float:
    """Cycles of the best plan for `count` images, by going through all there are."""
    best = count * alone(groups, config)[0]

    def together(rest: list[Group], images: int, from_dram: bool) -> float:
        """Of all that is left, several images at once; blocks are tried whole and in halves."""
        if not rest:
            return 0 if from_dram else inf
        choices = [rest]
        if isinstance(rest[0], Separable):
            choices.append([*halves(rest[0]), *rest[1:]])
        found = inf
        for chain in choices:
            group = replace(chain[0], images=images)
            for segment in segments_of_images(group, from_dram, last=len(chain) == 1):
                cost = cost_of(Bounds(segment, config), "cycles")
                if cost is not None:
                    found = min(found, cost[0] + together(chain[1:], images, segment.nest.to_dram))
        return found

    for images in (n for n in range(2, count + 1) if count % n == 0):
        for cut in range(len(groups)):
            first, second = halves(groups[cut]) if isinstance(groups[cut], Separable) else (None, None)
            for head, rest in ((groups[:cut], groups[cut:]), ([*groups[:cut], first], [second, *groups[cut + 1 :]])):
                if rest[0] is not None:
                    one = alone(head, config)[0] if head else 0
                    best = min(best, count * one + count // images * together(rest, images, True))
    return best


@pytest.mark.parametrize("config", [SMALL, DEFAULT])
@pytest.mark.parametrize("count", [2, 4, 6])
def test_plan_is_the_cheapest(count: int, config: AcceleratorConfig, model: Path, busy: None) -> None:
    groups = form_groups(tflite.load(model))
    _, segments = BatchPlanner(groups, config, "cycles", count).cheapest(frozenset())
    assert spent(segments, config) == pytest.approx(cheapest(groups, config, count))


def test_one_image_is_no_batch(model: Path, busy: None) -> None:
    groups = form_groups(tflite.load(model))
    planned, segments = BatchPlanner(groups, DEFAULT, "cycles", 1).cheapest(frozenset())
    expected = in_pieces(groups, estimates(DEFAULT))
    assert list(map(str, planned)) == list(map(str, expected))
    assert segments == SegmentPlanner(Flow(tuple(expected)), estimates(DEFAULT)).cheapest()[1]


def test_halves_keep_the_numbers(model: Path) -> None:
    for block in form_groups(tflite.load(model))[:3]:
        first, second = halves(block)
        assert first.macs + second.macs == block.macs
        assert first.source == block.source and second.output == block.output and first.output == second.source
        assert second.source.zero_point == block.middle.output.zero_point
        assert (first.epilogue, second.epilogue) == ((), block.epilogue)


def test_last_run_is_filled(model: Path, seed: int) -> None:
    """Seven images in runs of four: the last one's copies fill the second run and are dropped."""
    stages = compile_network(model, DEFAULT, search_iterations=20, images=IMAGES)
    values = images(seed, 7)
    runs = [of for run in stages.image.runs(stages.image.named(values)) for of in run.values()]
    assert [len(r) for r in runs] == [4, 4] and np.array_equal(runs[1][3], values[6])
    [name] = stages.image.outputs
    made = [{name: np.full((4, 1, 1, 10), value, np.int8)} for value in (0, 1)]
    results = stages.image.results(made, 7)[name]
    assert results.shape == (7, 1, 1, 10) and results.sum() == 30


@pytest.mark.parametrize(
    "config",
    [replace(DEFAULT, multipliers=1), AcceleratorConfig(rows=3, cols=4), replace(DEFAULT, bus_words=2, filter_lanes=2)],
)
def test_other_configurations(config: AcceleratorConfig, model: Path, seed: int) -> None:
    stages = compile_network(model, config, search_iterations=SEARCH_ITERATIONS, images=3)
    values = images(seed, 3)
    assert np.array_equal(run(stages, values)[0], stages.graph.run_images(values))
