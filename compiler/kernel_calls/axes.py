# SPDX-License-Identifier: Apache-2.0
"""Axes of arrays and their strides. Axes that can be counted as one are merged."""

from dataclasses import dataclass
from math import prod

Sizes = tuple[int, ...]


@dataclass(frozen=True)
class Walk:
    """A walk through arrays of `sizes` at once, row by row. strides: of each array along each axis"""

    sizes: Sizes
    strides: tuple[Sizes, ...]

    @property
    def count(self) -> int:
        return prod(self.sizes)

    def merged(self) -> "Walk":
        """Return the same walk with as few axes as possible."""
        axes: list[tuple[int, Sizes]] = []  # size, strides of the arrays
        for size, steps in zip(self.sizes, zip(*self.strides)):
            if size == 1:
                continue
            if axes and all(outer == size * inner for outer, inner in zip(axes[-1][1], steps)):
                size *= axes.pop()[0]
            axes.append((size, steps))
        return Walk(
            tuple(size for size, _ in axes),
            tuple(tuple(steps[array] for _, steps in axes) for array in range(len(self.strides))),
        )

    def without_last(self) -> "Walk":
        return Walk(self.sizes[:-1], tuple(steps[:-1] for steps in self.strides))


def dense(sizes: Sizes, element: int = 1) -> Sizes:
    """Return the strides of a contiguous array."""
    return tuple(element * prod(sizes[axis + 1 :]) for axis in range(len(sizes)))


def broadcast(sizes: Sizes, to: Sizes) -> Sizes:
    """Return the strides of an array that is broadcast to these sizes, aligned at the last axis."""
    steps = tuple(0 if size == 1 else step for size, step in zip(sizes, dense(sizes)))
    return (0,) * (len(to) - len(sizes)) + steps
