# SPDX-License-Identifier: Apache-2.0
"""Folding of data-movement operators into layers with weights.

A convolution takes its inputs by an index map, too: the map of its window. Compose it with the maps of the operators
before it and of the operators after it. If the result is the map of a window, the layer alone does it by strides,
dilation and padding; channels follow by permuting the filters. So rows that become images of a batch and back, around a
convolution, become a dilation. A SPLIT of the output channels becomes two layers, each with its part of the filters.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

from eyrie.compiler.ir.graph import Graph, Node
from eyrie.compiler.ir.maps import map_of
from eyrie.compiler.ir.tensor import Tensor
from eyrie.compiler.operators.convolution import Windowed
from eyrie.compiler.operators.fully_connected import FullyConnected
from eyrie.compiler.operators.moves import Unmovable
from eyrie.compiler.operators.shapes import Reshape
from eyrie.compiler.operators.weights import Weighted
from eyrie.compiler.passes.compose_moves import effort, groups_of_move, layout
from eyrie.compiler.passes.constraints import is_view, of_operator
from eyrie.compiler.passes.folded_layers import Unfoldable, folded_connected, folded_window
from eyrie.compiler.passes.index_maps import IndexMap, index_maps, is_move, itself

FITS = 1024  # GLB words, half of the smallest GLB


@dataclass(frozen=True, eq=False)
class Front:
    """Data-movement operators before layers, and their composed index map from one tensor."""

    map: IndexMap
    moves: tuple[Node, ...] = ()

    @property
    def source(self) -> Tensor:
        return self.map.sources[0]


@dataclass(frozen=True, eq=False)
class Back:
    """Data-movement operators after a layer. ends: the tensors after them, each with its index map from the layer's
    output"""

    ends: tuple[tuple[Tensor, IndexMap], ...]
    moves: tuple[Node, ...] = ()


def fold_moves(graph: Graph) -> Graph:
    """Return the graph with as many data-movement operators as possible folded into the layers around them."""
    for together in _together(graph):
        graph = _folded(graph, together)
    return graph


def _together(graph: Graph) -> list[list[Node]]:
    """Return the layers with weights, grouped by the tensor that they read."""
    found: dict[str, list[Node]] = {}
    for node in graph.nodes:
        if isinstance(node.operator, (Windowed, FullyConnected)):
            found.setdefault(node.inputs[0].name, []).append(node)
    return list(found.values())


def _folded(graph: Graph, layers: list[Node]) -> Graph:
    """Fold the same operators before the layers into all of them, and as many as possible after each of them."""
    for front in reversed(fronts(graph, layers)):
        found = [_best(graph, layer, front) for layer in layers]
        if front.moves and not all(found):
            continue
        for layer, nodes_and_moves in zip(layers, found):
            if nodes_and_moves:
                graph = _with(graph, layer, *nodes_and_moves)
        return graph
    return graph


def _best(graph: Graph, layer: Node, front: Front) -> tuple[list[Node], tuple[Node, ...]] | None:
    """Return the nodes that replace a layer, and the operators that these nodes make unnecessary. Return None if no
    operator can be folded."""
    for back in reversed(backs(graph, layer)):
        moves = (*front.moves, *back.moves)
        if all(map(is_view, moves)):
            continue
        try:
            nodes = list(_nodes(layer, front, back))
            _check(graph, layer, nodes, moves)
        except (Unfoldable, Unmovable):
            continue
        return nodes, moves
    return None


def why_cached(graph: Graph, move: Node) -> str:
    """Return the reasons why a data-movement operator remains."""
    makers = {tensor.name: node for node in graph.nodes for tensor in node.outputs}
    readers, ends = graph.readers, {tensor.name for tensor in graph.outputs}
    behind = [reader for tensor in move.outputs for reader in readers.get(tensor.name, [])]
    if any(tensor.name in ends for tensor in move.outputs):
        reasons = ["the network's output is in this order"]
    else:
        reasons = [
            _reason(graph, reader, fronts(graph, [reader])[1:2], [_nothing_behind(reader)])
            if isinstance(reader.operator, Weighted)
            else f"no one move does it and {reader.where} {reader.operator.name} with less"
            if is_move(reader)
            else f"{reader.where} {reader.operator.name} takes maps as they are"
            for reader in behind
        ]
    for tensor in move.inputs:
        if isinstance((maker := makers.get(tensor.name, move)).operator, Weighted):
            reasons.append(_reason(graph, maker, [Front(itself(maker.inputs[0]))], backs(graph, maker)[1:2]))
    return "; ".join(dict.fromkeys(reasons))


def _reason(graph: Graph, layer: Node, fronts_: list[Front], backs_: list[Back]) -> str:
    """Return the reason why a layer does not take over the operators on one side: another node uses their tensor, too,
    if no check fails."""
    try:
        for front, back in product(fronts_, backs_):
            _check(graph, layer, list(_nodes(layer, front, back)), (*front.moves, *back.moves))
            return f"{layer.where} {layer.operator.name} does moves beside it already"
    except (Unfoldable, Unmovable) as reason:
        return f"{layer.where} {layer.operator.name}: {reason}"
    return f"{layer.where} {layer.operator.name} is not all that reads or makes it"


# ---- Moves around a layer ----


def fronts(graph: Graph, layers: list[Node]) -> list[Front]:
    """Return the possible fronts: no operator, the one before the layers, and so on. No other node may read their
    outputs."""
    makers = {tensor.name: node for node in graph.nodes for tensor in node.outputs}
    readers, ends = graph.readers, {tensor.name for tensor in graph.outputs}
    found, behind = [Front(itself(layers[0].inputs[0]))], set(layers)
    while True:
        source = found[-1].source
        maker = makers.get(source.name)
        if (
            maker is None
            or not is_move(maker)
            or len(maker.outputs) > 1
            or source.name in ends
            or not set(readers[source.name]) <= behind
        ):
            return found
        try:
            map_ = found[-1].map.through({source.name: index_maps(maker)[0]})
        except Unmovable:
            return found
        if len(map_.sources) > 1:
            return found
        found.append(Front(map_, (*found[-1].moves, maker)))
        behind = {maker}


def backs(graph: Graph, layer: Node) -> list[Back]:
    """Return the possible backs: no operator, the readers of the layer's output, their readers, and so on."""
    readers, ends = graph.readers, {tensor.name for tensor in graph.outputs}
    found = [_nothing_behind(layer)]
    while not isinstance(layer.operator, FullyConnected):
        left, moves = [], []
        for tensor, map_ in found[-1].ends:
            behind = readers.get(tensor.name, [])
            takes = (
                behind and tensor.name not in ends and all(is_move(each) and len(each.inputs) == 1 for each in behind)
            )
            try:
                left += [end for each in behind for end in _through(each, map_)] if takes else [(tensor, map_)]
            except Unmovable:
                return found
            moves += behind if takes else []
        if not moves:
            return found
        found.append(Back(tuple(left), (*found[-1].moves, *moves)))
    return found


def _nothing_behind(layer: Node) -> Back:
    (output,) = layer.outputs
    return Back(((output, itself(output)),))


def _through(move: Node, map_: IndexMap) -> Iterator[tuple[Tensor, IndexMap]]:
    for tensor, each in zip(move.outputs, index_maps(move), strict=True):
        yield tensor, each.through({move.inputs[0].name: map_})


# ---- The nodes in place of a layer ----


def _nodes(layer: Node, front: Front, back: Back) -> Iterator[Node]:
    """Yield the nodes in place of a layer and data-movement operators. Raise Unfoldable or Unmovable."""
    operator, source = layer.operator, front.source
    if isinstance(operator, FullyConnected):
        yield folded_connected(layer, operator, front.map)
        return
    assert isinstance(operator, Windowed)  # no other layer has weights
    ifmap = _as_map(source)
    if ifmap is not source:
        yield Node(Reshape(to=ifmap.shape), layer.where, (source,), (ifmap,))
    for tensor, map_ in back.ends:
        ofmap = _as_map(tensor)
        yield Node(folded_window(layer, operator, front.map, tensor, map_), layer.where, (ifmap,), (ofmap,))
        if ofmap is not tensor:
            yield Node(Reshape(to=tensor.shape), layer.where, (ofmap,), (tensor,))


def _as_map(tensor: Tensor) -> Tensor:
    """Return the tensor with four axes. Raise Unfoldable."""
    if not 2 <= len(tensor.shape) <= 4 or tensor.shape[0] != 1:
        raise Unfoldable(f"{tensor.name} is not one map")
    if len(tensor.shape) == 4:
        return tensor
    return replace(tensor, name=f"{tensor.name}#map", shape=(1, *map_of(tensor).shape))


def _check(graph: Graph, layer: Node, nodes: list[Node], moves: tuple[Node, ...]) -> None:
    """Raise Unfoldable if the accelerator does not run the nodes, or if its work grows."""
    layers = [node for node in nodes if isinstance(node.operator, Weighted)]
    if reasons := [reason for node in layers for reason in of_operator(node, graph)]:
        raise Unfoldable(reasons[0])
    if sum(node.macs for node in layers) > layer.macs:
        raise Unfoldable("there would be more MACs")
    if sum(map(_filter_values, layers)) > _filter_values(layer):
        raise Unfoldable("its filters would be loaded more than once")
    groups = [group for move in moves for group in groups_of_move(move, graph) or []]
    before = max(_room(layer), effort(groups).at_once, FITS)
    if max(map(_room, layers)) > before:
        raise Unfoldable("rows would be too long to be made in turn")


def _filter_values(node: Node) -> int:
    return node.operator.filters.size if isinstance(node.operator, Weighted) else 0


def _room(node: Node) -> int:
    """Return the minimum words of rows that are in the GLB at once."""
    if not isinstance(node.operator, Windowed):
        return 0
    ifmap, ofmap = (layout(map_of(tensor)) for tensor in (node.inputs[0], node.outputs[0]))
    return min(node.operator.window.span[0], ifmap.rows) * ifmap.row_words + ofmap.row_words


def _with(graph: Graph, layer: Node, nodes: list[Node], moves: tuple[Node, ...]) -> Graph:
    """Return the graph with `nodes` in place of a layer. A view of the layer's input follows the maker of this input,
    once."""
    made = {tensor.name for node in graph.nodes for tensor in node.outputs}
    views = [node for node in nodes[:1] if isinstance(node.operator, Reshape)]
    kept: list[Node] = [] if views and views[0].inputs[0].name in made else [*_new(views, made)]
    for each in graph.nodes:
        if each is layer:
            kept += nodes[len(views) :]
        elif each not in moves:
            kept.append(each)
            if views and views[0].inputs[0] in each.outputs:
                kept += _new(views, made)
    return replace(graph, nodes=tuple(kept))


def _new(views: list[Node], made: set[str]) -> list[Node]:
    return [view for view in views if view.outputs[0].name not in made]
