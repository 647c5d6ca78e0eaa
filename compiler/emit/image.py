# SPDX-License-Identifier: Apache-2.0
"""A schedule becomes a DRAM image."""

from dataclasses import replace

import numpy as np

from eyrie.compiler.emit.dram import DramLayout
from eyrie.compiler.emit.schedule import Place, Schedule
from eyrie.compiler.ir.image import Image
from eyrie.compiler.ir.image_layout import Area, DramMap, ImageBuffer, ImageStep, ValueTable
from eyrie.compiler.ir.maps import Map
from eyrie.compiler.ir.program import Command, assemble
from eyrie.model.config import GLB_WORD_BYTES, AcceleratorConfig
from eyrie.model.errors import InputError

PROGRAM = "program"  # the area of the commands
ADDRESS_SPACE = (1 << 32) - 64  # bytes of DRAM: the window's limit has 32 bits


def build(schedule: Schedule, config: AcceleratorConfig, outputs: dict[str, Map]) -> Image:
    """The image of a schedule; outputs: of the model, in its order and shapes, the maps that they are. Raises
    InputError as image_of does."""
    made = {place.map.name: place for place in schedule.outputs}
    return image_of(
        schedule.commands,
        schedule.dram,
        config,
        {place.map.name: place for place in schedule.inputs},
        {name: (made[map_.name], map_.shape) for name, map_ in outputs.items()},
        step_entries(schedule),
        buffer_entries(schedule),
        schedule.images,
    )


def step_entries(schedule: Schedule) -> list[ImageStep]:
    """Return the steps of a schedule."""
    return [
        ImageStep(
            step.group.layer,
            step.kind,
            step.schedule,
            str(step.mapping),
            step.passes,
            step.macs,
            step.group.weight_bytes,
            step.group.channels,
            step.group.source.shape,
            step.group.output.shape,
        )
        for step in schedule.steps
    ]


def buffer_entries(schedule: Schedule) -> list[ImageBuffer]:
    """Return the buffers of a schedule, with times that count passes, not jobs. A job without a pass stands between the
    pass before it, where buffers end, and the one behind it, where they begin."""
    before = schedule.plan.passes_before

    def passes_of(birth: int, death: int) -> tuple[int, int]:
        (first, begin), (last, end) = divmod(birth, 2), divmod(death, 2)
        begin = 2 * before[first] + begin * (before[first + 1] - before[first])
        end = 2 * before[last] + end if before[last + 1] > before[last] else 2 * before[last] - 1
        return begin, max(begin, end)

    return [
        ImageBuffer(
            buffer.name,
            (buffer.placed + part.offset) * GLB_WORD_BYTES,
            part.words * GLB_WORD_BYTES,
            *passes_of(part.birth, part.death),
        )
        for buffer in schedule.buffers
        for part in buffer.parts
    ]


def image_of(
    commands: list[Command],
    layout: DramLayout,
    config: AcceleratorConfig,
    inputs: dict[str, Place],
    outputs: dict[str, tuple[Place, tuple[int, int, int]]],
    steps: list[ImageStep],
    buffers: list[ImageBuffer],
    images: int = 1,
) -> Image:
    """Return the image of a command list, which lies after all that DRAM has. outputs: with their shapes in the model

    Raise InputError if it is larger than the accelerator's addresses reach; tokens can count whatever fits
    (docs/hardware/tiling.md)."""
    program = assemble(commands)
    address = layout.area(PROGRAM, program.size)
    if layout.end > ADDRESS_SPACE:
        raise InputError(
            f"the network takes {layout.end} bytes of DRAM, addresses go to {ADDRESS_SPACE}: "
            "use a smaller batch or a smaller network"
        )
    dram = np.zeros(layout.end, np.uint8)
    for start, words in [*layout.parts, (address, program)]:
        dram[start : start + words.nbytes] = np.ascontiguousarray(words).view(np.uint8)
    return Image(
        images,
        Area(address, program.nbytes),
        {name: _map(place) for name, place in inputs.items()},
        {name: replace(_map(place), shape=shape) for name, (place, shape) in outputs.items()},
        {name: Area(*place) for name, place in layout.areas.items()},
        config,
        tuple(steps),
        tuple(buffers),
        dram,
    )


def _map(place: Place) -> DramMap:
    map_ = place.map
    shape = map_.patches.shape if map_.patches else map_.shape
    quantization, table = map_.quantization, None
    if map_.table:
        quantization = map_.table.quantization
        table = ValueTable(tuple(np.frombuffer(map_.table.values, np.int8).tolist()), map_.zero_point)
    scale = float(quantization.scale)
    return DramMap(place.address, shape, place.layout, map_.patches, scale, quantization.zero_point, table)
