# SPDX-License-Identifier: Apache-2.0
"""Segments that were not chosen here: whether they are such as could have been."""

from dataclasses import replace

from eyrie.compiler.ir.failure import Unsupported
from eyrie.compiler.ir.layer import Group
from eyrie.compiler.ir.plan import Segment
from eyrie.compiler.plan.flow import Flow
from eyrie.compiler.plan.segments import next_from_dram, possible_segments


def check_segments(groups: list[Group], segments: list[Segment]) -> None:
    """Raises Unsupported unless the segments are all groups of one network in their order, each in a way that its
    groups can run, with stripes of any height."""
    place, stored = 0, {n for n, segment in _ends(segments) if segment.to_dram}
    for segment in segments:
        if segment.first != place or not place < segment.last <= len(groups):
            raise Unsupported(
                f"a segment of groups {segment.first} to {segment.last}, of {len(groups)} the next is {place}",
                remedy="let each segment begin where the one before ends",
            )
        if len(segment.network) != len(groups) or any(mine is not own for mine, own in zip(segment.network, groups)):
            raise Unsupported(
                f"the segment of groups {segment.first} to {segment.last} is of other groups",
                remedy="name the same ones in all",
            )
        place = segment.last
    if place != len(groups):
        raise Unsupported(
            f"no segment has group {groups[place].name}", layer=groups[place].name, remedy="add one behind the last"
        )
    flow = Flow(tuple(groups))
    flow = replace(flow, in_dram=frozenset(groups[n].output.name for n in stored if flow.held(n)))
    for before, segment in zip([None, *segments], segments):
        from_dram = before is None or next_from_dram(flow, before)
        if segment.from_dram != from_dram:
            where = "DRAM" if from_dram else "the GLB"
            raise Unsupported(
                f"group {groups[segment.first].name}: what it reads comes from {where}",
                layer=groups[segment.first].name,
                remedy=f"let its segment have from_dram={from_dram}",
            )
        _check(flow, segment)


def _ends(segments: list[Segment]) -> list[tuple[int, Segment]]:
    """The last group of each."""
    return [(segment.last - 1, segment) for segment in segments]


def _check(flow: Flow, segment: Segment) -> None:
    name, last = flow.groups[segment.first].name, segment.groups[-1]
    if not 0 <= segment.rows <= last.map_shape[0] or (
        segment.rows % last.together and segment.rows < last.map_shape[0]
    ):
        raise Unsupported(
            f"group {name}: stripes of {segment.rows} rows, of {last.map_shape[0]}, of which "
            f"{last.together} are made together",
            layer=name,
            remedy="give other rows",
        )
    kinds = ((_kind(each), each.rows > 0) for each in possible_segments(flow, segment.first, segment.from_dram))
    if (_kind(segment), segment.rows > 0) not in kinds:
        raise Unsupported(
            f"group {name}: no segment of groups {segment.first} to {segment.last} can be as this one is",
            layer=name,
            remedy="change no more than rows of one that eyrie ir writes",
        )


def _kind(segment: Segment) -> tuple:
    """What it is, however high its stripes are."""
    return segment.last, *(value for n, value in enumerate(segment.choices) if n != 1)
