# SPDX-License-Identifier: Apache-2.0
"""DRAM images: a compiled network as files, and the conversion of its inputs and outputs.

DIR/image.bin   DRAM contents from address 0
DIR/layout.json size of image.bin and its memory layout: program, inputs and outputs by the model's names (without
                unused inputs), areas by name (byte address, bytes); the number of images of a run, whose inputs and
                outputs are contiguous; the configuration and the steps (which passes belong to which layer); the
                buffers of the GLB: name, byte address and bytes, in use from half pass `first` to the end of half pass
                `last` (pass n is 2n, its first tile of filters, and 2n + 1, the other tiles); the digest of all this
                and of image.bin
DIR/program.txt the commands as text (docs/reference/assembly.md)
DIR/network.h   the layout for C programs (network_header.py)

`eyrie compile` adds layers.csv and summary.json (performance.py).
"""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from eyrie.compiler.files import write_all
from eyrie.compiler.ir.feature_map import FeatureMap
from eyrie.compiler.ir.network_header import header_text
from eyrie.compiler.ir.patches import Patches
from eyrie.model.config import GLB_WORD_BYTES, WORD_CHANNELS, AcceleratorConfig
from eyrie.model.errors import InputError
from eyrie.model.messages import array, times
from eyrie.model.reading import read_file, read_json

REMEDY = "give a folder that eyrie compile wrote"
WRONG_ENTRY = "an entry is unknown, missing or of the wrong kind"


@dataclass(frozen=True)
class Image:
    """A compiled network.

    dram    uint8: the memory before a run
    map     contents of layout.json
    """

    dram: np.ndarray
    map: dict

    @property
    def program(self) -> int:
        return self.map["program"]["address"]

    @property
    def images(self) -> int:
        """Return the number of images of a run."""
        return self.map["images"]

    @property
    def config(self) -> AcceleratorConfig:
        return AcceleratorConfig.of(self.map["config"])

    @property
    def input_place(self) -> dict:
        """Return the layout entry of the only input. Raise InputError if the network has several."""
        return self._only("inputs")[1]

    @property
    def output_place(self) -> dict:
        """Return the layout entry of the only output. Raise InputError if the network has several."""
        return self._only("outputs")[1]

    def _only(self, ends: str) -> tuple[str, dict]:
        if len(self.map[ends]) != 1:
            raise InputError(f"the network has {len(self.map[ends])} {ends}, this is for one with a single one")
        [found] = self.map[ends].items()
        return found

    def with_inputs(self, values: dict[str, np.ndarray]) -> np.ndarray:
        """Return a copy of the memory with the inputs, by name: int8 [H, W, C], or [N, H, W, C] for N images.

        Raise InputError if an input is missing, unknown or of another shape.
        """
        if values.keys() != self.map["inputs"].keys():
            raise InputError(f"inputs are {', '.join(values)}, the network takes {', '.join(self.map['inputs'])}")
        dram = self.dram.copy()
        for name, place in self.map["inputs"].items():
            expected = self._shape(place)
            if values[name].shape != expected or values[name].dtype != np.int8:
                raise InputError(f"input {name} is {array(values[name])}, the network takes int8 {times(expected)}")
            layout, patches = FeatureMap(**place["layout"]), patches_of(place)
            images = values[name].reshape(-1, *place["shape"])
            laid = [patches.of(image, place["zero_point"]) for image in images] if patches else images
            packed = np.stack([layout.pack(image) for image in laid])
            dram[place["address"] :][: packed.nbytes] = packed.view(np.uint8).ravel()
        return dram

    def outputs(self, dram: np.ndarray) -> dict[str, np.ndarray]:
        """Return the outputs from the memory after a run, by name: int8 [H, W, C], or [N, H, W, C] for N images."""
        found = {}
        for name, place in self.map["outputs"].items():
            layout = FeatureMap(**place["layout"])
            words = dram[place["address"] :][: self.images * layout.words * GLB_WORD_BYTES].view(np.uint64)
            rows = words.reshape(self.images, layout.rows, layout.groups, layout.pitch)
            maps = np.stack([layout.unpack(image, place["shape"][2]) for image in rows])
            found[name] = maps.reshape(self._shape(place))
        return found

    def with_input(self, values: np.ndarray) -> np.ndarray:
        """Return a copy of the memory with the input of a network that has one, as `with_inputs` does."""
        return self.with_inputs(self.named(values))

    def output(self, dram: np.ndarray) -> np.ndarray:
        """Return the output of a network that has one, as `outputs` does."""
        return self.outputs(dram)[self._only("outputs")[0]]

    def named(self, inputs: np.ndarray) -> dict[str, np.ndarray]:
        """Return the input of a network that has one, by name."""
        return {self._only("inputs")[0]: inputs}

    def runs(self, inputs: dict[str, np.ndarray]) -> list[dict[str, np.ndarray]]:
        """Split inputs by name, [N, H, W, C] each, into runs for `with_inputs`. Copies of the last image fill the last
        run."""
        images = len(next(iter(inputs.values())))
        count = -(-images // self.images)
        chosen = np.minimum(np.arange(count * self.images), images - 1)
        shapes = {name: self._shape(place) for name, place in self.map["inputs"].items()}
        filled = {
            name: values[chosen].reshape(count, *shapes.get(name, values.shape[1:])) for name, values in inputs.items()
        }
        return [{name: values[number] for name, values in filled.items()} for number in range(count)]

    def results(self, outputs: list[dict[str, np.ndarray]], count: int) -> dict[str, np.ndarray]:
        """Join the outputs of all runs, by name: int8 [N, H, W, C] each, of the first `count` images."""
        return {
            name: np.stack([run[name] for run in outputs]).reshape(-1, *place["shape"])[:count]
            for name, place in self.map["outputs"].items()
        }

    def _shape(self, place: dict) -> tuple[int, ...]:
        """Return the shape of an input or an output of a run."""
        shape = tuple(place["shape"])
        return shape if self.images == 1 else (self.images, *shape)

    def save(self, directory: str | Path, text: str, more: dict[str, str] | None = None) -> None:
        """Write the four files, and `more` by name, all or none. Raise InputError, with one line."""
        memory = self.dram.tobytes()
        contents = {
            "image.bin": memory,
            "layout.json": json.dumps(sealed(self.map, memory), indent=1).encode(),
            "program.txt": text.encode(),
            "network.h": header_text(self.map, memory).encode(),
        }
        write_all(directory, contents | {name: words.encode() for name, words in (more or {}).items()})

    @classmethod
    def load(cls, directory: str | Path) -> "Image":
        """Read the files of a folder. Raise InputError, with one line."""
        directory = Path(directory)
        found = read_json(directory / "layout.json", REMEDY)
        dram = np.frombuffer(read_file(directory / "image.bin", REMEDY), np.uint8)
        try:
            contents = _checked(found)
        except InputError as error:
            raise InputError(f"{directory / 'layout.json'}: {error}: {REMEDY}") from error
        if len(dram) != contents["bytes"]:
            raise InputError(
                f"{directory / 'image.bin'}: has {len(dram)} bytes, layout.json says {contents['bytes']}: {REMEDY}"
            )
        if contents != sealed(contents, dram.tobytes()):
            raise InputError(f"{directory}: layout.json and image.bin are not as they were written together: {REMEDY}")
        return cls(dram, contents)


def patches_of(place: dict) -> Patches | None:
    """Return the patches of an input's layout entry, None if the input has another layout."""
    if place["patches"] is None:
        return None
    patches: dict = {
        name: tuple(value) if isinstance(value, list) else value for name, value in place["patches"].items()
    }
    return Patches(**patches)


def sealed(contents: dict, memory: bytes) -> dict:
    """Return a map with the digest of all that it says and of the memory that it goes with."""
    rest = {name: value for name, value in contents.items() if name != "sha256"}
    return rest | {"sha256": hashlib.sha256(json.dumps(rest).encode() + memory).hexdigest()}


def _checked(contents: object) -> dict:
    """Return the contents of layout.json. Raise InputError if a part is missing or wrong."""
    if not isinstance(contents, dict):
        raise InputError(WRONG_ENTRY)
    try:
        config = AcceleratorConfig.of(contents["config"])
        _whole(contents, bytes=0, images=1)
        _whole(contents["program"], address=0, bytes=0)
        if not contents["inputs"] or not contents["outputs"]:
            raise InputError("no inputs or no outputs")
        for place in (*contents["inputs"].values(), *contents["outputs"].values()):
            _whole(place, address=0)
            _whole(place["layout"], rows=1, cols=1, groups=1, address=0, ring_rows=1, shift=0, images=1)
            layout = FeatureMap(**place["layout"])
            shape = _laid_shape(place)
            channels = shape[-1]
            if (
                shape != [layout.rows, layout.cols, channels]
                or type(channels) is not int
                or (
                    not 0 < channels <= (WORD_CHANNELS if layout.packed else 8 * layout.groups)
                    or {type(layout.planar), type(layout.packed)} != {bool}
                )
            ):
                raise InputError("shape and layout differ")
        if not contents["steps"]:
            raise InputError("no steps")
        for step in contents["steps"]:
            _whole(step, macs=0, weight_bytes=0)
            if (
                not isinstance(step["name"], str)
                or not step["passes"]
                or (not all(type(number) is int and number >= 0 for number in step["passes"]))
            ):
                raise InputError("a step without a name or without passes")
        _check_buffers(contents, config)
        _check_areas(contents)
    except KeyError as error:
        raise InputError(f"{error.args[0]} is missing") from error
    except (ArithmeticError, AttributeError, IndexError, TypeError) as error:
        raise InputError(WRONG_ENTRY) from error
    return contents


def _laid_shape(place: dict) -> list[int]:
    """Return the shape of an input or output as stored. Raise InputError if its patches do not fit."""
    patches = patches_of(place)
    if patches is None:
        return place["shape"]
    sizes, before = (*patches.kernel, *patches.step, *patches.taps), patches.before
    whole = {type(number) for number in (*sizes, *before)} == {int} and (len(sizes), len(before)) == (6, 2)
    if list(patches.shape) != place["shape"] or not whole or min(sizes) < 1 or min(before) < 0:
        raise InputError("shape and patches differ")
    return [patches.rows, patches.cols, patches.channels]


def _whole(values: dict, **least: int) -> None:
    """Raise InputError unless each of these entries is an integer not below its minimum."""
    for name, bound in least.items():
        if type(values[name]) is not int or values[name] < bound:
            raise InputError(f"{name} must be an integer of at least {bound}, is {json.dumps(values[name])}")


def _check_areas(contents: dict) -> None:
    """Raise InputError unless program, inputs and outputs are inside the memory and do not overlap."""
    program = contents["program"]
    places = {"program": {(program["address"], program["bytes"])}}
    for ends in ("inputs", "outputs"):
        places[ends] = {
            (place["address"], contents["images"] * FeatureMap(**place["layout"]).words * GLB_WORD_BYTES)
            for place in contents[ends].values()
        }
    taken = set().union(*places.values())
    if max(map(sum, taken)) > contents["bytes"]:
        raise InputError("something lies beyond the memory")
    if len(taken) < sum(map(len, places.values())) or not taken <= {tuple(area) for area in contents["areas"].values()}:
        raise InputError("the program, an input or an output has no area of its own")


def _check_buffers(contents: dict, config: AcceleratorConfig) -> None:
    """Raise an error unless every buffer has a name and lies inside the GLB and the passes."""
    passes = 1 + max(number for step in contents["steps"] for number in step["passes"])
    for buffer in contents["buffers"]:
        address, size, first, last = (buffer[key] for key in ("address", "bytes", "first", "last"))
        if not all(type(value) is int for value in (address, size, first, last)):
            raise InputError("a buffer's place is no integer")
        if not isinstance(buffer["name"], str) or not buffer["name"]:
            raise InputError("a buffer without a name")
        if not (0 <= address < address + size <= config.glb_bytes and 0 <= first <= last < 2 * passes):
            raise InputError(f"buffer {buffer['name']} lies outside the GLB or the passes")
