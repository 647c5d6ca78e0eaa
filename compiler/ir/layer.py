# SPDX-License-Identifier: Apache-2.0
"""Layers as the accelerator runs them: quantisation parameters, and fused operators."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np

from eyrie.compiler.ir.feature_map import word_groups
from eyrie.compiler.ir.maps import Map
from eyrie.compiler.ir.window import POINTWISE, Window, input_rows, output_size
from eyrie.compiler.ir.word_operation import WordOperation

OFFSET_ZERO_POINT = -128  # activations with it are read as q ^ 0x80, unsigned


def array_offset(zero_point: int) -> int:
    """Return the number that the array takes off each value of a feature map with this zero point: -128 or 0."""
    return OFFSET_ZERO_POINT if zero_point == OFFSET_ZERO_POINT else 0


@dataclass(frozen=True)
class Output:
    """The range of the requantised values: zero point and clamp."""

    zero_point: int = 0
    act_min: int = -128
    act_max: int = 127


@dataclass(frozen=True)
class Table:
    """Per-channel quantisation parameters: int32 bias, Q31 multiplier, shift; and the range of the result."""

    bias: np.ndarray
    multiplier: np.ndarray
    shift: np.ndarray
    output: Output

    def of(self, filters: slice) -> "Table":
        return Table(self.bias[filters], self.multiplier[filters], self.shift[filters], self.output)


@dataclass(frozen=True)
class Average:
    """A mean over a whole map. count: its pixels"""

    count: int


@dataclass(frozen=True, kw_only=True)
class Group:
    """One fused operator: the work of a pass, or of a load. Subclasses: Convolution, Grouped, Pointwise, Depthwise,
    Separable, Elementwise.

    others    feature maps that it reads beside the source: second operands of its epilogue's operations, in order
    epilogue  operations on the result before it is stored
    stored    whether its output, or the feature map that this is a part of, is one of the network's
    image     its image in a batch, or the first of `images`
    images    0: one image; else the number of images, all in the GLB at once
    whole     the fused operator that it is a strip of columns of
    """

    name: str
    source: Map
    output: Map
    others: tuple[Map, ...] = ()
    window: Window = POINTWISE
    epilogue: tuple[Average | WordOperation, ...] = ()
    stored: bool = False
    image: int = 0
    images: int = 0
    whole: "Group | None" = None

    @property
    def kind(self) -> str:
        raise NotImplementedError

    @property
    def operators(self) -> str:
        """Return the kinds of its operators."""
        return self.kind

    @property
    def weights(self) -> tuple[np.ndarray, ...]:
        """Return the weights of all its convolutions, int8 or int16: less their zero point, if it is not 0."""
        raise NotImplementedError

    @property
    def tables(self) -> tuple[Table, ...]:
        """Return the per-channel quantisation parameters of all its convolutions."""
        raise NotImplementedError

    @cached_property
    def geometry(self) -> tuple:
        """Return all fields except names, places in a batch and values. Fused operators of one geometry have the same
        mappings."""
        shapes = tuple(weights.shape for weights in self.weights)
        return (
            type(self),
            self.source.shape,
            self.source.packed,
            self.window,
            shapes,
            self.averaged,
            self.images,
            self.flat,
            bool(self.operations),
        )

    @property
    def operands(self) -> tuple[Map, ...]:
        """Return the source and the other feature maps that it reads."""
        return self.source, *self.others

    @property
    def copies(self) -> bool:
        """Return whether its output has the words of its source, each at the same place."""
        return False

    def broadcasts(self, number: int) -> bool:
        """Return whether all rows of the output read the same row of an operand. number: 0 for the source"""
        return number > 0 and self.operands[number].shape[0] != self.map_shape[0]

    @property
    def origin(self) -> "Group":
        """Return the fused operator that it is a strip of, or itself."""
        return self.whole or self

    @property
    def layer(self) -> str:
        """Return the name without the image's number."""
        return self.name.partition(".")[0]

    @cached_property
    def map_shape(self) -> tuple[int, int]:
        """Return (E, F) before the epilogue."""
        return output_size(self.source.shape[:2], self.window)

    @cached_property
    def averaged(self) -> int:
        """Return the number of pixels that its epilogue averages, 0 if it does not average."""
        for step in self.epilogue:
            if isinstance(step, Average):
                return step.count
        return 0

    @cached_property
    def operations(self) -> tuple[WordOperation, ...]:
        """Return the elementwise operations of the epilogue."""
        return tuple(step for step in self.epilogue if isinstance(step, WordOperation))

    @property
    def at_once(self) -> bool:
        """Return whether all rows must be made at once."""
        return False

    @property
    def flat(self) -> bool:
        """Return whether all of its feature maps, if they are whole, can have H and W merged (FeatureMap.flat)."""
        return False

    @property
    def together(self) -> int:
        """Return the number of rows that are made together: jobs begin and end at multiples of it."""
        return 1

    def input_rows(self, first: int, last: int) -> tuple[int, int]:
        """Return the rows of its source that output rows first to last - 1 need."""
        return input_rows(self.window, self.source.shape[0], first, last)

    @property
    def macs(self) -> int:
        """Return the MACs, padding included."""
        return max(self.images, 1) * prod(self.map_shape) * self.weight_bytes

    @property
    def weight_bytes(self) -> int:
        """Return the bytes of the weights as the model has them."""
        if patches := self.source.storage.patches:
            return self.channels * patches.filter_bytes
        kernel, taps = prod(self.window.kernel), self.window.taps  # fewer taps if the window is folded
        return sum(weights.size * taps // kernel if weights.ndim > 2 else weights.size for weights in self.weights)

    @property
    def channels(self) -> int:
        """Return the output channels of all convolutions in the group: each has a table entry."""
        return sum(len(table.bias) for table in self.tables)

    def __str__(self) -> str:
        shape = "x".join(map(str, self.source.shape)), "x".join(map(str, self.output.shape))
        source = self.source
        form = " table" * bool(source.table) + " patches" * bool(source.storage.patches) + " packed" * source.packed
        said = f"{self.name:10} {self.operators:20} {shape[0]}{form} -> {shape[1]} {self.window}"
        others = [other.name for other in self.others]
        places = [
            f"{end} at row {map_.first_row}, word {map_.first_group}{_column(map_)} of {map_.storage.name}"
            for end, map_ in (("reads", self.source), ("stores", self.output))
            if map_.part
        ]
        return " ".join([said, *(operation.name for operation in self.operations), *others, *places])


def _column(map_: Map) -> str:
    return f", column {map_.first_column}" if map_.is_strip else ""


@dataclass(frozen=True, kw_only=True)
class Filtered(Group):
    """A fused operator that sums over channels.

    filters: [M, ...], as weights; table: quantisation parameters of the result
    """

    filters: np.ndarray
    table: Table

    @property
    def weights(self) -> tuple[np.ndarray, ...]:
        return (self.filters,)

    @property
    def tables(self) -> tuple[Table, ...]:
        return (self.table,)


@dataclass(frozen=True, kw_only=True)
class Convolution(Filtered):
    """A convolution. filters: [M, R, S, C]"""

    @property
    def kind(self) -> str:
        return "conv"


@dataclass(frozen=True, kw_only=True)
class Grouped(Filtered):
    """A convolution in which each filter reads one channel: depthwise work of any window.

    filters: [M, R, S]; filter m reads channel m div (M / C)
    """

    @property
    def kind(self) -> str:
        return "grouped"

    @property
    def own_blocks(self) -> int:
        """Return the number of blocks of 8 filters that read the same channel group: all blocks, if only one group
        exists."""
        groups = word_groups(self.source.shape[2])
        return word_groups(len(self.filters)) if groups == 1 else len(self.filters) // self.source.shape[2]

    def spread(self) -> np.ndarray:
        """Return [M, R, S, 8]: the filters with 8 channels, where the channels that a filter does not read are zero."""
        own = np.arange(len(self.filters)) // (len(self.filters) // self.source.shape[2])
        found = np.zeros((*self.filters.shape, 8), self.filters.dtype)
        found[np.arange(len(own)), :, :, own % 8] = self.filters
        return found


@dataclass(frozen=True, kw_only=True)
class Pointwise(Filtered):
    """A pointwise convolution. filters: [M, C]"""

    @property
    def kind(self) -> str:
        return "fc" if self.source.shape[:2] == (1, 1) else "pointwise"

    @property
    def operators(self) -> str:
        return "pointwise"

    @property
    def flat(self) -> bool:
        return self.row_by_row and all(map_.planar for map_ in (self.source, self.output, *self.others))

    @property
    def row_by_row(self) -> bool:
        """Return whether each output pixel depends only on the input pixel at the same place."""
        alike = all(other.shape[:2] == self.output.shape[:2] for other in self.others)
        return alike and self.window == Window() and not self.averaged and not self.images and self.map_shape[1] > 1


@dataclass(frozen=True, kw_only=True)
class Depthwise(Group):
    """A depthwise convolution.

    depthwise: [R, S, M], output m of channel m div (M / C); middle: quantisation parameters of its words, which are the
    result
    """

    depthwise: np.ndarray
    middle: Table

    @property
    def kind(self) -> str:
        return "depthwise"

    @property
    def weights(self) -> tuple[np.ndarray, ...]:
        return (self.depthwise,)

    @property
    def tables(self) -> tuple[Table, ...]:
        return (self.middle,)


@dataclass(frozen=True, kw_only=True)
class Separable(Filtered):
    """A depthwise convolution with as many outputs as channels, and a pointwise one of its words, which stay in the
    array.

    filters: [M, C]
    """

    depthwise: np.ndarray
    middle: Table

    @property
    def kind(self) -> str:
        return "separable"

    @property
    def operators(self) -> str:
        return "depthwise+pointwise"

    @property
    def weights(self) -> tuple[np.ndarray, ...]:
        return self.filters, self.depthwise

    @property
    def tables(self) -> tuple[Table, ...]:
        return self.table, self.middle


def divided_maps(groups: Iterable[Group]) -> set[str]:
    """Return the names of the feature maps that are parts of others, or have parts: they all lie row by row."""
    maps = (map_ for group in groups for map_ in (group.source, group.output, *group.others) if map_.part)
    return {each.name for map_ in maps for each in map_.around}
