# SPDX-License-Identifier: Apache-2.0
"""Checks of a list of fused operators."""

from collections.abc import Collection, Iterable
from dataclasses import replace
from math import prod

from eyrie.compiler.ir.elementwise import Elementwise
from eyrie.compiler.ir.failure import InternalError
from eyrie.compiler.ir.feature_map import word_groups
from eyrie.compiler.ir.layer import Convolution, Depthwise, Group, Grouped, Pointwise, Separable
from eyrie.compiler.ir.maps import Map, upright
from eyrie.compiler.ir.window import output_size
from eyrie.model.config import WORD_CHANNELS
from eyrie.model.encoding import Operation
from eyrie.model.messages import times


def verify_groups(groups: list[Group], inputs: Iterable[Map], ends: Iterable[Map]) -> None:
    """Raise InternalError if the list of fused operators is inconsistent.

    Each feature map must be made once, before its consumers, in the form that they read, and must be read or stored.
    All outputs must be stored. Only convolutions may read packed maps, which are inputs of few channels. Shapes must
    follow from windows and weights.

    inputs: of the network, in the layout of their first consumer; ends: its outputs, in the model's shapes
    """
    read: dict[str, Map] = {}
    for operand in (operand for group in groups for operand in group.operands):
        for map_ in operand.around:
            read.setdefault(map_.name, map_)
    stored = {map_.name: map_.shape for map_ in ends}
    maps = {map_.name: _as_read(map_, read.get(map_.name)) for map_ in inputs}
    names, joins = set[str](), _Joins()
    for group in groups:
        if group.name in names:
            raise InternalError(f"group {group.name}: two have this name")
        for operand in group.operands:
            if operand.name not in maps and not joins.is_inside(operand, maps):
                raise InternalError(f"group {group.name}: reads {operand.name}, which no group before it makes")
            if operand != maps.get(operand.name, operand):
                raise InternalError(f"group {group.name}: reads {_said(operand)}, which is {_said(maps[operand.name])}")
        if _packed_amiss(group):
            raise InternalError(
                f"group {group.name}: a packed map is an input of at most {WORD_CHANNELS} channels, "
                "whose readers are convolutions"
            )
        if group.output.name in maps:
            raise InternalError(f"group {group.name}: makes {group.output.name}, which is there already")
        if group.stored != (group.output.storage.name in stored):
            raise InternalError(
                f"group {group.name}: {group.output.name} is {'no' if group.stored else 'an'} output of the network"
            )
        if not group.stored and not group.output.part and group.output.name not in read:
            raise InternalError(f"group {group.name}: no group reads {group.output.name}")
        for operation in group.operations:
            if operation.kind in (Operation.TABLE, Operation.SUM) and operation.constants is None:
                raise InternalError(f"group {group.name}: the operation {operation.name} has no constants")
        _verify_shapes(group)
        names.add(group.name)
        maps[group.output.name] = group.output
        joins.add(group.output, maps)
    joins.verify(stored.keys() | set(read))
    if missing := stored.keys() - set(maps):
        raise InternalError(f"no group makes the output {min(missing)}")
    for name, shape in stored.items():
        if upright(made := maps[name], shape).shape != shape:
            raise InternalError(f"the output {name} is {times(shape)}, a group makes {times(made.shape)}")


class _Joins:
    """Feature maps whose parts are the outputs of several fused operators."""

    def __init__(self) -> None:
        self._wholes: dict[str, Map] = {}
        self._parts: dict[str, list[Map]] = {}

    def add(self, map_: Map, maps: dict[str, Map]) -> None:
        """Add a part to its feature map, which is added to `maps` when it is complete. Raise InternalError."""
        if not map_.part:
            return
        whole = map_.part.whole
        others = self._parts.setdefault(whole.name, [])
        if (
            self._wholes.setdefault(whole.name, whole) != whole
            or not _fits(map_)
            or any(_meet(map_, other) for other in others)
        ):
            raise InternalError(f"{map_.name}: it is no part of {whole.name}, or another part is at its place")
        others.append(map_)
        if _is_complete(whole, others):
            maps[whole.name] = whole
            self.add(whole, maps)

    def is_inside(self, map_: Map, maps: dict[str, Map]) -> bool:
        """Return whether a feature map that no group makes is a part of one that is complete."""
        if not map_.part or not _fits(map_):
            return False
        whole = map_.part.whole
        return maps.get(whole.name) == whole or self.is_inside(whole, maps)

    def verify(self, read: Collection[str]) -> None:
        """Raise InternalError if a feature map lacks a part, or is not read."""
        for name, parts in self._parts.items():
            if not _is_complete(self._wholes[name], parts):
                raise InternalError(f"{name}: a part of it is missing")
            if name not in read and not self._wholes[name].part:
                raise InternalError(f"{name}: no group reads it")


def _fits(map_: Map) -> bool:
    """Return whether a part lies in its feature map as it would by itself."""
    part = map_.part
    assert part
    whole, ends = part.whole, part.group * 8 + map_.shape[2]
    begins, sizes = (part.row, part.column, part.group * 8), zip(map_.shape, whole.shape)
    inside = all(0 <= begin <= size - own for begin, (own, size) in zip(begins, sizes))
    is_strip = map_.shape[1] < whole.shape[1]
    alike = map_.quantization == whole.quantization and map_.packed == whole.packed
    by_rows = not any(each.planar or each.table for each in (map_, whole)) and not map_.patches
    of_words = map_.shape[2] % 8 == 0 or ends == whole.shape[2]
    same_rows = is_strip or (not map_.packed and map_.layout.pitch == whole.layout.pitch)
    return inside and alike and by_rows and of_words and same_rows


def _meet(first: Map, second: Map) -> bool:
    """Return whether two parts of a feature map have common words."""
    return all(
        max(ours, theirs) < min(ours + own, theirs + other)
        for ours, own, theirs, other in (
            (first.first_row, first.shape[0], second.first_row, second.shape[0]),
            (first.first_column, first.shape[1], second.first_column, second.shape[1]),
            (first.first_group, first.layout.groups, second.first_group, second.layout.groups),
        )
    )


def _is_complete(whole: Map, parts: list[Map]) -> bool:
    """Return whether parts that do not meet are all of a feature map."""
    return sum(prod(part.shape) for part in parts) == prod(whole.shape)


def _as_read(map_: Map, read: Map | None) -> Map:
    """Return an input with the layout that its readers expect."""
    if read is None:
        return map_
    if read.table and read.table.quantization == map_.quantization:
        map_ = replace(map_, quantization=read.quantization, table=read.table)
    patches = read.patches
    if patches and patches.shape == map_.shape:
        map_ = replace(map_, shape=(patches.rows, patches.cols, patches.channels), patches=patches)
    return replace(map_, packed=read.packed)


def _packed_amiss(group: Group) -> bool:
    """Return whether a fused operator makes a packed feature map, or cannot read one that it reads."""
    if group.source.packed and not (isinstance(group, Convolution) and group.source.shape[2] <= WORD_CHANNELS):
        return True
    return any(map_.packed for map_ in (*group.others, group.output))


def _said(map_: Map) -> str:
    packed = ", packed" if map_.packed else ""
    return f"{map_.name} {times(map_.shape)} {map_.quantization.scale:.6g}/{map_.zero_point}{packed}"


def _verify_shapes(group: Group) -> None:
    """Raise InternalError if the output or the weights have another shape than the window makes."""
    if isinstance(group, Elementwise):
        return _verify_words(group)
    channels, made = group.source.shape[2], len(group.tables[0].bias)
    rows, cols = (1, 1) if group.averaged else group.map_shape
    if group.output.shape != (rows, cols, made):
        raise InternalError(
            f"group {group.name}: makes {times((rows, cols, made))}, its output is {times(group.output.shape)}"
        )
    if group.averaged not in (0, group.map_shape[0] * group.map_shape[1]):
        raise InternalError(f"group {group.name}: averages {group.averaged} of {times(group.map_shape)} pixels")
    wanted = _weight_shapes(group, channels, made)
    found = tuple(weights.shape for weights in group.weights)
    if found != wanted:
        raise InternalError(
            f"group {group.name}: weights are {', '.join(map(times, found))}, must be {', '.join(map(times, wanted))}"
        )
    if isinstance(group, (Grouped, Depthwise)) and made % channels:
        raise InternalError(f"group {group.name}: makes {made} channels of {channels}")
    for table, count in zip(group.tables, (made, channels)):
        if not len(table.bias) == len(table.multiplier) == len(table.shift) == count:
            raise InternalError(
                f"group {group.name}: a table of {len(table.bias)} biases, {len(table.multiplier)} "
                f"multipliers and {len(table.shift)} shifts for {count} channels"
            )


def _verify_words(group: Elementwise) -> None:
    """Raise InternalError if a vector pass makes another number of pixels or channels than its output has."""
    rows, cols, channels = group.output.shape
    pixels = [loop.count for loop in group.walk] or [
        size * times for size, times in zip(output_size(group.source.shape[:2], group.window), group.repeat)
    ]
    taken = group.source.shape[2]
    if group.words:
        taken, channels = 8 * prod(loop.count for loop in group.words), 8 * word_groups(channels)
    if prod(pixels) != rows * cols or channels != taken:
        raise InternalError(
            f"group {group.name}: makes {prod(pixels)} pixels of {taken} channels, its output is "
            f"{times(group.output.shape)}"
        )


def _weight_shapes(group: Group, channels: int, made: int) -> tuple[tuple[int, ...], ...]:
    kernel = group.window.kernel
    if isinstance(group, Convolution):
        return ((made, *kernel, channels),)
    if isinstance(group, Grouped):
        return ((made, *kernel),)
    if isinstance(group, Pointwise):
        return ((made, channels),)
    if isinstance(group, Separable):
        return (made, channels), (*kernel, channels)
    return ((*kernel, made),)
