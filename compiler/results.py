# SPDX-License-Identifier: Apache-2.0
"""The results of the compiler's stages. Each is frozen, and has the fields of the previous result."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from eyrie.compiler.options import OBJECTIVES, SEARCH_ITERATIONS
from eyrie.model.config import DEFAULT, AcceleratorConfig

if TYPE_CHECKING:  # the stages import these modules when they run
    from eyrie.compiler.emit.coding import CodedArea
    from eyrie.compiler.emit.schedule import Schedule
    from eyrie.compiler.emit.steps import Step
    from eyrie.compiler.ir.graph import Graph
    from eyrie.compiler.ir.image import Image
    from eyrie.compiler.ir.layer import Group
    from eyrie.compiler.ir.maps import Map
    from eyrie.compiler.ir.nest_text import ScheduleText
    from eyrie.compiler.ir.plan import Plan
    from eyrie.compiler.plan.search import Placed
    from eyrie.compiler.plan.settle import Planning

Result = TypeVar("Result", bound="Request")


@dataclass(frozen=True, eq=False)
class Request:
    """A compilation: what the stages begin with, and what each result keeps.

    compose, turn  whether data-movement operators are composed, and feature maps of one column become rows
                   (passes/simplify.py)
    shared         names of inputs and outputs that another program shares, which lie pixel by pixel
    input_tables   whether the host looks up the values of inputs in tables (plan/input_tables.py)
    greedy         whether segments are chosen greedily (plan/greedy.py)
    given          a schedule to use in place of the planner's
    """

    model: str | Path
    config: AcceleratorConfig = DEFAULT
    objective: str = OBJECTIVES[0]
    search_iterations: int = SEARCH_ITERATIONS
    images: int = 1
    _: KW_ONLY
    compose: bool = True
    turn: bool = False
    shared: frozenset[str] = frozenset()
    input_tables: bool = True
    greedy: bool = False
    given: ScheduleText | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Imported(Request):
    """The graph of the model."""

    graph: Graph


@dataclass(frozen=True, kw_only=True, eq=False)
class Simplified(Imported):
    """The graph that the accelerator runs."""

    folded: Graph


@dataclass(frozen=True, kw_only=True, eq=False)
class Grouped(Request):
    """Fused operators.

    origin  the graphs; None if compilation begins at the text of this stage or of a later one
    inputs  the inputs that the network reads
    ends    the output feature maps, in the model's shapes, by the names of the model's outputs, in the model's order
    """

    origin: Simplified | None = None
    groups: list[Group]
    inputs: list[Map]
    ends: dict[str, Map]

    @property
    def graph(self) -> Graph:
        """Return the graph of the model, if it is known."""
        assert self.origin
        return self.origin.graph

    @property
    def folded(self) -> Graph:
        """Return the graph that the accelerator runs, if it is known."""
        assert self.origin
        return self.origin.folded


@dataclass(frozen=True, kw_only=True, eq=False)
class Planned(Grouped):
    """Segments. planning: cached facts about them, for repeated choices; None if the segments are given"""

    plan: Plan
    planning: Planning | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Allocated(Planned):
    """Addresses in the GLB, and the network layer by layer."""

    placed: Placed
    steps: list[Step]


@dataclass(frozen=True, kw_only=True, eq=False)
class Scheduled(Allocated):
    """Commands."""

    schedule: Schedule


@dataclass(frozen=True, kw_only=True, eq=False)
class Coded(Scheduled):
    """Constants, coded if the accelerator has a decoder. areas: the constant areas, if it has one"""

    areas: list[CodedArea] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True, eq=False)
class Listed(Coded):
    """Commands that have a text."""

    @cached_property
    def text(self) -> str:
        """Return the commands as text."""
        from eyrie.compiler.assembly.commands import to_text

        return to_text(self.schedule.commands)


@dataclass(frozen=True, kw_only=True, eq=False)
class Built(Listed):
    """The DRAM image: the last result."""

    image: Image


def reached(work: Request, kind: type[Result]) -> Result:
    """Return the result of a stage, which must have run. The graphs of later results are their origin."""
    found = work if isinstance(work, kind) else getattr(work, "origin", None)
    assert isinstance(found, kind)
    return found


def following(kind: type[Result], work: Request, **new: Any) -> Result:
    """Return the next result, which keeps the fields of the last one."""
    kept = {field.name: getattr(work, field.name) for field in fields(kind) if field.name in vars(work)}
    return kind(**kept | new)
