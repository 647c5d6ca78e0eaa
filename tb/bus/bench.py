# SPDX-License-Identifier: Apache-2.0
"""The register file's benches and that of the chip's pins. The AXI ports are tested with the tiling controller."""

from eyrie.model.config import DEFAULT, AcceleratorConfig
from eyrie.runtime.bundled import SMALL_CONFIG
from eyrie.runtime.simulator.simulation_test import SimulationTest
from tb.sim.dram import SOURCES


def _has_other_lists(config: AcceleratorConfig) -> str | None:
    if config.bus_words != 1 or config.glb_words < DEFAULT.glb_words:
        return (
            f"the bench's command lists are for a port of one word and {DEFAULT.glb_words} words of GLB, it has "
            f"{config.bus_words} and {config.glb_words}"
        )
    return None


BENCHES = [
    SimulationTest(
        "reg0",
        "register file: random accesses against a model, lock, interrupt",
        "tb_registers",
        "tb.bus.bus_tests",
        "registers",
    ),
    SimulationTest(
        "reg1",
        "register file: counters of 64 bits, when they count, how they are read",
        "tb_registers",
        "tb.bus.bus_tests",
        "counters",
    ),
    SimulationTest(
        "pins0",
        "whole accelerator: no output follows an AXI or AXI-Lite input within a cycle",
        "soc",
        "tb.bus.pins_tests",
        "cut",
        sources=SOURCES,
        cycles=100_000,
        config=AcceleratorConfig.load(SMALL_CONFIG),  # the model of other benches
        unfit=_has_other_lists,
    ),
]
