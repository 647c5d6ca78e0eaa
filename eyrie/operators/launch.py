# SPDX-License-Identifier: Apache-2.0
"""Networks of one operator, compiled, placed in the accelerator's memory, and run on tensors that lie there."""

from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from eyrie.compiler.ir.graph import Graph
from eyrie.compiler.ir.image import Image
from eyrie.compiler.ir.image_layout import DramMap
from eyrie.compiler.ir.operator import Tensors
from eyrie.model.encoding import Counter
from eyrie.model.errors import InputError
from eyrie.operators.descriptors import TensorSetting
from eyrie.operators.memory import Memory
from eyrie.operators.status import OperatorError, Status
from eyrie.operators.stream import Ran
from eyrie.runtime.programs import compiled_operator, contents_of
from eyrie.runtime.soc.driver import DeviceError, Network, Soc

Place = tuple[TensorSetting, int]  # with the offset of its first map


@dataclass(frozen=True)
class Placed:
    """A program in the memory, from `offset` on."""

    folder: Path
    image: Image
    offset: int
    network: Network


class Launcher:
    """The runner of networks of one operator; one thread uses it at a time.

    Programs stay in the memory until it is full. Then the least recently used ones are removed first.
    """

    def __init__(self, soc: Soc, memory: Memory) -> None:
        self._soc, self._memory = soc, memory
        self._programs: OrderedDict[bytes, Placed] = OrderedDict()

    def room(self, size: int) -> int:
        """Allocate `size` bytes of the memory; return the offset. Raise OperatorError if they do not fit."""
        while (offset := self._memory.take(size)) is None:
            if not self._programs:
                raise OperatorError(
                    Status.NO_MEMORY,
                    f"{size} bytes do not fit into the {self._memory.size} of the "
                    "accelerator's memory: free others, or create the handle with more",
                )
            self._memory.give(self._programs.popitem(last=False)[1].offset)
        return offset

    def run(self, graph: Graph, inputs: list[Place], outputs: list[Place]) -> list[Ran]:
        """Run a graph once for each map of the tensors, which match the inputs and the outputs of the graph."""
        program = self._program(graph)
        try:
            return [
                self._run(graph, program, _maps_of(inputs, n), _maps_of(outputs, n)) for n in range(outputs[0][0].n)
            ]
        except DeviceError as error:
            self._soc.reset()
            for each in self._programs.values():  # the failed run may have overwritten them
                self._memory.give(each.offset)
            self._programs.clear()
            raise OperatorError(Status.ACCELERATOR_ERROR, str(error)) from error

    def on_host(self, graph: Graph, inputs: list[Place], outputs: list[Place]) -> list[Ran]:
        """Run a graph with its golden function."""
        for n in range(outputs[0][0].n):
            values = graph.run(*(self._map(place)[None] for place in _maps_of(inputs, n)))
            for tensor, place in zip(graph.outputs, _maps_of(outputs, n), strict=True):
                self._write(place, values[tensor.name][0])
        return []

    def _program(self, graph: Graph) -> Placed:
        key = contents_of(graph)
        if key not in self._programs:
            name = graph.nodes[0].operator.name.lower()
            try:
                folder = compiled_operator(graph, name, self._soc.config)
            except InputError as error:
                raise OperatorError(Status.NOT_SUPPORTED, str(error)) from error
            image = Image.load(folder)
            offset = self.room(image.dram.size)
            ends = [[offset + place.address for place in maps.values()] for maps in (image.inputs, image.outputs)]
            self._programs[key] = Placed(folder, image, offset, self._soc.place(image, offset, *ends))
        self._programs.move_to_end(key)
        return self._programs[key]

    def _run(self, graph: Graph, program: Placed, inputs: list[Place], outputs: list[Place]) -> Ran:
        """Run a program on one map. If the program has the tensor's memory layout, it works on the tensor itself."""
        soc, image = self._soc, program.image
        taken, made = _matched(graph.inputs, inputs, image.inputs), _matched(graph.outputs, outputs, image.outputs)
        bound = [[_bound(program, *one) for one in maps] for maps in (taken, made)]
        soc.bind(program.network, image, program.offset, *bound)
        for number, (place, entry) in enumerate(taken):
            if not _is_tensor(place[0], entry):
                soc.put(number, 0, self._map(place).reshape(entry.shape))
        before = soc.cycles
        soc.start()
        while not soc.wait():
            pass
        ran = Ran(graph.nodes[0].operator.name, program.folder, soc.counter(Counter.CYCLES), soc.cycles - before)
        for number, (place, entry) in enumerate(made):
            if not _is_tensor(place[0], entry):
                self._write(place, soc.get(number, 0, entry.shape).reshape(place[0].shape[1:]))
        return ran

    def _map(self, place: Place) -> np.ndarray:
        """Return the first map of a tensor, int8 [h, w, c]."""
        setting, begin = place
        words = self._soc.memory[begin:][: setting.map_bytes].view(np.uint64)
        return setting.layout.unpack(words.reshape(setting.h, setting.layout.groups, -1), setting.c)

    def _write(self, place: Place, values: np.ndarray) -> None:
        """Write the first map of a tensor."""
        setting, begin = place
        contents = setting.layout.pack(values).view(np.uint8).reshape(-1)
        self._soc.memory[begin:][: contents.size] = contents


def _maps_of(places: list[Place], number: int) -> list[Place]:
    """Return the places of a map of each tensor."""
    return [(setting, begin + number * setting.map_bytes) for setting, begin in places]


def _matched(tensors: Tensors, places: list[Place], maps: dict[str, DramMap]) -> list[tuple[Place, DramMap]]:
    """Return the maps of a program, each with the tensor of its name."""
    by_name = {tensor.name: place for tensor, place in zip(tensors, places, strict=True)}
    return [(by_name[name], entry) for name, entry in maps.items()]


def _is_tensor(setting: TensorSetting, entry: DramMap) -> bool:
    """Return whether a map of the program has the memory layout of the tensor's maps."""
    return entry.patches is None and entry.shape == setting.shape[1:] and entry.layout == setting.layout


def _bound(program: Placed, place: Place, entry: DramMap) -> int:
    return place[1] if _is_tensor(place[0], entry) else program.offset + entry.address


def packed(values: np.ndarray, setting: TensorSetting) -> np.ndarray:
    """Return int8 [n, h, w, c] in its DRAM layout, uint64."""
    return np.stack([setting.layout.pack(one) for one in values])


def unpacked(contents: np.ndarray, setting: TensorSetting) -> np.ndarray:
    """Return int8 [n, h, w, c] from its DRAM layout, uint8."""
    rows = contents.view(np.uint64).reshape(setting.n, setting.h, setting.layout.groups, -1)
    return np.stack([setting.layout.unpack(one, setting.c) for one in rows])
