# SPDX-License-Identifier: Apache-2.0
"""The translation of FX nodes between int8 values to a Network of one image."""

from collections.abc import Collection, Iterable, Mapping
from operator import getitem

import numpy as np
import torch
from torch.fx import Node

from eyrie.compiler.frontend.pytorch.call import Batch, Call, Shape, part_name, short
from eyrie.compiler.frontend.pytorch.operators import translation
from eyrie.compiler.frontend.qdq.maps import input_of, map_axes, output_of
from eyrie.compiler.ir.failure import Unsupported
from eyrie.compiler.ir.qdq.network import Network, Operation
from eyrie.compiler.ir.tensor import Tensor

_CODES = {torch.int8: "int8", torch.uint8: "uint8"}


def network_of(
    nodes: Iterable[Node],
    taken: Iterable[Node],
    made: Iterable[Node],
    constants: Mapping[Node, np.ndarray],
    settled: Collection[Node],
    batch: Batch,
    places: Mapping[Node, int],
) -> Network:
    """Return the Network of nodes. Feature maps at its inputs and outputs have channels last.

    taken, made: inputs and outputs, which must have codes; constants: values of nodes; settled: all nodes that are the
    same in every run; places: of nodes, for messages. An unknown operator has the kind `unknown`, and the reason. Raise
    Unsupported if an input or output has no codes.
    """
    nodes = list(nodes)
    maps = map_axes(map(short, nodes))
    arrays = {node.name: values for node, values in constants.items()}
    operations: list[Operation] = []
    inputs: list[Tensor] = []
    shapes: dict[str, Shape | None] = {}
    for node in taken:
        shape = batch.one(node)
        inputs.append(input_of(node.name, shape, codes_of(node), operations, maps))
        shapes[node.name] = shape
    for node in nodes:
        call = Call(node, f"#{places.get(node, 0)}", batch, constants, settled)
        operations += _operations(call)
        arrays |= call.made
        if isinstance(node.meta.get("example_value"), torch.Tensor) and call.arguments_are_activations():
            shapes[node.name] = _shape(batch, node)
    outputs = tuple(_output(node, batch, operations, maps) for node in made)
    return Network(
        tuple(inputs),
        arrays,
        tuple(operations),
        outputs,
        {name: shape for name, shape in shapes.items() if shape is not None},
    )


def codes_of(node: Node) -> str:
    """Return the type of a value of codes. Raise Unsupported for other values."""
    value = node.meta.get("example_value")
    if not isinstance(value, torch.Tensor) or value.dtype not in _CODES:
        raise Unsupported(f"{node.name} is not int8")
    return _CODES[value.dtype]


def _output(node: Node, batch: Batch, operations: list[Operation], maps: Collection[int]) -> str:
    codes_of(node)
    return output_of(node.name, batch.one(node), operations, maps)


def _operations(call: Call) -> list[Operation]:
    node = call.node
    if node.target is getitem:
        source, number = node.args
        assert isinstance(source, Node) and isinstance(number, int)  # an operator of several outputs, and one of these
        return [Operation("identity", (part_name(source.name, number),), (node.name,), call.where, "getitem", {})]
    translate = translation(node.target)
    try:
        if translate is None:
            raise Unsupported("no such operator is known")
        return translate(call)
    except Unsupported as error:
        inputs = tuple(each.name for each in node.all_input_nodes)
        return [Operation("unknown", inputs, (node.name,), call.where, short(node), {"reason": str(error)})]


def _shape(batch: Batch, node: Node) -> tuple[int, ...] | None:
    try:
        return batch.one(node)
    except Unsupported:
        return None
