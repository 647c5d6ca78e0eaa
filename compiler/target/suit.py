# SPDX-License-Identifier: Apache-2.0
"""Groups that suit a machine: depthwise work that its SUPERs do not do becomes pointwise work, a block whose depthwise
words they do not keep becomes two groups."""

import numpy as np

from compiler.ir.failure import Unsupported
from compiler.ir.feature_map import word_groups
from compiler.ir.layer import Convolution, Depthwise, Group, Grouped, Separable, halves
from compiler.target.limits import most_pixels
from compiler.target.mapping import has_mapping, holds_at_once, in_supers
from model.config import MachineConfig
from model.messages import times


def suited(groups: list[Group], machine: MachineConfig) -> list[Group]:
    """The groups, each as one or two that the machine runs. Raises Unsupported for an average over more pixels than it
    has in flight."""
    return [piece for group in groups for piece in _pieces(group, machine)]


def _pieces(group: Group, machine: MachineConfig) -> tuple[Group, ...]:
    if group.averaged and not holds_at_once(machine, group.map_shape):
        raise Unsupported(f"group {group.name}: an average over {times(group.map_shape)} pixels needs all of them in "
                          f"flight, which {machine.cols} columns of up to {most_pixels(machine)} pixels do not have "
                          "room for: give the map another size", layer=group.name)
    if not isinstance(group, (Depthwise, Separable)) or in_supers(machine, group) and has_mapping(machine, group):
        return (group,)
    if isinstance(group, Depthwise):
        return (by_taps(group),)
    first, second = halves(group)
    return *_pieces(first, machine), second


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
