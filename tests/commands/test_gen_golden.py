# SPDX-License-Identifier: Apache-2.0
"""eyrie/commands/golden.py: the files of a test fit together, and unknown tests are rejected."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from eyrie.model.config import DEFAULT
from eyrie.model.descriptor import Descriptor
from eyrie.model.messages import number_of
from eyrie.model.passes import run_pass
from eyrie.runtime.folders import ROOT
from eyrie.runtime.simulator.simulate import simulate
from eyrie.testing.catalogue import find


def gen_golden(*arguments: object) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "eyrie", "golden", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


def hex_words(path: Path) -> list[int]:
    return [int(word, 16) for word in path.read_text().split()]


@pytest.mark.parametrize("test", ["array3", "pass0", "pass3"])
def test_files_fit_together(test: str, seed: int, tmp_path: Path) -> None:
    (tmp_path / "layer99_pass0_glb.hex").write_text("from an earlier run")
    (tmp_path / "mine.txt").write_text("kept")
    run = gen_golden(test, "--seed", seed, "--out", tmp_path)
    assert run.returncode == 0, run.stderr
    passes = sorted(path for path in tmp_path.glob("*.npz") if re.search(r"pass\d+\.npz", path.name))
    assert f"{test}: {number_of(len(passes), 'pass')} in " in run.stdout and passes
    layers: dict[str, np.ndarray] = {}
    for path in passes:
        data = np.load(path)
        for name in ("glb", "descriptor", "sums", "after"):
            words = hex_words(path.with_name(f"{path.stem}_{name}.hex"))
            assert words == data[name].ravel().view(f"uint{8 * data[name].itemsize}").tolist(), name
        glb = np.zeros(max(DEFAULT.glb_words, len(data["glb"])), np.uint64)
        glb[: len(data["glb"])] = data["glb"]
        trace = run_pass(DEFAULT, Descriptor(data["descriptor"].tolist()), glb)
        assert np.array_equal(trace.sums.reshape(-1, DEFAULT.cols), data["sums"])
        assert np.array_equal(glb[: len(data["after"])], data["after"])
        layer = path.name.split("_")[0]
        expected = np.load(tmp_path / f"{layer}_result.npz")["sums"]
        got = layers.setdefault(layer, np.zeros_like(expected))
        places, sums = data["places"].reshape(-1, 3), data["sums"].ravel()
        used = places[:, 0] >= 0
        m, y, x = (places[used] + [data["filters"][0], data["rows"][0], 0]).T
        got[m, y, x] = sums[used]
    for layer, got in layers.items():
        assert np.array_equal(got, np.load(tmp_path / f"{layer}_result.npz")["sums"])
    names = {path.name for path in tmp_path.iterdir()}
    assert {"README.md", "mine.txt"} <= names and "layer99_pass0_glb.hex" not in names


@pytest.mark.parametrize("test", [pytest.param("pass1", marks=pytest.mark.regress), "array9"])
def test_layers_are_those_of_the_simulation(test: str, seed: int, tmp_path: Path) -> None:
    assert gen_golden(test, "--seed", seed, "--out", tmp_path / "golden").returncode == 0
    simulate(find(test), seed, target=tmp_path / "run")
    readme, log = (tmp_path / "golden" / "README.md").read_text(), tmp_path / "run" / "log.txt"
    abouts = re.findall(r"^- layer \d+: (.*)$", readme, re.MULTILINE)
    places = [log.read_text().find(about) for about in abouts]
    assert len(abouts) > 3 and min(places) >= 0 and places == sorted(places)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nosuch"], "unknown pass or array test 'nosuch': choose from pass0, "),
        (["glb0"], "unknown pass or array test 'glb0': "),
        (["pass0", "--seed", "-1"], "--seed -1: must be at least 0"),
        (["--out", "somewhere"], "--out needs a TEST: name one"),
    ],
)
def test_rejections(arguments: list[str], message: str) -> None:
    run = gen_golden(*arguments)
    assert run.returncode != 0 and run.stderr.startswith(f"eyrie golden: {message}")
    assert run.stderr.count("\n") == 1
