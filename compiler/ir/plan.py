# SPDX-License-Identifier: Apache-2.0
"""A network cut into segments and jobs: which groups run together, in which order, and what lies in the GLB.

A segment is a run of groups in one of seven ways:
  WHOLE     one group, input and output in the GLB, one job
  SLICES    one group, input in the GLB, a job per slice of the filters, whose output goes to DRAM
  IN_PLACE  one group whose output takes the rows of its input as they die, a job per stripe of rows
  STRIPES   groups in turn, stripe by stripe: of the maps between them only the rows still needed stay
  REFETCH   one group stripe by stripe, all of its filters coming anew for each stripe; a job for each slice of them, if
            there are several, whose output goes to DRAM
  CHANNELS  one group that does not mix channels, a job for each slice of them of a stripe; what a job reads comes from
            DRAM for it alone, and what it makes goes there
  SLICED    a group that does not mix channels, as in CHANNELS, and one of filters behind it, as in REFETCH: of the map
            between them one stripe stays, in planes
The input of a segment comes from the GLB or row by row from DRAM, its output stays or goes to DRAM.
Halo rows are kept, nothing is computed twice.
"""

from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property

from eyrie.compiler.ir.buffer import Buffer
from eyrie.compiler.ir.feature_map import FeatureMap
from eyrie.compiler.ir.layer import Group


class Way(Enum):
    WHOLE = "whole"
    SLICES = "slices"
    IN_PLACE = "in place"
    STRIPES = "stripes"
    REFETCH = "stripes, filters again"
    CHANNELS = "slices of channels"
    SLICED = "slices of channels, then of filters"


@dataclass(frozen=True)
class Job:
    """Output rows first to last - 1 (before pooling) of a group; reads: input rows, first and last + 1; slice:
    which one of its filters or channels."""

    group: int
    first: int
    last: int
    reads: tuple[int, int]
    slice: int = 0


@dataclass(frozen=True)
class Segment:
    """groups: first and last + 1; rows: output rows of the last group in a stripe (0: whole maps); slices: of the
    filters or channels; ahead: the input of a stripe comes from DRAM while the one before is worked on; lead: stripes
    that each group is ahead of the next one; channels: slices of those of the first group, where `slices` are of
    the filters of the second; beside: GLB words of maps that are there meanwhile, beside the segment's source and
    output; fetched: words of those that come from DRAM, for this segment."""

    network: tuple[Group, ...] = field(compare=False, repr=False)
    first: int
    last: int
    way: Way
    rows: int = 0
    from_dram: bool = False
    to_dram: bool = False
    slices: int = 1
    ahead: bool = True
    lead: int = 1
    channels: int = 1
    beside: int = 0
    fetched: int = 0

    @property
    def groups(self) -> tuple[Group, ...]:
        return self.network[self.first : self.last]

    @cached_property
    def key(self) -> tuple:
        """What it is, whichever network it stands in."""
        return tuple((group.layer, group.images) for group in self.groups), self.choices, self.beside

    @property
    def choices(self) -> tuple:
        """What was chosen for its groups."""
        return (self.way, self.rows, self.slices, self.channels, self.ahead, self.lead, self.from_dram, self.to_dram)

    def way_of(self, n: int) -> Way:
        """The way of group n of the network by itself."""
        if self.way is not Way.SLICED:
            return self.way
        return Way.CHANNELS if n == self.first else Way.REFETCH

    def slices_of(self, n: int) -> int:
        """Of the filters or channels of group n of the network."""
        return self.channels if self.way is Way.SLICED and n == self.first else self.slices

    @cached_property
    def jobs(self) -> list[Job]:
        """In an order in which no job reads what the one just before it wrote, where that can be: of several
        groups, a stripe of each in turn, the last group's first."""
        heights = [group.map_shape[0] for group in self.groups]
        if self.way in (Way.WHOLE, Way.SLICES):
            return self._jobs(0, 0, heights[0])
        if self.way is Way.SLICED:
            stripes = [(first, min(first + self.rows, heights[1])) for first in range(0, heights[1], self.rows)]
            return [job for stripe in stripes for n in (0, 1) for job in self._jobs(n, *stripe)]
        targets = self._targets(heights)
        count, depth = len(targets[-1]), len(targets)
        made, jobs = [0] * depth, list[Job]()
        for turn in range(count + (depth - 1) * self.lead):
            for n in reversed(range(depth)):
                stripe = turn - n * self.lead
                if 0 <= stripe < count and targets[n][stripe] > made[n]:
                    jobs += self._jobs(n, made[n], targets[n][stripe])
                    made[n] = targets[n][stripe]
        return jobs

    def _jobs(self, n: int, first: int, last: int) -> list[Job]:
        """Of group n of the segment, for the same rows: one for each slice."""
        group, reads = self.first + n, self.groups[n].input_rows(first, last)
        return [Job(group, first, last, reads, number) for number in range(self.slices_of(group))]

    def _targets(self, heights: list[int]) -> list[list[int]]:
        """Rows of each group's output that have to be there when each stripe is done."""
        stripes = -(-heights[-1] // self.rows)
        targets = [[min(heights[-1], (s + 1) * self.rows) for s in range(stripes)]]
        for n in reversed(range(len(self.groups) - 1)):
            needed = [self.groups[n + 1].input_rows(0, rows)[1] for rows in targets[0]]
            needed[-1] = max(needed[-1], 1)  # each group has a job, even if all that reads its map is padding
            together = self.groups[n].together
            targets.insert(0, [min(heights[n], -(-rows // together) * together) for rows in needed])
        return targets

    def ring_rows(self, n: int) -> int:
        """Rows of the ring that holds the map between groups n and n + 1 of the segment; one where none is read."""
        most, needed = 1, self.groups[n].map_shape[0]  # the first row that is read from a job on
        for job in reversed(self.jobs):
            if job.group == self.first + n + 1:
                needed = min(needed, job.reads[0])
            elif job.group == self.first + n:
                most = max(most, job.last - needed)
        return most

    def input_ring_rows(self) -> int:
        """Rows of the input, coming from DRAM, that two jobs behind each other need, one where all read padding; in
        planes it comes as a whole."""
        if self.groups[0].source.planar:
            return self.groups[0].source.shape[0]
        readers = [job for job in self.jobs if job.group == self.first]
        if self.way_of(self.first) is Way.CHANNELS or not self.ahead:
            return max(1, *(job.reads[1] - job.reads[0] for job in readers))
        ends = [*readers[1:], readers[-1]]
        return min(self.groups[0].source.shape[0], max(1, *(b.reads[1] - a.reads[0] for a, b in zip(readers, ends))))

    def operand_rows(self, n: int, height: int) -> int:
        """Rows of an operand of group n, beside its source and of `height` rows, that are in the GLB at once where it
        comes from DRAM: all, or those of two jobs behind each other; of one that comes in slices, those of a job."""
        if not self.rows:
            return height
        if self.slices_of(n) > 1:
            return min(self.rows, height)
        return min(height, 2 * max(job.last - job.first for job in self.jobs if job.group == n))

    @property
    def slack(self) -> int:
        """Rows that a map needs beside its own, if this segment works on it in place; in planes one job does it all."""
        group = self.groups[0]
        at_once = group.images or group.source.planar
        return group.window.pads[0] if self.way is Way.IN_PLACE and not at_once else 0


@dataclass
class MapPlan:
    """A map of a network, as a group reads or makes it.

    layout: in the GLB; its address counts once `buffer` is placed. Work in place shares a buffer.
    """

    layout: FeatureMap
    buffer: Buffer

    def placed(self) -> FeatureMap:
        return replace(self.layout, address=self.buffer.placed)


@dataclass(frozen=True)
class Plan:
    """A network cut into segments: all jobs in order, and of each group its segment.

    read, made: of each group, how its input and its output lie. They differ where a map goes through DRAM.
    others: of each group, how the maps lie that it reads beside its input.
    first_tile: of groups that read their input with the first tile of filters only, the most filters of
    it; the output of the others may take the input's words.
    stores_overlap: whether maps that are stored keep their words beside the job behind theirs.
    """

    groups: list[Group]
    segments: list[Segment]
    jobs: list[Job]
    segment_of: list[Segment]
    read: list[MapPlan]
    made: list[MapPlan]
    others: list[tuple[MapPlan, ...]]
    first_tile: dict[int, int]
    stores_overlap: bool

    @cached_property
    def jobs_of(self) -> list[list[Job]]:
        """Of each group, its jobs in order."""
        found: list[list[Job]] = [[] for _ in self.groups]
        for job in self.jobs:
            found[job.group].append(job)
        return found

    @cached_property
    def spans(self) -> list[tuple[int, int]]:
        """Of each group, the first and the last time of its jobs (ir/buffer.py)."""
        places: list[list[int]] = [[] for _ in self.groups]
        for place, job in enumerate(self.jobs):
            places[job.group].append(place)
        return [(2 * of[0], 2 * of[-1] + 1) for of in places]

    def buffers(self) -> list[list[Buffer]]:
        """Of all maps, each once; those of a layer that each image goes through alone stand together."""
        found: dict[tuple[str, str], dict[int, Buffer]] = {}
        for end, maps in (("made", self.made), ("read", self.read)):
            for group, plan in zip(self.groups, maps):
                found.setdefault((group.layer, end), {})[id(plan.buffer)] = plan.buffer
        for group, plans in zip(self.groups, self.others):
            for n, plan in enumerate(plans):
                found.setdefault((group.layer, f"other {n}"), {})[id(plan.buffer)] = plan.buffer
        once: dict[int, list[Buffer]] = {}
        for buffers in map(list, map(dict.values, found.values())):
            once.setdefault(id(buffers[0]), buffers)
        return list(once.values())
