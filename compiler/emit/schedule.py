# SPDX-License-Identifier: Apache-2.0
"""From a plan with its places in the GLB to commands: the order of transfers and passes."""

from collections import Counter
from dataclasses import dataclass, field, replace
from functools import partial

from eyrie.compiler.emit.dram import DramLayout
from eyrie.compiler.emit.loads import Loader
from eyrie.compiler.emit.passes import job_descriptor
from eyrie.compiler.emit.steps import Step
from eyrie.compiler.emit.timeline import Timeline, rows_region
from eyrie.compiler.ir.buffer import Buffer, Region
from eyrie.compiler.ir.feature_map import FeatureMap
from eyrie.compiler.ir.layer import Group
from eyrie.compiler.ir.maps import Map
from eyrie.compiler.ir.plan import SOURCE, Job, MapPlan, Plan
from eyrie.compiler.ir.program import Block, Command, End
from eyrie.compiler.plan.constants import WorkConstants
from eyrie.compiler.plan.search import Placed
from eyrie.model.config import GLB_WORD_BYTES, AcceleratorConfig
from eyrie.model.errors import InputError


@dataclass(frozen=True)
class Place:
    """Where a map lies in DRAM, row by row; those of several images one behind the other."""

    map: Map
    address: int

    @property
    def layout(self) -> FeatureMap:
        """Of one image."""
        return self.map.layout


@dataclass
class Schedule:
    """A whole network: segments and jobs, what lies where in the GLB and when, commands, DRAM contents, where its
    inputs and outputs lie in DRAM."""

    plan: Plan
    buffers: list[Buffer]
    commands: list[Command]
    dram: DramLayout
    steps: list[Step]
    images: int
    inputs: list[Place]
    outputs: list[Place]


def emit(plan: Plan, placed: Placed, steps: list[Step], config: AcceleratorConfig) -> Schedule:
    """Raises InputError, naming the group, for work that its descriptor cannot say."""
    return _Emitter(plan, placed.constants, config, steps[0].images).run(placed.buffers, steps)


@dataclass
class _Emitter:
    plan: Plan
    constants: list[WorkConstants]
    config: AcceleratorConfig
    images: int
    timeline: Timeline = field(init=False)
    dram: DramLayout = field(default_factory=DramLayout)
    _areas: dict[str, int] = field(default_factory=dict)  # DRAM address of a map
    _fetched: dict[int, int] = field(default_factory=dict)  # rows of a group's input that were loaded
    _turns: Counter = field(default_factory=Counter)  # jobs of a group that are done
    _loaders: dict[int, Loader] = field(default_factory=dict)  # of the groups that have begun

    def __post_init__(self) -> None:
        self.timeline = Timeline(self.config)

    def run(self, buffers: list[Buffer], steps: list[Step]) -> Schedule:
        plan = self.plan
        inputs = [Place(map_, self._area(map_, f"input.{map_.name}")) for map_ in _inputs(plan.groups)]
        for job in plan.jobs:
            group = plan.groups[job.group]
            try:
                self._job(job, group)
            except InputError as error:
                raise type(error)(f"group {group.name}: {error}") from error
        commands = [*self.timeline.commands(), End()]
        ends = {(map_ := group.output.storage).name: map_ for group in plan.groups if group.stored}
        outputs = [Place(map_, self._areas[name]) for name, map_ in ends.items()]
        return Schedule(plan, buffers, commands, self.dram, steps, self.images, inputs, outputs)

    def _job(self, job: Job, group: Group) -> None:
        n, segment = job.group, self.plan.segment_of[job.group]
        constants = self.constants[n]
        source, made = self.plan.read[n].placed(), self.plan.made[n].placed()
        if segment.is_load:
            self._load_part(group, made, job)
            return
        if segment.tiling_of(n).channels > 1:
            source = replace(source, address=source.address + self._turns[n] % 2 * source.words)
            self._load_slice(group, group.source, source, job.part, job.reads)
        elif segment.nest.from_dram and (rows := segment.rows_read(job, SOURCE)):
            self._fetch(segment.first, self.plan.read[segment.first].placed(), *rows)
        first = n not in self._loaders
        if segment.parts_of(n) > 1:
            others = tuple(map(partial(self._slice, job), group.others, self.plan.others[n]))
        else:
            others = tuple(plan.placed() for plan in self.plan.others[n])
            self._fetch_others(n, group, job, made, first)
        if first:
            self._loaders[n] = Loader(constants, self.timeline, self.dram)
            self._loaders[n].begin()
        turn, parts = self._turns[n], segment.parts_of(n)
        if n + 1 < segment.last or (parts > 1 and not segment.nest.to_dram):
            made = made.slice(parts, job.part)
        elif parts > 1:
            made = replace(made, address=made.address + turn % 2 * made.words)
        descriptor = job_descriptor(self.config, constants, job, source, made, others, turn)
        read = rows_region(source, *job.reads)
        written = rows_region(made, 0, 1) if group.averaged else rows_region(made, job.first, job.last)
        filters = constants.chunks.region if constants.chunks else []
        beside = [words for other in others for words in rows_region(other, *_rows_of(other, made, job))]
        self._wait_for(beside)
        cycles = constants.mappings[job.last - job.first].cycles
        self.timeline.run(descriptor, read, constants.read(turn) + beside, written, filters, cycles)
        self._turns[n] += 1
        self._loaders[n].after_jobs(self._turns[n])
        if n == segment.last - 1 and segment.nest.to_dram:
            self._store(group, made, job)

    def _area(self, map_: Map, name: str) -> int:
        """The DRAM address of a map of all images, which is no part of another."""
        if map_.name not in self._areas:
            self._areas[map_.name] = self.dram.area(name, self.images * map_.layout.words)
        return self._areas[map_.name]

    def _fetch(self, n: int, source: FeatureMap, first: int, last: int) -> None:
        """Load rows first to last - 1 of an input, as far as they are not there yet; planes, and the maps of several
        images, at once."""
        group = self.plan.groups[n]
        if group.images or group.source.planar:
            if not self._fetched.get(n):
                self.timeline.load(self._base(group, group.source), source.address, source.words)
            self._fetched[n] = last
            return
        there = self._fetched.get(n, 0)
        begin = there if self.plan.segment_of[n].shares_input else max(there, first)  # else no job reads those between
        self._load_rows(self._base(group, group.source), group.source, source, begin, last)
        self._fetched[n] = max(there, last)

    def _slice(self, job: Job, map_: Map, plan: MapPlan) -> FeatureMap:
        """Return a job's slice of another operand of its group: in the GLB, or loaded from DRAM."""
        group, other = self.plan.groups[job.group], plan.placed()
        if not plan.buffer.loaded:
            return other.slice(self.plan.segment_of[job.group].parts_of(job.group), job.part)
        other = replace(other, address=other.address + self._turns[job.group] % 2 * other.words)
        self._load_slice(group, map_, other, job.part, (job.first, job.last))
        return other

    def _load_slice(self, group: Group, map_: Map, part: FeatureMap, number: int, rows: tuple[int, int]) -> None:
        """Loads rows, first and last + 1, of a slice of a map's channels."""
        base = self._base(group, map_)
        if part.planar:
            self.timeline.load(base + number * part.words * GLB_WORD_BYTES, part.address, part.words)
            return
        self._load_rows(base + _slice_offset(map_, part, number), map_, part, *rows)

    def _fetch_others(self, n: int, group: Group, job: Job, made: FeatureMap, first: bool) -> None:
        """Loads the operands of a group, beside its source, that come from DRAM: whole, or the job's rows."""
        for map_, plan in zip(group.others, self.plan.others[n]):
            if not plan.buffer.loaded or plan is self.plan.read[self.plan.segment_of[n].first]:
                continue
            other = plan.placed()
            if other.ring_rows < other.rows:
                self._load_rows(self._base(group, map_), map_, other, *_rows_of(other, made, job))
            elif first and group.images:
                self.timeline.load(self._base(group, map_), other.address, other.words)
            elif first:
                self._load_rows(self._base(group, map_), map_, other, 0, other.rows)

    def _base(self, group: Group, map_: Map) -> int:
        """The DRAM address of a group's operand or output."""
        place = group.image * map_.storage.layout.words + map_.offset
        return self._areas[map_.storage.name] + place * GLB_WORD_BYTES

    def _load_rows(self, base: int, map_: Map, part: FeatureMap, first: int, last: int) -> None:
        """Load rows first to last - 1. part: a map, or the slice of its channels that lies at `base`"""
        for start, count in _runs(map_, part, first, last):
            place = base + start * map_.row_step * GLB_WORD_BYTES, part.row_address(start)
            self.timeline.load(*place, *_extent(map_, part, count))

    def _load_part(self, group: Group, part: FeatureMap, job: Job) -> None:
        """Load the rows of a job into the part of a map: all at once, or, of a strip, a row of each word group."""
        base, source, rows = self._base(group, group.source), group.source.layout, range(job.first, job.last)
        row_bytes = source.row_words * GLB_WORD_BYTES
        if not group.output.is_strip:
            place = base + rows.start * row_bytes, part.row_address(rows.start)
            by_row = Block(len(rows), row_bytes, part.row_step, 1, 0, 0) if len(rows) > 1 else None
            self.timeline.load(*place, source.row_words, by_row)
            return
        by_group = Block(source.groups, source.pitch * GLB_WORD_BYTES, part.pitch, 1, 0, 0)
        for y in rows:
            self.timeline.load(base + y * row_bytes, part.row_address(y), source.used_words, by_group)

    def _wait_for(self, region: Region) -> None:
        """A pass is held by transfers, where its ifmap stream alone is by passes: so a word or two of what the last
        pass has written are stored, nowhere in particular, before another operand of the next one is read."""
        fresh = self.timeline.fresh(region)
        if fresh is not None:
            if "wait" not in self._areas:
                self._areas["wait"] = self.dram.area("wait", 2)
            self.timeline.store(self._areas["wait"], fresh - fresh % 2, 2)

    def _store(self, group: Group, made: FeatureMap, job: Job) -> None:
        """Stores the rows that a job has made, or a slice; planes, and the maps of several images, at once."""
        map_ = group.output
        self._area(map_.storage, f"{'output' if group.stored else 'spill'}.{map_.storage.name}")
        base = self._base(group, map_)
        if group.images or map_.planar:
            self.timeline.store(base + job.part * made.words * GLB_WORD_BYTES, made.address, made.words)
            return
        first, last = (0, made.rows) if group.averaged else (job.first, job.last)
        base += _slice_offset(map_, made, job.part)
        for start, count in _runs(map_, made, first, last):
            place = base + start * map_.row_step * GLB_WORD_BYTES, made.row_address(start)
            self.timeline.store(*place, *_extent(map_, made, count))


def _extent(map_: Map, part: FeatureMap, rows: int) -> tuple[int, Block | None]:
    """Return the words of rows of a map, or of a slice of its channels; the words of a row of a word group, and the
    block of all word groups, for a row of a strip."""
    if not map_.is_strip:
        return rows * part.row_words, None
    return part.used_words, Block(part.groups, map_.storage.layout.pitch * GLB_WORD_BYTES, part.pitch, 1, 0, 0)


def _slice_offset(map_: Map, part: FeatureMap, number: int) -> int:
    """Return the bytes of DRAM from the first channels of a map, row by row, to its slice of this number."""
    return number * part.groups * map_.storage.layout.pitch * GLB_WORD_BYTES


def _rows_of(other: FeatureMap, made: FeatureMap, job: Job) -> tuple[int, int]:
    """Rows of an operand that a job reads: of a single one all jobs read that."""
    return (0, 1) if other.rows < made.rows else (job.first, job.last)


def _inputs(groups: list[Group]) -> list[Map]:
    """Maps that no group makes, in the order in which they are read."""
    made = {map_.name for group in groups for map_ in (group.output, group.output.storage)}
    read = (operand.storage for group in groups for operand in group.operands)
    return [map_ for name, map_ in {map_.name: map_ for map_ in read}.items() if name not in made]


def _runs(map_: Map, feature_map: FeatureMap, first: int, last: int) -> list[tuple[int, int]]:
    """(row, rows) of the stretches of rows first to last - 1 that lie behind each other in DRAM and in the ring; of a
    strip, each row."""
    found: list[tuple[int, int]] = []
    contiguous = map_.row_step == feature_map.row_words and not map_.is_strip
    for y in range(first, last):
        slot = (y + feature_map.shift) % feature_map.ring_rows
        if found and slot and contiguous:
            found[-1] = (found[-1][0], found[-1][1] + 1)
        else:
            found.append((y, 1))
    return found
