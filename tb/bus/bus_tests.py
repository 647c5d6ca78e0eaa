# SPDX-License-Identifier: Apache-2.0
"""The register file against a model of its registers."""

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge

from eyrie.model.encoding import IDENTITY, Counter, Register, counter_register
from tb.common.bench import Testbench
from tb.common.scoreboard import Scoreboard
from tb.tiling.registers import CLEAR_INTERRUPT, DONE, ERROR, INTERRUPT, OKAY, SLVERR, SOFT_RESET, START, Registers

ACCESSES = 600
LATE_CYCLES = 3  # of tb_registers
WRITE_CYCLES = 10  # more than until a write is taken
PLAIN = (
    *[Register.PROGRAM_BASE, Register.WINDOW_BASE, Register.WINDOW_LIMIT],
    *[Register.WATCHDOG_LIMIT, Register.INTERRUPT_ENABLE],
)
LOCKED = (Register.PROGRAM_BASE, Register.WINDOW_BASE, Register.WINDOW_LIMIT)
ERROR_CODE, ERROR_ADDRESS = 3, 0x12345678


class Model:
    """The registers' values, and how accesses to them are answered."""

    def __init__(self) -> None:
        self.values = dict.fromkeys(PLAIN, 0)
        self.busy = 0

    def write(self, address: int, value: int, strobe: int) -> int:
        """The response."""
        if address in PLAIN and not (self.busy and address in LOCKED):
            mask = sum(0xFF << 8 * lane for lane in range(4) if strobe >> lane & 1)
            merged = self.values[address] & ~mask | value & mask
            self.values[address] = merged & 1 if address == Register.INTERRUPT_ENABLE else merged
            return OKAY
        return OKAY if address == Register.CONTROL else SLVERR

    def read(self, address: int) -> tuple[int, int]:
        """Value and response; counters are 0."""
        known = {
            **self.values,
            Register.IDENTITY: IDENTITY,
            Register.CONTROL: 0,
            Register.STATUS: self.busy,
            Register.ERROR_CODE: ERROR_CODE,
            Register.ERROR_ADDRESS: ERROR_ADDRESS,
        }
        exists = address in known or 0 <= address - Register.COUNTERS < 8 * len(Counter)
        return known.get(address, 0), OKAY if exists else SLVERR


@cocotb.test()
async def registers(dut):
    """Random accesses, what CONTROL does, the interrupt."""
    tb = Testbench(dut)
    scoreboard = Scoreboard("registers")
    port = Registers(tb)
    for name in ("clear", "counting", "busy", "done", "error", "bus_waits", "increment"):
        getattr(dut, f"{name}_i").value = 0
    dut.error_code_i.value = ERROR_CODE
    dut.error_address_i.value = ERROR_ADDRESS
    await tb.reset()
    await _accesses(tb, port, scoreboard)
    await _pulses(dut, port, scoreboard)
    await _interrupts(dut, port, scoreboard)
    await _ends_while_written(dut, port, scoreboard)
    await tb.finish(scoreboard)


async def _accesses(tb: Testbench, port: Registers, scoreboard: Scoreboard) -> None:
    """Reads and writes anywhere, busy or not; CONTROL is written without effect."""
    model = Model()
    for access in range(ACCESSES):
        if access % 50 == 0:
            model.busy = int(tb.rng.integers(2))
            tb.dut.busy_i.value = model.busy
        address = int(tb.rng.choice([*PLAIN, *Register, int(tb.rng.integers(1024)) * 4]))
        if tb.rng.random() < 0.5:
            value, strobe = int(tb.rng.integers(1 << 32)), int(tb.rng.integers(16))
            if address == Register.CONTROL:
                value, strobe = 0, 15
            scoreboard.compare(
                model.write(address, value, strobe),
                await port.write(address, value, strobe),
                f"write {address:#x}, busy {model.busy}",
            )
        else:
            scoreboard.compare(model.read(address), await port.read(address), f"read {address:#x}")
    tb.dut.busy_i.value = 0


async def _pulses(dut, port: Registers, scoreboard: Scoreboard) -> None:
    """CONTROL starts and resets for one cycle each; bytes that are not written do nothing."""
    pulses = {"start": 0, "soft_reset": 0}

    async def count() -> None:
        while True:
            await RisingEdge(dut.clk_i)
            for name in pulses:
                pulses[name] += int(getattr(dut, f"{name}_o").value)

    counting = cocotb.start_soon(count())
    await port.write(Register.CONTROL, START)
    await port.write(Register.CONTROL, SOFT_RESET)
    await port.write(Register.CONTROL, 7, strobe=14)
    counting.cancel()
    scoreboard.compare([1, 1], list(pulses.values()), "cycles of start and of soft reset")


async def _interrupts(dut, port: Registers, scoreboard: Scoreboard) -> None:
    """Set by an end, passed on if enabled, cleared once."""
    await port.write(Register.INTERRUPT_ENABLE, 0)
    for cause, level in (("done", DONE), ("error", ERROR)):
        getattr(dut, f"{cause}_i").value = 1
        await ClockCycles(dut.clk_i, 3)
        scoreboard.compare(
            [level | INTERRUPT, 0], [await port.value(Register.STATUS), int(dut.interrupt_o.value)], cause
        )
        await port.write(Register.INTERRUPT_ENABLE, 1)
        scoreboard.compare(1, int(dut.interrupt_o.value), f"{cause}, enabled")
        await port.write(Register.CONTROL, CLEAR_INTERRUPT)
        scoreboard.compare([level, 0], [await port.value(Register.STATUS), int(dut.interrupt_o.value)], "cleared")
        getattr(dut, f"{cause}_i").value = 0
        await port.write(Register.INTERRUPT_ENABLE, 0)


async def _ends_while_written(dut, port: Registers, scoreboard: Scoreboard) -> None:
    """An end in each cycle about a write of CONTROL: a soft reset leaves no interrupt of one that it meets, a clear
    leaves that of one that comes with it or later."""

    async def left(bits: int, at: int) -> tuple[int, int]:
        """STATUS when the end comes in cycle `at`, unless a soft reset comes before, and when the write is taken."""
        writing, taken = cocotb.start_soon(port.write(Register.CONTROL, bits)), None
        for cycle in range(WRITE_CYCLES):
            if cycle == at and not (taken is not None and bits & SOFT_RESET):
                dut.done_i.value = 1
            await RisingEdge(dut.clk_i)
            if dut.reg_bvalid_o.value and taken is None:
                taken = cycle - 1
            if dut.soft_reset_o.value:
                taken, dut.done_i.value = cycle, 0
        await writing
        status = await port.value(Register.STATUS)
        dut.done_i.value = 0
        await port.write(Register.CONTROL, CLEAR_INTERRUPT)
        return status, taken

    distances = set()
    for at in [*range(WRITE_CYCLES)] * 4:
        scoreboard.compare(0, (await left(SOFT_RESET, at))[0], f"STATUS after a soft reset, an end in cycle {at}")
        status, taken = await left(CLEAR_INTERRUPT, at)
        distances.add(at - taken)
        scoreboard.compare(DONE | INTERRUPT * (at >= taken), status, f"STATUS after a clear, an end in cycle {at}")
    scoreboard.compare(True, {-1, 0, 1} <= distances, "ends before, with and after a clear")


class Counters:
    """A model of the counters: what comes in `steps` is counted while it has to be."""

    def __init__(self, dut, port: Registers, scoreboard: Scoreboard) -> None:
        self.dut, self.port, self.scoreboard = dut, port, scoreboard
        late = int(dut.late_o.value)
        self.late = [bool(late >> c & 1) for c in Counter]
        self.totals = [0] * len(Counter)
        self.window: list[int] = [0] * 8  # counting_i of the cycles before, the latest last

    async def step(self, steps: list[int], counting: int) -> None:
        """A cycle with these increments."""
        dut = self.dut
        dut.counting_i.value = counting
        dut.increment_i.value = sum(step << 16 * place for place, step in enumerate(steps))
        self.window = [*self.window[1:], counting]
        for place, step in enumerate(steps):
            self.totals[place] += step * self.window[-1 - (LATE_CYCLES if self.late[place] else 0)]
        await RisingEdge(dut.clk_i)

    async def hold(self, steps: list[int], cycles: int) -> None:
        """So many cycles of the same increments, all counted."""
        await self.step(steps, 1)
        for place, step in enumerate(steps):
            missing = len(self.window) - sum(self.window)
            assert not missing, "hold after as many steps as the window is long"
            self.totals[place] += step * (cycles - 1)
        await ClockCycles(self.dut.clk_i, cycles - 1)

    async def clear(self) -> None:
        self.dut.clear_i.value = 1
        await RisingEdge(self.dut.clk_i)
        self.dut.clear_i.value = 0
        self.totals = [0] * len(Counter)

    async def compare(self, what: str) -> None:
        for counter in Counter:
            self.scoreboard.compare(self.totals[counter], await self.port.counter(counter), f"{what}: {counter.name}")


@cocotb.test()
async def counters(dut):
    """64 bits, a window of their own for the late ones, both words of one moment."""
    tb = Testbench(dut)
    scoreboard = Scoreboard("counters")
    port = Registers(tb)
    for name in ("clear", "counting", "busy", "done", "error", "bus_waits", "increment", "error_code", "error_address"):
        getattr(dut, f"{name}_i").value = 0
    await tb.reset()
    await RisingEdge(dut.clk_i)
    model = Counters(dut, port, scoreboard)

    def draw() -> list[int]:
        return [int(step) for step in tb.rng.integers(0, 1 << 16, len(Counter))]

    for run in range(3):
        for _ in range(60):  # what comes before and after the window does not count
            await model.step(draw(), int(tb.rng.random() < 0.7))
        for _ in range(8):
            await model.step(draw(), 0)
        await model.step([0] * len(Counter), 0)
        await model.compare(f"run {run}")
        await model.clear()
        await model.compare(f"run {run}, cleared")

    # Over the end of the low word
    for _ in range(8):
        await model.step([0xFFFF] * len(Counter), 1)
    await model.hold([0xFFFF] * len(Counter), (1 << 32) // 0xFFFF + 1)
    for _ in range(8):
        await model.step([0] * len(Counter), 0)
    await model.compare("past 32 bits")
    scoreboard.compare(True, min(model.totals) >= 1 << 32, "the low words wrapped")

    # The words of a counter that runs belong together: the low word wraps within two cycles of the reads.
    step = 0xFFFF
    await model.clear()
    for _ in range(8):
        await model.step([step] * len(Counter), 1)
    await model.hold([step] * len(Counter), (1 << 32) // step - 40)
    last, wraps = 0, 0
    for _ in range(60):
        value = await port.counter(Counter.CYCLES)
        scoreboard.compare(True, last < value < last + 100 * step if last else True, f"{value:#x} after {last:#x}")
        wraps += last < 1 << 32 <= value
        last = value
    scoreboard.compare(1, wraps, "wraps seen")
    # A high word is that of the last low word read, whatever counter it is asked of.
    low = await port.value(counter_register(Counter.CYCLES))
    high = await port.value(counter_register(Counter.PASSES) + 4)
    scoreboard.compare(True, low | high << 32 > last, "the note of the high word")
    await tb.finish(scoreboard)
