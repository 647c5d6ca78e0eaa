# SPDX-License-Identifier: Apache-2.0
"""The greedy choice of segments: each group by itself, from DRAM to DRAM, in tiles as large as the GLB has room for.

What the planner's choice is compared with: no group is looked at beside another. The accelerator loads a tile while it
computes the one before, so that the input's rows of two are there.
"""

from eyrie.compiler.ir.failure import DoesNotFit
from eyrie.compiler.ir.layer import Group
from eyrie.compiler.ir.plan import Segment
from eyrie.compiler.plan.batch import Network
from eyrie.compiler.plan.bounds import port_busy
from eyrie.compiler.plan.estimates import Cost, Estimates
from eyrie.compiler.plan.flow import Flow
from eyrie.compiler.plan.nests import possible_segments
from eyrie.compiler.plan.pieces import Pieces
from eyrie.compiler.target.suit import divisions
from eyrie.model.config import GLB_WORD_BYTES, AcceleratorConfig
from eyrie.model.errors import InputError


class GreedyPlanner:
    """In the place of a BatchPlanner, for one image."""

    def __init__(self, groups: list[Group], config: AcceleratorConfig, objective: str, images: int) -> None:
        if images > 1:
            raise InputError("the greedy plan is for one image: leave out --batch")
        self._estimates, self._config = Estimates(config, objective, port_busy(groups, config)), config
        self._groups = [piece for group in groups for piece in self._pieces(group)]
        names = frozenset(group.output.storage.name for group in self._groups)
        self._flow = Flow(tuple(self._groups), in_dram=names)

    def cheapest(self, rejected: frozenset) -> Network:
        """rejected: keys of segments that could not be placed. Raises DoesNotFit."""
        return self._groups, [self._largest(n, rejected) for n in range(len(self._groups))]

    def _pieces(self, group: Group) -> Pieces:
        """The group in one piece, or in the first that fit."""
        for pieces in divisions(group):
            if all(any(map(self._estimates.of, possible_segments(Flow((piece,)), 0, True, 1))) for piece in pieces):
                return pieces
        return (group,)

    def _largest(self, n: int, rejected: frozenset) -> Segment:
        """The segment of group n in fewest jobs; of those the cheapest."""
        least, found = float("inf"), []
        for segment in possible_segments(self._flow, n, True, 1):
            least = min(least, self._estimates.needed_words(segment))
            if segment.nest.to_dram and segment.key not in rejected and (estimate := self._estimates.of(segment)):
                found.append((len(segment.jobs), estimate.cost, segment))
        if not found:
            raise self._failure(self._groups[n].name, least)
        return min(found, key=_jobs_and_cost)[2]

    def _failure(self, name: str, words: float) -> DoesNotFit:
        demand = words * GLB_WORD_BYTES
        fits = demand <= self._config.glb_bytes
        what = "no places found for it by itself in the GLB" if fits else f"needs at least {demand} bytes of GLB"
        return DoesNotFit(
            f"group {name}: {what}, there are {self._config.glb_bytes}",
            layer=name,
            bound=self._config.glb_bytes,
            remedy="use a larger GLB or a smaller layer",
        )


def _jobs_and_cost(found: tuple[int, Cost, Segment]) -> tuple[int, Cost]:
    return found[:2]
