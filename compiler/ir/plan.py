# SPDX-License-Identifier: Apache-2.0
"""The plan of a network: its fused operators in segments, the tiles (jobs) in order, and the contents of the GLB.

A segment is a run of fused operators that one loop nest (ir/nest.py) schedules.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

from eyrie.compiler.ir.buffer import Buffer
from eyrie.compiler.ir.feature_map import FeatureMap
from eyrie.compiler.ir.layer import Group
from eyrie.compiler.ir.nest import Nest, Tiling

SOURCE = -1  # in place of a pass that makes an operand: the input of the segment, from DRAM


class Job(NamedTuple):
    """One tile: output rows first to last - 1 (before pooling) of a fused operator.

    reads: input rows, first and last + 1; part: number of the filter tile or channel tile
    """

    group: int
    first: int
    last: int
    reads: tuple[int, int]
    part: int = 0


def is_source(first: Group, reader: Group, number: int) -> bool:
    """Return whether an operand is the source of the first pass of a loop, and is read row by row: it comes from DRAM
    once for both."""
    operand = reader.operands[number]
    by_row = not operand.planar and not reader.images and not reader.broadcasts(number)
    return operand.name == first.source.name and by_row


@dataclass(frozen=True)
class Segment:
    """A run of fused operators, first to last - 1 of the network, and its loop nest.

    beside   GLB words of other feature maps that live meanwhile
    fetched  words of the ones that this segment loads
    freed    operands whose rows fall free as they are read, instead: (pass, number of the operand); (0, 0) is the input
    """

    network: tuple[Group, ...] = field(compare=False, repr=False)
    first: int
    last: int
    nest: Nest
    beside: int = 0
    fetched: int = 0
    freed: tuple[tuple[int, int], ...] = ((0, 0),)

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        return self.network[self.first : self.last]

    @cached_property
    def key(self) -> tuple:
        """Return a key that is equal for the same segment in another network."""
        return tuple((group.layer, group.images) for group in self.groups), self.nest, self.beside, self.freed

    @cached_property
    def is_load(self) -> bool:
        """Return whether its jobs are transfers without passes: it copies a feature map from DRAM to its place in a
        larger one, which is in the GLB."""
        (group, *others), nest = self.groups, self.nest
        alone = not others and not nest.sliced and not nest.in_place
        by_row = not (group.images or group.whole or group.source.packed or group.source.planar or group.output.planar)
        to_part = group.output.part is not None and group.source.part is None
        return alone and nest.from_dram and not nest.to_dram and group.copies and by_row and to_part

    def tiling_of(self, n: int) -> Tiling:
        """Return the tiling of fused operator n of the network."""
        return self.nest.tilings[n - self.first]

    def parts_of(self, n: int) -> int:
        """Return the number of filter tiles or channel tiles of fused operator n of the network."""
        return self.tiling_of(n).parts

    @cached_property
    def inner(self) -> dict[tuple[int, int], int]:
        """Return the operands, (pass, number), that passes of this segment make, or that are its input from DRAM: the
        pass that makes each, or SOURCE."""
        found, makers = dict[tuple[int, int], int](), dict[str, int]()
        for n, group in enumerate(self.groups):
            for number, operand in enumerate(group.operands):
                if operand.name in makers:
                    found[n, number] = makers[operand.name]
                elif self.nest.from_dram and ((n, number) == (0, 0) or self._is_input(group, number)):
                    found[n, number] = SOURCE
            makers[group.output.name] = n
        return found

    def _is_input(self, group: Group, number: int) -> bool:
        """Return whether an operand is the input of the segment; slices of an operand come by themselves."""
        return not self.nest.sliced and is_source(self.groups[0], group, number)

    @cached_property
    def readers(self) -> dict[int, list[tuple[int, int]]]:
        """Return the operands of `inner` by the pass that makes them, or SOURCE."""
        found: dict[int, list[tuple[int, int]]] = {}
        for operand, maker in self.inner.items():
            found.setdefault(maker, []).append(operand)
        return found

    @property
    def shares_input(self) -> bool:
        """Return whether several passes read the input, which comes from DRAM once."""
        return len(self.readers.get(SOURCE, ())) > 1

    def rows_read(self, job: Job, maker: int) -> tuple[int, int] | None:
        """Return the rows, first and last + 1, that a job reads of the output of a pass, or of SOURCE."""
        own = job.group - self.first
        rows = [job.reads if number == 0 else (job.first, job.last) for n, number in self.readers[maker] if n == own]
        return (min(first for first, _ in rows), max(last for _, last in rows)) if rows else None

    def reading(self, maker: int) -> set[int]:
        """Return the fused operators of the network that read the output of a pass, or SOURCE, in this segment."""
        return {self.first + n for n, _ in self.readers[maker]}

    @cached_property
    def jobs(self) -> list[Job]:
        """Return the jobs in the order of the loop nest."""
        heights = [group.map_shape[0] for group in self.groups]
        targets = self._targets(heights)
        made, jobs = [0] * len(heights), list[Job]()
        for n, tile in self.nest.turns(len(targets[-1])):
            if targets[n][tile] > made[n]:
                jobs += self._jobs(n, made[n], targets[n][tile])
                made[n] = targets[n][tile]
        return jobs

    def _jobs(self, n: int, first: int, last: int) -> list[Job]:
        """Return the jobs of fused operator n of the segment for the same rows: one for each filter or channel tile."""
        group, reads = self.first + n, self.groups[n].input_rows(first, last)
        parts = self.nest.tilings[n].parts
        if parts == 1:
            return [Job(group, first, last, reads)]
        return [Job(group, first, last, reads, number) for number in range(parts)]

    def _targets(self, heights: list[int]) -> list[list[int]]:
        """Return the rows of each fused operator's output that must exist when each row tile is done."""
        rows = self.nest.rows or heights[-1]
        last = len(heights) - 1
        targets = {last: [min(heights[-1], (tile + 1) * rows) for tile in range(-(-heights[-1] // rows))]}
        for n in reversed(range(last)):
            needs = [
                targets[reader] if number else [self.groups[reader].input_rows(0, rows)[1] for rows in targets[reader]]
                for reader, number in self.readers[n]
            ]
            needed = [max(rows) for rows in zip(*needs)] if len(needs) > 1 else needs[0]
            needed[-1] = max(needed[-1], 1)  # each group has a job, even if all that reads its map is padding
            together = self.groups[n].together
            targets[n] = [min(heights[n], -(-rows // together) * together) for rows in needed]
        return [targets[n] for n in range(len(heights))]

    def ring_rows(self, n: int) -> int:
        """Return the rows of the circular buffer after fused operator n of the segment; 1 if no row is read."""
        most, needed = 1, self.groups[n].map_shape[0]  # the first row that is read from a job on
        for job in reversed(self.jobs):
            if rows := self.rows_read(job, n):
                needed = min(needed, rows[0])
            elif job.group == self.first + n:
                most = max(most, job.last - needed)
        return most

    def input_ring_rows(self) -> int:
        """Return the rows of an input from DRAM that two successive jobs need, or one without prefetch, and the jobs
        of other passes until then; 1 if all read padding. In NC/8HW8 layout, the input comes as a whole."""
        if self.groups[0].source.planar:
            return self.groups[0].source.shape[0]
        if self.shares_input:
            return self.shared_input_rows()
        return self._rows_of_jobs(1 if self.tiling_of(self.first).channels > 1 or not self.nest.ahead else 2)

    def early_input_rows(self) -> int:
        """Return the rows of an input from DRAM with which its loads are a job further ahead: of a shared input, of the
        network's input if one pass reads it, and of an input that is not prefetched. 0 for other segments, which gain
        little."""
        if self.shares_input:
            return self.shared_input_rows(early=True)
        if self.tiling_of(self.first).channels > 1 or self.groups[0].source.planar:
            return 0
        if not self.nest.ahead:
            return self._rows_of_jobs(2)
        return self._rows_of_jobs(3) if (self.first, self.last) == (0, 1) else 0  # the array is idle until it comes

    def _rows_of_jobs(self, count: int) -> int:
        """Return the rows that so many successive jobs of the first pass read."""
        readers = [job for job in self.jobs if job.group == self.first]
        ends = [*readers[count - 1 :], *[readers[-1]] * (count - 1)]
        return min(self.groups[0].source.shape[0], max(1, *(b.reads[1] - a.reads[0] for a, b in zip(readers, ends))))

    def shared_input_rows(self, early: bool = False) -> int:
        """Return the rows of an input that several passes read. The rows of the next job of the first pass come during
        its job; early: from its last job on."""
        height = self.groups[0].source.shape[0]
        most, needed = 1, height  # the first row that is read from a job on
        own = ahead = 0  # the ends of the rows of the next job of the first pass, and of the one after that
        for job in reversed(self.jobs):
            if job.group == self.first and early:
                own, ahead = job.reads[1], own
            if rows := self.rows_read(job, SOURCE):
                needed = min(needed, rows[0])
                most = max(most, max(ahead if self.nest.ahead else 0, rows[1]) - needed)
            if job.group == self.first and not early:
                ahead = job.reads[1]
        return min(height, most)

    def operand_rows(self, n: int, height: int) -> int:
        """Return the rows of a second operand from DRAM that are in the GLB at once, of `height` rows.

        These are all rows, or the rows of two successive jobs, or the rows of one job if it has filter or channel
        tiles.
        """
        if not self.nest.rows:
            return height
        if self.parts_of(n) > 1:
            return min(self.nest.rows, height)
        return min(height, 2 * max(job.last - job.first for job in self.jobs if job.group == n))

    @property
    def slack(self) -> int:
        """Return the extra rows that a feature map needs if this segment works on it in place.

        In NC/8HW8 layout, one job makes all rows, so that no extra rows are needed.
        """
        group = self.groups[0]
        at_once = group.images or group.source.planar
        return group.window.pads[0] if self.nest.in_place and not at_once else 0


@dataclass
class MapPlan:
    """A feature map, as a fused operator reads or makes it.

    layout: in the GLB; its address is valid once `buffer` is placed. Work in place shares a buffer, and so do a feature
    map and its parts. offset: its first word in the buffer
    """

    layout: FeatureMap
    buffer: Buffer
    offset: int = 0

    def placed(self) -> FeatureMap:
        return replace(self.layout, address=self.buffer.placed + self.offset)


@dataclass(frozen=True)
class Plan:
    """A network cut into segments: all jobs in order, and the segment of each fused operator.

    read, made: the layouts of input and output of each fused operator; they differ if a feature map goes through DRAM
    others: the layouts of the other feature maps that each fused operator reads
    first_tile: for fused operators that read their input only with the first tile of filters, the most filters of that
    tile; the output of the other tiles may overwrite the input
    stores_overlap: whether stored feature maps keep their words during the next job
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
        """Return the jobs of each fused operator, in order."""
        found: list[list[Job]] = [[] for _ in self.groups]
        for job in self.jobs:
            found[job.group].append(job)
        return found

    @cached_property
    def passes_before(self) -> list[int]:
        """Return the number of passes before each job, and of all."""
        are_passes = (not self.segment_of[job.group].is_load for job in self.jobs)
        return list(accumulate(are_passes, initial=0))

    @cached_property
    def spans(self) -> list[tuple[int, int]]:
        """Return the first and the last time of the jobs of each fused operator (ir/buffer.py)."""
        places: list[list[int]] = [[] for _ in self.groups]
        for place, job in enumerate(self.jobs):
            places[job.group].append(place)
        return [(2 * of[0], 2 * of[-1] + 1) for of in places]

    @cached_property
    def outline(self) -> tuple:
        """Return all that the cycles depend on: plans of one outline take the same time."""
        return (
            [group.geometry for group in self.groups],
            [(segment.first, segment.nest, segment.beside, segment.freed) for segment in self.segments],
            [[(buffer.parts, buffer.loaded) for buffer in copies] for copies in self.buffers()],
        )

    def buffers(self) -> list[list[Buffer]]:
        """Return the buffers of all feature maps, each once. If images go through a layer one by one, its buffers form
        one list."""
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
