# SPDX-License-Identifier: Apache-2.0
"""The gate model against recorded syntheses, its fit, and the script that renews both."""

import json
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from eyrie.model.config import DEFAULT, AcceleratorConfig, sizes
from eyrie.model.errors import InputError
from eyrie.runtime.folders import ROOT
from eyrie.runtime.synthesis import gate_records, gate_runs
from eyrie.runtime.synthesis.blocks import BLOCKS
from eyrie.runtime.synthesis.gate_model import (
    COEFFICIENTS,
    GROUPS,
    gate_equivalents,
    group_equivalents,
    memory_bits,
)
from eyrie.runtime.synthesis.gate_records import HELD_OUT, RECORDS, fitted, read_records
from eyrie.testing.configurations import model_rejection, random_configs
from scripts import gen_gates

HELD = [record for record in read_records() if record.use == HELD_OUT]
ERROR = 0.05  # largest relative error of a prediction
SLOWEST_S = 0.001  # prediction


def legal(seed: int, count: int) -> list[AcceleratorConfig]:
    return [AcceleratorConfig(**sizes) for sizes in random_configs(seed, count) if not model_rejection(sizes)]


def test_the_memory_bits_are_those_of_the_syntheses() -> None:
    records = read_records()
    assert [memory_bits(record.config) for record in records] == [record.memory_bits for record in records]


@pytest.mark.parametrize("record", HELD, ids=[record.name for record in HELD])
def test_records_that_the_fit_did_not_see(record: gate_records.GateRecord) -> None:
    assert gate_equivalents(record.config) == pytest.approx(record.total, rel=ERROR)


def test_ten_records_are_held_out() -> None:
    assert len(HELD) >= 10
    configs = [record.config for record in read_records()]
    assert len(set(configs)) == len(configs)


def test_the_default_configuration() -> None:
    [record] = [record for record in read_records() if record.config == DEFAULT]
    assert gate_equivalents(DEFAULT) == pytest.approx(record.total, rel=0.02)
    assert sum(group_equivalents(DEFAULT).values()) == gate_equivalents(DEFAULT)


def test_every_block_is_in_one_group() -> None:
    assert Counter(block for group in GROUPS.values() for block in group.blocks) == Counter(BLOCKS)


def test_a_fit_of_the_records_gives_the_coefficients() -> None:
    stored = json.loads(COEFFICIENTS.read_text())
    found = fitted(read_records())
    assert found.keys() == stored.keys()
    for name, terms in found.items():
        assert terms == pytest.approx(stored[name], rel=1e-3, abs=1e-3)


def test_the_records_are_written_as_they_are_read() -> None:
    assert gate_records.text(read_records()) == RECORDS.read_text()


@pytest.mark.parametrize(("size", "step"), [("rows", 3), ("cols", 1)])
def test_a_larger_array_has_more_gates(size: str, step: int) -> None:
    for config in legal(1, 100):
        larger = getattr(config, size) + step
        if larger in sizes()[size].values:
            assert gate_equivalents(replace(config, **{size: larger})) > gate_equivalents(config), config


@pytest.mark.parametrize(
    "size", ["ifmap_words", "pixel_words", "filter_words", "multipliers", "bus_words", "glb_banks"]
)
def test_more_of_a_resource_has_more_gates(size: str) -> None:
    smallest, largest = sizes()[size].values[0], sizes()[size].values[-1]
    assert gate_equivalents(replace(DEFAULT, **{size: smallest})) < gate_equivalents(
        replace(DEFAULT, **{size: largest})
    )


def test_an_illegal_configuration_is_one_line() -> None:
    with pytest.raises(InputError, match=r"^cols = 17: must be 2 to 16$"):
        gate_equivalents(AcceleratorConfig.of({"cols": 17}))


def test_a_prediction_is_fast() -> None:
    durations = []
    for config in legal(2, 20):
        start = time.perf_counter()
        gate_equivalents(config)
        durations.append(time.perf_counter() - start)
    assert min(durations) < SLOWEST_S


def test_the_model_needs_no_numpy() -> None:
    command = "import sys; import eyrie.runtime.synthesis.gate_model; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", command], cwd=ROOT).returncode == 0


# ---- The script ----


def test_a_record_can_be_measured_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked = []

    def measure(folder: Path, config: AcceleratorConfig, blocks: tuple[str, ...], known: dict) -> gate_runs.GateCount:
        asked.append((config, set(blocks)))
        return gate_runs.GateCount(1234, {"pe": 5.0})

    copy = tmp_path / "records.csv"
    copy.write_text(RECORDS.read_text())
    monkeypatch.setattr(gate_records, "RECORDS", copy)
    monkeypatch.setattr(gen_gates, "RECORDS", copy)
    monkeypatch.setattr(gen_gates, "BUILD", tmp_path)
    monkeypatch.setattr(gen_gates, "measure", measure)
    monkeypatch.setattr(gen_gates, "check_tools", lambda: None)
    gen_gates.measure_again([HELD[0].name])
    assert asked == [(HELD[0].config, set(BLOCKS))]
    [found] = [record for record in read_records() if record.name == HELD[0].name]
    assert (found.memory_bits, found.total) == (1234, 5.0)


def test_an_unknown_record_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    monkeypatch.setattr(sys, "argv", ["gen_gates.py", "--measure", "x"])
    assert gen_gates.main() == 1
    assert "'x'" in capsys.readouterr().err.splitlines()[0]
