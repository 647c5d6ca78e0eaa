# SPDX-License-Identifier: Apache-2.0
"""The encoder of chains (model/weight_codes.py has the format)."""

from collections.abc import Iterable, Sequence

import numpy as np

from eyrie.compiler.codes.blocks import blocks_of, rests_in
from eyrie.model.encoding import CODE_LANES
from eyrie.model.weight_codes import (
    CODED_BITS,
    PREFIX_BITS,
    REST,
    UNIT_BITS,
    WANTED_BITS,
    WORD_UNITS,
    WeightCode,
    number_of,
)

_ONES = int.from_bytes(bytes([1] * CODE_LANES))  # a byte for each lane, lane 0 the lowest
_FLAG = 7  # bit of a lane's byte that answers a question


def encode(code: WeightCode, chunks: Sequence[np.ndarray], beat_words: int = 1) -> list[np.ndarray] | None:
    """Encode a chain, without its table: uint64 words of each chunk, whole beats.

    chunks: int8 [8 * words] of each; the code has all of their weights. Return None if chunks are so short that their
    beats would come too early.
    """
    bits, sizes, active = _bits(code, chunks)
    taken, turns = _taken(sizes, active)
    units = _units(bits, sizes, taken)
    steps = np.cumsum([-(-chunk.size // CODE_LANES) for chunk in chunks])
    counts = np.cumsum(taken.sum(axis=1))  # units taken by the end of each turn
    last = turns[steps - 1]  # turn of each chunk
    ends, beat, number = counts[last], WORD_UNITS * beat_words, np.arange(len(chunks))
    ends[-1] = min(ends[-1], max(len(units), 1))
    beats = np.maximum.accumulate(-(-ends // beat) - number) + number
    if (beats * beat - counts[last - 1] > CODE_LANES + beat).any():
        return None
    padded = np.zeros(beats[-1] * beat, np.uint8)
    padded[: len(units)] = units
    return np.split(padded.view("<u8"), beats[:-1] * beat_words)


def coded_bits(code: WeightCode, weights: np.ndarray) -> int:
    """Return the bits of the weights of a chunk, which the code has."""
    return int(_bits(code, [weights])[1].sum())


def _bits(code: WeightCode, chunks: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the coded bits of each weight, how many they are, and the lanes that have one: [steps, lanes]."""
    weights, active = blocks_of(chunks)
    numbers = number_of(weights, code.centre)
    bits, sizes = (of[numbers] for of in _tables(code))
    for each in code.classes:
        if each.extra == REST:
            least = 1 + each.length // max(int(sizes[numbers == each.base].max(initial=1)), 1)
            rest, last = rests_in(numbers == each.base, active, least)
            sizes[rest], sizes[last], bits[last] = 0, each.length, each.first >> PREFIX_BITS - each.length
    sizes *= active
    assert (sizes >= 0).all(), "the code lacks a weight"
    used = active.any(axis=2)
    return bits[used], sizes[used], active[used]


def _tables(code: WeightCode) -> tuple[np.ndarray, np.ndarray]:
    """Return, by the number of a weight that is in no rest, its coded bits and how many they are; -1 if the code does
    not have it."""
    bits, sizes = np.zeros(256, np.int64), np.full(256, -1)
    for each in reversed([each for each in code.classes if each.extra != REST]):
        numbers = np.arange(each.base, min(each.base + (1 << each.extra), 256))
        prefix = each.first >> PREFIX_BITS - each.length
        bits[numbers], sizes[numbers] = (prefix << each.extra) + numbers - each.base, each.length + each.extra
    return bits, sizes


def _taken(sizes: np.ndarray, active: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return which lanes take a unit in each turn, bool [turns, lanes], and the turn of each step.

    sizes: bits by step and lane; active: the lanes that decode a weight. At first, all lanes take a unit. The fills of
    all lanes are one number.
    """
    turns, steps, fill = [_ONES << _FLAG], list[int](), 0
    for size, decodes in zip(_by_lane(sizes), _by_lane(active << _FLAG), strict=True):
        lacks = decodes
        while lacks:
            wants = _below(WANTED_BITS, fill) & decodes
            fill += (wants >> _FLAG) * UNIT_BITS
            lacks = _below(CODED_BITS, fill) & decodes
            turns.append(wants)
        fill -= size
        steps.append(len(turns) - 1)
    flags = b"".join(turn.to_bytes(CODE_LANES, "little") for turn in turns)
    return np.frombuffer(flags, np.uint8).reshape(-1, CODE_LANES) > 0, np.array(steps)


def _by_lane(rows: np.ndarray) -> Iterable[int]:
    """Yield rows of small numbers by lane, each as one number."""
    return (int.from_bytes(row.tobytes(), "little") for row in rows.astype(np.uint8))


def _below(limit: int, fill: int) -> int:
    """Flag the lanes with less than `limit` bits."""
    return ~(fill + ((1 << _FLAG) - limit) * _ONES) & _ONES << _FLAG


def _units(bits: np.ndarray, sizes: np.ndarray, taken: np.ndarray) -> np.ndarray:
    """Return the units of a chain in the order in which lanes take them, up to the last one that has bits of a weight.

    bits, sizes: of each step and lane; taken: the lanes that take a unit in each turn
    """
    lane = np.nonzero(taken)[1]  # of the units in their order
    number = (np.cumsum(taken, axis=0) - 1)[taken]  # of each unit in its lane
    streams = [_joined(bits[:, place], sizes[:, place]) for place in range(CODE_LANES)]
    used = np.flatnonzero(number < np.array([len(stream) for stream in streams])[lane])
    length = int(used[-1]) + 1 if used.size else 0
    table = np.zeros((CODE_LANES, int(number.max()) + 1), np.uint8)
    for place, stream in enumerate(streams):
        table[place, : len(stream)] = stream
    return table[lane[:length], number[:length]]


def _joined(bits: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return a lane's units: coded weights one after another, the first bit the highest of the first unit."""
    owner = np.repeat(np.arange(len(sizes)), sizes)
    left = np.repeat(np.cumsum(sizes), sizes) - 1 - np.arange(len(owner))  # bits of the weight behind each bit
    return np.packbits((bits[owner] >> left & 1).astype(np.uint8))
