# SPDX-License-Identifier: Apache-2.0
"""cocotb tests of the weight decoder; bench.py lists them. The golden decoder shares no code with the encoder."""

from dataclasses import dataclass

import cocotb
import numpy as np
from cocotb.triggers import ClockCycles

from eyrie.compiler.codes import choice
from eyrie.compiler.codes.encode import encode
from eyrie.model.weight_codes import TABLE_WORDS, CodeError, WeightCode, WeightDecoder, in_beats
from eyrie.testing.samples import scaled
from tb.common.bench import Testbench
from tb.common.scoreboard import Scoreboard
from tb.common.streams import ReadySink, StreamDriver, StreamMonitor
from tb.common.weights import bitmask, draw_weights, packed

CODES, CHUNKS = 60, 20  # chunks of each code
MOST_CHUNKS = 6  # of a chain
MOST_WORDS = 40
START = 8  # cycles of a chunk beside its beats, or its steps: the first units, the end, the next start


@dataclass(frozen=True)
class Chunk:
    """A coded chunk: uint64 words, the words that it becomes, and whether it begins a chain, with a table."""

    coded: np.ndarray
    words: int
    begins: bool


class Bench:
    """The decoder, its streams, and what leaves it."""

    def __init__(self, dut) -> None:
        self.tb = Testbench(dut)
        self.beat_words = len(dut.in_data_i) // 64
        self.scoreboard = Scoreboard("weight decoder")
        self.start = StreamDriver(self.tb, "start", ("words", "table"))
        self.source = StreamDriver(self.tb, "in", ("data", "last"))
        self.sink = ReadySink(self.tb, "out")
        self.beats, self.taken = 0, StreamMonitor(self.tb, "in", ("data", "last")).stats
        StreamMonitor(self.tb, "out", ("data", "single", "last"), self._on_words)

    def _on_words(self, item: dict) -> None:
        used = (1 << 64) - 1 if item["single"] else -1
        self.scoreboard.observe(item | {"data": item["data"] & used})

    def pace(self) -> None:
        """Draw how often beats are late and words are held up."""
        rng = self.tb.rng
        self.source.idle = float(rng.choice([0, 0.3, 0.8]))
        self.start.idle = float(rng.choice([0, 0.5]))
        self.sink.pace(float(rng.choice([0, 0.3, 0.8])))

    def expect(self, weights: np.ndarray, words: int, about: str) -> None:
        """Expect the words of decoded weights, of a chunk that becomes `words`."""
        found = weights.view("<u8").tolist()
        for first in range(0, len(found), 2):
            pair, last = found[first : first + 2], first + 2 >= words
            data = sum(word << 64 * n for n, word in enumerate(pair))
            self.scoreboard.expect({"data": data, "single": len(pair) == 1, "last": last}, about)

    def send(self, chunk: Chunk) -> None:
        """Queue the beats of a chunk, and its start."""
        beats = chunk.coded.reshape(-1, self.beat_words).tolist()
        for n, beat in enumerate(beats, 1):
            self.source.append({"data": sum(word << 64 * w for w, word in enumerate(beat)), "last": n == len(beats)})
        self.start.append({"words": chunk.words, "table": chunk.begins})
        self.beats += len(beats)

    @property
    def ended(self) -> bool:
        """Return whether all beats are taken, all words given, and the decoder is ready for a chunk or has stopped."""
        idle = bool(self.tb.dut.start_ready_o.value) or bool(self.tb.dut.error_o.value)
        return idle and self.taken.received_transactions == self.beats and self.scoreboard.done


def draw_code(rng: np.random.Generator) -> tuple[np.ndarray, WeightCode]:
    """Draw weights and a code that has all of them."""
    weights = draw_weights(rng, CHUNKS * MOST_WORDS)
    code = rng.choice([choice.best, choice.best, packed, bitmask])
    return weights, code(weights)


def chain(bench: Bench, weights: np.ndarray, code: WeightCode, table: np.ndarray) -> list[Chunk]:
    """Return chunks of drawn lengths, a chain; a chain of one if a chunk is too short."""
    lengths = bench.tb.rng.integers(1, MOST_WORDS + 1, bench.tb.rng.integers(1, MOST_CHUNKS + 1)).tolist()
    parts = np.split(weights, 8 * np.cumsum(lengths))[:-1]
    coded = encode(code, parts, bench.beat_words)
    if not coded:
        coded = encode(code, parts[:1], bench.beat_words)
    assert coded
    coded[0] = np.concatenate([in_beats(table, bench.beat_words), coded[0]])
    return [Chunk(words, length, n == 0) for n, (words, length) in enumerate(zip(coded, lengths, strict=False))]


def damaged(rng: np.random.Generator, chunk: Chunk, beat_words: int) -> Chunk:
    """Return a chunk with flipped bits, beats too few or too many, other words, or another length."""
    coded, words = chunk.coded.copy(), chunk.words
    match rng.integers(5):
        case 0:
            for _ in range(int(rng.integers(1, 4))):
                coded[rng.integers(coded.size)] ^= np.uint64(1 << int(rng.integers(64)))
        case 1:
            coded = coded[: beat_words * int(rng.integers(1, coded.size // beat_words + 1))]
        case 2:
            more = beat_words * int(rng.integers(1, 5))
            coded = np.concatenate([coded, rng.integers(0, 1 << 64, more, np.uint64)])
        case 3:
            coded = rng.integers(0, 1 << 64, coded.size, np.uint64)
        case _:
            words = int(rng.integers(1, 2 * words + 2))
    return Chunk(coded, words, chunk.begins)


@cocotb.test()
async def decodes(dut) -> None:
    """Chunks become their weights at any pace; without pauses, 16 weights or a beat a cycle."""
    bench = Bench(dut)
    await bench.tb.reset()
    for number in range(scaled(CODES)):
        weights, code = draw_code(bench.tb.rng)
        full = number % 4 == 0
        if full:
            bench.source.idle = bench.start.idle = 0
            bench.sink.pace(0)
        else:
            bench.pace()
        begun, least, at = bench.tb.cycles, 0, 0
        decoder = WeightDecoder(bench.beat_words)
        while at <= (CHUNKS - MOST_CHUNKS) * MOST_WORDS:
            for chunk in chain(bench, weights[8 * at :], code, code.table):
                golden = decoder.decode(chunk.coded, chunk.words, chunk.begins)
                np.testing.assert_array_equal(golden, weights[8 * at :][: 8 * chunk.words])
                bench.expect(golden, chunk.words, f"code {number}, {chunk.words} words")
                bench.send(chunk)
                at += chunk.words
                least += START + max(-(-chunk.words // 2), 2 * chunk.coded.size // bench.beat_words)
        await bench.tb.until(lambda: bench.scoreboard.done, f"the chunks of code {number}", step=1)
        if full:
            took = bench.tb.cycles - begun
            assert took <= least, f"code {number}: {took} cycles, {least} at most"
        await ClockCycles(bench.tb.clock, 4)
        assert not dut.error_o.value
    await bench.tb.finish(bench.scoreboard)


@cocotb.test()
async def stops(dut) -> None:
    """Damaged chunks, and chunks of any code, become the words of the golden decoder, or end in an error."""
    bench, verdicts = Bench(dut), Scoreboard("errors")
    rng, seen = bench.tb.rng, set[bool]()
    for number in range(scaled(CODES * CHUNKS)):
        weights, code = draw_code(rng)
        table = code.table if rng.random() < 0.7 else rng.integers(0, 1 << 64, TABLE_WORDS, np.uint64)
        await bench.tb.reset()
        bench.pace()
        decoder, failed = WeightDecoder(bench.beat_words), False
        chunks = chain(bench, weights, code, table)
        bad = int(rng.integers(len(chunks)))
        chunks[bad] = damaged(rng, chunks[bad], bench.beat_words)
        first = int(rng.random() < 0.1)  # without the beginning of the chain, with the decoder as after a reset
        for place, chunk in enumerate(chunks[first:], first):
            about = f"code {number}, chunk {place}, {chunk.coded.size} words to {chunk.words}"
            try:
                decoded = decoder.decode(chunk.coded, chunk.words, chunk.begins)
            except CodeError as error:
                decoded, failed = error.decoded, True
            bench.expect(decoded, chunk.words, about)
            bench.send(chunk)
            await bench.tb.until(lambda: bench.ended, about, step=1)
            await ClockCycles(bench.tb.clock, 4)
            verdicts.compare(failed, bool(dut.error_o.value), about)
            seen.add(failed)
            if failed:
                break
    assert seen == {False, True}
    await bench.tb.finish(bench.scoreboard, verdicts)
