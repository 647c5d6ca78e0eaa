# SPDX-License-Identifier: Apache-2.0
"""eyrie/measure/campaign.py, family.py, sizes.py: results kept and taken again, budgets, figures and verdicts."""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from eyrie.commands import family, sizes
from eyrie.measure import campaign, thresholds, trials
from eyrie.runtime import folders
from tests.commands.commands import eyrie
from tests.commands.test_zoo import convolution

# Of a trial's process, which must not be needed: it kills itself.
DYING = "import os; os.kill(os.getpid(), 9)"


@pytest.fixture
def build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(folders, "BUILD", tmp_path / "build")
    return tmp_path / "build"


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the trials whose process began, in turn; each ends as `ok` at once."""
    names: list[str] = []

    def tried(trial: trials.Trial, folder: Path, stop: object) -> dict:
        names.append(trial.name)
        return trials.Entry(trial.name, "failed" if "bad" in trial.name else "ok", outputs=7).as_dict()

    monkeypatch.setattr(campaign, "tried", tried)
    return names


def summary(build: Path, name: str) -> dict:
    return json.loads((build / name / "summary.json").read_text())


def two(tmp_path: Path) -> list[trials.Trial]:
    found = []
    for name in ("one", "two"):
        path = tmp_path / f"{name}.tflite"
        path.write_bytes(name.encode())
        found.append(trials.Trial(name, path))
    return found


def run(tmp_path: Path, tried: list[trials.Trial], minutes: float = 1) -> tuple[list[dict | None], list[str]]:
    told: list[str] = []
    end = time.monotonic() + 60 * minutes
    entries = campaign.Campaign(tmp_path, end, 1).run(tried, lambda entry: told.append(entry["file"]))
    return entries, told


def test_goes_on_where_the_budget_ended(build: Path, begun: list[str], tmp_path: Path) -> None:
    one, two_ = two(tmp_path)
    assert run(tmp_path, [one, two_], -1) == ([None, None], []) and not begun
    run(tmp_path, [one])
    entries, told = run(tmp_path, [one, two_], -1)
    assert entries[0]["outputs"] == 7 and entries[1] is None and told == ["one"] and begun == ["one"]
    entries, told = run(tmp_path, [one, two_])
    assert [entry["file"] for entry in entries] == told == ["one", "two"] and begun == ["one", "two"]


def test_a_failure_is_not_kept(build: Path, begun: list[str], tmp_path: Path) -> None:
    (tmp_path / "bad.tflite").write_bytes(b"bad")
    bad = trials.Trial("bad", tmp_path / "bad.tflite")
    run(tmp_path, [bad])
    run(tmp_path, [bad])
    assert begun == ["bad", "bad"]


def write_config(path: Path) -> None:
    path.write_text('{"rows": 9}')


@pytest.mark.parametrize(
    "change",
    [
        lambda trial: trial.model.write_bytes(b"other"),
        lambda trial: write_config(trial.config),
        lambda trial: trial.input.write_bytes(b"other"),
    ],
)
def test_what_changed_runs_again(
    build: Path, begun: list[str], tmp_path: Path, change: Callable[[trials.Trial], object]
) -> None:
    for name in ("model", "config", "input"):
        (tmp_path / name).write_bytes(name.encode())
    trial = trials.Trial("one", tmp_path / "model", tmp_path / "config", input=tmp_path / "input")
    run(tmp_path, [trial])
    change(trial)
    run(tmp_path, [trial])
    assert begun == ["one", "one"]


def test_changed_sources_run_again(tmp_path: Path) -> None:
    trial, _ = two(tmp_path)
    assert campaign.key(trial, b"1") == campaign.key(trial, b"1") != campaign.key(trial, b"2")


def test_sources_that_change_on_the_way(
    build: Path, begun: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody knows which of them made the result: it is not kept."""
    trial, _ = two(tmp_path)
    digests = iter([b"before", b"after", b"before"])
    monkeypatch.setattr(campaign, "sources_digest", lambda: next(digests, b"before"))
    run(tmp_path, [trial])
    run(tmp_path, [trial])
    assert begun == ["one", "one"]


def test_sizes_of_one_accelerator(build: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The smallest, model only; then its result is taken again: its process would die."""
    ended = eyrie("sizes", "--configs", "3x4", "--rtl", 0)
    assert ended.returncode == 0, ended.stderr
    [entry] = summary(build, "sizes")["models"]
    assert entry["status"] == "ok" and entry["reference"] == "tflite-micro" and not entry["on_rtl"]
    assert entry["outputs"] == 2 * 10 and entry["multipliers"] == 3 * 4 * 4
    assert entry["cycles"] == entry["predicted_cycles"] > entry["roofline_cycles"] > 0
    assert entry["compile_cpu_s"] > 0 and entry["compile_peak_mib"] > 10
    monkeypatch.setattr(trials, "command", lambda *given: [sys.executable, "-c", DYING])
    again = eyrie("sizes", "--configs", "3x4", "--rtl", 0, "--budget", 0)
    assert again.returncode == 0 and again.stdout.splitlines()[1] == ended.stdout.splitlines()[1]
    left = eyrie("sizes", "--configs", "3x4,6x4", "--rtl", 0, "--budget", 0)
    assert left.returncode == 0 and "1 left: 6x4; run it again" in left.stdout
    assert summary(build, "sizes")["left"] == ["6x4"]


def test_family_of_one_network(seed: int, build: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On the RTL; a convolution stands for the network."""
    monkeypatch.setattr(
        "eyrie.measure.networks.mobilenets.model", lambda network: convolution(np.random.default_rng(seed))
    )
    monkeypatch.setattr(
        thresholds, "FAMILY_BARS", [thresholds.Bar("most_over_roofline", "<=", 1000, "largest", "make family")]
    )
    ended = eyrie("family", "--networks", "mobilenet_v1_0.25_96")
    found = summary(build, "family")
    [entry] = found["models"]
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert entry["status"] == "ok" and entry["on_rtl"] and entry["outputs"] == 3 * 6 * 6 * 8
    assert entry["prediction_error"] == round(entry["predicted_cycles"] / entry["cycles"] - 1, 5)
    assert found["geometric_mean"] is None and found["most_over_roofline"] == entry["cycles_over_roofline"] > 1
    monkeypatch.setattr(
        thresholds, "FAMILY_BARS", [thresholds.Bar("most_over_roofline", "<=", 1, "largest", "make family")]
    )
    missed = eyrie("family", "--networks", "mobilenet_v1_0.25_96", "--budget", 0)
    assert missed.returncode == 1 and "MISSED largest: " in missed.stdout
    assert summary(build, "family")["status"] == "fail"


def test_family_figures() -> None:
    entries = [
        {"status": "ok", "cycles_over_roofline": ratio, "prediction_error": error}
        for ratio, error in ((2.0, -0.02), (0.5, None), (8.0, 0.01))
    ]
    assert family.metrics(entries, 3) == {
        "geometric_mean": 2.0,
        "most_over_roofline": 8.0,
        "worst_prediction_error": 0.02,
    }
    wrong = [*entries[:2], entries[2] | {"status": "wrong"}]
    assert family.metrics(wrong, 3)["geometric_mean"] is None and family.metrics(wrong, 3)["most_over_roofline"] == 2.0
    assert set(family.metrics([], 3).values()) == {None} and family.metrics(entries[:2], 2)["geometric_mean"] == 1


def entry(predicted: int, measured: int | None = None) -> dict:
    return {"predicted_cycles": predicted, "cycles": measured or predicted, "on_rtl": measured is not None}


@pytest.mark.parametrize(
    ("smaller", "larger", "met"),
    [
        (entry(1000), entry(1000), True),
        (entry(1000), entry(1001), False),
        (entry(1000), entry(900), True),
        (entry(1000, 1000), entry(1000, 1003), True),
        (entry(1000, 1000), entry(1000, 1004), False),
        (entry(1000, 900), entry(1000), True),
    ],
)
def test_larger_costs_no_cycles(smaller: dict, larger: dict, met: bool) -> None:
    [pair] = sizes.compared({"glb32": smaller, "6x8": larger, "9x8": entry(1)})
    assert (pair["smaller"], pair["larger"], pair["met"]) == ("glb32", "6x8", met)
    assert sizes.pair_line(pair).startswith("met" if met else "MISSED")


def test_pairs_have_more_of_one_thing() -> None:
    from eyrie.model.config import AcceleratorConfig

    for smaller, larger in sizes.PAIRS:
        one, other = (AcceleratorConfig(**sizes.CONFIGS[name]).as_dict() for name in (smaller, larger))
        assert [name for name in one if other[name] > one[name]] and all(other[name] >= one[name] for name in one)
