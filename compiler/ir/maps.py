# SPDX-License-Identifier: Apache-2.0
"""Feature maps of layers, and their places in larger ones."""

from dataclasses import dataclass, replace
from functools import cached_property

from eyrie.compiler.ir.feature_map import FeatureMap, word_groups
from eyrie.compiler.ir.graph import map_shape
from eyrie.compiler.ir.input_layout import InputTable, Patches
from eyrie.compiler.ir.operator import quantized
from eyrie.compiler.ir.tensor import Tensor
from eyrie.model.operators.quantization import Quantization


def are_writable(first: int, columns: int) -> bool:
    """Return whether passes can write so many columns of a larger map: pairs of words from an even column on, or single
    words."""
    return first % 2 == 0 or columns == 1


@dataclass(frozen=True)
class Part:
    """The place of a feature map in a larger one: its first row, word group and column there."""

    whole: "Map"
    row: int
    group: int
    column: int = 0


@dataclass(frozen=True)
class Map:
    """A feature map: int8 [H, W, C] of one image.

    packed: two pixels share a word; planar: NC/8HW8 layout if it is whole; patches, table: of an input, as the host
    writes it; part: its place in a larger feature map
    """

    name: str
    shape: tuple[int, int, int]
    quantization: Quantization
    packed: bool = False
    planar: bool = False
    patches: Patches | None = None
    table: InputTable | None = None
    part: Part | None = None

    @cached_property
    def layout(self) -> FeatureMap:
        """Return the memory layout in DRAM."""
        rows, cols, channels = self.shape
        return FeatureMap(rows, cols, word_groups(channels), 0, rows, planar=self.planar, packed=self.packed)

    @property
    def zero_point(self) -> int:
        return self.quantization.zero_point

    @cached_property
    def storage(self) -> "Map":
        """Return the feature map that has its words: itself, or the largest one that it is a part of."""
        return self.part.whole.storage if self.part else self

    @cached_property
    def around(self) -> tuple["Map", ...]:
        """Return the feature map, and those that it is a part of, the smallest first."""
        return (self, *self.part.whole.around) if self.part else (self,)

    @cached_property
    def first_row(self) -> int:
        """Return its first row in its storage."""
        return self.part.whole.first_row + self.part.row if self.part else 0

    @cached_property
    def first_group(self) -> int:
        """Return its first word group in its storage."""
        return self.part.whole.first_group + self.part.group if self.part else 0

    @cached_property
    def first_column(self) -> int:
        """Return its first column in its storage."""
        return self.part.whole.first_column + self.part.column if self.part else 0

    @property
    def is_strip(self) -> bool:
        """Return whether it has only some columns of its storage: DRAM has a row of each word group by itself."""
        return self.shape[1] < self.storage.shape[1]

    @property
    def is_written_in_place(self) -> bool:
        """Return whether passes can write it in its storage."""
        return are_writable(self.first_column, self.shape[1])

    @cached_property
    def offset(self) -> int:
        """Return the words from the first word of its storage to its own first word."""
        whole = self.storage.layout
        return self.first_row * self.row_step + self.first_group * whole.pitch + whole.column_step(self.first_column)

    @property
    def row_step(self) -> int:
        """Return the words in its storage from one row to the next."""
        return self.storage.layout.row_words


def upright(map_: Map, shape: tuple[int, int, int]) -> Map:
    """Return an output of the network; a row that is a column in the model has its shape there (passes/turn_maps.py).
    shape: (H, W, C) in the model"""
    return replace(map_, shape=shape) if map_.shape == (1, shape[0], shape[2]) and shape[1] == 1 else map_


def map_of(tensor: Tensor) -> Map:
    """Return the feature map of a tensor, which must be quantised."""
    return Map(tensor.name, map_shape(tensor.shape), quantized(tensor).quantization)
