# SPDX-License-Identifier: Apache-2.0
"""Layers as the machine runs them: windows, tables, and groups of operators that are one pass."""

from dataclasses import dataclass, replace

import numpy as np

from compiler.ir.graph import Tensor

OFFSET_ZERO_POINT = -128  # activations with it are read as q ^ 0x80, unsigned


@dataclass(frozen=True)
class Window:
    """Kernel, stride and padding of a layer. pads: top, bottom, left, right."""

    kernel: tuple[int, int] = (1, 1)
    stride: int = 1
    pads: tuple[int, int, int, int] = (0, 0, 0, 0)


def output_size(shape: tuple[int, int], window: Window) -> tuple[int, int]:
    """(E, F). Raises ValueError where the kernel is larger than the padded map."""
    top, bottom, left, right = window.pads
    height, width = shape[0] + top + bottom, shape[1] + left + right
    rows, taps = window.kernel
    if height < rows or width < taps:
        raise ValueError(f"a {rows} x {taps} kernel does not fit a padded map of {height} x {width}")
    return (height - rows) // window.stride + 1, (width - taps) // window.stride + 1


def input_rows(window: Window, height: int, first: int, last: int) -> tuple[int, int]:
    """Input rows, clipped to the map, that output rows first to last - 1 need."""
    top = first * window.stride - window.pads[0]
    return max(0, top), min(height, (last - 1) * window.stride - window.pads[0] + window.kernel[0])


@dataclass(frozen=True)
class Output:
    """Requantised range: zero point, clamp."""

    zero_point: int = 0
    act_min: int = -128
    act_max: int = 127


@dataclass(frozen=True)
class Table:
    """Requantisation per channel: int32 bias, Q31 multiplier, shift; and the range."""

    bias: np.ndarray
    multiplier: np.ndarray
    shift: np.ndarray
    output: Output


@dataclass(frozen=True)
class Group:
    """One layer group: a convolution, or depthwise and / or pointwise work.

    filters     int8 [M, R, S, C] of a convolution, or [M, C] of pointwise work
    depthwise   int8 [R, S, C]
    table       of the result; middle: of the depthwise half
    pool_count  pixels averaged on the way out, 0 without
    image       which one of a batch it works on, or the first of `images`
    images      0: one image; else so many, all in the GLB at once
    """

    name: str
    source: Tensor
    output: Tensor
    window: Window
    filters: np.ndarray | None
    table: Table | None
    depthwise: np.ndarray | None = None
    middle: Table | None = None
    pool_count: int = 0
    image: int = 0
    images: int = 0

    @property
    def layer(self) -> str:
        """Its name without the image's number."""
        return self.name.partition(".")[0]

    @property
    def is_convolution(self) -> bool:
        return self.filters is not None and self.filters.ndim == 4

    @property
    def map_shape(self) -> tuple[int, int]:
        """(E, F) before pooling."""
        return output_size(self.source.shape[:2], self.window)

    @property
    def macs(self) -> int:
        """Multiplications, padding included."""
        pixels = self.map_shape[0] * self.map_shape[1]
        return max(self.images, 1) * pixels * sum(w.size for w in (self.filters, self.depthwise) if w is not None)

    @property
    def weight_bytes(self) -> int:
        return sum(w.size for w in (self.filters, self.depthwise) if w is not None)

    @property
    def channels(self) -> int:
        """Output channels of all convolutions in the group: each has a table entry."""
        return sum(len(t.bias) for t in (self.table, self.middle) if t is not None)

    def __str__(self) -> str:
        kind = "conv" if self.is_convolution else "+".join(
            n for n, w in (("depthwise", self.depthwise), ("pointwise", self.filters)) if w is not None)
        shape = "x".join(map(str, self.source.shape)), "x".join(map(str, self.output.shape))
        pads = " ".join(map(str, self.window.pads))
        return f"{self.name:10} {kind:20} {shape[0]} -> {shape[1]} stride {self.window.stride} pads {pads}"


def sliced(group: Group, slices: int) -> Group:
    """A group with the first of so many slices of its filters."""
    if slices == 1:
        return group
    count = len(group.filters) // slices
    shape = (*group.output.shape[:2], count)
    return replace(group, filters=group.filters[:count], output=replace(group.output, shape=shape))
