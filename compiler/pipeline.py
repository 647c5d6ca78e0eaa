# SPDX-License-Identifier: Apache-2.0
"""The stages of the compiler, in order. Each is a function from a frozen result (results.py) to the next."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from eyrie.compiler.collection import no_collection
from eyrie.compiler.options import OBJECTIVES
from eyrie.compiler.results import (
    Allocated,
    Built,
    Coded,
    Grouped,
    Imported,
    Listed,
    Planned,
    Request,
    Scheduled,
    Simplified,
    following,
)
from eyrie.model.errors import InputError
from eyrie.model.messages import unknown

if TYPE_CHECKING:  # each stage imports its modules when it runs
    from eyrie.compiler.plan.search import Placed

LONG = 1_000_000  # cycles of a network that takes long to predict, and whose estimate is exact to 2 %
Given = Any  # the result of the stage before, each of a class of its own


@dataclass(frozen=True)
class Stage:
    """One stage.

    about    its work, in one sentence
    run      returns the next result; None for a stage that only prints other results
    verify   raises Malformed or InternalError if the stage's result is inconsistent, which is a fault of the compiler
    settled  the later stage after which the result is final: that stage may choose again
    """

    name: str
    about: str
    run: Callable[[Given], Request] | None
    dump: Callable[[Given], str]
    settled: str | None = None
    verify: Callable[[Given], object] | None = None


def _import(work: Request) -> Imported:
    from eyrie.compiler.frontend.file import load

    graph = load(work.model)
    if graph.start and work.images > 1:
        raise InputError("it keeps a state from image to image: leave out --batch")
    return following(Imported, work, graph=graph)


def _passes(work: Imported) -> Simplified:
    from eyrie.compiler.passes.constraints import check
    from eyrie.compiler.passes.order_nodes import order_nodes
    from eyrie.compiler.passes.simplify import simplified

    simple = simplified(work.graph, work.compose, work.turn, work.shared)
    return following(Simplified, work, folded=check(order_nodes(simple)))


def _groups(work: Simplified) -> Grouped:
    from eyrie.compiler.ir.graph import map_shape
    from eyrie.compiler.ir.maps import upright
    from eyrie.compiler.passes.form_groups import form_groups, maps_of
    from eyrie.compiler.plan.input_tables import with_input_tables
    from eyrie.compiler.plan.packed_maps import with_packed_inputs
    from eyrie.compiler.plan.patched_maps import with_patched_inputs
    from eyrie.compiler.target.suit import suited

    maps = maps_of(work.folded)
    groups = form_groups(work.folded, work.config.bus_words)
    if work.input_tables:
        groups = with_input_tables(groups, work.shared)
    groups = suited(groups, work.config)
    groups = with_packed_inputs(groups, work.config, work.shared)
    groups = with_patched_inputs(groups, work.config, work.shared, work.objective == "cycles")
    inputs = [maps[tensor.name] for tensor in work.folded.inputs if tensor.name in maps]
    pairs = zip(work.graph.outputs, work.folded.outputs)
    ends = {tensor.name: upright(maps[folded.name], map_shape(tensor.shape)) for tensor, folded in pairs}
    return following(Grouped, work, origin=work, groups=groups, inputs=inputs, ends=ends)


def _verify_groups(work: Grouped) -> None:
    from eyrie.compiler.ir.verify import verify_groups

    verify_groups(work.groups, work.inputs, work.ends.values())


def _dump_fusion(work: Grouped) -> str:
    from eyrie.compiler import dumps

    return dumps.fusion(work.groups, work.config)


def _dump_moves(work: Simplified) -> str:
    from eyrie.compiler import dumps

    return dumps.moves(work.graph, work.folded)


def _dump_banks(work: Simplified) -> str:
    from eyrie.compiler import dumps

    return dumps.banks(work.folded)


def _segments(work: Grouped) -> Planned:
    from eyrie.compiler.plan.settle import Planning

    if work.given:
        from eyrie.compiler.plan.given import scheduled
        from eyrie.compiler.plan.tensors import plan_maps

        plan = plan_maps(*scheduled(work.groups, work.given, work.config), work.config, work.given.stores_overlap)
        return following(Planned, work, plan=plan)
    planning = Planning(work.groups, work.config, work.objective, work.images, work.greedy)
    return following(Planned, work, planning=planning, plan=planning.plan())


def _dump_segments(work: Planned) -> str:
    from eyrie.compiler import dumps

    return dumps.segments(work.plan, work.config, work.turn, work.compose)


def _dump_map(work: Allocated) -> str:
    from eyrie.compiler import dumps

    return dumps.mappings(work.steps, work.plan, work.config)


def _places(work: Planned) -> Allocated:
    from eyrie.compiler.cost.predict import timed
    from eyrie.compiler.emit.steps import steps_of
    from eyrie.compiler.plan.search import take
    from eyrie.compiler.plan.settle import as_planned

    if work.planning:
        plan, found = work.planning.places(work.plan, work.search_iterations)
    else:
        plan, found = as_planned(work.plan, work.config, work.search_iterations)

    def allocated(placed: Placed) -> Allocated:
        take(plan, placed)
        return following(Allocated, work, plan=plan, placed=placed, steps=steps_of(plan, placed, work.images))

    if len(found) == 1:
        return allocated(found[0])
    return allocated(
        min(found, key=lambda placed: timed(work.config, _schedule(allocated(placed)).schedule.commands).cycles)
    )


def _verify_places(work: Allocated) -> None:
    from eyrie.compiler.plan.verify import verify_places, verify_plan

    verify_plan(work.plan)
    verify_places(work.plan, work.placed, work.config)


def _dump_places(work: Allocated) -> str:
    from eyrie.compiler import dumps

    return dumps.places(work.placed.buffers)


def _schedule(work: Allocated) -> Scheduled:
    from eyrie.compiler.emit.schedule import emit

    return following(Scheduled, work, schedule=emit(work.plan, work.placed, work.steps, work.config))


def _verify_schedule(work: Scheduled) -> None:
    from eyrie.compiler.emit import races

    races.verify(work.schedule.commands, work.config)


def _codes(work: Scheduled) -> Coded:
    from eyrie.compiler.cost.predict import timed
    from eyrie.compiler.emit.coding import SLOWER, coded

    # The decoder makes two words a cycle: a DRAM that brings as many is faster by itself.
    fastest = work.objective == OBJECTIVES[0]
    if not work.config.weight_codes or (fastest and work.config.dram_words > 1):
        return following(Coded, work)
    schedule, areas = coded(work.schedule, work.config)
    if fastest and work.placed.cost <= LONG:
        before, after = (timed(work.config, each.commands).cycles for each in (work.schedule, schedule))
        if after > SLOWER * before:
            return following(Coded, work, areas=[replace(area, used=False) for area in areas])
    return following(Coded, work, schedule=schedule, areas=areas)


def _dump_codes(work: Coded) -> str:
    from eyrie.compiler.emit.coding import coded

    return "\n".join(map(str, work.areas or coded(work.schedule, work.config)[1]))


def _assemble(work: Coded) -> Listed:
    return following(Listed, work)


def _image(work: Listed) -> Built:
    from eyrie.compiler.emit.image import build

    return following(Built, work, image=build(work.schedule, work.config, work.ends))


def _dump_image(work: Built) -> str:
    areas = work.schedule.dram.areas.items()
    return "\n".join(f"0x{address:08x} {size:8d} {name}" for name, (address, size) in areas)


STAGES = (
    # The front end: the model in the accelerator's terms.
    Stage("import", "reads the model: a graph of operators", _import, lambda work: str(work.graph)),
    Stage(
        "passes",
        "removes identities, moves padding into the operators after it, orders branches, and "
        "rejects what the accelerator does not run",
        _passes,
        lambda work: str(work.folded),
        verify=lambda work: work.folded.verified(),
    ),
    # Studies of the graph optimisations. No other stage uses them.
    Stage("moves", "the data-movement operators that remain, and the reasons", None, _dump_moves),
    Stage("banks", "copies between banks under the published ways to map tensors to them", None, _dump_banks),
    Stage(
        "groups",
        "combines operators into fused operators, each the work of a pass or a load",
        _groups,
        lambda work: "\n".join(map(str, work.groups)),
        verify=_verify_groups,
    ),
    # A study of fusion. No other stage uses it.
    Stage("fusion", "the best plans under the published measures of fusion", None, _dump_fusion),
    # The plan. The choice of segments depends on whether their buffers find addresses, so that these three stages are
    # final together.
    Stage(
        "segments",
        "chooses which fused operators run together and which feature maps stay in the GLB",
        _segments,
        _dump_segments,
        settled="places",
    ),
    Stage("map", "the mapping of each fused operator to the array", None, _dump_map, settled="places"),
    Stage(
        "places",
        "searches for GLB addresses of feature maps and constants; without a solution the segments are chosen again",
        _places,
        _dump_places,
        verify=_verify_places,
    ),
    # The back end: no choice remains.
    Stage(
        "schedule",
        "lists transfers and passes with their descriptors and wait counts",
        _schedule,
        lambda work: "\n".join(map(str, work.schedule.steps)),
        verify=_verify_schedule,
    ),
    Stage("codes", "codes constants, if the accelerator has a decoder and no cycles are lost", _codes, _dump_codes),
    Stage("assemble", "writes the commands as text", _assemble, lambda work: work.text),
    Stage("image", "lays out DRAM: constants, commands, addresses of inputs and outputs", _image, _dump_image),
)
NAMES = tuple(stage.name for stage in STAGES)


def stage_named(name: str) -> Stage:
    """Return a stage by name. Raise InputError, with one line, if the name is unknown."""
    if name not in NAMES:
        raise InputError(unknown("stage", name, NAMES))
    return STAGES[NAMES.index(name)]


def dumped(work: Request, stage: str) -> str:
    """Return the result of a stage that has run, as text."""
    return stage_named(stage).dump(work)


def run_stages(work: Request, stages: tuple[Stage, ...], on_stage: Callable[[str], None] | None = None) -> Request:
    """Run stages; return the last result.

    Raise InputError, with one line, if the accelerator does not support the model or it does not fit.
    """
    with no_collection():
        for stage in stages:
            if stage.run:
                if on_stage:
                    on_stage(stage.name)
                work = stage.run(work)
                if stage.verify:
                    stage.verify(work)
    return work
