# SPDX-License-Identifier: Apache-2.0
"""The memory layout of a DRAM image, typed: areas, inputs and outputs, steps of the program, buffers of the GLB."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from eyrie.compiler.ir.feature_map import FeatureMap
from eyrie.compiler.ir.input_layout import Patches
from eyrie.model.config import GLB_WORD_BYTES, WORD_CHANNELS, AcceleratorConfig
from eyrie.model.errors import InputError
from eyrie.model.operators.quantization import INT8_MAX, INT8_MIN


@dataclass(frozen=True)
class Area:
    """A range of DRAM, in bytes."""

    address: int
    bytes: int

    @property
    def end(self) -> int:
        return self.address + self.bytes


@dataclass(frozen=True)
class ValueTable:
    """Values that the host writes instead of an input's own: int8, for -128 to 127.

    zero_point  value of the padding around the input
    """

    values: tuple[int, ...]
    zero_point: int


@dataclass(frozen=True)
class DramMap:
    """The memory of an input or output.

    address            byte address of the first image
    shape              (H, W, C) of an image; a column may lie as a row
    patches            None unless an input is stored as patches
    scale, zero_point  the quantisation
    table              None unless an input is stored as values of a table
    """

    address: int
    shape: tuple[int, int, int]
    layout: FeatureMap
    patches: Patches | None
    scale: float
    zero_point: int
    table: ValueTable | None

    def pack(self, values: np.ndarray) -> np.ndarray:
        """Return the stored words of an input, int8 [H, W, C]: uint64 [rows, groups, pitch]."""
        outside = self.zero_point
        if self.table:
            outside = self.table.zero_point
            values = np.array(self.table.values, np.int8)[values.astype(np.int16) - INT8_MIN]
        return self.layout.pack(self.patches.of(values, outside) if self.patches else values.reshape(self.laid))

    @property
    def laid(self) -> tuple[int, int, int]:
        """Return (H, W, C) as an image lies, but for patches."""
        layout = self.layout
        return self.shape if self.patches else (layout.rows, layout.cols, self.shape[2])

    def area(self, images: int) -> Area:
        """Return the area of all images of a run."""
        return Area(self.address, images * self.layout.words * GLB_WORD_BYTES)


@dataclass(frozen=True)
class ImageStep:
    """A layer of the program.

    schedule, mapping  how the layer runs, for reports
    passes             numbers of its passes, from 0
    macs               MACs of a run
    weight_bytes       bytes of the weights
    channels           channels with quantisation parameters
    ifmap, ofmap       (H, W, C)
    """

    name: str
    kind: str
    schedule: str
    mapping: str
    passes: tuple[int, ...]
    macs: int
    weight_bytes: int
    channels: int
    ifmap: tuple[int, int, int]
    ofmap: tuple[int, int, int]


@dataclass(frozen=True)
class ImageBuffer:
    """A buffer of the GLB: byte address, bytes, and the first and the last half pass of its use (see image.py)."""

    name: str
    address: int
    bytes: int
    first: int
    last: int


@dataclass(frozen=True)
class ImageLayout:
    """The layout of an image.

    images          number of images of a run
    program         the commands
    inputs, outputs by the model's names, without unused inputs
    areas           all areas by name, also of commands, inputs and outputs
    """

    images: int
    program: Area
    inputs: dict[str, DramMap]
    outputs: dict[str, DramMap]
    areas: dict[str, Area]
    config: AcceleratorConfig
    steps: tuple[ImageStep, ...]
    buffers: tuple[ImageBuffer, ...]

    @property
    def passes(self) -> int:
        """Return the number of passes of a run."""
        return sum(len(step.passes) for step in self.steps)

    @property
    def step_of_pass(self) -> dict[int, int]:
        """Return the number of the step of each pass."""
        return {number: n for n, step in enumerate(self.steps) for number in step.passes}

    def check(self, size: int) -> None:
        """Raise InputError if an entry contradicts another. size: bytes of the memory"""
        _least(self, images=1)
        if not self.inputs or not self.outputs:
            raise InputError("no inputs or no outputs")
        for map_ in self._maps():
            _check_map(map_)
        if not self.steps:
            raise InputError("no steps")
        for step in self.steps:
            _least(step, macs=0, weight_bytes=0, channels=0)
            if not step.name or not step.passes or min(step.passes) < 0:
                raise InputError("a step without a name or without passes")
        self._check_buffers()
        self._check_areas(size)

    def _maps(self) -> Iterator[DramMap]:
        yield from self.inputs.values()
        yield from self.outputs.values()

    def _check_areas(self, size: int) -> None:
        """Raise InputError unless program, inputs and outputs are inside the memory and do not overlap."""
        _least(self.program, address=0, bytes=0)
        groups = [
            {self.program},
            *({map_.area(self.images) for map_ in maps.values()} for maps in (self.inputs, self.outputs)),
        ]
        taken = set[Area]().union(*groups)
        if max(area.end for area in taken) > size:
            raise InputError("something lies beyond the memory")
        if len(taken) < sum(map(len, groups)) or not taken <= set(self.areas.values()):
            raise InputError("the program, an input or an output has no area of its own")

    def _check_buffers(self) -> None:
        """Raise InputError unless every buffer has a name and lies inside the GLB and the passes."""
        passes = 1 + max(number for step in self.steps for number in step.passes)
        for buffer in self.buffers:
            if not buffer.name:
                raise InputError("a buffer without a name")
            inside = 0 <= buffer.address < buffer.address + buffer.bytes <= self.config.glb_bytes
            if not inside or not 0 <= buffer.first <= buffer.last < 2 * passes:
                raise InputError(f"buffer {buffer.name} lies outside the GLB or the passes")


def _check_map(map_: DramMap) -> None:
    """Raise InputError unless shape and layout of an input or output agree."""
    layout = map_.layout
    _least(map_, address=0)
    _least(layout, rows=1, cols=1, groups=1, address=0, ring_rows=1, shift=0, images=1)
    rows, columns, channels = _stored_shape(map_)
    if map_.table and not (len(map_.table.values) == 256 and all(INT8_MIN <= n <= INT8_MAX for n in map_.table.values)):
        raise InputError("a table must have 256 values of int8")
    laid = [(rows, columns), (1, rows)] if columns == 1 and not map_.patches else [(rows, columns)]
    if (layout.rows, layout.cols) not in laid or not (
        0 < channels <= (WORD_CHANNELS if layout.packed else 8 * layout.groups)
    ):
        raise InputError("shape and layout differ")


def _stored_shape(map_: DramMap) -> tuple[int, int, int]:
    """Return the shape of an input or output as stored. Raise InputError if its patches do not fit."""
    patches = map_.patches
    if patches is None:
        return map_.shape
    sizes = (*patches.kernel, *patches.step, *patches.taps)
    if patches.shape != map_.shape or min(sizes) < 1 or min(patches.before) < 0:
        raise InputError("shape and patches differ")
    return patches.rows, patches.cols, patches.channels


def _least(values: object, **least: int) -> None:
    """Raise InputError unless each of these integers is not below its minimum."""
    for name, bound in least.items():
        if getattr(values, name) < bound:
            raise InputError(f"{name} must be an integer of at least {bound}, is {getattr(values, name)}")
