# SPDX-License-Identifier: Apache-2.0
"""Single-layer runs of convolutions whose filters stay in the PEs."""

from dataclasses import replace

import numpy as np

from eyrie.compiler.ir.feature_map import FeatureMap
from eyrie.compiler.ir.window import Window, output_size
from eyrie.compiler.single_layer.layer_run import (
    SUMS,
    Allocator,
    Case,
    Finish,
    Ifmap,
    LayerPass,
    last_channels,
    pack_ipsum,
    place_map,
    place_ofmap,
    rows_of,
    set_addition,
    split,
)
from eyrie.compiler.target.blocks import Blocks
from eyrie.compiler.target.descriptors.convolution import (
    ConvolutionPass,
    convolution_descriptor,
    convolution_groups,
    convolution_sets,
)
from eyrie.compiler.target.packing import pack_convolution, pack_table, pad_runs
from eyrie.model.array import drain_transfers
from eyrie.model.config import DEFAULT, GLB_WORD_BYTES, AcceleratorConfig
from eyrie.model.errors import InputError
from eyrie.model.operators.quantization import stored_zero_point


def convolution_case(
    ifmap: Ifmap,
    filters: np.ndarray,
    window: Window,
    mapping: dict[str, int],
    finish: Finish = SUMS,
    config: AcceleratorConfig = DEFAULT,
    limit: int | None = None,
) -> Case:
    """Return a convolution in one pass.

    filters [M, C, R, S], int8, or int16 if they are of a range of at most 255; mapping: e, p, q, r, t; limit: words of
    GLB it may take, if not the accelerator's.
    """
    if finish.maxima:
        raise InputError("no maxima are taken of a convolution whose filters stay")
    p, q = mapping["p"], mapping["q"]
    (m, channels), (height, width) = filters.shape[:2], output_size(ifmap.shape[1:], window)
    if channels != ifmap.shape[0]:
        raise InputError(f"filter has {channels} channels, ifmap {ifmap.shape[0]}")
    memory = Allocator(limit or config.glb_words)
    placed = place_map(memory, ifmap.values.transpose(1, 2, 0), q, ifmap.packed)
    draft = replace(
        _draft(placed, window, (m, height, width), mapping, config),
        ifmap_zero_point=ifmap.zero_point,
        one_pixel=finish.one_pixel,
        filter_zero_point=stored_zero_point(filters),
    )
    tiles, sets = draft.tiles, convolution_sets(config, draft)
    words = pack_convolution(filters, q, p, sets.across, sets.down, split=sets.split or not sets.by_set)
    if sets.by_set and not sets.split:
        words = words[:, : convolution_groups(draft)[0]]
    filter_address = memory.place(pad_runs(words, config.filter_lanes))
    final = replace(draft, filter_address=filter_address)
    places = _places(config, final, (m, height, width))
    if finish.ipsum is not None:
        ipsum_address = memory.place(pack_ipsum(finish.ipsum, places, convolution_descriptor(config, final)))
        final = replace(final, ipsum_address=ipsum_address)
    if finish.output is not None:
        groups = tiles * -(-p * sets.down // GLB_WORD_BYTES)
        table_address = memory.place(pack_table(finish.output, groups))
        final = replace(
            final,
            table_address=table_address,
            ofmap=place_ofmap(memory, height, width, groups),
            output=finish.output.output,
            last_channels=last_channels(m, groups),
        )
    descriptor = convolution_descriptor(config, final)
    if finish.addition is not None:
        assert final.ofmap is not None  # the sum is stored as words
        set_addition(descriptor, memory, final.ofmap, finish.addition)
    return Case(memory.words, descriptor, places, (m, height, width), final.ofmap)


def _draft(
    ifmap: FeatureMap,
    window: Window,
    ofmap: tuple[int, int, int],
    mapping: dict[str, int],
    config: AcceleratorConfig,
) -> ConvolutionPass:
    """Return a pass of which no words but the ifmap's have their place. ofmap: M, E, F"""
    e, p, q, r, t = (mapping[name] for name in "epqrt")
    m, height, width = ofmap
    pixels = min(width, max(1, config.psum_words // p))
    if -(-width // pixels) > 1 and pixels * window.stride[1] % 2:
        pixels -= 1
    blocks = Blocks(rows=e, cols=1, pixels=pixels, down=-(-height // e), along=-(-width // pixels))
    return ConvolutionPass(ifmap, window, blocks, 0, p, q, r, t, tiles=-(-m // (p * t)), filter_address=0)


def convolution_cases(
    ifmap: Ifmap,
    filters: np.ndarray,
    window: Window,
    mapping: dict[str, int],
    finish: Finish = SUMS,
    config: AcceleratorConfig = DEFAULT,
) -> list[LayerPass]:
    """Return the passes of a convolution, as many as the GLB requires. Split output rows first, at multiples of e, then
    filters."""
    height, _ = output_size(ifmap.shape[1:], window)

    def build(m: slice, rows: slice) -> Case:
        part, cut = rows_of(ifmap, window, rows)
        return convolution_case(part, filters[m], cut, mapping, finish.of(m, rows), config)

    steps = mapping["p"] * mapping["t"], mapping["e"]
    return split(build, slice(0, len(filters)), slice(0, height), steps)


def _places(config: AcceleratorConfig, c: ConvolutionPass, shape: tuple[int, int, int]) -> np.ndarray:
    """Return (m, y, x) of every sum, in drain order."""
    sets, blocks = convolution_sets(config, c), c.blocks
    descriptor = convolution_descriptor(config, c)
    beats = drain_transfers(descriptor)
    down, along, tile, chain, _, pixel, slot, col = np.indices(
        (blocks.down, blocks.along, c.tiles, *beats.loops, config.cols)
    )
    width = blocks.rows // sets.folds
    per_tile = c.p * c.t
    across = col // width
    rows, filters = (width, 0) if sets.folds > 1 else (0, c.p)  # step between chains, if they come in turn
    y = down * blocks.rows + chain * rows + col % width
    x = along * blocks.pixels + pixel
    m = tile * per_tile + across * c.p * sets.down + chain * filters + slot
    used = (across < sets.across) & (m < shape[0]) & (y < shape[1]) & (x < shape[2])
    places = np.where(used[..., None], np.stack([m, y, x], axis=-1), -1)
    return places.reshape(blocks.outer * c.tiles, -1, config.cols, 3)[:, beats.place]
