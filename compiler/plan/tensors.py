# SPDX-License-Identifier: Apache-2.0
"""The maps between the groups of a network: where each one's rows live, and for how long."""

from dataclasses import replace

from eyrie.compiler.ir.buffer import Buffer, LiveRange, merged, whole
from eyrie.compiler.ir.divisions import sliced
from eyrie.compiler.ir.feature_map import FeatureMap, word_groups
from eyrie.compiler.ir.layer import Group
from eyrie.compiler.ir.maps import Map
from eyrie.compiler.ir.plan import SOURCE, Job, MapPlan, Plan, Segment
from eyrie.compiler.plan.bounds import Bounds
from eyrie.compiler.plan.flow import OUTSIDE, Flow
from eyrie.compiler.plan.joins import Joins, row_lives
from eyrie.compiler.plan.mappings import first_tile
from eyrie.model.config import AcceleratorConfig


def plan_maps(groups: list[Group], segments: list[Segment], config: AcceleratorConfig, stores_overlap: bool) -> Plan:
    """Lifetimes of all maps; places nothing. stores_overlap: a map that is stored keeps its words beside the job
    behind it, so that this need not wait for the store, where the next segment leaves room for them; as well, rows of
    inputs that several passes read come early."""
    free = [config.glb_words - Bounds(s, config).planned_words if stores_overlap else 0 for s in segments]
    free_in = dict(zip((s.first for s in segments), free))
    free_behind = dict(zip((s.last - 1 for s in segments), [*free[1:], config.glb_words * stores_overlap]))
    jobs = [job for segment in segments for job in segment.jobs]
    segment_of = [segment for segment in segments for _ in segment.groups]
    flow = Flow(tuple(groups))
    early = {n: tile for n, segment in enumerate(segment_of) if (tile := first_tile(groups[n], segment, config))}
    read: list[MapPlan] = []
    made: list[MapPlan] = []
    others: list[tuple[MapPlan, ...]] = []
    joins = Joins(jobs, flow)
    for n, group in enumerate(groups):
        segment = segment_of[n]
        nest = segment.nest
        shared = {number for reader, number in segment.readers.get(SOURCE, ()) if segment.first + reader == n}
        if segment.is_load:
            read.append(joins.made(n))
        elif n == segment.first and nest.from_dram:
            before = segment_of[n - 1].nest
            in_planes = n > 0 and not before.rows and not before.whole  # tiles of filters lie one after the other
            read.append(_fetched(jobs, n, group, segment, in_planes, n in early, free_in[n]))
        elif 0 in shared:
            read.append(read[segment.first])
        else:
            read.append(joins.read(group.source, group.image, made[flow.makers[n][0]]))
        others.append(
            tuple(
                read[segment.first] if number in shared else _beside(jobs, n, number, flow, segment_of, made, joins)
                for number in range(1, len(group.operands))
            )
        )
        if nest.in_place:
            made.append(_in_place(groups, n, read[-1], segment))
        elif n + 1 < segment.last:
            made.append(_between(jobs, n, group, segment))
        elif segment.parts_of(n) > 1 and nest.to_dram:
            made.append(_slices(jobs, n, group, segment))
        elif nest.to_dram and nest.rows:
            made.append(_staged(jobs, n, group, segment, free_behind.get(n, 0)))
        elif not nest.to_dram and not flow.passed_on(n):
            made.append(joins.made(n) if group.output.part else _held(jobs, n, flow))
        else:
            made.append(_kept(jobs, n, groups, segment_of, early, free_behind.get(n, 0)))
    return Plan(groups, segments, jobs, segment_of, read, made, others, early, stores_overlap)


def _until(jobs: list[Job], n: int, words: int, free: int) -> int:
    """The last time of words on their way to DRAM: with the job behind the group's, if so many are free beside it."""
    return min(span(jobs, n)[1] + (2 if words <= free else 0), 2 * len(jobs) - 1)


def _draft(map_: Map, ring_rows: int, images: int = 0) -> FeatureMap:
    return replace(map_.layout, ring_rows=ring_rows, images=max(images, 1))


def _whole(group: Group) -> FeatureMap:
    """A group's output as a whole."""
    return _draft(group.output, group.output.shape[0], group.images)


def span(jobs: list[Job], *groups: int) -> tuple[int, int]:
    """First and last time of the groups' jobs."""
    places = [place for place, job in enumerate(jobs) if job.group in groups]
    return 2 * places[0], 2 * places[-1] + 1


def _fetched(
    jobs: list[Job], n: int, group: Group, segment: Segment, in_planes: bool, early: bool, free: int
) -> MapPlan:
    """Return the plan of an input that comes from DRAM: row by row; whole if it has several images; or in channel
    tiles, which alternate between two places. free: words beside the segment"""
    rows = group.source.shape[0] if group.images else segment.input_ring_rows()
    if not group.images and (more := segment.early_input_rows() - rows) > 0:
        room = max(free, 0) // group.source.layout.row_words
        if more <= room:
            rows += more
        elif not segment.nest.ahead:
            rows += room
    if segment.tiling_of(n).channels > 1:
        layout = _draft(sliced(group, segment.parts_of(n)).source, rows)
        return MapPlan(layout, whole(group.name, "input slices", 2 * layout.words, *span(jobs, n), loaded=True))
    layout = _draft(group.source, rows, group.images)
    layout = replace(layout, planar=in_planes or layout.planar)
    first, last = span(jobs, *segment.reading(SOURCE))
    return MapPlan(layout, whole(group.name, "input", layout.words, first, last - early, loaded=True))


def _beside(
    jobs: list[Job], n: int, number: int, flow: Flow, segment_of: list[Segment], made: list[MapPlan], joins: "Joins"
) -> MapPlan:
    """An operand of group n beside its source: the map in the GLB, or, where it comes from DRAM, the rows that are
    needed; a group in slices has two places for them, each for every other job."""
    group, maker, segment = flow.groups[n], flow.makers[n][number], segment_of[n]
    other = group.operands[number]
    if maker >= segment.first or (maker != OUTSIDE and not segment_of[maker].nest.to_dram):
        return joins.read(other, group.image, made[maker])
    rows, slices = segment.operand_rows(n, other.shape[0]), segment.parts_of(n)
    if slices > 1:
        layout = _draft(replace(other, shape=(*other.shape[:2], other.shape[2] // slices)), rows)
        return MapPlan(
            layout, whole(group.name, f"operand {number + 1} slices", 2 * layout.words, *span(jobs, n), loaded=True)
        )
    layout = _draft(other, rows, group.images)
    return MapPlan(layout, whole(group.name, f"operand {number + 1}", layout.words, *span(jobs, n), loaded=True))


def _held(jobs: list[Job], n: int, flow: Flow) -> MapPlan:
    """Return the plan of a whole feature map that several groups read: each row from the job that writes it to the last
    one that reads it."""
    group, readers = flow.groups[n], flow.readers[n]
    layout = _whole(group)
    if group.images or group.output.planar:
        life = span(jobs, n)[0], span(jobs, readers[-1])[1]
        return MapPlan(layout, whole(group.name, "output", layout.words, *life))
    lives = row_lives(jobs, n, flow)
    return MapPlan(layout, Buffer(group.name, "output", _by_row(lives, layout.row_words)))


def _between(jobs: list[Job], n: int, group: Group, segment: Segment) -> MapPlan:
    """A ring of rows, each from the first job that writes it to the last that reads it, or of planes, all together; the
    map's last row lies at the end: what is loaded first of the constants behind lies at the beginning."""
    own = n - segment.first
    layout = _draft(group.output, segment.ring_rows(own))
    life = span(jobs, n, *segment.reading(own))
    if segment.nest.tilings[0].channels > 1:  # so that a channel tile lies in one piece
        layout = replace(layout, planar=True)
        return MapPlan(layout, whole(group.name, "output rows", layout.words, *life))
    layout = replace(layout, shift=-layout.rows % layout.ring_rows)
    if layout.planar:  # a row has words in every plane
        return MapPlan(layout, whole(group.name, "output rows", layout.words, *life))
    lives = [(2 * len(jobs), 0)] * layout.ring_rows
    for place, job in enumerate(jobs):
        touched = (job.first, job.last) if job.group == n else segment.rows_read(job, own) or (0, 0)
        for row in range(*touched):
            slot = (row + layout.shift) % layout.ring_rows
            birth, death = lives[slot]
            lives[slot] = min(birth, 2 * place), max(death, 2 * place + 1)
    return MapPlan(layout, Buffer(group.name, "output rows", _by_row(lives, layout.row_words)))


def _slices(jobs: list[Job], n: int, group: Group, segment: Segment) -> MapPlan:
    """Return the plan of an output that goes to DRAM in filter or channel tiles: two have space, one of them is stored.

    The layout is the layout of a tile. A reader of the output gets it after the last store, so that it may take the
    space.
    """
    part, whole_map = sliced(group, segment.parts_of(n)), not segment.nest.rows
    rows = part.output.shape[0]
    layout = _draft(part.output, rows if whole_map else min(segment.nest.rows, rows), group.images)
    layout = replace(layout, planar=whole_map or layout.planar)
    return MapPlan(layout, whole(group.name, "output slices", 2 * layout.words, *span(jobs, n)))


def _staged(jobs: list[Job], n: int, group: Group, segment: Segment, free: int) -> MapPlan:
    """An output on its way to DRAM: two row tiles, one of them being stored. free: words beside the job behind it."""
    layout = _draft(group.output, min(group.output.shape[0], 2 * segment.nest.rows))
    end = _until(jobs, n, layout.words, free)
    return MapPlan(layout, whole(group.name, "output row tiles", layout.words, span(jobs, n)[0], end))


def _kept(
    jobs: list[Job], n: int, groups: list[Group], segment_of: list[Segment], early_tile: dict[int, int], free: int
) -> MapPlan:
    """A whole map that stays, each row from the job that writes it to the last one that reads it; planes
    between groups that run whole, from the tile of filters that writes them. free: words beside the job behind a
    store."""
    group, to_dram = groups[n], segment_of[n].nest.to_dram
    rows = group.output.shape[0]
    if to_dram:
        layout = _whole(group)
        if n + 1 < len(groups) and group.output in (groups[n + 1].source, *groups[n + 1].others):
            free = 0  # its reader gets it behind the store
        end = _until(jobs, n, layout.words, free)
        return MapPlan(layout, whole(group.name, "output", layout.words, span(jobs, n)[0], end))
    following = segment_of[n + 1]
    death = 2 * (span(jobs, n + 1)[1] // 2) if n + 1 in early_tile else span(jobs, n + 1)[1]
    if not following.nest.in_place and (group.output.planar or (segment_of[n].nest.whole and following.nest.whole)):
        layout = replace(_whole(group), planar=True)
        birth = span(jobs, n)[0]
        early = min(early_tile[n] // 8, layout.groups) * layout.group_step if n in early_tile else layout.words
        parts = [LiveRange(0, early, birth, death)]
        if early < layout.words:
            parts.append(LiveRange(early, layout.words - early, birth + 1, death))
        return MapPlan(layout, Buffer(group.name, "output", parts))
    if group.images or group.output.planar:
        layout = _whole(group)
        life = span(jobs, n)[0], span(jobs, _reader(n, segment_of))[1]
        return MapPlan(layout, whole(group.name, "output", layout.words, *life))
    layout = _draft(group.output, rows + following.slack)
    lives = []
    for y in range(rows):
        birth = min(p for p, job in enumerate(jobs) if job.group == n and (group.averaged or job.first <= y < job.last))
        readers = [p for p, job in enumerate(jobs) if job.group == n + 1 and job.reads[0] <= y < job.reads[1]]
        last = 2 * max(readers, default=birth) + 1
        lives.append((2 * birth, death if following.nest.whole else last))
    if following.nest.in_place:
        reader = _reader(n, segment_of)
        death = span(jobs, reader)[1] - (reader in early_tile)
        lives = [(birth, death) for birth, _ in lives] + [(span(jobs, n + 1)[0], death)] * following.slack
    return MapPlan(layout, Buffer(group.name, "output", _by_row(lives, layout.row_words)))


def _reader(n: int, segment_of: list[Segment]) -> int:
    """The last group that works on the words of map n: the next one all that do so in place."""
    last = n + 1
    while segment_of[last].nest.in_place and not segment_of[last].nest.to_dram:
        last += 1
    return last


def _by_row(lives: list[tuple[int, int]], row_words: int) -> list[LiveRange]:
    """Return the words of rows with these lifetimes."""
    return merged([LiveRange(row * row_words, row_words, *life) for row, life in enumerate(lives)])


def _in_place(groups: list[Group], n: int, source: MapPlan, segment: Segment) -> MapPlan:
    layout = replace(
        source.layout, shift=source.layout.shift - segment.slack, groups=word_groups(groups[n].output.shape[2])
    )
    return MapPlan(layout, source.buffer)
