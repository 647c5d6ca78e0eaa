# SPDX-License-Identifier: Apache-2.0
"""eyrie/commands/zoo.py: the verdict on each model, whatever its process does."""

import json
import sys
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from eyrie.measure import trials
from eyrie.measure.campaigns import executors
from eyrie.runtime import folders
from eyrie.testing.tflite_builder import STEPS, Builder
from tests.commands.campaign_tasks import in_threads
from tests.commands.commands import assert_rejected, eyrie

# What goes wrong in the process of a model, by the name of its file.
PLANTED = """
import os, signal, sys, time
from pathlib import Path
from eyrie.measure import zoo_model

from eyrie.runtime.back_ends import functional

name, on_model = Path(sys.argv[-2]).stem, functional.named_on_model
if name == "wrong":
    functional.named_on_model = lambda *given: {end: made ^ 1 for end, made in on_model(*given).items()}
if name == "faulty":
    zoo_model.compile_parts = lambda *given: {}["nothing"]
if name == "unchecked":
    zoo_model.references = lambda graph: ()
if name == "killed":
    os.kill(os.getpid(), signal.SIGKILL)
if name == "hanging":
    time.sleep(3600)
zoo_model.main(sys.argv[1:])
"""


def convolution(rng: np.random.Generator, dtype: str = "int8") -> bytes:
    """One 3 x 3 convolution, of int8 maps or of those of another type."""
    net, scale = Builder(), None if dtype == "float32" else 0.05
    source = net.tensor((1, 8, 8, 4), dtype, scale, 3)
    filters = net.tensor((8, 3, 3, 4), "int8", rng.uniform(0.002, 0.01, 8), data=rng.integers(-127, 128, (8, 3, 3, 4)))
    bias = net.tensor((8,), "int32", np.full(8, 1e-4), data=rng.integers(-2000, 2000, 8))
    output = net.tensor((1, 6, 6, 8), dtype, scale and 0.07, -5)
    net.operator("CONV_2D", (source, filters, bias), (output,), padding=1, **STEPS)
    return net.pack((source,), (output,))


@pytest.fixture
def models(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder; what a zoo leaves lies beside it, and mutations happen."""
    monkeypatch.setattr(folders, "BUILD", tmp_path / "build")
    monkeypatch.setattr(executors, "local", in_threads)
    monkeypatch.setattr(trials, "PROGRAM", (sys.executable, "-c", PLANTED))
    (tmp_path / "models").mkdir()
    return tmp_path / "models"


def save(models: Path, seed: int, *names: str) -> None:
    for name in names:
        (models / f"{name}.tflite").write_bytes(convolution(np.random.default_rng(seed)))


def summary(models: Path) -> dict:
    return json.loads((models.parent / "build" / "zoo" / "summary.json").read_text())


def test_right_and_rejected(seed: int, models: Path) -> None:
    """On the RTL and as C, in a folder inside the folder too; what is rejected is no failure."""
    (models / "inside").mkdir()
    save(models, seed, "inside/ok")
    (models / "real.TFLITE").write_bytes(convolution(np.random.default_rng(seed), "float32"))
    (models / "text.tflite").write_text("no model")
    (models / "zero.tflite").symlink_to("nowhere")
    ended = eyrie("zoo", models, "--inputs", 2, "--rtl-macs", 6 * 6 * 8 * 36, "--c")
    assert ended.returncode == 0, ended.stderr
    ok, real, text, zero = summary(models)["models"]
    assert (zero["status"], zero["reason"]) == ("rejected", "cannot be read (No such file or directory)")
    assert list(ok) == [field.name for field in fields(trials.Entry)]
    assert ok["file"] == "inside/ok.tflite" and ok["status"] == "ok" and ok["on_rtl"] and not ok["reason"]
    assert (ok["outputs"], ok["differences"], ok["reference"]) == (4 * 2 * 6 * 6 * 8, 0, "tflite-micro")
    assert (ok["macs"], ok["multipliers"], ok["host_share"]) == (6 * 6 * 8 * 36, 192, 0)
    assert ok["cycles"] > ok["roofline_cycles"] > 0 and ok["dram_bytes"] > ok["compulsory_dram_bytes"] > 0
    assert ok["compile_s"] > 0 and ok["c_arena_bytes"] == 0  # its maps are the caller's
    assert real["status"] == text["status"] == "rejected" and real["cycles"] is None
    said = "operator #0 CONV_2D: its input 0 is float32, not int8, and no interpreter runs it (litert: "
    assert real["reason"].startswith(said)
    assert text["reason"] == "not a TensorFlow Lite or ONNX file: give an int8 .tflite or .onnx model"
    head, *rows, last = ended.stdout.splitlines()
    assert [row.split()[1] for row in rows] == ["ok", "rejected", "rejected", "rejected"] and "cycles" in head
    assert last == "4 models: 1 ok, 3 rejected"


def test_one_file(seed: int, models: Path) -> None:
    save(models, seed, "one", "two")
    ended = eyrie("zoo", models / "two.tflite", "--inputs", 1, "--rtl-macs", 0)
    assert ended.returncode == 0 and [entry["file"] for entry in summary(models)["models"]] == ["two.tflite"]
    (models / "readme.md").write_text("text")
    assert_rejected(eyrie("zoo", models / "readme.md"), f"eyrie zoo: {models / 'readme.md'}: no .tflite or .onnx file")


def test_goes_on_whatever_happens(seed: int, models: Path) -> None:
    save(models, seed, "faulty", "killed", "ok", "unchecked", "wrong")
    ended = eyrie("zoo", models, "--inputs", 1, "--rtl-macs", 0)
    assert ended.returncode == 1, ended.stderr
    found = summary(models)
    assert found["status"] == "fail" and found["mismatches"] == 6 * 6 * 8 and found["comparisons"] == 2 * 2 * 6 * 6 * 8
    faulty, killed, ok, unchecked, wrong = found["models"]
    assert (faulty["status"], faulty["reason"]) == ("failed", "KeyError: 'nothing'")
    assert (killed["status"], killed["reason"]) == ("failed", "its process ended with signal 9, its log says why")
    assert ok["status"] == "ok" and not ok["on_rtl"] and ok["cycles"] > 0
    assert unchecked["status"] == "unchecked" and unchecked["reason"].startswith("no reference runs it: ")
    assert wrong["status"] == "wrong" and wrong["differences"] == 6 * 6 * 8
    assert "on the functional simulator" in wrong["reason"]
    log = models.parent / "build" / "zoo" / "0-faulty.tflite" / "log.txt"
    assert "Traceback" in log.read_text()


def test_a_process_that_does_not_end(seed: int, models: Path, tmp_path: Path) -> None:
    save(models, seed, "hanging")
    model = models / "hanging.tflite"
    trial = trials.Trial("hanging", (model.name, model.read_bytes()), minutes=0.01)
    (tmp_path / "task").mkdir()
    entry = trials.tried(tmp_path / "task", **vars(trial)).entry
    assert (entry["status"], entry["reason"]) == ("failed", "ended after 0.01 minutes")


@pytest.mark.parametrize("status", ["ok", "rejected", "wrong", "failed", "unchecked"])
def test_exit_code(status: str) -> None:
    entries = [trials.Entry("a", "ok").as_dict(), trials.Entry("b", status).as_dict()]
    assert (trials.summarised("zoo", entries, 0.0)["status"] == "pass") == (status in ("ok", "rejected"))
