# SPDX-License-Identifier: Apache-2.0
"""Passes with many iterations of a loop that are alike: the timeline follows the first few, and repeats the last ones.

After some iterations of its outermost loop a pass is in a steady state, in which all iterations take the same time.
"""

from dataclasses import dataclass, replace
from typing import Any

from eyrie.compiler.cost.timing.shape import PassShape
from eyrie.model.encoding import ArrayMode

KEPT = 4  # iterations that are followed, at least
TURNS, FUSED_TURNS = 12, 96  # channel groups that are followed, at least: a fused pass fills the word buffer first
LEAST = 1.5  # of the iterations that are followed: a loop with fewer is not shortened
KEPT_WORDS = 512  # of the first operand of a vector pass


@dataclass(frozen=True)
class Shortened:
    """A pass with fewer iterations of a loop.

    kept, left: iterations that the pass has, and that were left out
    marks: that an iteration has (Drain.marks); rounds: whether each iteration has filter chunks of its own
    """

    shape: PassShape
    kept: int
    left: int
    marks: int
    rounds: bool

    def period(self, marks: list[int]) -> float:
        """Return the cycles of an iteration in the steady state: of the last half of the iterations."""
        steady = self.kept // 2
        return (marks[-1] - marks[-1 - steady * self.marks]) / steady

    def chunks(self, events: list[tuple[int, bool]], period: float) -> list[tuple[int, bool]]:
        """Return the chunk events of the whole pass, from the ones of the shortened pass."""
        late = round(self.left * period)
        if not self.rounds:  # the last iteration frees them
            return sorted((at if is_used else at + late, is_used) for at, is_used in events)
        each = len(events) // self.kept // 2  # chunks of an iteration
        used, freed = ([at for at, is_used in events if is_used is wanted] for wanted in (True, False))
        for n in range(1, self.left + 1):
            used += [at + round(n * period) for at in used[(self.kept - 1) * each : self.kept * each]]
            freed += [at + round(n * period) for at in freed[(self.kept - 1) * each : self.kept * each]]
        return sorted([*((at, True) for at in used), *((at, False) for at in freed)])


def shortened(shape: PassShape) -> Shortened | None:
    """Return a pass with fewer iterations of its outermost loop that has several; None if there are only a few."""
    if shape.mode == ArrayMode.ELEMENTWISE:
        return _vector_pass(shape)
    if shape.mode == ArrayMode.DEPTHWISE:
        return None
    if shape.outer > 1:
        return _first(shape, "outer", shape.tiles * shape.inner) if not shape.chunk_groups else None
    if shape.tiles > 1:
        return _first(shape, "tiles", shape.inner)
    return _first(shape, "inner", 1)


def _first(shape: PassShape, loop: str, marks: int) -> Shortened | None:
    """Return a pass with the first iterations of a loop. marks: drain tiles of an iteration"""
    count: int = getattr(shape, loop)
    names = ["filter", "table", "ofmap", "residual", "ifmap", "depthwise"]
    turns = TURNS if shape.mode != ArrayMode.FUSED else FUSED_TURNS
    if shape.mode == ArrayMode.FUSED and loop == "tiles":  # the first tile does all depthwise work
        names, turns = names[:4], TURNS
    kept = max(KEPT, -(-turns * count // shape.turns))
    if count < LEAST * kept:
        return None
    changed: dict[str, Any] = {f"banks_{name}": _part(shape, name, kept, count) for name in names} | {loop: kept}
    return Shortened(replace(shape, **changed), kept, count - kept, marks, loop == "tiles")


def _part(shape: PassShape, name: str, kept: int, count: int) -> list:
    """Return the words of a stream in the first `kept` of `count` iterations."""
    words: list = getattr(shape, f"banks_{name}")
    return words[: len(words) * kept // count]


def _vector_pass(shape: PassShape) -> Shortened | None:
    words, window = len(shape.banks_ifmap), max(shape.window, 1)
    results = -(-KEPT_WORDS // (KEPT * window))  # of an iteration
    count, rest = divmod(words, results * window)
    if count < LEAST * KEPT or rest:
        return None
    names = ["ifmap", "ofmap", "table"]
    if len(shape.banks_residual) == words:  # a second operand, not a table
        names.append("residual")
    banks: dict[str, Any] = {f"banks_{name}": _part(shape, name, KEPT, count) for name in names}
    return Shortened(replace(shape, **banks), KEPT, count - KEPT, results, False)
