# SPDX-License-Identifier: Apache-2.0
"""Commands at the same time in one checkout: each gets its own result. EYRIE_ROUNDS=20 tries it twenty times."""

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
from PIL import Image as Picture

from compiler.image import Image
from compiler.importers import tflite
from runtime.folders import BUILD, ROOT
from runtime.programs import compiled
from scripts.cifar10 import CLASSES, preprocess
from tb.net.demo_net import MODEL, PHOTO

ROUNDS = int(os.environ.get("EYRIE_ROUNDS", "1"))


def together(*commands: list[object]) -> list[str]:
    """What each prints, all of them started at once; none may fail."""
    # Without the variables of a make that runs the tests.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    running = [subprocess.Popen([str(word) for word in command], cwd=ROOT, env=environment, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE) for command in commands]
    printed = []
    for process in running:
        out, err = process.communicate()
        assert process.returncode == 0, out + err
        printed.append(out)
    return printed


def whole(name: str) -> dict:
    """The summary in build/NAME, of which nothing else may be left."""
    assert not list(BUILD.glob(f".{name}.*"))
    return json.loads((BUILD / name / "summary.json").read_text())


@pytest.mark.parametrize("round_", range(ROUNDS))
def test_runs_of_one_network(round_: int, seed: int, tmp_path: Path) -> None:
    program = compiled(MODEL)
    graph, rng = tflite.load(MODEL), np.random.default_rng([seed, round_])
    inputs = rng.integers(-128, 128, (2, 32, 32, 3)).astype(np.int8)
    for n in range(2):
        np.save(tmp_path / f"x{n}.npy", inputs[n])
    together(*(["make", "sim", "TEST=fifo0", f"SEED={n}"] for n in range(2)),
             *([".venv/bin/eyrie", "run", program, "--input", tmp_path / f"x{n}.npy",
                "--output", tmp_path / f"y{n}.npy"] for n in range(2)))
    expected = graph.run(inputs)[graph.output.name]
    assert (expected[0] != expected[1]).any()
    for n in range(2):
        np.testing.assert_array_equal(np.load(tmp_path / f"y{n}.npy")[0], expected[n])
    summary = whole("run_net")
    assert summary["status"] == "pass" and summary["cycles"] > Image.load(program).map["steps"][0]["macs"] / 192
    assert whole("fifo0")["status"] == "pass" and whole("fifo0")["seed"] in (0, 1)


@pytest.mark.parametrize("round_", range(ROUNDS))
def test_demos_of_two_pictures(round_: int, tmp_path: Path) -> None:
    photo = Picture.open(PHOTO).convert("RGB")
    pictures = {"upright.png": photo, "other.png": Picture.new("RGB", (32, 32), (40, 90, 200))}
    graph = tflite.load(MODEL)
    for name, picture in pictures.items():
        picture.save(tmp_path / name)
    printed = together(*(["make", "demo", f"IMAGE={tmp_path / name}"] for name in pictures))
    classes = []
    for out, (name, picture) in zip(printed, pictures.items(), strict=True):
        values = preprocess(np.asarray(picture)[None])
        classes.append(int(graph.run(values)[graph.output.name].argmax()))
        assert f"{name} is a {CLASSES[classes[-1]]}" in out and out.endswith("match\n")
    assert len(set(classes)) == 2
    assert whole("demo")["class"] in classes and whole("demo")["match"]
