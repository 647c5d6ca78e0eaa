# SPDX-License-Identifier: Apache-2.0
"""Memory layouts of feature maps in the GLB and in DRAM, in 64-bit words.

A word is two halves of q channels each (q = 4 except for test mappings with q < 4; unused lanes are zero). Word g of a
pixel holds channels 2qg to 2qg + q - 1 in its low half, the next q in its high half. A packed map has at most 4
channels, and two neighbouring pixels in a word: columns 2k in its low half, 2k + 1 in its high half.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from eyrie.model.config import WORD_CHANNELS
from eyrie.model.errors import InputError

NARROW_GROUPS = 1024  # with so many groups (8 KiB and more), a map of one column has no second word in its rows


def word_groups(channels: int) -> int:
    """Return the GLB words that hold the channels of one pixel."""
    return -(-channels // 8)


def words_of(values: np.ndarray) -> np.ndarray:
    """Pack int8 [..., 8] into uint64 [...]."""
    return np.ascontiguousarray(values, np.int8).view(np.uint64)[..., 0]


def split_channels(values: np.ndarray, q: int = WORD_CHANNELS) -> np.ndarray:
    """Split integers [..., C] into [..., words, 8]: channels in halves of q, missing ones zero."""
    channels = values.shape[-1]
    words = -(-channels // (2 * q))
    padded = np.zeros((*values.shape[:-1], words * 2 * q), values.dtype)
    padded[..., :channels] = values
    halves = np.zeros((*values.shape[:-1], words, 2, WORD_CHANNELS), values.dtype)
    halves[..., :q] = padded.reshape(*values.shape[:-1], words, 2, q)
    return halves.reshape(*values.shape[:-1], words, 2 * WORD_CHANNELS)


@dataclass(frozen=True)
class FeatureMap:
    """Feature maps in the GLB: rows of [word group][x], or planes of [y][x], one for each word group.

    rows, cols   size of a map in pixels
    groups       words per pixel
    address      GLB word where the storage begins
    ring_rows    rows of storage of a map; row y lies in slot (y + shift) mod ring_rows
    planar       NC/8HW8 layout: the rows of a word group are contiguous
    images       number of images; they are contiguous, in planes within each plane
    packed       two pixels of at most 4 channels share a word
    """

    rows: int
    cols: int
    groups: int
    address: int
    ring_rows: int
    shift: int = 0
    planar: bool = False
    images: int = 1
    packed: bool = False

    @cached_property
    def pitch(self) -> int:
        """Return the words of a row of one group.

        The number is even, because pairs of words are read, and an AXI beat may have two words. A single column of many
        groups has no second word; then the number of groups is even.
        """
        narrow = self.cols == 1 and self.groups >= NARROW_GROUPS and self.groups % 2 == 0
        words = self.column_step(self.cols + self.cols % 2)
        return 1 if narrow else words + words % 2

    def column_step(self, columns: int) -> int:
        """Return the words from one column to another; in a packed map, both columns are even."""
        return columns // 2 if self.packed else columns

    @property
    def used_words(self) -> int:
        """Return the words with pixels of a row of one group."""
        return self.column_step(self.cols + self.cols % 2) if self.packed else self.cols

    @property
    def row_words(self) -> int:
        """Return the words of a row of all groups."""
        return self.groups * self.pitch

    @property
    def words(self) -> int:
        return self.images * self.ring_rows * self.row_words

    @property
    def image_step(self) -> int:
        """Return the words from one image to the next."""
        return self.ring_rows * self.row_step

    @property
    def row_step(self) -> int:
        """Return the words from one row to the next."""
        return self.pitch if self.planar else self.row_words

    @property
    def group_step(self) -> int:
        """Return the words from one group to the next."""
        return self.images * self.image_step if self.planar else self.pitch

    @property
    def flat(self) -> "FeatureMap":
        """Return the same words as a map of one row (H and W merged). Words between the rows become unused pixels.

        Raise InputError unless all rows of each group are contiguous.
        """
        if not self.planar or self.packed or self.images > 1 or self.ring_rows != self.rows or self.shift:
            raise InputError("a map that is one row lies whole, in planes")
        return replace(self, rows=1, cols=self.rows * self.pitch, ring_rows=1)

    def slice(self, slices: int, number: int) -> "PartMap":
        """Return a slice of the channels, of whole words."""
        groups = self.groups // slices
        sizes = self.rows, self.cols, groups, self.address + number * groups * self.group_step, self.ring_rows
        return PartMap(*sizes, self.shift, self.planar, self.images, self.packed, self.row_step, self.pitch)

    def row_address(self, y: int) -> int:
        return self.address + (y + self.shift) % self.ring_rows * self.row_step

    def pack(self, values: np.ndarray, q: int = WORD_CHANNELS) -> np.ndarray:
        """Pack int8 [rows, cols, C] into uint64 [rows, groups, pitch]."""
        if self.packed:
            pixels = np.zeros((self.rows, 2 * self.pitch, WORD_CHANNELS), np.int8)
            pixels[:, : self.cols, : values.shape[2]] = values
            return words_of(pixels.reshape(self.rows, 1, self.pitch, 2 * WORD_CHANNELS))
        words = words_of(split_channels(values, q)).transpose(0, 2, 1)
        out = np.zeros((self.rows, self.groups, self.pitch), np.uint64)
        out[:, : words.shape[1], : self.cols] = words
        return out

    def unpack(self, words: np.ndarray, channels: int) -> np.ndarray:
        """Unpack uint64 [rows, groups, pitch] into int8 [rows, cols, channels]."""
        if self.packed:
            pixels = np.ascontiguousarray(words).view(np.int8).reshape(self.rows, -1, WORD_CHANNELS)
            return pixels[:, : self.cols, :channels]
        pixels = np.ascontiguousarray(words[:, :, : self.cols].transpose(0, 2, 1))
        return pixels.view(np.int8).reshape(self.rows, self.cols, -1)[..., :channels]


@dataclass(frozen=True)
class PartMap(FeatureMap):
    """A map that lies in a larger one. whole_row: words from one row to the next there; whole_pitch: of a row of one
    group"""

    whole_row: int = 0
    whole_pitch: int = 0

    @property
    def row_step(self) -> int:
        return self.whole_row

    @cached_property
    def pitch(self) -> int:
        return self.whole_pitch
