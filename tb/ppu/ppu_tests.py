# SPDX-License-Identifier: Apache-2.0
"""cocotb tests of the PPU; bench.py lists them."""

from itertools import cycle

import cocotb
from cocotb.triggers import ClockCycles, with_timeout

from eyrie.testing import ppu_operations as operations
from tb.common.bench import Testbench
from tb.common.scoreboard import Scoreboard
from tb.common.streams import ReadySink, StreamDriver, StreamMonitor
from tb.ppu.passes import KINDS, Pass, Sizes, draw_elementwise, draw_pass

PASSES = 32
OPERATIONS = {"operation": operations.RIDING, "elementwise": operations.ALL}  # of kinds of passes
WINDOW_SIZES = (1, 2, 5, 64)
LARGEST = 20_000  # transfers of a window
# Cycles from a word of the first operand, or the last of a window, to the word that it becomes
WORD_LATENCY = 6
WORD_LATENCIES = {"NONE": 0, "TABLE": 1, "SQUARED_DIFFERENCE": 7}
WINDOW_LATENCY = 5
RATES = (0.0, 0.0, 0.2, 0.6, 0.9)  # idle and stall probabilities
# Cycles from the last beat of a block to its first word, and between its words.
LATENCIES = {"plain": 5, "raw": 2, "average": 9, "max": 5, "ADD": 11, "SQUARED_DIFFERENCE": 12, "TABLE": 6}


class PpuBench:
    """Agents around the PPU; a pass is requested as soon as the PPU has taken the one before."""

    def __init__(self, dut) -> None:
        self.tb = Testbench(dut)
        self.scoreboard = Scoreboard("words")
        self.sums = StreamDriver(self.tb, "sums", ("data", "flags"))
        others = (StreamDriver(self.tb, name, ("data", "phase")) for name in ("parameters", "residual"))
        self.streams = [self.sums, *others, StreamDriver(self.tb, "words", ("data", "lanes", "last"))]
        self.sink = ReadySink(self.tb, "word")
        StreamMonitor(self.tb, "word", ("data", "two", "last"), callback=self.scoreboard.observe)
        self._ports = {
            name: getattr(dut, f"{name}_i")
            for name in ("cfg", "first", "second", "result", "columns", "to_ppu", "elementwise")
        }
        for port in (*self._ports.values(), dut.pass_phase_i):
            port.value = 0

    @property
    def cols(self) -> int:
        return len(self.tb.dut.sums_data_i) // 64

    def pace(self, idle: list[float], stall: float) -> None:
        """Sets the idle rates of sums, table, residual and words of the first operand and the stall rate of the
        words."""
        for stream, rate in zip(self.streams, idle, strict=True):
            stream.idle = rate
        self.sink.pace(stall)

    def queue(self, passes: list[Pass]) -> None:
        """Queues the sums of further passes, and what has to come out."""
        for item in passes:
            self.sums.extend(item.beats)
            for word, where in item.words:
                self.scoreboard.expect(word, where)

    async def request(self, passes: list[Pass]) -> None:
        """Offers the passes in turn, each with the words that its streams bring; between them the configuration
        ports carry other values."""
        dut, rng = self.tb.dut, self.tb.rng
        for item in passes:
            for name, port in self._ports.items():
                port.value = int(item.ports[name])
            pass_phase = 1 - int(dut.pass_phase_i.value)
            dut.pass_phase_i.value = pass_phase
            for stream, words in zip(self.streams[1:3], (item.table, item.residual), strict=True):
                stream.extend({"data": word, "phase": pass_phase} for word in words)
            self.streams[3].extend(item.elements)
            await ClockCycles(self.tb.clock, 1)
            await self.tb.until(lambda: dut.pass_phase_o.value == dut.pass_phase_i.value, "a pass to be taken", step=1)
            for port in self._ports.values():
                port.value = int.from_bytes(rng.bytes(8), "little") >> (64 - len(port))
            await ClockCycles(self.tb.clock, int(rng.choice([1, 1, 5, 40])))


@cocotb.test()
async def mix(dut):
    """Random passes of the given kinds (and others in between) with all operations, at random paces."""
    bench = PpuBench(dut)
    tb = bench.tb
    kinds = tb.arguments.get("kinds", KINDS)
    turns = {kind: cycle(tb.rng.permutation(names).tolist()) for kind, names in OPERATIONS.items()}
    await tb.reset()
    for group in range(PASSES // 4):
        passes = []
        for n in range(4):
            kind = str(tb.rng.choice(KINDS if n == 3 else kinds))
            operation = next(turns[kind]) if kind in turns else None
            passes.append(draw_pass(tb.rng, kind, bench.cols, f"pass {4 * group + n}", operation=operation))
        rates = [float(rate) for rate in tb.rng.choice(RATES, 5)]
        bench.pace(rates[:4], rates[4])
        bench.queue(passes)
        await bench.request(passes)
        await tb.until(lambda: bench.scoreboard.done, f"the words of group {group}")
        await with_timeout(bench.sums.drain(), 200, "us")  # beats that are dropped, too
    bench.scoreboard.compare(int(dut.held_o.value), int(dut.stalls_o.value), "cycles with stall_o")
    bench.scoreboard.compare(0, int(dut.overrun_o.value), "overrun words")
    await tb.finish(bench.scoreboard, beats=int(dut.transfers_o.value))


@cocotb.test()
async def throughput(dut):
    """At full speed a beat enters and a word leaves in every cycle; the latency of every path."""
    bench = PpuBench(dut)
    tb, scoreboard, cols = bench.tb, bench.scoreboard, bench.cols
    await tb.reset()

    async def run(item: Pass) -> int:
        """Runs one pass; returns the cycles from its last beat to its last word."""
        bench.queue([item])
        await bench.request([item])
        await tb.until(lambda: scoreboard.done, "the words")
        await ClockCycles(tb.clock, 2)
        return int(dut.tail_o.value)

    sizes = Sizes(columns=cols, blocks=16, channels=8, pixels=4)
    begin = 0
    for two_pixels in (False, True):
        about = f"two pixels: {two_pixels}"
        item = draw_pass(tb.rng, "plain", cols, about, sizes, two_pixels=two_pixels)
        tail = await run(item)
        beats = int(dut.transfers_o.value) - begin
        begin += beats
        scoreboard.compare(len(item.beats), beats, f"beats, {about}")
        scoreboard.compare(beats - 1, int(dut.last_o.value), f"cycles from the first to the last, {about}")
        scoreboard.compare(LATENCIES["plain"] + cols - 1, tail, f"cycles from the last beat to the last word, {about}")

    for kind, latency in LATENCIES.items():
        sizes = Sizes(columns=cols, blocks=1, channels=2, pixels=2 if kind == "max" else 1)
        if kind == "TABLE":  # the first blocks wait for the table
            sizes = Sizes(columns=cols, blocks=32, channels=8, pixels=1)
        drawn = "operation" if kind in operations.RIDING else kind
        item = draw_pass(tb.rng, drawn, cols, f"latency of {kind}", sizes, pool="plain", operation=kind)
        words = {"average": len(item.words), "max": cols // 2}.get(kind, cols)  # that leave after the last beat
        scoreboard.compare(latency + words - 1, await run(item), f"cycles to the last word, {kind}")
    await tb.finish(scoreboard, beats=begin)


@cocotb.test()
async def elementwise(dut):
    """Vector passes at full speed: cycles from the first word to the last of each operation; large windows."""
    bench = PpuBench(dut)
    tb, scoreboard = bench.tb, bench.scoreboard
    await tb.reset()
    for name in operations.ALL:
        for window in (*WINDOW_SIZES, LARGEST) if name == "SUM" else WINDOW_SIZES if "WINDOW" in name else (0,):
            size = max(window, 64)
            item = draw_elementwise(tb.rng, f"{name}, windows of {window}", name, size, window)
            begin = int(dut.transfers_o.value)
            bench.queue([item])
            await bench.request([item])
            await tb.until(lambda: scoreboard.done, f"the words of {name}", limit=4 * size + 1000)
            await ClockCycles(tb.clock, 2)
            scoreboard.compare(size, int(dut.transfers_o.value) - begin, f"transfers of the first operand of {name}")
            scoreboard.compare(
                size - 1,
                int(dut.last_o.value),
                f"cycles from the first transfer of the first operand to the last, {name}",
            )
            scoreboard.compare(
                WINDOW_LATENCY if window else WORD_LATENCIES.get(name, WORD_LATENCY),
                int(dut.tail_o.value),
                f"cycles from the last transfer of the first operand to the last word, {name}",
            )
    await tb.finish(scoreboard)
