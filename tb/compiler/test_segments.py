# SPDX-License-Identifier: Apache-2.0
"""Segments: the plan is the cheapest there is, and the order of jobs keeps what it promises."""

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from compiler.ir.failure import DoesNotFit
from compiler.ir.layer import Group, Map, Separable, Window, input_rows
from compiler.ir.plan import Segment, Way
from compiler.pipeline import compile_network
from compiler.plan.bounds import peak_words, segment_cost
from compiler.plan.flow import Flow
from compiler.plan.segments import SegmentPlanner, _needs_slack_too_late, _next_from_dram, _segments_from
from model.config import DEFAULT, MachineConfig
from tb.compiler.test_groups import Net
from tb.scripts.small_nets import VALID

NETWORKS = 12
SMALL = replace(DEFAULT, glb_bank_words=256)


def network(rng: np.random.Generator, count: int) -> list[Group]:
    """A chain of depthwise-separable groups; what tables hold does not matter here."""
    side, channels = int(rng.choice([8, 12, 16])), int(rng.choice([8, 16, 32]))
    groups = []
    for n in range(count):
        stride, filters = int(rng.integers(1, 3)), int(rng.choice([8, 16, 32]))
        out = -(-side // stride)
        source, output = (Map(f"t{n + k}", shape, None) for k, shape in
                          enumerate([(side, side, channels), (out, out, filters)]))
        window = Window((3, 3), (stride, stride), (1, 1, 1, 1))
        groups.append(Separable(name=f"block{n}", source=source, output=output, window=window,
                                filters=np.zeros((filters, channels), np.int8), table=None,
                                depthwise=np.zeros((3, 3, channels), np.int8), middle=None))
        side, channels = out, filters
    return groups


def branched(rng: np.random.Generator, count: int) -> Flow:
    """As `network`, groups now and then reading an older map, too; some maps in DRAM."""
    groups = network(rng, count)
    for n in range(1, count):
        if rng.random() < 0.5:
            other = groups[rng.integers(n)]
            groups[n] = replace(groups[n], others=(rng.choice([other.source, other.output]),))
    return Flow(tuple(groups), frozenset(group.output.name for group in groups if rng.random() < 0.3))


def cheapest(flow: Flow, machine: MachineConfig, objective: str) -> tuple[float, ...] | None:
    """Costs of the best plan, by going through all of them."""
    best, count = None, len(flow.groups)

    def go_on(first: int, from_dram: bool, before: list[Segment], spent: tuple[float, ...]) -> None:
        nonlocal best
        if first == count:
            best = spent if from_dram and (best is None or spent < best) else best
            return
        for segment in _segments_from(flow, first, from_dram):
            last = before[-1] if before else None
            if _needs_slack_too_late(last, segment) or peak_words(segment, machine) > machine.glb_words:
                continue
            try:
                cost = tuple(a + b for a, b in zip(spent, segment_cost(segment, machine, objective)))
            except DoesNotFit:
                continue
            go_on(segment.last, _next_from_dram(flow, segment), [*before, segment], cost)

    go_on(0, True, [], (0, 0))
    return best


@pytest.mark.parametrize("objective", ["cycles", "bytes", "energy"])
def test_plan_is_the_cheapest(objective: str, seed: int) -> None:
    planned = 0
    for number in range(NETWORKS):
        groups = network(np.random.default_rng([seed, number]), 1 + number % 4)
        expected = cheapest(Flow(tuple(groups)), SMALL, objective)
        if expected is None:
            with pytest.raises(DoesNotFit):
                SegmentPlanner(Flow(tuple(groups)), SMALL, objective).cheapest()
            continue
        _, segments = SegmentPlanner(Flow(tuple(groups)), SMALL, objective).cheapest()
        costs = [segment_cost(segment, SMALL, objective) for segment in segments]
        assert tuple(map(sum, zip(*costs))) == pytest.approx(expected)
        planned += 1
    assert planned > NETWORKS // 3


def test_plan_with_held_maps_is_the_cheapest(seed: int) -> None:
    held = number = 0
    while number < NETWORKS or not held:
        number += 1
        assert number < 20 * NETWORKS
        flow = branched(np.random.default_rng([seed, 3, number]), 2 + number % 3)
        expected = cheapest(flow, SMALL, "cycles")
        if expected is None:
            assert SegmentPlanner(flow, SMALL)._cut(frozenset()) is None
            continue
        cost, segments = SegmentPlanner(flow, SMALL)._cut(frozenset())
        assert cost == pytest.approx(expected)
        for before, segment in zip([None, *segments], segments):
            n, passed_on = segment.last - 1, before and flow.passed_on(before.last - 1)
            assert flow.passed_on(n) or segment.to_dram != flow.held(n)
            from_dram = before.to_dram if passed_on else first_from_dram(flow, segment.first)
            assert segment.from_dram == from_dram
            held += segment.beside > segment.fetched


def test_planning_anew_is_planning_from_the_beginning(seed: int) -> None:
    """Segments are refused one after another: a planner that knows of earlier plans finds those that a new one does."""
    replanned = moved = number = 0
    while number < NETWORKS or not moved:
        number += 1
        assert number < 20 * NETWORKS
        rng = np.random.default_rng([seed, 4, number])
        flow, refused = replace(branched(rng, 3 + number % 4), in_dram=frozenset()), set()
        planner = SegmentPlanner(flow, SMALL)
        with suppress(DoesNotFit):
            while True:
                cost, segments = planner.cheapest(frozenset(refused))
                again = SegmentPlanner(planner.flow, SMALL).cheapest(frozenset(refused))
                assert (cost, segments) == again and not refused & {segment.key for segment in segments}
                costs = [segment_cost(segment, SMALL, "cycles") for segment in segments]
                assert cost == pytest.approx(tuple(map(sum, zip(*costs))))
                replanned, moved = replanned + bool(refused), moved + bool(planner.flow.in_dram)
                refused.add(rng.choice(np.array(segments, object)).key)
    assert replanned


def first_from_dram(flow: Flow, n: int) -> bool:
    """Whether the source of a group, which is not passed on, lies in DRAM, from what docs/compiler.md says."""
    makers = [m for m in range(n) if flow.groups[m].output.name == flow.groups[n].source.name]
    return not makers or flow.groups[n].source.name in flow.in_dram


def test_jobs_find_their_rows(seed: int) -> None:
    """Every row is made once, before it is read, and lies in the ring until its last reader."""
    for number in range(NETWORKS):
        rng = np.random.default_rng([seed, number])
        groups = tuple(network(rng, 3))
        segment = Segment(groups, 0, 3, Way.STRIPES, int(rng.choice([1, 2, 4])), True, True)
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


def test_a_map_of_which_nothing_is_read(seed: int, tmp_path: Path) -> None:
    """All that the second convolution reads is padding: the first one runs all the same."""
    net = Net(seed).conv("first", 1, padding=VALID).pad("pad", 2, 0, 0, 0).conv("second", 1, padding=VALID, stride=12)
    groups = tuple(compile_network(net.write(tmp_path), effort=8).groups)
    segment = Segment(groups, 0, 2, Way.STRIPES, 1, True, True)
    assert [(job.group, job.reads) for job in segment.jobs] == [(0, (0, 6)), (1, (0, 0))]


def test_input_rows() -> None:
    window = Window((3, 3), (2, 2), (0, 1, 0, 1))
    assert input_rows(window, 8, 0, 1) == (0, 3)
    assert input_rows(window, 8, 3, 4) == (6, 8)
    assert input_rows(Window((3, 3), (1, 1), (1, 1, 1, 1)), 8, 2, 4) == (1, 5)
