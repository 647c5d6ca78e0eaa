# SPDX-License-Identifier: Apache-2.0
"""A schedule becomes a DRAM image."""

import numpy as np

from compiler.emit.schedule import Place, Schedule
from compiler.ir.image import Image
from compiler.ir.program import assemble
from model.config import GLB_WORD_BYTES, MachineConfig

ADDRESS_SPACE = (1 << 32) - 64  # bytes of DRAM: the window's limit has 32 bits


def build(schedule: Schedule, machine: MachineConfig, outputs: dict[str, str]) -> Image:
    """The image of a schedule; outputs: of the model, in its order, the maps that they are. Raises ValueError where
    it is larger than the machine's addresses go; tokens can count whatever fits (docs/tiling.md)."""
    program = assemble(schedule.commands)
    address = schedule.dram.area("program", program.size)
    if schedule.dram.end > ADDRESS_SPACE:
        raise ValueError(f"the network takes {schedule.dram.end} bytes of DRAM, addresses go to {ADDRESS_SPACE}: "
                         "use a smaller batch or a smaller network")
    dram = np.zeros(schedule.dram.end, np.uint8)
    for start, words in [*schedule.dram.parts, (address, program)]:
        dram[start : start + words.nbytes] = np.ascontiguousarray(words).view(np.uint8)
    made = {place.map.name: place for place in schedule.outputs}
    contents = {
        "bytes": dram.nbytes,
        "images": schedule.images,
        "program": {"address": address, "bytes": program.nbytes},
        "inputs": {place.map.name: _entry(place) for place in schedule.inputs},
        "outputs": {name: _entry(made[map_]) for name, map_ in outputs.items()},
        "areas": schedule.dram.areas,
        "machine": machine.as_dict(),
        "steps": [
            {"name": step.group.layer, "way": step.way, "passes": list(step.passes),
             "macs": step.macs, "weight_bytes": step.group.weight_bytes,
             "channels": step.group.channels, "made": list(step.group.output.shape)}
            for step in schedule.steps
        ],
        "buffers": [
            {"name": buffer.name, "address": (buffer.address + part.offset) * GLB_WORD_BYTES,
             "bytes": part.words * GLB_WORD_BYTES, "first": part.birth, "last": part.death}
            for buffer in schedule.buffers for part in buffer.parts
        ],
    }
    return Image(dram, contents)


def _entry(place: Place) -> dict:
    map_ = place.map
    return {"address": place.address, "shape": list(map_.shape), "layout": vars(place.layout),
            "scale": map_.quantization.scale, "zero_point": map_.zero_point}
