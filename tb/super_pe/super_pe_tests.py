# SPDX-License-Identifier: Apache-2.0
"""A SUPER PE alone: its PE's sums, the depthwise words it makes, keeps and sends."""

from dataclasses import replace

import cocotb
import numpy as np
from cocotb.triggers import RisingEdge

from eyrie.compiler.target.packing import pack_tables
from eyrie.model import encoding as enc
from eyrie.model.arithmetic import multiply_by_quantized_multiplier, wrap_int32
from eyrie.model.config import AcceleratorConfig
from eyrie.model.encoding import ArrayMode
from tb.common.bench import Testbench
from tb.common.scoreboard import Scoreboard
from tb.common.streams import ReadySink, StreamDriver, StreamMonitor
from tb.pe import reference as ref

ROW = 2  # of the SUPER in its set
FIELDS = {
    "ifmap": ("phase", "lanes", "to_pixels", "data"),
    "filter": ("phase", "lanes", "data"),
    "tap": ("phase", "data"),
    "parameters": ("phase", "data", "half"),
    "above": ("sums",),
    "chain": ("control", "sums"),
}


def finish_words(rng: np.random.Generator, sums: np.ndarray) -> tuple[np.ndarray, list[dict[str, int]], int]:
    """Requantises depthwise sums, int64 [groups, pixels, 4], with random tables.

    Returns int8 words of that shape, the table beats, the configuration word.
    """
    groups = len(sums)
    bias = rng.integers(-(1 << 14), 1 << 14, (groups, 8))
    multiplier = rng.integers(1 << 30, 1 << 31, (groups, 8))
    shift = rng.integers(-12, -6, (groups, 8))
    low, high = -128, 127
    if rng.random() < 0.3:
        low, high = sorted(rng.choice(np.arange(-128, 128), 2, replace=False).tolist())
    zero_point = int(rng.integers(-128, 128))
    words, beats = np.empty(sums.shape, np.int8), []
    for group in range(groups):
        half = int(rng.integers(2))
        mine = slice(4 * half, 4 * half + 4)
        scaled = multiply_by_quantized_multiplier(
            wrap_int32(sums[group] + bias[group, mine]), multiplier[group, mine], shift[group, mine]
        )
        words[group] = np.clip(scaled + zero_point, low, high)
        packed = pack_tables(bias[group], multiplier[group], shift[group])[0]
        beats += [{"data": int(word), "half": half} for word in packed]
    return words, beats, enc.DEPTHWISE.pack(zero_point=zero_point, act_min=low, act_max=high)


def draw_shape(rng: np.random.Generator, mode: ArrayMode, accelerator: AcceleratorConfig) -> ref.Shape:
    """A pass whose words fit the word buffer, at times just so."""
    shape = ref.draw_shape(rng, mode, accelerator, ROW, max_filters=12)
    if rng.random() < 0.2:
        shape = replace(
            shape, outer=1, tiles=min(shape.tiles, 2), row_filters=tuple(min(count, 4) for count in shape.row_filters)
        )
        groups = accelerator.word_buffer_words // (shape.inner * shape.pixels)
        return replace(shape, groups=groups)
    return shape


class SuperBench:
    """Drivers by stream name, sinks, scoreboards."""

    def __init__(self, tb: Testbench) -> None:
        self.tb, self.rng = tb, tb.rng
        self.drivers = {name: StreamDriver(tb, name, fields) for name, fields in FIELDS.items()}
        self.sinks = [ReadySink(tb, name) for name in ("top", "middle", "out")]
        self.scoreboards = {name: Scoreboard(name) for name in ("top", "middle", "out")}
        for name in ("top", "middle"):
            StreamMonitor(tb, name, callback=self.scoreboards[name].observe)
        StreamMonitor(tb, "out", ("control", "sums"), callback=self.scoreboards["out"].observe)
        self.activity = ref.Activity()
        self.pass_phase = 0
        self.beats: list[tuple[str, dict[str, int]]] = []  # of the next pass: stream, fields
        tb.dut.pass_phase_i.value = 0

    def paces(self) -> None:
        for driver in self.drivers.values():
            driver.idle = float(self.rng.random() * 0.8) if self.rng.random() < 0.3 else 0.0
        for sink in self.sinks:
            sink.pace(float(self.rng.random() * 0.8) if self.rng.random() < 0.3 else 0.0)

    async def request(self, shape: ref.Shape, depthwise: int, enable: bool) -> None:
        """Offers a pass with the words drawn for it, and waits until both halves of the SUPER have taken it."""
        dut, edge = self.tb.dut, RisingEdge(self.tb.clock)
        dut.cfg_shape_i.value, dut.cfg_loops_i.value = shape.config()
        dut.cfg_depthwise_i.value = depthwise
        dut.enable_i.value = int(enable)
        self.pass_phase ^= 1
        dut.pass_phase_i.value = self.pass_phase
        for name, beat in self.beats:
            self.drivers[name].append({"phase": self.pass_phase, **beat})
        self.beats.clear()
        await edge
        taken = lambda: int(dut.pass_phase_o.value) == 3 * self.pass_phase  # noqa: E731
        await self.tb.until(taken, f"the SUPER to take {shape}", step=1)
        for port in (dut.cfg_shape_i, dut.cfg_loops_i, dut.cfg_depthwise_i):
            port.value = (1 << 64) - 1

    def draw(self, shape: ref.Shape, about: str) -> int:
        """Draws a pass's operands and queues expectations; returns its depthwise configuration word."""
        rng, drivers, depthwise = self.rng, self.drivers, 0
        operands = ref.draw_operands(rng, shape, 0.1)
        chain = ref.Chain()

        def feed(name: str, beats: list[dict[str, int]]) -> None:
            self.beats += [(name, beat) for beat in beats]

        if operands.ifmap is not None:
            feed("ifmap", ref.ifmap_beats(rng, operands.ifmap, False))
        if shape.mode == ArrayMode.POINTWISE:
            feed("ifmap", ref.ifmap_beats(rng, operands.pixels, True))
        if shape.depthwise:
            feed("tap", [{"data": word} for word in ref.words(operands.taps)])
            own = ref.depthwise_sums(shape, operands, self.activity)
            most = 2 * shape.bands * shape.taps * 255 * 255  # of two rows
            above = rng.integers(-most, most, own.shape, endpoint=True)
            above = np.where(rng.random(own.shape) < 0.2, np.sign(own) * most, above)
            drivers["above"].extend(ref.pack_dw(above))
            operands.pixels, table, depthwise = finish_words(rng, above + own)
            feed("parameters", table)
        if shape.mode == ArrayMode.DEPTHWISE:
            for word in ref.words(operands.pixels):
                while rng.random() < 0.2:
                    chain.beat(rng, ROW, [], 0, False)
                chain.beat(rng, ROW, [], 0, False, word, two=False)
        else:
            feed("filter", ref.filter_beats(rng, operands.filters, self.tb.config.filter_lanes))
            chain.tiles(rng, ROW, ref.partial_sums(shape, operands, self.activity))
        if shape.mode == ArrayMode.FUSED:
            for name in ("top", "middle"):
                self.scoreboards[name].expect_all(ref.words(ref.pixels_of(shape, operands)), about)
        drivers["chain"].extend(chain.beats)
        self.scoreboards["out"].expect_all(chain.results, about)
        return depthwise


@cocotb.test()
async def runs_passes(dut) -> None:
    """Passes of the bench's modes; some leave the SUPER out."""
    tb = Testbench(dut)
    bench = SuperBench(tb)
    counts = Scoreboard("activity")
    await tb.reset()
    for n in range(tb.arguments.get("passes", 8)):
        mode = ArrayMode[str(tb.rng.choice(tb.arguments["modes"]))]
        shape = draw_shape(tb.rng, mode, tb.config)
        bench.paces()
        enable, depthwise = tb.rng.random() < 0.85, 0
        if enable:
            depthwise = bench.draw(shape, f"pass {n}, {shape}")
        await bench.request(shape, depthwise, enable)
    scoreboards = [
        scoreboard for scoreboard in bench.scoreboards.values() if not scoreboard.done or scoreboard.comparisons
    ]
    await tb.until(lambda: all(scoreboard.done for scoreboard in scoreboards), "the words and sums")
    counts.compare(0, int(dut.overrun_o.value), "overrun words")
    counts.compare(bench.activity.macs, int(dut.macs_o.value), "multiplications")
    counts.compare(bench.activity.zero_skipped, int(dut.zero_skipped_o.value), "zero-skipped MACs")
    await tb.finish(*scoreboards, counts, macs=bench.activity.macs, zero_skipped=bench.activity.zero_skipped)
