# SPDX-License-Identifier: Apache-2.0
"""Expansion of operators into several operations of the accelerator, with the same values."""

from dataclasses import replace

import numpy as np

from eyrie.compiler.ir.graph import Graph, Node
from eyrie.compiler.ir.operators.elementwise import Add, Mul, Prelu
from eyrie.compiler.ir.operators.movement import Concatenation
from eyrie.compiler.ir.operators.operator import quantizations, quantized
from eyrie.compiler.ir.operators.tables import Lookup
from eyrie.compiler.ir.tensor import Constant, Quantized, Tensor
from eyrie.compiler.passes.compose_functions import is_uniform
from eyrie.model.operators.elementwise import prelu_parameters
from eyrie.model.operators.quantization import requantize
from eyrie.model.operators.tables import VALUES, joined_uint8


def expand(graph: Graph) -> Graph:
    nodes = tuple(part for node in graph.nodes for part in _expanded(node))
    return Graph(graph.inputs, nodes, graph.outputs)


def _expanded(node: Node) -> tuple[Node, ...]:
    if isinstance(node.operator, Prelu):
        return _prelu(node, node.operator)
    if isinstance(node.operator, Concatenation):
        return _concatenation(node, node.operator)
    return (node,)


def _prelu(node: Node, operator: Prelu) -> tuple[Node, ...]:
    """Return the nodes of PRELU: a table for values from zero on, and the product of negative values and slopes.

    One of the two is zero, so that their sum in one scale is the other. With equal slopes, PRELU is a function of one
    value (compose_functions.py).
    """
    (values, slopes), (output,) = node.inputs, node.outputs
    scale, slope_scale, output_scale = quantizations(values, slopes, output)
    if isinstance(values, Constant) or is_uniform(node):
        return (node,)
    parameters = prelu_parameters(scale, slope_scale, output_scale, operator.reference)
    positive = requantize(np.maximum(VALUES - scale.zero_point, 0), parameters.positive)
    negative = np.minimum(VALUES, scale.zero_point).astype(np.int8)
    parts = [replace(output, name=f"{output.name}#{part}") for part in ("positive", "product")]
    below = replace(values, name=f"{output.name}#negative")
    return (
        _lookup(node, positive, values, parts[0]),
        _lookup(node, negative, values, below),
        replace(node, operator=Mul(unsigned=operator.unsigned), inputs=(below, slopes), outputs=(parts[1],)),
        replace(node, operator=Add(unsigned=operator.unsigned), inputs=tuple(parts)),
    )


def _concatenation(node: Node, operator: Concatenation) -> tuple[Node, ...]:
    """Return the nodes: inputs of other scales are rescaled to the output's scale first."""
    (output,) = node.outputs
    if any(isinstance(tensor, Constant) for tensor in node.inputs):
        return (node,)
    tables, inputs = [], []
    for n, tensor in enumerate(node.inputs):
        if isinstance(tensor, Quantized) and tensor.quantization != quantized(output).quantization:
            rescaled = replace(output, name=f"{output.name}#rescaled{n}", shape=tensor.shape)
            entries = joined_uint8(tensor.quantization, quantized(output).quantization)
            tables.append(_lookup(node, entries, tensor, rescaled))
            tensor = rescaled
        inputs.append(tensor)
    return *tables, replace(node, operator=replace(operator, unsigned=False), inputs=tuple(inputs))


def _lookup(node: Node, entries: np.ndarray, source: Tensor, output: Tensor) -> Node:
    return replace(node, operator=Lookup(entries=entries), inputs=(source,), outputs=(output,))
