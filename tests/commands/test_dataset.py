# SPDX-License-Identifier: Apache-2.0
"""eyrie dataset: layers, records, the file and its data sheet."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from eyrie.commands import dataset
from eyrie.compiler.frontend import tflite
from eyrie.measure.campaigns import executors
from eyrie.measure.dataset import layers, records, sheet
from eyrie.runtime import folders, summary_keys
from tests.commands.campaign_tasks import in_threads
from tests.commands.commands import assert_rejected, eyrie


@pytest.fixture
def build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(folders, "BUILD", tmp_path / "build")
    monkeypatch.setattr(executors, "local", in_threads)
    return tmp_path / "build"


@pytest.mark.parametrize("kind", layers.KINDS)
def test_layers(seed: int, kind: str) -> None:
    """Each model has the shape of its layer, and at most its MACs."""
    rng = np.random.default_rng(seed)
    for _ in range(5):
        shape = layers.draw(rng, kind)
        graph = tflite.from_bytes(layers.model(rng, shape))
        assert tuple(graph.inputs[0].shape) == (1, shape.H, shape.W, shape.C) and shape.macs <= layers.MAX_MACS
        assert sum(node.macs for node in graph.nodes) <= shape.macs
        assert graph.output.shape[-1] == shape.M
        assert len(graph.nodes) == 1 + (kind == "separable") and shape.kind == kind


def test_records_on_the_rtl(build: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten small layers; the file and the data sheet have them, and a second run takes the stored results."""
    monkeypatch.setattr(layers, "MAX_MACS", 30_000)
    monkeypatch.setattr(layers, "MAX_VALUES", 2_000)
    ended = eyrie("dataset", tmp_path / "out.csv", "--records", 10)
    assert ended.returncode == 0, ended.stderr
    with (tmp_path / "out.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["kind"] for row in rows] == list(layers.KINDS)
    for row in rows:
        assert (
            abs(int(row["predicted_cycles"])) > 0 and abs(int(row["predicted_cycles"]) / int(row["cycles"]) - 1) < 0.2
        )
        assert int(row["roofline_cycles"]) <= int(row["bottleneck_cycles"]) <= int(row["cycles"])
        assert int(row["passes"]) > 0 and row["schedule"] and row["configuration"] == "6x8" and int(row["rows"]) == 6
    found = json.loads((build / "dataset" / "summary.json").read_text())
    assert set(found) == {"test", "status", "seconds", "seed", "cycles", "mismatches"} | set(summary_keys.DATASET)
    assert found["records"] == 10 and found["cycles"] == sum(int(row["cycles"]) for row in rows)
    text = (tmp_path / "out.md").read_text()
    assert "10 records, made by `eyrie dataset out.csv --records 10 --seed 1`" in text and "| convolution | 1 |" in text
    before = (tmp_path / "out.csv").read_bytes()
    again = eyrie("dataset", tmp_path / "out.csv", "--records", 10, "--budget", 0)
    assert again.stdout == ended.stdout and (tmp_path / "out.csv").read_bytes() == before
    more = eyrie("dataset", tmp_path / "out.csv", "--records", 20, "--budget", 0)
    assert_rejected(more, "eyrie dataset: the budget is used up, 1 of 2 tasks left: run it again to continue")
    assert (tmp_path / "out.csv").read_bytes() == before


def test_shares_are_equal() -> None:
    """Each configuration has as many tasks as the others, and each task has each kind of layer once."""
    names = [task.arguments["configuration"] for task in records.tasks(400, 1)]
    assert len(names) == 40 and all(names.count(name) == 4 for name in records.CONFIGURATIONS)
    assert len(records.CONFIGURATIONS) >= 8 and len(layers.KINDS) == records.LAYERS


def test_no_two_records_are_equal() -> None:
    layer = dict.fromkeys(("H", "W", "C", "M", "R", "S", "U", "dilation"), 1) | {"kind": "add", "padding": "same"}
    every = [layer | {"configuration": name, "cycles": cycles} for name, cycles in (("6x8", 1), ("3x4", 2), ("6x8", 3))]
    assert [record["cycles"] for record in dataset.unique(every)] == [1, 2]


def test_errors_of_an_estimate() -> None:
    found = sheet.errors([{"cycles": 100, "x": 90}, {"cycles": 100, "x": 100}, {"cycles": 50, "x": 65}], "x")
    assert {name: round(value, 4) for name, value in found.items()} == {
        "mean": 0.1333,
        "p50": 0.1,
        "p90": 0.26,
        "p100": 0.3,
    }


def test_wrong_files(build: Path, tmp_path: Path) -> None:
    assert_rejected(eyrie("dataset", "x.txt"), "eyrie dataset: x.txt: give a file .parquet or .csv")
    nowhere = tmp_path / "none" / "x.csv"
    assert_rejected(eyrie("dataset", nowhere), f"eyrie dataset: {nowhere}: cannot be written")
