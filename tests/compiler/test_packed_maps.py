# SPDX-License-Identifier: Apache-2.0
"""Packed maps: where each channel lies, and which inputs of a network lie so."""

from dataclasses import fields, replace

import numpy as np
import pytest

from eyrie.compiler.ir.feature_map import FeatureMap
from eyrie.compiler.ir.layer import Convolution, Depthwise, Group
from eyrie.compiler.ir.window import Window
from eyrie.compiler.plan.packed_maps import with_packed_inputs
from eyrie.compiler.target.descriptors.streams import columns_level
from eyrie.compiler.target.mapping import mappings
from eyrie.compiler.target.suit import suited
from eyrie.model.config import DEFAULT, AcceleratorConfig
from eyrie.model.encoding import ArrayMode
from eyrie.testing.layers import int8
from tests.compiler.windows import convolution_chain

SMALL = replace(DEFAULT, glb_bank_words=256)


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_where_each_channel_lies(channels: int, seed: int) -> None:
    """Two columns in a word of 8 bytes, rows of an even number of words, zeros between."""
    rng = np.random.default_rng([seed, channels])
    for cols in (*range(1, 10), 32, 97):
        rows = int(rng.integers(1, 5))
        values, map_ = int8(rng, rows, cols, channels), FeatureMap(rows, cols, 1, 0, rows, packed=True)
        assert map_.pitch % 2 == 0 and 0 <= 2 * map_.pitch - cols < 4
        packed = map_.pack(values)
        assert packed.shape == (rows, 1, map_.pitch)
        expected = np.zeros((rows, map_.pitch * 8), np.int8)
        for y, x, c in np.ndindex(*values.shape):
            expected[y, x // 2 * 8 + x % 2 * 4 + c] = values[y, x, c]
        assert packed.tobytes() == expected.tobytes()
        np.testing.assert_array_equal(map_.unpack(packed, channels), values)


@pytest.mark.parametrize(("packed", "stride"), [(False, 6), (True, 3)])
def test_pairs_of_pixels_begin_at_even_columns(packed: bool, stride: int) -> None:
    map_ = FeatureMap(1, 8, 1, 0, 1, packed=packed)
    assert columns_level(map_, 2, 6).stride == stride and columns_level(map_, 1, 5).count == 1
    with pytest.raises(ValueError, match="^a step of 5 columns: pairs of pixels begin at even ones$"):
        columns_level(map_, 2, 5)


def convolution(
    channels: int = 3,
    kernel: tuple[int, int] = (3, 3),
    stride: tuple[int, int] = (1, 1),
    filters: int = 16,
    dilation: tuple[int, int] = (1, 1),
) -> Group:
    window = Window(kernel, stride, dilation=dilation)
    return convolution_chain(np.random.default_rng(1), (16, 17, channels), window, filters).groups[0]


def wide(group: Convolution) -> Convolution:
    """With filters of a uint8 model."""
    return replace(group, filters=group.filters.astype(np.int16) + 100)


def packed(groups: list[Group], config: AcceleratorConfig = DEFAULT) -> list[bool]:
    """Of each group, whether it reads a packed map."""
    return [group.source.packed for group in with_packed_inputs(suited(groups, config), config)]


@pytest.mark.parametrize(
    "group",
    [
        *(convolution(channels) for channels in (1, 2, 3, 4)),
        convolution(stride=(2, 2)),
        convolution(kernel=(2, 3)),
        wide(convolution()),
    ],
)
def test_inputs_of_row_stationary_convolutions_are_packed(group: Convolution) -> None:
    assert packed([group]) == [True]
    [found] = with_packed_inputs([group], DEFAULT)
    assert {mapping.mode for mapping in mappings(DEFAULT, found, 16)} == {ArrayMode.CONVOLUTION}


def test_depthwise_work_on_one_channel_is_a_convolution() -> None:
    """Of several outputs, which SUPERs do not make; on more channels it is by taps."""
    for channels, expected in ((1, True), (2, False)):
        group = convolution(channels, filters=8)
        taps = group.filters[..., 0].transpose(1, 2, 0)
        ends = {field.name: getattr(group, field.name) for field in fields(Group)}
        assert packed([Depthwise(**ends, depthwise=taps, middle=group.table)]) == [expected]


@pytest.mark.parametrize(
    ("group", "config"),
    [
        (convolution(5), DEFAULT),
        (convolution(kernel=(5, 5)), DEFAULT),
        (convolution(kernel=(1, 3)), DEFAULT),
        (convolution(stride=(3, 3)), DEFAULT),
        (convolution(stride=(1, 2)), DEFAULT),
        (convolution(dilation=(2, 2)), DEFAULT),
        (convolution(), AcceleratorConfig(rows=3)),
        (convolution(filters=512), SMALL),
    ],
)
def test_inputs_of_others_are_not(group: Convolution, config: AcceleratorConfig) -> None:
    """Of convolutions by taps, and of one whose filters fill the GLB."""
    assert packed([group], config) == [False]


@pytest.mark.parametrize("rows", [6, 9, 12, 15])
def test_configurations_of_several_sets(rows: int) -> None:
    assert packed([convolution()], AcceleratorConfig(rows=rows)) == [True]


def test_all_readers_count() -> None:
    """One that takes single words keeps the map as it is; maps that a group makes are not packed."""
    first = convolution(channels=4)
    other = replace(convolution(channels=4, kernel=(5, 5)), name="other")
    again = replace(convolution(channels=4), name="again", source=first.output, others=(first.source,))
    behind = replace(convolution(channels=4, filters=4), name="behind", source=replace(first.output, shape=(14, 15, 4)))
    alike = replace(first, name="alike")
    assert packed([first, alike]) == [True, True]
    assert packed([first, other]) == [False, False]
    assert packed([first, again]) == [False, False]
    assert packed([first, behind]) == [True, False]
