# SPDX-License-Identifier: Apache-2.0
"""Networks in the upper half of what addresses can name, reset by rst_ni in the middle of a run."""

import cocotb
import numpy as np
from cocotb.triggers import ClockCycles, First, RisingEdge, Timer

from eyrie.model.config import DEFAULT
from eyrie.model.encoding import ErrorCode, Register
from eyrie.testing.samples import scaled
from tb.common.bench import PERIOD_NS, Testbench
from tb.common.scoreboard import Scoreboard
from tb.net.bench import CYCLE_LIMIT
from tb.net.host import WATCHDOG, watched
from tb.net.programs import Program, draw_networks, move, place
from tb.sim import dram
from tb.tiling.registers import DONE, INTERRUPT, START, Registers

HIGH = 1 << 31


@cocotb.test()
async def runs_after_resets(dut) -> None:
    """After a reset at any moment, with memory and accelerator reset together, the whole run is right."""
    tb = Testbench(dut)
    scoreboard = Scoreboard("networks after a reset")
    registers = Registers(tb)
    for name in ("beats", "cycles", "stall", "dead", "trace_pass", "trace_select", "flip"):
        getattr(dut, f"{name}_i").value = 0
    dut.latency_i.value, dut.outside_i.value = DEFAULT.dram_latency, dram.DECERR
    networks = draw_networks(cocotb.RANDOM_SEED, tb.arguments["cycles_each"], tb.config)

    async def start(program: Program) -> None:
        await tb.reset()
        await ClockCycles(tb.clock, 2)
        memory = dram.view(dut.dram_pointer_o, len(program.contents), program.base)
        memory[:] = program.contents
        for register, value in (
            (Register.WINDOW_BASE, program.window[0]),
            (Register.WINDOW_LIMIT, program.window[1]),
            (Register.PROGRAM_BASE, program.start),
            (Register.WATCHDOG_LIMIT, WATCHDOG),
            (Register.INTERRUPT_ENABLE, 1),
            (Register.CONTROL, START),
        ):
            await registers.write(register, value)

    for _ in range(scaled(tb.arguments["networks"])):
        network = next(networks)
        base = 8 * int(tb.rng.integers(HIGH // 8, (2 * HIGH - 2 * len(network.image.dram)) // 8))
        program = place(network, base, move(network.commands, base))
        dut.bytes_i.value = program.window[1]
        for _ in range(tb.arguments["resets"]):
            await start(program)
            await ClockCycles(tb.clock, int(tb.rng.integers(1, 8000)))
        await start(program)
        await First(RisingEdge(dut.interrupt_o), Timer(CYCLE_LIMIT * PERIOD_NS, "ns"))
        seen = [await registers.value(r) for r in (Register.STATUS, Register.ERROR_CODE, Register.ERROR_ADDRESS)]
        scoreboard.compare([DONE | INTERRUPT, ErrorCode.NONE, 0], seen, f"{network.about}: status, error")
        for counter, count in (await watched(tb)).items():
            scoreboard.compare(count, await registers.counter(counter), f"{network.about}: {counter.name}")
        memory = dram.view(dut.dram_pointer_o, len(program.contents), program.base)
        tensors = np.concatenate(
            [memory[: network.image.program.address], network.image.dram[network.image.program.address :]]
        )
        scoreboard.compare(network.golden, network.image.output(tensors), f"{network.about}: output")
    await tb.finish(scoreboard)
