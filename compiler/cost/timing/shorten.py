# SPDX-License-Identifier: Apache-2.0
"""Passes with many iterations of a loop that are alike: the timeline follows the first few, and repeats the last ones.

After some iterations of its outermost loop a pass is in a steady state, in which all iterations take the same time. So
is a run through many channel groups: all that are left out take as long as the last ones that are followed.
"""

from dataclasses import dataclass, replace
from typing import Any

from eyrie.compiler.cost.timing.shape import PassShape
from eyrie.model.encoding import PARAMETER_WORDS, ArrayMode

Fields = dict[str, Any]  # of PassShape, by name
KEPT = 4  # iterations that are followed, at least
TURNS, FUSED_TURNS = 12, 96  # channel groups that are followed, at least: a fused pass fills the word buffer first
LEAST = 1.5  # of the iterations that are followed: a loop with fewer is not shortened
KEPT_GROUPS = {ArrayMode.POINTWISE: 32, ArrayMode.CONVOLUTION: 16}  # of a run that are followed, at least
DRAINS, KEPT_CYCLES = 2, 1024  # that these take at least: drains of a tile, and cycles
KEPT_WORDS = 512  # of the first operand of a vector pass


@dataclass(frozen=True)
class Stretched:
    """The times of a whole pass, from the ones of a shortened one.

    period: cycles of an iteration that is left out, without the groups that are; group: cycles of a channel group
    """

    short: "Shortened"
    period: float
    group: float

    @property
    def run(self) -> float:
        """Return the cycles of the channel groups that are left out in each run."""
        return self.group * (self.short.whole.groups - self.short.shape.groups)

    @property
    def more(self) -> int:
        """Return the cycles that the whole pass takes longer."""
        return round(self.short.left * self.period + self.short.whole.runs * self.run)

    def place(self, run: int, group: int) -> tuple[int, int]:
        """Return the turn of the shortened pass for one of the whole pass, and the cycles by which that is later."""
        short = self.short
        iteration = short.shape.runs // short.kept  # runs
        over = max(0, run // iteration - short.kept + 1)
        later, kept = over * self.period + run * self.run, short.shape.groups
        if group >= kept:
            again, place = divmod(group - kept, short.steady)
            later, group = later + (again + 1) * short.steady * self.group, kept - short.steady + place
        return (run - over * iteration) * kept + group, round(later)


@dataclass(frozen=True)
class Shortened:
    """A pass with fewer iterations of a loop, or fewer channel groups.

    shape: of the pass that is followed; whole: of the one that it stands for
    kept, left: iterations that the pass has, and that were left out
    marks: that an iteration has (Drain.marks); steady: groups at the end of each run that those left out are like
    """

    shape: PassShape
    whole: PassShape
    kept: int
    left: int
    marks: int
    steady: int = 1

    def stretched(self, marks: list[int], begins: list[int]) -> Stretched:
        """Return the times of the whole pass. marks: of the drain; begins: of the groups"""
        period, group = 0.0, 0.0
        if self.left:  # the steady state: the last half of the iterations
            steady = self.kept // 2
            period = (marks[-1] - marks[-1 - steady * self.marks]) / steady
        if self.shape.groups < self.whole.groups:
            last = range(self.shape.groups - 1, len(begins), self.shape.groups)
            group = sum(begins[n] - begins[n - self.steady] for n in last) / len(last) / self.steady
        return Stretched(self, period, group)


def shortened(shape: PassShape) -> Shortened | None:
    """Return a pass with fewer iterations of its outermost loop that has several, and fewer channel groups; None if
    there are only a few."""
    if shape.mode == ArrayMode.ELEMENTWISE:
        return _vector_pass(shape)
    if shape.mode == ArrayMode.DEPTHWISE:
        return None
    found = _iterations(shape)
    if kept := _kept_groups(shape):
        found, each = found or Shortened(shape, shape, shape.runs, 0, 1), shape.chunk_groups or 1
        found = replace(found, shape=_fewer_groups(found.shape, kept), steady=3 * kept // 4 // each * each)
    return found


def _iterations(shape: PassShape) -> Shortened | None:
    if shape.outer > 1:
        return _first(shape, "outer", shape.tiles * shape.inner) if not shape.chunk_groups else None
    if shape.tiles > 1:
        return _first(shape, "tiles", shape.inner)
    return _first(shape, "inner", 1)


def _first(shape: PassShape, loop: str, marks: int) -> Shortened | None:
    """Return a pass with the first iterations of a loop. marks: drain tiles of an iteration"""
    count: int = getattr(shape, loop)
    names = ["filter", "table", "ofmap", *["residual"] * shape.has_operands]  # a lookup table comes as a whole
    is_fused = shape.mode == ArrayMode.FUSED
    if not is_fused or loop != "tiles":  # the first tile does all depthwise work
        names += ["ifmap", "depthwise"]
    turns = FUSED_TURNS if is_fused and loop != "tiles" else TURNS
    kept = max(KEPT, -(-turns * count // shape.turns), -(-KEPT_CYCLES * count // (_group_cycles(shape) * shape.turns)))
    if count < LEAST * kept:
        return None
    changed: Fields = {f"banks_{name}": _part(shape, name, kept, count) for name in names} | {loop: kept}
    return Shortened(replace(shape, **changed), shape, kept, count - kept, marks)


def _part(shape: PassShape, name: str, kept: int, count: int) -> list:
    """Return the words of a stream in the first `kept` of `count` iterations."""
    words: list = getattr(shape, f"banks_{name}")
    return words[: len(words) * kept // count]


def _kept_groups(shape: PassShape) -> int:
    """Return the channel groups of a run that are followed, whole filter chunks; 0: all are.

    While they are worked on, the sums of the tile before leave, as in the whole pass.
    """
    if shape.mode not in KEPT_GROUPS:
        return 0
    group = _group_cycles(shape)
    beats = shape.chains * shape.pairs * ((shape.blocks - 1) * shape.block + shape.last_block)
    words = sum(map(len, shape.banks_ofmap)) // shape.runs
    drain = max(beats, words, shape.blocks * PARAMETER_WORDS)
    each = shape.chunk_groups or 1
    least = max(KEPT_GROUPS[shape.mode], -(-max(DRAINS * drain, KEPT_CYCLES) // group), 2 * each)
    kept = -(-least // each) * each
    return kept if shape.groups >= LEAST * kept else 0


def _group_cycles(shape: PassShape) -> int:
    """Return the cycles that a channel group takes at least: of the ifmap beats, the filter beats or the MACs."""
    taps = shape.taps if shape.mode == ArrayMode.CONVOLUTION else 1
    return max(len(shape.beats), len(shape.banks_filter) // shape.turns, shape.filters[0] * taps * shape.pixels)


def _fewer_groups(shape: PassShape, kept: int) -> PassShape:
    """Return a pass with the first channel groups of each run."""
    changed: Fields = {}
    for name in ("ifmap", "filter"):
        words: list = getattr(shape, f"banks_{name}")
        run = len(words) // shape.runs
        changed[f"banks_{name}"] = [
            word for first in range(0, len(words), run) for word in words[first : first + run * kept // shape.groups]
        ]
    return replace(shape, groups=kept, **changed)


def _vector_pass(shape: PassShape) -> Shortened | None:
    words, window = len(shape.banks_ifmap), max(shape.window, 1)
    results = -(-KEPT_WORDS // (KEPT * window))  # of an iteration
    count, rest = divmod(words, results * window)
    if count < LEAST * KEPT or rest:
        return None
    names = ["ifmap", "ofmap", "table"]
    if len(shape.banks_residual) == words:  # a second operand, not a table
        names.append("residual")
    banks: Fields = {f"banks_{name}": _part(shape, name, KEPT, count) for name in names}
    return Shortened(replace(shape, **banks), shape, KEPT, count - KEPT, results)
