"""From layer groups to a program: segments, mappings, places in the GLB, and the order of transfers and
passes."""

from dataclasses import dataclass, field, replace

import numpy as np

from compiler.constants import WorkConstants, place_constants
from compiler.descriptors import Blocks, Convolution, Output, Pass, convolution_descriptor, pass_descriptor
from compiler.groups import Group
from compiler.layout import FeatureMap
from compiler.mapping import CONVOLUTION_FILTERS, Mapping
from compiler.placement import DoesNotFit, Space
from compiler.program import Command, End
from compiler.segments import Job, Segment, plan_segments
from compiler.tensors import Plan, plan_maps
from compiler.timeline import Region, Timeline, hoist_loads, rows_region
from model.config import GLB_WORD_BYTES, MachineConfig
from model.encoding import PoolMode

ATTEMPTS = 400  # arrangements of the maps that are tried before a segment is refused


class DramLayout:
    """Constants and tensors in DRAM, one behind the other, at multiples of 64 bytes."""

    def __init__(self) -> None:
        self.end, self.parts, self.areas = 0, [], {}

    def constant(self, name: str, words: np.ndarray) -> int:
        address = self.area(name, words.size)
        self.parts.append((address, words.ravel()))
        return address

    def area(self, name: str, words: int) -> int:
        address = self.end
        self.areas[name] = (address, words * GLB_WORD_BYTES)
        self.end += -(-words * GLB_WORD_BYTES // 64) * 64
        return address


@dataclass(frozen=True)
class Step:
    """What was made of a group. passes: its passes, counted from 0."""

    group: Group
    way: str
    mapping: Mapping
    filters: str
    passes: tuple[int, ...]

    def __str__(self) -> str:
        return (f"{self.group.name:10} {self.way:9} {len(self.passes):2} passes from {self.passes[0]:2}"
                f"  {self.mapping}, filters {self.filters}")


@dataclass
class Schedule:
    """A whole network: commands, DRAM contents, where input and output lie."""

    commands: list[Command]
    dram: DramLayout
    steps: list[Step]
    input_map: FeatureMap
    input_address: int
    output_map: FeatureMap
    output_address: int


def schedule(groups: list[Group], machine: MachineConfig, objective: str = "cycles") -> Schedule:
    """Raises DoesNotFit or ValueError, naming the group."""
    refused: set[Segment] = set()
    while True:
        plan = plan_maps(groups, plan_segments(groups, machine, objective, refused), machine)
        try:
            constants = _place(plan, machine)
        except _Refused as refusal:
            refused.add(refusal.segment)
            continue
        return _Emitter(plan, constants, machine).run()


class _Refused(Exception):
    """A segment cannot be placed."""

    def __init__(self, segment: Segment) -> None:
        super().__init__(segment)
        self.segment = segment


def _place(plan: Plan, machine: MachineConfig) -> list[WorkConstants]:
    """Gives every buffer its address; returns the constants of each group.

    Of several arrangements of the maps, larger ones first, the one that lets most constants come early.
    """
    random = np.random.default_rng(0)
    maps = sorted(plan.buffers(), key=lambda buffer: -buffer.words)
    best, refusal = None, None
    for attempt in range(ATTEMPTS):
        space = Space(machine.glb_words, 2 * len(plan.jobs))
        # The first as low as can be; then most low, the largest anywhere.
        places = (random.random(len(maps)) < 0.3) * random.random(len(maps)) * (attempt > 0)
        places[0] = random.random() * (attempt > 0)
        try:
            for buffer, where in zip(maps, places):
                space.place(buffer, where)
            constants = place_constants(plan, machine, space)
        except DoesNotFit as error:
            refusal = refusal or error
            continue
        cost = space.exposed_words() + sum(c.cycles(plan, n) for n, c in enumerate(constants))
        if best is None or cost < best[0]:
            best = cost, constants, [buffer.address for buffer in maps]
    if best is None:
        names = [group.name for group in plan.groups]
        n = next((n for n, name in enumerate(names) if str(refusal).startswith(f"{name}:") or str(refusal).startswith(f"{name} ")), 0)
        raise _Refused(plan.segment_of[n])
    for buffer, address in zip(maps, best[2]):
        buffer.address = address
    return best[1]


@dataclass
class _Emitter:
    plan: Plan
    constants: list[WorkConstants]
    machine: MachineConfig
    timeline: Timeline = field(init=False)
    dram: DramLayout = field(default_factory=DramLayout)
    _spilled: dict[int, int] = field(default_factory=dict)  # DRAM address of a group's output
    _fetched: dict[int, int] = field(default_factory=dict)  # rows of a group's input that were loaded
    _loaded: set[int] = field(default_factory=set)  # groups whose constants were loaded

    def __post_init__(self) -> None:
        self.timeline = Timeline(self.machine)

    def run(self) -> Schedule:
        plan = self.plan
        image, result = plan.read[0].placed(), plan.made[-1].placed()
        source = replace(image, ring_rows=image.rows, shift=0)
        self.input_address = self.dram.area("input", source.words)
        passes: list[list[int]] = [[] for _ in plan.groups]
        for job in plan.jobs:
            group = plan.groups[job.group]
            try:
                self._job(job, group)
            except ValueError as error:
                raise type(error)(f"group {group.name}: {error}") from error
            passes[job.group].append(self.timeline.passes - 1)
        steps = [Step(group, plan.segment_of[n].way.value, self.constants[n].mapping(plan, n), self.constants[n].filters_at,
                      tuple(passes[n])) for n, group in enumerate(plan.groups)]
        output = replace(result, ring_rows=result.rows, shift=0)
        commands = [*hoist_loads(self.timeline.commands), End()]
        return Schedule(commands, self.dram, steps, source, self.input_address, output, self._spilled[len(plan.groups) - 1])

    # ---- One job ----

    def _job(self, job: Job, group: Group) -> None:
        n, segment = job.group, self.plan.segment_of[job.group]
        constants = self.constants[n]
        source, made = self.plan.read[n].placed(), self.plan.made[n].placed()
        if n == segment.first and segment.from_dram:
            self._fetch(n, source, job.reads[1])
        first = n not in self._loaded
        if first:
            self._loaded.add(n)
            constants.load(self.timeline, self.dram)
        blocks = constants.blocks(job)
        descriptor = self._descriptor(group, source, made, blocks, constants, first)
        read = rows_region(source, *job.reads)
        written = rows_region(made, 0, 1) if group.pool_count else rows_region(made, job.first, job.last)
        filters = constants.chunks.region if constants.chunks else []
        self.timeline.run(descriptor, read, constants.resident, written, filters)
        if constants.chunks:
            constants.chunks.finish(self.timeline)
        if n == segment.last - 1 and segment.to_dram:
            self._store(n, group, made, job)

    def _fetch(self, n: int, source: FeatureMap, last: int) -> None:
        """Loads the rows of an input that are not there yet."""
        base = self.input_address if n == 0 else self._spilled[n - 1]
        first = self._fetched.get(n, 0)
        for start, count in _without_wrap(source, first, last):
            self.timeline.load(base + start * source.row_words * GLB_WORD_BYTES, source.row_address(start),
                               count * source.row_words)
        self._fetched[n] = max(first, last)

    def _store(self, n: int, group: Group, made: FeatureMap, job: Job) -> None:
        """Stores the rows that a job has made."""
        if n not in self._spilled:
            name = "output" if n == len(self.plan.groups) - 1 else f"{group.output.name}.spill"
            self._spilled[n] = self.dram.area(name, made.row_words * made.rows)
        first, last = (0, made.rows) if group.pool_count else (job.first, job.last)
        for start, count in _without_wrap(made, first, last):
            self.timeline.store(self._spilled[n] + start * made.row_words * GLB_WORD_BYTES, made.row_address(start),
                                count * made.row_words)

    # ---- Descriptors ----

    def _descriptor(self, group: Group, source: FeatureMap, made: FeatureMap, blocks: Blocks, constants: WorkConstants,
                    first: bool):
        if group.is_convolution:
            sets, count = self.machine.sets, len(group.filters)
            halves = 1 if group.source.shape[2] <= 4 else 2
            return convolution_descriptor(self.machine, Convolution(
                source, group.window, blocks, group.source.zero_point, CONVOLUTION_FILTERS, 4, 1, sets,
                constants.filters.tiles, constants.filters.address, None, constants.filters.table_address, made,
                group.table.output, (count - 1) % 8 + 1, halves))
        pool = PoolMode.AVERAGE if group.pool_count else PoolMode.NONE
        return pass_descriptor(self.machine, Pass(
            source, made, group.window, blocks, group.source.zero_point, group.table.output, constants.filters_of(first),
            constants.depthwise_address, group.middle.output if group.middle else Output(), pool,
            max(group.pool_count, 1)))


def _without_wrap(feature_map: FeatureMap, first: int, last: int) -> list[tuple[int, int]]:
    """(row, rows) of the stretches of rows first to last - 1 that lie behind each other in the ring."""
    found: list[tuple[int, int]] = []
    for y in range(first, last):
        slot = (y + feature_map.shift) % feature_map.ring_rows
        if found and slot:
            found[-1] = (found[-1][0], found[-1][1] + 1)
        else:
            found.append((y, 1))
    return found
