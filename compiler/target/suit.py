# SPDX-License-Identifier: Apache-2.0
"""Groups that suit a machine: depthwise work that its SUPERs do not do becomes pointwise work, an average of more
pixels than can be in flight an elementwise pass of its own."""

from dataclasses import replace
from string import ascii_lowercase

import numpy as np

from compiler.ir.elementwise import Elementwise
from compiler.ir.feature_map import word_groups
from compiler.ir.layer import Convolution, Depthwise, Group, Grouped, Separable, Window, halves
from compiler.ir.word_operation import average_of_window
from compiler.target.mapping import in_supers, mappings
from model.config import MachineConfig


def suited(groups: list[Group], machine: MachineConfig) -> list[Group]:
    """The groups, each as one or two that the machine runs."""
    return [piece for group in groups for piece in _pieces(group, machine)]


def _pieces(group: Group, machine: MachineConfig) -> tuple[Group, ...]:
    if group.averaged and not mappings(machine, group, group.map_shape[0]):
        first, average = _apart(group)
        return *_pieces(first, machine), average
    if not isinstance(group, (Depthwise, Separable)) or in_supers(machine, group):
        return (group,)
    if isinstance(group, Depthwise):
        return (by_taps(group),)
    first, second = halves(group)
    return *_pieces(first, machine), second


def _apart(group: Group) -> tuple[Group, Elementwise]:
    """A group and its average."""
    between = replace(group.output, name=f"{group.output.name}#all", shape=(*group.map_shape, group.output.shape[2]))
    operation = average_of_window(np.array([[group.averaged]]), group.averaged)
    average = Elementwise(name=f"average{group.name.lstrip(ascii_lowercase)}", source=between, output=group.output, stored=group.stored,
                          image=group.image, images=group.images, window=Window(group.map_shape), epilogue=(operation,))
    return replace(group, output=between, stored=False, epilogue=()), average


def by_taps(group: Depthwise) -> Grouped | Convolution:
    """Depthwise work as pointwise work. Where the outputs of a channel group are not whole words of the ofmap, it is a
    convolution of all channels, most of whose filters are zero."""
    filters, channels = group.depthwise.transpose(2, 0, 1), group.source.shape[2]
    each, groups = len(filters) // channels, word_groups(channels)
    shared = {"name": group.name, "source": group.source, "output": group.output, "others": group.others,
              "window": group.window, "epilogue": group.epilogue, "stored": group.stored, "image": group.image,
              "images": group.images, "table": group.middle}
    if groups == 1 or word_groups(len(filters)) == groups * each:
        return Grouped(**shared, filters=filters)
    full = np.zeros((*filters.shape, channels), np.int8)
    outputs = np.arange(len(filters))
    full[outputs, :, :, outputs // each] = filters
    return Convolution(**shared, filters=full)
