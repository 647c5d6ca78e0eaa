# SPDX-License-Identifier: Apache-2.0
"""The stages that have a text: the contents of each, and how compilation continues from it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from eyrie.compiler.ir.failure import InternalError
from eyrie.compiler.ir.graph import Graph
from eyrie.compiler.ir.heading import IMPORT, heading, stage_of
from eyrie.compiler.ir.layer import Group
from eyrie.compiler.ir.maps import Map
from eyrie.compiler.ir.plan import Segment
from eyrie.compiler.ir.verify import verify_groups
from eyrie.compiler.options import MOST_IMAGES, OBJECTIVES
from eyrie.compiler.pipeline import NAMES, STAGES, run_stages
from eyrie.compiler.results import Built, Grouped, Planned, Request, Simplified, reached
from eyrie.compiler.text.classes import said, takes
from eyrie.compiler.text.reading import Misread, values_of
from eyrie.compiler.text.writing import NoText, written
from eyrie.model.config import AcceleratorConfig
from eyrie.model.errors import InputError
from eyrie.model.messages import unknown
from eyrie.model.reading import read_file

REMEDY = "write it with eyrie ir"
T = TypeVar("T")
Values = Mapping[str, object]  # of a text, by name
ASKED = {"config": AcceleratorConfig, "objective": str, "search_iterations": int, "images": int}  # of the compilation


@dataclass(frozen=True)
class Checkpoint:
    """A stage from which compilation can continue.

    after: the stage that makes it; holds: the types of its values, by name; values: returns them from the result of
    that stage; taken: returns the result of that stage with them
    """

    after: str
    holds: dict[str, object]
    values: Callable[[Any], dict[str, object]]
    taken: Callable[[Request, Values], Request]


def _value(values: Values, name: str, kind: type[T]) -> T:
    """Return a value of `_read`, which has checked its type."""
    value = values[name]
    assert isinstance(value, kind)
    return value


def _list(values: Values, name: str, kind: type[T]) -> list[T]:
    found: list[T] = _value(values, name, list)
    assert all(isinstance(each, kind) for each in found)
    return found


def _groups_taken(work: Request, values: Values) -> Grouped:
    return Grouped(
        **vars(work),
        groups=_list(values, "groups", Group),
        inputs=_list(values, "inputs", Map),
        ends=_value(values, "ends", dict),
    )


def _segments_taken(work: Request, values: Values) -> Planned:
    from eyrie.compiler.plan.given import check_segments
    from eyrie.compiler.plan.tensors import plan_maps

    _check_images("segments", work)
    grouped, segments = _groups_taken(work, values), _list(values, "segments", Segment)
    verify_groups(grouped.groups, grouped.inputs, grouped.ends.values())
    check_segments(grouped.groups, segments)
    plan = plan_maps(grouped.groups, segments, work.config, _value(values, "stores_overlap", bool))
    return Planned(**vars(grouped), plan=plan)


def _check_images(stage: str, work: Request) -> None:
    if stage == "segments" and work.images > 1:
        raise NoText("segments of several images have no text: write stage groups, or leave out --batch")


def _graph_taken(work: Request, values: Values) -> Simplified:
    from eyrie.compiler.passes.constraints import check

    graph, folded = (_with_dimensions(_value(values, name, Graph)).verified() for name in ("graph", "folded"))
    if len(graph.outputs) != len(folded.outputs):
        raise InputError(f"graph has {len(graph.outputs)} outputs, folded {len(folded.outputs)}")
    return Simplified(**vars(work), graph=graph, folded=check(folded))


_ENDS = {"inputs": list[Map], "ends": dict[str, Map]}
CHECKPOINTS = {
    IMPORT: Checkpoint("import", {"graph": Graph}, lambda work: {"graph": work.graph}, lambda work, _: work),
    "passes": Checkpoint(
        "passes",
        {"graph": Graph, "folded": Graph},
        lambda work: {"graph": work.graph, "folded": work.folded},
        _graph_taken,
    ),
    "groups": Checkpoint(
        "groups",
        {"groups": list[Group], **_ENDS},
        lambda work: {"groups": work.groups, "inputs": work.inputs, "ends": work.ends},
        _groups_taken,
    ),
    "segments": Checkpoint(
        "segments",
        {"groups": list[Group], "segments": list[Segment], "stores_overlap": bool, **_ENDS},
        lambda work: {
            "groups": work.plan.groups,
            "inputs": work.inputs,
            "ends": work.ends,
            "segments": work.plan.segments,
            "stores_overlap": work.plan.stores_overlap,
        },
        _segments_taken,
    ),
}


def text_of(work: Request, stage: str) -> str:
    """Return a network after a stage, as text. Raise NoText."""
    _check_images(stage, work)
    asked = {} if stage == IMPORT else {name: getattr(work, name) for name in ASKED}
    return f"{heading(stage)}\n{written(asked | CHECKPOINTS[stage].values(work))}"


def load(path: str | Path) -> Graph:
    """Return the graph of a text of stage `import`. Raise InputError, which begins with the path."""
    _, values = _read(path)
    return _checked(path, lambda: _with_dimensions(_value(values, "graph", Graph)).verified())


def _with_dimensions(graph: Graph) -> Graph:
    """Return the graph. Raise InputError if a tensor has a dimension below 1, which no operator checks."""
    for tensor in (*graph.inputs, *(output for node in graph.nodes for output in node.outputs)):
        if min(tensor.shape, default=1) < 1:
            raise InputError(f"{tensor.name} has the shape {tensor.shape}: give dimensions of 1 or more")
    return graph


def compiled(path: str | Path, on_stage: Callable[[str], None] | None = None) -> Built:
    """Compile a network from a stage after `import`, for the configuration and the objective in its text.

    Raise InputError, which begins with the path.
    """
    stage, values = _read(path)
    request = Request(
        model=path,
        config=_value(values, "config", AcceleratorConfig),
        objective=_value(values, "objective", str),
        search_iterations=_value(values, "search_iterations", int),
        images=_value(values, "images", int),
    )
    behind = STAGES[NAMES.index(CHECKPOINTS[stage].after) + 1 :]
    try:
        work = _checked(path, lambda: CHECKPOINTS[stage].taken(request, values))
        if verify := STAGES[NAMES.index(CHECKPOINTS[stage].after)].verify:
            _checked(path, lambda: verify(work))
        return reached(_checked(path, lambda: run_stages(work, behind, on_stage)), Built)
    except (ArithmeticError, AttributeError, LookupError, TypeError) as error:
        what = f"{type(error).__name__}: {error}"
        raise InputError(f"{path}: the values do not go together ({what}): {REMEDY}") from error


def _checked(path: str | Path, check: Callable[[], T]) -> T:
    """Return the result of a check. Errors of the check begin with the path, once."""
    try:
        return check()
    except (InternalError, InputError) as error:
        if str(error).startswith(str(path)):
            raise
        raise InputError(f"{path}: {error}") from error


def _read(path: str | Path) -> tuple[str, dict[str, object]]:
    """Return the stage of a text and its values. Raise Misread."""
    data = read_file(path, REMEDY)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise Misread(f"{path}: no text: {REMEDY}") from error
    stage = stage_of(data)
    if stage not in CHECKPOINTS:
        raise Misread(f"{path}:1:1: {unknown('stage', stage or '', CHECKPOINTS)}")
    values, wanted = values_of(path, text), CHECKPOINTS[stage].holds | ({} if stage == IMPORT else ASKED)
    for name, hint in wanted.items():
        if name not in values:
            raise Misread(f"{path}: {name} is missing: a text of stage {stage} has {', '.join(wanted)}")
        if not takes(hint, values[name]):
            raise Misread(f"{path}: {name} has to be {said(hint)}")
    if stage != IMPORT and (
        values["objective"] not in OBJECTIVES
        or _value(values, "search_iterations", int) < 1
        or not 1 <= _value(values, "images", int) <= MOST_IMAGES
    ):
        raise Misread(
            f"{path}: objective must be one of {', '.join(OBJECTIVES)}, "
            f"search_iterations 1 or more, images 1 to {MOST_IMAGES}"
        )
    return stage, values
