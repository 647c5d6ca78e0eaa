# SPDX-License-Identifier: Apache-2.0
"""Filters as they lie in the GLB: with a zero point, and a single one."""

from pathlib import Path

import numpy as np
import pytest

import eyrie
from eyrie.compiler.frontend import tflite
from eyrie.compiler.ir.failure import ModelImportError
from eyrie.compiler.ir.operator import Unknown
from eyrie.compiler.target.packing import pack_convolution, pack_depthwise, pack_pointwise, tap_channels
from eyrie.model.config import CODED, DEFAULT, WIDE, AcceleratorConfig
from eyrie.model.encoding import PARAMETER_WORDS
from eyrie.model.operators.quantization import stored_zero_point
from eyrie.runtime.inputs import random_inputs
from eyrie.testing.tflite_builder import STEPS, Builder
from tests.compiler.test_moves import Drawn
from tests.compiler.test_turned_maps import checked


@pytest.mark.parametrize("zero_point", [0, 1, 100, 127, 128, 129, 254, 255])
def test_bytes(zero_point: int, seed: int) -> None:
    """Less their zero point bytes are the filters, and zeros wherever there is none. With bytes of both ends of the
    range the zero point can only be the one that they come with."""
    rng = np.random.default_rng([seed, zero_point])
    count, channels, rows, taps = (int(rng.integers(*bounds)) for bounds in ((1, 20), (1, 20), (1, 4), (1, 4)))
    stored = rng.integers(0, 256, (count, channels, rows, taps))
    stored.flat[:2] = rng.permutation([0, 255])[: stored.size]
    filters = (stored - zero_point).astype(np.int16)
    if {0, 255} <= set(stored.flat):
        assert stored_zero_point(filters) == zero_point - 128
    tables = np.full((-(-channels // 8), PARAMETER_WORDS), 0x5555555555555555, np.uint64)
    depthwise = pack_depthwise(filters[0].transpose(1, 2, 0), tables)
    assert (depthwise[:, -PARAMETER_WORDS:] == tables).all()
    packings = (
        (pack_convolution(filters, 4, 4, 1, 2, split=True), filters),
        (pack_convolution(filters, 4, 4, 1, 2, split=False), filters),
        (pack_convolution(filters, 3, 4, 1, 1, split=False), filters),
        (pack_pointwise(tap_channels(filters.transpose(0, 2, 3, 1)), 16), filters),
        (depthwise[:, :-PARAMETER_WORDS], filters[0]),
    )
    for packed, held in packings:
        bytes_ = np.ascontiguousarray(packed).view(np.int8).astype(int).ravel() - stored_zero_point(held)
        values, expected = (np.sort(each[each != 0]) for each in (bytes_, held.ravel()))
        np.testing.assert_array_equal(values, expected)


@pytest.mark.parametrize(
    ("values", "zero_point"),
    [
        ([], 0),
        ([0], 0),
        ([-128, 127], 0),
        ([128], -1),
        ([255], -128),
        ([-255], 127),
        ([-129, 3], 1),
        ([-100, 155], -28),
    ],
)
def test_zero_points(values: list[int], zero_point: int) -> None:
    assert stored_zero_point(np.array(values, np.int16)) == zero_point


@pytest.mark.parametrize(("values", "said"), [([-1, 255], "-1 to 255"), ([256], "0 to 256"), ([-256, 0], "-256 to 0")])
def test_no_zero_point(values: list[int], said: str) -> None:
    with pytest.raises(ValueError, match=f"^values of {said} are not int8 with a zero point$"):
        stored_zero_point(np.array(values))


def convolution(zero_points: object, count: int = 4) -> bytes:
    """A model of one convolution of uint8 with so many filters."""
    net = Builder()
    x, y = (net.tensor((1, 4, 4, channels), "uint8", 0.1) for channels in (2, count))
    scales = [0.01] * np.size(zero_points)
    filters = net.tensor((count, 1, 1, 2), "uint8", scales, zero_points, data=np.ones((count, 1, 1, 2), np.uint8))
    net.operator("CONV_2D", [x, filters], [y], **STEPS)
    return net.pack([x], [y])


def test_zero_points_of_channels() -> None:
    [node] = tflite.from_bytes(convolution([3, 3, 3, 3])).nodes
    assert not isinstance(node.operator, Unknown)
    [node] = tflite.from_bytes(convolution([3, 3, 4, 3])).nodes
    assert node.operator.reason.startswith("uint8 filters with a zero point of each channel: quantise them with one")


@pytest.mark.parametrize("zero_point", [-1, 256, 40_000])
def test_zero_point_that_is_no_uint8(zero_point: int) -> None:
    with pytest.raises(ModelImportError) as caught:
        tflite.from_bytes(convolution(zero_point))
    assert str(caught.value).startswith(
        f"operator #0 CONV_2D: uint8 filters with zero point {zero_point}, must be 0 to 255: "
    )


def single_filter(rows: int, cols: int) -> bytes:
    net = Drawn(1, (1, 9, 10, 40))
    return net.model(net.conv(net.input, 1, rows, cols))


@pytest.mark.parametrize(
    ("config", "kernel", "words"),
    [
        (DEFAULT, (4, 3), 1),
        (AcceleratorConfig(rows=3), (4, 3), 1),
        (AcceleratorConfig(filter_lanes=2), (4, 3), 1),
        (WIDE, (4, 3), 6),
        (CODED, (4, 3), 6),
        (DEFAULT, (1, 1), 4),
    ],
)
def test_all_rows_of_a_set_take_a_single_filter(
    config: AcceleratorConfig, kernel: tuple[int, int], words: int, seed: int
) -> None:
    """Its words come once. Filters of zeros stand beside it if words come in pairs, or if they are few."""
    built = checked(single_filter(*kernel), config, seed)
    [filters] = (buffer for buffer in built.image.buffers if buffer.name.endswith("filters"))
    held = words * kernel[0] * kernel[1] * 40
    assert held <= filters.bytes < held + 16


def single_filter_of_a_block() -> bytes:
    """Rows had different numbers of filters before, in a pass that left fewer than their queues hold."""
    net, channels = Drawn(1, (1, 4, 4, 8)), 200
    x = net.conv(net.conv(net.input, 7), channels, 2, 2)
    weights = net.rng.integers(-127, 128, (1, 3, 3, channels))
    taps, made = net.builder.tensor(weights.shape, scale=0.005, data=weights), net.tensor(net.shapes[x])
    net.builder.operator("DEPTHWISE_CONV_2D", [x, taps], [made], depthMultiplier=1, **STEPS)
    return net.model(net.conv(made, 1))


@pytest.mark.parametrize("model", [single_filter(4, 3), single_filter_of_a_block()], ids=["taps", "block"])
def test_a_single_filter_takes_as_long_as_predicted(model: bytes, seed: int, tmp_path: Path) -> None:
    path = tmp_path / "net.tflite"
    path.write_bytes(model)
    session = eyrie.load(path, back_end="rtl")
    [values] = random_inputs(tflite.from_bytes(path.read_bytes()), 1, seed)
    session(values[0])
    assert session.profile().measured_cycles == pytest.approx(session.profile().predicted_cycles, rel=0.01)
