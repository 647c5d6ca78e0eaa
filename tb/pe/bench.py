# SPDX-License-Identifier: Apache-2.0
"""The PE alone, against a model of its own."""

from dataclasses import replace

from eyrie.model.config import AcceleratorConfig
from eyrie.runtime.simulator.simulation_test import SimulationTest

_ALL = ("CONVOLUTION", "POINTWISE", "FUSED", "DEPTHWISE")


def _pe(name: str, about: str, *modes: str, multipliers: int = 4, **arguments: object) -> SimulationTest:
    return SimulationTest(
        name,
        about,
        "pe_tb",
        "tb.pe.pe_tests",
        "runs_passes",
        arguments={"modes": modes, **arguments},
        config=AcceleratorConfig(multipliers=multipliers),
    )


BENCHES = [
    _pe("pe0", "PE: convolution passes", "CONVOLUTION"),
    _pe("pe1", "PE: pointwise passes", "POINTWISE"),
    _pe("pe2", "PE: depthwise passes", "DEPTHWISE", passes=20),
    _pe("pe3", "PE: operands often zero, all modes: zero-skipped MACs", *_ALL, zeros=0.6),
    _pe("pe4", "PE with one multiplier: all modes", *_ALL, multipliers=1),
    _pe("pe5", "PE: fused passes", "FUSED"),
    replace(_pe("pe6", "PE: why it waits"), testcase="tells_why_it_waits"),
]
