# SPDX-License-Identifier: Apache-2.0
"""Layers of the largest sizes compile and are right on the functional simulator; beyond what the accelerator can say or
hold they are rejected by name. tb/net/large_tests.py runs them on the RTL."""

from pathlib import Path

import numpy as np
import pytest

from eyrie.compiler.frontend import tflite
from eyrie.model.config import DEFAULT, GLB_WORD_BYTES, WIDE, AcceleratorConfig
from eyrie.model.encoding import STREAM_RANGE
from eyrie.model.functional_simulator import FunctionalSimulator
from tb.net.large_layers import LARGEST_MAP, LAYERS
from tb.net.random_layers import Layer, compile_layer
from tests.compiler.rejections import TOO_LARGE, with_room

AGAIN = [  # filters, or input and output, are larger than the GLB: each stripe has them anew
    Layer("convolution", 32, 32, 512, 8, 3, 1),
    Layer("pointwise", 4, 4, 8, 4096),
]
IN_TURN = [  # depthwise words are larger than the GLB
    Layer("depthwise", 2, 2, 4096, 0, 3, 1),
    Layer("separable", 2, 2, 4096, 8, 3, 1),
]
SMALL_MAP = Layer("separable", 2, 2, 1024, 4096, 3, 1)


@pytest.mark.parametrize("config", [DEFAULT, WIDE], ids=["1", "2"])
@pytest.mark.parametrize("layer", [*LAYERS, LARGEST_MAP, SMALL_MAP, *AGAIN, *IN_TURN], ids=str)
def test_large_layers(seed: int, tmp_path: Path, layer: Layer, config: AcceleratorConfig) -> None:
    rng, path = np.random.default_rng(seed), tmp_path / "layer.tflite"
    draw = compile_layer(layer, rng, path, config)
    assert draw.image is not None, draw.reason
    assert layer not in AGAIN or draw.image.steps[-1].schedule.endswith("refetched")
    graph, image = tflite.load(path), draw.image
    values = rng.integers(-128, 128, image.input_map.shape).astype(np.int8)
    run = FunctionalSimulator(image.with_input(values), config)
    run.run(image.program.address)
    assert (image.output(run.dram) == graph.run_images(values[None])[0]).all()


ROWS, COLUMNS = STREAM_RANGE.largest("rows"), STREAM_RANGE.largest("cols")


@pytest.mark.parametrize(
    "layer", [Layer("pointwise", 1, COLUMNS + 1, 8, 8), Layer("pointwise", ROWS + 1, 1, 8, 8)], ids=str
)
def test_beyond_the_fields_rejected_by_name(tmp_path: Path, layer: Layer) -> None:
    draw = compile_layer(layer, np.random.default_rng(1), tmp_path / "layer.tflite")
    assert draw.image is None and f"at most {ROWS} x {COLUMNS} x " in draw.reason, draw.reason


@pytest.mark.parametrize(
    ("layer", "least"),
    [
        (Layer("convolution", 32, 32, 1024, 8, 3, 1), 3 * 32 * 1024),  # three rows
        (Layer("convolution", 2, 2000, 32, 8, 3, 1), 2 * 2000 * 32),
        (Layer("fully connected", 1, 1, 65536, 8), 65536),
    ],
    ids=str,
)
def test_what_must_be_there_whole_is_rejected_by_name(tmp_path: Path, layer: Layer, least: int) -> None:
    """With more than what must be there, which has room for a stripe and its constants, it compiles."""
    rng = np.random.default_rng(1)
    draw = compile_layer(layer, rng, tmp_path / "layer.tflite")
    at, demand = TOO_LARGE.fullmatch(draw.reason).group(1, 2)
    assert draw.image is None and int(demand) > least
    with_it = compile_layer(layer, rng, tmp_path / "layer.tflite", with_room(DEFAULT, int(demand)))
    assert with_it.image is not None, with_it.reason
    one_word_less = with_room(DEFAULT, int(demand) - GLB_WORD_BYTES * DEFAULT.glb_banks)
    assert at in compile_layer(layer, rng, tmp_path / "layer.tflite", one_word_less).reason
