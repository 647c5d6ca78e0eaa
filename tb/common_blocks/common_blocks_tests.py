# SPDX-License-Identifier: Apache-2.0
"""cocotb tests of the shared blocks; bench.py lists them."""

import cocotb
from cocotb.triggers import ClockCycles, FallingEdge, Timer

from tb.common.bench import Testbench
from tb.common.scoreboard import Scoreboard
from tb.common.streams import ReadySink, StreamDriver, StreamMonitor

ITEMS = 300


@cocotb.test()
async def moves_words(dut) -> None:
    """A one-in one-out block keeps order at any pace, holds `capacity` words and cuts its paths."""
    tb = Testbench(dut)
    scoreboard = Scoreboard(dut._name)
    source, sink = StreamDriver(tb, "in"), ReadySink(tb, "out")
    taken = StreamMonitor(tb, "in").stats
    StreamMonitor(tb, "out", callback=scoreboard.observe)
    await tb.reset()
    width, capacity = len(dut.in_data_i), tb.arguments["capacity"]

    async def transfer(idle: float, stall: float, count: int) -> int:
        """Sends `count` random words; returns how many cycles they took."""
        source.idle = idle
        sink.pace(stall)
        start = tb.cycles
        words = [int.from_bytes(tb.rng.bytes(32)) >> (256 - width) for _ in range(count)]
        scoreboard.expect_all(words, f"idle {idle:.2f}, stall {stall:.2f}")
        source.extend(words)
        if stall < 1:
            await tb.until(lambda: scoreboard.done, "the words", step=1)
        return tb.cycles - start

    # At full speed a word takes one cycle; one register alone must empty before it fills again.
    cycles = await transfer(0, 0, ITEMS)
    assert cycles <= ITEMS * (2 if capacity == 1 else 1) + 4, f"{ITEMS} words took {cycles} cycles"

    before = taken.received_transactions
    await transfer(0, 1, capacity + 3)
    await ClockCycles(dut.clk_i, capacity + 4)
    scoreboard.compare(capacity, taken.received_transactions - before, "words taken while stalled")
    if hasattr(dut, "count_o"):
        scoreboard.compare(capacity, int(dut.count_o.value), "count_o while stalled")
    await cuts_paths(tb, scoreboard, "full")
    sink.pace(0)
    await tb.until(lambda: scoreboard.done, "the words held back")

    for idle, stall in [(0.6, 0), (0, 0.6), *tb.rng.random((4, 2)) * 0.8]:
        await transfer(idle, stall, ITEMS)
    await cuts_paths(tb, scoreboard, "empty")
    await tb.finish(scoreboard)


@cocotb.test()
async def forgets_words(dut) -> None:
    """A reset of a full block leaves it empty, and it fills again."""
    tb = Testbench(dut)
    scoreboard = Scoreboard(dut._name)
    width, capacity = len(dut.in_data_i), tb.arguments["capacity"]
    dut.in_valid_i.value, dut.out_ready_i.value = 0, 0
    await tb.reset()
    await FallingEdge(tb.clock)
    for turn in range(4):
        where = f"turn {turn}"
        dut.in_valid_i.value = 1
        dut.in_data_i.value = int.from_bytes(tb.rng.bytes(32)) >> (256 - width)
        for filled in range(capacity):
            scoreboard.compare(1, int(dut.in_ready_o.value), f"{where}: in_ready_o, {filled} words inside")
            await FallingEdge(tb.clock)
        scoreboard.compare([1, 0], [int(dut.out_valid_o.value), int(dut.in_ready_o.value)], f"{where}: full")
        dut.in_valid_i.value = 0
        await tb.reset()
        await FallingEdge(tb.clock)
        scoreboard.compare([0, 1], [int(dut.out_valid_o.value), int(dut.in_ready_o.value)], f"{where}: reset")
    await tb.finish(scoreboard)


async def cuts_paths(tb: Testbench, scoreboard: Scoreboard, state: str) -> None:
    """Within a cycle, no output follows an input."""
    dut = tb.dut
    outputs = dut.in_ready_o, dut.out_valid_o
    for _ in range(20):
        await FallingEdge(dut.clk_i)
        before = [int(handle.value) for handle in outputs]
        levels = int(dut.in_valid_i.value), int(dut.out_ready_i.value)
        dut.in_valid_i.value, dut.out_ready_i.value = tb.rng.integers(2, size=2).tolist()
        await Timer(0.2, "ns")
        after = [int(handle.value) for handle in outputs]
        scoreboard.compare(before, after, f"outputs within a cycle, {state}")
        dut.in_valid_i.value, dut.out_ready_i.value = levels
        await Timer(0.2, "ns")


async def request(dut) -> Testbench:
    """Leaves the assertions' wrapper with a stalled request that is a cycle old."""
    tb = Testbench(dut)
    dut.bit_i.value, dut.valid_i.value, dut.ready_i.value, dut.data_i.value = 0, 0, 0, 0
    await tb.reset()
    await ClockCycles(dut.clk_i, 3)
    dut.valid_i.value, dut.data_i.value = 1, 5
    await ClockCycles(dut.clk_i, 3)
    return tb


async def pass_by(tb: Testbench) -> None:
    """Ends a test whose alarm has to sound by now: what follows would pass."""
    await ClockCycles(tb.clock, 3)
    scoreboard = Scoreboard("alarm")
    scoreboard.compare(1, 1)
    await tb.finish(scoreboard)


@cocotb.test()
async def breaks_property(dut) -> None:
    """Raises the bit that has to stay down."""
    tb = await request(dut)
    dut.bit_i.value = 1
    await pass_by(tb)


@cocotb.test()
async def changes_data(dut) -> None:
    """Changes data while stalled."""
    tb = await request(dut)
    dut.data_i.value = 6
    await pass_by(tb)


@cocotb.test()
async def drops_valid(dut) -> None:
    """Withdraws a request."""
    tb = await request(dut)
    dut.valid_i.value = 0
    await pass_by(tb)


@cocotb.test()
async def accepts_more(dut) -> None:
    """Takes a larger word than it may."""
    tb = await request(dut)
    dut.ready_i.value = 1
    await ClockCycles(dut.clk_i, 1)
    dut.valid_i.value = 0
    await ClockCycles(dut.clk_i, 1)
    dut.valid_i.value, dut.data_i.value = 1, 10
    await pass_by(tb)


@cocotb.test()
async def stays_valid(dut) -> None:
    """Holds a request that has been accepted."""
    tb = await request(dut)
    dut.ready_i.value = 1
    await pass_by(tb)


@cocotb.test()
async def differs(dut) -> None:
    """Observes another value than expected."""
    tb = await request(dut)
    scoreboard = Scoreboard("alarm")
    scoreboard.expect(1)
    scoreboard.observe(2)
    await tb.finish(scoreboard)


@cocotb.test()
async def idles(dut) -> None:
    """Ends with a scoreboard that saw nothing."""
    tb = await request(dut)
    await tb.finish(Scoreboard("alarm"))
