# SPDX-License-Identifier: Apache-2.0
"""The levels of a network that have a text: what each holds, and how compiling goes on from it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from eyrie.compiler.ir.failure import Inconsistent
from eyrie.compiler.ir.graph import Graph
from eyrie.compiler.ir.heading import IMPORT, heading, level_of
from eyrie.compiler.ir.layer import Group, Map
from eyrie.compiler.ir.plan import Segment
from eyrie.compiler.options import MOST_IMAGES, OBJECTIVES
from eyrie.compiler.pipeline import NAMES, STAGES, Stages, run_stages
from eyrie.compiler.text.classes import said, takes
from eyrie.compiler.text.reading import Misread, values_of
from eyrie.compiler.text.writing import NoText, written
from eyrie.model.config import MachineConfig
from eyrie.model.errors import InputError
from eyrie.model.messages import unknown
from eyrie.model.reading import read_file

REMEDY = "write it with eyrie ir"
ASKED = {"machine": MachineConfig, "objective": str, "effort": int, "images": int}  # of the compilation


@dataclass(frozen=True)
class Level:
    """after: the stage that makes it. holds: the types of its values by name. values: of a network that has got there.
    taken: puts them into one that goes on behind that stage."""

    after: str
    holds: dict[str, object]
    values: Callable[[Stages], dict[str, object]]
    taken: Callable[[Stages, dict], None]


def _groups_taken(work: Stages, values: dict) -> None:
    work.inputs, work.ends = values["inputs"], values["ends"]
    work.groups = values["groups"]


def _segments_taken(work: Stages, values: dict) -> None:
    from eyrie.compiler.plan.given import check_segments
    from eyrie.compiler.plan.tensors import plan_maps

    _check_images("segments", work)
    _groups_taken(work, values)
    STAGES[NAMES.index("groups")].verify(work)
    check_segments(work.groups, values["segments"])
    work.plan = plan_maps(values["groups"], values["segments"], work.machine, values["stores_overlap"])


def _check_images(level: str, work: Stages) -> None:
    if level == "segments" and work.images > 1:
        raise NoText("segments of several images have no text: write level groups, or leave out --batch")


def _graph_taken(work: Stages, values: dict) -> None:
    work.graph, work.folded = _with_dimensions(values["graph"]), _with_dimensions(values["folded"])


_ENDS = {"inputs": list[Map], "ends": dict[str, str]}
LEVELS = {
    IMPORT: Level("import", {"graph": Graph}, lambda work: {"graph": work.graph}, lambda work, values: None),
    "passes": Level(
        "passes",
        {"graph": Graph, "folded": Graph},
        lambda work: {"graph": work.graph, "folded": work.folded},
        _graph_taken,
    ),
    "groups": Level(
        "groups",
        {"groups": list[Group], **_ENDS},
        lambda work: {"groups": work.groups, "inputs": work.inputs, "ends": work.ends},
        _groups_taken,
    ),
    "segments": Level(
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


def text_of(work: Stages, level: str) -> str:
    """A network that has got to a level, as text. Raises NoText."""
    _check_images(level, work)
    asked = {} if level == IMPORT else {name: getattr(work, name) for name in ASKED}
    return f"{heading(level)}\n{written(asked | LEVELS[level].values(work))}"


def load(path: str | Path) -> Graph:
    """The graph of a text of level `import`. Raises InputError, which begins with the path."""
    _, values = _read(path)
    return _checked(path, lambda: _with_dimensions(values["graph"]).verified())


def _with_dimensions(graph: Graph) -> Graph:
    """Raises InputError for a tensor of a dimension below 1, of which no operator has anything to say."""
    for tensor in (*graph.inputs, *(made for node in graph.nodes for made in node.outputs)):
        if min(tensor.shape, default=1) < 1:
            raise InputError(f"{tensor.name} has the shape {tensor.shape}: give dimensions of 1 or more")
    return graph


def compiled(path: str | Path, on_stage: Callable[[str], None] | None = None) -> Stages:
    """A network from a level behind `import` on, for the machine and the objective that its text says. Raises
    InputError, which begins with the path."""
    level, values = _read(path)
    work = Stages(path, *(values[name] for name in ASKED))
    behind = STAGES[NAMES.index(LEVELS[level].after) + 1 :]
    try:
        _checked(path, lambda: LEVELS[level].taken(work, values))
        if verify := STAGES[NAMES.index(LEVELS[level].after)].verify:
            _checked(path, lambda: verify(work))
        return _checked(path, lambda: run_stages(work, behind, on_stage))
    except (ArithmeticError, AttributeError, LookupError, TypeError) as error:
        what = f"{type(error).__name__}: {error}"
        raise InputError(f"{path}: the values do not go together ({what}): {REMEDY}") from error


def _checked(path: str | Path, check: Callable):
    """What a check gives; what it finds begins with the path, once."""
    try:
        return check()
    except (Inconsistent, InputError) as error:
        if str(error).startswith(str(path)):
            raise
        raise InputError(f"{path}: {error}") from error


def _read(path: str | Path) -> tuple[str, dict[str, object]]:
    """The level and its values. Raises Misread."""
    data = read_file(path, REMEDY)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise Misread(f"{path}: no text: {REMEDY}") from error
    level = level_of(data)
    if level not in LEVELS:
        raise Misread(f"{path}:1:1: {unknown('level', level or '', LEVELS)}")
    values, wanted = values_of(path, text), LEVELS[level].holds | ({} if level == IMPORT else ASKED)
    for name, hint in wanted.items():
        if name not in values:
            raise Misread(f"{path}: {name} is missing: a text of level {level} has {', '.join(wanted)}")
        if not takes(hint, values[name]):
            raise Misread(f"{path}: {name} has to be {said(hint)}")
    if level != IMPORT and (
        values["objective"] not in OBJECTIVES or values["effort"] < 1 or not 1 <= values["images"] <= MOST_IMAGES
    ):
        raise Misread(
            f"{path}: objective is one of {', '.join(OBJECTIVES)}, effort 1 or more, images 1 to {MOST_IMAGES}"
        )
    return level, values
