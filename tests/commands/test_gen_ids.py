# SPDX-License-Identifier: Apache-2.0
"""eyrie/commands/ids.py: tables of the IDs, and rejections in one line."""

import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from eyrie.runtime.folders import ROOT

IDS_E4_T4 = """\
ifmap network
        row ID |  c0  c1  c2  c3  c4  c5  c6  c7
  row 0      0 |   0   1   2   3   0   1   2   3
  row 1      0 |   1   2   3   4   1   2   3   4
  row 2      0 |   -   -   -   -   -   -   -   -
  row 3      0 |   0   1   2   3   0   1   2   3
  row 4      0 |   1   2   3   4   1   2   3   4
  row 5      0 |   -   -   -   -   -   -   -   -

filter network
        row ID |  c0  c1  c2  c3  c4  c5  c6  c7
  row 0      0 |   0   0   0   0   1   1   1   1
  row 1      1 |   0   0   0   0   1   1   1   1
  row 2      2 |   -   -   -   -   -   -   -   -
  row 3      0 |   0   0   0   0   1   1   1   1
  row 4      1 |   0   0   0   0   1   1   1   1
  row 5      2 |   -   -   -   -   -   -   -   -

link_enable = 0b11011 (bit i joins row i to row i + 1): rows 0-2, 3-5
"""


def gen_ids(arguments: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "eyrie", "ids", *arguments.split()]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


def test_picture(tmp_path: Path) -> None:
    """PEs of one tag have one colour, PEs of different tags different ones, and unused PEs have none."""
    svg = tmp_path / "ids.svg"
    run = gen_ids(f"--e 4 --p 4 --q 4 --r 1 --t 4 --kernel 2 -o {svg}")
    assert run.returncode == 0 and run.stdout == IDS_E4_T4
    root = ElementTree.parse(svg).getroot()
    rects = [element for element in root if element.tag.endswith("}rect")][1:]
    assert len(rects) == 2 * 48 and sum(rect.get("class") == "idle" for rect in rects) == 2 * 16
    ifmap, filters = ([rect.get("style") for rect in rects[n : n + 48]] for n in (0, 48))
    assert len(set(ifmap) - {None}) == 5 and len(set(filters) - {None}) == 4
    assert ifmap[0] == ifmap[4] == ifmap[24] != ifmap[1] == ifmap[8]
    assert filters[0] == filters[1] != filters[4] == filters[7]


def test_convolution() -> None:
    run = gen_ids("--e 4 --p 4 --q 4 --r 1 --t 4 --kernel 2")
    assert run.returncode == 0 and run.stdout == IDS_E4_T4


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        (
            "--block-rows 2 --block-cols 4 --stride 2",
            [
                "  row 0      0 |   0   5  10  15   2   7  12  17",
                "  row 5      0 |   2   7  12  17   4   9  14  19",
            ],
        ),
        (
            "--block-rows 2 --block-cols 2 --pointwise",
            ["  row 4      0 |   0   1   2   3   -   -   -   -"],
        ),
        ("--block-rows 4 --images 2", ["  row 1      0 |   1   2   3   4   7   8   9  10"]),
        ("--e 2 --rows 3 --cols 4 --t 2 --stride 2", ["  row 2      0 |   2   4   2   4"]),
    ],
)
def test_blocks_strides_and_sizes(arguments: str, lines: list[str]) -> None:
    run = gen_ids(arguments)
    assert run.returncode == 0, run.stderr
    assert all(line in run.stdout.splitlines() for line in lines), run.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("", "no mapping: give --e (and --p --q --r --t), or --block-rows and --block-cols"),
        ("--e 0", "--e 0: must be at least 1; see --help"),
        ("--e 9", "e = 9 is folded over the rows: must be a multiple of 8"),
        ("--e 16 --t 2", "e = 16, r = 1, t = 2 does not fit 6 x 8 PEs"),
        ("--e 8 --p 9", "--p times --kernel, filter words of a PE: needs 27, has 24; reduce it"),
        ("--e 4 --stride 3", "--stride 3: must be 1 or 2"),
        (
            "--e 42 --rows 12 --cols 14 --stride 2",
            "ifmap row 84 of a pass has no ID, they end at 62: reduce e",
        ),
        ("--e 4 --block-rows 2", "--e belongs to a convolution, not to blocks; leave one out"),
        ("--block-rows 2 --block-cols 2 --images 2", "--images takes the place of --block-cols; leave one out"),
        ("--block-rows 3 --images 3", "3 x 3 images do not fit 8 columns"),
        ("--block-rows 3 --block-cols 3", "3 x 3 blocks do not fit 8 columns"),
        ("--e 4 --rows 5", "rows = 5: must be 3, 6, 9, 12 or 15"),
    ],
)
def test_rejections(arguments: str, message: str) -> None:
    run = gen_ids(arguments)
    assert run.returncode != 0 and run.stdout == "" and run.stderr == f"eyrie ids: {message}\n"
