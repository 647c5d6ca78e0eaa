# SPDX-License-Identifier: Apache-2.0
"""The record of an operator: its names, and its form in each front end and back end.

A record is a class. Front ends, the `.tflite` writer, the C back end, the constraints and the table in
docs/reference/operators.md are derived from all records (registry.py). A record imports no package of a front end: it
gets the call of the operator that it reads, or the file that it writes.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, ClassVar, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from eyrie.compiler.ir.failure import Unsupported
from eyrie.compiler.ir.graph import Graph, Node, map_shape
from eyrie.compiler.ir.layer import Group
from eyrie.compiler.ir.maps import Map
from eyrie.compiler.ir.operator import Operator
from eyrie.compiler.ir.qdq.fold import Fold
from eyrie.compiler.ir.qdq.network import Operation
from eyrie.compiler.ir.qdq.values import Held, Made, Target
from eyrie.compiler.ir.tensor import Tensor
from eyrie.compiler.kernel_calls.steps import Calls
from eyrie.model.errors import InputError
from eyrie.model.messages import times
from eyrie.model.operators.quantization import Quantization

if TYPE_CHECKING:
    from eyrie.compiler.frontend.tflite.reader import Call
    from eyrie.compiler.frontend.tflite.writer import File

Shape = tuple[int, ...]
Imported = tuple[tuple[Tensor, ...], Operator]  # the tensors that an operator takes, and the operator
# Names of a float operator in a framework: text with blanks between names, if the operator has no attributes there, or
# names with the function that translates a call.
Names = str | Mapping[str, Callable[..., list[Operation]]]

ARRAY, PPU, MOVE, HOST = "array", "PPU", "data movement", "host"
TABLE = "PPU (lookup table)"


@dataclass(frozen=True)
class Row:
    """A row of the table of operators. unit: the unit that runs them"""

    operators: str
    unit: str


@dataclass(frozen=True, eq=False)
class Site:
    """A node in its network."""

    node: Node
    graph: Graph

    @property
    def operator(self) -> Operator:
        return self.node.operator

    @property
    def maps(self) -> tuple[tuple[int, int, int], ...]:
        """Return the shapes [H, W, C] of the first input and the first output."""
        return map_shape(self.node.inputs[0].shape), map_shape(self.node.outputs[0].shape)


# A constraint of the accelerator: its docstring states the requirement. It returns "" if the requirement is met, else
# the actual value.
Constraint = Callable[[Site], str]


class FloatOperator:
    """An operator on float values: of ONNX, PyTorch (ATen) and TVM (Relax), between DEQUANTIZE and QUANTIZE.

    row        of the table of operators
    library    the function of the operator library (docs/howto/operators.md) that runs it
    kind       its name in ir/qdq/network.py, "" if no framework has it
    operands   1 or 2: of an operator that is known by its names alone
    microsoft  names in ONNX's domain com.microsoft; files may have them in ONNX's own domain, too
    takes_codes  whether it acts the same on codes as on values
    keeps_scale  whether its result can have the scale of its input
    moves      whether its result is made in that scale, and then rescaled
    clamps     whether it applies an activation; otherwise, a table after it does
    """

    row: ClassVar[Row]
    library: ClassVar[str] = ""
    kind: ClassVar[str] = ""
    operands: ClassVar[int] = 1
    onnx: ClassVar[Names] = ""
    microsoft: ClassVar[Names] = ""
    aten: ClassVar[Names] = ""
    relax: ClassVar[Names] = ""
    takes_codes: ClassVar[bool] = False
    keeps_scale: ClassVar[bool] = False
    moves: ClassVar[bool] = False
    clamps: ClassVar[bool] = True

    # Functions of an Operation and of float64 arrays, None if the operator is no such function. `real` is elementwise
    # and returns an array; `arrays` moves values, for constants, and returns one array for each output.
    real: ClassVar[Callable[..., np.ndarray] | None] = None
    arrays: ClassVar[Callable[..., list[np.ndarray]] | None] = None

    @classmethod
    def shapes(cls, operation: Operation, inputs: list[Shape]) -> list[Shape]:
        """Return the shapes of all outputs, in the framework's order of axes. Raise InputError if inputs do not fit."""
        try:
            return [tuple(np.broadcast_shapes(*inputs))]
        except ValueError:
            raise InputError(f"operands of {' and '.join(map(times, inputs))} do not go together") from None

    @classmethod
    def as_int8(cls, fold: Fold, made: Made, target: Target) -> Held:
        """Return the int8 tensor that a float value becomes. Raise Unsupported."""
        raise NotImplementedError

    @classmethod
    def on_codes(cls, operation: Operation, scale: Quantization, offset: int) -> Operation:
        """Return an operation on codes as one on their values. scale: of the int8 codes; offset: between the codes of
        the framework and these"""
        return operation

    @classmethod
    def keeps(cls, operation: Operation, scale: Quantization) -> bool:
        """Return whether the result of an operation can have this scale of its input."""
        return cls.keeps_scale


class Record(Operator, FloatOperator):
    """An int8 operator of a Graph.

    tflite     its names in TensorFlow Lite, None for `name`
    schema_options  attributes that are options in a file, with the schema's names
    schema_table    the schema's table of options, "" for the one that is named after the operator
    constants  attributes that are constant inputs in a file, after the first input
    version    the first version of the operator in TensorFlow Lite with int8; versions: of names that have another one
    state_is_shown  whether a file has the next state among the outputs
    in_no_interpreter  whether neither LiteRT nor tflite-micro has it
    constraints  of the accelerator, None if the accelerator has no such operator
    """

    tflite: ClassVar[tuple[str, ...] | None] = None
    schema_options: ClassVar[Mapping[str, str]] = {}
    schema_table: ClassVar[str] = ""
    constants: ClassVar[tuple[str, ...]] = ()
    version: ClassVar[int] = 2
    versions: ClassVar[Mapping[str, int]] = {}
    state_is_shown: ClassVar[bool] = False
    in_no_interpreter: ClassVar[bool] = False
    constraints: ClassVar[tuple[Constraint, ...] | None] = None

    @property
    def state(self) -> int:
        """Return the number of last inputs that are the state. The outputs end with its next values."""
        return 0

    # ---- TensorFlow Lite ----

    @classmethod
    def read(cls, call: "Call") -> Imported:
        """Return the inputs and the operator of a call. Raise Unsupported, or ModelImportError if the file contradicts
        itself."""
        inputs = cls.inputs(call)
        return inputs, cls(**cls.read_attributes(call))

    @classmethod
    def inputs(cls, call: "Call") -> tuple[Tensor, ...]:
        """Return the inputs of a call that are no attributes: one of int8 or uint8, by default."""
        source = call.quantized(0)
        call.quantized_output()
        return (source,)

    @classmethod
    def read_attributes(cls, call: "Call") -> dict[str, object]:
        """Return the attributes that `schema_options` and `constants` list, and `unsigned` if the operator has it."""
        types = {field.name: field.type for field in fields(cls)}  # type: ignore[arg-type]  # records are dataclasses
        found: dict[str, object] = {name: call.integers(n) for n, name in enumerate(cls.constants, 1)}
        found |= {name: call.typed(option, types[name]) for name, option in cls.schema_options.items()}
        return found | ({"unsigned": call.unsigned} if "unsigned" in types else {})

    def write(self, node: Node, file: "File") -> None:
        """Add the operator to a file. Raise Unsupported if TensorFlow Lite has no such operator."""
        options = {option: getattr(self, name) for name, option in self.schema_options.items()}
        file.operator(node, self.name, options, *self.written_constants())

    def written_constants(self) -> tuple[ArrayLike, ...]:
        """Return the constant inputs of a file."""
        return tuple(getattr(self, name) for name in self.constants)

    # ---- Accelerator ----

    def expanded(self, node: Node) -> tuple[Node, ...]:
        """Return nodes with the same values that the accelerator runs in place of a node."""
        return (node,)

    def groups(self, node: Node, maps: Mapping[str, Map]) -> list[Group]:
        """Return the fused operators of a node that meets all constraints. maps: of tensors, by name"""
        raise NotImplementedError

    # ---- C ----

    def to_c(self, node: Node, calls: Calls) -> None:
        """Add the calls of kernels that compute a node. Raise Unsupported."""
        not_in_c(node, "is not written as C", "give the model as it was read")


def not_in_c(node: Node, reason: str, remedy: str) -> NoReturn:
    raise Unsupported(f"{node.place}: {reason}", layer=node.where, remedy=remedy)
