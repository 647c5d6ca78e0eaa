"""DRAM images: a compiled network as files, and the way of tensors in and out.

DIR/image.bin   DRAM contents from address 0
DIR/map.json    what lies where: program, input, output, areas by name (byte address, bytes), the machine
                and the steps (which passes belong to which group)
DIR/program.txt the commands, one line each
"""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from compiler.layout import FeatureMap
from compiler.program import assemble, to_text
from compiler.schedule import Schedule
from model.config import GLB_WORD_BYTES, MachineConfig


@dataclass(frozen=True)
class Image:
    """A compiled network.

    dram    uint8: the memory before a run
    map     contents of map.json
    """

    dram: np.ndarray
    map: dict

    @property
    def program(self) -> int:
        return self.map["program"]["address"]

    def with_input(self, values: np.ndarray) -> np.ndarray:
        """A copy of the memory with an input: int8 [H, W, C]."""
        place = self.map["input"]
        expected = tuple(place["shape"])
        if values.shape != expected or values.dtype != np.int8:
            raise ValueError(f"input is {values.dtype} {values.shape}, the network takes int8 {expected}")
        dram = self.dram.copy()
        packed = FeatureMap(**place["layout"]).pack(values)
        dram[place["address"] :][: packed.nbytes] = packed.view(np.uint8).ravel()
        return dram

    def output(self, dram: np.ndarray) -> np.ndarray:
        """The output of a memory after a run: int8 [H, W, C]."""
        place = self.map["output"]
        layout = FeatureMap(**place["layout"])
        words = dram[place["address"] :][: layout.words * GLB_WORD_BYTES].view(np.uint64)
        return layout.unpack(words.reshape(layout.rows, layout.groups, layout.pitch), place["shape"][2])

    def save(self, directory: str | Path, text: str) -> None:
        """Writes the three files; none of them half."""
        directory = Path(directory)
        directory.mkdir(parents=True, exist_ok=True)
        contents = {"image.bin": self.dram.tobytes(), "map.json": json.dumps(self.map, indent=1).encode(),
                    "program.txt": text.encode()}
        for name, data in contents.items():
            part = directory / f"{name}.part"
            part.write_bytes(data)
            part.replace(directory / name)

    @classmethod
    def load(cls, directory: str | Path) -> "Image":
        """Raises ValueError in one line."""
        directory = Path(directory)
        try:
            dram = np.fromfile(directory / "image.bin", np.uint8)
            return cls(dram, json.loads((directory / "map.json").read_text()))
        except (OSError, json.JSONDecodeError) as error:
            raise ValueError(f"{directory}: not a compiled network ({error}): compile one with python -m compiler") from error


def build(schedule: Schedule, machine: MachineConfig) -> tuple[Image, str]:
    """The image of a schedule and its program's text."""
    program = assemble(schedule.commands)
    address = schedule.dram.area("program", program.size)
    dram = np.zeros(schedule.dram.end, np.uint8)
    for start, words in [*schedule.dram.parts, (address, program)]:
        dram[start : start + words.nbytes] = np.ascontiguousarray(words).view(np.uint8)
    groups = [step.group for step in schedule.steps]

    def place(tensor, start: int, layout: FeatureMap) -> dict:
        return {"address": start, "shape": list(tensor.shape), "layout": vars(layout),
                "scale": tensor.quantization.scale, "zero_point": tensor.zero_point}

    contents = {
        "program": {"address": address, "bytes": program.nbytes},
        "input": place(groups[0].source, schedule.input_address, schedule.input_map),
        "output": place(groups[-1].output, schedule.output_address, schedule.output_map),
        "areas": schedule.dram.areas,
        "machine": machine.as_dict(),
        "steps": [
            {"name": step.group.name, "way": step.way, "passes": list(step.passes),
             "macs": step.group.macs, "weight_bytes": step.group.weight_bytes, "channels": step.group.channels,
             "made": list(step.group.output.shape)}
            for step in schedule.steps
        ],
    }
    return Image(dram, contents), to_text(schedule.commands)
