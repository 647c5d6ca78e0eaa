# SPDX-License-Identifier: Apache-2.0
"""The SUPER PE alone, against a model of its own."""

from eyrie.model.config import DEFAULT
from eyrie.runtime.simulator.simulation_test import SimulationTest


def _super(name: str, about: str, *modes: str, **arguments: object) -> SimulationTest:
    return SimulationTest(
        name,
        about,
        "super_pe_tb",
        "tb.super_pe.super_pe_tests",
        "runs_passes",
        arguments={"modes": modes, **arguments},
        config=DEFAULT,
    )


BENCHES = [
    _super("super0", "SUPER: fused passes", "FUSED"),
    _super("super1", "SUPER: depthwise passes, words leave through the chain", "DEPTHWISE", passes=16),
    _super("super2", "SUPER: all modes in turn", "CONVOLUTION", "POINTWISE", "FUSED", "DEPTHWISE", passes=12),
]
