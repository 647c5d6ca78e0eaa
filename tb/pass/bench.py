# SPDX-License-Identifier: Apache-2.0
"""Whole passes: pass controller, array, PPU and GLB."""

from dataclasses import replace

from eyrie.model.config import DEFAULT, AcceleratorConfig
from eyrie.runtime.bundled import SMALL_CONFIG
from eyrie.runtime.simulator.simulation_test import SimulationTest
from eyrie.testing.pass_layers import FINISHES, KINDS, why_not

_MODULE = "tb.pass.pass_tests"


def _pass(name: str, about: str, *kinds: str, stall: int = 0, layers: int = 6) -> SimulationTest:
    def unfit(config: AcceleratorConfig) -> str | None:
        reasons = [why_not(kind, config) for kind in kinds]
        return reasons[0] if all(reasons) else None

    arguments = {"stall": stall, "kinds": kinds, "layers": layers}
    return SimulationTest(
        name,
        about,
        "pass_tb",
        _MODULE,
        "runs_layers",
        arguments=arguments,
        config=DEFAULT,
        unfit=unfit,
        quick=SMALL_CONFIG,
    )


BENCHES = [
    _pass("pass0", "fused depthwise-separable passes", "fused"),
    _pass("pass1", "pointwise passes", "pointwise"),
    _pass("pass2", "depthwise passes", "depthwise"),
    replace(_pass("pass3", "convolutions with the standard mappings, with ipsum", "standard"), regress=True),
    _pass("pass4", "fused passes, random DMA traffic on the GLB", "fused", stall=200),
    replace(_pass("pass5", "convolutions, random DMA traffic on the GLB", "standard", stall=200), regress=True),
    _pass("pass6", "all kinds of passes that the accelerator has, in turn", *KINDS, layers=14),
    _pass("pass7", "maxima, residual addition, ipsum, folds: passes with an int8 ofmap", *FINISHES, layers=8),
    _pass("pass8", "convolutions of any kernel, stride and dilation as pointwise work", "kernel"),
    _pass("pass9", "vector passes", "elementwise", layers=16),
    _pass("pass10", "vector passes, random DMA traffic on the GLB", "elementwise", stall=200, layers=10),
    SimulationTest(
        "streams0",
        "streams that bring more or fewer words than their pass takes",
        "pass_tb",
        "tb.pass.streams_tests",
        "stops_wrong_streams",
        arguments={"passes": 80},
        config=DEFAULT,
        quick=SMALL_CONFIG,
    ),
    SimulationTest(
        "tables0",
        "quantisation parameters of any bits",
        "pass_tb",
        "tb.pass.streams_tests",
        "takes_any_table",
        arguments={"passes": 10},
        config=DEFAULT,
        quick=SMALL_CONFIG,
    ),
    SimulationTest(
        "rules0",
        "descriptors that the accelerator does not run",
        "descriptor_rules_tb",
        "tb.pass.rules_tests",
        "agrees_on_descriptors",
        config=DEFAULT,
    ),
]
