# SPDX-License-Identifier: Apache-2.0
"""Feature maps in the GLB that have parts, which lie in their buffers: parts that fused operators make, or read."""

from eyrie.compiler.ir.buffer import Buffer, LiveRange, merged
from eyrie.compiler.ir.feature_map import PartMap
from eyrie.compiler.ir.maps import Map
from eyrie.compiler.ir.plan import Job, MapPlan
from eyrie.compiler.plan.flow import Flow


class Joins:
    """The buffers of the feature maps that several fused operators make, by name and image."""

    def __init__(self, jobs: list[Job], flow: Flow) -> None:
        self._jobs, self._flow = jobs, flow
        self._buffers: dict[tuple[str, int], Buffer] = {}

    def made(self, n: int) -> MapPlan:
        """Return the plan of the output of a fused operator, which is a part. The first one brings the buffer."""
        group = self._flow.groups[n]
        key = group.output.storage.name, group.image
        if key not in self._buffers:
            self._buffers[key] = Buffer(group.name, "output and others", self._lives(*key))
        return _inside(group.output, self._buffers[key])

    def read(self, map_: Map, image: int, made: MapPlan) -> MapPlan:
        """Return the plan of a feature map that is read. made: the plan of the last fused operator that makes words of
        it"""
        shared = self._buffers.get((map_.storage.name, image))
        return _inside(map_, shared or made.buffer) if shared or map_.part else made

    def _lives(self, storage: str, image: int) -> list[LiveRange]:
        """Return the lifetimes of the rows of all parts; of whole rows of the map if a part has some columns of it."""
        lives: dict[tuple[int, int], tuple[int, int]] = {}  # by first word and words
        makers = [
            (n, group.output)
            for n, group in enumerate(self._flow.groups)
            if group.output.storage.name == storage and group.image == image
        ]
        by_column = any(output.is_strip for _, output in makers)
        for n, output in makers:
            step = output.row_step
            begin, count = (output.first_row * step, step) if by_column else (output.offset, output.layout.row_words)
            for row, (birth, death) in enumerate(row_lives(self._jobs, n, self._flow)):
                first, last = lives.get(words := (begin + row * step, count), (birth, death))
                lives[words] = min(first, birth), max(last, death)
        return merged([LiveRange(*words, *life) for words, life in sorted(lives.items())])


def _inside(map_: Map, buffer: Buffer) -> MapPlan:
    own = map_.layout
    pitch = map_.storage.layout.pitch
    layout = PartMap(own.rows, own.cols, own.groups, 0, own.rows, whole_row=map_.row_step, whole_pitch=pitch)
    return MapPlan(layout, buffer, map_.offset)


def row_lives(jobs: list[Job], n: int, flow: Flow) -> list[tuple[int, int]]:
    """Return the lifetime of each row of a fused operator's output: from the first job that writes it to the last one
    that reads it."""
    lives = [(2 * len(jobs), 0)] * flow.groups[n].output.shape[0]
    for place, job in enumerate(jobs):
        for y in _rows_touched(job, n, flow):
            birth, death = lives[y]
            lives[y] = min(birth, 2 * place), max(death, 2 * place + 1)
    return lives


def _rows_touched(job: Job, n: int, flow: Flow) -> range:
    """Return the rows of a group's output that a job writes or reads, by itself or as rows of a larger map."""
    group, reader = flow.groups[n], flow.groups[job.group]
    output, rows = group.output, group.output.shape[0]
    if job.group == n:
        return range(rows) if group.averaged else range(job.first, job.last)
    firsts, lasts = [], []
    for number, (operand, writers) in enumerate(zip(reader.operands, flow.writers[job.group], strict=True)):
        if n in writers:
            whole = 0, operand.shape[0]
            first, last = whole if reader.broadcasts(number) else (job.first, job.last) if number else job.reads
            above = output.first_row - operand.first_row
            firsts.append(max(first - above, 0))
            lasts.append(min(last - above, rows))
    return range(min(firsts), max(lasts)) if firsts else range(0)
