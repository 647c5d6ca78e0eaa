# SPDX-License-Identifier: Apache-2.0
"""Maps in planes as maps of one row: where their words lie, which maps of a network lie so, and what is computed, with
whatever lies between their rows."""

import itertools
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from eyrie.compiler.ir.failure import DoesNotFit
from eyrie.compiler.ir.feature_map import FeatureMap
from eyrie.compiler.ir.layer import Average, Pointwise, Table
from eyrie.compiler.ir.maps import Map
from eyrie.compiler.ir.nest_text import read_schedule
from eyrie.compiler.network import compile_network
from eyrie.compiler.pipeline import dumped
from eyrie.compiler.plan.batch import BatchPlanner, planners
from eyrie.compiler.plan.flow import Flow
from eyrie.compiler.plan.planar_maps import gaining_sizes, in_planes
from eyrie.compiler.plan.segments import SegmentPlanner
from eyrie.compiler.results import Built
from eyrie.compiler.target.mapping import mappings
from eyrie.model.config import DEFAULT, AcceleratorConfig
from eyrie.model.encoding import STREAM_RANGE
from eyrie.model.functional_simulator import FunctionalSimulator
from eyrie.testing.samples import scaled
from tests.commands.small_nets import INPUT, Quant, TfliteBuilder, bias, scales, weights
from tests.compiler.test_networks import CONFIGS
from tests.compiler.test_pieces import block
from tests.compiler.test_segments import estimates

COUNT = scaled(30)
MORE = 300  # networks that may be drawn until all of SEEN has come
SEEN = ("alone", "odd", "even", "rides", "to DRAM", "slices", "in place", "blocks")


@pytest.mark.parametrize("odd", [False, True])
def test_pixels_of_one_row(odd: bool, seed: int) -> None:
    """Each pixel of each group has the word that it has by its row."""
    rng = np.random.default_rng([seed, odd])
    for _ in range(20):
        rows, groups, address = (int(n) for n in rng.integers(1, 12, 3))
        cols = 2 * int(rng.integers(1, 8)) + odd
        map_ = FeatureMap(rows, cols, groups, 2 * address, rows, planar=True)
        flat = map_.flat
        assert (flat.rows, flat.words, flat.row_words) == (1, map_.words, map_.words)
        row, end = flat.row_address(0), map_.address + map_.words
        for y, x, group in np.ndindex(rows, cols, groups):
            word = row + y * (cols + odd) + x + group * flat.group_step
            assert word == map_.row_address(y) + x + group * map_.group_step < end


@pytest.mark.parametrize("other", [{"planar": False}, {"ring_rows": 3}, {"ring_rows": 5}, {"shift": 1}, {"images": 2}])
def test_maps_that_are_not_one_row(other: dict) -> None:
    with pytest.raises(ValueError, match="^a map that is one row lies whole, in planes$"):
        _ = replace(FeatureMap(4, 5, 2, 0, 4, planar=True), **other).flat


# ---- Mappings ----


def pointwise(rows: int, cols: int, channels: int = 64, filters: int = 64, **others) -> Pointwise:
    none = np.zeros(0)
    source, output = (
        Map(name, (rows, cols, count), None, planar=True) for name, count in (("x", channels), ("y", filters))
    )
    return Pointwise(
        name="pointwise0",
        source=source,
        output=output,
        filters=np.zeros((filters, channels), np.int8),
        table=Table(none, none, none, None),
        **others,
    )


@pytest.mark.parametrize(("side", "pixels"), [(5, 4), (6, 5)])
def test_more_columns_are_busy(side: int, pixels: int) -> None:
    """Of 5 x 5 pixels, with those between the rows, 30 go to 8 columns of 4, of 6 x 6 36 to 8 of 5."""
    group = pointwise(side, side)
    best, by_row = (mappings(DEFAULT, group, side, whole)[0] for whole in (True, False))
    assert best.blocks.flat and (best.blocks.columns, best.blocks.pixels) == (8, pixels)
    assert best.cycles < 0.85 * by_row.cycles and not by_row.blocks.flat


def test_what_is_not_taken_as_one_row() -> None:
    """An average sees all pixels in flight; a single column becomes a row before (passes/turn_maps.py); others have to
    lie alike; several images lie side by side; streams count so many columns and no more."""
    group, row = pointwise(5, 5), Map("z", (1, 5, 64), None, planar=True)
    assert group.flat
    for other in (
        replace(group, epilogue=(Average(25),)),
        replace(group, images=2),
        replace(group, others=(row,)),
        replace(group, source=replace(group.source, planar=False)),
        replace(group, output=replace(group.output, planar=False)),
        replace(group, others=(replace(group.output, planar=False),)),
        pointwise(5, 1),
    ):
        assert not other.flat
    assert replace(group, others=(group.output,)).flat
    most = STREAM_RANGE.largest("cols")
    for rows, flat in ((most // 6, True), (most // 6 + 1, False)):
        found = mappings(DEFAULT, pointwise(rows, 5, 8, 8), rows, whole=True)
        assert any(mapping.blocks.flat for mapping in found) == flat


# ---- Which maps ----


def test_maps_at_the_ends_of_a_network_lie_row_by_row() -> None:
    first, second, third = (replace(pointwise(6, 6), name=f"pointwise{n}") for n in range(3))
    maps = [replace(first.source, name=name, planar=False) for name in "abcd"]
    chain = [
        replace(group, source=source, output=made, stored=made is maps[-1])
        for group, source, made in zip((first, second, third), maps, maps[1:])
    ]
    assert [group.flat for group in in_planes(chain, frozenset({(6, 6)}))] == [False, True, False]
    assert [group.flat for group in in_planes(chain, frozenset({(5, 5)}))] == [False] * 3
    read_on = [replace(chain[0], stored=True), *chain[1:]]
    assert not any(group.flat for group in in_planes(read_on, frozenset({(6, 6)})))


def test_planes_where_they_cost_less(seed: int) -> None:
    """The plan with them costs less than any without, by itself."""
    found: Counter = Counter()
    for number in range(10):
        rng = np.random.default_rng([seed, number])
        side = int(rng.choice([4, 5, 6, 8]))
        channels = [int(n) for n in rng.choice([64, 128, 256], 4)]
        blocks = [block(side, *pair) for pair in itertools.pairwise(channels)]
        maps = [replace(blocks[0].source, name=f"m{n}", shape=(side, side, count)) for n, count in enumerate(channels)]
        groups = [
            replace(each, name=f"block{n}", source=maps[n], output=maps[n + 1], stored=n == 2)
            for n, each in enumerate(blocks)
        ]
        planner, *others = planners(groups, estimates(DEFAULT))
        flat = any(group.flat for group in planner.flow.groups)
        found[side in (5, 6), flat] += 1
        assert len(others) == flat and not any(group.flat for other in others for group in other.flow.groups)
        if flat:
            assert gaining_sizes(groups, DEFAULT) == [(side, side)]
            rows = tuple(
                replace(group, source=replace(group.source, planar=False), output=replace(group.output, planar=False))
                for group in planner.flow.groups
            )
            assert planner.cheapest()[0] < SegmentPlanner(Flow(rows), estimates(DEFAULT)).cheapest()[0]
    assert not found[False, True], found


def test_rows_where_planes_find_no_places() -> None:
    """Rejected segments leave row by row what they do not leave in planes: with stripes of DRAM."""
    groups = [replace(pointwise(6, 6, 256, 256), name=f"pointwise{n}") for n in range(3)]
    maps = [replace(groups[0].source, name=name, planar=False) for name in "abcd"]
    chain = [
        replace(group, source=source, output=made, stored=made is maps[-1])
        for group, source, made in zip(groups, maps, maps[1:])
    ]
    planner = BatchPlanner(chain, DEFAULT, "cycles", 1)
    made, segments = planner.cheapest(frozenset())
    assert any(group.flat for group in made)
    rejected: set[tuple] = set()
    while any(group.flat for group in made):
        rejected |= {segment.key for segment in segments if segment.groups[0].flat}
        made, segments = planner.cheapest(frozenset(rejected))
    assert [group.name for group in made] == [group.name for group in chain] and segments[-1].last == 3


# ---- Networks ----


# (rows, columns), channels between blocks, within them, share of blocks with depthwise work, words of a GLB bank
RECIPES = (
    ((5, 5), (64,), (320,), 0.9, 256),
    ((10, 10), (64, 128), (128, 256), 0.2, 1024),
    ((6, 6), (128,), (480,), 0.5, 256),
    ((6, 5), (40, 64, 128), (128, 252, 480), 0.5, 512),
    ((5, 6), (40, 64, 128), (128, 252, 640), 0.5, 1024),
)


def network(rng: np.random.Generator) -> tuple[bytes, AcceleratorConfig]:
    """Blocks on a map that columns do not divide well, some with their source added, and an average at times."""
    (rows, cols), narrow, wide, share, words = RECIPES[rng.integers(len(RECIPES))]
    net = TfliteBuilder("planes")

    def layer(method, name: str, x, *shape: int, count: int, **options):
        out = Quant(0.05, int(rng.choice([-128, rng.integers(-128, 128)])))
        return method(name, x, weights(rng, *shape), scales(rng, count), bias(rng, count), out, **options)

    x = net.input("image", (1, rows, cols, int(rng.choice(narrow))), INPUT)
    for n in range(int(rng.integers(2, 5))):
        block, within, count = x, int(rng.choice(wide)), int(rng.choice([*narrow, x.shape[3], 60]))
        x = layer(net.conv, f"wide{n}", x, within, 1, 1, x.shape[3], count=within)
        if rng.random() < share:
            size = int(rng.choice([3, 3, 3, 5]))
            x = layer(net.depthwise, f"depthwise{n}", x, 1, size, size, within, count=within, padding="SAME")
        x = layer(net.conv, f"narrow{n}", x, count, 1, 1, within, count=count)
        if x.shape == block.shape:
            x = net.add(f"sum{n}", x, block, Quant(0.1, 3))
    if rows == cols and rng.random() < 0.3:
        x = net.average_pool("pool", x, rows, cols)
    config = CONFIGS[rng.integers(len(CONFIGS))] if rng.random() < 0.2 else replace(DEFAULT, glb_bank_words=words)
    return net.build([x]), config


def seen(stages: Built) -> set[str]:
    """What there is of maps that lie in planes."""
    found, plan = set(), stages.plan
    for step in stages.steps:
        if not step.mapping.blocks.flat:
            continue
        group, segment, blocks = step.group, plan.segment_of[step.index], step.mapping.blocks
        what = {
            "alone": not group.others,
            "rides": bool(group.others),
            "odd": group.map_shape[1] % 2 == 1,
            "even": group.map_shape[1] % 2 == 0,
            "blocks": blocks.inner * blocks.outer > 1,
            "slices": segment.parts_of(step.index) > 1,
            "from DRAM": segment.nest.from_dram,
            "to DRAM": segment.nest.to_dram,
        }
        found |= {name for name, there in what.items() if there}
    in_place = any(segment.nest.in_place and segment.groups[0].source.planar for segment in plan.segments)
    return found | ({"in place"} if in_place else set())


def test_accelerator_computes_the_golden_output(seed: int, tmp_path: Path) -> None:
    """From a GLB with anything in it: what lies between the rows counts for nothing."""
    path, found, number = tmp_path / "net.tflite", Counter(), -1
    while (number := number + 1) < COUNT or not found.keys() >= set(SEEN):
        assert number < 10 * COUNT + MORE, f"never seen: {set(SEEN) - found.keys()}"
        rng = np.random.default_rng([seed, number])
        if (stages := drawn(path, rng)) and (what := seen(stages)):
            found.update(what)
            check(stages, rng, f"network {number} of seed {seed}")


def test_planes_from_dram(seed: int, tmp_path: Path) -> None:
    """A layer between two others, with planes as input and output that go through DRAM."""
    rng, path, schedule = np.random.default_rng([seed, 1]), tmp_path / "net.tflite", tmp_path / "schedule.txt"
    net = TfliteBuilder("planes")
    x = net.input("image", (1, 13, 13, 16), INPUT)
    for name, channels, count in (("first", 16, 64), ("second", 64, 32), ("third", 32, 8)):
        constants = weights(rng, count, 1, 1, channels), scales(rng, count), bias(rng, count)
        x = net.conv(name, x, *constants, Quant(0.05, -128))
    path.write_bytes(net.build([x]))
    groups = compile_network(path, search_iterations=8).groups
    segments = (f"segment\n  fetch input\n  pass {each.name}\n  spill output\n" for each in groups)
    schedule.write_text(f"planar: {groups[0].output.name} {groups[1].output.name}\n{''.join(segments)}")
    stages = compile_network(path, search_iterations=8, schedule=read_schedule(schedule))
    assert seen(stages) >= {"alone", "odd", "from DRAM", "to DRAM"}
    check(stages, rng, f"seed {seed}")


def drawn(path: Path, rng: np.random.Generator) -> Built | None:
    model, config = network(rng)
    path.write_bytes(model)
    try:
        return compile_network(path, config, search_iterations=8, images=int(rng.choice([1, 1, 1, 2])))
    except DoesNotFit as error:
        assert str(error).startswith("group "), error
        return None


def check(stages: Built, rng: np.random.Generator, about: str) -> None:
    image = stages.image
    values = rng.integers(-128, 128, (image.images, *image.input_map.shape)).astype(np.int8)
    [run] = image.runs(image.named(values))
    simulator = FunctionalSimulator(image.with_inputs(run), stages.config)
    simulator.glb[:] = rng.integers(0, 1 << 64, simulator.glb.size, np.uint64)
    simulator.run(image.program.address)
    [output] = image.results([image.outputs_in(simulator.dram)], len(values)).values()
    about += (
        f", {len(values)} images:\n{dumped(stages, 'groups')}\n{dumped(stages, 'segments')}\n{dumped(stages, 'map')}"
    )
    assert np.array_equal(output, stages.graph.run_images(values)), about
