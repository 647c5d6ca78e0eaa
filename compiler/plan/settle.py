# SPDX-License-Identifier: Apache-2.0
"""Segments and their places, which depend on each other: what finds no place, or runs slower in its place than was
planned, is planned anew."""

from functools import partial

from eyrie.compiler.ir.failure import DoesNotFit
from eyrie.compiler.ir.layer import Group
from eyrie.compiler.ir.plan import Plan, Segment
from eyrie.compiler.plan import search
from eyrie.compiler.plan.batch import BatchPlanner
from eyrie.compiler.plan.bounds import Bounds
from eyrie.compiler.plan.greedy import GreedyPlanner
from eyrie.compiler.plan.search import Placed
from eyrie.compiler.plan.tensors import plan_maps
from eyrie.model.config import GLB_WORD_BYTES, AcceleratorConfig

MOST = 1.05  # times the array's cycles that were planned
REPLANS = 3  # for segments whose mappings found no room


class Planning:
    """Of the groups of a network, for a run of so many images.

    greedy: each group by itself, in place of the cheapest segments
    rejected: keys of segments for which the GLB had no places, or none for what was planned
    """

    def __init__(
        self, groups: list[Group], config: AcceleratorConfig, objective: str, images: int, greedy: bool = False
    ) -> None:
        self.rejected: set[tuple] = set()
        self._config, self._objective = config, objective
        self._new_planner = partial(GreedyPlanner if greedy else BatchPlanner, groups, config, objective, images)
        self._planner = self._new_planner()
        self._stores_overlap = True  # what is stored keeps its words beside the job behind it

    def plan(self) -> Plan:
        """Without the rejected segments. Raises DoesNotFit."""
        return plan_maps(*self._planner.cheapest(frozenset(self.rejected)), self._config, self._stores_overlap)

    def places(self, plan: Plan, search_iterations: int) -> tuple[Plan, list[Placed]]:
        """Return solutions for a plan, or for the plan that it had to give way to, cheapest first. Raise DoesNotFit."""
        best = self._placed(plan, search_iterations)
        for _ in range(REPLANS if self._objective == "cycles" else 0):
            slower = slower_than_planned(best[0], best[1][0], self._config)
            if not slower:
                break
            self.rejected |= slower
            try:
                other = self._placed(self.plan(), search_iterations)
            except DoesNotFit:
                break
            if other[1][0].cost >= best[1][0].cost:
                break
            best = other
        return best

    def _placed(self, plan: Plan, search_iterations: int) -> tuple[Plan, list[Placed]]:
        while True:
            try:
                return plan, search.candidates(plan, self._config, search_iterations)
            except search.Rejected as rejection:
                self.rejected.add(rejection.segment.key)
                plan = self._plan_anew()

    def _plan_anew(self) -> Plan:
        """Where that leaves no plan, with all segments, but stores that nothing overlaps."""
        try:
            return self.plan()
        except DoesNotFit:
            if not self._stores_overlap:
                raise
            self._stores_overlap, self._planner = False, self._new_planner()
            self.rejected.clear()
            return self.plan()


def as_planned(plan: Plan, config: AcceleratorConfig, search_iterations: int) -> tuple[Plan, list[Placed]]:
    """Return solutions for a plan that is given, cheapest first; where it finds none, for the plan in which nothing
    overlaps stores. Raise DoesNotFit, which names the segment that finds no place."""
    too_large = (segment for segment in plan.segments if Bounds(segment, config).peak_words > config.glb_words)
    if segment := next(too_large, None):
        raise _no_room(plan, segment, config)
    try:
        return plan, search.candidates(plan, config, search_iterations)
    except search.Rejected as rejection:
        if not plan.stores_overlap:
            raise _no_room(plan, rejection.segment, config) from rejection
    return as_planned(plan_maps(plan.groups, plan.segments, config, False), config, search_iterations)


def _no_room(plan: Plan, segment: Segment, config: AcceleratorConfig) -> DoesNotFit:
    name, demand = plan.groups[segment.first].name, Bounds(segment, config).peak_words * GLB_WORD_BYTES
    reason = f"of {config.glb_bytes} bytes has no room for the {demand} bytes that it needs, and the buffers beside it"
    return DoesNotFit(
        f"the segment of group {name}: the GLB {reason}",
        layer=name,
        demand=demand,
        bound=config.glb_bytes,
        remedy="use smaller tiles, or a larger GLB",
    )


def slower_than_planned(plan: Plan, placed: Placed, config: AcceleratorConfig) -> set[tuple]:
    """Keys of the segments that have to take smaller tiles than was reckoned, since what lies beside them left their
    filters less room."""
    found = set()
    for segment in plan.segments:
        cycles = sum(placed.constants[n].cycles(plan, n) for n in range(segment.first, segment.last))
        if cycles > MOST * Bounds(segment, config).array_cycles:
            found.add(segment.key)
    return found
