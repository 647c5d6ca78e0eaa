# SPDX-License-Identifier: Apache-2.0
"""Removal of identities: operators that change no value."""

from collections.abc import Iterable
from dataclasses import replace

from eyrie.compiler.ir.graph import Graph, Node
from eyrie.compiler.ir.tensor import Constant, Quantized, Tensor
from eyrie.compiler.operators.fully_connected import FullyConnected
from eyrie.compiler.operators.padding import Pad
from eyrie.compiler.operators.pooling import Pool
from eyrie.compiler.operators.quantization import Requantize
from eyrie.compiler.operators.shapes import Reshape

_MAY_BE_IDLE = (Reshape, Requantize, Pad, Pool)


def remove_idle(graph: Graph) -> Graph:
    """Return the graph without unused nodes and identities.

    Identities are a QUANTIZE between equal scales, a window of one value, a RESHAPE to the same shape, and a RESHAPE
    whose consumers read only the order of the values, such as a fully connected layer.
    """
    readers, ends = graph.readers, {tensor.name for tensor in graph.outputs}
    same: dict[str, Tensor] = {}
    nodes: list[Node] = []
    made: set[str] = set()
    for node in graph.nodes:
        node = replace(node, inputs=_renamed(node.inputs, same))
        if isinstance(node.operator, _MAY_BE_IDLE):
            (source, *_), (output, *_) = node.inputs, node.outputs
            inside = output.name not in ends
            unshaped = inside and all(map(_reads_in_order, readers.get(output.name, [])))
            if (inside or (source.name in made and _same_type(source, output))) and _is_idle(node, unshaped):
                same[output.name] = source
                continue
        nodes.append(node)
        made |= {tensor.name for tensor in node.outputs}
    return _without_unread(replace(graph, nodes=tuple(nodes), outputs=_renamed(graph.outputs, same)))


def _without_unread(graph: Graph) -> Graph:
    """Return the graph without the nodes whose outputs have no consumer."""
    wanted = {tensor.name for tensor in graph.outputs}
    nodes: list[Node] = []
    for node in reversed(graph.nodes):
        if any(tensor.name in wanted for tensor in node.outputs):
            nodes.insert(0, node)
            wanted |= {tensor.name for tensor in node.activations}
    return replace(graph, nodes=tuple(nodes))


def _renamed(tensors: Iterable[Tensor], same: dict[str, Tensor]) -> tuple[Tensor, ...]:
    return tuple(same.get(tensor.name, tensor) for tensor in tensors)


def _is_idle(node: Node, unshaped: bool) -> bool:
    """Return whether a node changes no value. unshaped: all readers of its output ignore the shape"""
    if isinstance(node.inputs[0], Constant) or not _same_values(node.inputs[0], node.outputs[0]):
        return False
    if unshaped and isinstance(node.operator, Reshape):
        return True
    return node.inputs[0].form == node.outputs[0].form and _copies(node)


def _same_values(source: Tensor, output: Tensor) -> bool:
    """Return whether equal values represent equal numbers in both tensors."""
    scales = [tensor.quantization for tensor in (source, output) if isinstance(tensor, Quantized)]
    return source.dtype == output.dtype and len(scales) != 1 and len(set(scales)) <= 1


def _same_type(source: Tensor, output: Tensor) -> bool:
    """Return whether the model has both tensors in uint8, or neither."""
    marks = {isinstance(tensor, Quantized) and tensor.unsigned for tensor in (source, output)}
    return len(marks) == 1


def _copies(node: Node) -> bool:
    """Return whether a node copies its input, if scale and shape of input and output are equal."""
    operator = node.operator
    if isinstance(operator, Pool):
        return operator.kernel == (1, 1) and not any(operator.pads) and operator.activation == "NONE"
    return True


def _reads_in_order(node: Node) -> bool:
    operator = node.operator
    return isinstance(operator, Reshape) or (isinstance(operator, FullyConnected) and not operator.keep_axes)
