"""The maps between the groups of a network: where each one's rows live, and for how long."""

from dataclasses import dataclass, replace

from compiler.groups import Group
from compiler.layout import FeatureMap, word_groups
from compiler.placement import Buffer, Part, whole
from compiler.segments import Job, Segment, Way


@dataclass
class MapPlan:
    """Map n of a network: the input of group n, the output of group n - 1.

    layout   in the GLB; its address counts once `buffer` is placed
    shares   the map whose buffer it shares (work in place)
    """

    layout: FeatureMap
    buffer: Buffer
    shares: "MapPlan | None" = None

    def placed(self) -> FeatureMap:
        return replace(self.layout, address=self.buffer.address)


@dataclass(frozen=True)
class Plan:
    """A network cut into segments: all jobs in order, and of each group its segment.

    read, made: of each group, how its input and its output lie. They differ where a map goes through DRAM.
    """

    groups: list[Group]
    segments: list[Segment]
    jobs: list[Job]
    segment_of: list[Segment]
    read: list[MapPlan]
    made: list[MapPlan]

    def buffers(self) -> list[Buffer]:
        """Of all maps, each once."""
        return list({id(m.buffer): m.buffer for m in [*self.read, *self.made]}.values())


def plan_maps(groups: list[Group], segments: list[Segment]) -> Plan:
    """Lifetimes of all maps; places nothing."""
    jobs = [job for segment in segments for job in segment.jobs]
    segment_of = [segment for segment in segments for _ in segment.groups]
    read: list[MapPlan] = []
    made: list[MapPlan] = []
    for n, group in enumerate(groups):
        segment = segment_of[n]
        read.append(_fetched(jobs, n, group, segment) if n == segment.first and segment.from_dram else made[-1])
        if segment.way is Way.IN_PLACE:
            made.append(_in_place(jobs, groups, n, read[-1], segment))
        elif n + 1 < segment.last:
            made.append(_between(jobs, n, group, segment))
        elif segment.to_dram and segment.way is Way.STRIPES:
            made.append(_staged(jobs, n, group, segment))
        else:
            following = segment_of[n + 1] if n + 1 < len(groups) else None
            made.append(_kept(jobs, n, group, following, segment.to_dram))
    return Plan(groups, segments, jobs, segment_of, read, made)


def _draft(shape: tuple[int, int, int], ring_rows: int) -> FeatureMap:
    rows, cols, channels = shape
    return FeatureMap(rows, cols, word_groups(channels), 0, ring_rows)


def _span(jobs: list[Job], *groups: int) -> tuple[int, int]:
    places = [place for place, job in enumerate(jobs) if job.group in groups]
    return places[0], places[-1]


def _fetched(jobs: list[Job], n: int, group: Group, segment: Segment) -> MapPlan:
    """An input that comes row by row from DRAM."""
    layout = _draft(group.source.shape, segment.input_ring_rows())
    return MapPlan(layout, whole(f"{group.name} input", layout.words, *_span(jobs, n), loaded=True))


def _between(jobs: list[Job], n: int, group: Group, segment: Segment) -> MapPlan:
    layout = _draft(group.output.shape, segment.ring_rows(n - segment.first))
    return MapPlan(layout, whole(f"{group.name} output rows", layout.words, *_span(jobs, n, n + 1)))


def _staged(jobs: list[Job], n: int, group: Group, segment: Segment) -> MapPlan:
    """An output on its way to DRAM: two stripes, one of them being stored."""
    layout = _draft(group.output.shape, min(group.output.shape[0], 2 * segment.rows))
    first, last = _span(jobs, n)
    return MapPlan(layout, whole(f"{group.name} output stripes", layout.words, first, min(last + 1, len(jobs) - 1)))


def _kept(jobs: list[Job], n: int, group: Group, following: Segment | None, to_dram: bool) -> MapPlan:
    """A whole map that stays: each row from the job that writes it to the last one that reads it."""
    rows = group.output.shape[0]
    slack = following.slack if following and not to_dram else 0
    layout = _draft(group.output.shape, rows + slack)
    lives = []
    end = len(jobs) - 1
    in_place = following is not None and following.way is Way.IN_PLACE and not to_dram
    for y in range(rows):
        birth = min(p for p, job in enumerate(jobs) if job.group == n and (group.pool_count or job.first <= y < job.last))
        readers = [p for p, job in enumerate(jobs) if job.group == n + 1 and job.reads[0] <= y < job.reads[1]]
        if in_place:
            readers = list(_span(jobs, n + 1, n + 2))
        death = min(birth + 1, end) if to_dram else max(readers, default=birth)
        lives.append((birth, death))
    if in_place:
        first, last = _span(jobs, n + 1)[0], lives[-1][1]
        lives += [(first, last)] * slack
    return MapPlan(layout, Buffer(f"{group.name} output", _merged(lives, layout.row_words)))


def _merged(lives: list[tuple[int, int]], row_words: int) -> list[Part]:
    """Parts of neighbouring rows with the same life."""
    parts: list[Part] = []
    for row, (birth, death) in enumerate(lives):
        if parts and (parts[-1].birth, parts[-1].death) == (birth, death):
            parts[-1] = replace(parts[-1], words=parts[-1].words + row_words)
        else:
            parts.append(Part(row * row_words, row_words, birth, death))
    return parts


def _in_place(jobs: list[Job], groups: list[Group], n: int, source: MapPlan, segment: Segment) -> MapPlan:
    layout = replace(source.layout, shift=source.layout.shift - segment.slack,
                     groups=word_groups(groups[n].output.shape[2]))
    return MapPlan(layout, source.buffer, source)
