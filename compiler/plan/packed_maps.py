# SPDX-License-Identifier: Apache-2.0
"""Which maps lie packed, two pixels in a word: the inputs of a network that only row-stationary convolutions read."""

from collections.abc import Collection
from dataclasses import replace

from eyrie.compiler.ir.feature_map import word_groups
from eyrie.compiler.ir.layer import Convolution, Group, divided_maps
from eyrie.compiler.ir.maps import Map
from eyrie.compiler.plan.filters import filter_words
from eyrie.compiler.target.mapping import mappings
from eyrie.model.config import WORD_CHANNELS, AcceleratorConfig
from eyrie.model.encoding import ArrayMode


def with_packed_inputs(groups: list[Group], config: AcceleratorConfig, shared: Collection[str] = ()) -> list[Group]:
    """The groups, which read packed those inputs that all of their readers take so at no loss; shared: names of those
    that are not."""
    made = {group.output.name for group in groups} | divided_maps(groups)
    sources = {group.source.name: group.source for group in groups}
    packed = {
        name: replace(map_, packed=True)
        for name, map_ in sources.items()
        if name not in {*made, *shared} and all(_takes_packed(group, map_, config) for group in groups)
    }
    return [replace(group, source=packed.get(group.source.name, group.source)) for group in groups]


def _takes_packed(group: Group, map_: Map, config: AcceleratorConfig) -> bool:
    """Whether a group does not read a map, or does so row-stationary, in no more cycles than by taps and with filters
    that leave the GLB room: by taps they need not stay there."""
    if map_ not in group.operands:
        return True
    if not isinstance(group, Convolution) or map_ in group.others or map_.shape[2] > WORD_CHANNELS:
        return False
    if filter_words(group, ArrayMode.CONVOLUTION, word_groups(len(group.filters)) * 8) > config.glb_words // 2:
        return False
    rows = group.map_shape[0]
    found = mappings(config, replace(group, source=replace(map_, packed=True)), rows)
    return bool(found) and found[0].cycles <= mappings(config, group, rows)[0].cycles
