# SPDX-License-Identifier: Apache-2.0
"""eyrie/commands/case.py: tensors through the RTL give the operators' sums.

Bad cases are rejected in one line, without output.
"""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from eyrie.runtime.bundled import SMALL_CONFIG
from eyrie.runtime.folders import ROOT
from tests.commands import case_files


def run_case(case: Path, out: Path) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "eyrie", "layer", str(case), str(out), "--config", str(SMALL_CONFIG)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


@pytest.mark.parametrize("kind", ["convolution", "fused", "mapping", "many_passes"])
def test_sums_from_the_rtl(kind: str, seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    if kind == "convolution":
        case, expected = case_files.convolution(rng, (19, 7, 10), 13, (3, 3), 1, 1)
    elif kind == "mapping":
        case, expected = case_files.convolution(
            rng, (7, 9, 12), 9, (2, 3), 2, [0, 2, 1, 0], -128, e=4, p=3, q=3, r=1, t=2
        )
    elif kind == "fused":
        case, expected = case_files.fused(rng, (19, 8, 9), 21, (3, 3), 2, [0, 1, 0, 1], -128)
    else:
        case, expected = case_files.fused(rng, (260, 14, 18), 24, (3, 3), 1, 1)
    np.savez(tmp_path / "case.npz", **case)
    run = run_case(tmp_path / "case.npz", tmp_path / "out.npz")
    assert run.returncode == 0, run.stderr
    assert (kind == "many_passes") == (", 1 pass\n" not in run.stdout)
    with np.load(tmp_path / "out.npz") as out:
        assert out["opsum"].dtype == np.int32 and out["cycles"] > 0
        np.testing.assert_array_equal(out["opsum"], expected)


@pytest.mark.parametrize("content", [None, b"", b"PK\x03\x04 truncated", "shape"])
def test_refusal_is_one_line_without_output(content: object, tmp_path: Path) -> None:
    case, out = tmp_path / "case.npz", tmp_path / "out.npz"
    if content == "shape":
        np.savez(case, ifmap=np.zeros((2, 3), np.int8), filter=np.zeros(0), stride=1, pad=0)
    elif content is not None:
        case.write_bytes(content)
    run = run_case(case, out)
    assert run.returncode != 0 and run.stderr.count("\n") == 1
    assert run.stderr.startswith(f"eyrie layer: {case}: ")
    assert sorted(tmp_path.iterdir()) == ([case] if content is not None else [])


def test_folder_of_the_output_has_to_exist(tmp_path: Path) -> None:
    run = run_case(tmp_path / "case.npz", tmp_path / "nowhere" / "out.npz")
    assert run.returncode != 0 and "cannot be written" in run.stderr and run.stderr.count("\n") == 1
