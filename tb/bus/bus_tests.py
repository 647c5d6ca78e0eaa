# SPDX-License-Identifier: Apache-2.0
"""The register file against a model of its registers."""

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge

from model.encoding import IDENTITY, Counter, Register
from tb.common.bench import Testbench
from tb.common.scoreboard import Scoreboard
from tb.tiling.registers import OKAY, SLVERR, SOFT_RESET, START, Registers

ACCESSES = 600
PLAIN = (
    *[Register.PROGRAM_BASE, Register.WINDOW_BASE, Register.WINDOW_LIMIT],
    *[Register.WATCHDOG_LIMIT, Register.INTERRUPT_ENABLE],
)
LOCKED = (Register.PROGRAM_BASE, Register.WINDOW_BASE, Register.WINDOW_LIMIT)
ERROR_CODE, ERROR_ADDRESS = 3, 0x12345678


@cocotb.test()
async def registers(dut):
    tb = Testbench(dut)
    board = Scoreboard("registers")
    port = Registers(tb, "axi")
    for name in ("clear", "busy", "done", "error", "increment"):
        getattr(dut, f"{name}_i").value = 0
    dut.error_code_i.value = ERROR_CODE
    dut.error_address_i.value = ERROR_ADDRESS
    await tb.reset()
    model = dict.fromkeys(PLAIN, 0)
    pulses = {"start": 0, "soft_reset": 0}

    async def count_pulses() -> None:
        while True:
            await RisingEdge(dut.clk_i)
            for name in pulses:
                pulses[name] += int(getattr(dut, f"{name}_o").value)

    cocotb.start_soon(count_pulses())

    def same(expected: object, got: object, where: str) -> None:
        board.expect(expected, where)
        board.observe(got)

    busy = 0
    for access in range(ACCESSES):
        if access % 50 == 0:
            busy = int(tb.rng.integers(2))
            dut.busy_i.value = busy
        address = int(tb.rng.choice([*PLAIN, *Register, int(tb.rng.integers(1024)) * 4]))
        counter = 0 <= address - Register.COUNTERS < 4 * len(Counter)
        if tb.rng.random() < 0.5:
            value, strobe = int(tb.rng.integers(1 << 32)), int(tb.rng.integers(16))
            if address == Register.CONTROL:
                value, strobe = 0, 15
            written = address in PLAIN and not (busy and address in LOCKED)
            response = await port.write(address, value, strobe)
            good = written or address == Register.CONTROL
            same(OKAY if good else SLVERR, response, f"write {address:#x}, busy {busy}")
            if written:
                mask = sum(0xFF << 8 * lane for lane in range(4) if strobe >> lane & 1)
                merged = model[address] & ~mask | value & mask
                model[address] = merged & 1 if address == Register.INTERRUPT_ENABLE else merged
        else:
            known = {
                **model,
                Register.IDENTITY: IDENTITY,
                Register.CONTROL: 0,
                Register.STATUS: busy,
                Register.ERROR_CODE: ERROR_CODE,
                Register.ERROR_ADDRESS: ERROR_ADDRESS,
            }
            exists = address in known or counter
            expected = (known.get(address, 0), OKAY if exists else SLVERR)
            same(expected, await port.read(address), f"read {address:#x}")

    # Control
    dut.busy_i.value = 0
    pulses.update(start=0, soft_reset=0)
    await port.write(Register.CONTROL, START)
    await port.write(Register.CONTROL, SOFT_RESET)
    await port.write(Register.CONTROL, 7, strobe=14)
    same({"start": 1, "soft_reset": 1}, pulses, "pulses")

    # Counters
    sums = [0] * len(Counter)
    for _ in range(50):
        steps = [int(step) for step in tb.rng.integers(0, 1 << 16, len(Counter))]
        dut.increment_i.value = sum(step << 16 * place for place, step in enumerate(steps))
        sums = [total + step for total, step in zip(sums, steps, strict=True)]
        await RisingEdge(dut.clk_i)
    dut.increment_i.value = 0
    for counter in Counter:
        same(sums[counter], await port.counter(counter), f"counter {counter.name}")
    dut.clear_i.value = 1
    await RisingEdge(dut.clk_i)
    dut.clear_i.value = 0
    for counter in Counter:
        same(0, await port.counter(counter), f"counter {counter.name} cleared")

    # Interrupt: set by an end, passed on if enabled, cleared once.
    await port.write(Register.INTERRUPT_ENABLE, 0)
    for cause in ("done", "error"):
        getattr(dut, f"{cause}_i").value = 1
        await ClockCycles(dut.clk_i, 3)
        level = {"done": 2, "error": 4}[cause]
        same((level | 8, 0), (await port.value(Register.STATUS), int(dut.interrupt_o.value)), cause)
        await port.write(Register.INTERRUPT_ENABLE, 1)
        same(1, int(dut.interrupt_o.value), f"{cause}, enabled")
        await port.write(Register.CONTROL, 4)
        same((level, 0), (await port.value(Register.STATUS), int(dut.interrupt_o.value)), "cleared")
        getattr(dut, f"{cause}_i").value = 0
        await port.write(Register.INTERRUPT_ENABLE, 0)
    await tb.finish(board)
