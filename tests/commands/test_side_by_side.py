# SPDX-License-Identifier: Apache-2.0
"""Commands at the same time in one checkout: each gets its own result."""

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
from PIL import Image as Picture

from eyrie.compiler.frontend import tflite
from eyrie.runtime.bundled import MODEL, PHOTO
from eyrie.runtime.folders import ROOT
from eyrie.runtime.programs import PROGRAMS, compiled
from eyrie.runtime.simulator.verilate import MODELS
from eyrie.testing.samples import scaled
from eyrie.training.cifar10 import CLASSES, preprocess

ROUNDS = scaled(1)


def together(build: Path, *commands: list[object]) -> list[str]:
    """What each prints, all of them started at once with one build folder; none may fail."""
    # Without the variables of a make that runs the tests.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    environment["EYRIE_BUILD"] = str(build)
    running = [
        subprocess.Popen(
            [str(word) for word in command],
            cwd=ROOT,
            env=environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for command in commands
    ]
    printed = []
    for process in running:
        out, err = process.communicate()
        assert process.returncode == 0, out + err
        printed.append(out)
    return printed


def whole(build: Path, name: str) -> dict:
    """The summary in NAME, beside which nothing may be left."""
    assert not list(build.glob(f".{name}.*"))
    return json.loads((build / name / "summary.json").read_text())


@pytest.mark.regress
@pytest.mark.parametrize("round_", range(ROUNDS))
def test_six_at_once(round_: int, seed: int, tmp_path: Path) -> None:
    """Two runs of one network on different inputs, two demos of different pictures, two simulations of one test."""
    graph, program, rng = tflite.load(MODEL), compiled(MODEL), np.random.default_rng([seed, round_])
    inputs = rng.integers(-128, 128, (2, 32, 32, 3)).astype(np.int8)
    pictures = [Picture.open(PHOTO).convert("RGB"), Picture.new("RGB", (32, 32), (40, 90, 200))]
    for n in range(2):
        np.save(tmp_path / f"x{n}.npy", inputs[n])
        pictures[n].save(tmp_path / f"photo{n}.png")
    build = tmp_path / "build"
    build.mkdir()
    for kept in (MODELS, PROGRAMS):
        kept.mkdir(parents=True, exist_ok=True)
        (build / kept.name).symlink_to(kept)
    printed = together(
        build,
        *(["make", "demo", f"IMAGE={tmp_path / f'photo{n}.png'}"] for n in range(2)),
        *(
            [".venv/bin/eyrie", "run", program, "--input", tmp_path / f"x{n}.npy", "--output", tmp_path / f"y{n}.npy"]
            for n in range(2)
        ),
        *(["make", "sim", "TEST=fifo0", f"SEED={n}"] for n in range(2)),
    )
    expected = graph.run_images(inputs)
    assert (expected[0] != expected[1]).any()
    for n in range(2):
        np.testing.assert_array_equal(np.load(tmp_path / f"y{n}.npy")[0], expected[n])
        assert f"seed {n}, " in printed[4 + n]
    photos = preprocess(np.stack([np.asarray(picture) for picture in pictures]))
    classes = graph.run_images(photos).reshape(2, -1).argmax(1).tolist()
    assert classes[0] != classes[1]
    for n in range(2):
        assert f"photo{n}.png is a {CLASSES[classes[n]]}" in printed[n] and printed[n].endswith("match\n")
    assert whole(build, "run")["status"] == "pass" and whole(build, "run")["macs"] == 25_051_136
    assert whole(build, "demo")["class"] in classes and whole(build, "demo")["match"]
    assert whole(build, "fifo0")["status"] == "pass" and whole(build, "fifo0")["seed"] in (0, 1)
