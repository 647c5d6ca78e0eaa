# SPDX-License-Identifier: Apache-2.0
"""Random PPU passes and what comes out of them, by the golden model."""

from dataclasses import dataclass, field, replace

import numpy as np

from model import encoding
from model.arithmetic import (
    INT32_MAX,
    INT32_MIN,
    MAX_AVERAGE_COUNT,
    average_reciprocal,
    wrap_int32,
)
from model.encoding import PoolMode
from model.operators.elementwise import AddParameters, add, add_parameters
from model.operators.pooling import average_pool2d, max_pool2d
from model.operators.quantization import Quantization, Requantization, requantize

CHANNELS = 8  # of a block
KINDS = ("plain", "average", "raw", "max", "residual", "dropped")
POOLS = {"average": PoolMode.AVERAGE, "max": PoolMode.MAX}
# drain_beat_t, from bit 0 upwards
PASS_LAST, TILE_LAST, PIXEL_LAST, BLOCK_LAST, CHANNEL, TO_PPU = 0, 1, 2, 3, 4, 7


@dataclass
class Pass:
    """The stimulus of one pass, and its words (word, last) with where they come from."""

    ports: dict[str, int]  # configuration ports
    beats: list[dict[str, int]] = field(default_factory=list)
    table: list[int] = field(default_factory=list)
    residual: list[int] = field(default_factory=list)
    words: list[tuple[dict[str, int], str]] = field(default_factory=list)


def draw_pass(
    rng: np.random.Generator,
    kind: str,
    cols: int,
    name: str,
    columns: int | None = None,
    blocks: int | None = None,
    channels: int | None = None,
    pixels: int | None = None,
    pool: str | None = None,
) -> Pass:
    """A pass of one of KINDS on a machine of `cols` columns; sizes not given are random.

    `pool` is the kind of the pass whose words a residual pass adds to (random if not given).
    """
    if kind == "residual":
        pool = pool or str(rng.choice(["plain", "plain", "average", "max"]))
    else:
        pool = kind
    columns = columns or int(rng.integers(1, cols + 1))
    if pool == "average" and not pixels and rng.random() < 0.2:  # as many as can be averaged
        pixels, blocks, channels = MAX_AVERAGE_COUNT // columns, 1, int(rng.integers(1, 3))
    pixels = pixels or int(rng.choice([1, 2, 3, 4, 4, 4, 9, 32]))
    blocks = blocks or int(rng.integers(1, 7))
    if pool == "max":
        columns, pixels = 2 * max(1, columns // 2), 2 * ((pixels + 1) // 2)
    output = _draw_output(rng)
    add_words, scales = _draw_addition(rng, kind == "residual")
    pooling, span = _draw_pooling(rng, pool, columns, pixels)
    configuration = encoding.PPU.pack(**output, raw=pool == "raw", **pooling)
    drawn = Pass({"cfg": configuration, **add_words, "columns": columns, "to_ppu": kind != "dropped"})
    for block in range(blocks):
        count = channels or int(rng.choice([1, 3, 5, 7, 8, 8, 8]))
        last = block == blocks - 1
        ends = (last or rng.random() < 0.3) << TILE_LAST | last << PASS_LAST
        if pool == "raw":
            count = min(count, int(rng.choice([1, 2, 2])))
            sums = rng.integers(INT32_MIN, INT32_MAX + 1, (pixels, count, cols))
            words = _raw_words(sums[..., :columns])
        else:
            sums, values = _requantized(rng, drawn, pixels, count, cols, output)
            words = _pooled_words(values[:, :columns], pool, span)
        _append_beats(drawn, sums, ends, kind != "dropped")
        if kind == "dropped":
            del drawn.table[:]
            continue
        if kind == "residual":
            others = rng.integers(-128, 128, words.shape).astype(np.int8)
            drawn.residual += _packed(others)
            words = add(words, others, scales)
        where = f"{name} ({kind}, {pool}, {columns} columns, {pixels} pixels), block {block} of {count} channels"
        _append_words(drawn, words, last, where)
    return drawn


def _draw_output(rng: np.random.Generator) -> dict[str, int]:
    """Zero point and clamp, mostly of all that int8 holds."""
    low, high = sorted(int(v) for v in rng.integers(-128, 128, 2))
    if rng.random() < 0.6:
        low, high = -128, 127
    return {"zero_point": int(rng.integers(-128, 128)), "act_min": low, "act_max": high}


def _draw_pooling(rng: np.random.Generator, pool: str, columns: int, pixels: int) -> tuple[dict[str, int], int]:
    """Fields of the configuration word, and the columns that are averaged together."""
    fields, span = {"pool": POOLS.get(pool, PoolMode.NONE)}, columns
    if pool == "average":
        spans = [s for s in (1, 2, 4, 8) if columns % s == 0 and s < columns]
        span = int(rng.choice([columns, *spans]))
        count = pixels * span
        reciprocal, shift = average_reciprocal(count)
        fields |= {"pool_count": count, "pool_reciprocal": reciprocal, "pool_shift": shift,
                   "pool_columns": (span - 1).bit_length()}
    return fields, span


def _packed(rows: np.ndarray) -> list[int]:
    """Rows of 8 int8 values as GLB words."""
    return [int.from_bytes(row.astype(np.int8).tobytes(), "little") for row in rows]


def _draw_addition(rng, enable):
    """Configuration words of a random addition (disabled: random bits), and its AddParameters."""
    scales = [float(2.0 ** rng.uniform(-6, 2)) for _ in range(3)]
    scales[2] = max(scales[2], 2.0**-12 * max(scales))
    tensors = [Quantization(s, int(rng.integers(-128, 128))) for s in scales]
    activation = str(rng.choice(["NONE", "RELU", "RELU6"]))
    parameters = add_parameters(*tensors, activation)
    if rng.random() < 0.3:  # factors so small that every rounding shows in the result
        tiny = [replace(parameters.first, multiplier=int(rng.integers(1 << 12)), shift=0)]
        tiny += [replace(parameters.second, multiplier=int(rng.integers(1 << 12)), shift=0)]
        output = replace(parameters.output, multiplier=int(rng.integers(1 << 30, 1 << 31)), shift=-1)
        parameters = AddParameters(*tiny, output)

    def scaling(item):
        return {
            "multiplier": int(item.multiplier),
            "right_shift": -int(item.shift),
            "zero_point": item.zero_point,
        }

    result = parameters.output
    words = {
        "add_first": encoding.PPU_ADDEND.pack(**scaling(parameters.first)),
        "add_second": encoding.PPU_ADDEND.pack(**scaling(parameters.second)),
        "add_result": encoding.PPU_ADD_RESULT.pack(
            enable=enable,
            **scaling(result),
            act_min=result.minimum,
            act_max=result.maximum,
        ),
    }
    return words, parameters


def _requantized(rng, drawn, pixels, count, cols, output):
    """Sums [pixels, count, cols] and their int8 values [pixels, cols, count]; adds the table."""
    if rng.random() < 0.1:  # anything, wrapping sums included
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
    drawn.table += _packed(shift[None])
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


def _append_beats(drawn, sums, ends, to_ppu):
    pixels, count, cols = sums.shape
    bits = sums.astype("<i4")
    for f in range(pixels):
        for channel in range(count):
            beat = channel << CHANNEL | to_ppu << TO_PPU
            beat |= (channel == count - 1) << BLOCK_LAST | (f == pixels - 1) << PIXEL_LAST
            if f == pixels - 1 and channel == count - 1:
                beat |= ends
            data = int.from_bytes(bits[f, channel].tobytes(), "little")
            drawn.beats.append({"data": data, "beat": beat})


def _append_words(drawn, words, last, where):
    """last: the block ends the pass."""
    for n, word in enumerate(_packed(words)):
        ends = last and n == len(words) - 1
        drawn.words.append(({"data": word, "last": int(ends)}, f"{where}, word {n}"))
