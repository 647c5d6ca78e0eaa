"""From layer groups to a program: segments, mappings, places in the GLB, and the order of transfers and
passes."""

import math
from dataclasses import dataclass, field, replace

import numpy as np

from compiler.constants import WorkConstants, place_constants
from compiler.descriptors import Blocks, Convolution, Output, Pass, convolution_descriptor, pass_descriptor
from compiler.groups import Group
from compiler.layout import FeatureMap
from compiler.mapping import CONVOLUTION_FILTERS, Mapping
from compiler.placement import Buffer, DoesNotFit, Space
from compiler.program import Command, End
from compiler.segments import Job, Segment, plan_segments
from compiler.tensors import Plan, plan_maps
from compiler.timeline import Region, Timeline, hoist_loads, rows_region
from model.config import GLB_WORD_BYTES, MachineConfig
from model.encoding import PoolMode

MOST_SLOTS = 3  # of a filter ring, beside the chunks in use
HOTTEST = 50.0  # cycles: by so much a worse arrangement is taken now and then, at the beginning
STARTS = 6
FEW_JOBS = 40
HOPELESS = 60  # tries without success after which a segment is refused
EFFORT = 1800  # arrangements of the maps in the GLB that are tried


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
    """What was made of a group. passes: its passes, counted from 0; cycles: estimate for all of them."""

    group: Group
    way: str
    mapping: Mapping
    filters: str
    passes: tuple[int, ...]
    cycles: int

    def __str__(self) -> str:
        return (f"{self.group.name:10} {self.way:9} {len(self.passes):2} passes from {self.passes[0]:2}"
                f"  {self.mapping}, filters {self.filters}")


@dataclass
class Schedule:
    """A whole network: segments and jobs, what lies where in the GLB and when, commands, DRAM contents, where
    input and output lie in DRAM."""

    plan: Plan
    buffers: list[Buffer]
    commands: list[Command]
    dram: DramLayout
    steps: list[Step]
    input_map: FeatureMap
    input_address: int
    output_map: FeatureMap
    output_address: int


def schedule(groups: list[Group], machine: MachineConfig, objective: str = "cycles", effort: int = EFFORT) -> Schedule:
    """effort: arrangements that are tried. Raises DoesNotFit or ValueError, naming the group."""
    refused: set[Segment] = set()
    while True:
        plan = plan_maps(groups, plan_segments(groups, machine, objective, refused), machine)
        try:
            constants, buffers = _place(plan, machine, effort)
        except _Refused as refusal:
            refused.add(refusal.segment)
            continue
        return _Emitter(plan, constants, machine).run(buffers)


class _Refused(Exception):
    """A segment cannot be placed."""

    def __init__(self, segment: Segment) -> None:
        super().__init__(segment)
        self.segment = segment


@dataclass(frozen=True)
class _Arrangement:
    """What the search for places varies: the order of the maps, where each is wanted (0 lowest, 1 highest),
    and the size of the filter rings."""

    order: np.ndarray
    where: np.ndarray
    slots: np.ndarray

    @classmethod
    def first(cls, plan: Plan) -> "_Arrangement":
        maps = len(plan.buffers())
        return cls(np.arange(maps), np.zeros(maps), np.full(len(plan.groups), MOST_SLOTS))

    def changed(self, random: np.random.Generator) -> "_Arrangement":
        """One a little different."""
        order, where, slots = self.order.copy(), self.where.copy(), self.slots.copy()
        places = random.integers(len(where), size=random.integers(1, 4))
        where[places] = random.random(len(places)) * (random.random(len(places)) < 0.7)
        slots[random.integers(len(slots))] = random.integers(1, MOST_SLOTS + 1)
        if random.random() < 0.25:
            first, second = random.integers(len(order), size=2)
            order[[first, second]] = order[[second, first]]
        return _Arrangement(order, where, slots)


def _place(plan: Plan, machine: MachineConfig, effort: int) -> tuple[list[WorkConstants], list[Buffer]]:
    """Gives every buffer its address; returns the constants of each group, and all buffers.

    A random search (simulated annealing), the same at every run, begun anew a few times: the arrangement that
    lets most constants come early and has the best mappings.
    """
    maps = sorted(plan.buffers(), key=lambda buffer: -buffer.words)
    best, failed, refusal = None, 0, ""
    share = FEW_JOBS / max(FEW_JOBS, len(plan.jobs))  # a try takes longer the more jobs there are
    for start in range(STARTS):
        random, here, spent = np.random.default_rng(start), _Arrangement.first(plan), None
        attempts = math.ceil(effort * share / STARTS)
        for attempt in range(attempts):
            tried = here.changed(random) if attempt else here
            space = Space(machine.glb_words, 2 * len(plan.jobs))
            try:
                for n in tried.order:
                    space.place(maps[n], tried.where[n])
                constants = place_constants(plan, machine, space, tried.slots)
            except DoesNotFit as error:
                failed, refusal = failed + 1, str(error)
                if best is None and failed > HOPELESS * share:
                    break
                if spent is None and attempt % 8:
                    here = tried
                elif spent is None:
                    here = _Arrangement.first(plan)
                continue
            cost = space.exposed_words() + sum(c.cycles(plan, n) for n, c in enumerate(constants))
            heat = HOTTEST * (1 - attempt / attempts)
            if spent is None or cost <= spent or random.random() < np.exp((spent - cost) / heat):
                here, spent = tried, cost
            if best is None or cost < best[0]:
                best = cost, constants, [replace(buffer) for buffer in space.placed]
            if not space.exposed_words():
                break
    if best is None:
        raise _Refused(plan.segment_of[_group_named(plan, refusal)])
    addresses = {buffer.name: buffer.address for buffer in best[2]}
    for buffer in maps:
        buffer.address = addresses[buffer.name]
    return best[1], best[2]


def _group_named(plan: Plan, message: str) -> int:
    """The group whose buffer had no room: the message begins with its name."""
    starts = [(f"{group.name}:", f"{group.name} ") for group in plan.groups]
    return next((n for n, start in enumerate(starts) if message.startswith(start)), 0)


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

    def run(self, buffers: list[Buffer]) -> Schedule:
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
        steps = [Step(group, plan.segment_of[n].way.value, constants.mapping(plan, n), constants.filters_at,
                      tuple(passes[n]), constants.cycles(plan, n))
                 for n, (group, constants) in enumerate(zip(plan.groups, self.constants))]
        output = replace(result, ring_rows=result.rows, shift=0)
        commands = [*hoist_loads(self.timeline.commands), End()]
        output_address = self._spilled[len(plan.groups) - 1]
        return Schedule(plan, buffers, commands, self.dram, steps, source, self.input_address, output,
                        output_address)

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
            source, made, group.window, blocks, group.source.zero_point, group.table.output,
            constants.filters_of(first), constants.depthwise_address, group.middle.output if group.middle else Output(), pool,
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
