# SPDX-License-Identifier: Apache-2.0
"""Segments: the plan is the cheapest there is, and the order of jobs keeps what it promises."""

from dataclasses import replace

import numpy as np
import pytest

from compiler.ir.failure import DoesNotFit
from compiler.ir.layer import Group, Map, Separable, Window, input_rows
from compiler.ir.plan import Segment, Way
from compiler.plan.bounds import peak_words, segment_cost
from compiler.plan.segments import _needs_slack_too_late, _segments_from, best_segments
from model.config import DEFAULT, MachineConfig

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
        window = Window((3, 3), stride, (1, 1, 1, 1))
        groups.append(Separable(name=f"block{n}", source=source, output=output, window=window,
                                filters=np.zeros((filters, channels), np.int8), table=None,
                                depthwise=np.zeros((3, 3, channels), np.int8), middle=None))
        side, channels = out, filters
    return groups


def cheapest(groups: list[Group], machine: MachineConfig, objective: str) -> tuple[float, ...] | None:
    """Costs of the best plan, by going through all of them."""
    best, whole = None, tuple(groups)

    def go_on(first: int, from_dram: bool, before: list[Segment], spent: tuple[float, ...]) -> None:
        nonlocal best
        if first == len(groups):
            best = spent if from_dram and (best is None or spent < best) else best
            return
        for segment in _segments_from(whole, first, from_dram):
            if _needs_slack_too_late(before, segment) or peak_words(segment, machine) > machine.glb_words:
                continue
            try:
                cost = tuple(a + b for a, b in zip(spent, segment_cost(segment, machine, objective)))
            except DoesNotFit:
                continue
            go_on(segment.last, segment.to_dram, [*before, segment], cost)

    go_on(0, True, [], (0, 0))
    return best


@pytest.mark.parametrize("objective", ["cycles", "bytes", "energy"])
def test_plan_is_the_cheapest(objective: str, seed: int) -> None:
    planned = 0
    for number in range(NETWORKS):
        groups = network(np.random.default_rng([seed, number]), 1 + number % 4)
        expected = cheapest(groups, SMALL, objective)
        if expected is None:
            with pytest.raises(DoesNotFit):
                best_segments(groups, SMALL, objective)
            continue
        _, segments = best_segments(groups, SMALL, objective)
        costs = [segment_cost(segment, SMALL, objective) for segment in segments]
        assert tuple(map(sum, zip(*costs))) == pytest.approx(expected)
        planned += 1
    assert planned > NETWORKS // 3


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


def test_input_rows() -> None:
    window = Window((3, 3), 2, (0, 1, 0, 1))
    assert input_rows(window, 8, 0, 1) == (0, 3)
    assert input_rows(window, 8, 3, 4) == (6, 8)
    assert input_rows(Window((3, 3), 1, (1, 1, 1, 1)), 8, 2, 4) == (1, 5)
