# SPDX-License-Identifier: Apache-2.0
"""Data-movement operators in C: copies of runs of bytes, by strides (move) or by tables of offsets (gather)."""

from collections.abc import Sequence
from math import prod

import numpy as np

from eyrie.compiler.c.axes import Sizes, Walk, dense
from eyrie.compiler.c.scales import rounded
from eyrie.compiler.c.steps import BYTES, Calls, Fields, Operand, bytes_of
from eyrie.compiler.c.tables import joined_table
from eyrie.compiler.ir.graph import Node, operator_of
from eyrie.compiler.ir.operators.movement import (
    Concatenation,
    Gather,
    MirrorPad,
    Pack,
    Pad,
    Reshape,
    ResizeNearestNeighbor,
    Slice,
    Split,
    StridedSlice,
    Tile,
    Transpose,
    Unpack,
)
from eyrie.compiler.ir.operators.operator import quantized
from eyrie.compiler.ir.tensor import Tensor

_WHOLE = slice(None)


def reshape(node: Node, calls: Calls) -> None:
    calls.view(node.outputs[0], node.inputs[0])


def transpose(node: Node, calls: Calls) -> None:
    source, steps = node.inputs[0], dense(node.inputs[0].shape)
    taken = tuple(steps[axis] for axis in operator_of(node, Transpose).axes)
    _move(node, calls, source, node.outputs[0], node.outputs[0].shape, taken)


def pad(node: Node, calls: Calls) -> None:
    operator, (source,), (output,) = operator_of(node, Pad), node.inputs, node.outputs
    margins = operator.margins
    if np.any(margins):
        calls.call(node, "fill", {"count": output.size, "value": operator.value & 0xFF}, (), output)
    steps = dense(output.shape)
    first = sum(before * step for (before, _), step in zip(margins, steps))
    _move(node, calls, source, output, source.shape, dense(source.shape), steps, put=first)


def tile(node: Node, calls: Calls) -> None:
    source, multiples = node.inputs[0], operator_of(node, Tile).multiples
    sizes = tuple(size for pair in zip(multiples, source.shape) for size in pair)
    taken = tuple(step for steps in ((0, step) for step in dense(source.shape)) for step in steps)
    _move(node, calls, source, node.outputs[0], sizes, taken)


def slice_(node: Node, calls: Calls) -> None:
    begin, output = operator_of(node, Slice).begin, node.outputs[0]
    sizes = [output.shape[axis] for axis in range(len(begin))]
    _sliced(node, calls, output, [range(first, first + size) for first, size in zip(begin, sizes)])


def strided_slice(node: Node, calls: Calls) -> None:
    """Lower STRIDED_SLICE. Axes that are new or removed have size 1, so the loops leave them out."""
    operator = operator_of(node, StridedSlice)
    shape, entries = node.inputs[0].shape, len(operator.begin)
    ellipsis = operator.ellipsis_mask & ((1 << entries) - 1)
    given = sum(1 for entry in range(entries) if not (ellipsis | operator.new_axis_mask) >> entry & 1)
    taken: list[range] = []
    for entry, (begin, end, step) in enumerate(zip(operator.begin, operator.end, operator.strides)):
        bit = 1 << entry
        if ellipsis & bit:
            taken += [range(size) for size in shape[len(taken) : len(taken) + len(shape) - given]]
        elif not operator.new_axis_mask & bit:
            size = shape[len(taken)]
            first = None if operator.begin_mask & bit else begin
            last = None if operator.end_mask & bit else end
            if operator.shrink_axis_mask & bit:
                index = (first or 0) % size
                taken.append(range(index, index + 1))
            else:
                taken.append(range(*slice(first, last, step).indices(size)))
    taken += [range(size) for size in shape[len(taken) :]]
    _sliced(node, calls, node.outputs[0], taken)


def split(node: Node, calls: Calls) -> None:
    operator = operator_of(node, Split)
    axis, first = operator.axis % len(node.inputs[0].shape), 0
    for output, size in zip(node.outputs, operator.sizes):
        _sliced(node, calls, output, _only(node.inputs[0], axis, range(first, first + size)))
        first += size


def unpack(node: Node, calls: Calls) -> None:
    axis = operator_of(node, Unpack).axis % len(node.inputs[0].shape)
    for place, output in enumerate(node.outputs):
        _sliced(node, calls, output, _only(node.inputs[0], axis, range(place, place + 1)))


def _only(source: Tensor, axis: int, taken: range) -> list[range]:
    return [taken if number == axis else range(size) for number, size in enumerate(source.shape)]


def _sliced(node: Node, calls: Calls, output: Tensor, taken: Sequence[range]) -> None:
    """Copy the elements of the node's input whose indices `taken` has for each axis."""
    steps = dense(node.inputs[0].shape)
    first = sum(places.start * step for places, step in zip(taken, steps))
    _move(
        node,
        calls,
        node.inputs[0],
        output,
        tuple(map(len, taken)),
        tuple(places.step * step for places, step in zip(taken, steps)),
        take=first,
    )


def concatenation(node: Node, calls: Calls) -> None:
    operator, output, first = operator_of(node, Concatenation), node.outputs[0], 0
    axis, steps = operator.axis % len(output.shape), dense(output.shape)
    for part in node.inputs:
        source = part
        if operator.unsigned and quantized(part).quantization != quantized(output).quantization:
            source = calls.scratch(part.form)
            calls.call(node, "lookup", {"count": part.size, "entries": joined_table(part, output)}, (part,), source)
        _move(node, calls, source, output, part.shape, dense(part.shape), steps, put=first * steps[axis])
        first += part.shape[axis]


def pack(node: Node, calls: Calls) -> None:
    output = node.outputs[0]
    axis, steps = operator_of(node, Pack).axis % len(output.shape), dense(output.shape)
    for place, part in enumerate(node.inputs):
        _move(
            node,
            calls,
            part,
            output,
            part.shape,
            dense(part.shape),
            (*steps[:axis], *steps[axis + 1 :]),
            put=place * steps[axis],
        )


def _move(
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


# ---- By tables ----


def gather(node: Node, calls: Calls) -> None:
    operator = operator_of(node, Gather)
    axis = operator.axis % len(node.inputs[0].shape)
    _gather(node, calls, {axis: np.array(operator.places, np.int64)})


def mirror_pad(node: Node, calls: Calls) -> None:
    operator = operator_of(node, MirrorPad)
    edge = operator.mode == "REFLECT"
    _gather(
        node,
        calls,
        {
            axis: np.array([_mirrored(place, size, edge) for place in range(-before, size + after)])
            for axis, ((before, after), size) in enumerate(zip(operator.margins, node.inputs[0].shape))
            if before or after
        },
    )


def _mirrored(place: int, size: int, edge: bool) -> int:
    """Return the index whose value a mirrored index takes. edge: the mirror repeats the outermost value."""
    if place < 0:
        return -place - (not edge)
    return 2 * size - 1 - edge - place if place >= size else place


def resize_nearest_neighbor(node: Node, calls: Calls) -> None:
    operator = operator_of(node, ResizeNearestNeighbor)
    sizes = zip(node.inputs[0].shape[1:3], operator.size)
    _gather(node, calls, {1 + n: _nearest(size, wanted, operator) for n, (size, wanted) in enumerate(sizes)})


def _nearest(size: int, wanted: int, operator: ResizeNearestNeighbor) -> np.ndarray:
    """Return the source index of each of the `wanted` positions, computed in float32."""
    aligned = operator.align_corners and wanted > 1
    scale = np.float32(size - aligned) / np.float32(wanted - aligned)
    offset = np.float32(0.5 if operator.half_pixel_centers else 0)
    places = [float((np.float32(number) + offset) * scale) for number in range(wanted)]
    return np.array([min(rounded(place) if operator.align_corners else int(place), size - 1) for place in places])


def _gather(node: Node, calls: Calls, places: dict[int, np.ndarray]) -> None:
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


LOWERINGS = {
    Reshape: reshape,
    Transpose: transpose,
    Pad: pad,
    Tile: tile,
    Slice: slice_,
    StridedSlice: strided_slice,
    Split: split,
    Unpack: unpack,
    Concatenation: concatenation,
    Pack: pack,
    Gather: gather,
    MirrorPad: mirror_pad,
    ResizeNearestNeighbor: resize_nearest_neighbor,
}
