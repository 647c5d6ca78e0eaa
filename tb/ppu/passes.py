# SPDX-License-Identifier: Apache-2.0
"""Random PPU passes and what comes out of them, by the golden model."""

from dataclasses import dataclass, field

import numpy as np

from eyrie.model import encoding
from eyrie.model.arithmetic import INT32_MAX, INT32_MIN, MAX_AVERAGE_COUNT, average_reciprocal, wrap_int32
from eyrie.model.encoding import PoolMode
from eyrie.model.operators.pooling import average_pool2d, max_pool2d
from eyrie.model.operators.quantization import Requantization, requantize
from eyrie.testing import ppu_operations as operations
from eyrie.testing.ppu_operations import words_of

CHANNELS = 8  # of a block
KINDS = ("plain", "average", "raw", "max", "operation", "elementwise", "dropped")
LANES = (1,), (3,), (1, 2, 3)  # of the transfers of a window, as bits
POOLS = {"average": PoolMode.AVERAGE, "max": PoolMode.MAX}
# drain_flags_t, from bit 0 upwards
PASS_LAST, TILE_LAST, PIXEL_LAST, BLOCK_LAST, CHANNEL, TO_PPU, TWO_PIXELS = 0, 1, 2, 3, 4, 7, 8


@dataclass
class Pass:
    """The stimulus of one pass, and its words (one or two, last) with where they come from."""

    ports: dict[str, int]  # configuration ports
    beats: list[dict[str, int]] = field(default_factory=list)
    elements: list[dict[str, int]] = field(default_factory=list)  # transfers of the first operand of a vector pass
    table: list[int] = field(default_factory=list)
    residual: list[int] = field(default_factory=list)
    words: list[tuple[dict[str, int], str]] = field(default_factory=list)


@dataclass(frozen=True)
class Sizes:
    """Of a pass of sums: columns in use, blocks of filters, channels of each, pixels; random where None."""

    columns: int | None = None
    blocks: int | None = None
    channels: int | None = None
    pixels: int | None = None

    def drawn(self, rng: np.random.Generator, cols: int, pool: str) -> "Sizes":
        """With columns, blocks and pixels; channels stay open where each block may have its own number."""
        columns, pixels, blocks, channels = self.columns or int(rng.integers(1, cols + 1)), self.pixels, None, None
        if pool == "average" and not pixels and rng.random() < 0.2:  # as many as can be averaged
            columns = 1 << columns.bit_length() - 1
            pixels, blocks, channels = MAX_AVERAGE_COUNT // columns, 1, int(rng.integers(1, 3))
        pixels = pixels or int(rng.choice([1, 2, 3, 4, 4, 4, 9, 32]))
        if pool == "max":
            columns, pixels = 2 * max(1, columns // 2), 2 * ((pixels + 1) // 2)
        return Sizes(columns, blocks or self.blocks or int(rng.integers(1, 7)), channels or self.channels, pixels)


def draw_pass(
    rng: np.random.Generator,
    kind: str,
    cols: int,
    name: str,
    sizes: Sizes = Sizes(),
    pool: str | None = None,
    operation: str | None = None,
    two_pixels: bool | None = None,
) -> Pass:
    """A pass of one of KINDS on an accelerator of `cols` columns.

    `pool` is the kind of the pass on whose words an operation is done, `operation` one of operations.RIDING: random if
    not given; two_pixels: at a time, where the kind has it.
    """
    if kind == "elementwise":
        return draw_elementwise(rng, name, operation)
    if kind == "operation":
        pool = pool or str(rng.choice(["plain", "plain", "average", "max", "raw"]))
        operation = operation or str(rng.choice(operations.RIDING))
    else:
        pool, operation = kind, "NONE"
    if two_pixels is None:
        two_pixels = rng.random() < 0.6
    at_a_time = 2 if two_pixels and kind in ("plain", "dropped") else 1
    sizes = sizes.drawn(rng, cols, pool)
    output = _draw_output(rng)
    at_an_end = sizes.columns * sizes.pixels == MAX_AVERAGE_COUNT and rng.random() < 0.5
    if at_an_end:  # the largest sum needs one bit more than all others
        output |= {"act_min": -128, "act_max": 127}
    pooling, span = _draw_pooling(rng, pool, sizes.columns, sizes.pixels, at_an_end)
    nothing = operations.draw_operation(rng, "NONE", np.zeros((0, CHANNELS), np.int8))
    drawn = Pass(
        {
            "cfg": encoding.PPU.pack(**output, raw=pool == "raw", **pooling),
            **nothing.ports,
            "columns": sizes.columns,
            "to_ppu": kind != "dropped",
            "elementwise": 0,
        }
    )
    made, places, together = [], [], []
    for block in range(sizes.blocks):
        last = block == sizes.blocks - 1
        words, count = _append_block(rng, drawn, last, sizes, cols, pool, span, output, at_a_time, at_an_end)
        where = (
            f"{name} ({kind}, {pool}, {operation}, {sizes.columns} columns, {sizes.pixels} pixels), "
            f"block {block} of {count} channels"
        )
        together += _together(len(places), len(words), sizes, at_a_time)
        places += [f"{where}, word {n}" for n in range(len(words))]
        made.append(words)
    if kind == "dropped":
        drawn.table = []
    else:
        _finish(drawn, operations.draw_operation(rng, operation, np.concatenate(made)), places, together)
    return drawn


def draw_elementwise(
    rng: np.random.Generator, name: str, operation: str | None = None, count: int | None = None, window: int = 0
) -> Pass:
    """A pass of `count` transfers of the first operand; operation: one of operations.ALL, of windows of `window`
    transfers, with words in one lane or in both. What is not given is random."""
    operation = operation or str(rng.choice(operations.ALL))
    count = count or int(rng.choice([1, 2, 3, 8, 40, 100]))
    of_window = np.ones(1, int)  # lanes of the transfers of a window, as bits
    if operation in operations.WINDOWS:
        of_window = rng.choice(LANES[int(rng.integers(len(LANES)))], window or int(rng.choice([1, 2, 3, 4, 9, count])))
    lanes = np.resize(of_window, count)
    there = lanes[:, None] >> np.arange(2) & 1 == 1
    values = rng.integers(-128, 128, (int(there.sum()), CHANNELS)).astype(np.int8)
    if rng.random() < 0.2:
        values[:] = rng.choice([-128, 127], CHANNELS)
    words = rng.integers(0, 1 << 64, (count, 2), np.uint64)  # of lanes that are not there, too
    words[there] = words_of(values)
    drawn = Pass({"cfg": encoding.PPU.pack(), "columns": 0, "to_ppu": 1, "elementwise": 1})
    drawn.elements = [
        {"data": int(low) | int(high) << 64, "lanes": int(lanes[n]), "last": int(n == count - 1)}
        for n, (low, high) in enumerate(words)
    ]
    operated = operations.draw_operation(rng, operation, values, int(np.bitwise_count(of_window).sum()))
    if operation in operations.WINDOWS:
        first = encoding.PPU_FIRST.unpack(operated.ports["first"]) | {"window": len(of_window)}
        operated.ports["first"] = encoding.PPU_FIRST.pack(**first)
    where = f"{name} (elementwise, {operation} of {count} transfers)"
    _finish(drawn, operated, [f"{where}, word {n}" for n in range(len(operated.words))])
    return drawn


def _append_block(rng, drawn, last, sizes, cols, pool, span, output, at_a_time, at_an_end):
    """Appends the beats and the table of a block of channels; returns its words [n, 8], and how many channels.
    at_an_end: all results are the smallest, or the largest"""
    count = sizes.channels or int(rng.choice([1, 3, 5, 7, 8, 8, 8]))
    ends = (last or rng.random() < 0.3) << TILE_LAST | last << PASS_LAST
    if pool == "raw":
        count = min(count, int(rng.choice([1, 2, 2])))
        sums = rng.integers(INT32_MIN, INT32_MAX + 1, (sizes.pixels, count, cols))
        words = _raw_words(sums[..., : sizes.columns])
    else:
        sums, values = _requantized(rng, drawn, sizes.pixels, count, cols, output, at_an_end)
        words = _pooled_words(values[:, : sizes.columns], pool, span)
    _append_beats(drawn, sums, ends, int(drawn.ports["to_ppu"]), at_a_time)
    return words, count


def _together(begin: int, words: int, sizes: Sizes, at_a_time: int) -> list[tuple[int, ...]]:
    """Numbers of the words of a block, those that leave at a time together; begin: of the first."""
    if at_a_time == 1:
        return [(begin + n,) for n in range(words)]
    return [
        tuple(begin + pixel * sizes.columns + column for pixel in range(first, min(first + 2, sizes.pixels)))
        for first in range(0, sizes.pixels, 2)
        for column in range(sizes.columns)
    ]


def _finish(
    drawn: Pass, operated: operations.Operated, places: list[str], together: list[tuple[int, ...]] | None = None
) -> None:
    """together: the words that leave at a time."""
    drawn.ports |= operated.ports
    drawn.residual, drawn.table = operated.residual, drawn.table + operated.table
    words = words_of(operated.words)
    together = [(n,) for n in range(len(words))] if together is None else together
    assert sorted(n for now in together for n in now) == list(range(len(places))) and len(words) == len(places)
    drawn.words = [
        (
            {
                "data": sum(words[n] << 64 * k for k, n in enumerate(now)),
                "two": len(now) - 1,
                "last": int(now == together[-1]),
            },
            places[now[0]],
        )
        for now in together
    ]


def _draw_output(rng: np.random.Generator) -> dict[str, int]:
    """Zero point and clamp, mostly of all that int8 holds."""
    low, high = sorted(int(v) for v in rng.integers(-128, 128, 2))
    if rng.random() < 0.6:
        low, high = -128, 127
    return {"zero_point": int(rng.integers(-128, 128)), "act_min": low, "act_max": high}


def _draw_pooling(
    rng: np.random.Generator, pool: str, columns: int, pixels: int, at_an_end: bool
) -> tuple[dict[str, int], int]:
    """Fields of the configuration word, and the columns that are averaged together."""
    fields, span = {"pool": POOLS.get(pool, PoolMode.NONE)}, columns
    if pool == "average":
        spans = [s for s in (1, 2, 4, 8) if columns % s == 0 and s < columns]
        span = columns if at_an_end else int(rng.choice([columns, *spans]))
        count = pixels * span
        reciprocal, shift = average_reciprocal(count)
        fields |= {
            "pool_count": count,
            "pool_reciprocal": reciprocal,
            "pool_shift": shift,
            "pool_columns": (span - 1).bit_length(),
        }
    return fields, span


def _requantized(rng, drawn, pixels, count, cols, output, at_an_end):
    """Sums [pixels, count, cols] and their int8 values [pixels, cols, count]; adds the table."""
    if at_an_end:
        shift, bias = np.zeros(CHANNELS, int), np.zeros(CHANNELS, int)
        sums = np.full((pixels, count, cols), int(rng.choice([-(1 << 20), 1 << 20], p=[0.7, 0.3])))
    elif rng.random() < 0.1:  # anything, wrapping sums included
        shift = rng.integers(-31, 31, CHANNELS)
        sums = rng.integers(INT32_MIN, INT32_MAX + 1, (pixels, count, cols))
        bias = rng.integers(INT32_MIN, INT32_MAX + 1, CHANNELS)
    else:  # results around the int8 range
        shift = rng.integers(-20, 3, CHANNELS)
        reach = (150 << np.maximum(-shift, 0)) >> np.maximum(shift, 0)
        sums = rng.integers(-reach[:count, None], reach[:count, None], (pixels, count, cols))
        bias = rng.integers(-reach, reach)
    multiplier = rng.integers(1 << 30, 1 << 31, CHANNELS)
    for values in (bias, multiplier):
        drawn.table += [int(w) for w in values.astype("<i4").view("<u8")]
    drawn.table += words_of(shift[None])
    accumulators = wrap_int32(sums + bias[:count, None]).transpose(0, 2, 1)
    parameters = Requantization(multiplier[:count], shift[:count], *output.values())
    return sums, requantize(accumulators, parameters)


def _pooled_words(values, pool, span):
    """Values [pixels, columns, count] as words [n, 8] in the order in which they leave; span: columns that
    are averaged together."""
    if pool == "average":
        runs = np.split(values, values.shape[1] // span, axis=1)
        values = np.concatenate([average_pool2d(run, run.shape[:2], 1) for run in runs], axis=1)
    elif pool == "max":  # columns are output rows, pixels run along them
        values = max_pool2d(values.transpose(1, 0, 2), 2, 2).transpose(1, 0, 2)
    words = np.zeros((values.shape[0] * values.shape[1], CHANNELS), np.int8)
    words[:, : values.shape[2]] = values.reshape(-1, values.shape[2])
    return words


def _raw_words(sums):
    """Raw 32-bit halves [pixels, halves, columns] as words [n, 8]."""
    halves = np.zeros((sums.shape[0], sums.shape[2], 2), "<u4")
    halves[..., : sums.shape[1]] = sums.transpose(0, 2, 1).astype(np.uint32)
    return halves.view(np.int8).reshape(-1, CHANNELS)


def _append_beats(drawn, sums, ends, to_ppu, at_a_time):
    pixels, count, _cols = sums.shape
    bits = sums.astype("<i4")
    for f in range(0, pixels, at_a_time):
        own = bits[f : f + at_a_time]
        last = f + len(own) == pixels
        for channel in range(count):
            beat = channel << CHANNEL | to_ppu << TO_PPU | (len(own) - 1) << TWO_PIXELS
            beat |= (channel == count - 1) << BLOCK_LAST | last << PIXEL_LAST
            if last and channel == count - 1:
                beat |= ends
            data = int.from_bytes(own[:, channel].tobytes(), "little")
            drawn.beats.append({"data": data, "flags": beat})
