# SPDX-License-Identifier: Apache-2.0
"""Which descriptors the accelerator runs: the RTL's rules and the model's give the same verdict; bench.py lists it."""

from functools import partial

import cocotb
import numpy as np
from cocotb.triggers import ClockCycles, FallingEdge

from eyrie.model import encoding as enc
from eyrie.model.config import AcceleratorConfig
from eyrie.model.descriptor import Descriptor
from eyrie.model.encoding import Stream
from eyrie.model.legality import broken_rule
from eyrie.testing import elementwise_layers, layers
from eyrie.testing import ppu_operations as operations
from tb.common.bench import Testbench
from tb.common.scoreboard import Scoreboard

OPTIONS = [enc.STREAMS_INDEX + stream * enc.STREAM_WORDS + enc.STREAM_OPTIONS_OFFSET for stream in Stream]
FORMATS = {
    enc.ARRAY_SHAPE_INDEX: enc.ARRAY_SHAPE,
    enc.ARRAY_LOOPS_INDEX: enc.ARRAY_LOOPS,
    enc.DEPTHWISE_INDEX: enc.DEPTHWISE,
    enc.DRAIN_INDEX: enc.DRAIN,
    enc.PPU_INDEX: enc.PPU,
    enc.PPU_FIRST_INDEX: enc.PPU_FIRST,
    enc.PPU_SECOND_INDEX: enc.PPU_SECOND,
    enc.PPU_RESULT_INDEX: enc.PPU_RESULT,
    OPTIONS[Stream.IFMAP]: enc.STREAM_OPTIONS,
}
CLEAR_CYCLES = 80  # until the descriptor takes words
MUTANTS = 3000


def legal(rng: np.random.Generator, config: AcceleratorConfig) -> list[Descriptor]:
    """Descriptors of passes of every kind that the accelerator has."""
    draws = [
        partial(layers.separable, rng, kind, (20, 30, 6, 7), config=config)
        for kind in ("fused", "pointwise", "depthwise")
    ]
    draws += [
        partial(
            layers.convolution,
            rng,
            dict(e=e, p=4, q=4, r=r, t=t),
            8,
            config=config,
            has={"ipsum", *(["packed"] if packed else [])},
        )
        for e, r, t, packed in ((8, 1, 2, False), (8, 2, 1, False), (2, 1, 1, False), (8, 1, 2, True))
    ]
    draws += [
        lambda name=name: elementwise_layers.operated(rng, name, layers.int8(rng, 3, 4, 16), config)[0]
        for name in operations.ALL
    ]
    made = []
    for draw in draws:
        try:
            made.append(draw())
        except ValueError:  # too much for this configuration
            continue
    return [case.descriptor for layer in made for case, _, _ in layer.parts]


def mutate(rng: np.random.Generator, descriptor: Descriptor) -> Descriptor:
    """One or two fields changed: to an end of its range, by one, or to anything."""
    words = list(descriptor.words)
    for _ in range(rng.integers(1, 3)):
        if rng.random() < 0.2:
            words[rng.choice(OPTIONS)] ^= enc.STREAM_OPTIONS.pack(enable=1)
            continue
        index = int(rng.choice(list(FORMATS)))
        values = FORMATS[index].unpack(words[index])
        field = FORMATS[index].fields[rng.integers(len(FORMATS[index].fields))]
        least, most = (-(1 << field.width - 1) if field.signed else 0), FORMATS[index].largest(field.name)
        choices = (
            least,
            most,
            values[field.name] - 1,
            values[field.name] + 1,
            int(rng.integers(least, most, endpoint=True)),
        )
        values[field.name] = min(max(choices[rng.integers(len(choices))], least), most)
        words[index] = FORMATS[index].pack(**values)
    return Descriptor(words)


@cocotb.test()
async def agrees_on_descriptors(dut) -> None:
    """Random changes of legal descriptors: the verdict of the RTL is the model's."""
    tb = Testbench(dut)
    scoreboard = Scoreboard("rules")
    dut.write_i.value = 0
    await tb.reset()
    await ClockCycles(tb.clock, CLEAR_CYCLES)
    originals = legal(tb.rng, tb.config)
    assert all(broken_rule(tb.config, descriptor) is None for descriptor in originals)
    verdicts: dict[str | None, int] = {}
    written = [0] * enc.CONFIG_WORDS
    for number in range(MUTANTS):
        original = originals[number % len(originals)]
        descriptor = original if number < len(originals) else mutate(tb.rng, original)
        for index in (*FORMATS, *OPTIONS):
            if descriptor.words[index] != written[index]:
                await FallingEdge(dut.clk_i)
                dut.write_i.value, dut.index_i.value, dut.data_i.value = 1, index, descriptor.words[index]
                written[index] = descriptor.words[index]
        await FallingEdge(dut.clk_i)
        dut.write_i.value = 0
        await FallingEdge(dut.clk_i)
        broken = broken_rule(tb.config, descriptor)
        scoreboard.compare(broken is not None, bool(dut.illegal_o.value), f"descriptor {number}: {broken}")
        verdicts[broken] = verdicts.get(broken, 0) + 1
    assert verdicts[None] > MUTANTS // 20 and len(verdicts) > 20, f"too few kinds of verdicts: {verdicts}"
    await tb.finish(scoreboard)
