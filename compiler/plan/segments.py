# SPDX-License-Identifier: Apache-2.0
"""Which groups run together stripe by stripe, what lies in the GLB between them, and the order of jobs.

A segment is a run of groups in one of four ways:
  WHOLE     one group, input and output in the GLB, one job
  SLICES    one group, input in the GLB, a job per slice of the filters, whose output goes to DRAM
  IN_PLACE  one group whose output takes the rows of its input as they die, a job per stripe of rows
  STRIPES   groups in turn, stripe by stripe: of the maps between them only the rows still needed stay
The input of a segment comes from the GLB or row by row from DRAM, its output stays or goes to DRAM.
Halo rows are kept, nothing is computed twice.
"""

from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property

from compiler.cost.prices import PJ_PER_DRAM_BYTE
from compiler.passes.groups import Group
from compiler.plan.placement import DoesNotFit
from compiler.target.descriptors.passes import Window
from compiler.target.layout import NARROW_GROUPS, FeatureMap, word_groups
from compiler.target.limits import most_pixels
from compiler.target.mapping import Mapping, mappings, runs_on
from model.config import GLB_WORD_BYTES, SET_ROWS, MachineConfig
from model.encoding import DEPTHWISE_GROUP_WORDS, TABLE_WORDS
from model.messages import times

STRIPE_ROWS = (1, 2, 4, 8)
LEAST_CHUNK_WORDS = 256  # of filters that are on their way
SLICES = (2, 4, 8, 16, 32)
JOB_OVERHEAD = 10  # cycles between two jobs
READ_LATENCY = 100  # cycles until rows just written are multiplied
LEAKAGE_PJ = 0.25  # a cycle: 50 uW at 200 MHz


class Way(Enum):
    WHOLE = "whole"
    SLICES = "slices"
    IN_PLACE = "in place"
    STRIPES = "stripes"


@dataclass(frozen=True)
class Job:
    """Output rows first to last - 1 (before pooling) of a group; reads: input rows, first and last + 1; slice:
    which one of its filters."""

    group: int
    first: int
    last: int
    reads: tuple[int, int]
    slice: int = 0


def input_rows(window: Window, height: int, first: int, last: int) -> tuple[int, int]:
    """Input rows, clipped to the map, that output rows first to last - 1 need."""
    top = first * window.stride - window.pads[0]
    return max(0, top), min(height, (last - 1) * window.stride - window.pads[0] + window.kernel[0])


@dataclass(frozen=True)
class Segment:
    """groups: first and last + 1; rows: output rows of the last group in a stripe (0: whole maps); slices: of
    the filters."""

    network: tuple[Group, ...] = field(compare=False, repr=False)
    first: int
    last: int
    way: Way
    rows: int = 0
    from_dram: bool = False
    to_dram: bool = False
    slices: int = 1

    @property
    def groups(self) -> tuple[Group, ...]:
        return self.network[self.first : self.last]

    @property
    def key(self) -> tuple:
        """What it is, whichever network it stands in."""
        groups = tuple((group.layer, group.images) for group in self.groups)
        return groups, self.way, self.rows, self.from_dram, self.to_dram, self.slices

    @cached_property
    def jobs(self) -> list[Job]:
        """In an order in which no job reads what the one just before it wrote, where that can be: each
        group is a stripe ahead of the one behind it."""
        heights = [group.map_shape[0] for group in self.groups]
        if self.way in (Way.WHOLE, Way.SLICES):
            return [replace(self._job(0, 0, heights[0]), slice=n) for n in range(self.slices)]
        targets = self._targets(heights)
        stripes, depth = len(targets[-1]), len(targets)
        made, jobs = [0] * depth, []
        for turn in range(stripes + depth - 1):
            for n in reversed(range(depth)):
                stripe = turn - n
                if 0 <= stripe < stripes and targets[n][stripe] > made[n]:
                    jobs.append(self._job(n, made[n], targets[n][stripe]))
                    made[n] = targets[n][stripe]
        return jobs

    def _job(self, n: int, first: int, last: int) -> Job:
        group = self.groups[n]
        return Job(self.first + n, first, last, input_rows(group.window, group.source.shape[0], first, last))

    def _targets(self, heights: list[int]) -> list[list[int]]:
        """Rows of each group's output that have to be there when each stripe is done."""
        stripes = -(-heights[-1] // self.rows)
        targets = [[min(heights[-1], (s + 1) * self.rows) for s in range(stripes)]]
        quantum = self.rows
        for n in reversed(range(len(self.groups) - 1)):
            behind = self.groups[n + 1]
            quantum *= behind.window.stride
            needed = [input_rows(behind.window, heights[n], 0, rows)[1] for rows in targets[0]]
            targets.insert(0, [min(heights[n], -(-rows // quantum) * quantum) for rows in needed])
        return targets

    def ring_rows(self, n: int) -> int:
        """Rows of the ring that holds the map between groups n and n + 1 of the segment."""
        most = 0
        for place, job in enumerate(self.jobs):
            if job.group == self.first + n:
                later = [j.reads[0] for j in self.jobs[place:] if j.group == job.group + 1]
                most = max(most, job.last - min(later, default=job.last))
        return most

    def input_ring_rows(self) -> int:
        """Rows of the input, coming from DRAM, that two jobs behind each other need."""
        readers = [job for job in self.jobs if job.group == self.first]
        ends = [*readers[1:], readers[-1]]
        return min(self.groups[0].source.shape[0], max(b.reads[1] - a.reads[0] for a, b in zip(readers, ends)))

    @property
    def slack(self) -> int:
        """Rows that a map needs beside its own, if this segment works on it in place."""
        group = self.groups[0]
        return group.window.pads[0] if self.way is Way.IN_PLACE and not group.images else 0

    # ---- What it needs and costs ----

    def peak_words(self, machine: MachineConfig) -> int:
        """A lower bound of the GLB words in use at the fullest moment."""
        groups, jobs = self.groups, self.jobs
        resident = self.way not in (Way.WHOLE, Way.SLICES)
        constants = [constant_words(group, machine, resident) for group in groups]
        if self.way is not Way.STRIPES:
            images, row = max(groups[0].images, 1), row_words(groups[0].source.shape)
            source, made = (images * map_words(tensor.shape) for tensor in (groups[0].source, groups[0].output))
            if self.way is Way.IN_PLACE:
                return constants[0] + source + row * self.slack
            if groups[0].images and (tile := first_tile(groups[0], self.way, machine)):
                made = made * tile // groups[0].output.shape[2]  # the rest may take the input's words
            return constants[0] + source + (made if self.slices == 1 else 2 * made // self.slices)
        rings = [self.ring_rows(n) * row_words(group.output.shape) for n, group in enumerate(groups[:-1])]
        source_row, made_row = row_words(groups[0].source.shape), row_words(groups[-1].output.shape)
        spans = [[p for p, job in enumerate(jobs) if job.group == self.first + n] for n in range(len(groups))]
        most = 0
        for place, job in enumerate(jobs):
            words = sum(c for c, span in zip(constants, spans) if span[0] <= place <= span[-1])
            words += sum(ring for n, ring in enumerate(rings) if spans[n][0] <= place <= spans[n + 1][-1])
            readers = [j.reads[0] for j in jobs[place:] if j.group == self.first]
            if readers:
                here = self.input_ring_rows() if self.from_dram else groups[0].source.shape[0] - readers[0]
                words += here * source_row
            done = max((j.last for j in jobs[: place + 1] if j.group == self.last - 1), default=0)
            words += (min(2 * self.rows, done) if self.to_dram else done) * made_row
            most = max(most, words)
        return most

    def cycles(self, machine: MachineConfig) -> int:
        """Estimate: the array's cycles, or the transfers', whichever are more."""
        total, before, drain = 0, None, 0
        for job in self.jobs:
            group = sliced(self.network[job.group], self.slices)
            mapping = self._mapping(machine, group, job.last - job.first)
            total += mapping.cycles + JOB_OVERHEAD
            if before and before.group + 1 == job.group and before.last > job.reads[0] and before.first < job.reads[1]:
                total += drain + READ_LATENCY  # the rows of the job before have to be written first
            before, drain = job, mapping.tile * mapping.blocks.pixels
        return max(total, self.dram_words(machine) // machine.bus_words)

    def _mapping(self, machine: MachineConfig, group: Group, rows: int) -> Mapping:
        """The cheapest; where several images share filters, the cheapest whose filters may fit: those of a tile
        stay for all inner blocks of pixels, all of them for all outer blocks."""
        found = mappings_of(machine, group, rows, self.way)
        if not group.images or group.filters is None:
            return found[0]
        words = word_groups(group.source.shape[2])
        rest = machine.glb_words - self.peak_words(machine) + 8 * words
        stay = [m.tiles * m.tile if m.blocks.outer > 1 else m.tile if m.blocks.inner > 1 else 0 for m in found]
        fitting = [m for m, filters in zip(found, stay) if filters * words + LEAST_CHUNK_WORDS <= rest]
        return (fitting or found)[0]

    def map_dram_words(self) -> int:
        words = map_words(self.groups[0].source.shape) if self.from_dram else 0
        words += map_words(self.groups[-1].output.shape) if self.to_dram else 0
        return max(self.groups[0].images, 1) * words

    def dram_words(self, machine: MachineConfig) -> int:
        return self.map_dram_words() + sum(constant_words(group, machine, resident=True) for group in self.groups)

    def cost(self, machine: MachineConfig, objective: str) -> tuple[float, float]:
        """What `best_segments` adds up, the first entry before the second."""
        cycles, words = self.cycles(machine), self.dram_words(machine)
        if objective == "bytes":
            return words, cycles
        if objective == "energy":
            return words * GLB_WORD_BYTES * PJ_PER_DRAM_BYTE + cycles * LEAKAGE_PJ, cycles
        return cycles + self.map_dram_words() // machine.bus_words, words


_mappings: dict[tuple, list] = {}


def mappings_of(machine: MachineConfig, group: Group, rows: int, way: Way = Way.WHOLE) -> list:
    """mappings(), remembered; raises DoesNotFit where there is none.

    In place only those are right that have all pixels of the job's image in flight, and read them with the
    first tile of filters only: else an output would take words that the next block or tile still reads.
    """
    shapes = tuple(values.shape for values in (group.filters, group.depthwise) if values is not None)
    in_place = way is Way.IN_PLACE
    key = (machine, group.source.shape, group.window, shapes, group.pool_count, group.images, rows, in_place)
    if key not in _mappings:
        found = mappings(machine, group, rows)
        _mappings[key] = [m for m in found if not in_place or _reads_once(group, m)]
    if not _mappings[key]:
        raise DoesNotFit(f"group {group.name}: {_why_unmapped(machine, group, rows)}")
    return _mappings[key]


def _why_unmapped(machine: MachineConfig, group: Group, rows: int) -> str:
    if group.images:
        return f"no mapping of {group.images} images at once fits the PEs"
    if not runs_on(machine, group):
        kind, rows = "depthwise" if group.filters is None else "full", 2 * SET_ROWS
        return (f"a {kind} convolution runs on {rows} rows of PEs only, there are {machine.rows}: "
                f"use rows = {rows}")
    room = machine.cols * most_pixels(machine)
    if group.pool_count > room:
        return (f"an average over {times(group.map_shape)} pixels needs all of them in flight at once, "
                f"there is room for {room}: give the map another size")
    return (f"no mapping of {rows} output rows fits the PEs: psum_words = {machine.psum_words}, "
            f"ifmap_words = {machine.ifmap_words}, filter_words = {machine.filter_words}, "
            f"word_buffer_words = {machine.word_buffer_words}: use larger ones")


def _reads_once(group: Group, mapping: Mapping) -> bool:
    """Whether all that a job reads of an image has been read before its first output is written."""
    blocks = mapping.blocks
    return (blocks.outer == 1 and (blocks.inner == 1 or blocks.images > 0)
            and (mapping.tiles == 1 or group.depthwise is not None))


def first_tile(group: Group, way: Way, machine: MachineConfig) -> int:
    """Filters of the first tile of a whole-map depthwise-separable group that keeps all its depthwise
    words, and so reads its input with that tile only; 0 for others."""
    if way is not Way.WHOLE or group.depthwise is None or group.pool_count and not group.images:
        return 0
    mappings = mappings_of(machine, group, group.map_shape[0])
    return next((m.tile for m in mappings if m.blocks.outer == 1 and m.tiles > 1), 0)


def sliced(group: Group, slices: int) -> Group:
    """A group with the first of so many slices of its filters."""
    if slices == 1:
        return group
    count = len(group.filters) // slices
    shape = (*group.output.shape[:2], count)
    return replace(group, filters=group.filters[:count], output=replace(group.output, shape=shape))


def map_words(shape: tuple[int, int, int]) -> int:
    rows, cols, channels = shape
    return FeatureMap(rows, cols, word_groups(channels), 0, rows).words


def row_words(shape: tuple[int, int, int]) -> int:
    return map_words((1, *shape[1:]))


def constant_words(group: Group, machine: MachineConfig, resident: bool) -> int:
    """Depthwise words, tables, and filters: all of them; or the least, a tile of 8, and where all pixels of the map are
    in flight at once, so that each filter is used but once, two chunks of such a tile."""
    words = 0
    if group.depthwise is not None:
        words += word_groups(group.depthwise.shape[-1]) * DEPTHWISE_GROUP_WORDS
    if group.filters is None:
        return words
    words += word_groups(len(group.filters)) * TABLE_WORDS
    groups, count = word_groups(group.source.shape[2]), word_groups(len(group.filters)) * 8
    if group.is_convolution:
        taps = group.filters.shape[1] * group.filters.shape[2]
        halves = 1 if group.source.shape[2] <= 4 else 2
        return words + groups * halves * taps * count // 2
    if resident:
        return words + groups * count
    pixels = max(group.images, 1) * group.map_shape[0] * group.map_shape[1]
    return words + 8 * (min(groups, 2) if pixels <= machine.cols * (machine.pixel_words // 2) else groups)


# ---- The choice ----


def best_segments(groups: list[Group], machine: MachineConfig, objective: str = "cycles",
                  refused: frozenset = frozenset()) -> tuple[tuple[float, float], list[Segment]]:
    """The segments of a network that cost least, and their cost.

    objective: "cycles" counts the array's or the port's, whichever are more, and the port's time for maps
    once more, since while it carries maps it does not bring the weights of later layers; "bytes" counts
    DRAM bytes, then cycles; "energy" counts DRAM accesses and cycles of leakage. Exact: a
    dynamic programme over where the chain is cut and whether the map there stays in the GLB.
    refused: keys of segments that could not be placed. Raises DoesNotFit.
    """
    network = tuple(groups)
    count = len(network)
    best: dict[tuple[int, bool], tuple[tuple[float, ...], list[Segment]]] = {(0, True): ((0, 0), [])}
    for first in range(count):
        for from_dram in (False, True):
            if (first, from_dram) not in best:
                continue
            spent, before = best[first, from_dram]
            for segment in _segments_from(network, first, from_dram):
                if segment.key in refused or _needs_slack_too_late(before, segment):
                    continue
                cost = added(spent, segment, machine, objective)
                if cost is None:
                    continue
                key = (segment.last, segment.to_dram)
                if key not in best or cost < best[key][0]:
                    best[key] = (cost, [*before, segment])
    if (count, True) not in best:
        raise DoesNotFit(_why(network, machine, refused))
    return best[count, True]


def added(spent: tuple[float, float], segment: Segment, machine: MachineConfig,
          objective: str) -> tuple[float, float] | None:
    """What a plan costs with one more segment, None if that does not fit."""
    try:
        if segment.peak_words(machine) > machine.glb_words:
            return None
        cost = segment.cost(machine, objective)
    except DoesNotFit:
        return None
    return spent[0] + cost[0], spent[1] + cost[1]


def _segments_from(network: tuple[Group, ...], first: int, from_dram: bool):
    """All segments that begin with group `first`."""
    count = len(network)
    for to_dram in ((False, True) if first < count - 1 else (True,)):
        yield Segment(network, first, first + 1, Way.WHOLE, 0, from_dram, to_dram)
    group = network[first]
    in_place = not from_dram and group.source.shape == group.output.shape and group.window.stride == 1
    if in_place:
        for rows in STRIPE_ROWS:
            yield Segment(network, first, first + 1, Way.IN_PLACE, rows, False, first == count - 1)
    for last in range(first + 1, min(count, first + 4) + 1):
        if any(group.pool_count for group in network[first:last]):
            break
        for rows in STRIPE_ROWS:
            for to_dram in ((False, True) if last < count else (True,)):
                if in_place and last == first + 1 and not to_dram:
                    continue  # the same with more words
                yield Segment(network, first, last, Way.STRIPES, rows, from_dram, to_dram)


def segments_of_images(group: Group, from_dram: bool, last: bool):
    """All segments of a group that several images go through at once; last: of the network."""
    network = (group,)
    for to_dram in ((True,) if last else (False, True)):
        yield Segment(network, 0, 1, Way.WHOLE, 0, from_dram, to_dram)
    if not from_dram and group.filters is None and group.source.shape == group.output.shape and group.window.stride == 1:
        yield Segment(network, 0, 1, Way.IN_PLACE, group.map_shape[0], False, last)
    if group.depthwise is None and not group.pool_count and not last:
        for slices in SLICES:
            blocks = len(group.filters) // 8
            alike = group.map_shape[1] > 1 or blocks < NARROW_GROUPS  # the whole map lies like its slices
            if len(group.filters) % (8 * slices) == 0 and alike:
                yield Segment(network, 0, 1, Way.SLICES, 0, from_dram, True, slices)


def _needs_slack_too_late(before: list[Segment], segment: Segment) -> bool:
    """In place work needs its map to have been made with room for it."""
    if segment.way is not Way.IN_PLACE:
        return False
    return not before or before[-1].way is Way.IN_PLACE and before[-1].slack < segment.slack


def _why(network: tuple[Group, ...], machine: MachineConfig, refused: frozenset) -> str:
    """Names the group that needs most, and whether the GLB is too small for it or had no places."""
    least = []
    for n, group in enumerate(network):
        mappings_of(machine, group, group.map_shape[0] if group.pool_count else 1)
        alone = [s for s in _segments_from(network, n, True) if s.last == n + 1]
        least.append((min(s.peak_words(machine) for s in alone), group.name))
    words, name = max(least)
    if words > machine.glb_words:
        return (f"group {name} needs at least {words * GLB_WORD_BYTES} bytes of GLB, there are "
                f"{machine.glb_bytes}: use a larger GLB or a smaller layer")
    stuck = [group.name for group in network if any((group.layer, group.images) in key[0] for key in refused)]
    return (f"group {' or '.join(stuck or [name])}: no places found in the GLB of {machine.glb_bytes} bytes "
            "for all that has to be there at once: use a larger GLB or more effort")
