# SPDX-License-Identifier: Apache-2.0
"""Batches: which groups each image goes through by itself, and which all go through together.

A group that all images go through together has its weights fetched once for all of them, but needs room in
the GLB for the maps of all. The first groups, whose maps are large, are gone through image by image; the
others, whose weights are many, together. Where a depthwise-separable block does not fit either way its two
halves may be groups of their own: the depthwise half leaves a smaller map (stride 2), or one in place of its
input (stride 1), and the pointwise half can be done in slices of filters. A batch of more images than go
together well is done in several turns.
"""

from collections.abc import Iterator
from dataclasses import replace
from math import inf

from eyrie.compiler.ir.divisions import halves
from eyrie.compiler.ir.failure import DoesNotFit
from eyrie.compiler.ir.layer import Group, Separable
from eyrie.compiler.ir.plan import Segment
from eyrie.compiler.plan.bounds import port_busy
from eyrie.compiler.plan.estimates import Cost, Estimates
from eyrie.compiler.plan.flow import Flow
from eyrie.compiler.plan.nests import segments_of_images
from eyrie.compiler.plan.pieces import in_pieces
from eyrie.compiler.plan.planar_maps import Sizes, gaining_sizes
from eyrie.compiler.plan.segments import SegmentPlanner
from eyrie.compiler.plan.strips import in_strips
from eyrie.model.config import AcceleratorConfig

Network = tuple[list[Group], list[Segment]]
Path = tuple[tuple[float, float], list[tuple[Group, Segment]]]  # with its cost


class BatchPlanner:
    """Plans a network for a batch of images: the groups and segments that cost least, in the order in which they run.

    Exact over how many images go together, where the chain is cut into image by image and together, and which blocks
    are done in halves; a network with branches is gone through image by image.
    """

    def __init__(self, groups: list[Group], config: AcceleratorConfig, objective: str, images: int) -> None:
        self._estimates = Estimates(config, objective, port_busy(groups, config))
        self._images = images
        cuts = _cuts(groups) if images > 1 and Flow(tuple(groups)).is_chain else [(groups, [])]
        self._cuts = [(planners(alone, self._estimates), together) for alone, together in cuts]

    def cheapest(self, rejected: frozenset) -> Network:
        """rejected: keys of segments that could not be placed. Raises DoesNotFit."""
        best, failures = None, list[DoesNotFit]()
        for ways, together in self._cuts:
            try:
                one, first = _alone(ways, rejected)
            except DoesNotFit as error:
                failures.append(error)
                continue
            if self._images == 1:
                return first
            for count in (n for n in range(1 if not together else 2, self._images + 1) if self._images % n == 0):
                found = _together(together, count, self._estimates, rejected)
                if found is None:
                    continue
                cost = tuple(self._images * each + self._images // count * all_ for each, all_ in zip(one, found[0]))
                if best is None or cost < best[0]:
                    best = cost, count, [first, found[1]]
        if best is None:
            raise failures[0]
        return _repeated(self._images, *best[1:])


def planners(groups: list[Group], estimates: Estimates) -> list[SegmentPlanner]:
    """Planners of the groups in strips and pieces, each with maps of one size more in planes, and cheaper for it, than
    the next; the last one with all maps row by row, which leaves most to choose from."""
    groups = list(in_strips(Flow(tuple(groups)), estimates))

    def plan(sizes: Sizes) -> SegmentPlanner:
        return SegmentPlanner(Flow(tuple(in_pieces(groups, estimates, sizes))), estimates)

    found, sizes = [plan(frozenset())], Sizes()
    for size in gaining_sizes(groups, estimates.config):
        tried = plan(sizes | {size})
        if any(group.flat for group in tried.flow.groups) and _spent(tried) < _spent(found[0]):
            found, sizes = [tried, *found], sizes | {size}
    return found


def _spent(planner: SegmentPlanner) -> Cost:
    """Infinite where nothing fits."""
    try:
        return planner.cheapest(in_glb=True)[0]
    except DoesNotFit:
        return inf, inf


def _alone(ways: list[SegmentPlanner], rejected: frozenset) -> tuple[Cost, Network]:
    """Groups that each image goes through by itself and their cost, by the first planner that finds a plan. Raises
    DoesNotFit."""
    failures = list[DoesNotFit]()
    for planner in ways:
        groups = list(planner.flow.groups)
        try:
            cost, segments = planner.cheapest(rejected) if groups else ((0, 0), [])
        except DoesNotFit as error:
            failures.append(error)
        else:
            return cost, (groups, segments)
    raise failures[-1]


def _cuts(groups: list[Group]) -> Iterator[tuple[list[Group], list[Group]]]:
    """Groups for each image alone, and for several together: the chain cut between groups, or within a block."""
    yield groups, []
    for cut in reversed(range(len(groups))):
        yield groups[:cut], groups[cut:]
        if isinstance(group := groups[cut], Separable):
            first, second = halves(group)
            yield [*groups[:cut], first], [second, *groups[cut + 1 :]]


def _together(
    groups: list[Group], images: int, estimates: Estimates, rejected: frozenset
) -> tuple[tuple[float, float], Network] | None:
    """The cheapest plan of groups that several images go through at once, blocks in one piece or in halves;
    None if there is none. A dynamic programme over the groups and whether the map behind each stays."""
    best: dict[bool, Path] = {True: ((0, 0), [])}  # by whether the map comes from DRAM
    for n, group in enumerate(groups):
        behind: dict[bool, Path] = {}
        for pieces in ([group], halves(group)) if isinstance(group, Separable) else ([group],):
            paths = best
            for k, piece in enumerate(pieces):
                last = n == len(groups) - 1 and k == len(pieces) - 1
                paths = _longer(paths, replace(piece, images=images), last, estimates, rejected)
            for to_dram, path in paths.items():
                if to_dram not in behind or path[0] < behind[to_dram][0]:
                    behind[to_dram] = path
        best = behind
    if True not in best:
        return None
    cost, steps = best[True]
    return cost, ([group for group, _ in steps], [replace(s, first=n, last=n + 1) for n, (_, s) in enumerate(steps)])


def _longer(
    paths: dict[bool, Path], group: Group, last: bool, estimates: Estimates, rejected: frozenset
) -> dict[bool, Path]:
    """The cheapest paths with one more group, by whether its map goes to DRAM."""
    found: dict[bool, Path] = {}
    for from_dram, (spent, steps) in paths.items():
        for segment in segments_of_images(group, from_dram, last):
            if segment.key in rejected or (estimate := estimates.of(segment)) is None:
                continue
            cost = spent[0] + estimate.cost[0], spent[1] + estimate.cost[1]
            if segment.nest.to_dram not in found or cost < found[segment.nest.to_dram][0]:
                found[segment.nest.to_dram] = cost, [*steps, (group, segment)]
    return found


def _repeated(images: int, count: int, parts: list[Network]) -> Network:
    """All groups and segments of a batch: for every `count` images the first part once for each, then the second
    for all of them."""
    groups: list[Group] = []
    plans: list[tuple[int, list[Segment]]] = []  # and the place of their first group
    for first in range(0, images, count):
        turns = [(parts[0], image) for image in range(first, first + count)] + [(parts[1], first)]
        for (part, segments), image in turns:
            plans.append((len(groups), segments))
            groups += [replace(group, name=f"{group.name}.{image}", image=image) for group in part]
    network = tuple(groups)
    return groups, [
        replace(s, network=network, first=s.first + start, last=s.last + start)
        for start, segments in plans
        for s in segments
    ]
