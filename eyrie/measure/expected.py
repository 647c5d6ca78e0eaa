# SPDX-License-Identifier: Apache-2.0
"""The outputs of a `.tflite` model by an interpreter."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from ai_edge_litert import schema_py_generated as schema

from eyrie.compiler.frontend.tflite.contents import packed
from eyrie.compiler.ir.graph import Graph, Node
from eyrie.compiler.ir.operator import quantized
from eyrie.compiler.ir.tensor import Quantized, Tensor
from eyrie.compiler.operators.fully_connected import FullyConnected
from eyrie.compiler.operators.interpreted import Interpreted
from eyrie.compiler.operators.record import Record
from eyrie.model.interpreters import APART, Values
from eyrie.model.operators.quantization import from_uint8
from eyrie.model.operators.reference import Reference


def references(graph: Graph) -> tuple[Reference, ...]:
    """Return the references that compute the operators as the golden model does.

    The first one that runs a network is compared with: the one whose rounding FULLY_CONNECTED follows, or that runs
    most of the operators without a golden function.
    """
    tensors = [tensor for node in graph.nodes for tensor in (*node.inputs, *node.outputs)]
    unsigned = any(isinstance(tensor, Quantized) and tensor.unsigned for tensor in tensors)
    rescaled = any(
        node.operator.name == "RELU6"
        and quantized(node.inputs[0]).quantization != quantized(node.outputs[0]).quantization
        for node in graph.nodes
    )
    if unsigned or rescaled:
        return (Reference.LITERT,)
    by = Counter(node.operator.interpreter for node in graph.nodes if isinstance(node.operator, Interpreted))
    followed = {
        Reference.LITERT if node.operator.once else Reference.MICRO
        for node in graph.nodes
        if isinstance(node.operator, FullyConnected)
    }
    both = Reference.MICRO, Reference.LITERT
    return tuple(sorted(both, key=lambda reference: (reference not in followed, -by[reference])))


def outputs_by(reference: Reference, model: bytes, graph: Graph, runs: Sequence[Values]) -> list[list[np.ndarray]]:
    """Return the outputs of each of `runs`. Raise Rejected if the interpreter does not run the model.

    Operators at the end of the model that no interpreter has are golden functions of the values that the interpreter
    gives them.
    """
    last = [node for node in graph.nodes if isinstance(node.operator, Record) and node.operator.in_no_interpreter]
    ends = {output.name: output for output in graph.results}
    if not last or any(output.name not in ends for node in last for output in node.outputs):
        return APART.run(reference, model, runs)
    shown = [tensor for node in last for tensor in node.inputs]
    done = APART.run(reference, _without(model, {int(node.where.removeprefix("#")) for node in last}), runs)
    rest = [name for name in ends if not any(name == output.name for node in last for output in node.outputs)]
    return [_completed(list(ends), last, dict(zip([*rest, *_names(shown)], values, strict=True))) for values in done]


def _completed(ends: list[str], last: list[Node], values: dict[str, np.ndarray]) -> list[np.ndarray]:
    """Return the outputs of a network. values: by the names of tensors, without the results of the last nodes"""
    for node in last:
        taken = tuple(_stored(tensor, values[tensor.name]) for tensor in node.inputs)
        values |= zip(_names(node.outputs), node.run(taken), strict=True)
    return [values[name] for name in ends]


def _stored(tensor: Tensor, value: np.ndarray) -> np.ndarray:
    """Return a value of a file as a Graph has it."""
    return from_uint8(value) if value.dtype == np.uint8 and tensor.dtype == "int8" else value


def _names(tensors: Sequence[Tensor]) -> list[str]:
    return list(dict.fromkeys(tensor.name for tensor in tensors))


def _without(model: bytes, numbers: set[int]) -> bytes:
    """Return a model without the operators of these numbers: their inputs are its last outputs, instead of theirs."""
    made = schema.ModelT.InitFromPackedBuf(model)
    graph = made.subgraphs[0]
    last = [operator for n, operator in enumerate(graph.operators) if n in numbers]
    gone = {int(index) for operator in last for index in operator.outputs}
    graph.operators = [operator for n, operator in enumerate(graph.operators) if n not in numbers]
    shown = dict.fromkeys(int(index) for operator in last for index in operator.inputs)
    graph.outputs = [*(int(index) for index in graph.outputs if int(index) not in gone), *shown]
    return packed(made)
