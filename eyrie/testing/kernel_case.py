# SPDX-License-Identifier: Apache-2.0
"""Convolutions of any kernel, stride and dilation as single-pass cases of pointwise work."""

import numpy as np

from eyrie.compiler.ir.layer import Table
from eyrie.compiler.ir.window import Window, output_size
from eyrie.compiler.single_layer.layer_run import Allocator, Case, Ifmap, place_map, place_ofmap
from eyrie.compiler.single_layer.separable import block_places, place_filters, tile_of
from eyrie.compiler.target.blocks import Blocks
from eyrie.compiler.target.descriptors.separable import SeparablePass, separable_descriptor
from eyrie.compiler.target.packing import tap_channels
from eyrie.model.config import DEFAULT, AcceleratorConfig
from eyrie.model.operators.quantization import stored_zero_point


def kernel_case(
    ifmap: Ifmap,
    window: Window,
    filters: np.ndarray,
    output: Table,
    blocks: Blocks,
    config: AcceleratorConfig = DEFAULT,
) -> Case:
    """Return a convolution as pointwise work, with its int8 ofmap.

    `filters` are [M, C, R, S], int8 or int16 with a range of at most 255, and `output` has their quantisation
    parameters.
    """
    height, width = output_size(ifmap.shape[1:], window)
    memory = Allocator(config.glb_words)
    placed = place_map(memory, ifmap.values.transpose(1, 2, 0))
    taps = tap_channels(filters.transpose(0, 2, 3, 1))
    tile = tile_of(len(filters), taps.shape[1] // 8, blocks.pixels, config)
    packed = place_filters(memory, taps, output, tile)
    ofmap = place_ofmap(memory, height, width, packed.blocks * packed.tiles)
    p = SeparablePass(
        placed,
        ofmap,
        window,
        blocks,
        ifmap.zero_point,
        output.output,
        packed,
        by_taps=True,
        filter_zero_point=stored_zero_point(filters),
    )
    descriptor = separable_descriptor(config, p)
    shape = len(filters), height, width
    return Case(memory.words, descriptor, block_places(config, p, descriptor, shape), shape, ofmap)
