# SPDX-License-Identifier: Apache-2.0
"""How constants lie in the GLB: tables and filters in the order in which the accelerator reads them.

Words are those of maps (ir/feature_map.py): two halves of q channels. A byte of a filter is its value plus the zero
point of all of them (stored_zero_point), and so is what fills a word up, whose value is 0.
"""

import numpy as np

from eyrie.compiler.ir.feature_map import split_channels, words_of
from eyrie.compiler.ir.layer import Table
from eyrie.model.config import SET_ROWS, WORD_CHANNELS
from eyrie.model.encoding import PARAMETER_WORDS, kernel_bands
from eyrie.model.operators.quantization import stored_zero_point


def pack_tables(bias: np.ndarray, multiplier: np.ndarray, shift: np.ndarray) -> np.ndarray:
    """int [C] each -> uint64 [ceil(C / 8), 9]; missing channels are zero."""
    blocks = -(-len(bias) // 8)

    def padded(values: np.ndarray, kind: type) -> np.ndarray:
        out: np.ndarray = np.zeros(blocks * 8, kind)
        out[: len(values)] = values
        return out.reshape(blocks, 8)

    table = np.empty((blocks, PARAMETER_WORDS), np.uint64)
    table[:, 0:4] = padded(bias, np.int32).view(np.uint64)
    table[:, 4:8] = padded(multiplier, np.int32).view(np.uint64)
    table[:, 8:9] = padded(shift, np.int8).view(np.uint64)
    return table


def pack_depthwise(filters: np.ndarray, tables: np.ndarray) -> np.ndarray:
    """Filters [R, S, C] and tables [groups, 9] -> uint64 [groups, bands x S x 3 + 9]: of each band the columns, of each
    column three rows, then the table. The last band may have rows of zero."""
    rows, taps, channels = filters.shape
    full = np.zeros((kernel_bands(rows) * SET_ROWS, taps, channels), np.int8)
    full[:rows] = _low_bytes(filters)
    words = _stored(words_of(split_channels(full)), filters)  # [rows, S, groups]
    by_run = words.reshape(-1, SET_ROWS, taps, words.shape[2]).swapaxes(1, 2)
    return np.concatenate([by_run.reshape(-1, words.shape[2]).T, tables], axis=1)


def pack_pointwise(filters: np.ndarray, tile: int) -> np.ndarray:
    """Filters [M, C] -> uint64 [tiles, groups, tile]; missing filters are zero."""
    words = words_of(split_channels(_low_bytes(filters)))
    tiles = -(-len(words) // tile)
    padded = np.zeros((tiles * tile, words.shape[1]), np.uint64)
    padded[: len(words)] = words
    return _stored(padded.reshape(tiles, tile, -1).transpose(0, 2, 1), filters)


def _low_bytes(filters: np.ndarray) -> np.ndarray:
    """int8: values modulo 256, whatever their zero point."""
    return filters.astype(np.int8)


def _stored(words: np.ndarray, filters: np.ndarray) -> np.ndarray:
    """Words of the low bytes of filters, with the zero point added to each byte."""
    zero_point = np.int8(stored_zero_point(filters))
    return (np.ascontiguousarray(words)[..., None].view(np.int8) + zero_point).view(np.uint64)[..., 0]


def tap_channels(filters: np.ndarray) -> np.ndarray:
    """Filters [M, R, S, C] -> [M, groups x R x S x 8]: a convolution's filters as pointwise ones, to which each tap of
    a channel group is a channel group of its own."""
    words = split_channels(filters)  # [M, R, S, groups, 8]
    return words.transpose(0, 3, 1, 2, 4).reshape(len(filters), -1)


def pack_convolution(filters: np.ndarray, q: int, p: int, across: int, down: int, split: bool) -> np.ndarray:
    """Filters [M, C, R, S] -> uint64 [tiles, groups, across, pairs, R, p, S].

    A tile is p filters for each of `across` x `down` PE sets. split: each of them is a pair of sets that take the two
    channel halves of the same filters, and a group is 2q channels. Otherwise the sets of a pair take the same q
    channels of two runs of p filters: with half_by_set words of filters (m, m + p), and zeros where the last set of an
    odd number of them has no partner.
    """
    count, channels, rows, taps = filters.shape
    tile = across * down * p
    tiles, words = -(-count // tile), -(-channels // (2 * q))
    padded = np.zeros((tiles * tile, rows, taps, channels), np.int8)
    padded[:count] = _low_bytes(filters).transpose(0, 2, 3, 1)
    values = split_channels(padded, q)  # [M, R, S, words, 8]
    values = values.reshape(tiles, across, down, p, rows, taps, words, 8)
    if split:
        return _stored(words_of(values.transpose(0, 6, 1, 2, 4, 3, 5, 7)), filters)
    values = np.pad(values, [(0, down % 2 if axis == 2 else 0) for axis in range(values.ndim)])
    halves = values.reshape(tiles, across, -(-down // 2), 2, p, rows, taps, words * 2, WORD_CHANNELS)
    ordered = halves.transpose(0, 7, 1, 2, 5, 4, 6, 3, 8)  # [t, group, across, pair, R, p, S, set, lane]
    return _stored(words_of(ordered.reshape(*ordered.shape[:-2], 8)), filters)


def pad_runs(packed: np.ndarray, lanes: int) -> np.ndarray:
    """Packed filters of a convolution, uint64 [..., p, S] -> [..., words]: each run of p x S words begins where a port
    of so many words reads."""
    runs = packed.reshape(*packed.shape[:-2], -1)
    return np.pad(runs, [(0, 0)] * (runs.ndim - 1) + [(0, -runs.shape[-1] % lanes)])


def pack_table(table: Table, blocks: int) -> np.ndarray:
    """uint64 [blocks, 9], of blocks of 8 channels."""
    words = pack_tables(table.bias, table.multiplier, table.shift)
    out = np.zeros((blocks, words.shape[1]), np.uint64)
    out[: len(words)] = words
    return out
