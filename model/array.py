# SPDX-License-Identifier: Apache-2.0
"""The model of the PE array at pass level, bit-exact: from the words that each PE receives to the sums that leave."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from eyrie.model import encoding as enc
from eyrie.model.arithmetic import multiply_by_quantized_multiplier, table_entries, wrap_int32
from eyrie.model.config import SET_ROWS, WORD_CHANNELS, AcceleratorConfig
from eyrie.model.descriptor import Descriptor
from eyrie.model.encoding import ArrayMode, DrainMode, Stream
from eyrie.model.streams import Beats


@dataclass(frozen=True)
class DrainTransfers:
    """The sums of one tile that leave a column, in order. In a transfer of two pixels, the first pixel comes first.

    For each sum: the set at which its chain starts; the set rows that add to it (bool [sums, SET_ROWS], if the round
    robin starts at row 0); the psum index; whether it is the second of its transfer; and its index in `loops`, (chains,
    blocks, pixels, filters of a block). A shorter last block leaves indices unused.
    """

    set: np.ndarray
    rows: np.ndarray
    index: np.ndarray
    second: np.ndarray
    place: np.ndarray
    loops: tuple[int, int, int, int]


def in_pixel_pairs(blocks: int, pixels: int, each: int) -> np.ndarray:
    """Return the indices of [blocks, pixels, each] in drain order if two pixels leave at a time.

    For each block and pair of pixels: entry 0 of both pixels, entry 1 of both, and so on. The last one of an odd number
    of pixels follows by itself.
    """
    places = np.arange(blocks * pixels * each).reshape(blocks, pixels, each)
    paired = pixels // 2 * 2
    pairs = places[:, :paired].reshape(blocks, pixels // 2, 2, each).swapaxes(2, 3).reshape(blocks, -1)
    return np.concatenate([pairs, places[:, paired:].reshape(blocks, -1)], axis=1).ravel()


def drain_transfers(descriptor: Descriptor) -> DrainTransfers:
    """Return the sums of a tile in drain order (docs/hardware/overview.md, "Drain order")."""
    drain, pixels = descriptor.drain, descriptor.shape["pixels"]
    loops = (drain["chains"] if drain["fold"] else 1, drain["blocks"], pixels, drain["block"])
    place, step = np.arange(np.prod(loops)), 1
    if drain["two_pixels"]:
        place, step = in_pixel_pairs(loops[0] * loops[1], pixels, drain["block"]), 2
    _, block, _, slot = np.unravel_index(place, loops)
    place = place[(block < drain["blocks"] - 1) | (slot < drain["last_block"])]
    chain, block, pixel, slot = np.unravel_index(place, loops)
    rows = np.zeros((chain.size, SET_ROWS), bool)
    if drain["mode"] == DrainMode.POINTWISE:
        filter_ = block * drain["block"] + slot
        dealt = 2 if drain["pairs"] else 1
        turn, of_turn = filter_ // dealt, filter_ % dealt
        rows[np.arange(chain.size), turn % SET_ROWS] = True
        head, index = chain, (turn // SET_ROWS * dealt + of_turn) * pixels + pixel
    else:
        head = chain if drain["fold"] else slot // drain["set_filters"]
        index = slot % drain["set_filters"] * pixels + pixel
        if drain["mode"] == DrainMode.CONVOLUTION:
            rows[:] = [drain["rows"] >> row & 1 for row in range(SET_ROWS)]
    return DrainTransfers(head * drain["chain_sets"], rows, index, pixel % step == 1, place, loops)


def _activations(words: np.ndarray, offset: int) -> np.ndarray:
    """Unpack 32-bit words into int32 [..., 4]. With `offset`, bytes are read as q ^ 0x80, unsigned."""
    values = np.ascontiguousarray(words, np.uint32).view(np.uint8).reshape(*words.shape, WORD_CHANNELS)
    if offset:
        return (values ^ 0x80).astype(np.int32)
    return values.view(np.int8).astype(np.int32)


def _weights(words: np.ndarray, zero_point: int) -> np.ndarray:
    """Unpack 32-bit words of filters into int32 [..., 4] and subtract their zero point."""
    return _activations(words, 0) - zero_point


class ArrayModel:
    """The array in one pass, made from its descriptor. The methods compute words and sums from the beats of the
    streams.
    """

    def __init__(self, config: AcceleratorConfig, descriptor: Descriptor) -> None:
        self.config, self.descriptor = config, descriptor
        self.shape, self.loops = descriptor.shape, descriptor.loops
        self.mode = ArrayMode(self.shape["mode"])
        self.row_ids, self.column_ids = descriptor.ids(config.rows, config.cols)
        self.outer, self.tiles = self.loops["outer"], self.loops["tiles"]
        self.inner, self.groups = self.loops["inner"], self.loops["groups"]
        self.pixels = self.shape["pixels"]

    def takes_part(self, row: int, col: int) -> bool:
        return self.column_ids[row][col]["ifmap"] != enc.NO_COLUMN

    def _ifmap_words(self, beats: Beats, row: int, col: int) -> np.ndarray:
        return beats.words(self.row_ids[row]["ifmap"], self.ifmap_columns(row, col), odd_set=row // SET_ROWS % 2 == 1)

    def ifmap_columns(self, row: int, col: int) -> range:
        """Return the column tags of the ifmap words that a PE takes: its ID, and for more bands further tags."""
        first, more = self.column_ids[row][col]["ifmap"], self.descriptor.stream(Stream.IFMAP).options["more_bands"]
        return range(first, first + SET_ROWS * (more + 1), SET_ROWS)

    def _filter_words(self, beats: Beats, row: int, col: int) -> np.ndarray:
        column = self.column_ids[row][col]["filter"]
        return beats.words(self.row_ids[row]["filter"], [column], odd_set=row // SET_ROWS % 2 == 1, column_bits=2)

    def _windows(self, words: np.ndarray) -> np.ndarray:
        """Return the windows [..., pixels, taps] of rows [..., words of a row]."""
        stride, taps = self.shape["stride_2"] + 1, self.shape["taps"]
        at = np.arange(self.pixels)[:, None] * stride + np.arange(taps)
        return words[..., at]

    @property
    def row_words(self) -> int:
        """Return how many ifmap words a PE needs for its pixels, of one row."""
        return (self.pixels - 1) * (self.shape["stride_2"] + 1) + self.shape["taps"]

    def depthwise_words(self, ifmap: Beats, depthwise: Beats) -> np.ndarray:
        """Compute the depthwise words: int8 [sets, cols, outer, inner, groups, pixels, 4]."""
        loops, bands, taps = (self.outer, self.inner, self.groups), self.loops["bands"], self.shape["taps"]
        shape = (self.config.sets, self.config.cols, *loops, self.pixels, WORD_CHANNELS)
        result = np.zeros(shape, np.int8)
        run, place = self.depthwise_runs(depthwise)
        for set_ in range(self.config.sets):
            tables = self._tables(depthwise, run >= bands * taps, set_).reshape(*loops, 3, WORD_CHANNELS)
            for col in range(self.config.cols):
                if not self.takes_part(set_ * SET_ROWS, col):
                    continue
                sums = np.zeros((*loops, self.pixels, WORD_CHANNELS), np.int64)
                for set_row in range(SET_ROWS):
                    row = set_ * SET_ROWS + set_row
                    words = self._ifmap_words(ifmap, row, col).reshape(*loops, bands, self.row_words)
                    pixels = _activations(self._windows(words), self.shape["ifmap_offset"])
                    weights = self._taps(depthwise, (run < bands * taps) & (place == set_row), set_)
                    sums += (pixels * weights.reshape(*loops, bands, 1, taps, WORD_CHANNELS)).sum(axis=(-4, -2))
                result[set_, col] = self._finish(sums, tables[..., None, :, :])
        return result

    @staticmethod
    def depthwise_runs(beats: Beats) -> tuple[np.ndarray, np.ndarray]:
        """Return, for each word of the depthwise stream, the number of its run in the group and its place in it."""
        return np.divmod(beats.tag & enc.TAG.pack(row=0xF, column=0x3F), enc.DEPTHWISE_RUN_TAG)

    @staticmethod
    def _half(beats: Beats, mine: np.ndarray, set_: int) -> np.ndarray:
        if beats.half_by_set:
            return np.full(int(mine.sum()), set_ % 2 == 1)
        return beats.tag[mine] >> 10 & 1 == 1

    def _taps(self, beats: Beats, mine: np.ndarray, set_: int) -> np.ndarray:
        half = self._half(beats, mine, set_)
        data = beats.data[mine, 0]
        words = np.where(half, data >> np.uint64(32), data & np.uint64(0xFFFFFFFF)).astype(np.uint32)
        return _weights(words, self.shape["depthwise_zero_point"])

    def _tables(self, beats: Beats, mine: np.ndarray, set_: int) -> np.ndarray:
        """Return bias, multiplier and shift of the channels of a set: int64 [groups, 3, 4]."""
        raw = np.ascontiguousarray(beats.data[mine, 0]).reshape(-1, enc.PARAMETER_WORDS)
        half = self._half(beats, mine, set_).reshape(-1, enc.PARAMETER_WORDS)[:, 0].astype(int)
        values = unpack_tables(raw)
        channel = half[:, None] * WORD_CHANNELS + np.arange(WORD_CHANNELS)
        return np.take_along_axis(values, channel[:, None, :], axis=2)

    def _finish(self, sums: np.ndarray, table: np.ndarray) -> np.ndarray:
        bias, multiplier, shift = table[..., 0, :], table[..., 1, :], table[..., 2, :]
        output = self.descriptor.depthwise
        scaled = multiply_by_quantized_multiplier(wrap_int32(sums + bias), multiplier, shift)
        return np.clip(scaled + output["zero_point"], output["act_min"], output["act_max"]).astype(np.int8)

    def psums(self, ifmap: Beats, filters: Beats, words: np.ndarray | None) -> np.ndarray:
        """Compute the partial sums: int32 [rows, cols, tiles of the pass, psum index]."""
        loops = (self.outer, self.tiles, self.inner, self.groups)
        result = np.zeros(
            (self.config.rows, self.config.cols, self.outer * self.tiles * self.inner, self.config.psum_words), np.int32
        )
        for row in range(self.config.rows):
            counts = self.filters_of(row % SET_ROWS)
            for col in range(self.config.cols):
                if not any(counts) or not self.takes_part(row, col):
                    continue
                taken = _weights(self._filter_words(filters, row, col), self.shape["filter_zero_point"])
                if self.mode == ArrayMode.CONVOLUTION:
                    count = counts[0]
                    row_words = self._ifmap_words(ifmap, row, col).reshape(*loops, self.row_words)
                    pixels = _activations(self._windows(row_words), self.shape["ifmap_offset"])
                    weights = taken.reshape(*loops, count, self.shape["taps"], WORD_CHANNELS)
                    sums = np.einsum("otigfsc,otigmsc->otimf", pixels, weights, optimize=True)
                    result[row, col, :, : count * self.pixels] = sums.reshape(-1, count * self.pixels)
                else:
                    if words is None:
                        own = self._ifmap_words(ifmap, row, col).reshape(*loops, self.pixels)
                        pixels = _activations(own, self.shape["word_offset"])
                    else:
                        own = np.ascontiguousarray(words[row // SET_ROWS, col]).view(np.uint32)[..., 0]
                        pixels = _activations(own, self.shape["word_offset"])[:, None]
                        pixels = np.broadcast_to(pixels, (*loops, self.pixels, WORD_CHANNELS))
                    sums = result[row, col].reshape(self.outer, self.tiles, self.inner, -1)
                    for tiles, weights in self._dealt(taken, counts):
                        made = np.einsum("otigfc,otigmc->otimf", pixels[:, tiles], weights, optimize=True)
                        sums[:, tiles, :, : weights.shape[4] * self.pixels] = made.reshape(*made.shape[:3], -1)
        return result

    def rows_dealt_from(self) -> np.ndarray:
        """Return, for each tile, the set row at which the round robin of its filters starts
        (docs/hardware/overview.md).
        """
        return np.arange(self.tiles) * self.shape["rotation"] % SET_ROWS

    def filters_of(self, set_row: int) -> list[int]:
        """Return, for each tile, how many filters this row of a set has."""
        return [self.shape[f"filters_{(set_row - first) % SET_ROWS}"] for first in self.rows_dealt_from().tolist()]

    def _dealt(self, taken: np.ndarray, counts: list[int]) -> Iterator[tuple[list[int], np.ndarray]]:
        """Yield the tiles in which a row has the same number of filters, and the filters.

        The filters are int32 [outer, tiles, inner, groups, filters, 4]. `counts` has the number of filters of each
        tile, `taken` the words of the row.
        """
        each = self.inner * self.groups
        parts = np.split(taken.reshape(self.outer, -1, WORD_CHANNELS), np.cumsum(counts)[:-1] * each, axis=1)
        for count in set(counts):
            tiles = [tile for tile, own in enumerate(counts) if own == count]
            shape = self.outer, self.inner, self.groups, count, WORD_CHANNELS
            yield tiles, np.stack([parts[tile].reshape(shape) for tile in tiles], axis=1)

    def drain(self, psums: np.ndarray, ipsum: np.ndarray | None = None) -> np.ndarray:
        """Return the sums in drain order: int32 [tiles of the pass, sums of a column, cols].

        `ipsum` has the start values of the chains, if any: int32 of the same shape.
        """
        beats = drain_transfers(self.descriptor)
        chain_of = self._chain_ends()
        result = np.zeros((psums.shape[2], beats.set.size, self.config.cols), np.int32)
        first = np.tile(np.repeat(self.rows_dealt_from(), self.inner), self.outer)  # of each tile of the pass
        for row, begin in product(range(self.config.rows), range(SET_ROWS)):
            set_, set_row = divmod(row, SET_ROWS)
            mine = beats.rows[:, (set_row - begin) % SET_ROWS] & (beats.set == chain_of[set_])
            tiles = np.ix_(first == begin, mine)
            result[tiles] += psums[row].transpose(1, 2, 0)[np.ix_(first == begin, beats.index[mine])]
        return result if ipsum is None else result + ipsum

    def _chain_ends(self) -> list[int]:
        """Return, for each set, the set at which its chain starts."""
        start = [0]
        for set_ in range(1, self.config.sets):
            joined = self.descriptor.drain["link_enable"] >> (set_ * SET_ROWS - 1) & 1
            start.append(start[-1] if joined else set_)
        return start

    def drain_words(self, words: np.ndarray) -> np.ndarray:
        """Return the depthwise words in drain order: int32 [outer * inner, words of a column, cols]."""
        sets = self.descriptor.drain["block"]
        raw = np.ascontiguousarray(words[:sets]).view(np.int32)[..., 0]  # [set, col, o, i, g, f]
        ordered = raw.transpose(2, 3, 4, 5, 0, 1)  # [o, i, g, f, set, col]
        return ordered.reshape(self.outer * self.inner, -1, self.config.cols)


def unpack_tables(words: np.ndarray) -> np.ndarray:
    """Unpack quantisation parameters, uint64 [n, 9], into int64 [n, 3, 8]: bias, multiplier, shift of 8 channels."""
    words = np.ascontiguousarray(words, np.uint64)
    bias = words[:, 0:4].copy().view(np.int32)
    multiplier = words[:, 4:8].copy().view(np.int32)
    shift = words[:, 8:9].copy().view(np.int8).astype(np.int32)
    return np.stack([bias, *table_entries(multiplier, shift)], axis=1)
