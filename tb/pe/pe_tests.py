# SPDX-License-Identifier: Apache-2.0
"""A PE alone: random passes of one mode, each stream at its own pace."""

from collections import deque
from dataclasses import replace
from enum import IntEnum

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge

from eyrie.model.encoding import ArrayMode
from tb.common.bench import Testbench
from tb.common.scoreboard import Scoreboard
from tb.common.streams import ReadySink, StreamDriver, StreamMonitor
from tb.pe import reference as ref

ROW = 1  # of the wrapper's PE
SETTLED = 2000  # cycles after which a PE that lacks something has used all that it has
BEHIND = 4  # cycles after which a PE says that it is behind the pending pass

Wait = IntEnum("Wait", "NONE IFMAP WORDS FILTER PSUM PASS", start=0)  # pe_wait_e
WAITS = (  # a mode, the operand that is missing or the psums that may not leave, and the reason
    (ArrayMode.CONVOLUTION, "ifmap", Wait.IFMAP),
    (ArrayMode.CONVOLUTION, "filter", Wait.FILTER),
    (ArrayMode.CONVOLUTION, "out", Wait.PSUM),
    (ArrayMode.POINTWISE, "ifmap", Wait.WORDS),
    (ArrayMode.POINTWISE, "filter", Wait.FILTER),
    (ArrayMode.POINTWISE, "out", Wait.PSUM),
    (ArrayMode.FUSED, "ifmap", Wait.IFMAP),
    (ArrayMode.FUSED, "word", Wait.WORDS),
    (ArrayMode.FUSED, "filter", Wait.FILTER),
    (ArrayMode.DEPTHWISE, "ifmap", Wait.IFMAP),
)

FIELDS = {
    "ifmap": ("phase", "lanes", "to_pixels", "data"),
    "filter": ("phase", "lanes", "data"),
    "tap": ("phase", "data"),
    "word": ("data",),
    "chain": ("control", "sums"),
}


class PeBench:
    """Drivers by stream name, sinks, scoreboards."""

    def __init__(self, tb: Testbench) -> None:
        self.tb, self.rng = tb, tb.rng
        self.drivers = {name: StreamDriver(tb, name, fields) for name, fields in FIELDS.items()}
        self.sinks = [ReadySink(tb, "sums"), ReadySink(tb, "out")]
        self.sums, self.chain = Scoreboard("depthwise sums"), Scoreboard("column adder chain")
        StreamMonitor(tb, "sums", ("sums",), callback=self.sums.observe)
        StreamMonitor(tb, "out", ("control", "sums"), callback=self.chain.observe)
        self.activity = ref.Activity()
        self.held: str | None = None  # the stream that waits for release()
        self._kept: list[dict[str, int]] = []
        self.pass_phase = 0
        tb.dut.pass_phase_i.value = 0
        self._due = 0  # depthwise sums of the passes so far
        self._made: deque[tuple[int, list[int]]] = deque()
        cocotb.start_soon(self._play_super())

    async def _play_super(self) -> None:
        """Send a word only after the depthwise sums it is made of."""
        edge = RisingEdge(self.tb.clock)
        while True:
            await edge
            while self.held != "word" and self._made and self.sums.comparisons >= self._made[0][0]:
                self.drivers["word"].extend(self._made.popleft()[1])

    def paces(self) -> None:
        """One stream or sink in three is slow."""
        for driver in self.drivers.values():
            driver.idle = float(self.rng.random() * 0.8) if self.rng.random() < 0.3 else 0.0
        for sink in self.sinks:
            sink.pace(float(self.rng.random() * 0.8) if self.rng.random() < 0.3 else 0.0)

    def request(self, shape: ref.Shape, enable: bool) -> None:
        dut = self.tb.dut
        dut.cfg_shape_i.value, dut.cfg_loops_i.value = shape.config()
        dut.enable_i.value = int(enable)
        self.pass_phase ^= 1
        dut.pass_phase_i.value = self.pass_phase

    async def taken(self, shape: ref.Shape) -> None:
        """Waits until the pending pass is taken; nothing may look at the configuration later."""
        dut = self.tb.dut
        await RisingEdge(self.tb.clock)
        taken = lambda: dut.pass_phase_o.value == self.pass_phase  # noqa: E731
        await self.tb.until(taken, f"the PE to take {shape}", step=1)
        dut.cfg_shape_i.value = dut.cfg_loops_i.value = (1 << 64) - 1

    def send(self, shape: ref.Shape, zeros: float, about: str) -> None:
        """Queues all operands of the pending pass, and what has to come out."""
        rng, drivers = self.rng, self.drivers
        operands = ref.draw_operands(rng, shape, zeros)

        def feed(name: str, beats: list[dict[str, int]]) -> None:
            beats = [{"phase": self.pass_phase, **beat} for beat in beats]
            (self._kept if name == self.held else drivers[name]).extend(beats)

        if operands.ifmap is not None:
            feed("ifmap", ref.ifmap_beats(rng, operands.ifmap, False))
        if operands.filters is not None:
            feed("filter", ref.filter_beats(rng, operands.filters, self.tb.config.filter_lanes))
        if shape.mode == ArrayMode.POINTWISE:
            feed("ifmap", ref.ifmap_beats(rng, operands.pixels, True))
        elif shape.mode == ArrayMode.FUSED:
            at = {group: n for n, group in enumerate(shape.groups_of_words)}
            for (o, _, i, g), values in zip(shape.groups_of_sums, ref.pixels_of(shape, operands)):
                self._made.append((self._due + (at[o, i, g] + 1) * shape.pixels, ref.words(values)))
        if shape.depthwise:
            feed("tap", [{"data": word} for word in ref.words(operands.taps)])
            own = ref.depthwise_sums(shape, operands, self.activity)
            self._due += own.shape[0] * own.shape[1]
            self.sums.expect_all(ref.pack_dw(own), about)
        if shape.sums:
            chain = ref.Chain()
            chain.tiles(rng, ROW, ref.partial_sums(shape, operands, self.activity))
            drivers["chain"].extend(chain.beats)
            self.chain.expect_all(chain.results, about)

    def state(self) -> tuple[int, int]:
        """Return the reason for which the PE waits, and whether it is behind the pending pass."""
        return int(self.tb.dut.waits_o.value), int(self.tb.dut.behind_o.value)

    def release(self) -> None:
        """Send what the stream `held` has kept."""
        if self._kept:
            self.drivers[self.held].extend(self._kept)
        self.held, self._kept = None, []


@cocotb.test()
async def runs_passes(dut) -> None:
    """Passes of the bench's modes; some leave the PE out."""
    tb = Testbench(dut)
    bench = PeBench(tb)
    counts = Scoreboard("activity")
    zeros = tb.arguments.get("zeros", 0.1)
    await tb.reset()
    for n in range(tb.arguments.get("passes", 10)):
        mode = ArrayMode[str(tb.rng.choice(tb.arguments["modes"]))]
        shape = ref.draw_shape(tb.rng, mode, tb.config, ROW)
        bench.paces()
        enable = tb.rng.random() < 0.85
        bench.request(shape, enable)
        if enable:
            bench.send(shape, zeros, f"pass {n}, {shape}")
        await bench.taken(shape)
    used = [scoreboard for scoreboard in (bench.sums, bench.chain) if not scoreboard.done or scoreboard.comparisons]
    await tb.until(lambda: all(scoreboard.done for scoreboard in used), "the sums")
    counts.compare(0, int(dut.overrun_o.value), "overrun words")
    counts.compare(bench.activity.macs, int(dut.macs_o.value), "multiplications")
    counts.compare(bench.activity.zero_skipped, int(dut.zero_skipped_o.value), "zero-skipped MACs")
    await tb.finish(*used, counts, macs=bench.activity.macs, zero_skipped=bench.activity.zero_skipped)


@cocotb.test()
async def tells_why_it_waits(dut) -> None:
    """A PE without one of its operands, or without room for psums, names it until it comes, and says that it is behind
    the pending pass."""
    tb = Testbench(dut)
    bench, reasons = PeBench(tb), Scoreboard("reasons")
    await tb.reset()
    await ClockCycles(tb.clock, SETTLED)
    reasons.compare((Wait.PASS, 0), bench.state(), "no pass")
    for n, (mode, missing, reason) in enumerate(2 * WAITS):
        shape = ref.draw_shape(tb.rng, mode, tb.config, ROW)
        shape = replace(shape, outer=2, inner=2, tiles=2 if shape.sums else 1)  # more psums than have room
        about = f"pass {n}, {shape}, without {missing}"
        bench.held = missing
        bench.sinks[1].pace(float(missing == "out"))
        bench.request(shape, True)
        bench.send(shape, 0.1, about)
        await bench.taken(shape)
        await ClockCycles(tb.clock, SETTLED)
        for _ in range(8):
            await ClockCycles(tb.clock, 1)
            reasons.compare((reason, 0), bench.state(), about)
        bench.request(shape, False)  # a pass that leaves the PE out
        await ClockCycles(tb.clock, BEHIND)
        reasons.compare((reason, 1), bench.state(), f"{about}, behind the next")
        bench.release()
        bench.sinks[1].pace(0)
        await bench.taken(shape)
        await tb.until(lambda: bench.sums.done and bench.chain.done, "the sums")
    await tb.finish(reasons, bench.sums, bench.chain)
