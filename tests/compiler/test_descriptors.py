# SPDX-License-Identifier: Apache-2.0
"""Descriptors of single passes: what the pass model makes of them is what the operators compute.

Random layers of every kind; the model of a pass walks the same descriptor words as the RTL.
"""

from dataclasses import replace

import numpy as np
import pytest

from eyrie.compiler.ir.window import Window
from eyrie.compiler.single_layer.convolution import convolution_case
from eyrie.compiler.single_layer.layer_run import GlbOverflow, Ifmap
from eyrie.compiler.single_layer.separable import Tiling, pointwise_blocks
from eyrie.model.config import DEFAULT, AcceleratorConfig
from eyrie.model.descriptor import Descriptor
from eyrie.model.passes import run_pass
from eyrie.testing import layers

MAPPINGS = [
    dict(e=8, p=4, q=4, r=1, t=2),
    dict(e=8, p=4, q=3, r=1, t=2),
    dict(e=8, p=4, q=4, r=2, t=1),
    dict(e=4, p=4, q=4, r=2, t=2),
    dict(e=4, p=4, q=4, r=1, t=4),
    dict(e=16, p=4, q=4, r=1, t=1),
    dict(e=8, p=8, q=4, r=1, t=2),
    dict(e=4, p=6, q=4, r=1, t=4),
    dict(e=5, p=3, q=2, r=1, t=1),
    dict(e=3, p=2, q=1, r=2, t=2),
    dict(e=2, p=1, q=4, r=1, t=6),
]
SIZES = {"6x8": DEFAULT, "6x4": replace(DEFAULT, cols=4), "12x14": AcceleratorConfig(rows=12, cols=14)}


def check(layer: layers.Layer, config: AcceleratorConfig, about: str) -> None:
    """Runs a layer's passes on the model; compares sums and ofmap."""
    gathered = None if layer.sums is None else np.zeros_like(layer.sums)
    for case, filters, rows in layer.parts:
        glb = np.zeros(config.glb_words, np.uint64)
        glb[: len(case.glb)] = case.glb
        trace = run_pass(config, case.descriptor, glb)
        if gathered is not None:
            gathered[filters, rows] = case.gather(trace.sums)
        if layer.ofmap is None:
            assert trace.words is None and trace.written == 0, about
            continue
        place = case.ofmap
        words = glb[place.address : place.address + place.words]
        expected = layer.ofmap[rows, :, filters]
        got = place.unpack(words.reshape(place.rows, place.groups, place.pitch), expected.shape[2])
        np.testing.assert_array_equal(got, expected, err_msg=about)
        assert trace.written >= expected.size, about
    if gathered is not None:
        np.testing.assert_array_equal(gathered, layer.sums, err_msg=about)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("mapping", MAPPINGS, ids=lambda m: "".join(f"{k}{v}" for k, v in m.items()))
def test_convolutions(mapping: dict[str, int], packed: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    makes_words = mapping["p"] == 8 or (
        mapping["p"] * mapping["t"] == 8 and mapping["r"] * mapping["t"] <= DEFAULT.sets
    )
    for _ in range(6):
        kernel, stride, extra, width = (int(v) for v in rng.integers((1, 1, 0, 1), (4, 3, 3, 20)))
        pads = tuple(int(v) for v in rng.integers(0, kernel, 4))
        height = 2 * mapping["e"] + extra
        if (
            min(
                (height - 1) * stride + kernel - pads[0] - pads[1],
                (width - 1) * stride + kernel - pads[2] - pads[3],
            )
            < 1
        ):
            continue
        has = {
            name
            for name, there in (
                ("ipsum", rng.integers(2)),
                ("packed", packed),
                ("ofmap", makes_words and rng.integers(2)),
            )
            if there
        }
        window = Window((kernel, kernel), (stride, stride), pads)
        layer = layers.convolution(rng, mapping, width, window, extra=extra, has=has)
        check(layer, DEFAULT, f"{mapping} F={width} R={kernel} U={stride} pads={pads} extra={extra}")


@pytest.mark.parametrize(
    ("kind", "size"),
    [
        *((kind, size) for kind in ("fused", "pointwise") for size in SIZES),
        *(("depthwise", size) for size in SIZES if SIZES[size].sets == 2),
    ],
)
def test_separable_layers(kind: str, size: str, seed: int) -> None:
    rng, config = np.random.default_rng(seed), SIZES[size]
    for _ in range(12):
        stride = int(rng.integers(1, 3)) if kind != "pointwise" else 1
        rows, cols, channels, filters = (int(v) for v in rng.integers((3, 3, 1, 1), (18, 18, 50, 110)))
        kernel = int(rng.integers(1, 4))
        pads = tuple(int(v) for v in rng.integers(0, kernel, 4)) if kind != "pointwise" else (0, 0, 0, 0)
        window = Window((kernel, kernel), (stride, stride), pads)
        layer = layers.separable(rng, kind, (channels, filters, rows, cols), window, config)
        check(layer, config, f"{kind} C={channels} M={filters} H={rows} W={cols} U={stride} {pads}")


@pytest.mark.parametrize("kind", ["fused", "pointwise"])
def test_inner_blocks_and_filter_tiles(kind: str, seed: int) -> None:
    """Filters of a tile are used for several blocks of pixels, words for several tiles."""
    rng = np.random.default_rng(seed)
    for _ in range(6):
        inner, tile = int(rng.integers(2, 4)), int(rng.choice([8, 16, 24]))
        cols = int(rng.integers(12, 40))
        pads = (1, 1, 1, 1) if kind == "fused" else (0, 0, 0, 0)
        blocks = pointwise_blocks(5, cols, DEFAULT)
        blocks = replace(blocks, inner=inner, along=-(-cols // (blocks.width * inner)))
        window = Window((3, 3), pads=pads)
        layer = layers.separable(rng, kind, (20, 2 * tile + 3, 5, cols), window, tiling=Tiling(blocks, tile))
        check(layer, DEFAULT, f"{kind} W={cols} inner={inner} tile={tile}")


def test_words_hold_what_was_set() -> None:
    """Reading a descriptor back gives the same words."""
    layer = layers.separable(np.random.default_rng(1), "fused", (20, 30, 6, 7))
    before, after = layer.parts[0][0].descriptor, Descriptor()
    after.set_ids(*before.ids(6, 8))
    for index in range(8):
        after.words[index] = before.words[index]
    for stream in range(7):
        if before.stream(stream).options["enable"]:
            after.set_stream(stream, before.stream(stream))
    assert before.changes(after) == {}


@pytest.mark.parametrize(
    ("mapping", "kernel", "message"),
    [
        (dict(e=8, p=9, q=4, r=1, t=2), 3, "filter words of a PE: needs 27, has 24"),
        (dict(e=8, p=4, q=4, r=1, t=3), 3, "e = 8, r = 1, t = 3 does not fit 6 x 8 PEs"),
    ],
)
def test_mappings_that_do_not_fit(mapping: dict[str, int], kernel: int, message: str) -> None:
    ifmap, filters = np.zeros((8, 10, 10), np.int8), np.zeros((16, 8, kernel, kernel), np.int8)
    with pytest.raises(ValueError) as error:
        convolution_case(Ifmap(ifmap), filters, Window((kernel, kernel)), mapping)
    assert str(error.value) == message


def test_case_larger_than_the_glb() -> None:
    ifmap, filters = np.zeros((64, 40, 40), np.int8), np.zeros((8, 64, 3, 3), np.int8)
    with pytest.raises(GlbOverflow, match="GLB: needs 102400 bytes, has 65536"):
        convolution_case(Ifmap(ifmap), filters, Window((3, 3)), MAPPINGS[0])
