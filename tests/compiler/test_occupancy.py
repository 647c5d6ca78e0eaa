# SPDX-License-Identifier: Apache-2.0
"""The occupancy of the array, for layers of which it is known."""

from pathlib import Path

import numpy as np
import pytest

from eyrie.compiler.cost.occupancy import Occupancy, occupancies
from eyrie.compiler.cost.predict import predict
from eyrie.compiler.ir.image import Image
from eyrie.compiler.network import compile_network
from eyrie.measure.dataset.layers import Shape, model
from eyrie.model.config import AcceleratorConfig
from eyrie.testing.demo_net import demo_network


def image_of(shape: Shape, folder: Path, config: AcceleratorConfig | None = None) -> Image:
    path = folder / "layer.tflite"
    path.write_bytes(model(np.random.default_rng(0), shape))
    return compile_network(path, config or AcceleratorConfig()).image


def occupancy(image: Image) -> Occupancy:
    [found] = occupancies(image, predict(image))
    return found


def test_three_channels_fill_three_of_four(tmp_path: Path) -> None:
    image = image_of(Shape("convolution", 16, 16, 3, 16, 3, 3, padding="same"), tmp_path)
    found = occupancy(image)
    assert (found.word_channels, found.filters, found.columns) == (4, 16, 8.0)
    assert found.issued_macs == image.steps[0].macs * 4 / 3
    assert found.block_pixels == 16 * 16 and found.ofmap_bytes == 16 * 16 * 16


def test_filters_of_a_tile(tmp_path: Path) -> None:
    found = occupancy(image_of(Shape("convolution", 16, 16, 8, 9, 3, 3, padding="same"), tmp_path))
    assert found.filters == 16 and found.word_channels == 8 and found.ofmap_bytes == 16 * 16 * 9


@pytest.mark.parametrize("height", [64, 7])
def test_a_map_of_two_columns(tmp_path: Path, height: int) -> None:
    """Pixels of blocks that lie beyond the map are multiplied, too."""
    image = image_of(Shape("pointwise", height, 2, 40, 120), tmp_path)
    found, step = occupancy(image), image.steps[0]
    assert step.ofmap == (height, 2, 120)
    assert found.issued_macs * height * 2 == step.macs * found.block_pixels
    assert found.block_pixels == pytest.approx(height * found.pixels)


def test_a_vector_pass_has_no_array(tmp_path: Path) -> None:
    found = occupancy(image_of(Shape("logistic", 8, 8, 16, 16), tmp_path))
    assert found == Occupancy(ofmap_bytes=8 * 8 * 16, waited=found.waited)


def test_waits_for_the_dram(tmp_path: Path) -> None:
    """The first pass waits for the first rows of the ifmap: 8 bytes a pixel, and a memory of 300 cycles later."""
    shape = Shape("convolution", 32, 32, 8, 8, 3, 3, padding="same")
    fast, slow = (occupancy(image_of(shape, tmp_path, AcceleratorConfig(dram_latency=cycles))) for cycles in (30, 330))
    assert fast.waited > 100 and slow.waited >= fast.waited + 300


def test_the_bundled_network() -> None:
    image = demo_network()[1]
    prediction = predict(image)
    found = occupancies(image, prediction)
    assert sum(each.issued_macs for each in found) == prediction.counters["MACS"]
    assert sum(each.ofmap_bytes for each in found) == prediction.counters["GLB_OFMAP_BYTES"]
    for each, step in zip(found, image.steps, strict=True):
        assert 0 < each.columns <= image.config.cols and each.filters >= step.ofmap[2] and each.issued_macs >= step.macs
        assert each.waited <= prediction.cycles
