# SPDX-License-Identifier: Apache-2.0
"""The runs that make the records of the gate model, with recorded answers of the tools."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from eyrie.model.config import DEFAULT, AcceleratorConfig
from eyrie.runtime.synthesis import gate_runs
from eyrie.runtime.synthesis.blocks import BLOCKS
from eyrie.runtime.synthesis.design import Design, contents
from tests.runtime.netlists import gate, instance, module


def accelerator(inverters: int) -> dict:
    """A top of two gates and two instances of `pe`, which has inverters. Its modules are named as slang names them."""
    pins = {"a_i": "input", "y_o": "output"}
    cells = {f"u_{n}": instance(f"pe$eyrie.u_{n}", pins, a_i=[2], y_o=[3 + n]) for n in range(2)}
    cells |= {"x": gate("$_AND_", 5, 3, 4), "y": gate("$_NOT_", 6, 5)}
    pe = {f"n{n}": gate("$_NOT_", n, n - 1) for n in range(3, 3 + inverters)}
    leaf = module({"a_i": [2]}, {"y_o": [2 + inverters]}, pe)
    return {"eyrie": module({"a_i": [2]}, {"y_o": [6]}, cells)} | {f"pe$eyrie.u_{n}": leaf for n in range(2)}


@pytest.fixture
def mapped(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The modules of each mapping. A PE has an inverter for each multiplier, the second one more for BUS_WORDS = 2."""
    mapped: list[list[str]] = []

    def mapping(folder: Path, modules: dict, names: list[str], library: object) -> None:
        mapped.append(names)
        assert all("blackbox" in modules[name]["attributes"] for name in {"pe", "eyrie"} - set(names))
        (folder / "mapped.json").write_text(json.dumps({"modules": modules}))

    def elaboration(folder: Path, top: str, config: AcceleratorConfig) -> None:
        modules = accelerator(config.multipliers)
        modules["pe$eyrie.u_1"] = accelerator(config.multipliers + config.bus_words - 1)["pe$eyrie.u_1"]
        (folder / "elaborated.json").write_text(json.dumps({"modules": modules}))

    monkeypatch.setattr(gate_runs, "mapping", mapping)
    monkeypatch.setattr(gate_runs, "elaboration", elaboration)
    monkeypatch.setattr(gate_runs, "run_jobs", lambda *arguments: None)
    return mapped


def test_a_run_adds_the_gates_of_all_instances(mapped: list, tmp_path: Path) -> None:
    known: dict[str, float] = {}
    found = gate_runs.measure(tmp_path, DEFAULT, BLOCKS, known)
    assert found.gate_equivalents == {"eyrie": pytest.approx(1.33 + 0.67), "pe": pytest.approx(2 * 4 * 0.67, abs=0.1)}
    assert found.memory_bits == 0
    other = gate_runs.measure(tmp_path, replace(DEFAULT, multipliers=1), BLOCKS, known)
    assert other.gate_equivalents["pe"] == pytest.approx(2 * 0.67, abs=0.1)
    gate_runs.measure(tmp_path, DEFAULT, BLOCKS, known)
    assert mapped == [["eyrie", "pe"], ["pe"]]


def test_one_row_of_a_set_stands_for_all(mapped: list, tmp_path: Path) -> None:
    found = gate_runs.measure(tmp_path, replace(DEFAULT, bus_words=2), ("pe",), {})
    assert mapped == [["pe"]]
    assert found.gate_equivalents == {"pe": pytest.approx(2 * 4 * 0.67, abs=0.1)}


def test_the_content_of_a_module_is_its_own() -> None:
    """The content of a block counts for itself; the module around it depends on the ports of the block."""
    small, large = (
        contents(Design("eyrie", {"eyrie": top, "pe": leaf}, Counter(eyrie=1, pe=2)), {"eyrie", "pe"})
        for top, leaf in (merged_accelerator(1), merged_accelerator(2))
    )
    assert small["eyrie"] == large["eyrie"] and small["pe"] != large["pe"]


def merged_accelerator(inverters: int) -> tuple[dict, dict]:
    """The modules of `accelerator`, with one module for both instances."""
    modules = accelerator(inverters)
    for cell in modules["eyrie"]["cells"].values():
        cell["type"] = cell["type"].split("$e")[0]
    return modules["eyrie"], modules["pe$eyrie.u_0"]
