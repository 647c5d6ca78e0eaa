# SPDX-License-Identifier: Apache-2.0
"""The encoder of chunks (model/weight_codes.py has the format)."""

import numpy as np

from eyrie.model.encoding import CODE_LANES
from eyrie.model.weight_codes import (
    CODED_BITS,
    PREFIX_BITS,
    UNIT_BITS,
    WANTED_BITS,
    WORD_UNITS,
    WORD_WEIGHTS,
    WeightCode,
    number_of,
)


def encode(code: WeightCode, weights: np.ndarray, beat_words: int = 1) -> list[np.ndarray]:
    """Encode chunks of equal length: uint64 words of each, whole beats. weights: int8 [chunks, 8 * words]; the code has
    all of them"""
    chunks, count = weights.shape
    bits, sizes = (of[number_of(weights, code.centre)] for of in _tables(code))
    assert (sizes >= 0).all() and count % WORD_WEIGHTS == 0, "the code lacks a weight, or a word is not whole"
    steps = -(-count // CODE_LANES)
    padded = ((0, 0), (0, steps * CODE_LANES - count))
    bits, sizes = (np.pad(each, padded).reshape(chunks, steps, CODE_LANES) for each in (bits, sizes))
    taken = _taken(sizes, count % CODE_LANES != 0)
    return [_chunk(bits[n], sizes[n], taken[:, n], WORD_UNITS * beat_words) for n in range(chunks)]


def _tables(code: WeightCode) -> tuple[np.ndarray, np.ndarray]:
    """Return, by the number of a weight, its coded bits and how many they are; -1 if the code does not have it."""
    bits, sizes = np.zeros(256, np.int64), np.full(256, -1)
    for each in reversed(code.classes):
        numbers = np.arange(each.base, min(each.base + (1 << each.extra), 256))
        prefix = each.first >> PREFIX_BITS - each.length
        bits[numbers], sizes[numbers] = (prefix << each.extra) + numbers - each.base, each.length + each.extra
    return bits, sizes


def _taken(sizes: np.ndarray, odd: bool) -> np.ndarray:
    """Return which lanes take a unit in each turn of each chunk: bool [turns, chunks, lanes]; at first, all do.

    sizes: bits by chunk, step and lane; odd: the last step is that of half the lanes
    """
    chunks, steps, _ = sizes.shape
    fill, step = np.zeros((chunks, CODE_LANES), np.int64), np.zeros(chunks, np.int64)
    half, each = np.arange(CODE_LANES) < CODE_LANES // 2, np.arange(chunks)
    turns = [np.ones((chunks, CODE_LANES), bool)]
    while (step < steps).any():
        active = (step < steps)[:, None] & (half | ~(odd & (step == steps - 1))[:, None])
        wants = active & (fill < WANTED_BITS)
        fill += UNIT_BITS * wants
        decodes = (step < steps) & (~active | (fill >= CODED_BITS)).all(axis=1)
        fill -= decodes[:, None] * active * sizes[each, np.minimum(step, steps - 1)]
        step += decodes
        turns.append(wants)
    return np.array(turns)


def _chunk(bits: np.ndarray, sizes: np.ndarray, taken: np.ndarray, beat: int) -> np.ndarray:
    """Return a chunk's words, without the units behind the last one that has bits of a weight.

    bits, sizes: of each step and lane; taken: the lanes that take a unit in each turn; beat: units of a beat
    """
    lane = np.nonzero(taken)[1]  # of the units in their order
    number = (np.cumsum(taken, axis=0) - 1)[taken]  # of each unit in its lane
    count = -(-sizes.sum(axis=0) // UNIT_BITS)  # units of each lane that have bits of a weight
    used = np.flatnonzero(number < count[lane])
    length = int(used[-1]) + 1 if used.size else 0
    streams = np.zeros((CODE_LANES, max(int(count.max()), int(number.max()) + 1)), np.uint8)
    for place in range(CODE_LANES):
        stream = _joined(bits[:, place], sizes[:, place])
        streams[place, : len(stream)] = stream
    units = np.zeros(max(-(-length // beat), 1) * beat, np.uint8)
    units[:length] = streams[lane[:length], number[:length]]
    return units.view("<u8")


def _joined(bits: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return a lane's units: coded weights one after another, the first bit the highest of the first unit."""
    owner = np.repeat(np.arange(len(sizes)), sizes)
    left = np.repeat(np.cumsum(sizes), sizes) - 1 - np.arange(len(owner))  # bits of the weight behind each bit
    return np.packbits((bits[owner] >> left & 1).astype(np.uint8))
