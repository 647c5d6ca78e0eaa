# SPDX-License-Identifier: Apache-2.0
"""Square tiles against the published tables, and the access formula against a walk over the tiles."""

import csv
from pathlib import Path

import pytest

from eyrie.compiler.study.tiles import accesses, legal_tiles, optimal_tile, untiled_accesses

REFERENCE = Path(__file__).resolve().parents[2] / "data" / "reference"


def rows(name: str) -> list[dict[str, str]]:
    with open(REFERENCE / name, newline="") as file:
        return list(csv.DictReader(file))


def printed(value: object, like: str) -> str:
    """The value in the table's notation: plain, or as many digits as `like` has."""
    if "e" not in like and "." not in like:
        return str(round(value))
    digits = len(like.split("e")[0].replace(".", ""))
    return f"{float(value):.{digits}g}".replace("e+0", "e")


@pytest.mark.parametrize("row", rows("tile_table1.csv"), ids=lambda row: "-".join(row.values()))
def test_table1(row: dict[str, str]) -> None:
    assert optimal_tile(int(row["input"]), int(row["kernel"]), int(row["stride"])) == int(row["optimal_tile"])


@pytest.mark.parametrize("row", rows("tile_table2.csv"), ids=lambda row: row["layer"])
def test_table2(row: dict[str, str]) -> None:
    shape = int(row["input"]), int(row["kernel"]), int(row["stride"])
    factor = int(row["channels_factor"])
    tile = optimal_tile(*shape)
    assert tile == int(row["optimal_tile"])
    for published, value in (
        (row["untiled_accesses"], untiled_accesses(*shape, factor)),
        (row["tiled_accesses"], accesses(*shape, tile, factor)),
    ):
        assert float(printed(value, published)) == float(published)


@pytest.mark.parametrize(
    ("shape", "tiles"),
    [
        ((256, 12, 7), [12, 40, 54, 250]),
        ((128, 12, 4), [12, 16, 20, 28, 32, 48, 68, 128]),
        ((49, 3, 2), [3, 5, 7, 9, 13, 17, 25, 49]),
        ((128, 29, 1), [29, 30, 32, 33, 38, 48, 53, 78, 128]),
    ],
)
def test_legal_tiles(shape: tuple[int, int, int], tiles: list[int]) -> None:
    """The lists printed in table 1."""
    assert legal_tiles(*shape) == tiles


@pytest.mark.parametrize("shape", [(60, 5, 1), (49, 3, 2), (13, 4, 3), (12, 3, 1)])
def test_accesses_of_a_walk(shape: tuple[int, int, int]) -> None:
    """Every tile but the first reads what its neighbour does not leave: t * (t - overlap) elements."""
    size, kernel, stride = shape
    for tile in legal_tiles(*shape):
        step = tile - (kernel - stride)
        count = 0
        for top in range(0, size - tile + 1, step):
            for left in range(0, size - tile + 1, step):
                count += tile * tile if top == left == 0 else tile * step
        assert accesses(*shape, tile) == count


def test_rejections() -> None:
    with pytest.raises(ValueError, match="^a tile of 2 pixels is smaller than the kernel, 3$"):
        accesses(8, 3, 1, 2)
    with pytest.raises(ValueError, match="^a kernel of 9 does not fit an input of 8 pixels$"):
        optimal_tile(8, 9, 1)
