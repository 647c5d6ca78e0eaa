# SPDX-License-Identifier: Apache-2.0
"""A network as calls of kernels.

network = step*
step    = kernel settings operand* "->" operand
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from eyrie.compiler.ir.failure import Unsupported
from eyrie.compiler.ir.graph import Node
from eyrie.compiler.ir.tensor import Form, Tensor

BYTES = {"int8": 1, "uint8": 1, "bool": 1, "int16": 2, "uint16": 2, "int32": 4, "uint32": 4, "float32": 4, "int64": 8}

Setting = int | float | np.float32 | np.ndarray | tuple[int, ...] | Mapping[str, "Setting"]
Fields = dict[str, Setting]  # of a struct
Real = float | np.float32 | np.float64


@dataclass(frozen=True)
class Operand:
    """A tensor, from a byte on."""

    tensor: Tensor
    offset: int = 0


@dataclass(frozen=True, eq=False)
class Step:
    """A call of a kernel, which is a function, its struct, and a file in kernels/, all of one name.

    settings  of the struct, by its fields: numbers, tuples (arrays of int32), arrays (constants), structs in it
    place     of the node, for people
    """

    kernel: str
    settings: Mapping[str, Setting]
    inputs: tuple[Operand, ...]
    output: Operand
    place: str


@dataclass(eq=False)
class Calls:
    """The steps of the network, in order, as nodes are lowered.

    views      tensors that share the bytes of another tensor, by name
    quantised  whether the network has int8 tensors
    """

    quantised: bool = True
    steps: list[Step] = field(default_factory=list)
    views: dict[str, Tensor] = field(default_factory=dict)
    _scratch: Iterator[int] = field(default_factory=lambda: iter(range(1 << 30)))

    def call(
        self,
        node: Node,
        kernel: str,
        settings: Mapping[str, Setting],
        inputs: tuple[Operand | Tensor, ...],
        output: Operand | Tensor,
    ) -> None:
        operands = tuple(_operand(tensor) for tensor in inputs)
        self.steps.append(Step(kernel, settings, operands, _operand(output), node.place))

    def view(self, tensor: Tensor, of: Tensor) -> None:
        """Let a tensor share the bytes of another."""
        self.views[tensor.name] = of

    def scratch(self, form: Form) -> Tensor:
        """Return a new tensor for intermediate values."""
        return Tensor(name=f"#scratch{next(self._scratch)}", shape=form.shape, dtype=form.dtype)


def _operand(tensor: Operand | Tensor) -> Operand:
    return tensor if isinstance(tensor, Operand) else Operand(tensor)


def bytes_of(tensor: Tensor) -> int:
    """Return the size of a tensor. Raise Unsupported if portable C has no such type."""
    if tensor.dtype not in BYTES:
        raise Unsupported(f"tensor {tensor.name}: is {tensor.dtype}, which is not written as C", remedy="use int32")
    return tensor.size * BYTES[tensor.dtype]
