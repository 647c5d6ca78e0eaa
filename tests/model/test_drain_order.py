# SPDX-License-Identifier: Apache-2.0
"""The order in which sums and words leave, against lists written by hand."""

import pytest

from eyrie.model import encoding as enc
from eyrie.model.array import drain_transfers
from eyrie.model.descriptor import Descriptor, Level, StreamDescriptor
from eyrie.model.encoding import ArrayMode, Axis, DrainMode, Stream
from eyrie.model.streams import written_lanes


def pointwise(pixels: int, two_pixels: int, last_block: int = 2) -> Descriptor:
    """A pass of 4 filters, two blocks of 2, or of 3, on 3 columns; its ofmap has as many positions as words leave
    at a time."""
    descriptor = Descriptor()
    descriptor.set(enc.ARRAY_SHAPE_INDEX, enc.ARRAY_SHAPE, mode=ArrayMode.POINTWISE, pixels=pixels)
    descriptor.set(
        enc.DRAIN_INDEX,
        enc.DRAIN,
        mode=DrainMode.POINTWISE,
        block=2,
        blocks=2,
        last_block=last_block,
        chains=1,
        columns=3,
        rows=7,
        to_ppu=1,
        two_pixels=two_pixels,
    )
    step = 1 + two_pixels
    descriptor.set_stream(
        Stream.OFMAP,
        StreamDescriptor(
            {},
            {"rows": 1, "cols": 99},
            {},
            (Level(3, pixels, Axis.COLUMN, pixels), Level(-(-pixels // step), step, Axis.COLUMN, step), Level(2, 64)),
        ),
    )
    return descriptor


# Of filters 0 to 3 rows 0, 1, 2 and again 0 have the sums: psum index = pixel, and pixel + F of filter 3.
@pytest.mark.parametrize(
    "two_pixels, rows, index, second",
    [
        (0, [0, 1, 0, 1, 0, 1, 2, 0, 2, 0, 2, 0], [0, 0, 1, 1, 2, 2, 0, 3, 1, 4, 2, 5], [0] * 12),
        (
            1,
            [0, 0, 1, 1, 0, 1, 2, 2, 0, 0, 2, 0],
            [0, 1, 0, 1, 2, 2, 0, 1, 3, 4, 2, 5],
            [0, 1, 0, 1, 0, 0, 0, 1, 0, 1, 0, 0],
        ),
    ],
)
def test_sums_of_three_pixels(two_pixels: int, rows: list[int], index: list[int], second: list[int]) -> None:
    beats = drain_transfers(pointwise(3, two_pixels))
    assert beats.rows.argmax(axis=1).tolist() == rows and (beats.rows.sum(axis=1) == 1).all()
    assert beats.index.tolist() == index
    assert beats.second.tolist() == second


# The second block has filter 2 only: what leaves of it is what leaves of filter 2 above.
@pytest.mark.parametrize(
    "two_pixels, rows, index, place",
    [
        (0, [0, 1, 0, 1, 0, 1, 2, 2, 2], [0, 0, 1, 1, 2, 2, 0, 1, 2], [0, 1, 2, 3, 4, 5, 6, 8, 10]),
        (1, [0, 0, 1, 1, 0, 1, 2, 2, 2], [0, 1, 0, 1, 2, 2, 0, 1, 2], [0, 2, 1, 3, 4, 5, 6, 8, 10]),
    ],
)
def test_a_shorter_last_block(two_pixels: int, rows: list[int], index: list[int], place: list[int]) -> None:
    beats = drain_transfers(pointwise(3, two_pixels, last_block=1))
    assert beats.rows.argmax(axis=1).tolist() == rows and (beats.rows.sum(axis=1) == 1).all()
    assert beats.index.tolist() == index
    assert beats.place.tolist() == place


@pytest.mark.parametrize("pixels, lanes", [(2, [2] * 6), (3, [2, 2, 2, 1, 1, 1] * 2), (1, [1] * 6)])
def test_the_last_of_an_odd_number_of_pixels_goes_alone(pixels: int, lanes: list[int]) -> None:
    assert written_lanes(pointwise(pixels, 1)).sum(axis=1).tolist() == lanes
