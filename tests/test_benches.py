# SPDX-License-Identifier: Apache-2.0
"""Every simulation of the catalogue as a pytest test."""

import pytest

from eyrie.runtime.folders import BUILD
from eyrie.runtime.simulator.simulate import rerun_line, simulate
from eyrie.testing.catalogue import benches


@pytest.mark.parametrize("name", benches())
def test_bench(name: str, seed: int) -> None:
    bench = benches()[name]
    result = simulate(bench, seed)
    if result["status"] != "pass":
        log = (BUILD / name / "log.txt").read_text().splitlines()
        again = f"again, with waves: {rerun_line(bench, seed)}"
        pytest.fail("\n".join([*log[-40:], result["reason"], again]), pytrace=False)
