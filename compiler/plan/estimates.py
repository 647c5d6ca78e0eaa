# SPDX-License-Identifier: Apache-2.0
"""What the planner reckons of segments, each worked out once, whichever network it stands in."""

from dataclasses import dataclass, replace
from math import inf

from eyrie.compiler.ir.failure import DoesNotFit
from eyrie.compiler.ir.layer import Filtered, Group
from eyrie.compiler.ir.plan import Segment
from eyrie.compiler.plan.bounds import Bounds, Peaks, in_turn_of, least_constant_words
from eyrie.compiler.plan.flow import Flow
from eyrie.compiler.plan.nests import MOST_GROUPS, possible_segments
from eyrie.model.config import AcceleratorConfig

KEPT_SHARE = 1 / 8  # of the GLB: filters of a loop of several passes that are not refetched

Cost = tuple[float, float]  # the first entry before the second


@dataclass(frozen=True)
class Estimate:
    """Of a segment that fits the GLB.

    needed  GLB words at least
    cost    of Bounds
    head    words that its first job waits for
    input   words of its input from DRAM among them
    stored  words that its last job stores
    last    cycles of its last job
    excess  cycles by which its transfers take longer than its jobs
    tail    cycles from its last multiplication until the last rows are there
    reads   rows that its first job needs
    makes   first row that its last job makes
    """

    needed: int
    cost: Cost
    head: int
    input: int
    stored: int
    last: int
    excess: float
    tail: int
    reads: int
    makes: int


class Estimates:
    """Of all segments that are asked for, on an accelerator, for an objective, in a network that keeps the DRAM port
    busy with its constants for a share of the time."""

    def __init__(self, config: AcceleratorConfig, objective: str, port_busy: float) -> None:
        self.config, self.objective, self._port_busy = config, objective, port_busy
        self._kinds: dict[tuple, int] = {}
        self._kind_of: dict[int, tuple[Group, int]] = {}  # by the group's identity
        self._peaks: dict[tuple, Peaks] = {}
        self._found: dict[tuple, Estimate | None] = {}
        self._fitting: dict[tuple, list[tuple[Segment, Estimate]]] = {}
        self._fits: dict[tuple, bool] = {}
        self._least_words: dict[tuple, float] = {}

    def needed_words(self, segment: Segment) -> float:
        """Of the GLB, at least; infinite where there is no mapping."""
        return self._needed(segment, self._own_peaks(segment, self._key(segment)))

    def of(self, segment: Segment) -> Estimate | None:
        """None if it does not fit."""
        kind = self._key(segment)
        key = kind, segment.beside, segment.fetched
        if key not in self._found:
            hopeless = segment.beside + least_constant_words(segment, self.config) > self.config.glb_words
            left_out = hopeless or self._refetches_few(segment)
            self._found[key] = None if left_out else self._estimate(segment, self._own_peaks(segment, kind))
        return self._found[key]

    def fitting(self, flow: Flow, first: int, from_dram: bool) -> list[tuple[Segment, Estimate]]:
        """Return all segments that begin with group `first` and fit the GLB, perhaps as they lie in another flow."""
        key = self._scene(flow, first, min(first + MOST_GROUPS, len(flow.groups)), from_dram)
        if key not in self._fitting:
            self._fitting[key] = [
                (replace(segment), estimate)  # a copy, without jobs
                for segment in possible_segments(flow, first, from_dram)
                if (estimate := self.of(segment))
            ]
        return self._fitting[key]

    def least_words(self, flow: Flow, n: int) -> float:
        """Return the GLB words that group n needs at least."""
        key = self._scene(flow, n, n + 1, True)
        if key not in self._least_words:
            self._least_words[key] = min(map(self.needed_words, possible_segments(flow, n, True, 1)))
        return self._least_words[key]

    def fits(self, flow: Flow, n: int) -> bool:
        """Return whether group n needs at most the words of the GLB."""
        key, words = self._scene(flow, n, n + 1, True), self.config.glb_words
        if key not in self._fits:
            self._fits[key] = any(self.needed_words(each) <= words for each in possible_segments(flow, n, True, 1))
        return self._fits[key]

    def _scene(self, flow: Flow, first: int, last: int, from_dram: bool) -> tuple:
        """Return a key that is equal where the same segments can begin with a group."""
        return tuple(map(self._kind, flow.groups[first:last])), from_dram, flow.around(first, last, from_dram)

    def _own_peaks(self, segment: Segment, key: tuple) -> Peaks:
        """Return `Bounds.own_peaks`; key: `_key` of the segment."""
        if key not in self._peaks:
            try:
                self._peaks[key] = Bounds(segment, self.config).own_peaks
            except DoesNotFit:
                self._peaks[key] = inf, inf
        return self._peaks[key]

    def _refetches_few(self, segment: Segment) -> bool:
        """Return whether a loop of several passes refetches filters that take a small share of the GLB."""
        group, nest = segment.groups[-1], segment.nest
        if not (nest.refetch and nest.lead and len(segment.groups) > 1 and isinstance(group, Filtered)):
            return False
        return group.filters.size <= KEPT_SHARE * self.config.glb_bytes

    def _needed(self, segment: Segment, own_peaks: Peaks) -> float:
        whole, least = segment.beside + own_peaks[0], segment.beside + own_peaks[1]
        return least if in_turn_of((whole, least), self.config) else whole

    def _estimate(self, segment: Segment, own_peaks: Peaks) -> Estimate | None:
        needed = self._needed(segment, own_peaks)
        if needed > self.config.glb_words:
            return None
        bounds = Bounds(segment, self.config, own_peaks)
        try:
            cost = bounds.cost(self.objective, self._port_busy)
        except DoesNotFit:
            return None
        return Estimate(
            needed=int(needed),
            cost=cost,
            head=bounds.head_words,
            input=bounds.input_words,
            stored=bounds.stored_words,
            last=bounds.last_cycles,
            excess=bounds.port_excess,
            tail=bounds.tail_cycles,
            reads=segment.jobs[0].reads[1],
            makes=segment.jobs[-1].first,
        )

    def _key(self, segment: Segment) -> tuple:
        """Without what is there beside it."""
        return tuple(map(self._kind, segment.groups)), segment.nest, segment.freed, tuple(segment.inner.items())

    def _kind(self, group: Group) -> int:
        """Return a number that is equal for groups with the same segments."""
        if id(group) not in self._kind_of:
            operations = tuple((each.kind, each.constants is None, each.constant_words) for each in group.operations)
            maps = tuple((map_.shape, map_.planar) for map_ in (group.source, group.output, *group.others))
            kind = group.geometry, maps, operations
            self._kind_of[id(group)] = group, self._kinds.setdefault(kind, len(self._kinds))
        return self._kind_of[id(group)][1]
