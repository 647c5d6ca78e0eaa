# SPDX-License-Identifier: Apache-2.0
"""Convolutions of any kernel, stride and dilation as single-pass cases of pointwise work."""

import numpy as np

from compiler.cases.passes import Allocator, Case, block_places, place_filters, place_map, place_ofmap, tile_of
from compiler.ir.layer import Table, Window
from compiler.target.blocks import Blocks
from compiler.target.descriptors.kernel import Kernel, kernel_descriptor, tap_channels
from compiler.target.descriptors.separable import SeparablePass
from model.config import DEFAULT, MachineConfig


def kernel_case(ifmap: np.ndarray, kernel: Kernel, zero_point: int, filters: np.ndarray, output: Table,
                blocks: Blocks, machine: MachineConfig = DEFAULT) -> Case:
    """A convolution as pointwise work, with its int8 ofmap.

    ifmap int8 [C, H, W]; filters int8 [M, C, R, S] with table `output`.
    """
    height, width = kernel.output_size(*ifmap.shape[1:])
    memory = Allocator(machine.glb_words)
    placed = place_map(memory, ifmap.transpose(1, 2, 0))
    packed = place_filters(memory, tap_channels(filters), output, tile_of(len(filters), blocks.pixels, machine))
    ofmap = place_ofmap(memory, height, width, packed.count // 8 * packed.tiles)
    p = SeparablePass(placed, ofmap, Window(), blocks, zero_point, output.output, packed)
    descriptor = kernel_descriptor(machine, p, kernel)
    shape = len(filters), height, width
    return Case(memory.words, descriptor, block_places(machine, p, descriptor, shape), shape, ofmap)
