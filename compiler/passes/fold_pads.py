# SPDX-License-Identifier: Apache-2.0
"""Folding of PADs into the convolution or the pool after them, also where slices lie between."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from eyrie.compiler.ir.graph import Graph, Node
from eyrie.compiler.ir.operator import Operator, quantized
from eyrie.compiler.ir.tensor import Constant, Tensor
from eyrie.compiler.operators.convolution import Windowed
from eyrie.compiler.operators.padding import Pad
from eyrie.compiler.operators.parts import Slice, StridedSlice
from eyrie.compiler.operators.pooling import MaxPool2D
from eyrie.model.operators.quantization import INT8_MIN

ROWS = 1  # the axis of rows of a map [N, H, W, C]


def fold_pads(graph: Graph) -> Graph:
    """Return the graph with each PAD folded into all of its readers, if they pad with the same value."""
    graph = _with_slices_first(graph)
    readers, ends = graph.readers, {tensor.name for tensor in graph.outputs}
    folded: dict[str, tuple[Tensor, Pad]] = {}  # the input and the operator of PADs, by output
    nodes: list[Node] = []
    for node in graph.nodes:
        if node.inputs and node.inputs[0].name in folded:
            source, pad = folded[node.inputs[0].name]
            node = replace(node, inputs=(source,), operator=_with_pads(node.operator, pad))
        if isinstance(node.operator, Pad) and node.outputs[0].name not in ends:
            behind = readers.get(node.outputs[0].name, [])
            if behind and all(_takes(reader.operator, node.operator, node.inputs[0]) for reader in behind):
                folded[node.outputs[0].name] = node.inputs[0], node.operator
                continue
        nodes.append(node)
    return replace(graph, nodes=tuple(nodes))


def _with_slices_first(graph: Graph) -> Graph:
    """Return the graph with PADs after the slices that read them, if the readers of these slices take the PADs over."""
    readers, ends = graph.readers, {tensor.name for tensor in graph.outputs}
    moved: dict[str, list[Node]] = {}  # the nodes in place of slices, by the output of the slice
    left: set[str] = set()  # outputs of PADs that are no longer needed
    for pad in graph.nodes:
        if not isinstance(pad.operator, Pad) or pad.outputs[0].name in ends:
            continue
        found = {slice_.outputs[0].name: _padded_part(pad, slice_) for slice_ in readers.get(pad.outputs[0].name, [])}
        if found and all(nodes and _is_taken(nodes[-1], readers, ends) for nodes in found.values()):
            moved |= {name: nodes for name, nodes in found.items() if nodes}
            left.add(pad.outputs[0].name)
    return replace(graph, nodes=tuple(_replaced(graph.nodes, moved, left))) if moved else graph


def _replaced(nodes: Sequence[Node], moved: Mapping[str, list[Node]], left: set[str]) -> Iterator[Node]:
    for node in nodes:
        name = node.outputs[0].name if node.outputs else ""
        if name not in left:
            yield from moved.get(name, [node])


def _is_taken(made: Node, readers: Mapping[str, list[Node]], ends: set[str]) -> bool:
    """Return whether the readers of a node take it over if it is a PAD."""
    if not isinstance(made.operator, Pad):
        return True
    behind = readers.get(made.outputs[0].name, [])
    taken = all(_takes(reader.operator, made.operator, made.inputs[0]) for reader in behind)
    return bool(behind) and taken and made.outputs[0].name not in ends


def _padded_part(pad: Node, slice_: Node) -> list[Node]:
    """Return the nodes in place of a PAD and a slice of it: the slice comes first. The list is empty if the
    operator takes other values of the PAD's input than whole rows, which are not copied, or takes padding only."""
    operator = slice_.operator
    taken = operator.ranges(pad.outputs[0].shape) if isinstance(operator, (Slice, StridedSlice)) else ()
    (source,), (output, *_) = pad.inputs, slice_.outputs
    if not taken or any(each.step != 1 for each in taken) or isinstance(source, Constant):
        return []
    assert isinstance(pad.operator, Pad)
    inside = list[range]()
    margins = list[tuple[int, int]]()
    for places, size, (before, _) in zip(taken, source.shape, pad.operator.margins):
        first, end = places.start - before, places.stop - before
        inside.append(range(max(first, 0), min(end, size)))
        margins.append((max(-first, 0), max(end - size, 0)))
    shape = tuple(map(len, inside))
    if not all(shape) or any(size != full for n, (size, full) in enumerate(zip(shape, source.shape)) if n != ROWS):
        return []
    part = Slice(begin=tuple(each.start for each in inside), size=shape)
    if not any(map(any, margins)):
        return [replace(slice_, operator=part, inputs=(source,))]
    middle, nodes = source, list[Node]()
    if shape != source.shape:
        middle = replace(source, name=f"{output.name}#part", shape=shape)
        nodes.append(Node(part, slice_.where, (source,), (middle,)))
    return [*nodes, Node(replace(pad.operator, margins=tuple(margins)), pad.where, (middle,), (output,))]


def _takes(reader: Operator, pad: Pad, source: Tensor) -> bool:
    """Return whether an operator can take over a PAD of its input."""
    if isinstance(reader, Pad):
        return reader.value == pad.value
    if len(pad.margins) != 4 or any(pad.margins[0] + pad.margins[3]):
        return False
    if isinstance(reader, MaxPool2D):
        return pad.value == INT8_MIN
    return isinstance(reader, Windowed) and pad.value == quantized(source).zero_point


def _with_pads(operator: Operator, pad: Pad) -> Operator:
    if isinstance(operator, Pad):
        margins = tuple((a + c, b + d) for (a, b), (c, d) in zip(operator.margins, pad.margins))
        return replace(operator, margins=margins)
    assert isinstance(operator, (Windowed, MaxPool2D))  # _takes says so
    (top, bottom, left, right), (_, (above, below), (before, after), _) = operator.pads, pad.margins
    return replace(operator, pads=(top + above, bottom + below, left + before, right + after))
