# SPDX-License-Identifier: Apache-2.0
"""The choice of segments: which groups run together row tile by row tile, and which maps stay in the GLB."""

from dataclasses import dataclass, replace
from functools import cache
from math import inf

from eyrie.compiler.ir.failure import DoesNotFit
from eyrie.compiler.ir.layer import Group
from eyrie.compiler.ir.plan import Segment
from eyrie.compiler.plan.bounds import LEAKAGE_PJ
from eyrie.compiler.plan.estimates import Cost, Estimate, Estimates
from eyrie.compiler.plan.flow import Flow
from eyrie.compiler.plan.mappings import mappings_of
from eyrie.compiler.plan.nests import MOST_GROUPS
from eyrie.compiler.target.times import TURN, port_words
from eyrie.model.config import GLB_WORD_BYTES, AcceleratorConfig

# A segment that fits the GLB, perhaps as it lies in another flow; the group behind it, and whether the source of that
# one comes from DRAM.
_Fitting = tuple[Segment, Estimate, tuple[int, bool]]

MOST_BEFORE = 32  # segments that one is tried behind
WAITED = {"cycles": (1, 0), "bytes": (0, 1), "energy": (LEAKAGE_PJ, 1)}  # by which a cycle's wait adds to a cost


class SegmentPlanner:
    """Cuts groups, which each image goes through by itself, into the segments that cost least.

    objective: "cycles" counts the array's or the port's, whichever are more, and a share of the port's time for maps
    and for filters that come again once more, since meanwhile it does not bring the weights of later layers (the more,
    the busier these keep it); "bytes" counts DRAM bytes, then cycles; "energy" counts DRAM accesses and cycles of
    leakage. begins: whether the network begins with these groups, so that the first job waits for all that it needs.

    Held maps (flow.py) stay in the GLB, but for those that cost less in DRAM; the largest that is there while a group
    runs that does not fit goes there, one after another, until there is a plan. It may be asked again and again, each
    time with more segments rejected: what is known of segments stays, and so do the maps in DRAM, since what has no
    plan has none with fewer segments.
    """

    def __init__(self, flow: Flow, estimates: Estimates, begins: bool = True) -> None:
        self.flow, self._begins = flow, begins
        self._estimates, self._config, self._objective = estimates, estimates.config, estimates.objective
        self._port = port_words(estimates.config)
        self._settled = False  # whether all held maps have been tried in DRAM
        self._fitting: dict[tuple[int, bool], list[_Fitting]] = {}
        self._known_fits: dict[int, bool] = {}

    def cheapest(self, rejected: frozenset = frozenset(), in_glb: bool = False) -> tuple[Cost, list[Segment]]:
        """The segments and their cost. rejected: keys of segments that could not be placed; in_glb: held maps are not
        tried in DRAM where they fit the GLB. Raises DoesNotFit."""
        while True:
            fits = all(map(self._fits, range(len(self.flow.groups))))
            if fits and (found := self._cut(rejected)):
                return found if self._settled or in_glb else self._with_maps_in_dram(found, rejected)
            for group in self.flow.groups:  # one without a mapping does not fit whatever the GLB holds
                mappings_of(self._config, group, group.map_shape[0] if group.averaged else 1)
            words, n = max(
                (self._estimates.least_words(self.flow, n), n)
                for n in range(len(self.flow.groups))
                if fits or not self._fits(n)
            )
            if fits:
                failure = _no_places(self.flow.groups, self.flow.groups[n], rejected, self._config)
            else:
                failure = _too_large(self.flow.groups[n], words, self._config)
            moved = self.flow.largest_held(failure.layer or "")
            if not moved:
                raise failure
            self._to_dram(moved)

    def _with_maps_in_dram(self, found: tuple[Cost, list[Segment]], rejected: frozenset) -> tuple[Cost, list[Segment]]:
        """The plan with each held map in DRAM that costs less there, the largest tried first."""
        self._settled = True
        for name in self.flow.held_names():
            flow, fitting = self.flow, dict(self._fitting)
            self._to_dram(name)
            other = self._cut(rejected)
            if other and other[0] < found[0]:
                found = other
            else:
                self.flow, self._fitting = flow, fitting
        return found

    def _to_dram(self, name: str) -> None:
        """A held map goes through DRAM: what is known of the segments that meet it is so no more."""
        outputs = enumerate(group.output for group in self.flow.groups)
        makers = [n for n, output in outputs if self.flow.held(n) and output.storage.name == name]
        last = max(self.flow.readers[maker][-1] for maker in makers)
        self.flow = replace(self.flow, in_dram=self.flow.in_dram | {name})
        for first in range(makers[0] - MOST_GROUPS + 1, last + 1):
            self._known_fits.pop(first, None)
            for from_dram in (False, True):
                self._fitting.pop((first, from_dram), None)

    def _cut(self, rejected: frozenset) -> tuple[Cost, list[Segment]] | None:
        """A dynamic programme over the last segment: exact, but for the MOST_BEFORE cheapest of those before that are
        looked at where a segment begins."""
        count = len(self.flow.groups)
        ends: dict[tuple[int, bool], list[_Path]] = {(0, True): [_Path((0, 0), 0)]}
        for here in ((first, from_dram) for first in range(count) for from_dram in (False, True)):
            befores = sorted(ends.pop(here, []), key=lambda path: path.cost)[:MOST_BEFORE]
            for segment, estimate, behind in self._fitting_from(*here) if befores else ():
                if rejected and self._here(segment, here[0]).key in rejected:
                    continue
                if path := self._longer(befores, segment, estimate, behind[0]):
                    ends.setdefault(behind, []).append(path)
        if not ends.get((count, True)):
            return None
        best = min(ends[count, True], key=lambda path: path.cost)
        return best.cost, [self._here(segment, first) for first, segment in best.segments()]

    def _longer(self, befores: "list[_Path]", segment: Segment, estimate: Estimate, last: int) -> "_Path | None":
        """Return the cheapest way to a segment and through it, to group `last`."""
        if segment.nest.in_place:
            befores = [path for path in befores if not _needs_slack_too_late(path.segment, segment)]
        first, second = WAITED[self._objective]
        best, before = (inf, inf), None
        for path in befores:  # cheapest first
            if path.cost >= best:
                break
            wait = self._wait(path, segment, estimate)
            spent = path.cost[0] + first * wait, path.cost[1] + second * wait
            if spent < best:
                best, before = spent, path
        cost, second_cost = estimate.cost
        return before and _Path((best[0] + cost, best[1] + second_cost), last, segment, estimate, before)

    def _wait(self, before: "_Path", segment: Segment, second: Estimate) -> float:
        """Return the cycles between two segments, or before the first, in which the array waits for the port, as far as
        there was no room to load before, and for the rows that the first one makes last. If they go through DRAM, the
        array waits until they are stored and loaded; or, if the port is the limit, the port waits for the last job."""
        first, port = before.estimate, self._port
        if first is None:
            return second.head // port if self._begins else 0
        head, free, wait = second.head, self._config.glb_words - first.needed, 0.0
        if first.makes < second.reads:
            wait = first.tail
            if segment.nest.from_dram and self.flow.makers[before.last][0] == before.last - 1:
                wait += TURN + min((first.stored + second.input) // port, first.last)
                head -= second.input
        return wait + max((head - free) // port - first.excess, 0)

    def _fits(self, n: int) -> bool:
        """Return whether group n needs at most the words of the GLB."""
        if n not in self._known_fits:
            self._known_fits[n] = self._estimates.fits(self.flow, n)
        return self._known_fits[n]

    def _fitting_from(self, first: int, from_dram: bool) -> list[_Fitting]:
        """All segments that begin with a group, as far as they fit the GLB."""
        if (first, from_dram) not in self._fitting:
            found = self._fitting[first, from_dram] = []
            next_from_dram = cache(self.flow.next_from_dram)
            for segment, estimate in self._estimates.fitting(self.flow, first, from_dram):
                last = first + segment.last - segment.first
                found.append((segment, estimate, (last, next_from_dram(last, segment.nest.to_dram))))
        return self._fitting[first, from_dram]

    def _here(self, known: Segment, first: int) -> Segment:
        """Return a segment of another flow, from group `first` of this one on."""
        return replace(known, network=self.flow.groups, first=first, last=first + known.last - known.first)


@dataclass(slots=True)
class _Path:
    """Segments from the first group on: their cost, the group behind them, the last segment, perhaps as it lies in
    another flow, and the path before it."""

    cost: Cost
    last: int
    segment: Segment | None = None
    estimate: Estimate | None = None
    before: "_Path | None" = None

    def segments(self) -> list[tuple[int, Segment]]:
        """Return all segments in their order, each with its first group."""
        path, found = self, list[tuple[int, Segment]]()
        while path.segment and path.before:
            found.append((path.before.last, path.segment))
            path = path.before
        return found[::-1]


def _needs_slack_too_late(before: Segment | None, segment: Segment) -> bool:
    """In place work needs its map to have been made with room for it."""
    if not segment.nest.in_place:
        return False
    return before is None or (before.nest.in_place and before.slack < segment.slack)


def _too_large(group: Group, words: float, config: AcceleratorConfig) -> DoesNotFit:
    """The GLB is too small for a group that needs so many words."""
    demand = int(words) * GLB_WORD_BYTES
    return DoesNotFit(
        f"group {group.name} needs at least {demand} bytes of GLB, there are {config.glb_bytes}",
        layer=group.name,
        result=group.output.name,
        demand=demand,
        bound=config.glb_bytes,
        remedy="use a larger GLB or a smaller layer",
    )


def _no_places(
    groups: tuple[Group, ...], neediest: Group, rejected: frozenset, config: AcceleratorConfig
) -> DoesNotFit:
    """The GLB had no places for groups that it is not too small for."""
    stuck = [group for group in groups if any((group.layer, group.images) in key[0] for key in rejected)] or [neediest]
    names = " or ".join(group.name for group in stuck)
    return DoesNotFit(
        f"group {names}: no places found in the GLB of {config.glb_bytes} bytes for all that has to be there at once",
        layer=stuck[0].name if len(stuck) == 1 else None,
        result=stuck[0].output.name,
        bound=config.glb_bytes,
        remedy="use a larger GLB or more effort",
    )
