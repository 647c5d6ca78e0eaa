# SPDX-License-Identifier: Apache-2.0
"""Which maps lie in planes wherever they are as a whole: those of pointwise groups that keep more columns of the array
busy with a map of one row than with rows that do not divide well."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from eyrie.compiler.ir.divisions import halves
from eyrie.compiler.ir.layer import Group, Pointwise, Separable, divided_maps
from eyrie.compiler.ir.maps import Map
from eyrie.compiler.target.mapping import mappings
from eyrie.model.config import AcceleratorConfig

LEAST_GAIN = 0.97  # of the cycles row by row: below that it is worth a plan of its own

Sizes = frozenset[tuple[int, int]]  # of maps, (rows, columns)


def gaining_sizes(groups: list[Group], config: AcceleratorConfig) -> list[tuple[int, int]]:
    """Sizes of maps on which a group, or a half of one, takes fewer cycles if they are one row, smallest first."""
    found = set()
    for group in groups:
        second = halves(group)[1] if isinstance(group, Separable) else group
        size = group.map_shape
        if size not in found and isinstance(second, Pointwise) and _gains(second, config):
            found.add(size)
    return sorted(found)


def _gains(group: Pointwise, config: AcceleratorConfig) -> bool:
    source, output = (replace(map_, planar=True) for map_ in (group.source, group.output))
    planar = replace(group, source=source, output=output, others=(), epilogue=())
    if not planar.row_by_row or planar.source.layout.words > config.glb_words:
        return False
    by_row, any_way = (mappings(config, planar, group.map_shape[0], whole)[0].cycles for whole in (False, True))
    return any_way < LEAST_GAIN * by_row


def in_planes(groups: list[Group], sizes: Sizes) -> list[Group]:
    """The groups, with those maps in planes that lie between them and that groups of these sizes take as one row; not
    those that others read, or that have parts or are parts."""
    inner = inner_maps(groups) - divided_maps(groups)
    return with_planar(groups, {name for names in _rows(groups, sizes) if names <= inner for name in names})


def inner_maps(groups: Sequence[Group]) -> set[str]:
    """Return the names of the feature maps that lie between fused operators, and are no outputs of the network."""
    read = {operand.name for group in groups for operand in group.operands}
    return read & {group.output.name for group in groups if not group.stored}


def in_planes_alone(groups: Sequence[Group], sizes: Sizes) -> list[Group]:
    """As well with the maps at their ends, which lie as the groups beside them say."""
    return with_planar(groups, {name for names in _rows(groups, sizes) for name in names})


def _rows(groups: Sequence[Group], sizes: Sizes) -> Iterator[set[str]]:
    """Names of the maps of each group that may take them as one row."""
    for group in groups:
        if isinstance(group, Pointwise) and group.row_by_row and group.map_shape in sizes:
            yield {group.source.name, group.output.name, *(other.name for other in group.others)}


def with_planar(groups: Sequence[Group], names: set[str]) -> list[Group]:
    """Return the fused operators with the feature maps of these names in NC/8HW8 layout."""

    def laid(map_: Map) -> Map:
        return replace(map_, planar=True) if map_.name in names else map_

    return (
        [
            replace(group, source=laid(group.source), output=laid(group.output), others=tuple(map(laid, group.others)))
            for group in groups
        ]
        if names
        else list(groups)
    )
