# SPDX-License-Identifier: Apache-2.0
"""The register file's benches and that of the chip's pins. The AXI ports are tested with the tiling controller."""

from eyrie.model.config import DEFAULT, MachineConfig
from eyrie.runtime.simulator.bench import Bench
from tb.sim.dram import SOURCES


def _has_other_lists(machine: MachineConfig) -> str | None:
    if machine.bus_words != 1 or machine.glb_words < DEFAULT.glb_words:
        return (
            f"the bench's command lists are for a port of one word and {DEFAULT.glb_words} words of GLB, it has "
            f"{machine.bus_words} and {machine.glb_words}"
        )
    return None


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
        "board",
        "tb.bus.pins_tests",
        "cut",
        sources=SOURCES,
        cycles=100_000,
        machine=MachineConfig(cols=4),  # as data/machines/small.json: one model for both
        unfit=_has_other_lists,
    ),
]
