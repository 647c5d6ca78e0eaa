# SPDX-License-Identifier: Apache-2.0
"""eyrie explore with its extra: DataFrame, files, page and search."""

from pathlib import Path

import pytest

pytest.importorskip("pandas", reason="make extra-explore")

import pandas

import eyrie as library
from tests.commands.commands import eyrie
from tests.commands.spaces import written

pytestmark = pytest.mark.extra("explore")
SPACE = """
models = ["one.tflite", "two.tflite"]
[configuration]
rows = [3, 6, 9]
cols = [4, 5, 6, 7, 8]
dram_latency = [10, 30, 100]
"""


@pytest.fixture
def space(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return written(SPACE, seed, tmp_path, monkeypatch)


def test_tables(space: Path) -> None:
    """The DataFrame, the Parquet file and the CSV file have the same rows."""
    frame = library.explore(space)
    assert len(frame) == 3 * 5 * 3 * 3 and set(frame.model) == {"one.tflite", "two.tflite", "all models"}
    for name, read in (("out.parquet", pandas.read_parquet), ("out.csv", pandas.read_csv)):
        ended = eyrie("explore", space, "--export", space.parent / name)
        assert ended.returncode == 0, ended.stderr
        found = read(space.parent / name)
        assert list(found.columns) == list(frame.columns) and (found.cycles == frame.cycles).all()
    page = space.parent / "build" / "explore" / "page.html"
    assert ended.stdout.splitlines()[-1] == str(page)
    html = page.read_text()
    assert "cdn.bokeh.org" not in html and "gate equivalents" in html


def test_search(space: Path) -> None:
    """It finds a point among the best tenth of all points, with the same result each time."""
    every = library.explore(space)
    every = every[every.model == "all models"].sort_values("cycles")
    first = eyrie("explore", space, "--search", 24)
    assert first.returncode == 0, first.stderr
    cycles = int(first.stdout.splitlines()[1].split()[4].replace(",", ""))
    assert cycles <= every.cycles.iloc[len(every) // 10]
    again = eyrie("explore", space, "--search", 24, "--budget", 0)
    assert again.stdout == first.stdout
