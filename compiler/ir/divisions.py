# SPDX-License-Identifier: Apache-2.0
"""Fused operators in parts: tiles of their filters or channels, halves of a block, strips of columns."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from string import ascii_lowercase

from eyrie.compiler.ir.layer import Depthwise, Filtered, Group, Pointwise, Separable
from eyrie.compiler.ir.maps import Map, Part
from eyrie.model.operators.quantization import Quantization

STRIP_BLOCK = 8  # columns: strips of an output begin at multiples of it


def sliced(group: Group, slices: int) -> Group:
    """Return a fused operator with the first of `slices` parts of its filters, or of its channels if it does not mix
    them."""
    if slices == 1:
        return group
    shape = (*group.output.shape[:2], group.output.shape[2] // slices)
    output = replace(group.output, shape=shape)
    if isinstance(group, Filtered):
        return replace(group, filters=group.filters[: len(group.filters) // slices], output=output)
    channels = group.source.shape[2] // slices
    source = replace(group.source, shape=(*group.source.shape[:2], channels))
    if isinstance(group, Depthwise):
        return replace(group, source=source, output=output, depthwise=group.depthwise[..., :channels])
    return replace(group, source=source, output=output)


def halves(group: Separable) -> tuple[Depthwise, Pointwise]:
    """Return the depthwise and the pointwise half of a block, as fused operators of their own."""
    between = replace(
        group.output,
        name=f"{group.output.name}#depthwise",
        shape=(*group.map_shape, group.depthwise.shape[-1]),
        quantization=Quantization(1.0, group.middle.output.zero_point),
        part=None,
    )
    number = group.name.removeprefix("block")
    first = Depthwise(
        name=f"depthwise{number}",
        source=group.source,
        output=between,
        window=group.window,
        depthwise=group.depthwise,
        middle=group.middle,
        image=group.image,
        images=group.images,
        whole=group.whole,
    )
    second = Pointwise(
        name=f"pointwise{number}",
        source=between,
        output=group.output,
        others=group.others,
        epilogue=group.epilogue,
        stored=group.stored,
        filters=group.filters,
        table=group.table,
        image=group.image,
        images=group.images,
        whole=group.whole,
    )
    return first, second


def strips(run: Sequence[Group], count: int, beat: int) -> list[Group]:
    """Return a run of fused operators, each the only reader of its predecessor, as one run for each strip of columns of
    the output; [] if it is too narrow, or a strip reads pads alone. Columns between the operators that two strips read
    are made for both.

    beat: words of a DRAM beat, of which a row of a strip must have a whole number
    """
    columns = run[-1].map_shape[1]
    blocks = -(-columns // STRIP_BLOCK)
    if blocks < count or not all(map(_has_strips, run)):
        return []
    ends = [min(blocks * n // count * STRIP_BLOCK, columns) for n in range(count + 1)]
    found = [_strip(run, letter, *own) for letter, own in zip(ascii_lowercase, pairwise(ends))]
    groups = [group for strip in found for group in strip]
    reads_pixels = all(group.source.shape[1] > 0 for group in groups)
    maps = (map_ for group in groups for map_ in (*group.operands, group.output) if map_.is_strip)
    return groups if reads_pixels and all(_in_beats(map_, beat) for map_ in maps) else []


def _in_beats(map_: Map, beat: int) -> bool:
    """Return whether each row of a strip has whole beats of DRAM, and whole words if it is packed."""
    begins_word = not (map_.packed and map_.first_column % 2)
    return begins_word and map_.offset % beat == 0 and map_.layout.used_words % beat == 0


def _has_strips(group: Group) -> bool:
    laid = group.window.fold > 0 or any(
        map_.planar or map_.storage.patches or map_.table for map_ in (*group.operands, group.output)
    )
    alike = all(map_.shape[1] == group.map_shape[1] for map_ in (group.output, *group.others))
    return isinstance(group, Filtered) and not group.averaged and not group.images and alike and not laid


def _strip(run: Sequence[Group], letter: str, first: int, last: int) -> list[Group]:
    """Return the parts of fused operators that make columns first to last - 1 of the output, and what these need."""
    found = list[Group]()
    made = _columns(run[-1].output, first, last)
    for group in reversed(run):
        window, width = group.window, group.source.shape[1]
        top, bottom, left, _ = window.pads
        begin, end = first * window.stride[1] - left, (last - 1) * window.stride[1] - left + window.span[1]
        source = _columns(group.source, max(begin, 0), min(end, width))
        if group is not run[0]:
            source = replace(source, part=None)
        others = tuple(_columns(other, first, last) for other in group.others)
        first, last = max(begin, 0), min(end, width)
        window = replace(window, pads=(top, bottom, first - begin, end - last))
        strip = replace(group, source=source, output=made, others=others, window=window, whole=group)
        found.append(replace(strip, name=group.name + letter))
        made = source
    return found[::-1]


def _columns(map_: Map, first: int, last: int) -> Map:
    rows, _, channels = map_.shape
    shape, part = (rows, last - first, channels), Part(map_, 0, 0, first)
    return replace(map_, name=f"{map_.name}#{first}-{last - 1}", shape=shape, part=part)
