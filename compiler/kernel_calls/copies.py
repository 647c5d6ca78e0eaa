# SPDX-License-Identifier: Apache-2.0
"""Copies of runs of bytes in C, by strides (move) or by tables of offsets (gather)."""

from collections.abc import Sequence
from math import prod

import numpy as np

from eyrie.compiler.ir.graph import Node
from eyrie.compiler.ir.tensor import Tensor
from eyrie.compiler.kernel_calls.axes import Sizes, Walk, dense
from eyrie.compiler.kernel_calls.steps import BYTES, Calls, Fields, Operand, bytes_of


def copy_values(
    node: Node,
    calls: Calls,
    source: Tensor,
    output: Tensor,
    sizes: Sizes,
    taken: Sizes,
    put_: Sizes | None = None,
    take: int = 0,
    put: int = 0,
) -> None:
    """Copy an array of `sizes`. taken, put_: strides in source and output (its own by default); take, put: first
    elements"""
    element = BYTES[source.dtype]
    steps = dense(sizes) if put_ is None else put_
    walk = Walk(sizes, tuple(tuple(element * step for step in strides) for strides in (taken, steps))).merged()
    run = element
    if walk.sizes and walk.strides[0][-1] == walk.strides[1][-1] == element:
        run *= walk.sizes[-1]
        walk = walk.without_last()
    if run == bytes_of(source) == bytes_of(output):
        calls.view(output, source)
        return
    settings: Fields = {
        "count": walk.count,
        "run": run,
        "axes": len(walk.sizes),
        "sizes": np.array(walk.sizes, np.int32),
        "from": np.array(walk.strides[0], np.int32),
        "to": np.array(walk.strides[1], np.int32),
    }
    calls.call(node, "move", settings, (Operand(source, element * take),), Operand(output, element * put))


def copy_slices(node: Node, calls: Calls, output: Tensor, taken: Sequence[range]) -> None:
    """Copy the elements of the node's input whose indices `taken` has for each axis."""
    steps = dense(node.inputs[0].shape)
    first = sum(places.start * step for places, step in zip(taken, steps))
    copy_values(
        node,
        calls,
        node.inputs[0],
        output,
        tuple(map(len, taken)),
        tuple(places.step * step for places, step in zip(taken, steps)),
        take=first,
    )


def all_but(source: Tensor, axis: int, taken: range) -> list[range]:
    """Return all indices of each axis, but `taken` of one axis."""
    return [taken if number == axis else range(size) for number, size in enumerate(source.shape)]


def gather_values(node: Node, calls: Calls, places: dict[int, np.ndarray]) -> None:
    """Gather elements. places: the indices to take, by axis. The axes after the last of these are copied as runs of
    bytes."""
    source, element = node.inputs[0], BYTES[node.inputs[0].dtype]
    steps = dense(source.shape, element)
    last = max(places, default=-1)
    if last < 0:
        calls.view(node.outputs[0], source)
        return
    tables = [places.get(axis, np.arange(source.shape[axis])) * steps[axis] for axis in range(last + 1)]
    sizes = [len(table) for table in tables]
    settings: Fields = {
        "count": prod(sizes),
        "run": steps[last],
        "axes": len(sizes),
        "places": sum(sizes),
        "sizes": np.array(sizes, np.int32),
        "offsets": np.concatenate(tables).astype(np.int32),
    }
    calls.call(node, "gather", settings, (source,), node.outputs[0])
