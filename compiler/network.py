# SPDX-License-Identifier: Apache-2.0
"""A network compiled as a whole, in the best of several ways: where its moves can be put together, with that and with
them as the model has them; where it has maps of one column, also with these as rows; for a large GLB also as for a
smaller one, whose programs run on it as they are, so that more memory never costs cycles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from eyrie.compiler.options import OBJECTIVES, SEARCH_ITERATIONS
from eyrie.compiler.pipeline import NAMES, STAGES, Stages, made, run_stages, stage_named
from eyrie.model.config import DEFAULT, AcceleratorConfig

if TYPE_CHECKING:  # which takes a while to import
    from eyrie.compiler.ir.graph import Graph

T = TypeVar("T")


def compile_network(
    model: str | Path,
    config: AcceleratorConfig = DEFAULT,
    objective: str = OBJECTIVES[0],
    search_iterations: int = SEARCH_ITERATIONS,
    images: int = 1,
    until: str | None = None,
    on_stage: Callable[[str], None] | None = None,
) -> Stages:
    """Runs all stages, or so many that what stage `until` makes is final.

    objective: cycles, bytes or energy; effort: how long the search for places goes on; images: of a run;
    on_stage: called with the name of each stage as it begins.
    Raises InputError, in one line, for a model the accelerator does not run or that does not fit.
    """
    until = stage_named(until or NAMES[-1]).name
    return compile_graph(
        run_stages(Stages(model, config, objective, search_iterations, images), STAGES[:1], on_stage), until, on_stage
    )


def compile_graph(work: Stages, until: str = NAMES[-1], on_stage: Callable[[str], None] | None = None) -> Stages:
    """`compile_network` from a graph on, which `work` has."""
    from eyrie.compiler.passes.simplify import composes, turns

    last = stage_named(until)
    stages = STAGES[: NAMES.index(last.settled or last.name) + 1]
    first = run_stages(work, stages[1:2], on_stage)
    simplifies = first.folded is not None
    composed = (True, False) if simplifies and composes(made(first.graph)) else (True,)
    turned = (False, True) if simplifies and turns(made(first.graph)) else (False,)
    config, ways = work.config, [*product(planned_for(work.config), composed, turned)]
    if len(ways) == 1 or len(stages) <= 2:
        return run_stages(first, stages[2:], on_stage)

    def compiled(config: AcceleratorConfig, compose: bool, turn: bool) -> Stages:
        way = Stages(
            work.model,
            config,
            work.objective,
            work.search_iterations,
            work.images,
            graph=first.graph,
            compose=compose,
            turn=turn,
            unpacked=work.unpacked,
        )
        return run_stages(way, STAGES[1:], on_stage)

    return labelled(best([partial(compiled, *way) for way in ways], _judged), config)


def compile_greedily(
    model: str | Path,
    config: AcceleratorConfig = DEFAULT,
    objective: str = OBJECTIVES[0],
    search_iterations: int = SEARCH_ITERATIONS,
    until: str = NAMES[-1],
    on_stage: Callable[[str], None] | None = None,
) -> Stages:
    """As `compile_network`, by the greedy choice of segments."""
    work, last = Stages(model, config, objective, search_iterations, 1, greedy=True), stage_named(until)
    return run_stages(work, STAGES[: NAMES.index(last.settled or last.name) + 1], on_stage)


def compile_part(
    graph: Graph,
    model: str | Path,
    config: AcceleratorConfig = DEFAULT,
    objective: str = OBJECTIVES[0],
    search_iterations: int = SEARCH_ITERATIONS,
    on_stage: Callable[[str], None] | None = None,
    until: str = NAMES[-1],
    compose: bool = True,
) -> Stages:
    """A part of a model that has been imported; until: the last stage that runs, final or not; compose: whether moves
    are put together."""
    from eyrie.compiler.passes.simplify import turns

    stages = STAGES[1 : NAMES.index(until) + 1]

    def compiled(config: AcceleratorConfig, turn: bool) -> Stages:
        return run_stages(
            Stages(model, config, objective, search_iterations, 1, graph=graph, compose=compose, turn=turn),
            stages,
            on_stage,
        )

    if until != NAMES[-1]:
        return compiled(config, False)
    ways = product(planned_for(config), (False, True) if turns(graph) else (False,))
    return labelled(best([partial(compiled, *way) for way in ways], _judged), config)


def planned_for(config: AcceleratorConfig) -> list[AcceleratorConfig]:
    """The accelerator, behind those of half its GLB, of a quarter and so on, where it is larger than the default
    one's."""
    if config.glb_words <= DEFAULT.glb_words:
        return [config]
    return [*planned_for(replace(config, glb_bank_words=config.glb_bank_words // 2)), config]


def labelled(work: Stages, config: AcceleratorConfig) -> Stages:
    """The image says which accelerator it is for, whichever it was planned for."""
    image = made(work.image)
    if image.config != config:
        work.image = replace(image, map=image.map | {"config": config.as_dict()})
    return work


def best(attempts: Sequence[Callable[[], T]], judged: Callable[[T], float | tuple]) -> T:
    """What is judged to be least of what the attempts make. Raises the last one's failure where all fail."""
    from eyrie.compiler.ir.failure import CompileError, DoesNotFit, Unsupported

    found, failures = list[T](), list[CompileError]()
    for attempt in attempts:
        try:
            found.append(attempt())
        except (DoesNotFit, Unsupported) as error:
            failures.append(error)
    if not found:
        raise failures[-1]
    return found[0] if len(found) == 1 else min(found, key=judged)


def _judged(work: Stages) -> float:
    """What is to be small of a compiled network."""
    from eyrie.compiler.performance import performance

    return getattr(performance(work), {"bytes": "dram_bytes", "energy": "energy_uJ"}.get(work.objective, "cycles"))
