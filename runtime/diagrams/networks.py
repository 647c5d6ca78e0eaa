# SPDX-License-Identifier: Apache-2.0
"""Diagrams of a network: the operators of the model, and the same operators as accelerator and host run them."""

from collections.abc import Callable, Iterable, Sequence
from itertools import cycle
from pathlib import Path

from eyrie.compiler.frontend.file import load
from eyrie.compiler.ir.graph import Graph, Node
from eyrie.compiler.ir.layer import Group
from eyrie.compiler.ir.tensor import Quantized, Tensor
from eyrie.compiler.parts import CompiledPart, compile_request
from eyrie.compiler.passes.constraints import is_view
from eyrie.compiler.passes.form_groups import maps_of
from eyrie.compiler.passes.partition import Partition
from eyrie.compiler.results import Built, Request
from eyrie.model.config import DEFAULT, AcceleratorConfig
from eyrie.model.messages import times
from eyrie.model.operators.quantization import UINT8_OFFSET
from eyrie.runtime.diagrams.diagram import Box, Diagram, Line, Meaning
from eyrie.runtime.diagrams.svg import drawn
from eyrie.runtime.inputs import file_type

HOST = "orange"
ACCELERATOR = ("blue", "teal", "purple", "gold", "red")  # of its parts, in turn
MODEL, END = "idle", "grid"


def picture(model: Path, config: AcceleratorConfig = DEFAULT, on_stage: Callable[[str], None] | None = None) -> str:
    """Return a model before and after compilation as SVG. Raise InputError, with one line, if it does not compile."""
    before, parts = load(model), compile_request(Request(model, config), on_stage).parts
    return drawn(model.name, [of_graph("in the model", before), of_parts("as it runs", before, parts)], legend(parts))


def graph_svg(graph: Graph) -> str:
    """Return a picture of a graph for the report: an SVG whose colours are the variables of the page."""
    from eyrie.runtime.report.canvas import inlined  # slow: matplotlib

    svg = drawn("Graph", [of_graph("in the model", graph)], [])
    return inlined(svg, "graph", "Graph", "The operators of the network, with shapes and connections.")


def legend(parts: Sequence[CompiledPart]) -> list[Meaning]:
    """Return the meanings of the colours of `of_parts`, with the share of the operations for each side."""
    total = sum(each.part.elements for each in parts) or 1
    entries = []
    for number, (each, role) in enumerate(zip(parts, roles(parts))):
        if each.stages:
            entries.append(Meaning(role, f"accelerator, subgraph {number}: {_share(each.part.graph.nodes, total)}"))
    host = Partition(tuple(each.part for each in parts)).host_nodes
    return [*entries, Meaning(HOST, f"host: {_share(host, total)}")] if host else entries


def _share(nodes: Sequence[Node], total: int) -> str:
    noun = "operator" if len(nodes) == 1 else "operators"
    return f"{len(nodes)} {noun}, {100 * sum(node.elements for node in nodes) / total:.3f} % of all operations"


def roles(parts: Sequence[CompiledPart]) -> list[str]:
    """Return the colour of each subgraph."""
    hues = cycle(ACCELERATOR)
    return [next(hues) if each.stages else HOST for each in parts]


def of_graph(title: str, graph: Graph) -> Diagram:
    """Return a diagram with a box for each node, and for each input and output of the network."""
    drawing = _Drawing()
    for node in graph.nodes:
        drawing.add([node], MODEL)
    return drawing.made(title, graph.inputs, {tensor.name: tensor for tensor in graph.outputs})


def of_parts(title: str, graph: Graph, parts: Sequence[CompiledPart]) -> Diagram:
    """Return a diagram with a box for each node of the host and for each fusion group of the accelerator.

    `graph` is the graph of the model.
    """
    drawing, ends = _Drawing(), {tensor.name: tensor for tensor in graph.outputs}
    for each, role in zip(parts, roles(parts)):
        for nodes, names in _together(each.stages) if each.stages else (([node], ()) for node in each.graph.nodes):
            drawing.add(nodes, role, ", ".join(names))
        if each.stages:  # its output may have another name inside
            outputs = each.stages.graph.outputs, each.stages.folded.outputs
            drawing.same |= {outer.name: inner.name for outer, inner in zip(*outputs)}
    return drawing.made(title, graph.inputs, ends)


class _Drawing:
    """The diagram under construction.

    boxes, taken: the boxes, and the tensors that each reads; makers: for each tensor, the key of the box that computes
    it; same: for each tensor with a second name, that name.
    """

    def __init__(self) -> None:
        self.boxes: list[Box] = []
        self.taken: list[tuple[str, str]] = []
        self.makers: dict[str, str] = {}
        self.same: dict[str, str] = {}

    def add(self, nodes: Sequence[Node], role: str, names: str = "") -> None:
        key = f"{len(self.boxes)} {nodes[-1].where}"
        lines = [Line(names)] if names else []
        for node in nodes:
            lines.append(Line(node.operator.name, node.where, strong=True))
            lines += [Line(_form(tensor), _scale(tensor)) for tensor in node.outputs]
        own = {tensor.name for node in nodes for tensor in node.outputs}
        self.taken += [
            (name, key)
            for name in dict.fromkeys(tensor.name for node in nodes for tensor in node.activations)
            if name not in own
        ]
        self.makers |= dict.fromkeys(own, key)
        self.boxes.append(Box(key, tuple(lines), role))

    def made(self, title: str, inputs: Iterable[Tensor], outputs: dict[str, Tensor]) -> Diagram:
        for tensor in inputs:
            self.makers[tensor.name] = self._end("input", tensor)
        for name, tensor in outputs.items():
            self.taken.append((name, self._end("output", tensor)))
        arrows = dict.fromkeys((self._maker(name), key) for name, key in self.taken)
        return Diagram(title, tuple(self.boxes), tuple(arrows))

    def _maker(self, name: str) -> str:
        return self.makers[name] if name in self.makers else self.makers[self.same[name]]

    def _end(self, kind: str, tensor: Tensor) -> str:
        key = f"{kind} {len(self.boxes)}"
        lines = Line(f"{kind} {tensor.name}"), Line(_form(tensor), _scale(tensor))
        self.boxes.append(Box(key, lines, END))
        return key


def _form(tensor: Tensor) -> str:
    kind = file_type(tensor)
    return f"{kind} {times(tensor.shape)}" if tensor.shape else kind


def _scale(tensor: Tensor) -> str:
    if not isinstance(tensor, Quantized):
        return ""
    zero_point = tensor.zero_point + (UINT8_OFFSET if tensor.unsigned else 0)
    return f"{tensor.quantization.scale:.4g} / {zero_point}"


def _together(stages: Built) -> list[tuple[list[Node], tuple[str, ...]]]:
    """Return lists of the accelerator's nodes that run together, in order, with the names of their fused operators.

    A node belongs to the fused operators that compute its maps. If its map stays in the array, it belongs to the node
    that reads the map. A fused operator whose map is the output of no node belongs to the one that reads the map. A
    view belongs to the node before it.
    """
    graph = stages.folded
    maps, groups = maps_of(graph), stages.groups
    names = {maps[tensor.name].name for node in graph.nodes for tensor in node.outputs}
    homes = {group.layer: _home(group, groups, names) for group in groups}  # maps for which groups work
    takers: dict[str, Node] = {}
    for node in graph.nodes:
        if not is_view(node):
            takers |= {maps[tensor.name].name: node for tensor in node.activations}

    def home_of(node: Node) -> str:
        own = [maps[tensor.name].name for tensor in node.outputs]
        return next((name for name in own if name in homes.values()), None) or home_of(takers[own[0]])

    boxes: dict[object, list[Node]] = {}
    box_of: dict[str, object] = {}
    for node in graph.nodes:
        key = box_of.get(node.activations[0].name, node) if is_view(node) else home_of(node)
        boxes.setdefault(key, []).append(node)
        box_of |= {tensor.name: key for tensor in node.outputs}
    found = []
    for nodes in boxes.values():
        own = {maps[tensor.name].name for node in nodes if not is_view(node) for tensor in node.outputs}
        found.append((nodes, tuple(name for name, home in homes.items() if home in own)))
    return found


def _home(group: Group, groups: Sequence[Group], made: set[str]) -> str:
    """Return the map of a node that a fused operator works for: its output, the map that this is a part of, or the
    output of its reader."""
    name = next((map_.name for map_ in group.output.around if map_.name in made), None)
    if name is None:
        own = group.output.name
        name = _home(next(each for each in groups if own in {map_.name for map_ in each.operands}), groups, made)
    return name
