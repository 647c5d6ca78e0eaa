# SPDX-License-Identifier: Apache-2.0
"""Tiling controller, DMA, AXI ports and register file, together."""

import cocotb
import numpy as np
from cocotb.triggers import ClockCycles, RisingEdge

from model import encoding
from model.encoding import Counter, ErrorCode, Opcode, Register
from tb.common.bench import Testbench
from tb.sim.dram import DECERR, SLVERR
from tb.tiling.machine import DRAM_WORDS, GLB_WORDS, WINDOW, Machine
from tb.tiling.programs import Pass, Program
from tb.tiling.registers import DONE, ERROR, START


@cocotb.test()
async def random_lists(dut):
    """Random command lists leave DRAM, GLB and counters as if executed one by one."""
    tb = Testbench(dut)
    machine = Machine(tb, tb.arguments.get("stall", 0.0), tb.arguments.get("high", False))
    machine.memory(**tb.arguments.get("memory", {}))
    await machine.begin()
    for run in range(tb.arguments.get("runs", 3)):
        await machine.good_run(tb.arguments.get("commands", 120), f"run {run}")
    await tb.finish(machine.handed, machine.results)


def _word(program: Program, word: int) -> int:
    """Appends a raw command word; returns its address."""
    address = program.address
    program.words.append(word)
    return address


def _illegal(word: int, *more: int):
    """A case: these raw words are an illegal command."""

    def build(program: Program) -> tuple[ErrorCode, int]:
        address = _word(program, word)
        for following in more:
            _word(program, following)
        return ErrorCode.ILLEGAL_COMMAND, address

    return build


def _bad_transfer(code: ErrorCode, *args, **kwargs):
    """A case: this transfer fails with that code."""

    def build(program: Program) -> tuple[ErrorCode, int]:
        address = program.address
        program.transfer(*args, **kwargs)
        return code, address

    return build


LOAD, STORE = Opcode.LOAD, Opcode.STORE
BASE, LIMIT = WINDOW
ROW = encoding.TRANSFER.pack(opcode=LOAD)
BLOCK = encoding.TRANSFER.pack(opcode=LOAD, block=1)
PLACE = encoding.TRANSFER_ADDRESS.pack(dram_address=0x20000, words=1)
ONE = encoding.TRANSFER_ROWS.pack(count=1)
DRAM, GLB, AXI = ErrorCode.DRAM_ADDRESS, ErrorCode.GLB_ADDRESS, ErrorCode.AXI_RESPONSE
END_OF_DRAM = 8 * DRAM_WORDS

COMMAND_ERRORS = {
    "opcode 0": _illegal(0),
    "opcode 6": _illegal(6),
    "END with a bit": _illegal(1 | 1 << 63),
    "CONFIG beyond the descriptor": _illegal(
        encoding.CONFIG.pack(opcode=Opcode.CONFIG, index=100, count=encoding.CONFIG_WORDS - 99)
    ),
    "CONFIG far beyond": _illegal(
        encoding.CONFIG.pack(opcode=Opcode.CONFIG, index=4095, count=4095)
    ),
    "CONFIG of nothing": _illegal(encoding.CONFIG.pack(opcode=Opcode.CONFIG)),
    "CONFIG with a bit": _illegal(
        encoding.CONFIG.pack(opcode=Opcode.CONFIG, index=0, count=1) | 1 << 28
    ),
    "PASS with a bit": _illegal(encoding.PASS.pack(opcode=Opcode.PASS) | 1 << 62),
    "LOAD of nothing": _illegal(ROW, PLACE ^ 1 << 48),
    "STORE of nothing": _illegal(encoding.TRANSFER.pack(opcode=STORE), PLACE ^ 1 << 48),
    "block of nothing": _illegal(BLOCK, PLACE ^ 1 << 48, ONE, ONE),
    "STORE of a chunk": _illegal(encoding.TRANSFER.pack(opcode=STORE, chunk=1)),
    "rows with a bit": _illegal(BLOCK, PLACE, ONE | 1 << 60, ONE),
    "no rows": _illegal(BLOCK, PLACE, 0, ONE),
    "no planes": _illegal(BLOCK, PLACE, ONE, 0),
    "LOAD below the window": _bad_transfer(DRAM, LOAD, BASE - 8, 0, 4),
    "LOAD over the limit": _bad_transfer(DRAM, LOAD, LIMIT - 24, 0, 4),
    "LOAD that wraps": _bad_transfer(DRAM, LOAD, 0xFFFFFFF8, 0, 65535),
    "LOAD of half words": _bad_transfer(DRAM, LOAD, BASE + 4, 0, 1),
    "LOAD, last row over the limit": _bad_transfer(
        DRAM, LOAD, LIMIT - 64, 0, 2, (16, 2, 4), (16, 8, 2)
    ),
    "LOAD, second row of half words": _bad_transfer(DRAM, LOAD, BASE, 0, 2, (18, 2, 2)),
    "LOAD, plane below the window": _bad_transfer(
        DRAM, LOAD, BASE + 64, 0, 2, (0, 2, 2), (-64, 8, 3)
    ),
    "STORE below the window": _bad_transfer(DRAM, STORE, BASE - 8, 0, 4),
    "STORE over the limit": _bad_transfer(DRAM, STORE, LIMIT - 24, 0, 4),
    "STORE, row over the limit": _bad_transfer(DRAM, STORE, LIMIT - 64, 0, 4, (32, 4, 3)),
    "LOAD beyond the GLB": _bad_transfer(GLB, LOAD, 0x20000, GLB_WORDS - 3, 4),
    "LOAD, row beyond the GLB": _bad_transfer(GLB, LOAD, 0x20000, GLB_WORDS - 8, 4, (32, 4, 3)),
    "LOAD, row before the GLB": _bad_transfer(GLB, LOAD, 0x20000, 4, 4, (32, -8, 2)),
    "STORE beyond the GLB": _bad_transfer(GLB, STORE, 0x20000, 65535, 1),
    "STORE, plane beyond the GLB": _bad_transfer(
        GLB, STORE, 0x20000, 0, 4, (32, 4, 1), (64, GLB_WORDS - 3, 2)
    ),
}
WIDE = {  # with a window that is larger than the DRAM
    "LOAD that fails": _bad_transfer(AXI, LOAD, END_OF_DRAM - 8, 0, 300),
    "STORE that fails": _bad_transfer(AXI, STORE, END_OF_DRAM - 1024, 0, 300),
    "STORE, row that fails": _bad_transfer(AXI, STORE, END_OF_DRAM - 64, 0, 8, (64, 8, 2)),
}


async def _fails(machine: Machine, what: str, program: Program, error: tuple, limit: int = 5000):
    """Runs a program that has to fail, checks that all comes to rest, and resets."""
    board = machine.results
    machine.store_program(program)
    await machine.start(program)
    status = await machine.end(limit)
    board.expect((ERROR, *error), what)
    board.observe(status)
    # A start is ignored after an error.
    await machine.registers.write(Register.CONTROL, START)
    await ClockCycles(machine.dut.clk_i, 400)
    bursts = int(machine.dut.bursts_o.value)
    await ClockCycles(machine.dut.clk_i, 400)
    board.expect((ERROR, bursts), f"{what}: still stopped")
    board.observe((await machine.registers.value(Register.STATUS), int(machine.dut.bursts_o.value)))
    await machine.soft_reset()


def _prefix(machine: Machine) -> Program:
    """The start of a program: a few transfers that are good, so that something is under way."""
    rng = machine.tb.rng
    program = machine.program(WINDOW[0] + 8 * int(rng.integers(512)))
    for _ in range(int(rng.integers(4))):
        opcode = LOAD if rng.random() < 0.7 else STORE
        program.transfer(opcode, 0x40000, int(rng.integers(4000)), int(rng.integers(1, 300)))
    return program


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
    program = _prefix(machine)
    address = program.address
    program.start_pass(Pass(0, 0, 1, ()))
    machine.handed.expect_all(program.handed)
    program.transfer(STORE, 0x20000, 0, 10, wait_passes=1)
    program.end()
    cocotb.start_soon(leave())
    await _fails(machine, "stream beyond the GLB", program, (ErrorCode.GLB_ADDRESS, address))
    machine.hang = False


@cocotb.test()
async def errors(dut):
    """Each error stops with its code and the command's address; a soft reset recovers."""
    tb = Testbench(dut)
    machine = Machine(tb, high=tb.arguments.get("high", False))
    machine.memory(**tb.arguments.get("memory", {}))
    await machine.begin()
    for what, build in COMMAND_ERRORS.items():
        program = _prefix(machine)
        error = build(program)
        program.end()
        machine.handed.expect_all(program.handed)
        await _fails(machine, what, program, error)
    await _stream_fails(machine)
    await machine.good_run(30, "after command errors")
    await machine.set_window(WINDOW[0], 2 * END_OF_DRAM)
    for what, build in WIDE.items():
        machine.dut.outside_i.value = int(tb.rng.choice([SLVERR, DECERR]))
        program = _prefix(machine)
        error = build(program)
        program.end()
        await _fails(machine, what, program, error)
    program = machine.program(END_OF_DRAM - 8, [ROW])
    await _fails(machine, "list that fails", program, (AXI, program.base))
    await machine.set_window(*WINDOW)
    place = PLACE + machine.origin
    program = machine.program(LIMIT - 32, [ROW, place, ROW, place])
    await _fails(machine, "list that leaves the window", program, (DRAM, program.base + 32))
    program = machine.program(LIMIT - 32, [ROW, place, BLOCK, place])
    await _fails(machine, "command that leaves the window", program, (DRAM, program.base + 16))
    for base in (BASE - 8, LIMIT, BASE + 4, 0):
        program = machine.program(base)
        await machine.start(program)
        machine.results.expect((ERROR, DRAM, program.base), f"program at {program.base:#x}")
        machine.results.observe(await machine.end(1000))
        await machine.soft_reset()
    # END as the window's last word is fine.
    program = machine.program(LIMIT - 8)
    program.end()
    machine.store_program(program)
    await machine.start(program)
    machine.results.expect((DONE, 0, 0), "END at the end of the window")
    machine.results.observe(await machine.end(1000))
    # What is fetched in vain counts as commands, too.
    program = machine.program(WINDOW[0])
    program.end()
    machine.store_program(program)
    await machine.start(program)
    machine.results.expect((DONE, 0, 0), "END alone")
    machine.results.observe(await machine.end(1000))
    fetched = await machine.registers.counter(Counter.COMMAND_BYTES)
    machine.results.expect(fetched, "bytes read for END alone")
    machine.results.observe(await machine.registers.counter(Counter.DRAM_READ_BYTES))
    await machine.good_run(30, "after all errors")
    await tb.finish(machine.handed, machine.results)


@cocotb.test()
async def hangs(dut):
    """What can never go on ends by the watchdog, which names the command; a soft reset recovers."""
    tb = Testbench(dut)
    machine = Machine(tb, high=tb.arguments.get("high", False))
    await machine.begin()
    await machine.registers.write(Register.WATCHDOG_LIMIT, 300)

    program = _prefix(machine)
    address = program.address
    program.transfer(LOAD, 0x20000, 0, 10, wait_passes=1)
    program.end()
    await _fails(machine, "LOAD without its pass", program, (ErrorCode.WATCHDOG, address))

    program = _prefix(machine)
    address = program.address
    program.transfer(STORE, 0x20000, 0, 10, wait_chunks=1)
    program.end()
    await _fails(machine, "STORE without its chunk", program, (ErrorCode.WATCHDOG, address))

    program = _prefix(machine)
    address = program.address
    program.start_pass(Pass(0, 0, 1, ()), wait_transfers=program.transfers + 1)
    program.end()
    await _fails(machine, "PASS without its transfer", program, (ErrorCode.WATCHDOG, address))

    # Passes that do not end: the first of them is to blame, whatever waits behind it.
    machine.hang = True
    for passes in (1, 2, 4, 6):
        program = _prefix(machine)
        address = program.address
        for _ in range(passes):
            program.start_pass(Pass(0, 0, 1, ()))
        machine.handed.expect_all(program.handed[:4])  # more are not handed over
        program.transfer(STORE, 0x20000, 0, 10, wait_passes=passes)
        program.end()
        await _fails(machine, f"{passes} passes that do not end", program, (ErrorCode.WATCHDOG, address))

    # A transfer before a pass that does not end either
    program = _prefix(machine)
    address = program.address
    program.transfer(LOAD, 0x20000, 0, 10, wait_passes=9)
    program.start_pass(Pass(0, 0, 1, ()))
    machine.handed.expect_all(program.handed)
    program.end()
    await _fails(machine, "LOAD before a pass", program, (ErrorCode.WATCHDOG, address))

    # A pass that waits for a chunk: what holds the chunk up is to blame, else the pass.
    machine.dut.wants_chunk_i.value = 1
    program = _prefix(machine)
    program.start_pass(Pass(0, 0, 1, ()))
    machine.handed.expect_all(program.handed)
    address = program.address
    program.transfer(LOAD, 0x20000, 0, 10, wait_passes=1)
    program.transfer(LOAD, 0x20000, 0, 10, chunk=1)
    program.end()
    await _fails(machine, "LOAD in the way of a chunk", program, (ErrorCode.WATCHDOG, address))
    program = _prefix(machine)
    address = program.address
    program.start_pass(Pass(0, 0, 1, ()))
    machine.handed.expect_all(program.handed)
    program.end()
    await _fails(machine, "pass without its chunk", program, (ErrorCode.WATCHDOG, address))
    machine.dut.wants_chunk_i.value = 0
    machine.hang = False

    await machine.good_run(60, "after the watchdog")
    await tb.finish(machine.handed, machine.results)


async def _take_late(machine: Machine, delay: int) -> None:
    """Takes the next pass `delay` cycles after it is offered."""
    machine.pass_sink.pace(1.0)
    await RisingEdge(machine.dut.pass_valid_o)
    await ClockCycles(machine.dut.clk_i, delay)
    machine.pass_sink.pace(0.0)


@cocotb.test()
async def slow(dut):
    """Whatever moves holds the watchdog back: one long wait after the other is no hang.

    The pass waits for the transfer: its last response comes late, then the pass is taken late. Each
    wait is shorter than the limit, both together are longer.
    """
    tb = Testbench(dut)
    machine = Machine(tb, high=tb.arguments.get("high", False))
    await machine.begin()
    await machine.registers.write(Register.WATCHDOG_LIMIT, 300)
    machine.memory(latency=200)
    for opcode in (STORE, LOAD, STORE, LOAD):
        for words in (1, 40):
            program = machine.program(WINDOW[0])
            program.transfer(opcode, 0x20000, 0, words)
            program.start_pass(Pass(0, 0, 1, ()), wait_transfers=1)
            program.end()
            machine.store_program(program)
            machine.handed.expect_all(program.handed)
            late = cocotb.start_soon(_take_late(machine, 200))
            await machine.start(program)
            machine.results.expect((DONE, 0, 0), f"slow {opcode.name} of {words} words")
            machine.results.observe(await machine.end())
            late.cancel()
            machine.pass_sink.pace(0.0)
            await machine.soft_reset()
    await tb.finish(machine.handed, machine.results)


async def _interrupt(machine: Machine, program: Program) -> None:
    """Starts a program and resets the machine after a while."""
    machine.store_program(program)
    await machine.start(program)
    await ClockCycles(machine.dut.clk_i, int(machine.tb.rng.integers(1, 1500)))
    await machine.soft_reset()


@cocotb.test()
async def interruptions(dut):
    """A soft reset at any moment brings all bursts to their end and leaves a machine that works."""
    tb = Testbench(dut)
    machine = Machine(tb, high=tb.arguments.get("high", False))
    machine.memory(**tb.arguments["memory"])
    await machine.begin()
    for run in range(tb.arguments["runs"]):
        program = machine.program(WINDOW[0])
        for _ in range(30):
            opcode = LOAD if tb.rng.random() < 0.5 else STORE
            words, place = (int(value) for value in tb.rng.integers(1, 400, 2))
            program.transfer(opcode, 0x40000 + 8 * place, int(tb.rng.integers(4000)), words)
        program.end()
        await _interrupt(machine, program)
        # Stores alone: what has not been written is as it was.
        program = machine.program(WINDOW[0])
        expected = machine.dram.copy()
        for number in range(12):
            words, place = int(tb.rng.integers(1, 400)), int(tb.rng.integers(4000))
            row = 0x8000 + 512 * number
            program.transfer(STORE, 8 * row, place, words)
            expected[row : row + words] = machine.glb[place : place + words]
        program.end()
        old = machine.dram.copy()
        await _interrupt(machine, program)
        untouched = machine.dram[0x8000:] == old[0x8000:]
        written = np.where(untouched, old[0x8000:], expected[0x8000:])
        machine.results.compare(written, machine.dram[0x8000:], f"run {run}: stores cut short")
        await machine.good_run(12, f"run {run}")
    await tb.finish(machine.handed, machine.results)


@cocotb.test()
async def transfer_rates(dut):
    """LOADs fill the port: words per cycle from the first to the last word in the GLB."""
    tb = Testbench(dut)
    machine = Machine(tb, high=tb.arguments.get("high", False))
    machine.memory(latency=tb.arguments["latency"])
    await machine.begin()
    figures = {}
    for name, count, words, least in (("long", 1, 4096, 0.95), ("short", 8, 64, 0.90)):
        program = machine.program(WINDOW[0])
        for number in range(count):
            program.transfer(LOAD, 0x20000 + 8 * words * number, words * number, words)
        program.end()
        machine.store_program(program)
        expected = machine.glb.copy()
        expected[: count * words] = machine.dram[0x4000 : 0x4000 + count * words]
        await machine.start(program)
        await machine.end()
        cycles = int(dut.last_beat_o.value) - int(dut.first_beat_o.value) + 1
        figures[f"{name}_cycles"] = cycles
        rate = count * words / cycles
        machine.results.expect(True, f"{name}: {rate:.3f} words a cycle")
        machine.results.observe(rate >= least)
        machine.results.compare(expected, machine.glb, name)
    await tb.finish(machine.results, **figures)
