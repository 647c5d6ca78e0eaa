# SPDX-License-Identifier: Apache-2.0
"""Errors of commands, of addresses and on the bus: each stops the machine, which says what and where."""

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge

from eyrie.model.encoding import Counter, ErrorCode
from tb.common.bench import Testbench
from tb.sim.dram import DECERR, SLVERR
from tb.tiling.command_errors import AXI, BASE, BLOCK, COMMAND_ERRORS, DRAM, END_OF_DRAM, LIMIT, PLACE, ROW, STORE, WIDE
from tb.tiling.machine import WINDOW, Machine
from tb.tiling.programs import Pass
from tb.tiling.registers import DONE, ERROR


@cocotb.test()
async def errors(dut):
    """Each error stops with its code and the command's address; a soft reset recovers."""
    tb = Testbench(dut)
    machine = Machine(tb, high=tb.arguments.get("high", False))
    machine.memory(**tb.arguments.get("memory", {}))
    await machine.begin()
    await _commands_fail(machine)
    await _stream_fails(machine)
    await machine.good_run(30, "after command errors")
    await _bus_fails(machine)
    await _list_leaves_the_window(machine)
    await _list_ends_the_window(machine)
    await machine.good_run(30, "after all errors")
    await tb.finish(machine.handed, machine.results)


async def _commands_fail(machine: Machine) -> None:
    """Commands that mean nothing, and transfers beyond the window or the GLB."""
    for what, build in COMMAND_ERRORS.items():
        program = machine.prefix()
        error = build(program)
        program.end()
        machine.handed.expect_all(program.handed)
        await machine.fails(what, program, error)


async def _stream_fails(machine: Machine) -> None:
    """A stream of a pass leaves the GLB: the STORE that waits for the pass never starts."""

    dut = machine.dut

    async def leave() -> None:
        edge = RisingEdge(dut.clk_i)
        await edge
        while not (dut.pass_valid_o.value and dut.pass_ready_i.value):
            await edge
        await ClockCycles(dut.clk_i, int(machine.tb.rng.integers(1, 50)))
        dut.glb_error_i.value = 1
        await edge
        dut.glb_error_i.value = 0

    machine.hang = True
    program = machine.prefix()
    address = program.address
    program.start_pass(Pass(0, 0, 1, ()))
    machine.handed.expect_all(program.handed)
    program.transfer(STORE, 0x20000, 0, 10, wait_passes=1)
    program.end()
    cocotb.start_soon(leave())
    await machine.fails("stream beyond the GLB", program, (ErrorCode.GLB_ADDRESS, address))
    machine.hang = False


async def _bus_fails(machine: Machine) -> None:
    """The window is larger than the DRAM: the bus says what is not there."""
    await machine.set_window(WINDOW[0], 2 * END_OF_DRAM)
    for what, build in WIDE.items():
        machine.dut.outside_i.value = int(machine.tb.rng.choice([SLVERR, DECERR]))
        program = machine.prefix()
        error = build(program)
        program.end()
        await machine.fails(what, program, error)
    program = machine.program(END_OF_DRAM - 8, [ROW])
    await machine.fails("list that fails", program, (AXI, program.base))
    await machine.set_window(*WINDOW)


async def _list_leaves_the_window(machine: Machine) -> None:
    """Between commands, within one, and at its beginning."""
    place = PLACE + machine.origin
    program = machine.program(LIMIT - 32, [ROW, place, ROW, place])
    await machine.fails("list that leaves the window", program, (DRAM, program.base + 32))
    program = machine.program(LIMIT - 32, [ROW, place, BLOCK, place])
    await machine.fails("command that leaves the window", program, (DRAM, program.base + 16))
    for base in (BASE - 8, LIMIT, BASE + 4, 0):
        program = machine.program(base)
        await machine.start(program)
        machine.results.expect((ERROR, DRAM, program.base), f"program at {program.base:#x}")
        machine.results.observe(await machine.end(1000))
        await machine.soft_reset()


async def _list_ends_the_window(machine: Machine) -> None:
    """END as the window's last word is fine; what is fetched in vain counts as commands, too."""
    for base, what in ((LIMIT - 8, "END at the end of the window"), (BASE, "END alone")):
        program = machine.program(base)
        program.end()
        machine.store_program(program)
        await machine.start(program)
        machine.results.expect((DONE, 0, 0), what)
        machine.results.observe(await machine.end(1000))
    fetched = await machine.registers.counter(Counter.COMMAND_BYTES)
    machine.results.expect(fetched, "bytes read for END alone")
    machine.results.observe(await machine.registers.counter(Counter.DRAM_READ_BYTES))
