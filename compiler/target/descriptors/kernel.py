# SPDX-License-Identifier: Apache-2.0
"""Pass descriptors of any convolution as pointwise work: each tap of the kernel is a channel group of its own.

The ifmap stream moves the window: it brings the pixels of a group once for each tap, one word at a time, since
strides and taps land on odd columns, too. All else is the pointwise pass of a map of C x R x S channels.
"""

from dataclasses import dataclass, replace

import numpy as np

from compiler.ir.feature_map import split_channels
from compiler.target.descriptors.separable import SeparablePass, separable_descriptor
from compiler.target.descriptors.streams import ring_of, rows_level
from model import encoding as enc
from model.config import MachineConfig
from model.descriptor import Descriptor, Level, StreamDescriptor
from model.encoding import Axis, Destination, Stream


@dataclass(frozen=True)
class Kernel:
    """taps: R, S; stride, dilation: of rows, of columns; pads: top, bottom, left, right."""

    taps: tuple[int, int]
    stride: tuple[int, int] = (1, 1)
    dilation: tuple[int, int] = (1, 1)
    pads: tuple[int, int, int, int] = (0, 0, 0, 0)

    @property
    def span(self) -> tuple[int, int]:
        """Rows and columns from the first tap to the last."""
        rows, cols = ((taps - 1) * step + 1 for taps, step in zip(self.taps, self.dilation))
        return rows, cols

    def output_size(self, rows: int, cols: int) -> tuple[int, int]:
        """(E, F) of a map. Raises ValueError where the kernel is larger than the padded map."""
        top, bottom, left, right = self.pads
        height, width = rows + top + bottom, cols + left + right
        if height < self.span[0] or width < self.span[1]:
            raise ValueError(f"a kernel that spans {self.span[0]} x {self.span[1]} pixels does not fit a padded map of "
                             f"{height} x {width}")
        return (height - self.span[0]) // self.stride[0] + 1, (width - self.span[1]) // self.stride[1] + 1


def tap_channels(filters: np.ndarray) -> np.ndarray:
    """int8 [M, C, R, S] -> [M, groups x R x S x 8]: the channels of the pointwise filters."""
    words = split_channels(filters.transpose(0, 2, 3, 1))  # [M, R, S, groups, 8]
    return words.transpose(0, 3, 1, 2, 4).reshape(len(filters), -1)


def kernel_descriptor(machine: MachineConfig, p: SeparablePass, kernel: Kernel) -> Descriptor:
    """A pointwise pass, filters as `tap_channels` has them, of a kernel in place of its window.

    Raises ValueError where the mapping does not fit the machine.
    """
    descriptor = separable_descriptor(machine, replace(p, taps=kernel.taps[0] * kernel.taps[1]))
    descriptor.set_stream(Stream.IFMAP, _pixel_stream(machine, p, kernel))
    return descriptor


def _pixel_stream(machine: MachineConfig, p: SeparablePass, kernel: Kernel) -> StreamDescriptor:
    ifmap, blocks, (down, across) = p.ifmap, p.blocks, kernel.stride
    if blocks.images:
        raise ValueError("a convolution as pointwise work takes one image at a time")

    def columns(count: int, step: int, column_tag: int = 0) -> Level:
        return Level(count, step, Axis.COLUMN, step, enc.TAG.pack(column=column_tag))

    y, x = blocks.first_row * down - kernel.pads[0], -kernel.pads[2]
    split = machine.sets > 1
    return StreamDescriptor(
        {"row_address": ifmap.row_address(y), "offset": x % (1 << enc.GLB_ADDRESS_BITS), **ring_of(ifmap)},
        {"y": y, "x": x, "rows": ifmap.rows, "cols": ifmap.cols},
        {"pad": p.ifmap_zero_point, "destination": Destination.PIXELS, "half_by_set": int(split), "single": 1},
        (
            columns(blocks.pixels, across),
            columns(blocks.cols, blocks.pixels * across, column_tag=1),
            rows_level(ifmap, blocks.rows, down, column_tag=blocks.cols),
            Level(1 if split else 2, tag=enc.TAG.pack(half=1)),
            columns(kernel.taps[1], kernel.dilation[1]),
            rows_level(ifmap, kernel.taps[0], kernel.dilation[0]),
            Level(ifmap.groups, ifmap.group_step),
            columns(blocks.inner, blocks.width * across),
            Level(p.filters.tiles),
            columns(blocks.along, blocks.outer_width * across),
            rows_level(ifmap, blocks.down, blocks.rows * down),
        ),
    )
