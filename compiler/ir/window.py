# SPDX-License-Identifier: Apache-2.0
"""The window of a layer, and the pixels that it covers."""

from dataclasses import dataclass
from functools import cached_property

from eyrie.model.errors import InputError
from eyrie.model.messages import times


@dataclass(frozen=True)
class Window:
    """The window of a layer: the pixels of the input that an output pixel depends on.

    kernel: R, S; stride (U) and dilation: of rows, of columns; pads: top, bottom, left, right
    fold: 0: each row of taps has a row of the input; else all are in one row, `fold` columns apart
    """

    kernel: tuple[int, int] = (1, 1)
    stride: tuple[int, int] = (1, 1)
    pads: tuple[int, int, int, int] = (0, 0, 0, 0)
    dilation: tuple[int, int] = (1, 1)
    fold: int = 0

    @property
    def taps(self) -> int:
        """Return the number of taps; where rows of taps overlap, each column counts once."""
        return self.span[1] if self.fold else self.kernel[0] * self.kernel[1]

    @cached_property
    def span(self) -> tuple[int, int]:
        """Return the rows and columns from the first tap to the last."""
        if self.fold:
            return 1, (self.kernel[0] - 1) * self.fold + self.kernel[1]
        rows, cols = ((taps - 1) * step + 1 for taps, step in zip(self.kernel, self.dilation))
        return rows, cols

    @property
    def dense(self) -> tuple[int, int]:
        """Return the rows and columns of the kernel with zeros between dilated taps."""
        return self.kernel if self.fold else self.span

    def __str__(self) -> str:
        said = f"stride {_pair(self.stride)} pads {' '.join(map(str, self.pads))}"
        dilated = "" if self.dilation == (1, 1) else f" dilation {_pair(self.dilation)}"
        return said + dilated + (f" fold {self.fold}" if self.fold else "")


POINTWISE = Window()


def _pair(values: tuple[int, int]) -> str:
    return str(values[0]) if values[0] == values[1] else times(values)


def output_size(shape: tuple[int, int], window: Window) -> tuple[int, int]:
    """Return (E, F). Raise InputError if the kernel is larger than the padded map."""
    top, bottom, left, right = window.pads
    height, width = shape[0] + top + bottom, shape[1] + left + right
    rows, cols = window.span
    if height < rows or width < cols:
        dilated = "" if window.dilation == (1, 1) else f" with dilation {_pair(window.dilation)}"
        raise InputError(f"a {times(window.kernel)} kernel{dilated} does not fit a padded map of {height} x {width}")
    return (height - rows) // window.stride[0] + 1, (width - cols) // window.stride[1] + 1


def input_rows(window: Window, height: int, first: int, last: int) -> tuple[int, int]:
    """Return the input rows, clipped to the map, that output rows first to last - 1 need. The range may be empty."""
    top = min(height, max(0, first * window.stride[0] - window.pads[0]))
    end = min(height, (last - 1) * window.stride[0] - window.pads[0] + window.span[0])
    return top, max(top, end)
