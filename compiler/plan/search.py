# SPDX-License-Identifier: Apache-2.0
"""Where everything lies in the GLB: a search for places of maps, constants and filter rings."""

import math
from collections import Counter
from dataclasses import dataclass, field, replace

import numpy as np

from eyrie.compiler.ir.buffer import Buffer
from eyrie.compiler.ir.failure import DoesNotFit
from eyrie.compiler.ir.plan import Plan, Segment
from eyrie.compiler.plan.arrival import finished
from eyrie.compiler.plan.bounds import Bounds
from eyrie.compiler.plan.constants import WorkConstants, place_constants
from eyrie.compiler.plan.filters import Packed
from eyrie.compiler.plan.placement import NoRoom, Space
from eyrie.model.config import AcceleratorConfig

HOTTEST = 50.0  # cycles: by so much a worse arrangement is taken now and then, at the beginning
STARTS = 6
CONSTANTS = 0.3  # of the changes to an arrangement
FEW_JOBS = 40
HOPELESS = 200  # tries without success after which a segment is rejected


class Rejected(Exception):
    """A segment cannot be placed."""

    def __init__(self, segment: Segment) -> None:
        super().__init__(segment)
        self.segment = segment


@dataclass(frozen=True)
class Placed:
    """Constants of each group, and all buffers with their addresses; cost: estimated cycles, `waiting` of them for what
    could not be loaded before."""

    cost: float
    waiting: float
    constants: list[WorkConstants]
    buffers: list[Buffer]


@dataclass(frozen=True)
class _Arrangement:
    """What the search for places varies: the order of the maps, and where each is wanted (0 lowest, 1 highest); the
    same for all images."""

    order: np.ndarray
    where: np.ndarray
    apart: np.ndarray

    @classmethod
    def first(cls, plan: Plan) -> "_Arrangement":
        maps = len(plan.buffers())
        return cls(np.arange(maps), np.zeros(maps), np.zeros(len(plan.groups), bool))

    def earlier(self, n: int | None) -> "_Arrangement":
        """With map n, for which there was no room, placed before all others."""
        if n is None:
            return self
        return replace(self, order=np.concatenate([[n], self.order[self.order != n]]))

    def changed(self, random: np.random.Generator, fits: bool) -> "_Arrangement":
        """One a little different: in the places of maps, or, where this one fits, of constants."""
        if fits and random.random() < CONSTANTS:
            apart = self.apart.copy()
            apart[random.integers(len(apart))] ^= True
            return replace(self, apart=apart)
        order, where = self.order.copy(), self.where.copy()
        places = random.integers(len(where), size=random.integers(1, 4))
        where[places] = random.random(len(places)) * (random.random(len(places)) < 0.7)
        if random.random() < 0.25:
            first, second = random.integers(len(order), size=2)
            order[[first, second]] = order[[second, first]]
        return replace(self, order=order, where=where)


def place(plan: Plan, config: AcceleratorConfig, search_iterations: int) -> Placed:
    """Gives every buffer its address. effort: arrangements that are tried. Raises Rejected.

    A random search (simulated annealing), the same at every run, begun anew a few times: the arrangement that
    lets most constants come early and has the best mappings. Of many jobs few are tried: where none of these finds
    places, as many more as of few jobs, up to HOPELESS.
    """
    search = _Search(plan, config)
    share = FEW_JOBS / max(FEW_JOBS, len(plan.jobs))  # a try takes longer the more jobs there are
    for start in range(STARTS):
        search.anneal(np.random.default_rng(start), math.ceil(search_iterations * share / STARTS))
    if search.best is None:
        search.anneal(np.random.default_rng(STARTS), min(search_iterations, HOPELESS))
    if search.best is None:
        raise Rejected(plan.segment_of[search.failed.most_common(1)[0][0]])
    addresses = {buffer.name: buffer.address for buffer in search.best.buffers}
    for buffer in (buffer for buffers in search.maps for buffer in buffers):
        buffer.address = addresses[buffer.name]
    return search.best


@dataclass
class _Search:
    """best: the cheapest arrangement so far; failed: tries that did, by the group that found no room."""

    plan: Plan
    config: AcceleratorConfig
    maps: list[list[Buffer]] = field(init=False)
    best: Placed | None = None
    failed: Counter = field(default_factory=Counter)

    def __post_init__(self) -> None:
        buffers = self.plan.buffers()
        self.maps = sorted(buffers, key=lambda copies: (copies[0].loaded, -copies[0].words))
        self._jobs_of = [
            [place for place, job in enumerate(self.plan.jobs) if job.group == n] for n in range(len(self.plan.groups))
        ]
        self._number = {group.name: n for n, group in enumerate(self.plan.groups)}
        packed = {group.layer: Packed(group, self.config) for group in self.plan.groups}
        self._turns = {segment for segment in self.plan.segments if Bounds(segment, self.config).in_turn}
        self._packed = [packed[group.layer] for group in self.plan.groups]

    def anneal(self, random: np.random.Generator, attempts: int) -> None:
        here, spent, most = _Arrangement.first(self.plan), None, 0
        for attempt in range(attempts):
            tried = here.changed(random, spent is not None) if attempt else here
            space = Space(self.config.glb_words)
            try:
                found = self._try(tried, space)
            except DoesNotFit as error:
                self.failed[self._number[error.layer]] += 1
                if self.best is None and self.failed.total() > HOPELESS:
                    return
                if spent is None and len(space.placed) >= most:  # nearer to a first success
                    here, most = tried.earlier(self._map_of(error)), len(space.placed)
                continue
            heat = HOTTEST * (1 - attempt / attempts)
            if spent is None or found.cost <= spent or random.random() < np.exp((spent - found.cost) / heat):
                here, spent = tried, found.cost
            if self.best is None or found.cost < self.best.cost:
                self.best = replace(found, buffers=[replace(buffer) for buffer in space.placed])
            if not found.waiting:
                return

    def _try(self, tried: _Arrangement, space: Space) -> Placed:
        """Raises DoesNotFit."""
        for n in tried.order:
            first, *copies = self.maps[n]
            space.place(first, tried.where[n], copies)
        constants = place_constants(self.plan, self._packed, self.config, space, tried.apart, self._turns)
        pieces = space.pieces()
        for n, of_group in enumerate(constants):
            if of_group.chunks:
                pieces += of_group.chunks.pieces(space, self._jobs_of[n])
        cycles = [constants[job.group].mapping_of(job.last - job.first).cycles for job in self.plan.jobs]
        cost = finished(cycles, pieces, self.config.bus_words)
        return Placed(cost, cost - sum(cycles), constants, space.placed)

    def _map_of(self, failure: DoesNotFit) -> int | None:
        """The map that found no room, if it was one."""
        if not isinstance(failure, NoRoom):
            return None
        return next((n for n, copies in enumerate(self.maps) if any(copy is failure.buffer for copy in copies)), None)
