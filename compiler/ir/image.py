# SPDX-License-Identifier: Apache-2.0
"""DRAM images: a program of the accelerator as files, and the conversion of its inputs and outputs.

DIR/image.bin   DRAM contents from address 0
DIR/layout.json version of the format; size of image.bin and its memory layout: program, inputs and outputs by the
                model's names (without unused inputs), areas by name (byte address, bytes); the number of images of a
                run, whose inputs and outputs are contiguous; the configuration and the steps (which passes belong to
                which layer); the buffers of the GLB: name, byte address and bytes, in use from half pass `first` to
                the end of half pass `last` (pass n is 2n, its first tile of filters, and 2n + 1, the other tiles); the
                digest of all this and of image.bin
DIR/program.txt the commands as text (docs/reference/assembly.md)
DIR/network.h   the layout for C programs (network_header.py)
"""

import hashlib
import json
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path

import numpy as np

from eyrie.compiler.files import write_all
from eyrie.compiler.ir.image_layout import DramMap, ImageLayout
from eyrie.compiler.ir.network_header import header_text
from eyrie.compiler.ir.program import Command, disassemble
from eyrie.compiler.ir.records import WRONG_ENTRY, plain, record
from eyrie.model.config import GLB_WORD_BYTES
from eyrie.model.errors import InputError
from eyrie.model.messages import array, times
from eyrie.model.reading import read_file, read_json

VERSION = 5  # of the format of a compiled network
REMEDY = "give a folder that eyrie compile wrote"
LAYOUT, MEMORY = "layout.json", "image.bin"


@dataclass(frozen=True, eq=False)
class Image(ImageLayout):
    """A program of the accelerator with its data. dram: uint8, the memory before a run"""

    dram: np.ndarray

    @cached_property
    def commands(self) -> tuple[Command, ...]:
        """Return the program. Raise InputError if a word of it is no command."""
        return tuple(disassemble(self.dram[self.program.address :][: self.program.bytes].view(np.uint64)))

    @property
    def input_map(self) -> DramMap:
        """Return the memory of the only input. Raise InputError if the network has several."""
        return self._only("inputs", self.inputs)[1]

    @property
    def output_map(self) -> DramMap:
        """Return the memory of the only output. Raise InputError if the network has several."""
        return self._only("outputs", self.outputs)[1]

    def _only(self, ends: str, maps: dict[str, DramMap]) -> tuple[str, DramMap]:
        if len(maps) != 1:
            raise InputError(f"the network has {len(maps)} {ends}, this is for one with a single one")
        [found] = maps.items()
        return found

    def with_inputs(self, values: dict[str, np.ndarray]) -> np.ndarray:
        """Return a copy of the memory with the inputs, by name: int8 [H, W, C], or [N, H, W, C] for N images.

        Raise InputError if an input is missing, unknown or of another shape.
        """
        if values.keys() != self.inputs.keys():
            raise InputError(f"inputs are {', '.join(values)}, the network takes {', '.join(self.inputs)}")
        dram = self.dram.copy()
        for name, map_ in self.inputs.items():
            expected = self._shape(map_)
            if values[name].shape != expected or values[name].dtype != np.int8:
                raise InputError(f"input {name} is {array(values[name])}, the network takes int8 {times(expected)}")
            packed = np.stack([map_.pack(image) for image in values[name].reshape(-1, *map_.shape)])
            dram[map_.address :][: packed.nbytes] = packed.view(np.uint8).ravel()
        return dram

    def outputs_in(self, dram: np.ndarray) -> dict[str, np.ndarray]:
        """Return the outputs from the memory after a run, by name: int8 [H, W, C], or [N, H, W, C] for N images."""
        found = {}
        for name, map_ in self.outputs.items():
            layout = map_.layout
            words = dram[map_.address :][: self.images * layout.words * GLB_WORD_BYTES].view(np.uint64)
            rows = words.reshape(self.images, layout.rows, layout.groups, layout.pitch)
            maps = np.stack([layout.unpack(image, map_.shape[2]) for image in rows])
            found[name] = maps.reshape(self._shape(map_))
        return found

    def with_input(self, values: np.ndarray) -> np.ndarray:
        """Return a copy of the memory with the input of a network that has one, as `with_inputs` does."""
        return self.with_inputs(self.named(values))

    def output(self, dram: np.ndarray) -> np.ndarray:
        """Return the output of a network that has one, as `outputs_in` does."""
        return self.outputs_in(dram)[self._only("outputs", self.outputs)[0]]

    def named(self, inputs: np.ndarray) -> dict[str, np.ndarray]:
        """Return the input of a network that has one, by name."""
        return {self._only("inputs", self.inputs)[0]: inputs}

    def runs(self, inputs: dict[str, np.ndarray]) -> list[dict[str, np.ndarray]]:
        """Split inputs by name, [N, H, W, C] each, into runs for `with_inputs`. Copies of the last image fill the last
        run."""
        images = len(next(iter(inputs.values())))
        count = -(-images // self.images)
        chosen = np.minimum(np.arange(count * self.images), images - 1)
        shapes = {name: self._shape(map_) for name, map_ in self.inputs.items()}
        filled = {
            name: values[chosen].reshape(count, *shapes.get(name, values.shape[1:])) for name, values in inputs.items()
        }
        return [{name: values[number] for name, values in filled.items()} for number in range(count)]

    def results(self, outputs: list[dict[str, np.ndarray]], count: int) -> dict[str, np.ndarray]:
        """Join the outputs of all runs, by name: int8 [N, H, W, C] each, of the first `count` images."""
        return {
            name: np.stack([run[name] for run in outputs]).reshape(-1, *map_.shape)[:count]
            for name, map_ in self.outputs.items()
        }

    def _shape(self, map_: DramMap) -> tuple[int, ...]:
        """Return the shape of an input or an output of a run."""
        shape = map_.shape
        return shape if self.images == 1 else (self.images, *shape)

    @property
    def layout(self) -> ImageLayout:
        return ImageLayout(**{field.name: getattr(self, field.name) for field in fields(ImageLayout)})

    def files(self, text: str) -> dict[str, bytes]:
        """Return the contents of the four files by name. text: the commands as text"""
        memory = self.dram.tobytes()
        contents = {"version": VERSION, "bytes": len(memory)} | plain(self.layout)
        return {
            MEMORY: memory,
            LAYOUT: json.dumps(sealed(contents, memory), indent=1).encode(),
            "program.txt": text.encode(),
            "network.h": header_text(self, memory).encode(),
        }

    def save(self, directory: str | Path, text: str) -> None:
        """Write the four files, all or none. Raise InputError, with one line."""
        write_all(directory, self.files(text))

    @classmethod
    def load(cls, directory: str | Path) -> "Image":
        """Read the files of a folder. Raise InputError, with one line."""
        directory = Path(directory)
        found = read_json(directory / LAYOUT, REMEDY)
        memory = read_file(directory / MEMORY, REMEDY)
        try:
            contents = of_this_version(found)
            size = record(int, contents.get("bytes"), "bytes")
            entries = {name: value for name, value in contents.items() if name not in ("version", "bytes", "sha256")}
            layout = record(ImageLayout, entries)
            layout.check(size)
        except InputError as error:
            raise InputError(f"{directory / LAYOUT}: {error}: {REMEDY}") from error
        if len(memory) != size:
            raise InputError(f"{directory / MEMORY}: has {len(memory)} bytes, {LAYOUT} says {size}: {REMEDY}")
        if contents != sealed(contents, memory):
            raise InputError(f"{directory}: {LAYOUT} and {MEMORY} are not as they were written together: {REMEDY}")
        return cls(**vars(layout), dram=np.frombuffer(memory, np.uint8))


def sealed(contents: dict, memory: bytes) -> dict:
    """Return the entries with the digest of all of them and of the memory that they go with."""
    rest = {name: value for name, value in contents.items() if name != "sha256"}
    return rest | {"sha256": hashlib.sha256(json.dumps(rest).encode() + memory).hexdigest()}


def of_this_version(contents: object) -> dict:
    """Return the entries of a JSON file. Raise InputError, with one line, if their format has another version."""
    if not isinstance(contents, dict):
        raise InputError(WRONG_ENTRY)
    found = contents.get("version")
    if type(found) is not int or found != VERSION:
        raise InputError(f"has version {json.dumps(found)} of the format, this is version {VERSION}")
    return contents
