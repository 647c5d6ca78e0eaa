# SPDX-License-Identifier: Apache-2.0
"""IDs of the multicast networks: PEs that take part are reached by exactly the rows they need."""

from itertools import product

import pytest

from eyrie.compiler.target.scan_ids import IDLE, block_ids, convolution_ids, link_enable_word
from eyrie.model.config import DEFAULT, SET_ROWS, AcceleratorConfig
from eyrie.model.errors import InputError

STANDARD = [(8, 1, 2), (8, 2, 1), (4, 2, 2), (4, 1, 4), (16, 1, 1)]  # e, r, t of array0 to array5
WIDE = AcceleratorConfig(rows=12, cols=14)


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize(("e", "r", "t"), STANDARD)
def test_each_set_gets_its_rows(e: int, r: int, t: int, stride: int) -> None:
    """A set's PEs for output row y need ifmap rows y * stride + set row; there are e of them."""
    ids = convolution_ids(DEFAULT, e, r, t, SET_ROWS, stride)
    outputs = []
    for set_ in range(DEFAULT.sets):
        for col in range(DEFAULT.cols):
            column = [ids.columns[set_ * SET_ROWS + row][col]["ifmap"] for row in range(SET_ROWS)]
            assert column == [column[0] + row for row in range(SET_ROWS)]
            assert column[0] % stride == 0
            outputs.append(column[0] // stride)
    assert sorted(set(outputs)) == list(range(e))
    assert all(outputs.count(y) == r * t for y in range(e))


@pytest.mark.parametrize(("e", "r", "t"), STANDARD)
def test_filter_ids_tell_filters_apart(e: int, r: int, t: int) -> None:
    """Sets side by side have filters of their own; stacked ones share words, one half each."""
    ids = convolution_ids(DEFAULT, e, r, t, SET_ROWS, 1)
    assert [row["filter"] for row in ids.rows] == [0, 1, 2, 0, 1, 2]
    columns = {tuple(pe["filter"] for pe in row) for row in ids.columns}
    assert columns == {tuple(col // min(e, DEFAULT.cols) for col in range(DEFAULT.cols))}


def test_unused_pes_match_no_tag() -> None:
    ids = convolution_ids(DEFAULT, 3, 1, 1, 2, 1)
    busy = [(row, col) for row in range(6) for col in range(8) if ids.columns[row][col] != IDLE]
    assert busy == [(row, col) for row in (0, 1) for col in range(3)]


@pytest.mark.parametrize(
    ("config", "joined", "link_enable"),
    [
        (DEFAULT, 1, 0b11011),
        (DEFAULT, 2, 0b11111),
        (WIDE, 1, 0b11011011011),
        (WIDE, 2, 0b11111011111),
        (AcceleratorConfig(rows=3, cols=4), 1, 0b11),
    ],
)
def test_ln_cuts_between_chains(config: AcceleratorConfig, joined: int, link_enable: int) -> None:
    assert link_enable_word(config, joined) == link_enable


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize(("rows", "cols"), [(1, 8), (2, 4), (4, 2), (8, 1), (3, 2)])
def test_depthwise_blocks(rows: int, cols: int, stride: int) -> None:
    """Blocks side by side never share words of a row; blocks above each other do."""
    ids = block_ids(DEFAULT, rows, cols, stride)
    span = (rows - 1) * stride + SET_ROWS
    for row in range(DEFAULT.rows):
        for col in range(rows * cols):
            block_row, block = divmod(col, cols)
            need = block_row * stride + row % SET_ROWS
            assert ids.columns[row][col]["ifmap"] == block * span + need < (block + 1) * span
    assert all(pe == IDLE for row in ids.columns for pe in row[rows * cols :])


def test_bands() -> None:
    """The IDs of blocks side by side leave room for the rows of all bands; so many rows may have no IDs."""
    ids = block_ids(DEFAULT, 4, 2, 1, bands=2)
    span = 3 + 2 * SET_ROWS
    for row, col in product(range(DEFAULT.rows), range(8)):
        block_row, block = divmod(col, 2)
        assert ids.columns[row][col]["ifmap"] == block * span + block_row + row % SET_ROWS
    with pytest.raises(InputError, match="^ifmap row 71 of a pass has no ID, they end at 62$"):
        block_ids(DEFAULT, 1, 8, 1, bands=3)


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize(("rows", "images"), [(1, 8), (2, 4), (4, 2), (8, 1), (3, 2)])
def test_images(rows: int, images: int, stride: int) -> None:
    """The rows of an image stand side by side, and no two images share a word."""
    ids = block_ids(DEFAULT, rows, 1, stride, images)
    span = (rows - 1) * stride + SET_ROWS
    for row in range(DEFAULT.rows):
        for col in range(rows * images):
            image, image_row = divmod(col, rows)
            assert ids.columns[row][col]["ifmap"] == image * span + image_row * stride + row % SET_ROWS
    assert all(pe == IDLE for row in ids.columns for pe in row[rows * images :])


def test_pointwise_blocks_and_further_sets() -> None:
    ids = block_ids(WIDE, 2, 3, None)
    for row, pes in enumerate(ids.columns):
        used = [pe["ifmap"] for pe in pes if pe != IDLE]
        assert used == (list(range(6)) if row < 2 * SET_ROWS else [])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((8, 2, 2, 3, 1), "e = 8, r = 2, t = 2 does not fit 6 x 8 PEs"),
        ((17, 1, 1, 3, 1), "e = 17, r = 1, t = 1 does not fit 6 x 8 PEs"),
        ((1, 1, 8, 3, 1), "e = 1, r = 1, t = 8 does not fit 6 x 8 PEs"),
        ((12, 1, 1, 3, 1), "e = 12 is folded over the rows: must be a multiple of 8"),
    ],
)
def test_rejections(arguments: tuple[int, ...], message: str) -> None:
    with pytest.raises(ValueError) as error:
        convolution_ids(DEFAULT, *arguments)
    assert str(error.value) == message


def test_ids_have_to_fit_their_field() -> None:
    with pytest.raises(ValueError, match="ifmap row 84 of a pass has no ID, they end at 62: reduce e"):
        convolution_ids(WIDE, 42, 1, 1, 3, 2)
