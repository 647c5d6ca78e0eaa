# SPDX-License-Identifier: Apache-2.0
"""Lists of more transfers, passes and chunks than 16 bits can count."""

import cocotb
import numpy as np
from cocotb.triggers import ClockCycles, RisingEdge, SimTimeoutError, with_timeout

from eyrie.model.encoding import Counter, Register
from tb.common.bench import PERIOD_NS, Testbench
from tb.common.scoreboard import Scoreboard
from tb.sim import dram
from tb.tiling.long_lists import long_list
from tb.tiling.programs import Program
from tb.tiling.registers import DONE, START, Registers

NUMBERS, STORED, LIST, BYTES = 0, 1 << 20, 2 << 20, 8 << 20


@cocotb.test()
async def counts_on(dut) -> None:
    """Every transfer, pass and chunk waits for what its tokens name, and for no more, to the end of the list."""
    tb = Testbench(dut)
    scoreboard = Scoreboard("long list")
    for name in (
        "config_ready",
        "pass_ready",
        "pass_done",
        "chunk_freed",
        "wants_chunk",
        "glb_error",
        "glb_stall",
        "stall",
        "beats",
        "cycles",
        "dead",
    ):
        getattr(dut, f"{name}_i").value = 0
    dut.auto_i.value, dut.latency_i.value = 1, tb.arguments["latency"]
    dut.bytes_i.value, dut.outside_i.value = BYTES, dram.DECERR
    registers = Registers(tb)
    await tb.reset()
    await ClockCycles(tb.clock, 2)
    memory = dram.view(dut.dram_pointer_o, BYTES).view("<u8")
    passes, chunks = tb.arguments["passes"], tb.arguments["chunks"]
    made = long_list(Program(LIST), passes, chunks, NUMBERS, STORED)
    memory[: max(passes, chunks)] = np.arange(max(passes, chunks))
    memory[LIST // 8 :][: len(made.program.words)] = np.array(made.program.words, np.uint64)
    for register, value in (
        (Register.WINDOW_LIMIT, BYTES),
        (Register.PROGRAM_BASE, LIST),
        (Register.WATCHDOG_LIMIT, 2000),
        (Register.INTERRUPT_ENABLE, 1),
        (Register.CONTROL, START),
    ):
        await registers.write(register, value)
    try:
        await with_timeout(RisingEdge(dut.interrupt_o), tb.arguments["limit"] * PERIOD_NS, "ns")
    except SimTimeoutError:
        dut._log.error("no interrupt within %d cycles", tb.arguments["limit"])
    # Commands in the wrong order, counted by the pass side, and what has come through.
    seen = [await registers.value(register) & ~8 for register in (Register.STATUS, Register.ERROR_CODE)]
    scoreboard.compare([DONE, 0], seen, "status, error code")
    counts = [int(getattr(dut, f"auto_{name}_o").value) for name in ("passes", "chunks", "errors")]
    scoreboard.compare([passes, chunks, 0], counts, "passes, chunks, errors seen by the pass side")
    counted = [await registers.counter(counter) for counter in (Counter.PASSES, Counter.TRANSFERS)]
    scoreboard.compare([passes, made.program.transfers], counted, "passes, transfers counted")
    scoreboard.compare(made.values, memory[STORED // 8 :][: len(made.values)], "stored words")
    scoreboard.compare(True, min(passes, chunks, made.program.transfers) > tb.arguments["least"], "a long list")
    await tb.finish(scoreboard, transfers=made.program.transfers)
