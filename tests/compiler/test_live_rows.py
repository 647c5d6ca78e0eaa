# SPDX-License-Identifier: Apache-2.0
"""Live rows of maps with several readers: each row lives from its writer to its last reader, and no row longer."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from eyrie.compiler.ir.failure import DoesNotFit
from eyrie.compiler.ir.layer import Pointwise
from eyrie.compiler.ir.plan import Plan
from eyrie.compiler.network import compile_network, compile_until
from eyrie.compiler.plan.flow import OUTSIDE, Flow
from eyrie.compiler.results import Request
from eyrie.compiler.target.mapping import mappings
from eyrie.model.config import DEFAULT
from eyrie.testing.samples import scaled
from tb.net.random_branches import draw_network
from tests.compiler.test_segments import branched

NETWORKS = scaled(12, least=6)
CONFIG = replace(DEFAULT, glb_bank_words=512)


def lives(plan: Plan, n: int) -> list[tuple[int, int]]:
    """First and last job that touch each row of a group's output, from what each job computes."""
    flow, rows = Flow(tuple(plan.groups)), plan.groups[n].output.shape[0]
    found = [(len(plan.jobs), -1)] * rows
    for place, job in enumerate(plan.jobs):
        group = plan.groups[job.group]
        touched: set[int] = set()
        if job.group == n:
            touched |= set(range(rows)) if group.averaged else set(range(job.first, job.last))
        for number, maker in enumerate(flow.makers[job.group]):
            if maker == n and number == 0:
                touched |= set(range(*group.input_rows(job.first, job.last)))
            elif maker == n:
                touched |= set(range(job.first, job.last)) if rows == group.map_shape[0] else set(range(rows))
        for row in touched:
            first, last = found[row]
            found[row] = min(first, place), max(last, place)
    return found


def test_rows_live_as_long_as_they_are_read(seed: int, tmp_path: Path) -> None:
    number = seen = freed_early = 0
    while number < NETWORKS or not freed_early:
        number += 1
        assert number < 10 * NETWORKS
        path, rng = tmp_path / "net.tflite", np.random.default_rng([seed, number])
        path.write_bytes(draw_network(rng, side=int(rng.choice([20, 40]))))
        try:
            plan = compile_network(path, CONFIG, search_iterations=8).plan
        except DoesNotFit:
            continue
        flow = Flow(tuple(plan.groups))
        for n, made in enumerate(plan.made):
            segment = plan.segment_of[n]
            if segment.nest.to_dram or n + 1 < segment.last or not flow.held(n):
                continue
            needed = lives(plan, n)
            step = made.layout.row_words
            for part in made.buffer.parts:
                rows = range(len(needed)) if made.layout.planar else range(part.offset // step, part.end // step)
                assert part.birth // 2 <= min(needed[row][0] for row in rows)
                assert part.death // 2 >= max(needed[row][1] for row in rows)
            seen += 1
            freed_early += len({part.death for part in made.buffer.parts}) > 1
    assert seen


def test_an_estimate_counts_each_map_once(seed: int) -> None:
    """A source that is read later counts as a whole, and so do all operands but the one that falls free."""
    kept = dying = number = 0
    while not (kept and dying and number >= NETWORKS):
        number += 1
        assert number < 100 * NETWORKS, (kept, dying)
        flow = replace(branched(np.random.default_rng([seed, 7, number]), 2 + number % 3), in_dram=frozenset())
        for n in range(len(flow.groups)):
            operands = [maker for maker in flow.makers[n] if maker != OUTSIDE and not flow.from_dram(maker)]
            operands += [n - 1] if n and flow.passed_on(n - 1) else []
            freed, across = flow.freed(n, n + 1, from_dram=False), flow.across(n, n + 1, from_dram=False)
            makers = [maker for of in freed.values() for maker in of if maker != OUTSIDE]
            assert set(operands) <= {*makers, *across} and not set(makers) & set(across)
            assert len(makers) <= 1 and len(set(across)) == len(across)
            for maker in makers:
                assert flow.readers[maker][-1] == n
            kept += any(flow.readers[maker][-1] > n for maker in operands)
            dying += bool(makers) and makers[0] != flow.makers[n][0]


def test_operations_of_an_epilogue_are_part_of_the_geometry(seed: int, tmp_path: Path) -> None:
    """They make a drain slower. Mappings are remembered by geometry, so a bare group needs another one."""
    seen = number = 0
    while not seen:
        number += 1
        assert number < 20 * NETWORKS
        path = tmp_path / "net.tflite"
        path.write_bytes(draw_network(np.random.default_rng([seed, 8, number])))
        for group in compile_until("groups", Request(path)).groups:
            if isinstance(group, Pointwise) and group.operations and not group.averaged:
                bare = replace(group, epilogue=(), others=())
                assert bare.geometry != group.geometry
                slow, fast = (mappings(DEFAULT, each, each.map_shape[0])[0].cycles for each in (group, bare))
                assert slow >= fast
                seen += slow > fast
