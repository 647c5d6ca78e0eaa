# SPDX-License-Identifier: Apache-2.0
"""One node of an FX graph, with the access methods of translators."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import torch
from torch.fx import Node

from eyrie.compiler.ir.failure import Unsupported
from eyrie.compiler.ir.qdq.network import Attribute, Operation
from eyrie.model.messages import times

Shape = tuple[int, ...]
_TYPES = {torch.int8: "int8", torch.uint8: "uint8", torch.int32: "int32"}


@dataclass(frozen=True, eq=False)
class Batch:
    """The size of the first axis of all values: a number, or a symbol. The Graph is for one image."""

    size: object

    def one(self, node: Node) -> Shape:
        """Return the shape of a node's value for one image. Raise Unsupported."""
        value = node.meta.get("example_value")
        if not isinstance(value, torch.Tensor):
            raise Unsupported(f"{node.name} is no tensor")
        if not value.dim() or str(value.shape[0]) != str(self.size):
            raise Unsupported(f"the first axis of {node.name} is not the batch")
        return 1, *fixed(value.shape[1:])


def fixed(sizes: Sequence[int | torch.SymInt]) -> Shape:
    """Return sizes as integers. Raise Unsupported if one is known only at run time."""
    found = tuple(int(size) for size in sizes if isinstance(size, int))
    if len(found) < len(sizes):
        raise Unsupported(f"its shape is not fixed: {times(map(int, sizes))}")
    return found


@dataclass(frozen=True, eq=False)
class Call:
    """A node of the graph.

    constants: values by node; settled: all nodes that are the same in every run; made: constants that a translator
    adds, by name
    """

    node: Node
    where: str
    batch: Batch
    constants: Mapping[Node, np.ndarray]
    settled: Collection[Node]
    made: dict[str, np.ndarray] = field(default_factory=dict)

    @cached_property
    def arguments(self) -> dict[str, object]:
        """Return the arguments by their names in the operator's schema."""
        assert isinstance(self.node.target, torch._ops.OpOverload)  # translators exist only for operators
        given = named_arguments(self.node)
        return {each.name: given.get(each.name, each.default_value) for each in self.node.target._schema.arguments}

    def __getitem__(self, name: str) -> object:
        return self.arguments[name]

    def given(self, name: str) -> bool:
        return self.arguments.get(name) is not None

    def whole(self, name: str) -> int:
        """Return an integer argument. Raise Unsupported, like the methods below, if a value is known only at run
        time."""
        value = self[name]
        if not isinstance(value, int):
            raise Unsupported(f"its {name} is {value}")
        return value

    def wholes(self, name: str) -> Shape:
        value = self[name]
        if not isinstance(value, (list, tuple)) or not all(isinstance(each, (int, torch.SymInt)) for each in value):
            raise Unsupported(f"its {name} is {value}")
        return fixed(value)

    def pair(self, name: str, rank: int, default: Shape | None = None) -> Shape:
        """Return a number for each of `rank` axes; a single one applies to all."""
        values = (self.whole(name),) if isinstance(self[name], int) else self.wholes(name)
        if not values and default is not None:
            return default
        return values * rank if len(values) == 1 else values

    def number(self, name: str) -> float | int:
        """Return a number, which may be a constant of the graph."""
        value = self[name]
        if isinstance(value, Node):
            if value not in self.constants or self.constants[value].size != 1:
                raise Unsupported(f"its {name} is no constant")
            value = self.constants[value].item()
        if not isinstance(value, (int, float)):
            raise Unsupported(f"its {name} is {value}")
        return value

    def array(self, name: str) -> np.ndarray | None:
        """Return the values of a constant, None for another operand."""
        value = self[name]
        return self.constants.get(value) if isinstance(value, Node) else None

    def expect(self, **wanted: object) -> None:
        """Raise Unsupported unless arguments have these values."""
        for name, value in wanted.items():
            if self[name] != value:
                raise Unsupported(f"its {name} is {self[name]}, must be {value}")

    @property
    def codes(self) -> str:
        """Return the type of codes that the operator makes."""
        kind = self["dtype"]
        if not isinstance(kind, torch.dtype) or kind not in _TYPES:
            raise Unsupported(f"its codes are {kind}, not int8")
        return _TYPES[kind]

    @property
    def source(self) -> object:
        """Return the first operand."""
        return self["self"] if "self" in self.arguments else self["input"]

    def is_constant(self, node: object) -> bool:
        return not isinstance(node, Node) or node in self.settled

    def shape(self, node: object) -> Shape:
        """Return the shape of an operand, for one image."""
        if not isinstance(node, Node):
            return ()
        return tuple(node.meta["example_value"].shape) if node in self.settled else self.batch.one(node)

    @property
    def made_shape(self) -> Shape:
        return self.batch.one(self.node)

    @property
    def map_axes(self) -> int:
        """Return the number of axes of windows: 1 of conv1d, 2 of conv2d."""
        return 1 if short(self.node).endswith("1d") else 2

    def part_sizes(self, axis: int) -> Shape:
        """Return the sizes of the parts that the operator makes, along an axis."""
        return fixed(tuple(part.shape[axis] for part in self.node.meta["example_value"]))

    @property
    def part_names(self) -> tuple[str, ...]:
        """Return the names of the parts that the operator makes, which `getitem` reads."""
        return tuple(part_name(self.node.name, number) for number in range(len(self.node.meta["example_value"])))

    @property
    def takes_all(self) -> bool:
        """Return whether a slice returns its input."""
        return takes_all(self.node)

    def value(self, operand: object) -> str:
        """Return the name of an operand; a number becomes a constant."""
        if isinstance(operand, Node):
            return operand.name
        if not isinstance(operand, (int, float)):
            raise Unsupported(f"it takes {operand}")
        name = f"{self.node.name}.{len(self.made)}"
        self.made[name] = np.array(operand, np.float32)
        return name

    def constant(self, values: np.ndarray) -> str:
        """Add a constant, and return its name."""
        name = f"{self.node.name}.{len(self.made)}"
        self.made[name] = values
        return name

    def arguments_are_activations(self) -> bool:
        """Return whether an input of the node is not a constant."""
        return any(not self.is_constant(each) for each in self.node.all_input_nodes)

    def axis(self, value: int, rank: int) -> int:
        """Return an axis, counted from the front. Raise Unsupported if it is the batch axis."""
        if value % rank == 0:
            raise Unsupported("it goes across images")
        return value % rank

    def make(self, kind: str, /, *operands: object, **attributes: Attribute) -> Operation:
        """Return an operation with the operator's name and place."""
        return self.inner(kind, (self.node.name,), *operands, **attributes)

    def inner(self, kind: str, outputs: tuple[str, ...], /, *operands: object, **attributes: Attribute) -> Operation:
        """Return an operation that makes other values than the node's. operands: strings name values of earlier
        operations"""
        inputs = tuple(self.value(each) if not isinstance(each, str) else each for each in operands)
        return Operation(kind, inputs, outputs, self.where, short(self.node), attributes)

    # ---- Operators that are known by their names alone ----

    def of_one(self, kind: str) -> list[Operation]:
        return [self.make(kind, self.source)]

    def of_two(self, kind: str) -> list[Operation]:
        """Translate an operator of two values, which must be of one image."""
        if self.arguments.get("alpha", 1) != 1 or self.arguments.get("rounding_mode") is not None:
            raise Unsupported("it scales or rounds its operands")
        operands = [self[name] for name in [*self.arguments][:2]]
        rank = len(self.made_shape)
        for each in operands:
            shape = self.shape(each)
            if (not self.is_constant(each) and len(shape) != rank) or (len(shape) == rank and shape[0] != 1):
                raise Unsupported(f"an operand of {times(shape)} goes across images")
        return [self.make(kind, *operands)]


Translation = Callable[[Call], list[Operation]]


def short(node: Node) -> str:
    """Return an operator's name for messages: conv2d of torch.ops.aten.conv2d.default."""
    if isinstance(node.target, torch._ops.OpOverload):
        return node.target._schema.name.partition("::")[2]
    return node.target if isinstance(node.target, str) else getattr(node.target, "__name__", str(node.target))


def part_name(name: str, number: int) -> str:
    """Return the name of an output of an operator that has several."""
    return f"{name}.{number}"


def takes_all(node: Node) -> bool:
    """Return whether a slice returns its input."""
    source, given = node.args[0], named_arguments(node)
    assert isinstance(source, Node)  # a slice is of a tensor
    taken, made = (each.meta["example_value"].shape for each in (source, node))
    return given.get("step", 1) == 1 and str(taken) == str(made)


def named_arguments(node: Node) -> dict[str, object]:
    """Return the arguments that a call of an operator gives, by their names in the operator's schema."""
    assert isinstance(node.target, torch._ops.OpOverload)
    return {**dict(zip((each.name for each in node.target._schema.arguments), node.args)), **node.kwargs}
