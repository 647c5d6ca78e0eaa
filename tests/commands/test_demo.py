# SPDX-License-Identifier: Apache-2.0
"""eyrie/commands/demo.py in a process of its own (tests/commands/bad_inputs has more of what is no picture)."""

import io
import json
import zipfile
from base64 import b64encode
from pathlib import Path

import numpy as np
import pytest
from PIL import Image as Picture

from eyrie.compiler.frontend import tflite
from eyrie.model.operators.quantization import Quantization
from eyrie.runtime.bundled import MODEL
from eyrie.runtime.folders import BUILD
from eyrie.runtime.preprocessing import convention, photo_input
from eyrie.tasks.drawing import colour_of
from eyrie.testing.tflite_builder import Builder
from tests.commands.commands import assert_rejected, eyrie, python
from tests.compiler.test_partition import image_classifier
from tests.tasks.models import classifier, detector, front_end
from tests.tasks.sounds import saved


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


@pytest.mark.parametrize(("scale", "zero_point"), [(1 / 255, -7), (0.0187, -14)], ids=["bundled network", "normalised"])
def test_all_int8_values_are_grey_values_in_no_convention(scale: float, zero_point: int) -> None:
    ends = convention(Quantization(scale, zero_point))
    assert np.allclose(np.array(ends) / scale + zero_point, (-128, 127))


def test_the_picture_of_the_bundled_network(seed: int) -> None:
    """Its training takes the mean of all pixels from a picture in 0 to 1."""
    pixels = np.random.default_rng(seed).integers(0, 256, (32, 32, 3), np.uint8)
    values, _ = photo_input(Picture.fromarray(pixels), tflite.from_bytes(MODEL.read_bytes()))
    assert np.array_equal(values[0, 0], pixels.astype(int) - 128)


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
    page = (BUILD / "demo" / "report1" / "report.html").read_text()
    assert host in page and b64encode((BUILD / "demo" / "answer.png").read_bytes()).decode() in page
    (tmp_path / "labels.txt").write_text("one\ntwo\n")
    ended = eyrie("demo", *given, "--labels", tmp_path / "labels.txt")
    assert_rejected(ended, f"eyrie demo: {tmp_path / 'labels.txt'}: has 2 lines, the network has 3 classes: ")


def test_a_drawn_answer(tmp_path: Path) -> None:
    """Boxes of a detector, with the labels in its file, on a back end without a report."""
    labels = io.BytesIO()
    with zipfile.ZipFile(labels, "w") as file:
        file.writestr("labels.txt", "cat\ndog\n")
    (tmp_path / "net.tflite").write_bytes(detector() + labels.getvalue())
    Picture.new("L", (200, 100)).save(tmp_path / "photo.png")
    given = ("--model", tmp_path / "net.tflite", "--image", tmp_path / "photo.png", "--back-end", "golden")
    ended = eyrie("demo", *given, "--threshold", "0.7")
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.splitlines()[:-1] == [
        "photo.png: 200 x 100 pixels: stretched to 4 x 4",
        "photo.png: black is 0 and white 1, as the input's scale says",
        "net.tflite: a network for detection, whose file has labels",
        "",
        "cat 0.90 from (60, 40) to (140, 60)",
        "dog 0.80 from (130, 15) to (170, 35)",
    ]
    assert ended.stdout.endswith("demo/answer.png\n")
    with Picture.open(BUILD / "demo" / "answer.png") as drawn:
        assert drawn.size == (800, 400) and drawn.getpixel((240, 200)) == colour_of(0)


def test_a_sound(tmp_path: Path) -> None:
    (tmp_path / "net.tflite").write_bytes(classifier(shape=(1, 3, 2)))
    (tmp_path / "front_end.tflite").write_bytes(front_end())
    (tmp_path / "labels.txt").write_text("no\nyes\nloud\n")
    saved(tmp_path / "sound.wav", np.full(16_000, -100, np.int16))
    given = ("--model", tmp_path / "net.tflite", "--labels", tmp_path / "labels.txt", "--back-end", "functional")
    ended = eyrie("demo", *given, "--sound", tmp_path / "sound.wav", "--front-end", tmp_path / "front_end.tflite")
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.splitlines()[-4].startswith("no 0.9") and ended.stdout.endswith("match\n")
    assert not (BUILD / "demo" / "answer.png").exists()


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
