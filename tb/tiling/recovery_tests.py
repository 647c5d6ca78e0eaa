# SPDX-License-Identifier: Apache-2.0
"""A memory that stops answering, and resets of the whole machine: what the host reads, and what comes after."""

import cocotb
from cocotb.triggers import ClockCycles

from eyrie.model.encoding import Counter, ErrorCode, Opcode, Register
from tb.common.bench import Testbench
from tb.tiling.machine import WINDOW, Machine
from tb.tiling.programs import Program
from tb.tiling.registers import BUS_WAITS, BUSY, ERROR, SLVERR, SOFT_RESET, START

CHANNELS = ("AR", "R", "AW", "W", "B")
WATCHDOG = 400
LOAD, STORE = Opcode.LOAD, Opcode.STORE


def transfers_only(machine: Machine, count: int) -> tuple[Program, list[int]]:
    """A program of LOADs and STOREs, and the addresses of its commands, END being the last."""
    rng, addresses = machine.tb.rng, []
    program = machine.program(WINDOW[0] + 8 * int(rng.integers(512)))
    for _ in range(count):
        words, place = (int(value) for value in rng.integers(1, 300, 2))
        addresses.append(program.address)
        opcode = LOAD if rng.random() < 0.5 else STORE
        program.transfer(opcode, 0x40000 + 8 * place, int(rng.integers(4000)), words)
    addresses.append(program.address)
    program.end()
    return program, addresses


async def begin_again(machine: Machine) -> None:
    """Resets machine and memory by rst_ni, and sets up what software sets up."""
    await machine.tb.reset()
    machine.memory()
    await machine.set_window(*WINDOW)
    await machine.registers.write(Register.INTERRUPT_ENABLE, 1)
    await machine.registers.write(Register.WATCHDOG_LIMIT, WATCHDOG)


async def dies(machine: Machine, channel: str, answers: bool) -> None:
    """The memory goes dead on a channel. answers: it goes on after the soft reset, else rst_ni resets both."""
    what, board, read = f"{channel} dead, {answers=}", machine.results, machine.registers.value
    program, addresses = transfers_only(machine, 200)
    machine.store_program(program)
    await machine.start(program)
    await ClockCycles(machine.dut.clk_i, int(machine.tb.rng.integers(1, 2000)))
    machine.dut.dead_i.value = 1 << CHANNELS.index(channel)
    end = await machine.end(20_000)
    # The first transfer that has not come through; the list ends long after the memory died.
    done = await machine.registers.counter(Counter.TRANSFERS)
    board.expect((ERROR, ErrorCode.WATCHDOG, addresses[done]), f"{what}: {done} transfers done")
    board.observe(end)
    board.compare(True, done < len(addresses) - 1, f"{what}: died before the end")

    # The soft reset does not take back what AXI forbids to take back: the host can tell.
    await machine.registers.write(Register.CONTROL, SOFT_RESET)
    await ClockCycles(machine.dut.clk_i, int(machine.tb.rng.integers(500, 3000)))
    seen = [await read(register) for register in (Register.STATUS, Register.ERROR_CODE, Register.ERROR_ADDRESS)]
    board.compare([BUSY | BUS_WAITS, ErrorCode.WATCHDOG, addresses[done]], seen, f"{what}: the bus waits")
    board.compare(SLVERR, await machine.registers.write(Register.WINDOW_BASE, 0), f"{what}: the window is kept")
    await machine.registers.write(Register.CONTROL, START)  # is ignored
    if answers:
        machine.dut.dead_i.value = 0
        await machine.tb.until(lambda: not machine.dut.unit_rst_no.value, "the end of the soft reset", 5000, step=1)
        await ClockCycles(machine.dut.clk_i, 4)
        seen = [await read(register) for register in (Register.STATUS, Register.ERROR_CODE)]
        board.compare([0, 0], seen, f"{what}: idle when it has answered")
    else:
        await begin_again(machine)
    await machine.good_run(20, f"{what}: the next run")


@cocotb.test()
async def dead_memory(dut) -> None:
    """Dead at each of the five channels: the host reads what happened, a reset recovers."""
    tb = Testbench(dut)
    machine = Machine(tb, high=tb.arguments["high"])
    await machine.begin()
    await machine.registers.write(Register.WATCHDOG_LIMIT, WATCHDOG)
    for channel in CHANNELS:
        for answers in (True, False):
            await dies(machine, channel, answers)
    await tb.finish(machine.handed, machine.results)


@cocotb.test()
async def dead_after_end(dut) -> None:
    """END has been reached, but the words fetched beyond it do not come any more: END is named."""
    tb = Testbench(dut)
    machine = Machine(tb, high=tb.arguments["high"])
    await machine.begin()
    await machine.registers.write(Register.WATCHDOG_LIMIT, WATCHDOG)
    for run in range(4):
        machine.memory(beats=1, cycles=16)
        program, addresses = transfers_only(machine, 0)
        machine.store_program(program)
        await machine.start(program)
        await ClockCycles(dut.clk_i, int(tb.rng.integers(100, 300)))
        machine.dut.dead_i.value = 1 << CHANNELS.index("R")
        machine.results.expect((ERROR, ErrorCode.WATCHDOG, addresses[0]), f"run {run}")
        machine.results.observe(await machine.end(5000))
        machine.dut.dead_i.value = 0
        await machine.soft_reset()
        machine.memory()
        await machine.good_run(20, f"after run {run}")
    await tb.finish(machine.handed, machine.results)


@cocotb.test()
async def resets(dut) -> None:
    """rst_ni at any moment of a run, memory and machine together: registers are as after power-up, the next run
    is right."""
    tb = Testbench(dut)
    machine = Machine(tb, high=tb.arguments["high"])
    await machine.begin()
    registers = [r for r in Register if r not in (Register.IDENTITY, Register.COUNTERS)]
    for run in range(tb.arguments["runs"]):
        program, _ = transfers_only(machine, 40)
        machine.store_program(program)
        await machine.start(program)
        await ClockCycles(dut.clk_i, int(tb.rng.integers(1, 1500)))
        await tb.reset(int(tb.rng.integers(1, 5)))
        seen = [await machine.registers.value(register) for register in registers]
        counted = [await machine.registers.counter(counter) for counter in Counter]
        machine.results.compare([0] * (len(seen) + len(counted)), seen + counted, f"run {run}: registers")
        await begin_again(machine)
        await machine.good_run(12, f"run {run}")
    await tb.finish(machine.handed, machine.results)
