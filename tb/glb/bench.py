# SPDX-License-Identifier: Apache-2.0
"""The GLB's simulation tests."""

from dataclasses import replace

from eyrie.model.config import DEFAULT, AcceleratorConfig
from eyrie.runtime.simulator.simulation_test import SimulationTest


def _glb(name: str, about: str, testcase: str, config: AcceleratorConfig = DEFAULT, depth: int = 4) -> SimulationTest:
    """depth: words of a bank's queue."""
    return SimulationTest(
        name, about, "tb_glb", "tb.glb.glb_tests", testcase, {"QUEUE_WORDS": depth}, {"depth": depth}, config=config
    )


SMALL = AcceleratorConfig(glb_banks=4, glb_bank_words=513)

BENCHES = [
    _glb(
        "glb0",
        "GLB: random clients against a model: arbitration, queues, strobes, pairs, errors, counters",
        "random_clients",
    ),
    replace(_glb("glb1", "GLB of 4 banks with queues of 3 words, as well", "random_clients", SMALL, 3), regress=True),
    _glb("glb2", "GLB: clients that go along rows, columns or channels leave others their cycles", "sweeps"),
    _glb("glb3", "GLB: words that were announced are there", "announced"),
    replace(_glb("glb4", "GLB of 4 banks with queues of a word, as well", "announced", SMALL, 1), regress=True),
]
