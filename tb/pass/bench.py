# SPDX-License-Identifier: Apache-2.0
"""Whole passes: pass controller, array, PPU and GLB."""

from runtime.simulator.bench import Bench

_MODULE = "tb.pass.pass_tests"


def _pass(name: str, about: str, stall: int = 0, **arguments: object) -> Bench:
    return Bench(name, about, "pass_tb", _MODULE, "runs_layers", arguments={"stall": stall, **arguments})


BENCHES = [
    _pass("pass0", "fused depthwise-separable passes", kind="fused"),
    _pass("pass1", "pointwise passes", kind="pointwise"),
    _pass("pass2", "depthwise passes", kind="depthwise"),
    _pass("pass3", "convolutions with the standard mappings, with ipsum", kind="convolution"),
    _pass("pass4", "fused passes, random DMA traffic on the GLB", stall=200, kind="fused"),
    _pass("pass5", "convolutions, random DMA traffic on the GLB", stall=200, kind="convolution"),
]
