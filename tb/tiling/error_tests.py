# SPDX-License-Identifier: Apache-2.0
"""Errors of commands, of addresses and on the bus: each stops the accelerator, which says what and where."""

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge

from eyrie.model.encoding import Counter, ErrorCode
from tb.common.bench import Testbench
from tb.sim.dram import DECERR, SLVERR
from tb.tiling.command_errors import (
    AXI,
    BASE,
    BLOCK,
    CODED_ERRORS,
    COMMAND_ERRORS,
    DRAM,
    END_OF_DRAM,
    LIMIT,
    PLACE,
    ROW,
    STORE,
    WIDE,
    WIDE_CODED,
    WITHOUT_DECODER,
)
from tb.tiling.harness import WINDOW, Harness
from tb.tiling.programs import Pass
from tb.tiling.registers import DONE, ERROR


@cocotb.test()
async def errors(dut):
    """Each error stops with its code and the command's address; a soft reset recovers."""
    tb = Testbench(dut)
    harness = Harness(tb, high=tb.arguments.get("high", False))
    harness.memory(**tb.arguments.get("memory", {}))
    await harness.begin()
    await _commands_fail(harness)
    await _stream_fails(harness)
    await harness.good_run(30, "after command errors")
    await _bus_fails(harness)
    await _list_leaves_the_window(harness)
    await _list_ends_the_window(harness)
    await harness.good_run(30, "after all errors")
    await tb.finish(harness.handed, harness.results)


async def _commands_fail(harness: Harness) -> None:
    """Commands that mean nothing, and transfers beyond the window or the GLB."""
    own = CODED_ERRORS if harness.tb.config.weight_codes else {"CODED without a decoder": WITHOUT_DECODER}
    for what, build in (COMMAND_ERRORS | own).items():
        program = harness.prefix()
        error = build(program)
        program.end()
        harness.handed.expect_all(program.handed)
        await harness.fails(what, program, error)


async def _stream_fails(harness: Harness) -> None:
    """A stream of a pass leaves the GLB: the STORE that waits for the pass never starts."""

    dut = harness.dut

    async def leave() -> None:
        edge = RisingEdge(dut.clk_i)
        await edge
        while not (dut.pass_valid_o.value and dut.pass_ready_i.value):
            await edge
        await ClockCycles(dut.clk_i, int(harness.tb.rng.integers(1, 50)))
        dut.glb_error_i.value = 1
        await edge
        dut.glb_error_i.value = 0

    harness.hang = True
    program = harness.prefix()
    address = program.address
    program.start_pass(Pass(0, 0, 1, ()))
    harness.handed.expect_all(program.handed)
    program.transfer(STORE, 0x20000, 0, 10, wait_passes=1)
    program.end()
    cocotb.start_soon(leave())
    await harness.fails("stream beyond the GLB", program, (ErrorCode.GLB_ADDRESS, address))
    harness.hang = False


async def _bus_fails(harness: Harness) -> None:
    """The window is larger than the DRAM: the bus says what is not there."""
    await harness.set_window(WINDOW[0], 2 * END_OF_DRAM)
    for what, build in (WIDE | (WIDE_CODED if harness.tb.config.weight_codes else {})).items():
        harness.dut.outside_i.value = int(harness.tb.rng.choice([SLVERR, DECERR]))
        program = harness.prefix()
        error = build(program)
        program.end()
        await harness.fails(what, program, error)
    program = harness.program(END_OF_DRAM - 8, [ROW])
    await harness.fails("list that fails", program, (AXI, program.base))
    await harness.set_window(*WINDOW)


async def _list_leaves_the_window(harness: Harness) -> None:
    """Between commands, within one, and at its beginning."""
    place = PLACE + harness.origin
    program = harness.program(LIMIT - 32, [ROW, place, ROW, place])
    await harness.fails("list that leaves the window", program, (DRAM, program.base + 32))
    program = harness.program(LIMIT - 32, [ROW, place, BLOCK, place])
    await harness.fails("command that leaves the window", program, (DRAM, program.base + 16))
    for base in (BASE - 8, LIMIT, BASE + 4, 0):
        program = harness.program(base)
        await harness.start(program)
        harness.results.expect((ERROR, DRAM, program.base), f"program at {program.base:#x}")
        harness.results.observe(await harness.end(1000))
        await harness.soft_reset()


async def _list_ends_the_window(harness: Harness) -> None:
    """END as the window's last word is fine; what is fetched in vain counts as commands, too."""
    for base, what in ((LIMIT - 8, "END at the end of the window"), (BASE, "END alone")):
        program = harness.program(base)
        program.end()
        harness.store_program(program)
        await harness.start(program)
        harness.results.expect((DONE, 0, 0), what)
        harness.results.observe(await harness.end(1000))
    fetched = await harness.registers.counter(Counter.COMMAND_BYTES)
    harness.results.expect(fetched, "bytes read for END alone")
    harness.results.observe(await harness.registers.counter(Counter.DRAM_READ_BYTES))
