# SPDX-License-Identifier: Apache-2.0
"""The register file's simulation test. The AXI ports are tested with the tiling controller."""

from runtime.simulator.bench import Bench

BENCHES = [
    Bench(
        "reg0",
        "register file: random accesses against a model, counters, lock, interrupt",
        "register_file",
        "tb.bus.bus_tests",
        "registers",
    ),
]
