# SPDX-License-Identifier: Apache-2.0
"""Fused operators that do not use the array: an elementwise operation, and the words that it reads."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from eyrie.compiler.ir.layer import Group, Table
from eyrie.compiler.ir.window import Window
from eyrie.compiler.ir.word_operation import WordOperation
from eyrie.model.encoding import Axis, Operation

_KINDS = {Operation.NONE: "move", Operation.SUM: "average"}


@dataclass(frozen=True)
class Loop:
    """A loop of `count` rounds. Each round is `step` rows, columns or (Axis.NONE) word groups of a map further."""

    count: int
    axis: Axis
    step: int


@dataclass(frozen=True, kw_only=True)
class Elementwise(Group):
    """A fused operator that the vector unit runs: the first operation of its epilogue works on the words of its source.

    walk     loops over the source for the pixels of the output, innermost first; empty: as the window says, with
             negative pads that leave out the first pixels, or each pixel as often as `repeat` says
    words    loops over the source for the words of a pixel, innermost first; empty: as the source has them
    repeat   rows and columns that a pixel of the source becomes
    outside  value of pixels that the source does not have
    others   the feature map of the second operand, if it has one; one row or one column is broadcast
    """

    walk: tuple[Loop, ...] = ()
    words: tuple[Loop, ...] = ()
    repeat: tuple[int, int] = (1, 1)
    outside: int = 0

    @cached_property
    def geometry(self) -> tuple:
        """Return the geometry with the order of pixels and the operation, because the cycles of a word depend on
        them."""
        return *super().geometry, self.output.shape, self.walk, self.words, self.repeat, self.operation.kind

    @property
    def operation(self) -> WordOperation:
        return self.operations[0]

    @property
    def kind(self) -> str:
        return _KINDS.get(self.operation.kind, self.operation.name)

    @property
    def weights(self) -> tuple[np.ndarray, ...]:
        return ()

    @property
    def tables(self) -> tuple[Table, ...]:
        return ()

    @property
    def map_shape(self) -> tuple[int, int]:
        return self.output.shape[:2]

    @property
    def at_once(self) -> bool:
        return bool(self.walk) and not self._rows_in_order

    @cached_property
    def _rows_in_order(self) -> bool:
        """Return whether rows of the source follow each other in the outermost loop of the walk only, each for as many
        rows of the output."""
        last = self.walk[-1]
        return (
            [loop for loop in (*self.walk, *self.words) if loop.axis == Axis.ROW] == [last]
            and (last.count, last.step) == (self.source.shape[0], 1)
            and self.output.shape[0] % last.count == 0
            and not any(self.window.pads)
        )

    @property
    def together(self) -> int:
        return self.output.shape[0] // self.walk[-1].count if self.walk and self._rows_in_order else self.repeat[0]

    @property
    def in_place(self) -> bool:
        """Return whether each output word depends only on the input word at the same place."""
        return self.window == Window() and not self.walk and not self.words and self.repeat == (1, 1)

    @property
    def copies(self) -> bool:
        return self.in_place and [operation.kind for operation in self.operations] == [Operation.NONE]

    def input_rows(self, first: int, last: int) -> tuple[int, int]:
        if self.at_once:
            return 0, self.source.shape[0]
        return super().input_rows(first // self.together, -(-last // self.together))

    def pixels(self, rows: int) -> tuple[Loop, ...]:
        """Return the loops over pixels of the source for so many rows of the output."""
        if self.at_once:
            return self.walk
        if self.walk:
            return *self.walk[:-1], Loop(rows // self.together, Axis.ROW, 1)
        (down, across), (times_down, times_across), cols = self.window.stride, self.repeat, self.output.shape[1]
        loops = (
            Loop(times_across, Axis.COLUMN, 0),
            Loop(cols // times_across, Axis.COLUMN, across),
            Loop(times_down, Axis.ROW, 0),
            Loop(rows // times_down, Axis.ROW, down),
        )
        return loops if self.repeat != (1, 1) else loops[1::2]
