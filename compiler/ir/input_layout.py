# SPDX-License-Identifier: Apache-2.0
"""Inputs as the host writes them: as patches (space-to-depth), of which a pixel has the values of several neighbouring
pixels of the input, and as values of a lookup table."""

from dataclasses import dataclass

import numpy as np

from eyrie.model.operators.quantization import Quantization

Pair = tuple[int, int]  # of rows, of columns


@dataclass(frozen=True)
class InputTable:
    """Values that the host writes instead of an input's own.

    values        the int8 values for -128 to 127
    quantization  of the input; its map has the quantisation of the results
    """

    values: bytes
    quantization: Quantization


@dataclass(frozen=True)
class Patches:
    """The layout of an input as patches, which the host writes (space-to-depth).

    Channel (i kernel[1] + j) C + c of the patch (y, x) has the value c of the input's pixel (y step + i - before, x
    step + j - before), or the zero point outside the input.

    shape   of the input, (H, W, C)
    rows, cols  patches
    kernel  pixels of a patch
    step    pixels from one patch to the next
    before  rows and columns that the first patch begins outside the input
    taps    kernel of the convolution on the input, which a convolution of fewer taps on the patches replaces
    """

    shape: tuple[int, int, int]
    rows: int
    cols: int
    kernel: Pair
    step: Pair
    before: Pair
    taps: Pair

    @property
    def channels(self) -> int:
        """Return the channels of a pixel of the map."""
        return self.kernel[0] * self.kernel[1] * self.shape[2]

    @property
    def filter_bytes(self) -> int:
        """Return the bytes of a filter as the model has it."""
        return self.taps[0] * self.taps[1] * self.shape[2]

    def of(self, values: np.ndarray, zero_point: int) -> np.ndarray:
        """Lay out int8 [H, W, C] as int8 [rows, cols, channels]."""
        found = np.full((self.rows, self.cols, *self.kernel, self.shape[2]), zero_point, np.int8)
        for i in range(self.kernel[0]):
            for j in range(self.kernel[1]):
                y, own_rows = self._inside(0, self.rows, i)
                x, own_cols = self._inside(1, self.cols, j)
                found[own_rows, own_cols, i, j] = values[y][:, x]
        return found.reshape(self.rows, self.cols, self.channels)

    def _inside(self, axis: int, count: int, tap: int) -> tuple[np.ndarray, slice]:
        """Return the patches whose tap lies inside the input: the tap's input places, and the range of the patches."""
        places = np.arange(count) * self.step[axis] + tap - self.before[axis]
        first, end = np.searchsorted(places, [0, self.shape[axis]])
        return places[first:end], slice(first, end)
