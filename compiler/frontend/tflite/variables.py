# SPDX-License-Identifier: Apache-2.0
"""The variables of a file, which become the state of a network: inputs and outputs in place of resources."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from ai_edge_litert import schema_py_generated as schema

from eyrie.compiler.frontend.tflite.reader import Reader
from eyrie.compiler.ir.failure import ModelImportError, Unsupported
from eyrie.compiler.ir.graph import REMEDY, Graph, Node
from eyrie.compiler.ir.tensor import Quantized, Tensor
from eyrie.compiler.operators.shapes import Reshape
from eyrie.model.operators.quantization import from_uint8

RESOURCES = ("CALL_ONCE", "VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE")
Key = tuple[bytes, bytes]  # container and name of a variable


@dataclass
class Variables:
    """The state in progress, for all operators so far.

    names    the operator of each number in operatorCodes
    written  the variables that an operator of the network assigns
    starts   start values, by variable
    handles  variables, by the tensor that stands for them
    values   the tensor that has the value of a variable, by variable
    read     the tensor that has the value before the call, by variable
    kept     start, input and output of each part of the state
    """

    model: schema.ModelT
    names: list[str]
    written: set[Key] = field(default_factory=set)
    starts: dict[Key, np.ndarray] = field(default_factory=dict)
    handles: dict[int, Key] = field(default_factory=dict)
    values: dict[Key, int] = field(default_factory=dict)
    read: dict[Key, int] = field(default_factory=dict)
    kept: list[tuple[np.ndarray, Tensor, Tensor]] = field(default_factory=list)

    def __post_init__(self) -> None:
        handles = dict[int, Key]()
        for operator in self.model.subgraphs[0].operators:
            name = self.names[operator.opcodeIndex]
            if name == "VAR_HANDLE":
                handles[int(operator.outputs[0])] = _key(operator)
            elif name == "ASSIGN_VARIABLE":
                self.written.add(handles.get(int(operator.inputs[0]), (b"", b"")))

    def take(self, reader: Reader, operator: schema.OperatorT, name: str) -> None:
        """Take one of RESOURCES, which is no node. Raise Unsupported."""
        if name == "CALL_ONCE":
            self._begin(operator.builtinOptions.initSubgraphIndex)
        elif name == "VAR_HANDLE":
            self.handles[int(operator.outputs[0])] = _key(operator)
        elif name == "READ_VARIABLE":
            self._read(reader, self.handles[int(operator.inputs[0])], int(operator.outputs[0]))
        else:
            value = reader.current(int(operator.inputs[1]))
            reader.tensor(value)
            self.values[self.handles[int(operator.inputs[0])]] = value

    def _begin(self, number: int) -> None:
        """Take the start values, which a subgraph of constants assigns."""
        subgraph = self.model.subgraphs[number]
        reader, handles = Reader(self.model, subgraph), dict[int, Key]()
        for operator in subgraph.operators:
            name = self.names[operator.opcodeIndex]
            if name == "VAR_HANDLE":
                handles[int(operator.outputs[0])] = _key(operator)
            elif name == "ASSIGN_VARIABLE" and reader.is_constant(int(operator.inputs[1])):
                self.starts[handles[int(operator.inputs[0])]] = reader.values(int(operator.inputs[1]))
            else:
                raise Unsupported(f"its subgraph has {name}; start values are constants")

    def _read(self, reader: Reader, key: Key, made: int) -> None:
        if key in self.values:
            _check_same(reader, key, made, self.values[key])
            reader.set_same(made, self.values[key])
        elif key in self.written:
            self.values[key] = self.read[key] = made
        else:
            reader.set_known(made, self._start(key, reader, made))

    def _start(self, key: Key, reader: Reader, index: int) -> np.ndarray:
        kind, shape = reader.stored_type(index), reader.shape(index)
        start = self.starts.get(key, np.zeros(shape, kind))
        if (str(start.dtype), start.shape) != (kind, shape):
            raise ModelImportError(f"variable {_said(key)} is read with another type or shape than it begins with")
        return start

    def with_state(self, state: Sequence[Tensor], outputs: tuple[Tensor, ...], shown: bool) -> tuple[Tensor, ...]:
        """Add the state of an operator, which begins with the number 0. Return its outputs, with the next state.

        state: its last inputs; shown: whether the file has the next state as the last outputs
        """
        if not shown:
            outputs += tuple(replace(tensor, name=f"{tensor.name}#next") for tensor in state)
        for taken, made in zip(state, outputs[-len(state) :]):
            zero = taken.zero_point if isinstance(taken, Quantized) and taken.dtype == "int8" else 0
            self.kept.append((np.full(taken.shape, zero, taken.dtype), taken, made))
        return outputs

    def inputs(self, reader: Reader) -> set[str]:
        """Return the names of the state's inputs."""
        return {taken.name for _, taken, _ in self.kept} | {reader.tensor(index).name for index in self.read.values()}

    def finished(self, reader: Reader, graph: Graph) -> Graph:
        """Return the graph with the state among its inputs and outputs."""
        for key, index in self.read.items():
            _check_same(reader, key, index, self.values[key])
            start, tensor = self._start(key, reader, index), reader.tensor(index)
            start = from_uint8(start) if isinstance(tensor, Quantized) and tensor.unsigned else start
            self.kept.append((start, tensor, reader.tensor(self.values[key])))
        nodes, outputs = list(graph.nodes), list(graph.outputs)
        made = {tensor.name for node in nodes for tensor in node.outputs}
        for _, taken, tensor in self.kept:
            if tensor.name not in made or tensor.name in {output.name for output in outputs}:
                copied = _copied(tensor, taken)
                nodes.append(Node(Reshape(to=tensor.shape), f"#{len(nodes)}", (tensor,), (copied,)))
                tensor = copied
            outputs.append(tensor)
        inputs = (*graph.inputs, *(taken for _, taken, _ in self.kept))
        return Graph(inputs, tuple(nodes), tuple(outputs), tuple(start for start, _, _ in self.kept))


def _copied(tensor: Tensor, like: Tensor) -> Tensor:
    """Return a tensor that is no constant, for a copy."""
    made = Tensor(name=f"{like.name}#next", shape=tensor.shape, dtype=tensor.dtype)
    if not isinstance(tensor, Quantized):
        return made
    return Quantized(**vars(made), quantization=tensor.quantization, unsigned=tensor.unsigned)


def _check_same(reader: Reader, key: Key, one: int, other: int) -> None:
    """Raise ModelImportError unless two tensors, which hold a variable, have the same meaning."""
    first, second = (_meaning(reader.tensor(index)) for index in (one, other))
    if first != second:
        raise ModelImportError(
            f"variable {_said(key)} is written as {second[0]} and read as {first[0]}, or with another scale",
            remedy=REMEDY,
        )


def _meaning(tensor: Tensor) -> tuple:
    scale = (tensor.quantization, tensor.unsigned) if isinstance(tensor, Quantized) else None
    return tensor.form, scale


def _key(operator: schema.OperatorT) -> Key:
    options = operator.builtinOptions
    return options.container or b"", options.sharedName or b""


def _said(key: Key) -> str:
    return "/".join(part.decode(errors="replace") for part in key if part)
