# SPDX-License-Identifier: Apache-2.0
"""The requantizer's simulation tests."""

from dataclasses import replace

from eyrie.runtime.simulator.simulation_test import SimulationTest


def _bench(name: str, lanes: int, steps: int, factors: int = 1) -> SimulationTest:
    return SimulationTest(
        name=name,
        about=f"requantizer, {lanes} lanes, {steps} cycles a product, {factors} factors: corners, ties, random values, "
        "stalls, gaps, tags",
        top="tb_requantizer",
        module="tb.requantizer.requantizer_tests",
        testcase="values",
        parameters={"LANES": lanes, "STEPS": steps, "FACTORS": factors},
        arguments={"steps": steps, "factors": factors},
    )


BENCHES = [
    _bench("requant0", 4, 1, factors=2),
    replace(_bench("requant1", 1, 2), regress=True),
    replace(_bench("requant2", 2, 4), regress=True),
]
