# SPDX-License-Identifier: Apache-2.0
"""The times of the DRAM: values of the configuration that planner, cost model and simulated SoC share."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from eyrie.compiler import network as network_module
from eyrie.compiler.cost.predict import predict
from eyrie.compiler.cost.roofline import compulsory_bytes
from eyrie.compiler.ir.failure import DoesNotFit
from eyrie.compiler.network import best, compile_network, planned_for
from eyrie.compiler.results import Planned
from eyrie.model.config import DEFAULT, AcceleratorConfig
from eyrie.model.errors import InputError
from eyrie.runtime.soc.runs import on_rtl
from eyrie.testing.samples import scaled
from tests.compiler.test_networks import late_network, network

DRAMS = (
    {"dram_latency": 10},
    {"dram_latency": 300},
    {"dram_interval": 2},
    {"dram_latency": 100, "dram_interval": 4},
    {"dram_latency": 600, "read_beats": 1024},
)
NETWORKS = scaled(6)


@pytest.mark.parametrize(
    ("name", "value", "legal"),
    [
        ("dram_latency", 0, "1 to 1000"),
        ("dram_latency", 1001, "1 to 1000"),
        ("dram_interval", 3, "1, 2, 4 or 8"),
        ("read_beats", 100, "64, 128, 256, 512 or 1024"),
    ],
)
def test_a_value_out_of_range_is_rejected(name: str, value: int, legal: str, tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    config.write_text(f'{{"{name}": {value}}}')
    with pytest.raises(InputError, match=f"config.json: {name} = {value}: must be {legal}"):
        AcceleratorConfig.load(config)


def test_a_known_dram_never_costs_cycles(seed: int, tmp_path: Path) -> None:
    """The plan for a DRAM is at least as good there as the default plan; the result has the right configuration."""
    path, compared = tmp_path / "net.tflite", 0
    for number in range(NETWORKS):
        draw = (network, late_network)[number % 2]
        path.write_bytes(draw(np.random.default_rng([seed, number]))[0])
        try:
            default = compile_network(path, search_iterations=8).image
        except DoesNotFit:
            continue
        for dram in DRAMS:
            config = replace(DEFAULT, **dram)
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


def test_the_simulated_dram_has_the_times(tmp_path: Path) -> None:
    """Each DRAM, and each plan, takes other cycles on the RTL, near to the prediction."""
    path = tmp_path / "net.tflite"
    path.write_bytes(network(np.random.default_rng(1))[0])
    measured = []
    for latency, interval in ((1, 1), (300, 1), (1, 8)):
        config = replace(DEFAULT, dram_latency=latency, dram_interval=interval)
        image = compile_network(path, config, search_iterations=8).image
        values = np.zeros((1, *image.input_map.shape), np.int8)
        [run] = on_rtl(image, values).runs
        measured.append(run["counters"]["CYCLES"])
        assert abs(predict(image).cycles - measured[-1]) <= max(64, 0.03 * measured[-1])
    assert measured[1] > measured[0] + 299
    assert measured[2] >= compulsory_bytes(image)  # a byte a cycle


def test_far_plans_are_compiled_if_they_may_be_faster() -> None:
    """A result is its rating; far plans have estimates. The likely ones find no places: all far ones are compiled."""

    def judged(rating: int) -> int:
        return rating

    def fails() -> int:
        raise DoesNotFit("no places")

    compiled = list[int]()

    def far(rating: int) -> tuple[float, Callable[[], int]]:
        def attempt() -> int:
            compiled.append(rating)
            return rating

        return rating - 10, attempt

    others = [far(95), far(105), far(120)]
    assert best([lambda: 110, lambda: 100], judged, judged, others) == 95 and compiled == [95, 105]
    assert best([lambda: 100, lambda: 110], judged, judged, [(90, fails)]) == 100
    compiled.clear()
    assert best([fails], judged, judged, others) == 95 and compiled == [95, 105, 120]
    with pytest.raises(DoesNotFit):
        best([fails], judged, judged, [(90, fails)])


def test_configurations_that_are_planned_for() -> None:
    """The configuration itself, and the default DRAM for another."""
    assert planned_for(DEFAULT) == [DEFAULT]
    slow = replace(DEFAULT, dram_latency=100, dram_interval=2)
    assert planned_for(slow) == [slow, DEFAULT]
