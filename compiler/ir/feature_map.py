# SPDX-License-Identifier: Apache-2.0
"""How maps lie in the GLB and in DRAM: 64-bit words, and the order in which they are read.

A word is two halves of q channels each (q = 4 but for test mappings with q < 4; unused lanes are
zero): word g of a pixel holds channels 2qg to 2qg + q - 1 in its low half, the next q in its high half.
"""

from dataclasses import dataclass

import numpy as np

from model.config import WORD_CHANNELS

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


def map_words(shape: tuple[int, int, int]) -> int:
    rows, cols, channels = shape
    return FeatureMap(rows, cols, word_groups(channels), 0, rows).words


def row_words(shape: tuple[int, int, int]) -> int:
    return map_words((1, *shape[1:]))
