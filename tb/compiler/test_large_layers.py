# SPDX-License-Identifier: Apache-2.0
"""Layers of the largest sizes compile and are right on the command-level model; beyond what the machine can say or hold
they are refused by name. tb/net/large_tests.py runs them on the RTL."""

from pathlib import Path

import numpy as np
import pytest

from compiler.frontend import tflite
from model.config import DEFAULT, MachineConfig
from model.encoding import STREAM_RANGE
from model.machine import Machine
from tb.net.bench import WIDE
from tb.net.large_layers import LARGEST_MAP, LAYERS
from tb.net.random_layers import Layer, compile_layer


@pytest.mark.parametrize("machine", [DEFAULT, WIDE], ids=["1", "2"])
@pytest.mark.parametrize("layer", [*LAYERS, LARGEST_MAP], ids=str)
def test_large_layers(seed: int, tmp_path: Path, layer: Layer, machine: MachineConfig) -> None:
    rng, path = np.random.default_rng(seed), tmp_path / "layer.tflite"
    draw = compile_layer(layer, rng, path, machine)
    assert draw.image is not None, draw.reason
    graph, image = tflite.load(path), draw.image
    values = rng.integers(-128, 128, tuple(image.input_place["shape"])).astype(np.int8)
    run = Machine(image.with_input(values), machine)
    run.run(image.program)
    assert (image.output(run.dram) == graph.run_images(values[None])[0]).all()


ROWS, COLUMNS = STREAM_RANGE.largest("rows"), STREAM_RANGE.largest("cols")


@pytest.mark.parametrize(("layer", "said"), [
    (Layer("pointwise", 1, COLUMNS + 1, 8, 8), f"at most {ROWS} x {COLUMNS} x "),
    (Layer("pointwise", ROWS + 1, 1, 8, 8), f"at most {ROWS} x {COLUMNS} x "),
    (Layer("depthwise", 2, 2, 4096, 0, 3, 1), "group depthwise0 needs at least 106496 bytes of GLB, there are 65536"),
    (Layer("convolution", 32, 32, 512, 8, 3, 1), "group conv0 needs at least 102984 bytes of GLB, there are 65536"),
    (Layer("pointwise", 4, 4, 8, 4096), "group pointwise0 needs at least 102464 bytes of GLB, there are 65536"),
    (Layer("fully connected", 1, 1, 65536, 8), "group fc0 needs at least "),
], ids=str)
def test_beyond_that_refused_by_name(tmp_path: Path, layer: Layer, said: str) -> None:
    draw = compile_layer(layer, np.random.default_rng(1), tmp_path / "layer.tflite")
    assert draw.image is None and said in draw.reason, draw.reason
