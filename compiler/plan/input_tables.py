# SPDX-License-Identifier: Apache-2.0
"""Lookup tables of inputs, which the host applies as it writes the input: networks often begin with a function of each
value, such as the subtraction of a mean."""

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from eyrie.compiler.ir.elementwise import Elementwise
from eyrie.compiler.ir.input_layout import InputTable
from eyrie.compiler.ir.layer import Group, divided_maps
from eyrie.compiler.ir.maps import Map
from eyrie.model.encoding import Operation


def with_input_tables(groups: list[Group], shared: Collection[str] = ()) -> list[Group]:
    """The groups without those that only look up the values of an input that no other group reads; shared: names of
    the inputs that another program writes."""
    divided = divided_maps(groups)
    fixed = {group.output.name for group in groups} | divided | set(shared)
    read = [operand.name for group in groups for operand in group.operands]
    laid: dict[str, Map] = {}
    for group in groups:
        if isinstance(group, Elementwise) and _is_table(group) and group.source.name not in fixed:
            if read.count(group.source.name) == 1 and group.output.name not in divided:
                laid[group.output.name] = _with_table(group)

    def of(map_: Map) -> Map:
        return laid.get(map_.name, map_)

    return [
        replace(group, source=of(group.source), others=tuple(map(of, group.others)))
        for group in groups
        if group.output.name not in laid
    ]


def _is_table(group: Elementwise) -> bool:
    """Return whether a group only looks up values, for other groups that read all of its output."""
    own = not group.stored and not group.output.part
    return own and group.in_place and len(group.epilogue) == 1 and group.operation.kind == Operation.TABLE


def _with_table(group: Elementwise) -> Map:
    """The source of a lookup, with its table and the quantisation of the results."""
    entries = group.operation.constants
    assert entries is not None
    table = InputTable(entries.view(np.int8).tobytes(), group.source.quantization)
    return replace(group.source, quantization=group.output.quantization, table=table)
