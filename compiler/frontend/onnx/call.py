# SPDX-License-Identifier: Apache-2.0
"""One node of an ONNX file, with the access methods of translators."""

from collections.abc import Callable, Mapping
from typing import TypedDict

import numpy as np
import onnx

from eyrie.compiler.ir.failure import ModelImportError, Unsupported
from eyrie.compiler.ir.graph import REMEDY
from eyrie.compiler.ir.qdq.network import Attribute, Operation
from eyrie.model.messages import one_line

Shape = tuple[int, ...]


class Scaling(TypedDict):
    """Attributes of a QUANTIZE."""

    scale: np.ndarray
    zero_point: np.ndarray
    dtype: str


class Call:
    """A node of the file.

    Methods raise Unsupported if the node lacks a part that other models have, and ModelImportError if the file
    contradicts itself. where: its place; version: of the operator set of its domain
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

    # ---- Attributes: TypeError for one of another type, or a missing one without a default ----

    def given(self, name: str) -> bool:
        return name in self._attributes

    def attribute(self, name: str, default: object) -> object:
        return self._attributes.get(name, default)

    def whole(self, name: str, default: int | None = None) -> int:
        value = self._attributes.get(name, default)
        if not isinstance(value, int):
            raise TypeError(f"{name} is {value!r}, no whole number")
        return value

    def wholes(self, name: str, default: Shape | None = None) -> Shape:
        value = self._attributes.get(name, default)
        if not isinstance(value, (list, tuple)) or not all(isinstance(each, int) for each in value):
            raise TypeError(f"{name} is {value!r}, no list of whole numbers")
        return tuple(value)

    def real(self, name: str, default: float) -> float:
        value = self._attributes.get(name, default)
        if not isinstance(value, (int, float)):
            raise TypeError(f"{name} is {value!r}, no number")
        return value

    def text(self, name: str, default: str) -> str:
        value = self._attributes.get(name, default)
        if not isinstance(value, (bytes, str)):
            raise TypeError(f"{name} is {value!r}, no text")
        return value.decode() if isinstance(value, bytes) else value

    # ---- Inputs ----

    def has(self, number: int) -> bool:
        """Return whether the node has this input."""
        return number < len(self.inputs) and bool(self.inputs[number])

    def input(self, number: int) -> str:
        if not self.has(number):
            raise ModelImportError(
                f"operator {self.where} {self.name}: its input {number} is missing", layer=self.where, remedy=REMEDY
            )
        return self.inputs[number]

    def shape(self, number: int) -> Shape:
        """Return the shape of an input."""
        name = self.input(number)
        if name not in self._shapes:
            raise Unsupported(f"the shape of its input {name} is not known")
        return self._shapes[name]

    def constant(self, number: int) -> np.ndarray:
        """Return the values of an input, which must be a constant."""
        name = self.input(number)
        if name not in self._constants:
            raise Unsupported(f"its input {number} is no constant")
        return self._constants[name]

    def is_constant(self, number: int) -> bool:
        return self.has(number) and self.inputs[number] in self._constants

    def integers(self, number: int) -> Shape:
        """Return the integers of a constant input."""
        return tuple(int(each) for each in self.constant(number).ravel())

    def listed(self, name: str, number: int, default: Shape | None = None) -> Shape:
        """Return integers that are an attribute in older versions and an input in newer ones."""
        return self.integers(number) if self.has(number) else self.wholes(name, default)

    def lists(self, name: str, number: int) -> bool:
        """Return whether `listed` would find a list."""
        return self.has(number) or self.given(name)

    def number(self, name: str, number: int) -> float | None:
        """Return one number like `listed`, None if the node does not have it."""
        if self.has(number):
            return float(self.constant(number).ravel()[0])
        return self.real(name, 0.0) if self.given(name) else None

    # ---- Operations ----

    def make(
        self,
        kind: str,
        inputs: tuple[str, ...] | None = None,
        outputs: tuple[str, ...] | None = None,
        /,
        **attributes: Attribute,
    ) -> Operation:
        """Return an operation. inputs, outputs: the node's by default"""
        return Operation(
            kind,
            self.inputs if inputs is None else inputs,
            self.outputs if outputs is None else outputs,
            self.where,
            self.name,
            attributes,
        )

    def inner(self, what: str) -> str:
        """Return a name for a value between two operators that one node becomes."""
        return f"{self.outputs[0]}/{what}"

    def scale(self, number: int) -> Scaling:
        """Return scale and zero point from the inputs `number` and `number` + 1, and the type of codes."""
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

    # ---- Operators of codes, which become DEQUANTIZE, a float operator, and QUANTIZE ----

    def dequantized(self, codes: int, scale: int, output: str, axis: int | None = None) -> Operation:
        """Return the DEQUANTIZE of input `codes`, with the inputs `scale` and `scale` + 1 as scale and zero point."""
        found = self.scale(scale)
        return self.make(
            "dequantize",
            (self.input(codes),),
            (output,),
            scale=found["scale"],
            zero_point=found["zero_point"],
            axis=axis if found["scale"].size > 1 else None,
        )

    def quantized(self, value: str, scale: int) -> Operation:
        return self.make("quantize", (value,), **self.scale(scale))

    def bias(self, number: int) -> tuple[list[Operation], tuple[str, ...]]:
        """Return the operations and inputs of an int32 bias. Its scale is the product of inputs 1 and 4."""
        if not self.has(number):
            return [], ()
        name = self.inner("bias")
        scale = np.atleast_1d(self.scale(1)["scale"].astype(float) * self.scale(4)["scale"].astype(float))
        return [
            self.make(
                "dequantize",
                (self.inputs[number],),
                (name,),
                scale=scale if scale.size > 1 else scale[0],
                zero_point=np.zeros(scale.size, int) if scale.size > 1 else 0,
                axis=0,
            )
        ], (name,)

    def between(self, make: Callable[[str, str], list[Operation]]) -> list[Operation]:
        """Return the operations of an operator with input X, its scale and zero point, and the ones of the result.

        make: returns the operations for x and the name of the float result
        """
        if self.whole("channels_last", 0):
            raise Unsupported("its channels are last")
        x, made = self.inner("x"), self.inner("float")
        return [self.dequantized(0, 1, x), *make(x, made), self.quantized(made, 3)]

    # ---- Operators that are known by their names alone ----

    def of_one(self, kind: str) -> list[Operation]:
        return [self.make(kind)]

    of_two = of_one

    def codes_of_one(self, kind: str) -> list[Operation]:
        return self.between(lambda x, made: [self.make(kind, (x,), (made,))])

    def codes_of_two(self, kind: str) -> list[Operation]:
        """Translate an operator with inputs A and B, each followed by scale and zero point. Scale and zero point of the
        result follow them."""
        a, b, made = (self.inner(what) for what in ("a", "b", "float"))
        return [
            self.dequantized(0, 1, a),
            self.dequantized(3, 4, b),
            self.make(kind, (a, b), (made,)),
            self.quantized(made, 6),
        ]
