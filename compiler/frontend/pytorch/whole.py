# SPDX-License-Identifier: Apache-2.0
"""A whole int8 FX graph as one Graph."""

from collections.abc import Mapping
from operator import getitem

import numpy as np
import torch
from torch.fx import GraphModule, Node

from eyrie.compiler.frontend.pytorch.aliases import reject_changes
from eyrie.compiler.frontend.pytorch.call import short
from eyrie.compiler.frontend.pytorch.names import renamed
from eyrie.compiler.frontend.pytorch.operators import FIXED_SCALES, KEEP_SCALE, changes_nothing, translation
from eyrie.compiler.frontend.pytorch.regions import DEQUANTIZE, QUANTIZE, is_a, of_module
from eyrie.compiler.ir.failure import Unsupported
from eyrie.compiler.ir.graph import Graph
from eyrie.compiler.ir.operator import Unknown

REMEDY = "replace these layers, or call torch.compile with the back end eyrie, which leaves them to PyTorch"


def whole(module: GraphModule, constants: Mapping[Node, np.ndarray], names: Mapping[str, str]) -> Graph:
    """Return the Graph between the QUANTIZEs of the inputs and the DEQUANTIZEs of the outputs, with unsupported
    operators.

    names: the user's names of nodes, by the nodes' names. The function changes `module`. Raise Unsupported, with all
    reasons, if operators are unknown.
    """
    _mark_ends(module)
    regions = of_module(module, constants)
    reject_changes(regions.changed, names)
    module.graph.eliminate_dead_code()
    results = [node.all_input_nodes[0] if is_a(node, DEQUANTIZE) else node for node in _outputs(module)]
    ends = {
        node
        for node in module.graph.nodes
        if (is_a(node, QUANTIZE) and isinstance(source := node.args[0], Node) and source.op == "placeholder")
        or (is_a(node, DEQUANTIZE) and all(reader.op == "output" for reader in node.users))
    }
    inner = {node for node in module.graph.nodes if node.op == "call_function"} - ends
    if not inner:
        raise Unsupported("the model has no operators")
    unknown = [
        f"{layer if layer.endswith(short(node)) else f'{layer}: {short(node)}'}: no such operator is known"
        for node in module.graph.nodes
        if node in inner and node.target is not getitem and translation(node.target) is None
        for layer in [names.get(node.name, node.name)]
    ]
    if unknown:
        raise Unsupported("; ".join(unknown), remedy=REMEDY)
    graph = renamed(regions.region(inner, results).graph, names)
    unknown = [
        f"{node.outputs[0].name}: {node.operator.name}: {node.operator.reason}"
        for node in graph.nodes
        if isinstance(node.operator, Unknown)
    ]
    if unknown:
        raise Unsupported("; ".join(unknown), remedy=REMEDY)
    return graph


def _outputs(module: GraphModule) -> list[Node]:
    """Return the nodes of a module's outputs, in their order."""
    [output] = module.graph.find_nodes(op="output")
    return [node for node in torch.utils._pytree.tree_leaves(output.args[0]) if isinstance(node, Node)]


def _mark_ends(module: GraphModule) -> None:
    """Quantise outputs whose scale is known, and inputs before idle operators."""
    graph = module.graph
    for node in list(graph.nodes):
        if node.op == "call_function" and changes_nothing(node) and node.all_input_nodes[0].op == "placeholder":
            node.replace_all_uses_with(node.all_input_nodes[0])
            graph.erase_node(node)
    [end] = graph.find_nodes(op="output")
    for node in _outputs(module):
        if is_a(node, DEQUANTIZE) or (scale := _scale_of(node)) is None:
            continue
        with graph.inserting_after(node):
            codes = graph.call_function(torch.ops.quantized_decomposed.quantize_per_tensor.default, (node, *scale))
        codes.meta["example_value"] = torch.empty_like(node.meta["example_value"], dtype=scale[-1])
        with graph.inserting_after(codes):
            made = graph.call_function(torch.ops.quantized_decomposed.dequantize_per_tensor.default, (codes, *scale))
        made.meta["example_value"] = node.meta["example_value"]
        end.replace_input_with(node, made)


def _scale_of(node: Node) -> tuple | None:
    """Return the arguments of the QUANTIZE that an output lacks; None if its scale is not known."""
    while not is_a(node, DEQUANTIZE):
        if node.op != "call_function":
            return None
        if short(node) in FIXED_SCALES:
            return *FIXED_SCALES[short(node)], -128, 127, torch.int8
        if not (node.target is getitem or changes_nothing(node) or short(node) in KEEP_SCALE):
            return None
        node = node.all_input_nodes[0]
    return node.args[1:]
