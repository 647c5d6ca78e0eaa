# SPDX-License-Identifier: Apache-2.0
"""A schedule becomes a DRAM image."""

from dataclasses import asdict

import numpy as np

from eyrie.compiler.emit.dram import DramLayout
from eyrie.compiler.emit.schedule import Place, Schedule
from eyrie.compiler.ir.image import Image
from eyrie.compiler.ir.program import Command, assemble
from eyrie.model.config import GLB_WORD_BYTES, AcceleratorConfig
from eyrie.model.errors import InputError

PROGRAM = "program"  # the area of the commands
ADDRESS_SPACE = (1 << 32) - 64  # bytes of DRAM: the window's limit has 32 bits


def build(schedule: Schedule, config: AcceleratorConfig, outputs: dict[str, str]) -> Image:
    """The image of a schedule; outputs: of the model, in its order, the maps that they are. Raises InputError as
    image_of does."""
    made = {place.map.name: place for place in schedule.outputs}
    return image_of(
        schedule.commands,
        schedule.dram,
        config,
        {place.map.name: place for place in schedule.inputs},
        {name: made[map_] for name, map_ in outputs.items()},
        step_entries(schedule),
        buffer_entries(schedule),
        schedule.images,
    )


def step_entries(schedule: Schedule) -> list[dict]:
    """Its steps as layout.json has them."""
    return [
        {
            "name": step.group.layer,
            "kind": step.kind,
            "schedule": step.schedule,
            "mapping": str(step.mapping),
            "passes": list(step.passes),
            "macs": step.macs,
            "weight_bytes": step.group.weight_bytes,
            "channels": step.group.channels,
            "ifmap": list(step.group.source.shape),
            "ofmap": list(step.group.output.shape),
        }
        for step in schedule.steps
    ]


def buffer_entries(schedule: Schedule) -> list[dict]:
    """Its buffers as layout.json has them."""
    return [
        {
            "name": buffer.name,
            "address": (buffer.address + part.offset) * GLB_WORD_BYTES,
            "bytes": part.words * GLB_WORD_BYTES,
            "first": part.birth,
            "last": part.death,
        }
        for buffer in schedule.buffers
        for part in buffer.parts
    ]


def image_of(
    commands: list[Command],
    layout: DramLayout,
    config: AcceleratorConfig,
    inputs: dict[str, Place],
    outputs: dict[str, Place],
    steps: list[dict],
    buffers: list[dict],
    images: int = 1,
) -> Image:
    """The image of a command list, which it lays behind all that DRAM has; steps, buffers: as layout.json has them.
    Raises InputError where it is larger than the accelerator's addresses go; tokens can count whatever fits
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
        dram,
        {
            "bytes": dram.nbytes,
            "images": images,
            "program": {"address": address, "bytes": program.nbytes},
            "inputs": {name: _entry(place) for name, place in inputs.items()},
            "outputs": {name: _entry(place) for name, place in outputs.items()},
            "areas": layout.areas,
            "config": config.as_dict(),
            "steps": steps,
            "buffers": buffers,
        },
    )


def _entry(place: Place) -> dict:
    map_ = place.map
    shape = map_.patches.shape if map_.patches else map_.shape
    return {
        "address": place.address,
        "shape": list(shape),
        "layout": vars(place.layout),
        "patches": asdict(map_.patches) if map_.patches else None,
        "scale": map_.quantization.scale,
        "zero_point": map_.zero_point,
    }
