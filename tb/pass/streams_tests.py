# SPDX-License-Identifier: Apache-2.0
"""Passes whose streams bring more or fewer words than their loops take, and tables of any bits; bench.py lists them."""

import importlib
from dataclasses import replace
from pathlib import Path

import cocotb
import numpy as np
from cocotb.triggers import First, RisingEdge, SimTimeoutError, with_timeout

from eyrie.compiler.single_layer.layer_run import Case
from eyrie.model import encoding as enc
from eyrie.model import streams
from eyrie.model.config import SET_ROWS, AcceleratorConfig
from eyrie.model.demand import MissingWords, OverrunWords
from eyrie.model.descriptor import Descriptor, StreamDescriptor
from eyrie.model.encoding import Stream
from eyrie.model.legality import broken_rule
from eyrie.model.passes import PassTrace, run_pass
from eyrie.testing import pass_layers
from eyrie.testing.samples import scaled
from tb.common.bench import PERIOD_NS, Testbench
from tb.common.scoreboard import Scoreboard

pass_tests = importlib.import_module("tb.pass.pass_tests")

MOST_POSITIONS = 1 << 14  # of a stream
MOST_WORDS = 4000  # of a case's GLB
FEWEST = 24  # passes, and so many more as a kind of verdict takes that is not found yet
MOST = 2000


def small_case(rng: np.random.Generator, config: AcceleratorConfig, number: int) -> tuple[Case, str]:
    """A pass of one kind after the other, of few words."""
    kinds = [kind for kind in (*pass_layers.KINDS, *pass_layers.FINISHES) if not pass_layers.why_not(kind, config)]
    kind = kinds[number % len(kinds)]
    while True:
        layer, about = pass_layers.draw(rng, kind, config)
        case = layer.parts[0][0]
        if len(case.glb) <= MOST_WORDS:
            return case, about


def change_stream(rng: np.random.Generator, program: StreamDescriptor, loop: bool) -> tuple[StreamDescriptor, str]:
    """A stream with one more or one less iteration of a loop, or, unless `loop`, other tags, ends of rows, pixels
    packed or not, a circular buffer that may not contain its addresses, tags that wrap anywhere, or another axis."""
    levels, n = list(program.levels), int(rng.integers(enc.LEVELS))
    kind = (
        "count"
        if loop
        else str(rng.choice(["count", "count", "tag", "odd_words", "packed_pixels", "ring", "tag_wrap", "axis"]))
    )
    if kind == "count":
        count = max(1, levels[n].count + int(rng.choice([-1, 1, 1, 2])))
        levels[n] = replace(levels[n], count=count)
    elif kind == "tag":
        levels[n] = replace(levels[n], tag=(levels[n].tag + int(rng.choice([1, 1 << 6]))) % (1 << 11))
    elif kind == "axis":
        levels[n] = replace(levels[n], axis=int(rng.integers(4)))
    elif kind == "ring":
        end = max(1, program.address["row_address"] + int(rng.integers(-100, 200)))
        ring = {"ring_end": end, "ring_size": int(rng.integers(1, rng.choice([200, end + 200, 1 << 16])))}
        return replace(program, address=program.address | ring), kind
    elif kind == "tag_wrap":
        return replace(program, range=program.range | {"tag_wrap": int(rng.integers(1, 1 << 11))}), kind
    else:
        return replace(program, options=program.options | {kind: 1 - program.options[kind]}), kind
    return replace(program, levels=tuple(levels)), f"{kind} of level {n}"


def set_stream(descriptor: Descriptor, stream: Stream, program: StreamDescriptor) -> Descriptor:
    """The descriptor with other loops and options of a stream, which `Descriptor.set_stream` might reject."""
    changed = Descriptor(descriptor.words)
    base = enc.STREAMS_INDEX + stream * enc.STREAM_WORDS
    options = program.options | {"level_pairs": enc.LEVELS // 2 - 1}  # any of them may be used
    changed.set(base + enc.STREAM_OPTIONS_OFFSET, enc.STREAM_OPTIONS, **options)
    changed.set(base + enc.STREAM_RANGE_OFFSET, enc.STREAM_RANGE, **program.range)
    address = {name: value for name, value in program.address.items() if name != "ring_end"}
    last = program.address["ring_end"] - 1 if program.address["ring_size"] else 0
    changed.set(base + enc.STREAM_ADDRESS_OFFSET, enc.STREAM_ADDRESS, **address, ring_last=last)
    for n, level in enumerate(program.levels):
        fields = enc.STREAM_LEVEL.unpack(changed.words[base + enc.STREAM_LEVELS_OFFSET + n])
        changed.set(
            base + enc.STREAM_LEVELS_OFFSET + n,
            enc.STREAM_LEVEL,
            **fields | {"last": level.count - 1, "tag": level.tag, "axis": int(level.axis)},
        )
    return changed


def mutate(rng: np.random.Generator, config: AcceleratorConfig, case: Case) -> tuple[Case, str]:
    """A case with one stream changed, which the rules do not reject."""
    used = [stream for stream in Stream if case.descriptor.uses(stream)]
    while True:
        stream = used[rng.integers(len(used))]
        program, what = change_stream(rng, case.descriptor.stream(stream), stream == Stream.OFMAP)
        descriptor = set_stream(case.descriptor, stream, program)
        if program.length > MOST_POSITIONS or broken_rule(config, descriptor) is not None:
            continue
        if what.split()[0] not in ("ring", "axis") or not reads_results(case.descriptor, descriptor.stream(stream)):
            return replace(case, descriptor=descriptor), f"{stream.name}: {what}"


def reads_results(descriptor: Descriptor, program: StreamDescriptor) -> bool:
    """Return whether a stream reads words beside words that the pass writes. Then the order of both matters."""
    written = streams.positions(descriptor.stream(Stream.OFMAP)).address
    read = streams.positions(program).address
    return bool(np.isin(np.add.outer(read, [-1, 0, 1]), np.add.outer(written, [-1, 0, 1])).any())


async def run(tb: Testbench, case: Case) -> tuple[bool, bool, np.ndarray | None]:
    """Whether the pass ended, whether words were left over, and the GLB afterwards if it ended; resets the
    accelerator."""
    dut, glb = tb.dut, case.glb
    pass_tests.write_hex("image.hex", glb)
    pass_tests.write_hex("config.hex", case.descriptor.words)
    dut.words_i.value = len(glb)
    dut.start_i.value = 1
    limit = 4 * len(glb) + pass_tests.most_cycles(tb.config, case.descriptor)
    try:
        await with_timeout(First(RisingEdge(dut.stopped_o)), limit * PERIOD_NS, "ns")
    except SimTimeoutError:
        raise AssertionError(f"neither an end nor a hang within {limit} cycles") from None
    ended, overrun = bool(dut.done_o.value), bool(dut.overrun_o.value)
    dut.start_i.value = 0
    await tb.reset()
    if not ended:
        return ended, overrun, None
    words = Path("dump.hex").read_text().split()
    return ended, overrun, np.array([int(word, 16) for word in words], np.uint64)


def expected(config: AcceleratorConfig, case: Case, glb: np.ndarray) -> PassTrace | Exception:
    """What the model makes of a pass, `glb` being the GLB before and after it; IndexError: it reaches beyond its
    case."""
    try:
        return run_pass(config, case.descriptor, glb)
    except (MissingWords, OverrunWords, IndexError) as error:
        return error


@cocotb.test()
async def stops_wrong_streams(dut) -> None:
    """Changed streams: the pass does what the model does, or does not end, or stops since words are left over."""
    tb, scoreboard = Testbench(dut), Scoreboard("streams")
    dut.start_i.value, dut.stall_i.value = 0, 0
    await tb.reset()
    verdicts = {"right": 0, "overrun": 0, "overrun, hangs": 0, "missing": 0, "missing, overrun": 0}
    least = scaled(tb.arguments["passes"], least=FEWEST)
    for number in range(MOST):
        if number >= least and verdicts["overrun"] and verdicts["missing"]:
            break
        case, about = small_case(tb.rng, tb.config, number)
        case, change = mutate(tb.rng, tb.config, case)
        glb = case.glb.copy()
        model = expected(tb.config, case, glb)
        if isinstance(model, IndexError):
            continue
        dut._log.info("pass %d: %s, %s: %s", number, about, change, model if isinstance(model, Exception) else "right")
        ended, overrun, after = await run(tb, case)
        about = f"pass {number} ({about}), {change}"
        if isinstance(model, PassTrace):
            scoreboard.compare((True, False), (ended, overrun), f"{about}: ended, words left over")
            scoreboard.compare(glb.tolist(), [] if after is None else after.tolist(), f"{about}: GLB")
            verdict = "right"
        elif isinstance(model, OverrunWords):
            scoreboard.compare(False, ended and not overrun, f"{about}: ended in spite of {model}")
            verdict = "overrun" if overrun else "overrun, hangs"  # the words left over were in others' way
        else:
            scoreboard.compare(False, ended and not overrun, f"{about}: ended in spite of {model}")
            verdict = "missing, overrun" if overrun else "missing"
        verdicts[verdict] += 1
    assert verdicts["overrun"] and verdicts["missing"], f"too few kinds of verdicts: {verdicts}"
    await tb.finish(scoreboard, **{name.replace(", ", "_"): count for name, count in verdicts.items()})


def any_tables(rng: np.random.Generator, case: Case) -> Case:
    """A case with random bits in all its quantisation parameters."""
    glb = case.glb.copy()
    for stream in (Stream.DEPTHWISE, Stream.PARAMETERS):
        if case.descriptor.uses(stream):
            at = streams.positions(case.descriptor.stream(stream))
            rows = at.tag >> 6 & 0xF
            words = np.unique(at.address[rows >= SET_ROWS] if stream == Stream.DEPTHWISE else at.address)
            glb[words] = rng.integers(0, 1 << 64, len(words), np.uint64)
    return replace(case, glb=glb)


@cocotb.test()
async def takes_any_table(dut) -> None:
    """Tables of random bits: the GLB afterwards is the model's."""
    tb, scoreboard = Testbench(dut), Scoreboard("tables")
    dut.start_i.value, dut.stall_i.value = 0, 0
    await tb.reset()
    for number in range(scaled(tb.arguments["passes"])):
        case, about = small_case(tb.rng, tb.config, number)
        case = any_tables(tb.rng, case)
        glb = case.glb.copy()
        run_pass(tb.config, case.descriptor, glb)
        ended, overrun, after = await run(tb, case)
        scoreboard.compare((True, False), (ended, overrun), f"pass {number} ({about}): ended, words left over")
        scoreboard.compare(glb.tolist(), [] if after is None else after.tolist(), f"pass {number} ({about}): GLB")
    await tb.finish(scoreboard)
