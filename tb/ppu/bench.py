# SPDX-License-Identifier: Apache-2.0
"""The PPU's simulation tests."""

from dataclasses import replace

from eyrie.model.config import AcceleratorConfig
from eyrie.runtime.simulator.simulation_test import SimulationTest


def _bench(name: str, about: str, testcase: str, cols: int = 8, **arguments: object) -> SimulationTest:
    return SimulationTest(
        name=name,
        about=about,
        top="tb_ppu",
        module="tb.ppu.ppu_tests",
        testcase=testcase,
        arguments=arguments,
        config=AcceleratorConfig(cols=cols),
    )


BENCHES = [
    _bench("ppu0", "requantisation, ragged blocks, passes back to back", "mix", kinds=["plain"]),
    _bench("ppu1", "average pooling up to 1024 values", "mix", kinds=["average"]),
    _bench("ppu2", "raw words of a depthwise layer", "mix", kinds=["raw"]),
    _bench("ppu3", "2x2 max pooling", "mix", kinds=["max"]),
    _bench("ppu4", "operations on the words of any pass", "mix", kinds=["operation"]),
    replace(_bench("ppu5", "all kinds of passes in turn, 4 columns", "mix", cols=4), regress=True),
    replace(_bench("ppu6", "all kinds of passes in turn, 14 columns", "mix", cols=14), regress=True),
    _bench("ppu7", "one beat and one word per cycle, latency", "throughput"),
    _bench("ppu8", "vector passes among others", "mix", kinds=["elementwise"]),
    _bench("ppu9", "vector passes: cycles of each operation, large windows", "elementwise"),
]
