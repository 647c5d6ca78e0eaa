# SPDX-License-Identifier: Apache-2.0
"""A network compiled as a whole, and the better of two ways to compile one: where its moves can be put together, with
that and with them as the model has them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from compiler.options import EFFORT, OBJECTIVES
from compiler.pipeline import NAMES, STAGES, Stages, run_stages, stage_named
from model.config import DEFAULT, MachineConfig

if TYPE_CHECKING:  # which takes a while to import
    from compiler.ir.graph import Graph

T = TypeVar("T")


def compile_network(model: str | Path, machine: MachineConfig = DEFAULT, objective: str = OBJECTIVES[0],
                    effort: int = EFFORT, images: int = 1, until: str | None = None,
                    on_stage: Callable[[str], None] | None = None) -> Stages:
    """Runs all stages, or so many that what stage `until` makes is final.

    objective: cycles, bytes or energy; effort: how long the search for places goes on; images: of a run;
    on_stage: called with the name of each stage as it begins.
    Raises ValueError, in one line, for a model the machine does not run or that does not fit.
    """
    from compiler.passes.simplify import composes

    last = stage_named(until or NAMES[-1])
    stages = STAGES[: NAMES.index(last.settled or last.name) + 1]
    first = run_stages(Stages(model, machine, objective, effort, images), stages[:2], on_stage)
    if not first.folded or not composes(first.graph):
        return run_stages(first, stages[2:], on_stage)

    def compiled(compose: bool) -> Stages:
        if compose:
            return run_stages(first, STAGES[2:], on_stage)
        as_it_is = Stages(model, machine, objective, effort, images, graph=first.graph, compose=False)
        return run_stages(as_it_is, STAGES[1:], on_stage)

    return better(compiled, _judged)


def compile_part(graph: Graph, model: str | Path, machine: MachineConfig = DEFAULT, objective: str = OBJECTIVES[0],
                 effort: int = EFFORT, on_stage: Callable[[str], None] | None = None,
                 until: str = NAMES[-1], compose: bool = True) -> Stages:
    """A part of a model that has been imported; until: the last stage that runs, final or not; compose: whether moves
    are put together."""
    work = Stages(model, machine, objective, effort, 1, graph=graph, compose=compose)
    return run_stages(work, STAGES[1 : NAMES.index(until) + 1], on_stage)


def better(attempt: Callable[[bool], T], judged: Callable[[T], object]) -> T:
    """What an attempt makes with moves put together, or without that, whichever is judged to be less; the one that
    there is where the other does not fit. Raises DoesNotFit if neither does."""
    from compiler.ir.failure import DoesNotFit, Unsupported

    try:
        composed = attempt(True)
    except DoesNotFit:
        return attempt(False)
    try:
        return min(composed, attempt(False), key=judged)
    except (DoesNotFit, Unsupported):
        return composed


def _judged(work: Stages) -> float:
    """What is to be small of a compiled network."""
    from compiler.performance import performance

    return getattr(performance(work), {"bytes": "dram_bytes", "energy": "energy_uJ"}.get(work.objective, "cycles"))
