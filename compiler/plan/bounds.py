# SPDX-License-Identifier: Apache-2.0
"""What a segment needs in the GLB at least, and what it costs the planner: estimates, before anything is placed."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise

from eyrie.compiler.cost.prices import PJ_PER_DRAM_BYTE
from eyrie.compiler.ir.divisions import sliced
from eyrie.compiler.ir.feature_map import word_groups
from eyrie.compiler.ir.layer import Depthwise, Filtered, Group, Separable
from eyrie.compiler.ir.maps import Map
from eyrie.compiler.ir.plan import SOURCE, Job, Segment
from eyrie.compiler.plan.filters import in_turn, least_words, resident_words, smallest_words
from eyrie.compiler.plan.mappings import access_of, first_tile, mappings_of
from eyrie.compiler.target.mapping import Mapping
from eyrie.compiler.target.times import BETWEEN, TURN, WRITTEN, late, port_words, ready
from eyrie.model.config import GLB_WORD_BYTES, AcceleratorConfig
from eyrie.model.encoding import PARAMETER_WORDS, depthwise_group_words

LEAST_CHUNK_WORDS = 256  # of filters that are on their way
RING_CHUNKS = 4  # largest chunks that hide the latency of the DRAM
AGAIN_PRICE = 0.5  # of a cycle of a port that is always busy, for maps and for filters that come again
LEAKAGE_PJ = 0.25  # a cycle: 50 uW at 200 MHz

Peaks = tuple[float, float]  # GLB words at least: with all constants, and with one slice of them at a time; or infinite


def constant_words(group: Group, config: AcceleratorConfig) -> int:
    """Depthwise words, tables, those of operations, and all filters."""
    return _shared_words(group) + (resident_words(group, config) if isinstance(group, Filtered) else 0)


def _shared_words(group: Group, slices: int = 1) -> int:
    """Depthwise words, tables, and those of operations; slices: in which they come in turn."""
    words = sum(operation.constant_words for operation in group.operations)
    if isinstance(group, (Depthwise, Separable)):
        all_groups = word_groups(group.depthwise.shape[-1]) * depthwise_group_words(group.window.dense)
        words += in_turn(all_groups, slices if isinstance(group, Depthwise) else 1)
    if isinstance(group, Filtered):
        words += in_turn(word_groups(len(group.filters)) * PARAMETER_WORDS, slices)
    return words


def least_constant_words(segment: Segment, config: AcceleratorConfig) -> int:
    """Return GLB words that the constants of one of its groups take in any case: a bound that is fast to compute."""
    nest = segment.nest
    return max(
        min(_shared_words(group), _shared_words(group, nest.tilings[n].parts))
        + (resident_words(group, config) if isinstance(group, Filtered) and not nest.streams_filters(n) else 0)
        for n, group in enumerate(segment.groups)
    )


@dataclass(frozen=True)
class Bounds:
    """Estimates of a segment on an accelerator; all raise DoesNotFit if no mapping is legal.

    known_peaks: `own_peaks`, if they are known
    """

    segment: Segment
    config: AcceleratorConfig
    known_peaks: Peaks | None = None

    @cached_property
    def _parts(self) -> list[Group]:
        """Of which the jobs of each group are."""
        segment = self.segment
        return [sliced(group, segment.parts_of(n)) for n, group in enumerate(segment.groups, segment.first)]

    @cached_property
    def _least_filters(self) -> int:
        """Of a group whose filters come for each job: words that the mapping that needs least keeps."""
        segment, part = self.segment, self._parts[-1]
        if not isinstance(part, Filtered):
            return 0
        rows = segment.nest.rows or segment.groups[-1].map_shape[0]
        return smallest_words(self.config, part, rows, access_of(segment, segment.last - 1))

    @property
    def _room_for_filters(self) -> int:
        """Return the GLB words that filters that come while a job runs may take at the fullest moment."""
        return self.config.glb_words - self.peak_words + self._least_filters

    @property
    def peak_words(self) -> int:
        """A lower bound of the GLB words in use at the fullest moment."""
        return int(self.peaks[self.in_turn])

    @property
    def in_turn(self) -> bool:
        """Whether slices of tables and of depthwise words come in turn, since there is no room for all of them."""
        return in_turn_of(self.peaks, self.config)

    @cached_property
    def peaks(self) -> Peaks:
        """peak_words with all tables and depthwise words, and with slices of them in turn."""
        whole, least = self.known_peaks or self.own_peaks
        return self.segment.beside + whole, self.segment.beside + least

    @property
    def own_peaks(self) -> Peaks:
        """`peaks` without the feature maps that are there beside the segment."""
        slices = [tiling.parts for tiling in self.segment.nest.tilings]
        whole = self._peak([1] * len(slices))
        return whole, self._peak(slices) if max(slices) > 1 else whole

    def _peak(self, slices: list[int]) -> int:
        """slices: of each group, in which its tables or depthwise words come in turn."""
        segment, groups, nest = self.segment, self.segment.groups, self.segment.nest
        constants = [*map(_shared_words, groups, slices)]
        for n, group in enumerate(groups):
            if isinstance(group, Filtered):
                streams = nest.streams_filters(n)
                constants[n] += self._least_filters if streams else resident_words(group, self.config)
        if nest.tilings[0].channels > 1:
            part = self._parts[0]
            constants[0] += 2 * segment.input_ring_rows() * part.source.layout.row_words
            if len(groups) == 1:
                tiles, whole_map = 2 * nest.rows * part.output.layout.row_words, groups[0].output.layout.words
                return constants[0] + (tiles if nest.to_dram else whole_map)
        if nest.rows and not nest.in_place:
            return self._most_words_of_jobs(constants)
        images, row = max(groups[0].images, 1), groups[0].source.layout.row_words
        source = images * sum(self._operand(n, number).layout.words for n, number in segment.freed)
        made = images * groups[0].output.layout.words
        if nest.in_place:
            return constants[0] + source + row * segment.slack
        if groups[0].images and (tile := first_tile(groups[0], segment, self.config)):
            made = made * tile // groups[0].output.shape[2]  # the rest may take the input's words
        return constants[0] + source + (made if nest.whole else 2 * made // nest.tilings[0].parts)

    def _most_words_of_jobs(self, constants: list[int]) -> int:
        """Return the words in the GLB during the fullest job of a segment with row tiles."""
        segment, groups, jobs, nest = self.segment, self.segment.groups, self.segment.jobs, self.segment.nest
        parts, stored, behind = nest.tilings[-1].parts, 2 * nest.rows, segment.last - 1
        made_row, words = groups[-1].output.layout.row_words, self._unread_words()
        for place, step in enumerate(accumulate(self._steps(constants))):
            words[place] += step
        made = groups[-1].map_shape[0] if groups[-1].output.planar and not nest.to_dram else 0
        most = 0
        for there, job in zip(words, jobs):
            if job.group == behind:
                made = stored if parts > 1 else max(made, job.last)
            there += (stored if nest.to_dram and stored < made else made) * made_row // parts
            if there > most:
                most = there
        return most

    def _steps(self, constants: list[int]) -> list[int]:
        """Return by how many words of constants and of rows between two groups more are there from each job on."""
        segment, begin, end = self.segment, dict[int, int](), dict[int, int]()  # first and last job of each group
        for place, job in enumerate(segment.jobs):
            begin.setdefault(job.group, place)
            end[job.group] = place
        steps = [0] * (len(segment.jobs) + 1)
        for n, (group, words) in enumerate(zip(segment.groups, constants), segment.first):
            steps[begin[n]] += words
            steps[end[n] + 1] -= words
            if n + 1 < segment.last:
                ring = segment.ring_rows(n - segment.first) * group.output.layout.row_words
                steps[begin[n]] += ring
                steps[end[max(segment.reading(n - segment.first))] + 1] -= ring
        return steps[:-1]

    def _operand(self, n: int, number: int) -> Map:
        """Return an operand of pass n; number: 0 for the source."""
        group = self.segment.groups[n]
        return group.operands[number]

    def _unread_words(self) -> list[int]:
        """Return the words of freed operands that are in the GLB during each job of a segment with row tiles; 0 if
        channel tiles of the source come."""
        segment = self.segment
        total = [0] * len(segment.jobs)
        for n, number in segment.freed if segment.nest.tilings[0].channels == 1 else ():
            operand = self._operand(n, number)
            height, row_words, pass_, words = operand.shape[0], operand.layout.row_words, segment.first + n, 0
            whole = operand.planar or segment.groups[n].broadcasts(number)
            from_dram = number == 0 and segment.nest.from_dram
            rows = segment.input_ring_rows() if from_dram else height if whole else 0
            place = len(total)
            for job in reversed(segment.jobs):
                place -= 1
                if job.group == pass_ or (from_dram and segment.rows_read(job, SOURCE)):
                    words = (rows or height - (job.first if number else job.reads[0])) * row_words
                total[place] += words
        return total

    @cached_property
    def _mappings(self) -> dict[tuple[int, int], Mapping]:
        """Of each group's jobs, by the group's number and the rows."""
        kinds = {(job.group, job.last - job.first) for job in self.segment.jobs}
        return {(n, rows): self._mapping(n, rows) for n, rows in kinds}

    def _mapping(self, n: int, rows: int) -> Mapping:
        """The cheapest; where filters come while a job runs, the cheapest whose filters may fit: those of a tile stay
        for all inner blocks of pixels, all of them for all outer blocks."""
        group, segment = self._parts[n - self.segment.first], self.segment
        found = mappings_of(self.config, group, rows, access_of(segment, n))
        if not segment.nest.streams_filters(n - segment.first) or not isinstance(group, Filtered):
            return found[0]
        rest = self._room_for_filters - LEAST_CHUNK_WORDS
        return next((m for m in found if least_words(group, m) <= rest), None) or min(
            found, key=lambda m: least_words(group, m)
        )

    @property
    def streamed_words(self) -> int:
        """Return the GLB words for filters that come while the last pass runs; 0 if all filters are resident. Refetched
        filters get a ring that hides the latency of the DRAM."""
        group, last, nest = self._parts[-1], self.segment.last - 1, self.segment.nest
        if not nest.streams_filters(last - self.segment.first) or not isinstance(group, Filtered):
            return 0
        words = max(least_words(group, self._mapping_of(job)) for job in self.segment.jobs if job.group == last)
        wanted = words + LEAST_CHUNK_WORDS
        if nest.refetch:
            wanted = max(wanted, min(words + RING_CHUNKS * LEAST_CHUNK_WORDS, resident_words(group, self.config)))
        return min(wanted, self._room_for_filters)

    @property
    def planned_words(self) -> int:
        """Return the GLB words in use at the fullest moment with the planned mapping."""
        return self.peak_words + max(self.streamed_words - self._least_filters, 0)

    def _mapping_of(self, job: Job) -> Mapping:
        return self._mappings[job.group, job.last - job.first]

    @cached_property
    def array_cycles(self) -> int:
        """Of its jobs, if nothing but the array holds them up."""
        cycles = {job: mapping.cycles for job, mapping in self._mappings.items()}
        return sum([cycles[job.group, job.last - job.first] for job in self.segment.jobs])

    @property
    def last_cycles(self) -> int:
        """Of the last job, if nothing but the array holds it up."""
        return self._mapping_of(self.segment.jobs[-1]).cycles

    @property
    def cycles(self) -> float:
        """The array's cycles, or the transfers', whichever are more."""
        return max(self._jobs_cycles, self._port_cycles)

    @property
    def port_excess(self) -> float:
        """Cycles by which the transfers take longer than the array."""
        return max(self._port_cycles - self._jobs_cycles, 0)

    @cached_property
    def _jobs_cycles(self) -> float:
        """The array's cycles, and those between jobs."""
        jobs = self.segment.jobs
        total: float = self.array_cycles + BETWEEN * len(jobs)
        for before, job in pairwise(jobs):
            rows = self.segment.rows_read(job, before.group - self.segment.first) if before.group < job.group else None
            if rows and before.last > rows[0] and before.first < rows[1]:
                total += self._drained(before)  # the rows of the job before have to be written first
        return total + self._input_waits + self._chunk_waits

    @cached_property
    def _port_cycles(self) -> float:
        segment, nest = self.segment, self.segment.nest
        cycles = self.dram_words // port_words(self.config)
        if nest.from_dram and nest.to_dram:
            cycles += TURN * self._passes
        if not nest.ahead and len(segment.groups) > 1:  # loads begin when a job has ended
            cycles += late(self.config) * sum(job.group == segment.first for job in segment.jobs)
        return cycles

    @property
    def _input_waits(self) -> float:
        """Return the cycles in which the array waits for an input that is not prefetched: after each job of the first
        pass come the rows for the next one, while the other passes run."""
        segment = self.segment
        if segment.nest.ahead:
            return 0
        waits = segment.groups[0].source.layout.words // port_words(self.config)
        if len(segment.groups) == 1:  # it waits for its filters meanwhile
            return waits
        for job in segment.jobs:
            is_first = job.group == segment.first
            waits += late(self.config) + self._drained(job) if is_first else -self._mapping_of(job).cycles
        return max(waits, 0)

    @property
    def _chunk_waits(self) -> int:
        """Return the cycles for which passes wait for refetched filters if their ring is small."""
        if not self.segment.nest.refetch:
            return 0
        ring = self._room_for_filters
        words = self._refetched_words
        if ring >= min(words, RING_CHUNKS * LEAST_CHUNK_WORDS):
            return 0
        return ready(self.config) * self._row_tiles * words // max(ring // RING_CHUNKS, 1)

    @property
    def _refetched_words(self) -> int:
        """Return the words of all filters of the last pass."""
        group = self.segment.groups[-1]
        return resident_words(group, self.config) if isinstance(group, Filtered) else 0

    @property
    def _row_tiles(self) -> int:
        """Return the row tiles, to each of which refetched filters come."""
        segment = self.segment
        return sum(job.group == segment.last - 1 for job in segment.jobs) // segment.nest.tilings[-1].parts

    @property
    def _passes(self) -> int:
        """Return the number of jobs, without the channel tiles in front of another pass."""
        segment = self.segment
        return sum(job.group == segment.last - 1 or segment.nest.lead > 0 for job in segment.jobs)

    def _drained(self, job: Job) -> int:
        """Cycles from a job's last multiplication until what it makes can be read."""
        mapping = self._mapping_of(job)
        return mapping.tile * mapping.blocks.pixels + WRITTEN

    @property
    def tail_cycles(self) -> int:
        """From the last multiplication until what it makes can be read."""
        return self._drained(self.segment.jobs[-1])

    @property
    def head_words(self) -> int:
        """Words that the first job waits for: of its input, if that comes from DRAM, and of the first group's
        constants."""
        group = self.segment.groups[0]
        return self.input_words + _shared_words(group) + (LEAST_CHUNK_WORDS if isinstance(group, Filtered) else 0)

    @property
    def input_words(self) -> int:
        """Words of its input from DRAM that the first job waits for."""
        first, last = self.segment.jobs[0].reads
        return (last - first) * self._parts[0].source.layout.row_words if self.segment.nest.from_dram else 0

    @property
    def stored_words(self) -> int:
        """Words that the last job stores."""
        job = self.segment.jobs[-1]
        words = (job.last - job.first) * self._parts[-1].output.layout.row_words
        return words if self.segment.nest.to_dram else 0

    @cached_property
    def map_words(self) -> int:
        """Of maps, from DRAM and to it."""
        segment, groups = self.segment, self.segment.groups
        words = groups[0].source.layout.words if segment.nest.from_dram else 0
        if segment.nest.tilings[0].channels > 1:  # halo rows come again
            rows = sum(job.reads[1] - job.reads[0] for job in segment.jobs if job.group == segment.first)
            words = rows * words // (groups[0].source.shape[0] * segment.parts_of(segment.first))
        words += groups[-1].output.layout.words if segment.nest.to_dram else 0
        return max(groups[0].images, 1) * words + segment.fetched

    @cached_property
    def dram_words(self) -> int:
        """Of maps and constants, from DRAM and to it."""
        words = self.map_words + sum(constant_words(group, self.config) for group in self.segment.groups)
        if self.segment.nest.refetch:
            words += (self._row_tiles - 1) * self._refetched_words
        return words + self._words_again

    @property
    def _words_again(self) -> int:
        """Return the words of tables and depthwise filters that each row tile after the first one loads again."""
        segment, words = self.segment, 0
        if self.in_turn:
            for n, group in enumerate(segment.groups, segment.first):
                jobs, slices = sum(job.group == n for job in segment.jobs), segment.parts_of(n)
                words += (jobs // slices - 1) * _shared_words(group) if slices > 1 else 0
        return words

    def cost(self, objective: str, port_busy: float) -> tuple[float, float]:
        """What `SegmentPlanner` adds up, the first entry before the second. port_busy: of `port_busy`."""
        if objective == "bytes":
            return self.dram_words, self.cycles
        if objective == "energy":
            picojoules = self.dram_words * GLB_WORD_BYTES * PJ_PER_DRAM_BYTE + self.cycles * LEAKAGE_PJ
            return picojoules, self.cycles
        again = self.dram_words - sum(constant_words(group, self.config) for group in self.segment.groups)
        return self.cycles + AGAIN_PRICE * port_busy**2 * again // port_words(self.config), self.dram_words


def in_turn_of(peaks: Peaks, config: AcceleratorConfig) -> bool:
    """`Bounds.in_turn` by `Bounds.peaks`."""
    return peaks[0] > config.glb_words and peaks[1] < peaks[0]


def port_busy(groups: Sequence[Group], config: AcceleratorConfig) -> float:
    """Share of the least time of a network in which the DRAM port brings constants, for an image by itself."""
    port = [constant_words(group, config) / port_words(config) for group in groups]
    array = [group.macs / config.total_multipliers for group in groups]
    return sum(port) / (sum(map(max, port, array)) or 1)
