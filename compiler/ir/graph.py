# SPDX-License-Identifier: Apache-2.0
"""A network: tensors, and nodes that compute tensors from others, in an order in which they can run.

graph  = "inputs" tensor* / node* / "outputs" tensor*
node   = where operator inputs "->" outputs attributes
tensor = name type[shape] scale/zero point
"""

from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from eyrie.compiler.ir.failure import CompileError
from eyrie.compiler.ir.operator import Operator
from eyrie.compiler.ir.tensor import Constant, Tensor
from eyrie.model.errors import InputError

REMEDY = "convert the model again"
OperatorType = TypeVar("OperatorType", bound=Operator)


class Malformed(CompileError):
    """A graph that contradicts itself."""


@dataclass(frozen=True, eq=False)
class Node:
    """An operator with its input and output tensors. where: its place in the model, for messages"""

    operator: Operator
    where: str
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]

    @property
    def place(self) -> str:
        """Return number and name of the operator, for messages."""
        return f"operator {self.where} {self.operator.name}"

    @property
    def activations(self) -> tuple[Tensor, ...]:
        """Return the inputs that are not constants."""
        return tuple(tensor for tensor in self.inputs if not isinstance(tensor, Constant))

    @property
    def macs(self) -> int:
        """Return the MACs with weights."""
        return self.operator.macs(self.inputs, self.outputs)

    @property
    def elements(self) -> int:
        """Return the number of element operations; for operators with weights, their MACs."""
        return self.operator.elements(self.inputs, self.outputs)

    def run(self, values: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
        """Run the golden model of the operator: return the outputs for input values."""
        return self.operator.run(values, self.inputs, self.outputs)

    def verify(self) -> None:
        """Raise Malformed if inputs and outputs do not fit the operator."""
        try:
            for tensor in self.inputs:
                if isinstance(tensor, Constant):
                    tensor.check()
            made = self.operator.infer(self.inputs)
            if made:
                self._check_outputs(made)
                self.operator.check(self.inputs, self.outputs)
        except CompileError as error:
            raise Malformed(f"{self.place}: {error.what}", layer=self.where, remedy=error.remedy or REMEDY) from error
        except InputError as error:
            raise Malformed(f"{self.place}: {error}", layer=self.where, remedy=REMEDY) from error

    def _check_outputs(self, made: tuple) -> None:
        if len(made) != len(self.outputs):
            raise InputError(f"makes {len(made)} tensors, has {len(self.outputs)} outputs")
        for form, output in zip(made, self.outputs):
            if form != output.form:
                raise InputError(f"makes {form}, its output is {output.form}")

    def __str__(self) -> str:
        tensors = (", ".join(map(str, side)) for side in (self.inputs, self.outputs))
        return f"{self.where:4} {self.operator.name:17} {' -> '.join(tensors)}  {self.operator}".rstrip()


@dataclass(frozen=True, eq=False)
class Graph:
    """A network: nodes from inputs to outputs.

    start  start values of the state. The state is the last inputs, as many as start values; for the next call, they
           take the values of the last outputs.
    """

    inputs: tuple[Tensor, ...]
    nodes: tuple[Node, ...]
    outputs: tuple[Tensor, ...]
    start: tuple[np.ndarray, ...] = ()

    @property
    def arguments(self) -> tuple[Tensor, ...]:
        """Return the inputs without the state."""
        return self.inputs[: len(self.inputs) - len(self.start)]

    @property
    def results(self) -> tuple[Tensor, ...]:
        """Return the outputs without the state."""
        return self.outputs[: len(self.outputs) - len(self.start)]

    @property
    def input(self) -> Tensor:
        """Return the input of a network that has one beside its state."""
        return _one(self.arguments, "input")

    @property
    def output(self) -> Tensor:
        """Return the output of a network that has one beside its state."""
        return _one(self.results, "output")

    @property
    def readers(self) -> dict[str, list[Node]]:
        """Return the nodes that read a tensor, by its name."""
        found: dict[str, list[Node]] = {}
        for node in self.nodes:
            for tensor in node.activations:
                found.setdefault(tensor.name, []).append(node)
        return found

    def __str__(self) -> str:
        ends = (
            f"{name:22} {', '.join(map(str, tensors))}"
            for name, tensors in (("inputs", self.inputs), ("outputs", self.outputs))
        )
        first, last = ends
        return "\n".join([first, *map(str, self.nodes), last])

    def run(self, *inputs: np.ndarray) -> dict[str, np.ndarray]:
        """Run the golden model of the network, and return all tensors by name. inputs: in order, of their types and
        shapes"""
        values = {tensor.name: value for tensor, value in zip(self.inputs, inputs, strict=True)}
        for node in self.nodes:
            taken = tuple(
                tensor.data if isinstance(tensor, Constant) else values[tensor.name] for tensor in node.inputs
            )
            values.update(zip((tensor.name for tensor in node.outputs), node.run(taken), strict=True))
        return values

    def run_images(self, images: np.ndarray) -> np.ndarray:
        """Run the golden model of a network with one input and one output: int8 images [N, H, W, C] to int8 [N, E, F,
        M]."""
        shape, made = self.input.shape, map_shape(self.output.shape)
        results = [self.run(image.reshape(shape))[self.output.name].reshape(made) for image in images]
        return np.stack(results)

    def verified(self) -> "Graph":
        """Return the graph if each tensor is made once and before its use, no input or result is a constant, all
        outputs are made, and types, shapes and scales are the operators' own. Raise Malformed."""
        known: dict[str, Tensor] = {}
        for tensor in self.inputs:
            if tensor.name in known:
                raise Malformed(f"the model has its input {tensor.name} twice", remedy=REMEDY)
            if isinstance(tensor, Constant):
                raise Malformed(f"the model's input {tensor.name} is a constant", remedy=REMEDY)
            known[tensor.name] = tensor
        made: set[str] = set()
        for node in self.nodes:
            for tensor in node.activations:
                if known.get(tensor.name) != tensor:
                    raise Malformed(
                        f"{node.place}: takes {tensor.name}, which no operator before it makes",
                        layer=node.where,
                        remedy=REMEDY,
                    )
            node.verify()
            for tensor in node.outputs:
                if tensor.name in known:
                    raise Malformed(
                        f"{node.place}: makes {tensor.name}, which is there already", layer=node.where, remedy=REMEDY
                    )
                if isinstance(tensor, Constant):
                    raise Malformed(
                        f"{node.place}: makes {tensor.name}, which is a constant", layer=node.where, remedy=REMEDY
                    )
                known[tensor.name] = tensor
                made.add(tensor.name)
        for tensor in self.outputs:
            if tensor.name not in made or known[tensor.name] != tensor:
                what = "is one of its inputs" if tensor in self.inputs else "is made by no operator"
                raise Malformed(f"the model's output {tensor.name} {what}", remedy=REMEDY)
        return self


def operator_of(node: Node, kind: type[OperatorType]) -> OperatorType:
    """Return the operator of a node, which must be of this kind."""
    assert isinstance(node.operator, kind)
    return node.operator


def _one(tensors: tuple[Tensor, ...], end: str) -> Tensor:
    if len(tensors) != 1:
        raise CompileError(f"the network has {len(tensors)} {end}s, this is for one with a single one")
    return tensors[0]


def map_shape(shape: tuple[int, ...]) -> tuple[int, int, int]:
    """Return (H, W, C) of a tensor of one image and 2 to 4 axes; missing axes are 1."""
    rows, columns, channels = (1, 1, 1, *shape[1:])[-3:]
    return rows, columns, channels
