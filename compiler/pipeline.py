# SPDX-License-Identifier: Apache-2.0
"""The stages of the compiler, in order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from compiler.options import EFFORT, OBJECTIVES
from model.config import DEFAULT, MachineConfig
from model.messages import unknown

if TYPE_CHECKING:  # each stage imports what it needs when it runs
    from compiler.emit.schedule import Schedule
    from compiler.emit.steps import Step
    from compiler.ir.graph import Graph
    from compiler.ir.image import Image
    from compiler.ir.layer import Group
    from compiler.ir.plan import Plan
    from compiler.plan.batch import BatchPlanner
    from compiler.plan.search import Placed


REPLANS = 3  # for segments whose mappings found no room


@dataclass
class Stages:
    """A model on its way through the compiler; what a stage makes is None until it has run.

    ends: of the model's outputs by name, in its order, the maps that they are
    compose: whether moves are put together (passes/simplify.py)
    planner: what is known of segments, however often they are chosen anew
    refused: keys of segments for which the GLB had no places
    stores_overlap: whether what is stored keeps its words beside the job behind it
    """

    model: str | Path
    machine: MachineConfig
    objective: str
    effort: int
    images: int
    graph: Graph | None = None
    compose: bool = True
    folded: Graph | None = None
    groups: list[Group] | None = None
    ends: dict[str, str] | None = None
    planner: BatchPlanner | None = None
    refused: set[tuple] = field(default_factory=set)
    stores_overlap: bool = True
    plan: Plan | None = None
    placed: Placed | None = None
    steps: list[Step] | None = None
    schedule: Schedule | None = None
    image: Image | None = None
    text: str | None = None

    @property
    def composed(self) -> bool:
        """Whether moves have been put together, as far as the passes have run."""
        from compiler.passes.simplify import simplified

        if not self.compose or self.folded is None:
            return False
        return {*map(str, self.folded.nodes)} != {*map(str, simplified(self.graph, compose=False).nodes)}

    def dump(self, stage: str) -> str:
        """What a stage that has run made, as text."""
        return stage_named(stage).dump(self)


@dataclass(frozen=True)
class Stage:
    """One stage.

    about    what it does, in a sentence
    run      None where there is nothing to run: a way to look at what other stages make
    verify   raises Malformed or Inconsistent where what it made cannot be right, a fault of the compiler's own
    settled  the later stage behind which what it made is final: this one may have to choose anew
    """

    name: str
    about: str
    run: Callable[[Stages], None] | None
    dump: Callable[[Stages], str]
    settled: str | None = None
    verify: Callable[[Stages], None] | None = None


def _import(work: Stages) -> None:
    from compiler.frontend.file import load

    work.graph = load(work.model)


def _passes(work: Stages) -> None:
    from compiler.passes.constraints import check
    from compiler.passes.order_nodes import order_nodes
    from compiler.passes.simplify import simplified

    work.folded = check(order_nodes(simplified(work.graph, work.compose)))


def _groups(work: Stages) -> None:
    from compiler.passes.form_groups import form_groups, maps_of
    from compiler.plan.packed_maps import with_packed_inputs
    from compiler.target.suit import suited

    maps = maps_of(work.folded)
    work.groups = with_packed_inputs(suited(form_groups(work.folded), work.machine), work.machine)
    work.ends = {tensor.name: maps[folded.name].name for tensor, folded in zip(work.graph.outputs, work.folded.outputs)}


def _verify_groups(work: Stages) -> None:
    from compiler.ir.verify import verify_groups
    from compiler.passes.form_groups import maps_of

    maps = maps_of(work.folded)
    inputs = [maps[tensor.name] for tensor in work.folded.inputs if tensor.name in maps]
    verify_groups(work.groups, inputs, work.ends.values())


def _dump_fusion(work: Stages) -> str:
    from compiler import dumps

    return dumps.fusion(work.groups, work.machine)


def _dump_moves(work: Stages) -> str:
    from compiler import dumps

    return dumps.moves(work.graph, work.folded)


def _dump_banks(work: Stages) -> str:
    from compiler import dumps

    return dumps.banks(work.folded)


def _segments(work: Stages) -> None:
    from compiler.plan.batch import BatchPlanner
    from compiler.plan.tensors import plan_maps

    work.planner = work.planner or BatchPlanner(work.groups, work.machine, work.objective, work.images)
    work.plan = plan_maps(*work.planner.cheapest(frozenset(work.refused)), work.machine, work.stores_overlap)


def _dump_segments(work: Stages) -> str:
    from compiler import dumps

    return dumps.segments(work.plan, work.machine)


def _dump_map(work: Stages) -> str:
    from compiler import dumps

    return dumps.mappings(work.steps, work.plan, work.machine)


def _segments_anew(work: Stages) -> None:
    """Without the refused segments; where that leaves none, with all of them, but stores that nothing overlaps."""
    from compiler.ir.failure import DoesNotFit

    try:
        _segments(work)
    except DoesNotFit:
        if not work.stores_overlap:
            raise
        work.stores_overlap, work.planner = False, None
        work.refused.clear()
        _segments(work)


def _places(work: Stages) -> None:
    from compiler.emit.steps import steps_of
    from compiler.ir.failure import DoesNotFit
    from compiler.plan.settle import slower_than_planned

    work.placed = _placed(work)
    for _ in range(REPLANS if work.objective == "cycles" else 0):
        slower = slower_than_planned(work.plan, work.placed, work.machine)
        if not slower:
            break
        before = work.plan, work.placed
        work.refused |= slower
        try:
            _segments(work)
            work.placed = _placed(work)
        except DoesNotFit:
            work.plan, work.placed = before
            break
        if work.placed.cost >= before[1].cost:
            work.plan, work.placed = before
            break
    work.steps = steps_of(work.plan, work.placed, work.images)


def _placed(work: Stages) -> Placed:
    """Places for the plan; for one without the segments that find none, if need be."""
    from compiler.plan.search import Refused, place

    while True:
        try:
            return place(work.plan, work.machine, work.effort)
        except Refused as refusal:
            work.refused.add(refusal.segment.key)
            _segments_anew(work)


def _verify_places(work: Stages) -> None:
    from compiler.plan.verify import verify_places, verify_plan

    verify_plan(work.plan)
    verify_places(work.plan, work.placed, work.machine)


def _dump_places(work: Stages) -> str:
    from compiler import dumps

    return dumps.places(work.placed.buffers)


def _schedule(work: Stages) -> None:
    from compiler.emit.schedule import emit

    work.schedule = emit(work.plan, work.placed, work.steps, work.machine)


def _verify_schedule(work: Stages) -> None:
    from compiler.emit import races

    races.verify(work.schedule.commands, work.machine)


def _assemble(work: Stages) -> None:
    from compiler.ir.program import to_text

    work.text = to_text(work.schedule.commands)


def _image(work: Stages) -> None:
    from compiler.emit.image import build

    work.image = build(work.schedule, work.machine, work.ends)


def _dump_image(work: Stages) -> str:
    areas = work.schedule.dram.areas.items()
    return "\n".join(f"0x{address:08x} {size:8d} {name}" for name, (address, size) in areas)


STAGES = (
    # The front: what the model says, and in the machine's terms.
    Stage("import", "reads the model: a graph of operators", _import, lambda work: str(work.graph)),
    Stage("passes", "leaves out what changes no value, moves padding into what is behind it, orders branches, and "
          "refuses what the machine does not run", _passes, lambda work: str(work.folded),
          verify=lambda work: work.folded.verified()),
    # Studies of the passes, on which nothing depends.
    Stage("moves", "what is left of the operators that only put values in other places, and why", None, _dump_moves),
    Stage("banks", "copies between banks under the published ways to map tensors to them", None, _dump_banks),
    Stage("groups", "joins operators to the layer groups that the machine runs in one pass", _groups,
          lambda work: "\n".join(map(str, work.groups)), verify=_verify_groups),
    # A study of the groups, on which nothing depends.
    Stage("fusion", "the best plans under the published measures of fusion", None, _dump_fusion),
    # The plan. Which segments there can be depends on whether their buffers find places, so that
    # these three are final together.
    Stage("segments", "chooses which groups run together and which maps stay in the GLB", _segments,
          _dump_segments, settled="places"),
    Stage("map", "how each group's work is laid on the array", None, _dump_map, settled="places"),
    Stage("places", "searches for places of maps and constants in the GLB; without any, the segments "
          "are chosen anew", _places, _dump_places, verify=_verify_places),
    # The back: nothing is left to choose.
    Stage("schedule", "lists transfers and passes with their descriptors and tokens", _schedule,
          lambda work: "\n".join(map(str, work.schedule.steps)), verify=_verify_schedule),
    Stage("assemble", "writes the commands as text", _assemble, lambda work: work.text),
    Stage("image", "lays out DRAM: constants, commands, places of input and output", _image, _dump_image),
)
NAMES = tuple(stage.name for stage in STAGES)


def stage_named(name: str) -> Stage:
    """Raises ValueError, in one line."""
    if name not in NAMES:
        raise ValueError(unknown("stage", name, NAMES))
    return STAGES[NAMES.index(name)]


def compile_part(graph: Graph, model: str | Path, machine: MachineConfig = DEFAULT, objective: str = OBJECTIVES[0],
                 effort: int = EFFORT, on_stage: Callable[[str], None] | None = None,
                 until: str = NAMES[-1], compose: bool = True) -> Stages:
    """compile_network for a part of a model that has been imported; until: the last stage that runs, final or not;
    compose: see simplified."""
    work = Stages(model, machine, objective, effort, 1, graph=graph, compose=compose)
    return _through(work, STAGES[1 : NAMES.index(until) + 1], on_stage)


def compile_network(model: str | Path, machine: MachineConfig = DEFAULT, objective: str = OBJECTIVES[0],
                    effort: int = EFFORT, images: int = 1, until: str | None = None,
                    on_stage: Callable[[str], None] | None = None) -> Stages:
    """Runs all stages, or so many that what stage `until` makes is final.

    objective: cycles, bytes or energy; effort: how long the search for places goes on; images: of a run;
    on_stage: called with the name of each stage as it begins. Where moves can be put together, the network is compiled
    with them as the model has them, too, and the better one is taken.
    Raises ValueError, in one line, for a model the machine does not run or that does not fit.
    """
    from compiler.ir.failure import DoesNotFit, Unsupported

    last = stage_named(until or NAMES[-1])
    stages = STAGES[: NAMES.index(last.settled or last.name) + 1]
    first, again, as_it_is = (Stages(model, machine, objective, effort, images, compose=compose)
                              for compose in (True, True, False))
    try:
        _through(first, stages, on_stage)
        if not first.composed:
            return first
        whole = first if first.image else _through(again, STAGES, on_stage)
    except DoesNotFit:
        if not first.composed:
            raise
        return _through(as_it_is, stages, on_stage)
    try:
        return min(whole, _through(as_it_is, STAGES, on_stage), key=_judged)
    except (DoesNotFit, Unsupported):
        return whole


def _judged(work: Stages) -> float:
    """What is to be small of a compiled network."""
    from compiler.performance import performance

    return getattr(performance(work), {"bytes": "dram_bytes", "energy": "energy_uJ"}.get(work.objective, "cycles"))


def _through(work: Stages, stages: tuple[Stage, ...], on_stage: Callable[[str], None] | None) -> Stages:
    try:
        for stage in stages:
            if stage.run:
                if on_stage:
                    on_stage(stage.name)
                stage.run(work)
                if stage.verify:
                    stage.verify(work)
    except OverflowError as error:
        raise ValueError(f"{work.model}: sums do not fit 32 bits ({error}): quantise the model anew") from error
    return work
