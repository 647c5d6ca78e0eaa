# SPDX-License-Identifier: Apache-2.0
"""The register file's simulation test. The AXI ports are tested with the tiling controller."""

from runtime.simulator.bench import Bench

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
]
