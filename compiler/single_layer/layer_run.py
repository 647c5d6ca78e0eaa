# SPDX-License-Identifier: Apache-2.0
"""Single-layer runs: tensors as a GLB image and a pass descriptor, and the conversion of the sums to a tensor."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from eyrie.compiler.ir.feature_map import FeatureMap
from eyrie.compiler.ir.layer import Table, WordOperation
from eyrie.compiler.ir.window import Window
from eyrie.compiler.target.descriptors.elementwise import set_operation
from eyrie.compiler.target.descriptors.streams import ring_of
from eyrie.model import encoding as enc
from eyrie.model.descriptor import Descriptor, StreamDescriptor
from eyrie.model.encoding import Operation, Stream
from eyrie.model.errors import InputError
from eyrie.model.operators.elementwise import AddParameters
from eyrie.model.operators.quantization import Requantization


@dataclass(frozen=True)
class Case:
    """A pass, ready to run.

    glb         uint64, from word 0 on
    descriptor  of the pass
    places      int [tiles of the pass, sums of a column, cols, 3]: (m, y, x) of each sum that leaves; -1: none
    shape       (M, E, F) of the sums
    ofmap       the place of the int8 ofmap, None if the pass writes sums
    """

    glb: np.ndarray
    descriptor: Descriptor
    places: np.ndarray
    shape: tuple[int, int, int]
    ofmap: FeatureMap | None = None

    def gather(self, sums: np.ndarray) -> np.ndarray:
        """Arrange sums in drain order, int32 [tiles, sums of a column, cols], as int32 [M, E, F]."""
        out = np.zeros(self.shape, np.int32)
        used = self.places[..., 0] >= 0
        m, y, x = self.places[used].T
        out[m, y, x] = sums[used]
        return out

    def signed(self) -> "Case":
        """Return the run with activations multiplied as signed values, whatever their zero points are."""
        descriptor = Descriptor(self.descriptor.words)
        shape = {**descriptor.shape, "ifmap_offset": 0, "word_offset": 0}
        descriptor.set(enc.ARRAY_SHAPE_INDEX, enc.ARRAY_SHAPE, **shape)
        return replace(self, descriptor=descriptor)


LayerPass = tuple[Case, slice, slice]  # of a layer: a pass, its filters (M), its output rows (E)


@dataclass(frozen=True)
class Ifmap:
    """int8 [C, H, W], and its zero point, with which it is padded. packed: it has at most q channels, half a word"""

    values: np.ndarray
    zero_point: int = 0
    packed: bool = False

    @property
    def shape(self) -> tuple[int, int, int]:
        return self.values.shape


@dataclass(frozen=True)
class Addition:
    """A residual addition to an ofmap: int8 [rows, cols, C] of the second addend, and the scaling of both."""

    values: np.ndarray
    parameters: AddParameters

    def of(self, filters: slice, rows: slice) -> "Addition":
        return Addition(self.values[rows, :, filters], self.parameters)


@dataclass(frozen=True)
class Finish:
    """The processing of the sums of a layer, int32 [M, E, F]. By default, the sums themselves are the result.

    ipsum     int32 [M, E, F], the initial values of the sums
    output    quantisation parameters for an int8 ofmap
    maxima    a maximum of 2 x 2 pixels of the ofmap
    addition  a residual addition to the ofmap
    """

    ipsum: np.ndarray | None = None
    output: Table | None = None
    maxima: bool = False
    addition: Addition | None = None

    @property
    def one_pixel(self) -> bool:
        """Return whether sums leave one by one, not two neighbouring pixels at once."""
        return self.ipsum is not None or self.addition is not None

    def of(self, filters: slice, rows: slice) -> "Finish":
        """Return the processing of a part of a layer, which must be without maxima."""
        ipsum = None if self.ipsum is None else self.ipsum[filters, rows]
        addition = self.addition and self.addition.of(filters, rows)
        return Finish(ipsum, self.output and self.output.of(filters), addition=addition)


SUMS = Finish()


class GlbOverflow(InputError):
    """A pass that needs more of the GLB than it has."""


class Allocator:
    """An allocator that places arrays of GLB words one after another, at most `limit` words."""

    def __init__(self, limit: int) -> None:
        self.words, self.limit = np.zeros(0, np.uint64), limit

    def place(self, values: np.ndarray) -> int:
        """Append values (uint64) at an even address, and return the address."""
        if len(self.words) % 2:
            self.words = np.append(self.words, np.uint64(0))
        address = len(self.words)
        self.words = np.concatenate([self.words, values.ravel().astype(np.uint64)])
        if len(self.words) > self.limit:
            raise GlbOverflow(f"GLB: needs {len(self.words) * 8} bytes, has {self.limit * 8}")
        return address


def place_map(memory: Allocator, values: np.ndarray, q: int = 4, packed: bool = False) -> FeatureMap:
    """Place int8 [H, W, C] as a feature map."""
    rows, cols, channels = values.shape
    empty = FeatureMap(rows, cols, -(-channels // (2 * q)), 0, rows, packed=packed)
    return replace(empty, address=memory.place(empty.pack(values, q)))


def place_ofmap(memory: Allocator, rows: int, cols: int, groups: int) -> FeatureMap:
    """Place an ofmap of zeros."""
    empty = FeatureMap(rows, cols, groups, 0, rows)
    return replace(empty, address=memory.place(np.zeros(empty.words, np.uint64)))


def last_channels(count: int, groups: int) -> int:
    """Return the channels of the last of `groups` groups of `count` filters, which padding may fill."""
    return (count - 1) % 8 + 1 if groups == -(-count // 8) else 8


def set_addition(descriptor: Descriptor, memory: Allocator, ofmap: FeatureMap, addition: Addition) -> None:
    """Add a residual addition to a pass. The addend has the layout of the ofmap."""
    packed = ofmap.pack(addition.values)
    residual = replace(ofmap, address=memory.place(packed))
    words = descriptor.stream(Stream.OFMAP)
    address = words.address | {"row_address": residual.row_address(words.range["y"]), **ring_of(residual)}
    descriptor.set_stream(Stream.RESIDUAL, StreamDescriptor(address, words.range, {}, words.levels))
    first, second, result = addition.parameters.first, addition.parameters.second, addition.parameters.output

    def scaling(item: Requantization) -> dict[str, int]:
        return {"multiplier": int(item.multiplier), "right_shift": -int(item.shift), "zero_point": item.zero_point}

    set_operation(
        descriptor,
        WordOperation(
            Operation.ADD,
            scaling(first),
            scaling(second),
            {
                "multiplier": int(result.multiplier),
                "shift": int(result.shift),
                "zero_point": result.zero_point,
                "act_min": result.minimum,
                "act_max": result.maximum,
            },
        ),
    )


def pack_ipsum(ipsum: np.ndarray, places: np.ndarray, descriptor: Descriptor) -> np.ndarray:
    """Pack int32 [M, E, F] into uint64, two columns a word, in drain order."""
    columns = descriptor.drain["columns"]
    even = np.pad(places[:, :, :columns], ((0, 0), (0, 0), (0, columns % 2), (0, 0)), constant_values=-1)
    m, y, x = np.moveaxis(even, -1, 0)
    values = np.where(m >= 0, ipsum[m, y, x], 0).astype(np.int32)
    return np.ascontiguousarray(values).view(np.uint64)


def split(build: Callable[[slice, slice], Case], m: slice, rows: slice, steps: tuple[int, int]) -> list[LayerPass]:
    """Return the passes of build(filters, output rows), with ranges halved until they fit the GLB: rows, then filters.

    steps: (filters, rows) that stay together
    """
    try:
        return [(build(m, rows), m, rows)]
    except GlbOverflow:
        if halves := _halves(rows, steps[1]):
            return [part for half in halves for part in split(build, m, half, steps)]
        if halves := _halves(m, steps[0]):
            return [part for half in halves for part in split(build, half, rows, steps)]
        raise


def _halves(whole: slice, step: int) -> tuple[slice, slice] | None:
    """Return two halves, cut at a multiple of `step`. Return None if the range is not longer than `step`."""
    length = whole.stop - whole.start
    middle = whole.start + -(-length // (2 * step)) * step
    return (slice(whole.start, middle), slice(middle, whole.stop)) if length > step else None


def rows_of(ifmap: Ifmap, window: Window, rows: slice) -> tuple[Ifmap, Window]:
    """Return the rows of a map that output rows need, and the window with the remaining padding."""
    top, _, left, right = window.pads
    first = rows.start * window.stride[0] - top
    last = (rows.stop - 1) * window.stride[0] - top + window.span[0]
    height = ifmap.shape[1]
    pads = (max(0, -first), max(0, last - height), left, right)
    needed = ifmap.values[:, max(0, first) : min(height, last)]
    return replace(ifmap, values=needed), replace(window, pads=pads)
