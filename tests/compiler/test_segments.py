# SPDX-License-Identifier: Apache-2.0
"""Segments: the plan is the cheapest there is, and the order of jobs keeps what it promises."""

from collections import Counter
from contextlib import suppress
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from eyrie.compiler.cost.counters import by_layer
from eyrie.compiler.ir.divisions import halves
from eyrie.compiler.ir.failure import DoesNotFit
from eyrie.compiler.ir.layer import Group, Output, Pointwise, Separable, Table
from eyrie.compiler.ir.maps import Map
from eyrie.compiler.ir.nest import ONE, Nest, Tiling
from eyrie.compiler.ir.nest_text import lines_of, read_schedule
from eyrie.compiler.ir.plan import Segment
from eyrie.compiler.ir.program import Transfer
from eyrie.compiler.ir.window import Window, input_rows
from eyrie.compiler.network import compile_network
from eyrie.compiler.plan import segments as planner_module
from eyrie.compiler.plan.bounds import LEAKAGE_PJ, Bounds, constant_words, port_busy
from eyrie.compiler.plan.estimates import Estimates
from eyrie.compiler.plan.flow import Flow
from eyrie.compiler.plan.nests import possible_segments
from eyrie.compiler.plan.segments import MOST_BEFORE, SegmentPlanner, _needs_slack_too_late
from eyrie.compiler.plan.tensors import plan_maps
from eyrie.compiler.target.times import TURN
from eyrie.model.config import DEFAULT, GLB_WORD_BYTES, AcceleratorConfig
from eyrie.testing.samples import scaled
from tests.commands.small_nets import INPUT, VALID, Quant, TfliteBuilder, bias, scales, weights
from tests.compiler.test_groups import Net
from tests.compiler.test_networks import check

NETWORKS = scaled(12, least=3)
REJECTIONS = 20  # of segments of one network at most, one after another
COMPARED = scaled(REJECTIONS, least=6)  # of these plans, with the plan of a new planner
LEFT_BY_PRUNING = 0.01  # of the cost of the cheapest plan
BUSY = 0.7  # of the DRAM port, with constants
SMALL = replace(DEFAULT, glb_bank_words=256)
HALVES = ((1, 14, 512, 512), (1, 12, 512, 512), (1, 14, 384, 384), (1, 10, 512, 512), (2, 28, 256, 512))
MIDDLE = Table(*np.zeros((3, 1), np.int32), Output())  # of any depthwise work


def network(rng: np.random.Generator, count: int, sides: tuple[int, ...] = (8, 12, 16)) -> list[Group]:
    """A chain of depthwise-separable groups; what tables hold does not matter here."""
    side, channels = int(rng.choice(sides)), int(rng.choice([8, 16, 32]))
    groups = []
    for n in range(count):
        stride, filters = int(rng.integers(1, 3)), int(rng.choice([8, 16, 32]))
        out = -(-side // stride)
        source, output = (
            Map(f"t{n + k}", shape, None) for k, shape in enumerate([(side, side, channels), (out, out, filters)])
        )
        window = Window((3, 3), (stride, stride), (1, 1, 1, 1))
        groups.append(
            Separable(
                name=f"block{n}",
                source=source,
                output=output,
                window=window,
                filters=np.zeros((filters, channels), np.int8),
                table=None,
                depthwise=np.zeros((3, 3, channels), np.int8),
                middle=None,
            )
        )
        side, channels = out, filters
    return groups


def branched(rng: np.random.Generator, count: int, sides: tuple[int, ...] = (8, 12, 16)) -> Flow:
    """As `network`, groups now and then reading an older map, too; some maps in DRAM."""
    groups = network(rng, count, sides)
    for n in range(1, count):
        if rng.random() < 0.5:
            other = groups[rng.integers(n)]
            groups[n] = replace(groups[n], others=(rng.choice([other.source, other.output]),))
    return Flow(tuple(groups), frozenset(group.output.name for group in groups if rng.random() < 0.3))


def estimates(config: AcceleratorConfig, objective: str = "cycles") -> Estimates:
    return Estimates(config, objective, BUSY)


def cost_of(bounds: Bounds, objective: str) -> tuple[float, float] | None:
    """None for a segment that does not fit."""
    try:
        return bounds.cost(objective, BUSY) if bounds.peak_words <= bounds.config.glb_words else None
    except DoesNotFit:
        return None


class Measured:
    """A segment on an accelerator, as far as its neighbours are concerned, each figure found once."""

    def __init__(self, segment: Segment, config: AcceleratorConfig, objective: str) -> None:
        bounds = Bounds(segment, config)
        self.segment, self.cost = segment, cost_of(bounds, objective)
        if self.cost is not None:
            first, last, nest = segment.jobs[0], segment.jobs[-1], segment.nest
            self.head, self.tail, self.free = (
                bounds.head_words,
                bounds.tail_cycles,
                config.glb_words - bounds.peak_words,
            )
            self.reads, self.makes = first.reads[1], last.first
            row, made = segment.groups[0].source.layout.row_words, segment.groups[-1].output.layout.row_words
            self.input = nest.from_dram * (first.reads[1] - first.reads[0]) * row // nest.tilings[0].channels
            self.stored = nest.to_dram * (last.last - last.first) * made // nest.tilings[-1].parts
            self.excess, self.last_cycles = bounds.port_excess, bounds.last_cycles


def waited(before: Measured | None, here: Measured, config: AcceleratorConfig, objective: str) -> tuple[float, float]:
    """Return the wait before the first segment: for all words of its first job. Between two segments: for the port, for
    words of the first job that have no room beside the segment before and that this had time to load; and the last rows
    of that, if the first job reads of them: through DRAM, these are stored and loaded, or the port, if it is the limit,
    waits until they are made."""
    if before is None:
        cycles = here.head // config.bus_words
    else:
        late, head = here.reads > before.makes, here.head
        cycles = late * before.tail
        same = before.segment.groups[-1].output.name == here.segment.groups[0].source.name
        if late and same and here.segment.nest.from_dram:
            head -= here.input
            cycles += TURN + min((before.stored + here.input) // config.bus_words, before.last_cycles)
        cycles += max(0, (head - before.free) // config.bus_words - before.excess)
    return {"cycles": (cycles, 0), "bytes": (0, cycles), "energy": (LEAKAGE_PJ * cycles, cycles)}[objective]


def sums(segments: list[Segment], config: AcceleratorConfig, objective: str) -> tuple[float, float]:
    """Cost of segments one behind the other."""
    measured = [Measured(segment, config, objective) for segment in segments]
    waits = [waited(*both, config, objective) for both in pairwise([None, *measured])]
    first, second = (sum(each) for each in zip(*waits, *(each.cost for each in measured)))
    return first, second


def cheapest(flow: Flow, config: AcceleratorConfig, objective: str) -> tuple[float, float] | None:
    """Cost of the best plan, from the last group to the first: behind each segment, all that can come."""
    count = len(flow.groups)

    @cache
    def from_here(first: int, from_dram: bool) -> list[Measured]:
        found = [Measured(segment, config, objective) for segment in possible_segments(flow, first, from_dram)]
        return [each for each in found if each.cost is not None]

    @cache
    def rest(before: Measured | None, first: int, from_dram: bool) -> tuple[float, float] | None:
        if first == count:
            return (0, 0) if from_dram else None
        found = []
        for here in from_here(first, from_dram):
            behind = rest(here, here.segment.last, flow.next_from_dram(here.segment.last, here.segment.nest.to_dram))
            if behind is None or _needs_slack_too_late(before.segment if before else None, here.segment):
                continue
            link = waited(before, here, config, objective)
            found.append((here.cost[0] + link[0] + behind[0], here.cost[1] + link[1] + behind[1]))
        return min(found, default=None)

    return rest(None, 0, True)


def most_at_a_cut(flow: Flow, config: AcceleratorConfig, objective: str) -> int:
    """Segments that end where another begins."""
    ends = Counter(
        (segment.last, flow.next_from_dram(segment.last, segment.nest.to_dram))
        for first in range(len(flow.groups))
        for from_dram in (False, True)
        for segment in possible_segments(flow, first, from_dram)
        if segment.last < len(flow.groups) and cost_of(Bounds(segment, config), objective) is not None
    )
    return max(ends.values(), default=0)


@pytest.mark.parametrize("objective", ["cycles", "bytes", "energy"])
def test_plan_is_the_cheapest(objective: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where all segments that end at a cut are looked at; where only some are, it is hardly dearer."""
    pruned = planned = number = 0
    while number < NETWORKS or not pruned:
        number += 1
        assert number < 20 * NETWORKS
        flow = Flow(tuple(network(np.random.default_rng([seed, number]), 1 + number % 4)))
        expected = cheapest(flow, SMALL, objective)
        if expected is None:
            with pytest.raises(DoesNotFit):
                SegmentPlanner(flow, estimates(SMALL, objective)).cheapest()
            continue
        cost, segments = SegmentPlanner(flow, estimates(SMALL, objective)).cheapest()
        assert cost == pytest.approx(sums(segments, SMALL, objective))
        assert (1 - 1e-9) * expected[0] <= cost[0] <= (1 + 1e-9 + LEFT_BY_PRUNING) * expected[0]
        most = most_at_a_cut(flow, SMALL, objective)
        with monkeypatch.context() as patched:
            patched.setattr(planner_module, "MOST_BEFORE", max(most, 1))
            assert SegmentPlanner(flow, estimates(SMALL, objective)).cheapest()[0] == pytest.approx(expected)
        planned, pruned = planned + 1, pruned + (most > MOST_BEFORE)
    assert planned > number // 3


def test_plan_with_held_maps_is_the_cheapest(seed: int) -> None:
    held = number = 0
    while number < NETWORKS or not held:
        number += 1
        assert number < 20 * NETWORKS
        flow = branched(np.random.default_rng([seed, 3, number]), 2 + number % 3)
        expected = cheapest(flow, SMALL, "cycles")
        if expected is None:
            assert SegmentPlanner(flow, estimates(SMALL))._cut(frozenset()) is None
            continue
        cost, segments = SegmentPlanner(flow, estimates(SMALL))._cut(frozenset())
        within = 0 if most_at_a_cut(flow, SMALL, "cycles") <= MOST_BEFORE else LEFT_BY_PRUNING
        assert (1 - 1e-9) * expected[0] <= cost[0] <= (1 + 1e-9 + within) * expected[0]
        for before, segment in zip([None, *segments], segments):
            n, passed_on = segment.last - 1, before and flow.passed_on(before.last - 1)
            assert flow.passed_on(n) or segment.nest.to_dram != flow.held(n)
            from_dram = before.nest.to_dram if passed_on else first_from_dram(flow, segment.first)
            assert segment.nest.from_dram == from_dram
            held += segment.beside > segment.fetched


@pytest.mark.regress
def test_a_held_map_that_costs_less_in_dram_goes_there(seed: int) -> None:
    """Of the plans with a map in the GLB and in DRAM, the planner takes the cheaper one."""
    moved = stayed = number = 0
    while not (moved and stayed >= NETWORKS):
        number += 1
        assert number < 100 * NETWORKS, (moved, stayed)
        rng = np.random.default_rng([seed, 5, number])
        flow = replace(branched(rng, 3 + number % 3, (16, 24, 32)), in_dram=frozenset())
        if len(flow.held_names()) != 1:
            continue
        plans = [
            SegmentPlanner(replace(flow, in_dram=in_dram), estimates(SMALL))._cut(frozenset())
            for in_dram in (frozenset(), frozenset(flow.held_names()))
        ]
        if None in plans:
            continue
        planner = SegmentPlanner(flow, estimates(SMALL))
        costs = [cost for cost, _ in plans]
        assert planner.cheapest()[0] == min(costs)
        if costs[0] != costs[1]:
            assert planner.flow.in_dram == frozenset(flow.held_names() if costs[1] < costs[0] else ())
        moved, stayed = moved + (costs[1] < costs[0]), stayed + (costs[0] <= costs[1])


def test_planning_anew_is_planning_from_the_beginning(seed: int) -> None:
    """Segments are rejected one after another: a planner that knows of earlier plans finds those that a new one
    does."""
    replanned = moved = number = 0
    while number < NETWORKS or not moved:
        number += 1
        assert number < 100 * NETWORKS
        rng = np.random.default_rng([seed, 4, number])
        flow, rejected = replace(branched(rng, 3 + number % 4), in_dram=frozenset()), set()
        planner = SegmentPlanner(flow, estimates(SMALL))
        with suppress(DoesNotFit):
            for rejection in range(REJECTIONS):
                cost, segments = planner.cheapest(frozenset(rejected))
                assert not rejected & {segment.key for segment in segments}
                if rejection % (REJECTIONS // COMPARED) == 0:
                    again = SegmentPlanner(planner.flow, estimates(SMALL))._cut(frozenset(rejected))
                    assert (cost, segments) == again
                assert cost == pytest.approx(sums(segments, SMALL, "cycles"))
                replanned, moved = replanned + bool(rejected), moved + bool(planner.flow.in_dram)
                rejected.add(rng.choice(np.array(segments, object)).key)
    assert replanned


def test_what_is_known_of_segments_holds_in_another_flow(seed: int) -> None:
    """The same groups with other maps in DRAM, with a stored map, or without their neighbours: a planner that shares
    estimates with others plans as one that has its own."""
    compared = 0
    for number in range(NETWORKS):
        flow = branched(np.random.default_rng([seed, number]), 5)
        groups, shared = flow.groups, estimates(SMALL)
        stored = (*groups[:2], replace(groups[2], stored=True), *groups[3:])
        flows = (flow, Flow(groups), Flow(groups[1:]), Flow(groups[:3]), Flow(groups[2:]), Flow(stored), flow)
        for each in flows:
            with suppress(DoesNotFit):
                alone = SegmentPlanner(each, estimates(SMALL)).cheapest()
                cost, segments = SegmentPlanner(each, shared).cheapest()
                assert (cost, [s.key for s in segments]) == (alone[0], [s.key for s in alone[1]])
                assert all(segment.network is each.groups for segment in segments)
                compared += 1
    assert compared > 3 * NETWORKS


def first_from_dram(flow: Flow, n: int) -> bool:
    """Return whether a long-lived source of a group is in DRAM, by the rules of docs/concepts/fusion-and-tiling.md."""
    makers = [m for m in range(n) if flow.groups[m].output.name == flow.groups[n].source.name]
    return not makers or flow.groups[n].source.name in flow.in_dram


def test_jobs_find_their_rows(seed: int) -> None:
    """Every row is made once, before it is read, and lies in the ring until its last reader."""
    for number in range(NETWORKS):
        rng = np.random.default_rng([seed, number])
        groups = tuple(network(rng, 3))
        segment = Segment(groups, 0, 3, Nest((ONE,) * 3, int(rng.choice([1, 2, 4])), from_dram=True, to_dram=True))
        made = [0, 0, 0]
        for place, job in enumerate(segment.jobs):
            assert job.first == made[job.group] and job.last > job.first
            made[job.group] = job.last
            if job.group:
                assert job.reads[1] <= made[job.group - 1]
            if job.group < 2:
                oldest = min(j.reads[0] for j in segment.jobs[place:] if j.group == job.group + 1)
                assert job.last - oldest <= segment.ring_rows(job.group)
        assert made == [group.map_shape[0] for group in groups]


@pytest.mark.parametrize("tiling", [ONE, Tiling(filters=2), Tiling(channels=2)])
def test_jobs_of_tiles_find_their_rows(tiling: Tiling, seed: int) -> None:
    """Each slice makes every row once; stripe by stripe, all slices of one before the next."""
    for number in range(NETWORKS):
        rng = np.random.default_rng([seed, 6, number])
        [group] = network(rng, 1)
        height, rows = group.map_shape[0], int(rng.choice([1, 2, 3, 4]))
        segment = Segment(
            (group,), 0, 1, Nest((tiling,), rows, from_dram=True, to_dram=True, refetch=tiling.channels == 1)
        )
        made = [(y, job.part) for job in segment.jobs for y in range(job.first, job.last)]
        assert len(made) == len(set(made)) == height * tiling.parts
        assert {job.part for job in segment.jobs} == set(range(tiling.parts))
        assert [job.first for job in segment.jobs] == sorted(job.first for job in segment.jobs)
        assert all(
            job.last - job.first <= rows and job.reads == group.input_rows(job.first, job.last) for job in segment.jobs
        )
        there = max(job.reads[1] - job.reads[0] for job in segment.jobs)
        assert there <= segment.input_ring_rows() <= group.source.shape[0]


@pytest.mark.parametrize("ahead", [True, False])
@pytest.mark.parametrize("passes", [1, 2])
@pytest.mark.parametrize("first", [0, 1])
def test_rows_of_an_input_that_come_early(first: int, passes: int, ahead: bool, seed: int) -> None:
    """With prefetch, rows of two jobs have room, and of three if a pass alone begins the network; without it, rows of
    one job, and of two as far as they fit."""
    for number in range(NETWORKS):
        rng = np.random.default_rng([seed, 9, number])
        groups, rows = tuple(network(rng, 3)), int(rng.choice([1, 2, 3, 4]))
        nest = Nest((ONE,) * passes, rows, ahead=ahead, from_dram=True, to_dram=True)
        segment = Segment(groups, first, first + passes, nest)
        reads = [job.reads for job in segment.jobs if job.group == first]
        most = [max(reads[min(n + k, len(reads) - 1)][1] - reads[n][0] for n in range(len(reads))) for k in range(3)]
        assert segment.input_ring_rows() == most[ahead]
        behind = most[2] if (first, passes) == (0, 1) else 0
        assert segment.early_input_rows() == (behind if ahead else most[1])


def test_an_input_that_is_not_prefetched_fills_the_room(seed: int) -> None:
    """Its ring gets rows of the next job until it has all of them, or until one more does not fit."""
    found = Counter[str]()
    for number in range(scaled(60, least=30)):
        rng = np.random.default_rng([seed, 11, number])
        groups, rows = network(rng, 2, sides=(48, 64)), int(rng.integers(1, 9))
        segment = Segment(tuple(groups), 0, 2, Nest((ONE, ONE), rows, ahead=False, from_dram=True, to_dram=True))
        least, most, words = segment.input_ring_rows(), segment.early_input_rows(), groups[0].source.layout.row_words
        needed = Bounds(segment, DEFAULT).peak_words + int(rng.uniform(-1, 2) * (most - least) * words)
        config = replace(DEFAULT, glb_bank_words=min(max(needed // DEFAULT.glb_banks, 256), 65536 // DEFAULT.glb_banks))
        room = max(config.glb_words - Bounds(segment, config).peak_words, 0)
        ring = plan_maps(groups, [segment], config, stores_overlap=True).read[0].layout.ring_rows
        assert least <= ring <= most and (ring - least) * words <= room
        assert ring == most or (ring + 1 - least) * words > room
        found["all" if ring == most else "none" if ring == least else "some"] += 1
    assert found["all"] and found["some"], found


def test_an_input_that_is_not_prefetched(seed: int, tmp_path: Path) -> None:
    """A short layer and a long one share a loop with room for the input rows of one row tile: the functional simulator
    computes what the golden model does, and loads as many words as the input has."""
    net = Net(seed, (1, 64, 64, 8)).conv("short", 1).conv("long", 3).conv("other", 3)
    stages = compile_network(net.write(tmp_path), AcceleratorConfig(glb_bank_words=320), search_iterations=8)
    first, *_ = stages.plan.segments
    assert not first.nest.ahead and len(first.groups) == 2
    source = stages.plan.read[0].layout
    assert first.input_ring_rows() <= source.ring_rows <= first.early_input_rows()
    check(stages, np.random.default_rng([seed, 10]), f"seed {seed}")
    words, [place] = source.rows * source.row_words, stages.image.inputs.values()
    area = range(place.address, place.address + words * GLB_WORD_BYTES)
    loads = [each for each in stages.schedule.commands if isinstance(each, Transfer) and each.dram_address in area]
    assert sum(load.words for load in loads) == words


@pytest.mark.parametrize(("passes", "lead", "fetch"), [(2, 1, "fetch"), (2, 2, "prefetch"), (3, 1, "fetch")])
def test_filters_of_a_loop_that_come_again(passes: int, lead: int, fetch: str, seed: int, tmp_path: Path) -> None:
    """Layers share a loop, and the filters of the last one come for each row tile: the functional simulator computes
    what the golden model does, and loads what the schedule says."""
    rng, path, schedule = np.random.default_rng([seed, 12]), tmp_path / "net.tflite", tmp_path / "schedule.txt"
    config, sizes = AcceleratorConfig(glb_bank_words=384), [16, *[64] * (passes - 1), 8 * int(rng.integers(40, 49))]
    net = TfliteBuilder("loop")
    x = net.input("image", (1, 12, 12, sizes[0]), INPUT)
    for number, (channels, count) in enumerate(pairwise(sizes)):
        constants = weights(rng, count, 1, 1, channels), scales(rng, count), bias(rng, count)
        x = net.conv(f"conv{number}", x, *constants, Quant(0.05, -128))
    path.write_bytes(net.build([x]))
    names = [group.name for group in compile_network(path, search_iterations=4).plan.groups]
    lines = [f"for rows by 1, lead {lead}", f"  {fetch} input", *(f"  pass {name}" for name in names)]
    lines[-1:] = ["  fetch filters", lines[-1], "  spill output"]
    schedule.write_text("segment\n" + "".join(f"  {line}\n" for line in lines))
    stages = compile_network(path, config, search_iterations=4, schedule=read_schedule(schedule))
    [segment], groups = stages.plan.segments, stages.plan.groups
    assert len(names) == passes and "\n".join(lines_of(segment)) + "\n" == schedule.read_text()
    check(stages, rng, f"seed {seed}")
    chunks, tiles = stages.placed.constants[-1].chunks, len(stages.plan.jobs_of[-1])
    assert chunks and chunks.slots < chunks.different and chunks.rounds == tiles == 12
    loaded = sum(each.words for each in stages.schedule.commands if isinstance(each, Transfer) and each.load)
    once = groups[0].source.layout.words + sum(constant_words(group, config) for group in groups)
    padding = loaded - once - (tiles - 1) * chunks.packed.size  # tables are loaded in whole pairs of words
    assert 0 <= padding < 2 * passes


def test_a_gate_and_a_layer_of_many_filters_share_a_loop(seed: int, tmp_path: Path) -> None:
    """A factor for each channel, as squeeze-and-excitation has it, and a layer whose filters do not fit beside the map:
    the planner lets the filters come again, and the map between the two never goes through DRAM."""
    rng, path, channels, count = np.random.default_rng([seed, 13]), tmp_path / "net.tflite", 384, 96
    net = TfliteBuilder("gate")
    image = net.input("image", (1, 10, 10, channels), INPUT)
    x = net.binary("MUL", "product", image, net.mean("gate", image, Quant(0.01, 5), keep=True), Quant(0.02, -3))
    constants = weights(rng, count, 1, 1, channels), scales(rng, count), bias(rng, count)
    path.write_bytes(net.build([net.conv("narrow", x, *constants, Quant(0.05, -128))]))
    stages = compile_network(path, AcceleratorConfig(glb_bank_words=400), search_iterations=8)
    *_, last = stages.plan.segments
    assert last.nest.refetch and len(last.groups) == 2
    check(stages, rng, f"seed {seed}")
    made = sum(layer["DRAM_WRITE_BYTES"] for layer in by_layer(stages.image))
    product, narrow = (group.output.layout.words * GLB_WORD_BYTES for group in last.groups)
    assert narrow <= made < narrow + product


@pytest.mark.parametrize("kind", ["depthwise", "maximum"])
def test_channel_tiles_that_stay(kind: str, seed: int, tmp_path: Path) -> None:
    """An operator that does not mix channels runs channel tile by channel tile, and its output stays in the GLB: the
    functional simulator computes what the golden model does, and stores the last map only."""
    rng, path, schedule = np.random.default_rng([seed, 14]), tmp_path / "net.tflite", tmp_path / "schedule.txt"
    channels, rows, tiles = 48, int(rng.integers(1, 8)), int(rng.choice([2, 3, 6]))
    net, out = TfliteBuilder("tiles"), Quant(0.05, -128)
    x = net.input("image", (1, 9, 7, channels), INPUT)
    if kind == "depthwise":
        constants = weights(rng, 1, 5, 5, channels), scales(rng, channels), bias(rng, channels)
        x = net.depthwise("tiled", x, *constants, out)
    else:
        x = net.max_pool("tiled", x, 3, 1)
    x = net.conv("wide", x, weights(rng, 16, 3, 3, channels), scales(rng, 16), bias(rng, 16), out)
    path.write_bytes(net.build([x]))
    first, last = (group.name for group in compile_network(path, search_iterations=4).plan.groups)
    loops = f"  for rows by {rows}\n    for channels in {tiles}\n      fetch input\n      pass {first}\n"
    schedule.write_text(f"segment\n{loops}segment\n  pass {last}\n  spill output\n")
    stages = compile_network(path, search_iterations=4, schedule=read_schedule(schedule))
    text = "\n".join(line for segment in stages.plan.segments for line in lines_of(segment))
    assert text + "\n" == schedule.read_text()
    check(stages, rng, f"seed {seed}")
    made = sum(layer["DRAM_WRITE_BYTES"] for layer in by_layer(stages.image))
    assert made == stages.plan.groups[-1].output.layout.words * GLB_WORD_BYTES


def test_jobs_of_channels_and_filters_find_their_rows(seed: int) -> None:
    """Stripe by stripe, each slice of channels once, then each of filters; one stripe of the map between stays."""
    for number in range(NETWORKS):
        rng = np.random.default_rng([seed, 7, number])
        [block] = network(rng, 1)
        groups, rows = halves(replace(block, middle=MIDDLE)), int(rng.choice([1, 2, 3, 4]))
        slices, channels = int(rng.choice([1, 2, 4])), int(rng.choice([2, 4]))
        tilings = Tiling(channels=channels), Tiling(filters=slices)
        segment = Segment(groups, 0, 2, Nest(tilings, rows, lead=0, from_dram=True, to_dram=True, refetch=True))
        height, expected = block.map_shape[0], []
        for first in range(0, height, rows):
            last = min(first + rows, height)
            expected += [(0, first, last, n) for n in range(channels)] + [(1, first, last, n) for n in range(slices)]
        assert [(job.group, job.first, job.last, job.part) for job in segment.jobs] == expected
        assert all(job.reads == groups[job.group].input_rows(job.first, job.last) for job in segment.jobs)
        assert segment.ring_rows(0) == min(rows, height)
        read = max(job.reads[1] - job.reads[0] for job in segment.jobs if not job.group)
        assert read <= segment.input_ring_rows() <= block.source.shape[0]


def test_halves_in_slices_are_right(seed: int, tmp_path: Path) -> None:
    """A depthwise and a pointwise layer that find room together in slices only: the functional simulator computes what
    the golden model does, and the map between them never goes through DRAM."""
    rng, path = np.random.default_rng([seed, 8]), tmp_path / "net.tflite"
    stride, side, channels, filters = HALVES[rng.integers(len(HALVES))]

    def constants(*shape: int, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return weights(rng, *shape), scales(rng, count), bias(rng, count)

    net, out = TfliteBuilder("halves"), Quant(0.05, -128)
    x = net.input("image", (1, side, side, channels), INPUT)
    x = net.depthwise("channels", x, *constants(1, 3, 3, channels, count=channels), out, stride=stride)
    x = net.conv("filters", x, *constants(filters, 1, 1, channels, count=filters), out)
    path.write_bytes(net.build([x]))
    stages = compile_network(path, search_iterations=60)
    [segment] = stages.plan.segments
    assert segment.nest.tilings[0].channels > 1 and segment.nest.refetch and not segment.nest.lead
    check(stages, rng, f"seed {seed}")
    made = sum(layer["DRAM_WRITE_BYTES"] for layer in by_layer(stages.image))
    assert made == 8 * stages.plan.groups[-1].output.layout.words


def test_a_map_of_which_nothing_is_read(seed: int, tmp_path: Path) -> None:
    """All that the second convolution reads is padding: the first one runs all the same."""
    net = Net(seed).conv("first", 1, padding=VALID).pad("pad", 2, 0, 0, 0).conv("second", 1, padding=VALID, stride=12)
    groups = tuple(compile_network(net.write(tmp_path), search_iterations=8).groups)
    segment = Segment(groups, 0, 2, Nest((ONE, ONE), 1, from_dram=True, to_dram=True))
    assert [(job.group, job.reads) for job in segment.jobs] == [(0, (0, 1)), (1, (0, 0))]


@pytest.mark.parametrize("bus_words", [1, 2])
def test_share_of_the_port(bus_words: int) -> None:
    """Filters of a layer on one pixel are all that there is to do; of the same layer on a map, ever less of it, the
    wider the port the less."""
    config, filters = replace(DEFAULT, bus_words=bus_words), np.zeros((512, 512), np.int8)
    shares = []
    for side in (1, 16, 32):
        maps = [Map(f"t{n}", (side, side, 512), None) for n in range(2)]
        layer = Pointwise(name="layer", source=maps[0], output=maps[1], filters=filters, table=None)
        shares.append(port_busy([layer] * 3, config))
    assert shares[0] == 1 and shares[1] == pytest.approx(4 * shares[2])
    least = 512 * 512 / 8 / bus_words / (32 * 32 * 512 * 512 / DEFAULT.total_multipliers)
    assert least < shares[2] < 1.05 * least  # tables, too


def test_input_rows() -> None:
    window = Window((3, 3), (2, 2), (0, 1, 0, 1))
    assert input_rows(window, 8, 0, 1) == (0, 3)
    assert input_rows(window, 8, 3, 4) == (6, 8)
    assert input_rows(Window((3, 3), (1, 1), (1, 1, 1, 1)), 8, 2, 4) == (1, 5)
