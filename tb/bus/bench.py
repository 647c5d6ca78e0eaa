# SPDX-License-Identifier: Apache-2.0
"""The register file's simulation test. The AXI ports are tested with the tiling controller."""

from runtime.simulator.bench import Bench
from tb.sim.dram import SOURCES

BENCHES = [
    Bench(
        "reg0",
        "register file: random accesses against a model, lock, interrupt",
        "tb_registers",
        "tb.bus.bus_tests",
        "registers",
    ),
    Bench(
        "reg1",
        "register file: counters of 64 bits, when they count, how they are read",
        "tb_registers",
        "tb.bus.bus_tests",
        "counters",
    ),
    Bench(
        "pins0",
        "whole machine: no output follows an AXI or AXI-Lite input within a cycle",
        "tb_pins",
        "tb.bus.pins_tests",
        "cut",
        sources=SOURCES,
        cycles=100_000,
    ),
]
