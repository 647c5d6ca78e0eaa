# SPDX-License-Identifier: Apache-2.0
"""The watchdog: what can never go on ends, and what is only slow does not."""

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge

from eyrie.model.encoding import ErrorCode, Opcode, Register
from tb.common.bench import Testbench
from tb.tiling.harness import WINDOW, Harness
from tb.tiling.programs import Pass, Program
from tb.tiling.registers import DONE

LOAD, STORE = Opcode.LOAD, Opcode.STORE
PASS = Pass(0, 0, 1, ())


@cocotb.test()
async def hangs(dut):
    """What can never go on ends by the watchdog, which names the command; a soft reset recovers."""
    tb = Testbench(dut)
    harness = Harness(tb, high=tb.arguments.get("high", False))
    await harness.begin()
    await harness.registers.write(Register.WATCHDOG_LIMIT, 300)
    await _tokens_never_come(harness)
    harness.hang = True
    await _passes_never_end(harness)
    harness.dut.wants_chunk_i.value = 1
    await _chunks_never_come(harness)
    harness.dut.wants_chunk_i.value = 0
    harness.hang = False
    await harness.good_run(60, "after the watchdog")
    await tb.finish(harness.handed, harness.results)


async def _ends(harness: Harness, what: str, program: Program, address: int) -> None:
    """The watchdog ends the program and names the command at the address."""
    program.end()
    await harness.fails(what, program, (ErrorCode.WATCHDOG, address))


async def _tokens_never_come(harness: Harness) -> None:
    program = harness.prefix()
    address = program.address
    program.transfer(LOAD, 0x20000, 0, 10, wait_passes=1)
    await _ends(harness, "LOAD without its pass", program, address)

    program = harness.prefix()
    address = program.address
    program.transfer(STORE, 0x20000, 0, 10, wait_chunks=1)
    await _ends(harness, "STORE without its chunk", program, address)

    program = harness.prefix()
    address = program.address
    program.start_pass(PASS, wait_transfers=program.transfers + 1)
    await _ends(harness, "PASS without its transfer", program, address)


async def _passes_never_end(harness: Harness) -> None:
    """The first of them is to blame, whatever waits behind it; but not for a transfer before it."""
    for passes in (1, 2, 4, 6):
        program = harness.prefix()
        address = program.address
        for _ in range(passes):
            program.start_pass(PASS)
        harness.handed.expect_all(program.handed[:4])  # more are not handed over
        program.transfer(STORE, 0x20000, 0, 10, wait_passes=passes)
        await _ends(harness, f"{passes} passes that do not end", program, address)

    program = harness.prefix()
    address = program.address
    program.transfer(LOAD, 0x20000, 0, 10, wait_passes=9)
    program.start_pass(PASS)
    harness.handed.expect_all(program.handed)
    await _ends(harness, "LOAD before a pass", program, address)


async def _chunks_never_come(harness: Harness) -> None:
    """What holds the chunk of a pass up is to blame, else the pass."""
    program = harness.prefix()
    program.start_pass(PASS)
    harness.handed.expect_all(program.handed)
    address = program.address
    program.transfer(LOAD, 0x20000, 0, 10, wait_passes=1)
    program.transfer(LOAD, 0x20000, 0, 10, chunk=1)
    await _ends(harness, "LOAD in the way of a chunk", program, address)

    program = harness.prefix()
    address = program.address
    program.start_pass(PASS)
    harness.handed.expect_all(program.handed)
    await _ends(harness, "pass without its chunk", program, address)


async def _take_late(harness: Harness, delay: int) -> None:
    """Takes the next pass `delay` cycles after it is requested."""
    harness.pass_sink.pace(1.0)
    await RisingEdge(harness.dut.pass_valid_o)
    await ClockCycles(harness.dut.clk_i, delay)
    harness.pass_sink.pace(0.0)


@cocotb.test()
async def slow(dut):
    """Whatever moves holds the watchdog back: one long wait after the other is no hang.

    The pass waits for the transfer: its last response comes late, then the pass is taken late. Each
    wait is shorter than the limit, both together are longer.
    """
    tb = Testbench(dut)
    harness = Harness(tb, high=tb.arguments.get("high", False))
    await harness.begin()
    await harness.registers.write(Register.WATCHDOG_LIMIT, 300)
    harness.memory(latency=200)
    for opcode in (STORE, LOAD, STORE, LOAD):
        for words in (1, 40):
            program = harness.program(WINDOW[0])
            program.transfer(opcode, 0x20000, 0, words)
            program.start_pass(PASS, wait_transfers=1)
            program.end()
            harness.store_program(program)
            harness.handed.expect_all(program.handed)
            late = cocotb.start_soon(_take_late(harness, 200))
            await harness.start(program)
            harness.results.expect((DONE, 0, 0), f"slow {opcode.name} of {words} words")
            harness.results.observe(await harness.end())
            late.cancel()
            harness.pass_sink.pace(0.0)
            await harness.soft_reset()
    await tb.finish(harness.handed, harness.results)
