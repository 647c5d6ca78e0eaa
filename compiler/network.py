# SPDX-License-Identifier: Apache-2.0
"""Compilation of a whole network, in the best of several variants.

Variants differ in three ways. Data-movement operators are composed, or stay as the model has them. Feature maps of one
column become rows, or stay. The plan is for the configuration, or for the default DRAM, so that a known DRAM rarely
costs cycles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from eyrie.compiler.options import OBJECTIVES, SEARCH_ITERATIONS
from eyrie.compiler.pipeline import LONG, NAMES, STAGES, run_stages, stage_named
from eyrie.compiler.results import Built, Imported, Planned, Request, reached
from eyrie.model.config import DEFAULT, AcceleratorConfig
from eyrie.model.errors import InputError
from eyrie.model.messages import about

if TYPE_CHECKING:  # which takes a while to import
    from eyrie.compiler.ir.nest_text import ScheduleText

T = TypeVar("T")
CLEARLY = 1.03  # times the least estimate: above, a variant is slower, and so is a plan for another configuration
FAR = 1.25  # times the least estimate of a plan: above, places do not make up for it
ALLOCATION = NAMES.index("segments") + 1  # the stage that gives plans their places


def compile_network(
    model: str | Path,
    config: AcceleratorConfig = DEFAULT,
    objective: str = OBJECTIVES[0],
    search_iterations: int = SEARCH_ITERATIONS,
    images: int = 1,
    on_stage: Callable[[str], None] | None = None,
    schedule: ScheduleText | None = None,
) -> Built:
    """Run all stages.

    objective: cycles, bytes or energy; search_iterations: of the search for addresses; images: of a run; on_stage:
    called with the name of each stage when it begins; schedule: in place of the planner's. Raise InputError, with one
    line, if the accelerator does not support the model, or the model or the schedule does not fit.
    """
    request = Request(model, config, objective, search_iterations, images, given=schedule)
    if schedule:
        return compile_given(imported(request, on_stage), schedule, on_stage)
    return reached(compile_until(NAMES[-1], request, on_stage), Built)


def compile_until(until: str, request: Request, on_stage: Callable[[str], None] | None = None) -> Request:
    """Run only as many stages as needed so that the result of stage `until` is final, and return the last result.

    Raise InputError like `compile_network`.
    """
    until = stage_named(until).name
    return compile_whole(imported(request, on_stage), until, on_stage)


def compile_given(work: Imported, schedule: ScheduleText, on_stage: Callable[[str], None] | None = None) -> Built:
    """Compile an imported graph, of a network or of a part of one, with a schedule in place of the planner's.

    Raise InputError, with one line that begins with the path of the model or of the schedule.
    """
    from eyrie.compiler.ir.failure import Unsupported

    if schedule.parts:
        raise InputError(f"{schedule.path}: the schedule is of a network in parts")
    if work.images > 1:
        raise Unsupported("a schedule is of one image", remedy="compile for one image")
    work = replace(work, given=schedule, compose=schedule.compose, turn=schedule.turn)
    planned = NAMES.index("segments")
    with about(work.model):
        try:
            grouped = run_stages(work, STAGES[1:planned], on_stage)
        except Unsupported as error:
            remedy = "--dump segments prints the schedules of the parts that it runs"
            raise Unsupported(error.what, remedy=remedy) from error
    with about(schedule.path):
        return reached(run_stages(grouped, STAGES[planned:], on_stage), Built)


def imported(request: Request, on_stage: Callable[[str], None] | None = None) -> Imported:
    """Run the first stage. Raise InputError, with one line, if the file is missing or wrong."""
    return reached(run_stages(request, STAGES[:1], on_stage), Imported)


def compile_whole(work: Imported, until: str = NAMES[-1], on_stage: Callable[[str], None] | None = None) -> Request:
    """Compile an imported graph like `compile_network`. Raise CompileError."""
    from eyrie.compiler.passes.simplify import composes, turns

    last = stage_named(until)
    stages = STAGES[: NAMES.index(last.settled or last.name) + 1]
    first = run_stages(work, stages[1:2], on_stage)
    simplifies = len(stages) > 1
    composed = (True, False) if simplifies and composes(work.graph) else (True,)
    turned = (False, True) if simplifies and turns(work.graph) else (False,)
    ways = [*product(planned_for(work.config), composed, turned)]
    if len(ways) == 1 or len(stages) <= 2:
        return run_stages(first, stages[2:], on_stage)
    return _best_way(work, ways, on_stage)


def _best_way(
    work: Imported,
    ways: Sequence[tuple[AcceleratorConfig, bool, bool]],
    on_stage: Callable[[str], None] | None,
) -> Built:
    """Return the best result, and verify it. ways: the configuration to plan for, `compose` and `turn` of each variant

    Variants with plans that are far from the best are compiled only if all others find no places, or such places that
    the far plans may be faster.
    """

    def planned(planned: AcceleratorConfig, compose: bool, turn: bool) -> Planned:
        way = replace(work, config=planned, compose=compose, turn=turn)
        return reached(run_stages(way, STAGES[1:ALLOCATION], on_stage), Planned)

    def compiled(plan: Planned) -> Built:
        return labelled(reached(run_stages(plan, unverified, on_stage), Built), work.config)

    unverified = tuple(replace(stage, verify=None) for stage in STAGES[ALLOCATION:])
    plans = _without_doubles(succeeding([partial(planned, *way) for way in ways]))
    cycles = [_planned_cycles(plan, work.config) for plan in plans]
    likely, far = list[Callable[[], Built]](), list[tuple[float, Callable[[], Built]]]()
    for plan, each in zip(plans, cycles):
        if each > (FAR if plan.config == work.config else CLEARLY) * min(cycles):
            far.append((each, partial(compiled, plan)))
        else:
            likely.append(partial(compiled, plan))
    found = best(likely, _judged, _estimated, far)
    for stage in STAGES[ALLOCATION:]:
        if stage.verify:
            stage.verify(found)
    return found


def _without_doubles(plans: list[Planned]) -> list[Planned]:
    """Return the plans without those that have the outline of an earlier one for the same configuration."""
    found = list[Planned]()
    for plan in plans:
        if all((plan.config, plan.plan.outline) != (other.config, other.plan.outline) for other in found):
            found.append(plan)
    return found


def compile_greedily(
    model: str | Path,
    config: AcceleratorConfig = DEFAULT,
    objective: str = OBJECTIVES[0],
    search_iterations: int = SEARCH_ITERATIONS,
    until: str = NAMES[-1],
    on_stage: Callable[[str], None] | None = None,
) -> Request:
    """Compile like `compile_network`, with the greedy choice of segments."""
    work = Request(model, config, objective, search_iterations, greedy=True)
    last = stage_named(until)
    return run_stages(work, STAGES[: NAMES.index(last.settled or last.name) + 1], on_stage)


def compile_part(work: Imported, until: str = NAMES[-1], on_stage: Callable[[str], None] | None = None) -> Request:
    """Compile a subgraph of a model, whose `compose` is settled. until: the last stage that runs, final or not"""
    from eyrie.compiler.passes.simplify import turns

    if until != NAMES[-1]:
        return run_stages(work, STAGES[1 : NAMES.index(until) + 1], on_stage)
    turned = (False, True) if turns(work.graph) else (False,)
    return _best_way(work, [*product(planned_for(work.config), (work.compose,), turned)], on_stage)


def planned_for(config: AcceleratorConfig) -> list[AcceleratorConfig]:
    """Return the configurations to plan for: this one, and the one with the default DRAM."""
    dram = {name: getattr(DEFAULT, name) for name in ("dram_latency", "dram_interval")}
    other = replace(config, **dram)
    return [config] if other == config else [config, other]


def labelled(work: Built, config: AcceleratorConfig) -> Built:
    """Return the result for `config`, if it was planned for another."""
    from eyrie.compiler.plan.arrival import finished

    if work.image.config == config:
        return work
    placed = replace(work.placed, cost=finished(work.placed.cycles, work.placed.pieces, config))
    return replace(work, placed=placed, image=replace(work.image, config=config))


def best(
    attempts: Iterable[Callable[[], T]],
    judged: Callable[[T], Any],
    estimated: Callable[[T], float] | None = None,
    others: Sequence[tuple[float, Callable[[], T]]] = (),
) -> T:
    """Return the result that `judged` rates lowest. Raise the last error if all attempts, and all others, fail.

    estimated: a faster estimate of the rating, 0 if there is none; a result whose estimate is well above the lowest one
    is not rated, if the rating takes long; others: estimates and attempts to make if all these fail, or if
    the best result is rated higher than the estimate
    """
    from eyrie.compiler.ir.failure import DoesNotFit, Unsupported

    try:
        found = succeeding(attempts)
    except (DoesNotFit, Unsupported):
        if not others:
            raise
        found, others = succeeding(attempt for _, attempt in others), ()
    if estimated and (least := min(map(estimated, found))) > LONG:
        found = [each for each in found if estimated(each) <= CLEARLY * least]
    chosen = found[0] if len(found) == 1 else min(found, key=judged)
    if better := [attempt for estimate, attempt in others if estimated and estimate < judged(chosen)]:
        with suppress(DoesNotFit, Unsupported):
            chosen = min([chosen, *succeeding(better)], key=judged)
    return chosen


def succeeding(attempts: Iterable[Callable[[], T]]) -> list[T]:
    """Return the results of the attempts that succeed. Raise the last error if all fail."""
    from eyrie.compiler.ir.failure import CompileError, DoesNotFit, Unsupported

    found, failures = list[T](), list[CompileError]()
    for attempt in attempts:
        try:
            found.append(attempt())
        except (DoesNotFit, Unsupported) as error:
            failures.append(error)
    if not found:
        raise failures[-1]
    return found


def _planned_cycles(work: Planned, config: AcceleratorConfig) -> float:
    """Return the planner's estimate of the cycles on `config` before places are known; 0 if they are not the
    objective."""
    from eyrie.compiler.plan.bounds import Bounds

    if work.objective != OBJECTIVES[0]:
        return 0.0
    return sum(Bounds(segment, config).cycles for segment in work.plan.segments)


def _estimated(work: Built) -> float:
    """Return the estimate of the cycles; 0 if they are not the objective."""
    return work.placed.cost if work.objective == OBJECTIVES[0] else 0.0


def _judged(work: Built) -> float:
    """Return the value of the objective: cycles, bytes or energy of a compiled network."""
    from eyrie.compiler.performance import performance

    return performance(work).rating(work.objective)
