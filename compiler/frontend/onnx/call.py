# SPDX-License-Identifier: Apache-2.0
"""One node of the file: what translators ask for."""

from collections.abc import Mapping

import numpy as np
import onnx

from eyrie.compiler.frontend.file import ImportFailure
from eyrie.compiler.frontend.qdq import Operation
from eyrie.compiler.ir.failure import Unsupported
from eyrie.compiler.ir.graph import REMEDY
from eyrie.model.messages import one_line

Shape = tuple[int, ...]


class Call:
    """What it does not have raises Unsupported if another model could, ImportFailure if the file contradicts itself.

    where: its place; version: of its domain's operators
    """

    def __init__(
        self,
        node: onnx.NodeProto,
        where: str,
        version: int,
        constants: Mapping[str, np.ndarray],
        shapes: Mapping[str, Shape],
    ) -> None:
        self.where, self.version, self.name = where, version, one_line(node.op_type)
        self.inputs, self.outputs = tuple(node.input), tuple(node.output)
        self._attributes = {each.name: onnx.helper.get_attribute_value(each) for each in node.attribute}
        self._constants, self._shapes = constants, shapes

    def attribute(self, name: str, default: object = None) -> object:
        value = self._attributes.get(name, default)
        return value.decode() if isinstance(value, bytes) else tuple(value) if isinstance(value, list) else value

    def has(self, number: int) -> bool:
        """Whether it has this input."""
        return number < len(self.inputs) and bool(self.inputs[number])

    def input(self, number: int) -> str:
        if not self.has(number):
            raise ImportFailure(
                f"operator {self.where} {self.name}: its input {number} is missing", layer=self.where, remedy=REMEDY
            )
        return self.inputs[number]

    def shape(self, number: int) -> Shape:
        """Of an input."""
        name = self.input(number)
        if name not in self._shapes:
            raise Unsupported(f"the shape of its input {name} is not known")
        return self._shapes[name]

    def constant(self, number: int) -> np.ndarray:
        """The values of an input that has to be a constant."""
        name = self.input(number)
        if name not in self._constants:
            raise Unsupported(f"its input {number} is no constant")
        return self._constants[name]

    def is_constant(self, number: int) -> bool:
        return self.has(number) and self.inputs[number] in self._constants

    def integers(self, number: int) -> Shape:
        """A constant list of whole numbers."""
        return tuple(int(each) for each in self.constant(number).ravel())

    def listed(self, name: str, number: int, default: Shape | None = None) -> Shape | None:
        """Whole numbers that older versions have as an attribute, newer ones as an input."""
        return self.integers(number) if self.has(number) else self.attribute(name, default)

    def number(self, name: str, number: int, default: float | None = None) -> float | None:
        """As `listed`, of one number."""
        return float(self.constant(number).ravel()[0]) if self.has(number) else self.attribute(name, default)

    def make(
        self,
        kind: str,
        inputs: tuple[str, ...] | None = None,
        outputs: tuple[str, ...] | None = None,
        **attributes: object,
    ) -> Operation:
        """inputs, outputs: the node's, by default."""
        return Operation(
            kind,
            self.inputs if inputs is None else inputs,
            self.outputs if outputs is None else outputs,
            self.where,
            self.name,
            attributes,
        )

    def inner(self, what: str) -> str:
        """A name for a value between two operators that one node becomes."""
        return f"{self.outputs[0]}/{what}"

    def scale(self, number: int) -> dict[str, object]:
        """Scale and zero point, inputs `number` and the one behind it, and the type of codes."""
        scale = np.asarray(self.constant(number), np.float32)
        zero = self.constant(number + 1) if self.has(number + 1) else None
        if scale.ndim > 1:
            raise Unsupported("its scales are of blocks, not of channels")
        dtype = "uint8" if zero is None else zero.dtype.name
        zero = np.zeros(scale.shape, int) if zero is None else zero.astype(int)
        return {
            "scale": scale.reshape(()) if scale.size == 1 else scale,
            "zero_point": zero.reshape(()) if zero.size == 1 else zero,
            "dtype": dtype,
        }
