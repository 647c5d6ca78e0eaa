# SPDX-License-Identifier: Apache-2.0
"""eyrie/commands/demo.py in a process of its own (tests/commands/bad_inputs has more of what is no picture)."""

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image as Picture

from eyrie.compiler.frontend import tflite
from eyrie.model.operators.quantization import Quantization
from eyrie.runtime.folders import BUILD
from eyrie.runtime.preprocessing import convention, photo_input
from eyrie.testing.tflite_builder import Builder
from tests.commands.commands import assert_rejected, eyrie, python
from tests.compiler.test_partition import image_classifier


def truncated(path: Path) -> None:
    """The header and the first rows are there: only decoding finds out."""
    noise = np.random.default_rng(1).integers(0, 256, (200, 200, 3), np.uint8)
    Picture.fromarray(noise).save(path)
    path.write_bytes(path.read_bytes()[:60_000])


def test_in_a_process_of_its_own(tmp_path: Path) -> None:
    truncated(tmp_path / "photo.png")
    run = python("-m", "eyrie", "demo", "--image", tmp_path / "photo.png")
    assert_rejected(run, f"eyrie demo: {tmp_path / 'photo.png'}: a damaged picture")
    assert not run.stdout


@pytest.mark.parametrize(
    ("scale", "zero_point", "ends"),
    [(1 / 255, -128, (0, 1)), (2 / 255, 0, (-1, 1)), (1 / 128, -1, (-1, 1)), (1, -128, (0, 255)), (1, 0, (-128, 127))],
)
def test_convention(scale: float, zero_point: int, ends: tuple[int, int]) -> None:
    assert convention(Quantization(scale, zero_point)) == ends


def test_any_model(tmp_path: Path) -> None:
    """On the RTL; float32 at both ends."""
    (tmp_path / "net.tflite").write_bytes(image_classifier())
    picture = np.random.default_rng(1).integers(0, 256, (4, 4), np.uint8)
    Picture.fromarray(picture).save(tmp_path / "photo.png")
    (tmp_path / "labels.txt").write_text("one\ntwo\nthree\n")
    given = ("--model", tmp_path / "net.tflite", "--image", tmp_path / "photo.png")
    ended = eyrie("demo", *given, "--labels", tmp_path / "labels.txt")
    assert ended.returncode == 0, ended.stderr
    assert "three 0." in ended.stdout and ended.stdout.endswith("match\n") and "MISMATCH" not in ended.stdout
    found = json.loads((BUILD / "demo" / "summary.json").read_text())
    assert found["match"] and found["comparisons"] == 3 and len(found["parts"]) == 2
    host = "#0 QUANTIZE, #2 RESIZE_BILINEAR, #5 SOFTMAX, #6 DEQUANTIZE"
    assert ", ".join(found["host_operators"]) == host
    assert host in (BUILD / "demo" / "report1" / "report.html").read_text()
    (tmp_path / "labels.txt").write_text("one\ntwo\n")
    ended = eyrie("demo", *given, "--labels", tmp_path / "labels.txt")
    assert_rejected(ended, f"eyrie demo: {tmp_path / 'labels.txt'}: has 2 lines, the network has 3 classes: ")


def test_several_inputs_are_no_picture(tmp_path: Path) -> None:
    net = Builder()
    first, second, output = (net.tensor((1, 2, 2, 3), scale=0.1) for _ in range(3))
    net.operator("ADD", [first, second], [output], fusedActivationFunction=0)
    (tmp_path / "net.tflite").write_bytes(net.pack([first, second], [output]))
    ended = eyrie("demo", "--model", tmp_path / "net.tflite")
    assert_rejected(ended, "eyrie demo: inputs are t0, t1: not a single picture; give arrays (eyrie run)")


def test_a_photo_as_input(tmp_path: Path) -> None:
    """Black and white are the ends of what the input can say."""
    net = Builder()
    source, output = net.tensor((1, 2, 2, 3), "uint8", 1 / 128, 128), net.tensor((1, 2, 2, 3), "uint8", 1 / 128, 128)
    net.operator("MAX_POOL_2D", [source], [output], strideH=1, strideW=1, filterHeight=1, filterWidth=1)
    graph = tflite.from_bytes(net.pack([source], [output]))
    Picture.fromarray(np.array([[0, 255], [255, 0]], np.uint8)).save(tmp_path / "photo.png")
    values, photo = photo_input(tmp_path / "photo.png", graph)
    assert values.dtype == np.uint8 and values.shape == (1, 1, 2, 2, 3)
    assert values[0, 0, ..., 0].tolist() == [[0, 255], [255, 0]]
    assert photo.notes == ("black is -1 and white 1, as the input's scale says",)
