# SPDX-License-Identifier: Apache-2.0
"""The choice of segments: which groups run together stripe by stripe, and which maps stay in the GLB."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import inf

from eyrie.compiler.ir.elementwise import Elementwise
from eyrie.compiler.ir.failure import DoesNotFit
from eyrie.compiler.ir.feature_map import NARROW_GROUPS, word_groups
from eyrie.compiler.ir.layer import Depthwise, Filtered, Group, Grouped, Pointwise
from eyrie.compiler.ir.plan import Segment, Way
from eyrie.compiler.plan.bounds import LEAKAGE_PJ
from eyrie.compiler.plan.estimates import Cost, Estimate, Estimates
from eyrie.compiler.plan.flow import Flow
from eyrie.compiler.plan.mappings import mappings_of
from eyrie.model.config import GLB_WORD_BYTES, AcceleratorConfig
from eyrie.model.encoding import Operation

STRIPE_ROWS = (1, 2, 3, 4, 6, 8, 12, 16)
SLICES = (2, 4, 8, 16, 32)
SLICE_BLOCKS = 8  # of channels, of a group in front of one whose filters come again
MOST_GROUPS = 4  # of a segment
MOST_BEFORE = 32  # segments that one is tried behind
WAITED = {"cycles": (1, 0), "bytes": (0, 1), "energy": (LEAKAGE_PJ, 1)}  # by which a cycle's wait adds to a cost


class SegmentPlanner:
    """Cuts groups, which each image goes through by itself, into the segments that cost least.

    objective: "cycles" counts the array's or the port's, whichever are more, and a share of the port's time for maps
    and for filters that come again once more, since meanwhile it does not bring the weights of later layers (the more,
    the busier these keep it); "bytes" counts DRAM bytes, then cycles; "energy" counts DRAM accesses and cycles of
    leakage. Held maps (flow.py) stay in the
    GLB, but for those that cost less in DRAM; the largest that is there while a group runs that does not fit goes
    there, one after another, until there is a plan. It may be asked again and again, each time with more segments
    rejected: what is known of segments stays, and so do the maps in DRAM, since what has no plan has none with fewer
    segments.
    """

    def __init__(self, flow: Flow, estimates: Estimates) -> None:
        self.flow = flow
        self._estimates, self._config, self._objective = estimates, estimates.config, estimates.objective
        self._settled = False  # whether all held maps have been tried in DRAM
        self._least: dict[int, float] = {}  # words that a group needs at least, with the maps that are there meanwhile
        self._fitting: dict[tuple[int, bool], list[_Fitting]] = {}

    def cheapest(self, rejected: frozenset = frozenset(), in_glb: bool = False) -> tuple[Cost, list[Segment]]:
        """The segments and their cost. rejected: keys of segments that could not be placed; in_glb: held maps are not
        tried in DRAM where they fit the GLB. Raises DoesNotFit."""
        while True:
            words, name = max((self._least_words(n), group.name) for n, group in enumerate(self.flow.groups))
            fits = words <= self._config.glb_words
            if fits and (found := self._cut(rejected)):
                return found if self._settled or in_glb else self._with_maps_in_dram(found, rejected)
            for group in self.flow.groups:  # one without a mapping does not fit whatever the GLB holds
                mappings_of(self._config, group, group.map_shape[0] if group.averaged else 1)
            if fits:
                failure = _no_places(self.flow.groups, name, rejected, self._config)
            else:
                failure = _too_large(name, words, self._config)
            moved = self.flow.largest_held(failure.layer or "")
            if not moved:
                raise failure
            self._to_dram(moved)

    def _with_maps_in_dram(self, found: tuple[Cost, list[Segment]], rejected: frozenset) -> tuple[Cost, list[Segment]]:
        """The plan with each held map in DRAM that costs less there, the largest tried first."""
        self._settled = True
        for name in self.flow.held_names():
            flow, least, fitting = self.flow, dict(self._least), dict(self._fitting)
            self._to_dram(name)
            other = self._cut(rejected)
            if other and other[0] < found[0]:
                found = other
            else:
                self.flow, self._least, self._fitting = flow, least, fitting
        return found

    def _to_dram(self, name: str) -> None:
        """A held map goes through DRAM: what is known of the segments that meet it is so no more."""
        maker = next(n for n, group in enumerate(self.flow.groups) if self.flow.held(n) and group.output.name == name)
        self.flow = replace(self.flow, in_dram=self.flow.in_dram | {name})
        for first in range(maker - MOST_GROUPS + 1, self.flow.readers[maker][-1] + 1):
            self._least.pop(first, None)
            for from_dram in (False, True):
                self._fitting.pop((first, from_dram), None)

    def _least_words(self, n: int) -> float:
        """Of group n by itself."""
        if n not in self._least:
            alone = possible_segments(self.flow, n, True, 1)
            self._least[n] = min(map(self._estimates.needed_words, alone))
        return self._least[n]

    def _cut(self, rejected: frozenset) -> tuple[Cost, list[Segment]] | None:
        """A dynamic programme over the last segment: exact, but for the MOST_BEFORE cheapest of those before that are
        looked at where a segment begins."""
        count = len(self.flow.groups)
        ends: dict[tuple[int, bool], list[_Path]] = {(0, True): [_Path((0, 0))]}
        for here in ((first, from_dram) for first in range(count) for from_dram in (False, True)):
            befores = sorted(ends.pop(here, []), key=lambda path: path.cost)[:MOST_BEFORE]
            for fitting in self._fitting_from(*here) if befores else ():
                if fitting.segment.key not in rejected and (path := self._longer(befores, fitting)):
                    ends.setdefault(fitting.behind, []).append(path)
        if not ends.get((count, True)):
            return None
        best = path = min(ends[count, True], key=lambda path: path.cost)
        segments = []
        while path.segment:
            segments.append(path.segment)
            path = path.before
        return best.cost, segments[::-1]

    def _longer(self, befores: "list[_Path]", fitting: "_Fitting") -> "_Path | None":
        """The cheapest way to a segment and through it. Between two segments the port is waited for, as far as there
        was no room to load before, and rows that the first one makes last."""
        segment, estimate, config = fitting.segment, fitting.estimate, self._config
        if segment.way is Way.IN_PLACE:
            befores = [path for path in befores if not _needs_slack_too_late(path.segment, segment)]
        (first, second), head, reads = WAITED[self._objective], estimate.head, estimate.reads
        best, before = (inf, inf), None
        for path in befores:
            wait = path.tail if path.makes < reads else 0
            if path.free < head:
                wait += (head - path.free) // config.bus_words
            cost = path.cost[0] + first * wait, path.cost[1] + second * wait
            if cost < best:
                best, before = cost, path
        if before is None:
            return None
        cost = best[0] + estimate.cost[0], best[1] + estimate.cost[1]
        return _Path(cost, segment, before, config.glb_words - estimate.needed, estimate.tail, estimate.makes)

    def _fitting_from(self, first: int, from_dram: bool) -> "list[_Fitting]":
        """All segments that begin with a group, as far as they fit the GLB."""
        if (first, from_dram) not in self._fitting:
            found = self._fitting[first, from_dram] = []
            for segment in possible_segments(self.flow, first, from_dram):
                if estimate := self._estimates.of(segment):
                    behind = segment.last, next_from_dram(self.flow, segment)
                    found.append(_Fitting(replace(segment), estimate, behind))  # a copy: without jobs
        return self._fitting[first, from_dram]


@dataclass(frozen=True)
class _Fitting:
    """A segment that fits the GLB, and where the next one begins: group, and whether its source comes from DRAM."""

    segment: Segment
    estimate: Estimate
    behind: tuple[int, bool]


@dataclass
class _Path:
    """Segments from the first group on: the last of them and those before; what they cost. free: GLB words beside the
    last one; tail, makes: of its estimate."""

    cost: Cost
    segment: Segment | None = None
    before: "_Path | None" = None
    free: float = inf
    tail: int = 0
    makes: float = inf


def next_from_dram(flow: Flow, segment: Segment) -> bool:
    """Whether the source of the group behind a segment comes from DRAM; behind the last, True."""
    if segment.last == len(flow.groups) or flow.passed_on(segment.last - 1):
        return segment.to_dram
    return flow.from_dram(flow.makers[segment.last][0])


def possible_segments(flow: Flow, first: int, from_dram: bool, most: int = MOST_GROUPS) -> Iterator[Segment]:
    """All segments that begin with group `first` and have no more than `most` groups."""
    return (segment for segment in _segments(flow, first, from_dram, most) if _keeps_planes(flow, segment))


def _keeps_planes(flow: Flow, segment: Segment) -> bool:
    """Whether maps that lie in planes go through DRAM as a whole, or in whole planes, and whether the output of work in
    place lies as its input."""
    one_stripe = len(segment.groups) == 1 and (not segment.rows or segment.rows >= segment.groups[0].map_shape[0])
    source, made = segment.groups[0].source, segment.groups[-1].output
    if segment.way is Way.IN_PLACE and (source.planar or made.planar):
        return one_stripe and source.planar == made.planar
    fetched = [map_ for _, map_ in flow.fetched(segment.first, segment.last)]
    through_dram = [*fetched, *[source] * segment.from_dram, *[made] * segment.to_dram]
    return one_stripe or not any(map_.planar for map_ in through_dram)


def _segments(flow: Flow, first: int, from_dram: bool, most: int) -> Iterator[Segment]:
    network = flow.groups

    def segment(
        last: int, way: Way, rows: int, from_dram: bool, to_dram: bool, slices: int = 1, ahead: bool = True
    ) -> Segment:
        fetched, held = flow.fetched(first, last), flow.held_words(first, last)
        planned = Segment(
            network,
            first,
            last,
            way,
            rows,
            from_dram,
            to_dram,
            slices,
            ahead,
            beside=held,
            fetched=sum(map_.layout.words for _, map_ in fetched),
        )
        places = 2 if slices > 1 else 1  # of operands that come in slices
        there = sum(
            places * planned.operand_rows(n, map_.shape[0]) * map_.layout.row_words // slices for n, map_ in fetched
        )
        return replace(planned, beside=held + there) if fetched else planned

    group = network[first]
    for to_dram in flow.exits(first):
        yield segment(first + 1, Way.WHOLE, 0, from_dram, to_dram)
        for rows, slices in _refetched(group):
            if slices == 1 or (to_dram and len(flow.fetched(first, first + 1)) == len(group.others)):
                yield segment(first + 1, Way.REFETCH, rows, from_dram, to_dram, slices)
                if from_dram and rows < group.map_shape[0]:
                    yield segment(first + 1, Way.REFETCH, rows, True, to_dram, slices, ahead=False)
        if from_dram and to_dram:
            for rows, slices in _channel_slices(group):
                yield segment(first + 1, Way.CHANNELS, rows, True, True, slices)
    for rows, slices, channels in _sliced(flow, first) if from_dram and most > 1 else ():
        for to_dram in flow.exits(first + 1):
            if slices == 1 or to_dram:
                yield replace(segment(first + 2, Way.SLICED, rows, True, to_dram, slices), channels=channels)
    if group.at_once:
        return
    in_place = (
        not from_dram
        and flow.passed_on(first - 1)
        and not flow.held(first)
        and group.source.shape == group.output.shape
        and group.window.stride == (1, 1)
    )
    if in_place:
        for rows in _heights(group):
            yield segment(first + 1, Way.IN_PLACE, rows, False, not flow.passed_on(first))
    for last in range(first + 1, min(len(network), first + most) + 1):
        if (
            network[last - 1].averaged
            or network[last - 1].at_once
            or (
                last > first + 1
                and (not flow.passed_on(last - 2) or max(group.together, network[last - 1].together) > 1)
            )
        ):
            break
        for rows in _heights(network[last - 1]):
            for to_dram in flow.exits(last - 1):
                if in_place and last == first + 1 and not to_dram:
                    continue  # the same with more words
                stripes = segment(last, Way.STRIPES, rows, from_dram, to_dram)
                yield stripes
                if last == first + 2:  # with one stripe, a job reads what the one just before it wrote
                    yield replace(stripes, lead=2)


def _heights(group: Group) -> list[int]:
    """Rows that a stripe of a group's output may have."""
    return sorted({min(each * group.together, group.map_shape[0]) for each in STRIPE_ROWS})


def _refetched(group: Group) -> Iterator[tuple[int, int]]:
    """(rows of a stripe, slices) of a group whose filters come again for each stripe."""
    if not isinstance(group, Filtered) or group.averaged:
        return
    height, most = group.map_shape[0], SLICES[-1] if can_be_sliced(group) else 1
    for rows in _heights(group):
        for slices in (1, *SLICES):
            if slices <= most and len(group.filters) % (8 * slices) == 0 and (rows < height or slices > 1):
                yield rows, slices


def _sliced(flow: Flow, first: int) -> Iterator[tuple[int, int, int]]:
    """(rows of a stripe, slices of filters, slices of channels) of a group that does not mix channels and the one
    behind it, whose filters come again for each stripe."""
    if first + 1 == len(flow.groups) or not flow.passed_on(first):
        return
    group, behind = flow.groups[first : first + 2]
    blocks, rest = divmod(group.source.shape[2], 8)
    alone = not isinstance(group, Depthwise) or group.source.shape[2] != group.output.shape[2] or group.operations
    if alone or rest or blocks < 2 or type(behind) is not Pointwise or behind.averaged or behind.others:
        return
    channels = next(n for n in range(2, blocks + 1) if blocks % n == 0 and blocks <= n * SLICE_BLOCKS)
    most = SLICES[-1] if can_be_sliced(behind) else 1
    for rows in _heights(behind):
        for slices in (1, *SLICES):
            if slices <= most and len(behind.filters) % (8 * slices) == 0:
                yield rows, slices, channels


def _channel_slices(group: Group) -> Iterator[tuple[int, int]]:
    """(rows of a stripe, slices) of a group that does not mix channels."""
    beside = isinstance(group, Elementwise) and (
        group.operation.constants is not None and group.operation.kind not in (Operation.TABLE, Operation.SUM)
    )
    if not isinstance(group, (Depthwise, Elementwise)) or group.others or beside or len(group.operations) > 1:
        return
    height, groups = group.map_shape[0], word_groups(group.source.shape[2])
    for rows in [height] if group.at_once else _heights(group):
        for slices in (n for n in range(2, groups + 1) if groups % n == 0):
            if group.source.shape[2] == group.output.shape[2] and group.source.shape[2] % (8 * slices) == 0:
                yield rows, slices


def can_be_sliced(group: Filtered) -> bool:
    """Whether slices of a group's filters may have passes of their own, and of its output lie in DRAM as it does."""
    alike = group.map_shape[1] > 1 or word_groups(len(group.filters)) < NARROW_GROUPS
    of_one_shape = all(other.shape == group.output.shape for other in group.others)
    return alike and of_one_shape and not isinstance(group, Grouped)


def segments_of_images(group: Group, from_dram: bool, last: bool):
    """All segments of a group that several images go through at once; last: of the network."""
    network = (group,)
    for to_dram in (True,) if last else (False, True):
        yield Segment(network, 0, 1, Way.WHOLE, 0, from_dram, to_dram)
    if (
        not from_dram
        and isinstance(group, Depthwise)
        and (group.source.shape == group.output.shape and group.window.stride == (1, 1))
    ):
        yield Segment(network, 0, 1, Way.IN_PLACE, group.map_shape[0], False, last)
    if isinstance(group, Pointwise) and not group.averaged and not last:
        for slices in SLICES:
            blocks = len(group.filters) // 8
            alike = group.map_shape[1] > 1 or blocks < NARROW_GROUPS  # the whole map lies like its slices
            if len(group.filters) % (8 * slices) == 0 and alike:
                yield Segment(network, 0, 1, Way.SLICES, 0, from_dram, True, slices)


def _needs_slack_too_late(before: Segment | None, segment: Segment) -> bool:
    """In place work needs its map to have been made with room for it."""
    if segment.way is not Way.IN_PLACE:
        return False
    return before is None or (before.way is Way.IN_PLACE and before.slack < segment.slack)


def _too_large(name: str, words: float, config: AcceleratorConfig) -> DoesNotFit:
    """The GLB is too small for a group that needs so many words."""
    demand = words * GLB_WORD_BYTES
    return DoesNotFit(
        f"group {name} needs at least {demand} bytes of GLB, there are {config.glb_bytes}",
        layer=name,
        demand=demand,
        bound=config.glb_bytes,
        remedy="use a larger GLB or a smaller layer",
    )


def _no_places(groups: tuple[Group, ...], neediest: str, rejected: frozenset, config: AcceleratorConfig) -> DoesNotFit:
    """The GLB had no places for groups that it is not too small for."""
    stuck = [group.name for group in groups if any((group.layer, group.images) in key[0] for key in rejected)]
    names = stuck or [neediest]
    return DoesNotFit(
        f"group {' or '.join(names)}: no places found in the GLB of {config.glb_bytes} bytes for all "
        "that has to be there at once",
        layer=names[0] if len(names) == 1 else None,
        bound=config.glb_bytes,
        remedy="use a larger GLB or more effort",
    )
