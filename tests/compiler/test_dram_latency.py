# SPDX-License-Identifier: Apache-2.0
"""The latency of the DRAM: a value of the configuration that planner, cost model and simulated SoC share."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from eyrie.compiler import network as network_module
from eyrie.compiler.cost.predict import predict
from eyrie.compiler.ir.failure import DoesNotFit
from eyrie.compiler.network import compile_network, planned_for
from eyrie.compiler.pipeline import Planned
from eyrie.model.config import DEFAULT, READ_BEATS, AcceleratorConfig
from eyrie.model.errors import InputError
from eyrie.runtime.folders import ROOT
from eyrie.runtime.soc.runs import on_rtl
from eyrie.testing.samples import scaled
from tests.compiler.test_networks import late_network, network

LATENCIES = (10, 100, 300)
NETWORKS = scaled(6)


def test_a_latency_out_of_range_is_rejected(tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    for latency in (0, 1001):
        config.write_text(f'{{"dram_latency": {latency}}}')
        with pytest.raises(InputError, match=f"config.json: dram_latency = {latency}: must be 1 to 1000"):
            AcceleratorConfig.load(config)


def test_the_beats_under_way_are_those_of_the_rtl() -> None:
    [beats] = re.findall(r"BEATS = (\d+),  *// outstanding", (ROOT / "rtl/bus/axi_reader.sv").read_text())
    assert int(beats) == READ_BEATS


def test_a_known_latency_never_costs_cycles(seed: int, tmp_path: Path) -> None:
    """The plan for a latency is at least as good there as the default plan; the result has the right configuration."""
    path, compared = tmp_path / "net.tflite", 0
    for number in range(NETWORKS):
        draw = (network, late_network)[number % 2]
        path.write_bytes(draw(np.random.default_rng([seed, number]))[0])
        try:
            default = compile_network(path, search_iterations=8).image
        except DoesNotFit:
            continue
        for latency in LATENCIES:
            config = replace(DEFAULT, dram_latency=latency)
            image = compile_network(path, config, search_iterations=8).image
            there = predict(replace(default, config=config)).cycles
            assert image.config == config
            assert predict(image).cycles <= there
            compared += 1
    assert compared


def test_plans_are_compared_on_the_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A plan for another memory looks cheaper there than it is."""
    path, config = tmp_path / "net.tflite", replace(DEFAULT, dram_latency=300)
    path.write_bytes(network(np.random.default_rng(1))[0])
    planned_cycles, asked = network_module._planned_cycles, list[tuple[int, AcceleratorConfig]]()

    def asking(work: Planned, on: AcceleratorConfig) -> float:
        asked.append((work.config.dram_latency, on))
        return planned_cycles(work, on)

    monkeypatch.setattr(network_module, "_planned_cycles", asking)
    compile_network(path, config, search_iterations=8)
    assert asked == [(300, config), (30, config)]


def test_the_simulated_dram_has_the_latency(tmp_path: Path) -> None:
    """Each latency, and each plan, takes other cycles on the RTL, near to the prediction."""
    path = tmp_path / "net.tflite"
    path.write_bytes(network(np.random.default_rng(1))[0])
    measured = []
    for latency in (1, 300):
        image = compile_network(path, replace(DEFAULT, dram_latency=latency), search_iterations=8).image
        values = np.zeros((1, *image.input_map.shape), np.int8)
        [run] = on_rtl(image, values).runs
        measured.append(run["counters"]["CYCLES"])
        assert abs(predict(image).cycles - measured[-1]) <= max(64, 0.03 * measured[-1])
    assert measured[1] > measured[0] + 299


def test_configurations_that_are_planned_for() -> None:
    """Smaller GLBs for a large one, and the default DRAM for another."""
    assert planned_for(DEFAULT) == [DEFAULT]
    large = replace(DEFAULT, glb_bank_words=4096, dram_latency=100)
    assert [(config.glb_bytes >> 10, config.dram_latency) for config in planned_for(large)] == [
        (64, 100),
        (128, 100),
        (256, 100),
        (256, 30),
    ]
