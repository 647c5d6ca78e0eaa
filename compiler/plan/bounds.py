# SPDX-License-Identifier: Apache-2.0
"""What a segment needs in the GLB at least, and what it costs the planner: estimates, before anything is placed."""

from compiler.cost.prices import PJ_PER_DRAM_BYTE
from compiler.ir.feature_map import word_groups
from compiler.ir.layer import Depthwise, Filtered, Group, Separable, sliced
from compiler.ir.plan import Job, Segment, Way
from compiler.plan.filters import least_words, resident_words
from compiler.plan.mappings import first_tile, mappings_of
from compiler.target.mapping import Mapping
from model.config import GLB_WORD_BYTES, MachineConfig
from model.encoding import DEPTHWISE_GROUP_WORDS, TABLE_WORDS

COMING = (Way.WHOLE, Way.SLICES, Way.REFETCH)  # filters may come while a job runs, and need not be there whole
LEAST_CHUNK_WORDS = 256  # of filters that are on their way
JOB_OVERHEAD = 10  # cycles between two jobs
TURN = 150  # cycles of the DRAM port from loads to stores and back
READ_LATENCY = 100  # cycles until rows just written are multiplied
MAP_SHARE = 1
LEAKAGE_PJ = 0.25  # a cycle: 50 uW at 200 MHz


def constant_words(group: Group, machine: MachineConfig) -> int:
    """Depthwise words, tables, those of operations, and all filters."""
    return _shared_words(group) + (resident_words(group, machine) if isinstance(group, Filtered) else 0)


def _shared_words(group: Group) -> int:
    """Depthwise words, tables, and those of operations."""
    words = sum(operation.constant_words for operation in group.operations)
    if isinstance(group, (Depthwise, Separable)):
        words += word_groups(group.depthwise.shape[-1]) * DEPTHWISE_GROUP_WORDS
    if isinstance(group, Filtered):
        words += word_groups(len(group.filters)) * TABLE_WORDS
    return words


def _least_filter_words(segment: Segment, machine: MachineConfig) -> int:
    """Of a group whose filters come for each job: what the mapping that needs least keeps. Raises DoesNotFit where
    there is no mapping."""
    group = segment.groups[0]
    if not isinstance(group, Filtered):
        return 0
    found = mappings_of(machine, sliced(group, segment.slices), segment.rows or group.map_shape[0], segment.way)
    return min(least_words(group, mapping) for mapping in found)


def peak_words(segment: Segment, machine: MachineConfig) -> int:
    """A lower bound of the GLB words in use at the fullest moment. Raises DoesNotFit where there is no mapping."""
    groups, jobs = segment.groups, segment.jobs
    if segment.way in COMING:
        constants = [_shared_words(groups[0]) + _least_filter_words(segment, machine)]
    else:
        constants = [constant_words(group, machine) for group in groups]
    if segment.way is Way.CHANNELS:
        part = sliced(groups[0], segment.slices)
        rows = segment.input_ring_rows() * part.source.layout.row_words + segment.rows * part.output.layout.row_words
        return segment.beside + constants[0] + 2 * rows
    if segment.way not in (Way.STRIPES, Way.REFETCH):
        images, row = max(groups[0].images, 1), groups[0].source.layout.row_words
        source, made = (images * tensor.layout.words for tensor in (groups[0].source, groups[0].output))
        if segment.way is Way.IN_PLACE:
            return segment.beside + constants[0] + source + row * segment.slack
        if groups[0].images and (tile := first_tile(groups[0], segment.way, machine)):
            made = made * tile // groups[0].output.shape[2]  # the rest may take the input's words
        return segment.beside + constants[0] + source + (made if segment.slices == 1 else 2 * made // segment.slices)
    rings = [segment.ring_rows(n) * group.output.layout.row_words for n, group in enumerate(groups[:-1])]
    source_row, made_row = groups[0].source.layout.row_words, groups[-1].output.layout.row_words
    spans = [[p for p, job in enumerate(jobs) if job.group == segment.first + n] for n in range(len(groups))]
    unread = _unread_rows(segment)
    most = done = 0
    for place, job in enumerate(jobs):
        words = sum(c for c, span in zip(constants, spans) if span[0] <= place <= span[-1])
        words += sum(ring for n, ring in enumerate(rings) if spans[n][0] <= place <= spans[n + 1][-1])
        words += unread[place] * source_row
        if job.group == segment.last - 1:
            done = job.last if segment.slices == 1 else 2 * segment.rows
        words += (min(2 * segment.rows, done) if segment.to_dram else done) * made_row // segment.slices
        most = max(most, words)
    return segment.beside + most


def _unread_rows(segment: Segment) -> list[int]:
    """For each job of a segment that goes stripe by stripe, the rows of its source that are there."""
    height, ring = segment.groups[0].source.shape[0], segment.input_ring_rows() if segment.from_dram else 0
    rows, found = 0, []
    for job in reversed(segment.jobs):
        if job.group == segment.first:
            rows = ring or height - job.reads[0]
        found.append(rows)
    return found[::-1]


def segment_cycles(segment: Segment, machine: MachineConfig) -> int:
    """Estimate: the array's cycles, or the transfers', whichever are more."""
    total, before, drain = 0, None, 0
    for job in segment.jobs:
        mapping = _mapping_of_job(segment, machine, job)
        total += mapping.cycles + JOB_OVERHEAD
        if before and before.group + 1 == job.group and before.last > job.reads[0] and before.first < job.reads[1]:
            total += drain + READ_LATENCY  # the rows of the job before have to be written first
        before, drain = job, mapping.tile * mapping.blocks.pixels
    turns = TURN * len(segment.jobs) if segment.from_dram and segment.to_dram else 0
    return max(total, dram_words(segment, machine) // machine.bus_words + turns)


def head_words(segment: Segment, machine: MachineConfig) -> int:
    """Words that the first job waits for: of its input, if that comes from DRAM, and of the first group's constants."""
    group, job = segment.groups[0], segment.jobs[0]
    words = _shared_words(group) + (LEAST_CHUNK_WORDS if isinstance(group, Filtered) else 0)
    if segment.from_dram:
        words += (job.reads[1] - job.reads[0]) * group.source.layout.row_words // (
            segment.slices if segment.way is Way.CHANNELS else 1)
    return words


def tail_cycles(segment: Segment, machine: MachineConfig) -> int:
    """From the last multiplication until what it makes can be read."""
    mapping = _mapping_of_job(segment, machine, segment.jobs[-1])
    return mapping.tile * mapping.blocks.pixels + READ_LATENCY


def _mapping_of_job(segment: Segment, machine: MachineConfig, job: Job) -> Mapping:
    return _mapping(segment, machine, sliced(segment.network[job.group], segment.slices), job.last - job.first)


def _mapping(segment: Segment, machine: MachineConfig, group: Group, rows: int) -> Mapping:
    """The cheapest; where filters come while a job runs, the cheapest whose filters may fit: those of a tile stay for
    all inner blocks of pixels, all of them for all outer blocks."""
    found = mappings_of(machine, group, rows, segment.way)
    if segment.way not in COMING or not isinstance(group, Filtered):
        return found[0]
    rest = machine.glb_words - peak_words(segment, machine) + _least_filter_words(segment, machine)
    for mapping in found:
        if least_words(group, mapping) + LEAST_CHUNK_WORDS <= rest:
            return mapping
    return min(found, key=lambda m: least_words(group, m))


def map_dram_words(segment: Segment) -> int:
    words = segment.groups[0].source.layout.words if segment.from_dram else 0
    if segment.way is Way.CHANNELS:  # halo rows come again
        words = sum(job.reads[1] - job.reads[0] for job in segment.jobs) * words // (
            segment.groups[0].source.shape[0] * segment.slices)
    words += segment.groups[-1].output.layout.words if segment.to_dram else 0
    return max(segment.groups[0].images, 1) * words + segment.fetched


def dram_words(segment: Segment, machine: MachineConfig) -> int:
    words = map_dram_words(segment) + sum(constant_words(group, machine) for group in segment.groups)
    if segment.way is Way.REFETCH:
        stripes = len(segment.jobs) // segment.slices
        words += (stripes - 1) * resident_words(segment.groups[0], machine)
    return words


def segment_cost(segment: Segment, machine: MachineConfig, objective: str) -> tuple[float, float]:
    """What `SegmentPlanner` adds up, the first entry before the second."""
    cycles, words = segment_cycles(segment, machine), dram_words(segment, machine)
    if objective == "bytes":
        return words, cycles
    if objective == "energy":
        return words * GLB_WORD_BYTES * PJ_PER_DRAM_BYTE + cycles * LEAKAGE_PJ, cycles
    return cycles + map_dram_words(segment) // (MAP_SHARE * machine.bus_words), words
