# SPDX-License-Identifier: Apache-2.0
"""How tensors lie in the GLB: 64-bit words, and the order in which they are read.

A word is two halves of q channels each (q = 4 but for test mappings with q < 4; unused lanes are
zero): word g of a pixel holds channels 2qg to 2qg + q - 1 in its low half, the next q in its high half.
"""

from dataclasses import dataclass

import numpy as np

from model.config import SET_ROWS, WORD_CHANNELS
from model.encoding import DEPTHWISE_GROUP_WORDS, TABLE_WORDS

NARROW_GROUPS = 1024  # from which on a map of one column does without a second word in its rows: 8 KiB and more


def word_groups(channels: int) -> int:
    """GLB words that hold the channels of one pixel."""
    return -(-channels // 8)


def words_of(values: np.ndarray) -> np.ndarray:
    """int8 [..., 8] -> uint64 [...]."""
    return np.ascontiguousarray(values, np.int8).view(np.uint64)[..., 0]


def split_channels(values: np.ndarray, q: int = WORD_CHANNELS) -> np.ndarray:
    """int8 [..., C] -> [..., words, 8], channels in halves of q, missing ones zero."""
    channels = values.shape[-1]
    words = -(-channels // (2 * q))
    padded = np.zeros((*values.shape[:-1], words * 2 * q), np.int8)
    padded[..., :channels] = values
    halves = np.zeros((*values.shape[:-1], words, 2, WORD_CHANNELS), np.int8)
    halves[..., :q] = padded.reshape(*values.shape[:-1], words, 2, q)
    return halves.reshape(*values.shape[:-1], words, 2 * WORD_CHANNELS)


@dataclass(frozen=True)
class FeatureMap:
    """Feature maps in the GLB: rows of [word group][x], or planes of [y][x], one for each word group.

    rows, cols   size of a map in pixels
    groups       words per pixel
    address      GLB word where the storage begins
    ring_rows    rows of storage of a map; row y lies in slot (y + shift) mod ring_rows
    planar       planes, not rows, lie behind each other
    images       maps of so many images: one behind the other, or in planes one behind the other in each plane
    """

    rows: int
    cols: int
    groups: int
    address: int
    ring_rows: int
    shift: int = 0
    planar: bool = False
    images: int = 1

    @property
    def pitch(self) -> int:
        """Words of a row of one group; even, because pairs of words are read. A single column of many groups has no
        second word; the groups are even then, because beats of a DRAM port may be two words."""
        narrow = self.cols == 1 and self.groups >= NARROW_GROUPS and self.groups % 2 == 0
        return 1 if narrow else self.cols + self.cols % 2

    @property
    def row_words(self) -> int:
        """Words of a row of all groups."""
        return self.groups * self.pitch

    @property
    def words(self) -> int:
        return self.images * self.ring_rows * self.row_words

    @property
    def image_step(self) -> int:
        """Words from one image to the next."""
        return self.ring_rows * self.row_step

    @property
    def row_step(self) -> int:
        """Words from one row to the next."""
        return self.pitch if self.planar else self.row_words

    @property
    def group_step(self) -> int:
        """Words from one group to the next."""
        return self.images * self.image_step if self.planar else self.pitch

    def row_address(self, y: int) -> int:
        return self.address + (y + self.shift) % self.ring_rows * self.row_step

    def pack(self, values: np.ndarray, q: int = WORD_CHANNELS) -> np.ndarray:
        """int8 [rows, cols, C] -> uint64 [rows, groups, pitch]."""
        words = words_of(split_channels(values, q)).transpose(0, 2, 1)
        out = np.zeros((self.rows, self.groups, self.pitch), np.uint64)
        out[:, : words.shape[1], : self.cols] = words
        return out

    def unpack(self, words: np.ndarray, channels: int) -> np.ndarray:
        """uint64 [rows, groups, pitch] -> int8 [rows, cols, channels]."""
        pixels = np.ascontiguousarray(words[:, :, : self.cols].transpose(0, 2, 1))
        return pixels.view(np.int8).reshape(self.rows, self.cols, -1)[..., :channels]


def pack_tables(bias: np.ndarray, multiplier: np.ndarray, shift: np.ndarray) -> np.ndarray:
    """int [C] each -> uint64 [ceil(C / 8), 9]; missing channels are zero."""
    blocks = -(-len(bias) // 8)

    def padded(values: np.ndarray, kind: type) -> np.ndarray:
        out = np.zeros(blocks * 8, kind)
        out[: len(values)] = values
        return out.reshape(blocks, 8)

    table = np.empty((blocks, TABLE_WORDS), np.uint64)
    table[:, 0:4] = padded(bias, np.int32).view(np.uint64)
    table[:, 4:8] = padded(multiplier, np.int32).view(np.uint64)
    table[:, 8:9] = padded(shift, np.int8).view(np.uint64)
    return table


def pack_depthwise(filters: np.ndarray, tables: np.ndarray) -> np.ndarray:
    """int8 [R, S, C] (R, S <= 3) and tables [groups, 9] -> uint64 [groups, 18].

    Smaller kernels are the top left of a 3 x 3 one.
    """
    rows, taps, _ = filters.shape
    full = np.zeros((SET_ROWS, 3, filters.shape[2]), np.int8)
    full[:rows, :taps] = filters
    words = words_of(split_channels(full)).reshape(9, -1).T
    out = np.empty((len(words), DEPTHWISE_GROUP_WORDS), np.uint64)
    out[:, :9], out[:, 9:] = words, tables
    return out


def pack_pointwise(filters: np.ndarray, tile: int) -> np.ndarray:
    """int8 [M, C] -> uint64 [tiles, groups, tile]; missing filters are zero."""
    words = words_of(split_channels(filters))
    tiles = -(-len(words) // tile)
    padded = np.zeros((tiles * tile, words.shape[1]), np.uint64)
    padded[: len(words)] = words
    return np.ascontiguousarray(padded.reshape(tiles, tile, -1).transpose(0, 2, 1))


def pack_convolution(filters: np.ndarray, q: int, p: int, across: int, down: int, split: bool) -> np.ndarray:
    """int8 [M, C, R, S] -> uint64 [tiles, groups, across, pairs, R, p, S].

    A tile is p filters for each of `across` x `down` PE sets. split: each of them is a pair of sets that take the two
    channel halves of the same filters, and a group is 2q channels. Otherwise the sets of a pair take the same q
    channels of two runs of p filters: with half_by_set words of filters (m, m + p), and zeros where the last set of an
    odd number of them has no partner.
    """
    count, channels, rows, taps = filters.shape
    tile = across * down * p
    tiles, words = -(-count // tile), -(-channels // (2 * q))
    padded = np.zeros((tiles * tile, rows, taps, channels), np.int8)
    padded[:count] = filters.transpose(0, 2, 3, 1)
    values = split_channels(padded, q)  # [M, R, S, words, 8]
    values = values.reshape(tiles, across, down, p, rows, taps, words, 8)
    if split:
        return words_of(values.transpose(0, 6, 1, 2, 4, 3, 5, 7))
    values = np.pad(values, [(0, down % 2 if axis == 2 else 0) for axis in range(values.ndim)])
    halves = values.reshape(tiles, across, -(-down // 2), 2, p, rows, taps, words * 2, WORD_CHANNELS)
    ordered = halves.transpose(0, 7, 1, 2, 5, 4, 6, 3, 8)  # [t, group, across, pair, R, p, S, set, lane]
    return words_of(ordered.reshape(*ordered.shape[:-2], 8))


def pad_runs(packed: np.ndarray, lanes: int) -> np.ndarray:
    """Packed filters of a convolution, uint64 [..., p, S] -> [..., words]: each run of p x S words begins where a port
    of so many words reads."""
    runs = packed.reshape(*packed.shape[:-2], -1)
    return np.pad(runs, [(0, 0)] * (runs.ndim - 1) + [(0, -runs.shape[-1] % lanes)])
