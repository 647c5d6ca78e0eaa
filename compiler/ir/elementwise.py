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
    """A loop of `count` rounds. Each round is `step` rows or columns of a map further."""

    count: int
    axis: Axis
    step: int


@dataclass(frozen=True, kw_only=True)
class Elementwise(Group):
    """A fused operator that the vector unit runs: the first operation of its epilogue works on the words of its source.

    walk     loops over pixels of the source, innermost first, in the order of the output's; empty: as the window says,
             with negative pads that leave out the first pixels, or each pixel as often as `repeat` says
    repeat   rows and columns that a pixel of the source becomes
    outside  value of pixels that the source does not have
    others   the feature map of the second operand, if it has one; one row or one column is broadcast
    """

    walk: tuple[Loop, ...] = ()
    repeat: tuple[int, int] = (1, 1)
    outside: int = 0

    @cached_property
    def geometry(self) -> tuple:
        """Return the geometry with the order of pixels and the operation, because the cycles of a word depend on
        them."""
        return *super().geometry, self.output.shape, self.walk, self.repeat, self.operation.kind

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
        return bool(self.walk)

    @property
    def together(self) -> int:
        return self.repeat[0]

    @property
    def in_place(self) -> bool:
        """Return whether each output word depends only on the input word at the same place."""
        return self.window == Window() and not self.walk and self.repeat == (1, 1)

    def input_rows(self, first: int, last: int) -> tuple[int, int]:
        if self.walk:
            return 0, self.source.shape[0]
        return super().input_rows(first // self.repeat[0], -(-last // self.repeat[0]))

    def pixels(self, rows: int) -> tuple[Loop, ...]:
        """Return the loops over pixels of the source for so many rows of the output."""
        if self.walk:
            return self.walk
        (down, across), (times_down, times_across), cols = self.window.stride, self.repeat, self.output.shape[1]
        loops = (
            Loop(times_across, Axis.COLUMN, 0),
            Loop(cols // times_across, Axis.COLUMN, across),
            Loop(times_down, Axis.ROW, 0),
            Loop(rows // times_down, Axis.ROW, down),
        )
        return loops if self.repeat != (1, 1) else loops[1::2]
