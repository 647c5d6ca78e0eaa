# SPDX-License-Identifier: Apache-2.0
"""Groups that suit an accelerator.

A depthwise kernel of one row that is too wide for the PEs gets several rows (Window.fold). Depthwise work that the
SUPERs do not do becomes pointwise work, a block whose depthwise words they do not keep two groups, and an average of
more pixels than can be in flight a vector pass of its own. Sums of windows become depthwise work if that takes less.
"""

from collections.abc import Iterator
from dataclasses import fields, replace
from string import ascii_lowercase

import numpy as np

from eyrie.compiler.ir.divisions import halves
from eyrie.compiler.ir.elementwise import Elementwise
from eyrie.compiler.ir.feature_map import word_groups
from eyrie.compiler.ir.layer import Convolution, Depthwise, Group, Grouped, Output, Separable, Table, array_offset
from eyrie.compiler.ir.window import Window
from eyrie.compiler.ir.word_operation import average_of_window
from eyrie.compiler.target.limits import folded
from eyrie.compiler.target.mapping import has_mapping, holds_at_once, in_supers, mappings
from eyrie.compiler.target.times import port_words
from eyrie.model.config import AcceleratorConfig
from eyrie.model.encoding import WINDOW, Operation, depthwise_group_words


def suited(groups: list[Group], config: AcceleratorConfig) -> list[Group]:
    """The groups, each as one or two that the accelerator runs. Raises Unsupported for an average over more pixels than
    it has in flight."""
    return [_in_array(piece, config) for group in groups for piece in _pieces(group, config)]


def _pieces(group: Group, config: AcceleratorConfig) -> tuple[Group, ...]:
    if isinstance(group, (Depthwise, Separable)):
        for each in (group, *_folded(group)):
            if in_supers(config, each) and has_mapping(config, each) and _is_faster(config, each):
                return (each,)
    if group.averaged and not holds_at_once(config, group.map_shape):
        first, average = average_apart(group)
        return *_pieces(first, config), average
    if isinstance(group, Depthwise):
        return (by_taps(group),)
    if isinstance(group, Separable):
        first, second = halves(group)
        return *_pieces(first, config), *_pieces(second, config)
    return (group,)


def _in_array(group: Group, config: AcceleratorConfig) -> Group:
    """Return a vector pass over windows as depthwise work if that takes less, constants included; else the group."""
    summed = _summed(group) if isinstance(group, Elementwise) else None
    if summed is None or not (in_supers(config, summed) and has_mapping(config, summed)):
        return group
    rows, groups = group.map_shape[0], word_groups(group.source.shape[2])
    (alone, *_), (found, *_) = mappings(config, group, rows), mappings(config, summed, rows)
    constants = groups * depthwise_group_words(summed.window.dense) / port_words(config)
    return summed if found.cycles + constants < alone.cycles else group


def _summed(group: Elementwise) -> Depthwise | None:
    """Return the sums of all windows, each with as many pixels, as a depthwise convolution with taps of 1; None if the
    group does something else."""
    operation, constants = group.operation, group.operation.constants
    if operation.kind != Operation.SUM or len(group.epilogue) > 1 or constants is None or constants.size > 1:
        return None
    if group.walk or group.repeat != (1, 1) or any(group.window.pads) or group.images:
        return None
    channels, word = group.source.shape[2], WINDOW.unpack(int(constants.flat[0]))
    table = Table(
        np.full(channels, word["bias"] + array_offset(group.source.zero_point) * group.window.taps, np.int32),
        np.full(channels, word["multiplier"], np.int32),
        np.full(channels, word["shift"], np.int8),
        Output(**operation.result),
    )
    ends = _ends(replace(group, epilogue=()))
    return Depthwise(**ends, depthwise=np.ones((*group.window.kernel, channels), np.int8), middle=table)


def _is_faster(config: AcceleratorConfig, group: Depthwise | Separable) -> bool:
    """Return whether the SUPERs are as fast as pointwise work by itself, if taps of zero fill a dilated kernel."""
    if group.window.dilation == (1, 1):
        return True
    depthwise = halves(group)[0] if isinstance(group, Separable) else group
    found, others = (mappings(config, each, group.map_shape[0]) for each in (depthwise, by_taps(depthwise)))
    return bool(found) and (not others or found[0].cycles <= others[0].cycles)


def _folded(group: Depthwise | Separable) -> Iterator[Depthwise | Separable]:
    """Yield a fused operator with a folded window, if it can have one."""
    window = folded(group.window)
    if window is None or group.source.shape[0] > 1:
        return
    filters = np.zeros((*window.kernel, group.depthwise.shape[-1]), group.depthwise.dtype)
    for tap, values in enumerate(group.depthwise[0]):
        row = min(tap // window.fold, window.kernel[0] - 1)
        filters[row, tap - row * window.fold] = values
    yield replace(group, window=window, depthwise=filters)


def average_apart(group: Group) -> tuple[Group, Elementwise]:
    """A group and its average."""
    shape = (*group.map_shape, group.output.shape[2])
    between = replace(group.output, name=f"{group.output.name}#all", shape=shape, part=None)
    operation = average_of_window(np.array([[group.averaged]]), group.averaged)
    average = Elementwise(
        name=f"average{group.name.lstrip(ascii_lowercase)}",
        source=between,
        output=group.output,
        stored=group.stored,
        image=group.image,
        images=group.images,
        window=Window(group.map_shape),
        epilogue=(operation,),
    )
    return replace(group, output=between, stored=False, epilogue=()), average


def divisions(group: Group) -> Iterator[tuple[Group, ...]]:
    """Yield a fused operator in one part, and in several: the halves of a block, and an average by itself."""
    yield (group,)
    if isinstance(group, Separable):
        first, second = halves(group)
        for parts in divisions(second):
            yield first, *parts
    if group.averaged and not group.images:
        yield average_apart(group)


def by_taps(group: Depthwise) -> Grouped | Convolution:
    """Depthwise work as pointwise work. Where the outputs of a channel group are not whole words of the ofmap, it is a
    convolution of all channels, most of whose filters are zero; of a single channel it is one anyway."""
    filters, channels = group.depthwise.transpose(2, 0, 1), group.source.shape[2]
    each, groups = len(filters) // channels, word_groups(channels)
    if channels > 1 and (groups == 1 or word_groups(len(filters)) == groups * each):
        return Grouped(**_ends(group), filters=filters, table=group.middle)
    full = np.zeros((*filters.shape, channels), filters.dtype)
    outputs = np.arange(len(filters))
    full[outputs, :, :, outputs // each] = filters
    return Convolution(**_ends(group), filters=full, table=group.middle)


def _ends(group: Group) -> dict:
    """All that groups of each type have."""
    return {field.name: getattr(group, field.name) for field in fields(Group)}
