# SPDX-License-Identifier: Apache-2.0
"""What is true of any plan, and of any placement of its buffers."""

import numpy as np

from eyrie.compiler.ir.failure import InternalError
from eyrie.compiler.ir.feature_map import FeatureMap
from eyrie.compiler.ir.maps import Map
from eyrie.compiler.ir.plan import Job, Plan
from eyrie.compiler.plan.flow import OUTSIDE, Flow
from eyrie.compiler.plan.search import Placed
from eyrie.model.config import AcceleratorConfig


def verify_plan(plan: Plan) -> None:
    """Raises InternalError unless the segments are all groups in their order, the jobs of a group make all of its rows
    once, in order, and all slices of its filters, what a job reads has been made before, and maps that go through DRAM
    lie in the GLB as they do there. Within a segment the last rows are left out where the next group reads none.
    """
    _verify_segments(plan)
    _verify_planes(plan)
    writers = Flow(tuple(plan.groups)).writers
    heights = [group.map_shape[0] for group in plan.groups]
    rows, slices = [0] * len(heights), [0] * len(heights)  # rows made in all slices, and slices of the next ones
    for job in plan.jobs:
        n = job.group
        name = plan.groups[n].name
        expected = rows[n], slices[n]
        if (job.first, job.part) != expected or not job.first < job.last <= heights[n]:
            raise InternalError(
                f"group {name}: a job makes rows {job.first} to {job.last} of slice {job.part}, the "
                f"next ones of {heights[n]} are from {expected[0]} on, of slice {expected[1]}"
            )
        _verify_reads(plan, job)
        for operand, makers in enumerate(writers[n]):
            for maker in makers:
                if maker != OUTSIDE and not _is_made(plan, job, operand, rows[maker], maker):
                    raise InternalError(
                        f"group {name}: a job from row {job.first} on reads what "
                        f"{plan.groups[maker].name} has not made before"
                    )
        slices[n] = (slices[n] + 1) % plan.segment_of[n].parts_of(n)
        if slices[n] == 0:
            rows[n] = job.last
    for segment in plan.segments:
        n = segment.last - 1
        if rows[n] != heights[n]:
            raise InternalError(
                f"group {plan.groups[n].name}: its jobs make {rows[n]} of {heights[n]} rows, {slices[n]} slices"
            )


def _verify_segments(plan: Plan) -> None:
    place = 0
    for segment in plan.segments:
        if segment.first != place or not place < segment.last <= len(plan.groups):
            raise InternalError(
                f"a segment of groups {segment.first} to {segment.last}, of {len(plan.groups)} the next is {place}"
            )
        if any(mine is not own for mine, own in zip(segment.groups, plan.groups[place : segment.last])):
            raise InternalError(f"a segment from group {plan.groups[place].name} on is of another network")
        place = segment.last
    if place != len(plan.groups):
        raise InternalError(f"no segment has group {plan.groups[place].name}")
    if [id(segment) for segment in plan.segment_of] != [id(s) for s in plan.segments for _ in s.groups]:
        raise InternalError("a group is said to be of another segment")


def _verify_planes(plan: Plan) -> None:
    """Slices of several images lie in planes, whatever their map says."""
    known: dict[str, Map] = {}
    for group in plan.groups:
        for map_ in (group.source, *group.others, group.output):
            if known.setdefault(map_.name, map_).planar != map_.planar:
                raise InternalError(
                    f"group {group.name}: {map_.name} lies in {_kind(map_.layout)}, in "
                    f"{_kind(known[map_.name].layout)} for a group before"
                )
    for n, (group, segment) in enumerate(zip(plan.groups, plan.segment_of)):
        ends = [(plan.read[n], group.source)] if n == segment.first and segment.nest.from_dram else []
        ends += [(plan.made[n], group.output)] if n == segment.last - 1 and segment.nest.to_dram else []
        ends += [(made, map_) for made, map_ in zip(plan.others[n], group.others) if made.buffer.loaded]
        for layout, map_ in ((end.layout, map_) for end, map_ in ends if not group.images):
            if layout.planar != map_.planar or (layout.planar and layout.ring_rows != layout.rows):
                raise InternalError(
                    f"group {group.name}: {map_.name} lies in the GLB in {_kind(layout)}, in DRAM in "
                    f"{_kind(map_.layout)}"
                )


def _kind(layout: FeatureMap) -> str:
    whole = "" if layout.ring_rows == layout.rows else "parts of "
    return whole + ("planes" if layout.planar else "rows")


def _verify_reads(plan: Plan, job: Job) -> None:
    group = plan.groups[job.group]
    height = group.source.shape[0]
    first, last = group.input_rows(job.first, job.last)
    if not 0 <= job.reads[0] <= first <= last <= job.reads[1] <= height:
        raise InternalError(
            f"group {group.name}: a job reads rows {job.reads[0]} to {job.reads[1]} of {height}, needs "
            f"{first} to {last}"
        )


def _is_made(plan: Plan, job: Job, operand: int, rows: int, maker: int) -> bool:
    """Whether so many rows of a maker are all that a job reads of its operand, 0 being the source."""
    made, reader, height = plan.groups[maker], plan.groups[job.group], plan.groups[maker].map_shape[0]
    is_part = made.output.name != reader.operands[operand].name
    if made.averaged or is_part:
        return rows == height
    alike = made.output.shape[0] == reader.map_shape[0]
    return rows >= (job.reads[1] if operand == 0 else job.last if alike else height)


def verify_places(plan: Plan, placed: Placed, config: AcceleratorConfig) -> None:
    """Raises InternalError unless all buffers lie inside the GLB, from an even word on, no two share a word at a time,
    and the plan's maps lie where their buffers were placed. Buffers of one layer for image after image share their
    words: each waits for the one before.
    """
    for buffer in placed.buffers:
        if (
            buffer.address is None
            or buffer.address % 2
            or not (0 <= buffer.address <= buffer.address + buffer.words <= config.glb_words)
        ):
            raise InternalError(
                f"{buffer.name}: lies at word {buffer.address}, {buffer.words} words of {config.glb_words}"
            )
    owners = [(buffer, part) for buffer in placed.buffers for part in buffer.parts]
    start, birth, death = (
        np.array(values)
        for values in zip(*((buffer.placed + part.offset, part.birth, part.death) for buffer, part in owners))
    )
    end = start + [part.words for _, part in owners]
    shared = (start[:, None] < end) & (end[:, None] > start) & (birth[:, None] <= death) & (death[:, None] >= birth)
    layers = [f"{buffer.group.partition('.')[0]} {buffer.what}" for buffer, _ in owners]
    copies = np.unique(layers, return_inverse=True)[1]
    own = np.array([id(buffer) for buffer, _ in owners])
    shared &= (copies[:, None] != copies) | (own[:, None] == own)
    np.fill_diagonal(shared, False)
    if shared.any():
        one, other = (owners[n][0].name for n in np.argwhere(shared)[0])
        raise InternalError(f"{one} and {other} take the same words at a time")
    places = {buffer.name: buffer.address for buffer in placed.buffers}
    for buffer in (buffer for buffers in plan.buffers() for buffer in buffers):
        if buffer.name not in places or buffer.address != places[buffer.name]:
            raise InternalError(
                f"{buffer.name}: the map lies at word {buffer.address}, was placed at {places.get(buffer.name)}"
            )
