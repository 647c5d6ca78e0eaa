# SPDX-License-Identifier: Apache-2.0
"""eyrie mlperf-tiny: models by name, runs on the RTL, estimates of a program that stands for Vela, and the page, whose
numbers the README has."""

import json
import pickle
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from eyrie.commands.mlperf_tiny import BENCHMARKS, models_of
from eyrie.measure import trials, vela
from eyrie.measure.campaigns import executors
from eyrie.measure.campaigns.task import Result
from eyrie.measure.mlperf_page import page
from eyrie.measure.trials import Entry
from eyrie.model.config import DEFAULT
from eyrie.model.errors import InputError
from eyrie.runtime import folders, summary_keys
from tests.commands.campaign_tasks import in_threads
from tests.commands.commands import Ended, assert_rejected, eyrie
from tests.commands.small_nets import separable

PAGE = folders.ROOT / "docs" / "research" / "mlperf_tiny.md"
VELA = """#!{python}
import sys
from pathlib import Path
if sys.argv[1:] == ["--version"]:
    print("5.2.0")
else:
    accelerator, folder, model = sys.argv[1].partition("=")[2], Path(sys.argv[2].partition("=")[2]), Path(sys.argv[3])
    folder.mkdir(parents=True)
    values = {{
        "system_config": "System", "memory_mode": "Mode", "core_clock": 500e6, "cycles_total": 2000.0,
        "cycles_npu": 1500, "inference_time": 4e-06, "weights_storage_area": "Off-chip Flash",
        "feature_map_storage_area": "SRAM", "dram_total_bytes": 10, "off_chip_flash_total_bytes": 90,
        "off_chip_flash_bandwidth": 0.46566128730773926,
    }}
    (folder / f"{{model.stem}}_summary_System.csv").write_text(
        ",".join(values) + "\\n" + ",".join(map(str, values.values())) + "\\n"
    )
"""


@pytest.fixture
def build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(folders, "BUILD", tmp_path / "build")
    monkeypatch.setattr(vela, "PROGRAM", "no-vela")
    return tmp_path / "build"


@pytest.fixture
def models(tmp_path: Path, seed: int) -> Path:
    """A folder with a small network for each benchmark; the image classifier is in a folder inside it."""
    rng = np.random.default_rng(seed)
    for number, (first, *_) in enumerate(BENCHMARKS.values()):
        path = tmp_path / "models" / ("inside" if number == 1 else ".") / first
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(separable(rng, 32 if number == 1 else 8))
    return tmp_path / "models"


def program(folder: Path, text: str = VELA) -> Path:
    path = folder / "vela"
    path.write_text(text.format(python=sys.executable))
    path.chmod(0o755)
    return path


def cifar10(folder: Path, rng: np.random.Generator) -> Path:
    batch = {b"data": rng.integers(0, 256, (10_000, 3072), np.uint8), b"labels": rng.integers(0, 10, 10_000).tolist()}
    (folder / "test_batch").write_bytes(pickle.dumps(batch, protocol=4))
    return folder


def run(models: Path, *more: object) -> tuple[Ended, dict]:
    ended = eyrie("mlperf-tiny", "--models", models, "--inputs", 1, *more)
    return ended, json.loads((models.parent / "build" / "mlperf-tiny" / "summary.json").read_text())


def test_two_benchmarks(build: Path, models: Path, tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a clock rate, estimates, images and a page."""
    two = dict([*BENCHMARKS.items()][:2])
    monkeypatch.setattr("eyrie.commands.mlperf_tiny.BENCHMARKS", two)
    images = "--cifar10", cifar10(tmp_path, np.random.default_rng(seed)), "--images", 20, "--rtl", 2
    written = tmp_path / "page.md"
    ended, summary = run(models, "--clock", 100, "--vela", program(tmp_path), *images, "--page", written)
    assert ended.returncode == 0 and summary["status"] == "pass", ended.stdout + ended.stderr
    assert set(summary) <= {*summary_keys.RUN, *summary_keys.MLPERF, "models"}
    assert [entry["file"] for entry in summary["models"]] == list(two)
    for entry in summary["models"]:
        assert set(entry) == {*Entry.__annotations__, *summary_keys.MLPERF_MODEL}
        assert entry["status"] == "ok" and entry["on_rtl"] and entry["outputs"] == 3 * 10
        assert entry["latency_ms"] == round(entry["cycles"] / 100e3, 4)
        assert entry["utilisation"] == round(entry["macs"] / entry["cycles"] / DEFAULT.total_multipliers, 4)
        least = 200e-6 * entry["dram_bytes"] + 50e-6 * entry["cycles"] / 100
        assert least < entry["energy_uJ"] < least + 2e-6 * entry["macs"] + 1
        for estimate in entry["vela"].values():
            assert list(estimate) == list(summary_keys.MLPERF_ESTIMATE)
            assert (estimate["cycles"], estimate["npu_cycles"], estimate["off_chip_bytes"]) == (2000, 1500, 100)
            assert (estimate["latency_ms"], estimate["off_chip_bytes_per_cycle"]) == (0.004, 1)
    accuracy = summary["accuracy"]
    assert (accuracy["images"], accuracy["rtl_images"]) == (20, 2)
    assert (accuracy["comparisons"], accuracy["mismatches"]) == (20, 0)
    assert written.read_text() == page(summary) and "| 2,000 | 2,000 | 1,500 | 1,500 |" in page(summary)
    assert f"{accuracy['int8_top1']:.2f} % of 20 test images" in page(summary)


def stub(monkeypatch: pytest.MonkeyPatch, **values: object) -> None:
    """Every model has this result at once."""
    entry = Entry("", outputs=10, macs=9, multipliers=3, cycles=5, dram_bytes=7, energy_uJ=1.5, **values).as_dict()
    monkeypatch.setattr(executors, "local", in_threads)
    monkeypatch.setattr(trials, "tried", lambda folder, name, **_: Result(entry | {"file": name}))


def test_without_vela(build: Path, models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stub(monkeypatch, status="ok", reference="litert")
    ended, summary = run(models)
    assert ended.returncode == 0 and "Vela is not installed" in ended.stdout and "ethos" not in ended.stdout
    assert summary["clock_hz"] == DEFAULT.clock_hz and summary["vela_version"] is None and summary["accuracy"] is None
    assert "Vela" not in page(summary) and "## Accuracy" not in page(summary)


def test_a_differing_output_fails(build: Path, models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page is not written."""
    stub(monkeypatch, status="wrong", reason="output 0 on the RTL: 1 of 10 values differ", differences=1)
    ended, summary = run(models, "--page", tmp_path / "page.md")
    assert ended.returncode == 1 and summary["status"] == "fail" and not (tmp_path / "page.md").exists()
    lines = ended.stdout.splitlines()
    assert all("1 of 10 values differ" in line for line in lines[1:6]) and lines[6].startswith("fail: 0 of 5 models")


def test_files_by_name(models: Path) -> None:
    """A name of the repository comes first; all missing files are in one line."""
    (models / "mlp_ad01.tflite").write_bytes(b"other")
    assert models_of(models)["anomaly detection"].name == "ad01_int8.tflite"
    assert models_of(models)["image classification"].parent.name == "inside"
    (models / "ad01_int8.tflite").unlink()
    assert models_of(models)["anomaly detection"].name == "mlp_ad01.tflite"
    (models / "vww_96_int8.tflite").unlink()
    (models / "kws_ref_model.tflite").unlink()
    with pytest.raises(InputError, match=r"no model for keyword spotting \(kws_ref_model.tflite or .*\), visual wake "):
        models_of(models)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("#!/bin/sh\necho hello", "has no version, so it is not Vela"),
        ("#!/bin/sh\necho 1; echo no licence; exit 3", "--version: exit code 3: no licence"),
        ("no program", "cannot be run"),
        ('#!/bin/sh\n[ "$1" = --version ] && echo 5.2.0; exit 0', "its summary of "),
    ],
)
def test_programs_that_are_not_vela(build: Path, models: Path, tmp_path: Path, text: str, said: str) -> None:
    path = program(tmp_path, text)
    ended = eyrie("mlperf-tiny", "--models", models, "--vela", path)
    assert_rejected(ended, f"eyrie mlperf-tiny: {path}")
    assert said in ended.stderr


def test_images_that_cannot_run(build: Path, models: Path, tmp_path: Path) -> None:
    rejected = eyrie("mlperf-tiny", "--models", models, "--rtl", 2)
    assert_rejected(rejected, "eyrie mlperf-tiny: --images and --rtl count images of CIFAR-10: give --cifar10 DIR too")
    several = "--cifar10", tmp_path, "--images", 1, "--rtl", 2
    assert_rejected(eyrie("mlperf-tiny", "--models", models, *several), "eyrie mlperf-tiny: --rtl 2: must be at most ")
    assert_rejected(eyrie("mlperf-tiny", "--models", models, "--cifar10", tmp_path), f"eyrie mlperf-tiny: {tmp_path}: ")


def rows(path: Path) -> dict[str, dict[str, str]]:
    """The cells of each benchmark in the tables of a page, by the heads of their columns."""
    found: dict[str, dict[str, str]] = {name: {} for name in BENCHMARKS}
    heads: list[str] = []
    for line in re.findall(r"^\| (.*) \|$", path.read_text(), re.M):
        cells = line.split(" | ")
        if cells[0] == "benchmark":
            heads = cells
        elif cells[0] in found:
            found[cells[0]] |= dict(zip(heads[1:], cells[1:], strict=True))
    return found


def test_the_readme_has_the_numbers_of_the_page() -> None:
    readme, stored = rows(folders.ROOT / "README.md"), rows(PAGE)
    for name in BENCHMARKS:
        assert len(readme[name]) >= 5 and readme[name].items() <= stored[name].items(), name
