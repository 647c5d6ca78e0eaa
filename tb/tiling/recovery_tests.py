# SPDX-License-Identifier: Apache-2.0
"""A memory that stops answering, and resets of the whole accelerator: what the host reads, and what comes after."""

import cocotb
from cocotb.triggers import ClockCycles

from eyrie.model.encoding import Counter, ErrorCode, Opcode, Register
from tb.common.bench import Testbench
from tb.tiling.harness import WINDOW, Harness
from tb.tiling.programs import Program
from tb.tiling.registers import BUS_WAITS, BUSY, ERROR, SLVERR, SOFT_RESET, START

CHANNELS = ("AR", "R", "AW", "W", "B")
WATCHDOG = 400
LOAD, STORE = Opcode.LOAD, Opcode.STORE


def transfers_only(harness: Harness, count: int) -> tuple[Program, list[int]]:
    """A program of LOADs and STOREs, and the addresses of its commands, END being the last."""
    rng, addresses = harness.tb.rng, []
    program = harness.program(WINDOW[0] + 8 * int(rng.integers(512)))
    for _ in range(count):
        words, place = (int(value) for value in rng.integers(1, 300, 2))
        addresses.append(program.address)
        opcode = LOAD if rng.random() < 0.5 else STORE
        program.transfer(opcode, 0x40000 + 8 * place, int(rng.integers(4000)), words)
    addresses.append(program.address)
    program.end()
    return program, addresses


async def begin_again(harness: Harness) -> None:
    """Resets accelerator and memory by rst_ni, and sets up what software sets up."""
    await harness.tb.reset()
    harness.memory()
    await harness.set_window(*WINDOW)
    await harness.registers.write(Register.INTERRUPT_ENABLE, 1)
    await harness.registers.write(Register.WATCHDOG_LIMIT, WATCHDOG)


async def dies(harness: Harness, channel: str, answers: bool) -> None:
    """The memory goes dead on a channel. answers: it goes on after the soft reset, else rst_ni resets both."""
    what, scoreboard, read = f"{channel} dead, {answers=}", harness.results, harness.registers.value
    program, addresses = transfers_only(harness, 200)
    harness.store_program(program)
    await harness.start(program)
    await ClockCycles(harness.dut.clk_i, int(harness.tb.rng.integers(1, 2000)))
    harness.dut.dead_i.value = 1 << CHANNELS.index(channel)
    end = await harness.end(20_000)
    # The first transfer that has not come through; the list ends long after the memory died.
    done = await harness.registers.counter(Counter.TRANSFERS)
    scoreboard.expect((ERROR, ErrorCode.WATCHDOG, addresses[done]), f"{what}: {done} transfers done")
    scoreboard.observe(end)
    scoreboard.compare(True, done < len(addresses) - 1, f"{what}: died before the end")

    # The soft reset does not take back what AXI forbids to take back: the host can tell.
    await harness.registers.write(Register.CONTROL, SOFT_RESET)
    await ClockCycles(harness.dut.clk_i, int(harness.tb.rng.integers(500, 3000)))
    seen = [await read(register) for register in (Register.STATUS, Register.ERROR_CODE, Register.ERROR_ADDRESS)]
    scoreboard.compare([BUSY | BUS_WAITS, ErrorCode.WATCHDOG, addresses[done]], seen, f"{what}: the bus waits")
    scoreboard.compare(SLVERR, await harness.registers.write(Register.WINDOW_BASE, 0), f"{what}: the window is kept")
    await harness.registers.write(Register.CONTROL, START)  # is ignored
    if answers:
        harness.dut.dead_i.value = 0
        await harness.tb.until(lambda: not harness.dut.unit_rst_no.value, "the end of the soft reset", 5000, step=1)
        await ClockCycles(harness.dut.clk_i, 4)
        seen = [await read(register) for register in (Register.STATUS, Register.ERROR_CODE)]
        scoreboard.compare([0, 0], seen, f"{what}: idle when it has answered")
    else:
        await begin_again(harness)
    await harness.good_run(20, f"{what}: the next run")


@cocotb.test()
async def dead_memory(dut) -> None:
    """Dead at each of the five channels: the host reads what happened, a reset recovers."""
    tb = Testbench(dut)
    harness = Harness(tb, high=tb.arguments["high"])
    await harness.begin()
    await harness.registers.write(Register.WATCHDOG_LIMIT, WATCHDOG)
    for channel in CHANNELS:
        for answers in (True, False):
            await dies(harness, channel, answers)
    await tb.finish(harness.handed, harness.results)


@cocotb.test()
async def dead_after_end(dut) -> None:
    """END has been reached, but the words fetched beyond it do not come any more: END is named."""
    tb = Testbench(dut)
    harness = Harness(tb, high=tb.arguments["high"])
    await harness.begin()
    await harness.registers.write(Register.WATCHDOG_LIMIT, WATCHDOG)
    for run in range(4):
        harness.memory(beats=1, cycles=16)
        program, addresses = transfers_only(harness, 0)
        harness.store_program(program)
        await harness.start(program)
        await ClockCycles(dut.clk_i, int(tb.rng.integers(100, 300)))
        harness.dut.dead_i.value = 1 << CHANNELS.index("R")
        harness.results.expect((ERROR, ErrorCode.WATCHDOG, addresses[0]), f"run {run}")
        harness.results.observe(await harness.end(5000))
        harness.dut.dead_i.value = 0
        await harness.soft_reset()
        harness.memory()
        await harness.good_run(20, f"after run {run}")
    await tb.finish(harness.handed, harness.results)


@cocotb.test()
async def resets(dut) -> None:
    """rst_ni at any moment of a run, memory and accelerator together: registers are as after power-up, the next run
    is right."""
    tb = Testbench(dut)
    harness = Harness(tb, high=tb.arguments["high"])
    await harness.begin()
    registers = [r for r in Register if r not in (Register.IDENTITY, Register.COUNTERS)]
    for run in range(tb.arguments["runs"]):
        program, _ = transfers_only(harness, 40)
        harness.store_program(program)
        await harness.start(program)
        await ClockCycles(dut.clk_i, int(tb.rng.integers(1, 1500)))
        await tb.reset(int(tb.rng.integers(1, 5)))
        seen = [await harness.registers.value(register) for register in registers]
        counted = [await harness.registers.counter(counter) for counter in Counter]
        harness.results.compare([0] * (len(seen) + len(counted)), seen + counted, f"run {run}: registers")
        await begin_again(harness)
        await harness.good_run(12, f"run {run}")
    await tb.finish(harness.handed, harness.results)
