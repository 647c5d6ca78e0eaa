# SPDX-License-Identifier: Apache-2.0
"""Fused operators in parts: tiles of their filters or channels, halves of a block."""

from dataclasses import replace

from eyrie.compiler.ir.layer import Depthwise, Filtered, Group, Pointwise, Separable
from eyrie.model.operators.quantization import Quantization


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
    )
    return first, second
