# SPDX-License-Identifier: Apache-2.0
"""Every simulation of the catalogue as a pytest test."""

from pathlib import Path

import pytest

from eyrie.model.config import AcceleratorConfig
from eyrie.runtime.folders import BUILD
from eyrie.runtime.simulator.simulate import failure_lines, simulate
from eyrie.runtime.simulator.simulation_test import SimulationTest
from eyrie.testing import samples
from eyrie.testing.catalogue import simulation_tests


def parameters() -> list:
    marks = {True: [pytest.mark.regress], False: []}
    return [pytest.param(bench, id=name, marks=marks[bench.regress]) for name, bench in simulation_tests().items()]


@pytest.mark.parametrize("bench", parameters())
def test_bench(bench: SimulationTest, seed: int) -> None:
    config = bench.quick if samples.scale() < 1 else None
    result = simulate(bench.on(AcceleratorConfig.load(config)) if config else bench, seed)
    if result["status"] != "pass":
        log = (BUILD / "sim" / bench.name / "log.txt").read_text().splitlines()
        pytest.fail("\n".join([*log[-40:], failure_lines(bench, result, config and shown(config))]), pytrace=False)


def shown(path: Path) -> Path:
    """Return a path as people type it in the checkout."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
