# SPDX-License-Identifier: Apache-2.0
"""Data-movement operators as loops over pixels and as filters of ones and zeros.

The compiler runs the operator on the numbers of places, so that each output value shows its source place, or is a
constant. Pixels must move independently of channels, in an order that loops have, and channels independently of pixels.
Then a vector pass copies the words, and a pointwise convolution permutes the channels: each of its filters has a single
1. Or whole words of 8 channels move, in an order that loops have. Parts from several inputs are joined by maxima with a
feature map that has -128 elsewhere.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod

import numpy as np

from eyrie.compiler.ir.elementwise import Elementwise, Loop
from eyrie.compiler.ir.graph import Node, map_shape
from eyrie.compiler.ir.layer import Group, Output, Pointwise, Table, array_offset
from eyrie.compiler.ir.maps import Map, are_writable
from eyrie.compiler.ir.tensor import Constant
from eyrie.compiler.ir.window import Window
from eyrie.compiler.ir.word_operation import AS_IS, copy, larger
from eyrie.model.encoding import STREAM_LEVEL, Axis
from eyrie.model.operators.quantization import INT8_MIN

_AXES = (Axis.ROW, Axis.COLUMN, Axis.NONE)  # of places: row, column, word group
_OUTSIDE = 512  # first number of a place; smaller numbers are values
MOST_PLACES = 1 << 24  # values of a tensor whose places are numbered
MOST_LOOPS = 8  # over pixels and words, beside the loop over images


class Unmovable(ValueError):
    """A data-movement operator that loops cannot express; the message names the obstacle."""


@dataclass(frozen=True)
class Block:
    """Pixels and words of a feature map that another one has, too, in the same order. source, made: the first row, word
    group and column in each; shape: (H, W, C)"""

    source: tuple[int, int, int]
    made: tuple[int, int, int]
    shape: tuple[int, int, int]


@dataclass(frozen=True, eq=False)
class Move:
    """The part of one output that comes from one input.

    channels  int [M]: which channel of the input, -1 for none: `fill`
    loops     over pixels of the input, innermost first, in the output's order; empty: as window and repeat say
    words     loops over words of the input for the words of a pixel, innermost first; empty: as `channels` says
    window    its pads and strides; if the move has loops, its pads say where they begin
    repeat    rows and columns that a pixel becomes
    fill      the value of elements that are not of the input
    """

    source: tuple[int, int, int]
    made: tuple[int, int, int]
    channels: np.ndarray
    window: Window
    repeat: tuple[int, int]
    loops: tuple[Loop, ...]
    fill: int
    words: tuple[Loop, ...] = ()

    @cached_property
    def same_channels(self) -> bool:
        return bool(self.words) or np.array_equal(self.channels, np.arange(self.source[2]))

    @cached_property
    def same_pixels(self) -> bool:
        return self.source[:2] == self.made[:2] and not self.loops and self.window == Window()

    @property
    def block(self) -> Block | None:
        """Return what the result has of the source if that is a rectangle and whole words of channels."""
        top, bottom, left, right = self.window.pads
        taken = np.flatnonzero(self.channels >= 0)
        made, count = int(taken[0]), len(taken)
        first = int(self.channels[made])
        in_order = np.array_equal(self.channels[made : made + count], np.arange(first, first + count))
        of_words = first % 8 == made % 8 == 0
        of_words &= count % 8 == 0 or (first + count, made + count) == (self.source[2], self.made[2])
        as_they_are = not self.loops and self.repeat == (1, 1) and self.window.stride == (1, 1)
        if self.words or not (in_order and of_words and as_they_are):
            return None
        rows, cols = self.made[0] - max(top, 0) - max(bottom, 0), self.made[1] - max(left, 0) - max(right, 0)
        source = max(-top, 0), first // 8, max(-left, 0)
        return Block(source, (max(top, 0), made // 8, max(left, 0)), (rows, cols, count))


def moves_of(node: Node) -> list[list[Move]]:
    """Return the parts of each output, by input. Raise Unmovable."""
    inputs = node.inputs
    if any(isinstance(tensor, Constant) for tensor in inputs):
        raise Unmovable("a constant")
    if any(tensor.size > MOST_PLACES for tensor in (*inputs, *node.outputs)):
        raise Unmovable(f"a map of more than {MOST_PLACES} values")
    found: list[list[Move]] = [[] for _ in node.outputs]
    for n in range(len(inputs)):
        fill = INT8_MIN if len(inputs) > 1 else 0
        values = tuple(
            np.arange(_OUTSIDE, _OUTSIDE + tensor.size).reshape(tensor.shape) if k == n else np.full(tensor.shape, fill)
            for k, tensor in enumerate(inputs)
        )
        for moves, places, output in zip(found, node.run(values), node.outputs, strict=True):
            moves.append(_move(*_counted(places), map_shape(output.shape), map_shape(inputs[n].shape)))
    return found


def places_of(node: Node) -> list[tuple[np.ndarray, int]]:
    """Return the source places of each output, and the value of places that are -1 (operators/movement.py,
    Composed).

    Raise Unmovable if several values occur at places -1.
    """
    ends = np.cumsum([tensor.size for tensor in node.inputs])
    values = (
        np.arange(_OUTSIDE + end - tensor.size, _OUTSIDE + end).reshape(tensor.shape)
        for end, tensor in zip(ends, node.inputs)
    )
    return [_counted(places) for places in node.run(tuple(values))]


def _counted(places: np.ndarray) -> tuple[np.ndarray, int]:
    """Return places from 0 on, -1 for constants, and the value of these constants."""
    inside = places >= _OUTSIDE
    constants = np.unique(places[~inside])
    if len(constants) > 1:
        raise Unmovable("constants of several values")
    return np.where(inside, places - _OUTSIDE, -1), int(constants[0]) if len(constants) else 0


def by_pixel(places: np.ndarray, channels: int) -> tuple[np.ndarray, np.ndarray]:
    """Split places into pixels and channels. places: int [E, F, M] of a map with `channels` channels, -1 outside

    Return int [E, F], the source pixel, and int [M], the source channel; -1 for none. Raise Unmovable if pixels and
    channels are not independent.
    """
    inside = places >= 0
    pixels, channel = np.divmod(np.where(inside, places, 0), channels)
    here, there = np.any(inside, axis=2), np.any(inside, axis=(0, 1))
    pixel, channel_of = (np.where(inside, part, 0).max(axis=axes) for part, axes in ((pixels, 2), (channel, (0, 1))))
    if not np.array_equal(inside, here[:, :, None] & there) or np.any(
        inside & ((pixels != pixel[:, :, None]) | (channel != channel_of))
    ):
        raise Unmovable("other channels of other pixels")
    return np.where(here, pixel, -1), np.where(there, channel_of, -1)


def _move(places: np.ndarray, fill: int, made: tuple[int, int, int], source: tuple[int, int, int]) -> Move:
    """Return the move of places. places: of the source's values, -1 for the value `fill`"""
    try:
        pixel, channels = by_pixel(places.reshape(made), source[2])
    except Unmovable:
        if words := _by_word(places.reshape(made), source):
            return Move(source, made, np.arange(made[2]), Window(), (1, 1), words[0], fill, words[1])
        raise
    rows, cols = np.divmod(np.maximum(pixel, 0), source[1])
    window, repeat, loops = _loops(pixel >= 0, rows, cols, source)
    return Move(source, made, channels, window, repeat, loops, fill)


def _by_word(places: np.ndarray, source: tuple[int, int, int]) -> tuple[tuple[Loop, ...], tuple[Loop, ...]] | None:
    """Return loops over the source for pixels, and for the words of a pixel. Return None if the map does not consist of
    whole words of the source, from the first one on, in an order that loops have."""
    firsts = places[:, :, ::8]
    lanes = np.arange(places.shape[2]) % 8
    if np.any(places != np.repeat(firsts, 8, axis=2)[:, :, : len(lanes)] + lanes) or np.any(firsts % source[2] % 8):
        return None
    words = source[2] // 8
    if source[2] % 8 or firsts[0, 0, 0]:
        return None
    pixel, group = np.divmod(firsts // 8, words)
    at = np.stack([*np.divmod(pixel, source[1]), group], axis=-1)  # [E, F, G, 3]
    try:
        pixels = [loop for line in (at[0, :, 0], at[:, 0, 0]) for loop in _decomposed(line)]
        groups = _decomposed(at[0, 0])
    except Unmovable:
        return None
    if len(pixels) + len(groups) > MOST_LOOPS or not np.array_equal(
        _visited(_visited(at[:1, 0, 0], pixels), groups), at.transpose(2, 0, 1, 3).reshape(-1, 3)
    ):
        return None
    once = (Loop(1, Axis.NONE, 1),)
    return tuple(pixels) or once, tuple(groups) or once


def _visited(at: np.ndarray, loops: list[Loop]) -> np.ndarray:
    """Return the places [N, 2 or 3] that loops visit: rows, columns, groups. at: [1, 2 or 3] the first one"""
    for loop in loops:
        step = np.array([loop.axis == axis for axis in _AXES[: at.shape[1]]]) * loop.step
        at = (np.arange(loop.count)[:, None, None] * step + at).reshape(-1, at.shape[1])
    return at


def _loops(
    here: np.ndarray, rows: np.ndarray, cols: np.ndarray, source: tuple[int, int, int]
) -> tuple[Window, tuple[int, int], tuple[Loop, ...]]:
    """Return window, repeat and loops. here: bool [E, F], whether the pixel comes from the input; rows, cols: its place
    there"""
    if not here.any():
        raise Unmovable("no pixel of a map")
    if not here.all():
        return _padded(here, rows, cols, source), (1, 1), ()
    if not np.ptp(rows, axis=1).any() and not np.ptp(cols, axis=0).any():  # rows of rows, columns of columns
        down, across = _even(rows[:, 0]), _even(cols[0])
        if down and across:
            return _window(rows[0, 0], cols[0, 0], down, across, here.shape, source), (1, 1), ()
        repeat = here.shape[0] // source[0], here.shape[1] // source[1]
        if np.array_equal(rows[:, 0], np.repeat(np.arange(source[0]), repeat[0])) and np.array_equal(
            cols[0], np.repeat(np.arange(source[1]), repeat[1])
        ):
            return Window(), repeat, ()
    found = []
    for row, col in ((rows[0], cols[0]), (rows[:, 0], cols[:, 0])):
        found += _decomposed(np.stack([row, col], axis=1))
    at = _visited(np.array([[rows[0, 0], cols[0, 0]]]), found)
    if not np.array_equal(at, np.stack([rows, cols], axis=-1).reshape(-1, 2)):
        raise Unmovable("pixels in an order that is no loops'")
    if len(found) > MOST_LOOPS:
        raise Unmovable(f"pixels in {len(found)} loops")
    return Window(pads=(-int(rows[0, 0]), 0, -int(cols[0, 0]), 0)), (1, 1), tuple(found)


def _window(
    first_row: int, first_col: int, down: int, across: int, made: tuple[int, int], source: tuple[int, int, int]
) -> Window:
    """Return the window that sees places with these steps from the first row and column on."""
    bottom = (made[0] - 1) * down + 1 + first_row - source[0]
    right = (made[1] - 1) * across + 1 + first_col - source[1]
    return Window(stride=(down, across), pads=(-int(first_row), int(bottom), -int(first_col), int(right)))


def _padded(here: np.ndarray, rows: np.ndarray, cols: np.ndarray, source: tuple[int, int, int]) -> Window:
    """Return the window of a feature map, or a part of one, with a margin. Neighbours must stay neighbours.

    A margin cannot replace pixels that exist beside the part. Raise Unmovable.
    """
    (top, *_, bottom), (left, *_, right) = (np.flatnonzero(here.any(axis=axis))[[0, 0, -1]] for axis in (1, 0))
    part = slice(top, bottom + 1), slice(left, right + 1)
    row, col = rows[part], cols[part]
    first = row[0, 0], col[0, 0]
    if (
        not here[part].all()
        or np.any(row != first[0] + np.arange(len(row))[:, None])
        or np.any(col != first[1] + np.arange(row.shape[1]))
    ):
        raise Unmovable("a part of a map with a margin")
    ends = ((top, first[0], 0), (left, first[1], 0), (bottom, row[-1, 0], -1), (right, col[0, -1], -1))
    sizes = zip(ends, (*here.shape, *here.shape), (*source[:2], *source[:2]))
    if any(place != end % made and at != end % size for (place, at, end), made, size in sizes):
        raise Unmovable("a margin in place of a part of a map")
    return _window(first[0] - top, first[1] - left, 1, 1, here.shape, source)


def _even(places: np.ndarray) -> int:
    """Return the step between places, 1 for a single place. Return 0 if steps differ or go backwards."""
    steps = np.unique(np.diff(places))
    step = int(steps[0]) if len(steps) == 1 else int(len(steps) == 0)
    return max(step, 0)


def _decomposed(places: np.ndarray) -> list[Loop]:
    """Return loops, innermost first, that visit places [N, 2 or 3]: rows, columns, groups. Raise Unmovable."""
    count = len(places)
    if count == 1:
        return []
    step = places[1] - places[0]
    along = np.all(places == places[0] + np.arange(count)[:, None] * step, axis=1)
    run = count if along.all() else int(np.argmin(along))
    if np.count_nonzero(step) > 1 or count % run:
        raise Unmovable("pixels in an order that is no loops'")
    blocks = places.reshape(-1, run, places.shape[1])
    if np.any(blocks != blocks[:, :1] + np.arange(run)[:, None] * step):
        raise Unmovable("pixels in an order that is no loops'")
    axis = next((axis for axis, size in zip(_AXES, step) if size), Axis.COLUMN)
    if step.sum() < 0 or step.sum() > STREAM_LEVEL.largest("step"):
        raise Unmovable("pixels backwards, or far apart")
    return [Loop(run, axis, int(step.sum())), *_decomposed(blocks[:, 0])]


# ---- As parts of other maps ----


def blocks_of(node: Node, maps: Mapping[str, Map], ends: Collection[str], beat: int = 1) -> list[list[Block]]:
    """Return the blocks of its inputs that each output consists of. Return [] if an output is more than that, or if it
    has to lie by itself. ends: names of the outputs of the network; beat: words of a DRAM beat. Raise Unmovable."""
    inputs, outputs = ([maps[tensor.name] for tensor in side] for side in (node.inputs, node.outputs))
    found = []
    for output, moves in zip(outputs, moves_of(node), strict=True):
        blocks = [block for block in (move.block for move in moves) if block]
        whole = sum(prod(block.shape) for block in blocks) == prod(output.shape)
        if not whole or len(blocks) < len(moves) or (len(moves) == 1 and output.name in ends):
            return []
        if not all(_lies_in(source, block, output, beat) for source, block in zip(inputs, blocks)):
            return []
        found.append(blocks)
    return found


def _lies_in(source: Map, block: Block, made: Map, beat: int) -> bool:
    """Return whether whole rows of a source lie in the result as by themselves, or passes can write them there, and
    DRAM has whole beats of them."""
    first, width = block.made[2], block.shape[1]
    if width == source.shape[1] == made.shape[1]:
        return source.layout.pitch == made.layout.pitch
    return width == source.shape[1] and are_writable(first, width) and first % beat == width % beat == 0


def copy_of(where: str, source: Map, name: str) -> Elementwise:
    """Return the vector pass that copies a map."""
    return Elementwise(name=where, source=source, output=replace(source, name=name), epilogue=(copy(),))


# ---- As groups ----


def move_groups(node: Node, maps: Mapping[str, Map]) -> list[Group]:
    """Return the fused operators of a data-movement operator in the order in which they run. Raise Unmovable."""
    groups: list[Group] = []
    for output, moves in zip(node.outputs, moves_of(node), strict=True):
        so_far: Map | None = None
        for n, (move, tensor) in enumerate(zip(moves, node.inputs, strict=True)):
            made = maps[output.name]
            if n + 1 < len(moves):
                made = replace(made, name=f"{made.name}#{n}")
            groups += _groups_of(node.where, move, maps[tensor.name], made)
            if so_far is not None:
                groups[-1] = _joined(groups[-1], so_far)
            so_far = made
    return groups


def _groups_of(where: str, move: Move, source: Map, made: Map) -> list[Group]:
    """Return the fused operators of a part: channels first, if the output has fewer channels."""
    if move.same_channels:
        return [_copy(where, move, source, made)]
    if move.same_pixels:
        return [_deal(where, move, source, made)]
    name = f"{made.name}#channels"
    if move.made[2] < move.source[2]:
        between = replace(made, name=name, shape=(*move.source[:2], move.made[2]))
        return [_deal(where, move, source, between), _copy(where, move, between, made)]
    between = replace(source, name=name, shape=(*move.made[:2], move.source[2]))
    return [_copy(where, move, source, between), _deal(where, move, between, made)]


def _copy(where: str, move: Move, source: Map, made: Map) -> Elementwise:
    return Elementwise(
        name=where,
        source=source,
        output=made,
        window=move.window,
        walk=move.loops,
        words=move.words,
        repeat=move.repeat,
        outside=move.fill,
        epilogue=(copy(),),
    )


def _deal(where: str, move: Move, source: Map, made: Map) -> Pointwise:
    """Return a pointwise convolution whose filters have a single 1, so that sums are the values themselves."""
    zero_point = array_offset(source.zero_point)
    count = len(move.channels)
    taken = move.channels >= 0
    filters = np.zeros((count, source.shape[2]), np.int8)
    filters[np.flatnonzero(taken), move.channels[taken]] = 1
    bias = np.where(taken, 0, move.fill - zero_point).astype(np.int32)
    table = Table(
        bias, np.full(count, AS_IS["multiplier"], np.int32), np.full(count, AS_IS["shift"], np.int8), Output(zero_point)
    )
    return Pointwise(name=where, source=source, output=made, filters=filters, table=table)


def _joined(group: Group, other: Map) -> Group:
    """Return the fused operator with a maximum with another feature map as epilogue."""
    return replace(group, others=(other,), epilogue=(larger(),))
