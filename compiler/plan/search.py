# SPDX-License-Identifier: Apache-2.0
"""The search for GLB addresses of feature maps, weights, parameters and circular buffers."""

import itertools
import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from eyrie.compiler.ir.buffer import Buffer
from eyrie.compiler.ir.divisions import sliced
from eyrie.compiler.ir.failure import DoesNotFit
from eyrie.compiler.ir.plan import Plan, Segment
from eyrie.compiler.plan.arrangement import Arrangement
from eyrie.compiler.plan.arrival import Piece, finished, soonest
from eyrie.compiler.plan.bounds import Bounds
from eyrie.compiler.plan.constants import WorkConstants, place_constants
from eyrie.compiler.plan.eviction import EvictingSpace
from eyrie.compiler.plan.filters import Packed
from eyrie.compiler.plan.mappings import access_of
from eyrie.compiler.plan.placement import NoRoom
from eyrie.model.config import AcceleratorConfig

HOTTEST = 25.0  # cycles by which a worse arrangement may be taken, at the beginning
STARTS = 6
IDLE_STARTS = 2  # in which the best cost hardly falls, after which a search ends
WORTH = 0.9995  # times the best cost before a start: what the start has to reach
FEW = 40  # jobs, or 60 buffers: an arrangement of more takes longer
HOPELESS = 8  # arrangements without success after which a segment is rejected
ENOUGH = 1.0025  # times the least cost: a better solution is not worth the time
CLOSE = 1.004  # times the least cost: the estimate does not tell such solutions apart
SPREAD = 8  # arrangements for each candidate, so that candidates differ
ITERATIONS = 100  # of the search for each candidate, at least
MOST_CANDIDATES = 8
PREDICTED = 120_000  # cycles of candidates that may be predicted to choose one


class Rejected(Exception):
    """A segment cannot be placed."""

    def __init__(self, segment: Segment) -> None:
        super().__init__(segment)
        self.segment = segment


@dataclass(frozen=True)
class Placed:
    """A solution.

    cost       estimated cycles
    cycles     of each job, if all data is there
    pieces     transfers of the estimate
    constants  of each fused operator
    buffers    all buffers with their addresses
    """

    cost: float
    cycles: list[int]
    pieces: list[Piece]
    constants: list[WorkConstants]
    buffers: list[Buffer]


def candidates(plan: Plan, config: AcceleratorConfig, search_iterations: int) -> list[Placed]:
    """Return the cheapest solution and others that cost about as much: more for a short network, which takes less time
    to predict, and for more iterations. Raise Rejected.

    A random search (simulated annealing), the same in every run, with several starts. It tries fewer arrangements for a
    plan of many jobs or buffers. It ends early near to the lower bound, or if it hardly finds better solutions.
    """
    search = _Search(plan, config, min(MOST_CANDIDATES, max(search_iterations // ITERATIONS, 1)))
    since = 0  # starts since one that was worth its time
    for start in range(STARTS):
        before = search.best.cost if search.best else math.inf
        search.anneal(np.random.default_rng(start), lambda: search.attempts(search_iterations))
        since = 0 if search.best and search.best.cost < WORTH * before else since + 1
        if search.done or search.is_hopeless or (search.best and since >= IDLE_STARTS):
            break
    if not search.best and not search.is_hopeless:
        search.anneal(np.random.default_rng(STARTS), lambda: min(search_iterations, HOPELESS))
    if not search.best:
        raise Rejected(plan.segment_of[search.failed.most_common(1)[0][0]])
    best = search.best
    close = [placed for placed in search.found if placed is not best and placed.cost <= CLOSE * best.cost]
    others = search.count(best) - 1
    return [best, *(close[n * len(close) // others] for n in range(min(others, len(close))))]


def take(plan: Plan, placed: Placed) -> None:
    """Give the feature maps of a plan their addresses in a solution."""
    addresses = {buffer.name: buffer.address for buffer in placed.buffers}
    for buffer in (buffer for buffers in plan.buffers() for buffer in buffers):
        buffer.address = addresses[buffer.name]


@dataclass
class _Search:
    """The state of a search.

    most    candidates at most
    first   the arrangement that each start begins with
    found   all solutions so far
    best    the cheapest one
    least   its `soonest`, a lower bound for the same mappings
    failed  the number of arrangements in which a fused operator found no room
    buffers  the most buffers of an arrangement
    """

    plan: Plan
    config: AcceleratorConfig
    most: int
    maps: list[list[Buffer]] = field(init=False)
    first: Arrangement = field(init=False)
    found: list[Placed] = field(default_factory=list)
    best: Placed | None = None
    least: float = 0.0
    failed: Counter[int] = field(default_factory=Counter)
    buffers: int = 0

    def __post_init__(self) -> None:
        plan, groups = self.plan, self.plan.groups
        self.maps = sorted(plan.buffers(), key=lambda copies: (copies[0].loaded, -copies[0].words))
        self.first = Arrangement.first(len(self.maps), len(groups))
        self._jobs_of = [[place for place, job in enumerate(plan.jobs) if job.group == n] for n in range(len(groups))]
        self._number = {group.name: n for n, group in enumerate(groups)}
        self._rows = [(job.group, job.last - job.first) for job in plan.jobs]
        packed = {(group.layer, group.images): self._constants_of(n) for n, group in enumerate(groups)}
        bounds = {segment: Bounds(segment, self.config) for segment in plan.segments}
        self._turns = {segment for segment, bound in bounds.items() if bound.in_turn}
        self._streamed = {segment.last - 1: bound.streamed_words for segment, bound in bounds.items()}
        self._packed = [packed[group.layer, group.images] for group in groups]

    def _constants_of(self, n: int) -> Packed:
        group, segment = self.plan.groups[n], self.plan.segment_of[n]
        rows = [job.last - job.first for job in self.plan.jobs_of[n]]
        return Packed(group, sliced(group, segment.parts_of(n)), rows, access_of(segment, n), self.config)

    @property
    def done(self) -> bool:
        """Return whether no better solution is worth the time."""
        if self.best is None:
            return False
        others = self.count(self.best) - 1
        return self.best.cost <= ENOUGH * self.least and len(self.found) > SPREAD * others

    @property
    def is_hopeless(self) -> bool:
        """Return whether so many arrangements have failed that the search gives up."""
        return self.best is None and self.failed.total() > HOPELESS

    def count(self, best: Placed) -> int:
        """Return the number of candidates if this is the cheapest."""
        return min(self.most, 1 + int(PREDICTED // max(best.cost, 1)))

    def attempts(self, iterations: int) -> int:
        """Return the number of arrangements that a start may try. iterations: of all starts, of short arrangements"""
        length = max(FEW, len(self.plan.jobs), self.buffers * 2 // 3)
        return math.ceil(iterations * FEW / length / STARTS)

    def anneal(self, random: np.random.Generator, most_attempts: Callable[[], int]) -> None:
        here, spent, most = self.first, None, 0
        for attempt in itertools.count():
            if attempt >= (attempts := most_attempts()):
                return
            tried = here.changed(random, spent is not None) if attempt else here
            space = EvictingSpace(self.config.glb_words)
            try:
                placed = self._try(tried, space)
            except DoesNotFit as error:
                group, map_ = self._number[error.layer or ""], self._map_of(error)
                self.failed[group] += 1
                if self.is_hopeless:
                    return
                if spent is None and len(space.placed) >= most:  # nearer to a first success
                    here = tried.turned(group) if map_ is None else tried.earlier(map_)
                    most = len(space.placed)
                continue
            if space.evictions:
                tried = tried.as_placed(self.maps, self.config.glb_words)
                if not self.best:
                    self.first = tried
            heat = HOTTEST * (1 - attempt / attempts)
            if spent is None or placed.cost <= spent or random.random() < np.exp((spent - placed.cost) / heat):
                here, spent = tried, placed.cost
            if self.best and placed.cost > CLOSE * self.best.cost:
                continue
            for constants in placed.constants:
                constants.complete()
            placed = replace(placed, buffers=[replace(buffer) for buffer in placed.buffers])
            if self.best is None or placed.cost < self.best.cost:
                self.best = placed
                self.least = soonest(placed.cycles, placed.pieces, self.config)
            self.found.append(placed)
            if self.done:
                return

    def _try(self, tried: Arrangement, space: EvictingSpace) -> Placed:
        """Raise DoesNotFit."""
        for n in tried.order:
            first, *copies = self.maps[n]
            where = float(tried.where[n])
            space.place(first, None if math.isnan(where) else where, copies)
        constants = place_constants(
            self.plan, self._packed, self.config, space, tried.apart, self._turns, self._streamed
        )
        self.buffers = max(self.buffers, len(space.placed))
        pieces = space.pieces()
        for n, of_group in enumerate(constants):
            if of_group.chunks:
                pieces += of_group.chunks.pieces(space, self._jobs_of[n], self.config)
        cycles_of = {(n, rows): constants[n].mappings[rows].cycles for n, rows in set(self._rows)}
        cycles = [cycles_of[job] for job in self._rows]
        return Placed(finished(cycles, pieces, self.config), cycles, pieces, constants, space.placed)

    def _map_of(self, failure: DoesNotFit) -> int | None:
        """Return the number of the feature map that found no room, if it was one."""
        if not isinstance(failure, NoRoom):
            return None
        return next((n for n, copies in enumerate(self.maps) if any(copy is failure.buffer for copy in copies)), None)
