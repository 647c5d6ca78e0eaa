# SPDX-License-Identifier: Apache-2.0
"""PAD, PADV2 and MIRROR_PAD."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from eyrie.compiler.ir.failure import ModelImportError, Unsupported
from eyrie.compiler.ir.graph import REMEDY, Node
from eyrie.compiler.ir.operator import Tensors, check_same, quantized
from eyrie.compiler.ir.qdq.fold import Fold
from eyrie.compiler.ir.qdq.network import Operation
from eyrie.compiler.ir.qdq.values import Held, Known, Made, Target, int8_codes
from eyrie.compiler.ir.tensor import QuantizedConstant, Tensor
from eyrie.compiler.kernel_calls.axes import dense
from eyrie.compiler.kernel_calls.copies import copy_values, gather_values
from eyrie.compiler.kernel_calls.steps import Calls
from eyrie.compiler.operators.folding import inner, stored
from eyrie.compiler.operators.move import Move
from eyrie.compiler.operators.record import MOVE, Row, Shape
from eyrie.model.errors import InputError
from eyrie.model.messages import times
from eyrie.model.operators import movement
from eyrie.model.operators.quantization import INT8_MAX, INT8_MIN, Quantization

if TYPE_CHECKING:
    from eyrie.compiler.frontend.onnx.call import Call as OnnxCall
    from eyrie.compiler.frontend.pytorch.call import Call as AtenCall
    from eyrie.compiler.frontend.tflite.reader import Call
    from eyrie.compiler.frontend.tflite.writer import File
    from eyrie.compiler.frontend.tvm.call import Call as RelaxCall

Margins = tuple[tuple[int, int], ...]
_ROW = Row("padding", MOVE)


def _margins(call: "Call") -> Margins:
    values = call.integers(1)
    if len(values) % 2:
        raise ModelImportError(f"{len(values)} margins, must be two for each axis", remedy=REMEDY)
    return tuple(zip(values[::2], values[1::2]))


def _padded(source: tuple[int, ...], margins: Margins) -> tuple[int, ...]:
    if len(margins) != len(source):
        raise InputError(f"margins for {len(margins)} axes do not go with a tensor of {len(source)} axes")
    if min(min(pair) for pair in margins) < 0:
        raise InputError("margins are not negative")
    return tuple(size + before + after for size, (before, after) in zip(source, margins))


def _onnx(call: "OnnxCall") -> list[Operation]:
    rank = len(call.shape(0))
    if (mode := call.text("mode", "constant")) != "constant":
        raise Unsupported(f"it pads by {mode}")
    pads = call.listed("pads", 1)
    axes = [axis % rank for axis in call.integers(3)] if call.has(3) else list(range(rank))
    margins = {axis: (pads[n], pads[n + len(axes)]) for n, axis in enumerate(axes)}
    if min(pads, default=0) < 0:
        raise Unsupported("it has negative pads")
    spread = tuple(margins.get(n, (0, 0)) for n in range(rank))
    if call.has(2) and not call.is_constant(2):  # a constant that is dequantised
        return [call.make("pad", (call.input(0), call.input(2)), margins=spread)]
    return [call.make("pad", call.inputs[:1], margins=spread, value=call.number("value", 2))]


def _aten(call: "AtenCall") -> list[Operation]:
    if call.arguments.get("mode", "constant") != "constant":
        raise Unsupported(f"its mode is {call['mode']}, not constant")
    rank, flat = len(call.shape(call.source)), call.wholes("pad")
    if min(flat, default=0) < 0:
        raise Unsupported("it crops: its pads are negative")
    margins = [(0, 0)] * (rank - len(flat) // 2) + list(zip(flat[::2], flat[1::2]))[::-1]
    if margins[0] != (0, 0):
        raise Unsupported("it goes across images")
    value = call.number("value") if call.given("value") else 0.0
    return [call.make("pad", call.source, margins=tuple(margins), value=value)]


def _relax(call: "RelaxCall") -> list[Operation]:
    if (mode := call.text("pad_mode")) != "constant":
        raise Unsupported(f"its mode is {mode}, not constant")
    flat = call.numbers("pad_width")
    if min(flat, default=0) < 0:
        raise Unsupported("it crops: its pads are negative")
    margins = tuple(zip(flat[::2], flat[1::2]))
    if margins[0] != (0, 0):
        raise Unsupported("it goes across images")
    return [call.make("pad", call.operand(0), margins=margins, value=call.real("pad_value"))]


@dataclass(frozen=True, kw_only=True)
class Pad(Move):
    """PAD or PADV2. margins: before and after, of each axis; value: the fill value"""

    row = _ROW
    name = "PAD"
    tflite = ("PAD", "PADV2")
    kind = "pad"
    onnx = {"Pad": _onnx}
    aten = dict.fromkeys(("constant_pad_nd", "pad"), _aten)
    relax = {"nn.pad": _relax}

    margins: Margins
    value: int

    @classmethod
    def inputs(cls, call: "Call") -> tuple[Tensor, ...]:
        return (call.quantized(0),)

    @classmethod
    def read_attributes(cls, call: "Call") -> dict[str, object]:
        """Return the margins, and the value: of PAD the zero point."""
        source = call.quantized(0)
        if call.name == "PAD":
            return {"margins": _margins(call), "value": source.zero_point}
        value = call.quantized(2)
        if not isinstance(value, QuantizedConstant) or value.size != 1:
            raise Unsupported("its fill value is not one constant")
        if value.quantization != source.quantization:
            raise Unsupported("its fill value has another scale or zero point")
        return {"margins": _margins(call), "value": int(value.data.ravel()[0])}

    def write(self, node: Node, file: "File") -> None:
        if self.value == quantized(node.inputs[0]).zero_point:
            file.operator(node, "PAD", {}, self.margins)
        else:
            fill = file.value(f"{node.outputs[0].name}/value", self.value, quantized(node.inputs[0]).quantization)
            file.operator(node, "PADV2", {}, self.margins, others=(fill,))

    def shape(self, source: tuple[int, ...]) -> tuple[int, ...]:
        return _padded(source, self.margins)

    def check(self, inputs: Tensors, outputs: Tensors) -> None:
        check_same(*inputs, *outputs)
        if not INT8_MIN <= self.value <= INT8_MAX:
            raise InputError(f"fills with {self.value}, which is not int8")

    def move(self, values: np.ndarray) -> np.ndarray:
        return movement.pad(values, self.margins, self.value)

    def to_c(self, node: Node, calls: Calls) -> None:
        (source,), (output,) = node.inputs, node.outputs
        if np.any(self.margins):
            calls.call(node, "fill", {"count": output.size, "value": self.value & 0xFF}, (), output)
        steps = dense(output.shape)
        first = sum(before * step for (before, _), step in zip(self.margins, steps))
        copy_values(node, calls, source, output, source.shape, dense(source.shape), steps, put=first)

    @classmethod
    def shapes(cls, operation: Operation, inputs: list[Shape]) -> list[Shape]:
        margins = operation.pairs("margins")
        if len(margins) != len(inputs[0]) or any(min(pair) < 0 for pair in margins):
            raise InputError(f"margins of {len(margins)} axes do not go with {times(inputs[0])} values")
        return [tuple(size + before + after for size, (before, after) in zip(inputs[0], margins))]

    @staticmethod
    def arrays(operation: Operation, x: np.ndarray, *fill: np.ndarray) -> list[np.ndarray]:
        value = fill[0].reshape(()) if fill else operation.number("value", 0)
        return [np.pad(x, operation.pairs("margins"), constant_values=value)]

    @classmethod
    def on_codes(cls, operation: Operation, scale: Quantization, offset: int) -> Operation:
        value = (operation.number("value", 0.0) - offset - scale.zero_point) * scale.scale
        return replace(operation, attributes={**operation.attributes, "value": value})

    @classmethod
    def as_int8(cls, fold: Fold, made: Made, target: Target) -> Held:
        fill = np.array(made.operation.number("value", 0.0))
        if len(made.inputs) > 1:
            if not isinstance(made.inputs[1], Known) or made.inputs[1].values.size != 1:
                raise Unsupported("its fill value is not one constant")
            fill = made.inputs[1].values.reshape(())
        value = int8_codes(fill, target.quantization)
        source, margins = inner(fold, made, target), made.operation.pairs("margins")
        return fold.node(
            made.operation.where,
            Pad(margins=tuple(margins[axis] for axis in np.argsort(source.axes)), value=int(value)),
            (source.tensor,),
            stored(made.shape, source.axes),
            source.axes,
            target,
        )


@dataclass(frozen=True, kw_only=True)
class MirrorPad(Move):
    """MIRROR_PAD. mode: REFLECT, without the edge, or SYMMETRIC, with it"""

    row = _ROW
    name = "MIRROR_PAD"
    version = 1

    margins: Margins
    mode: str

    @classmethod
    def read_attributes(cls, call: "Call") -> dict[str, object]:
        return {"margins": _margins(call), "mode": call.choice("mode", "MirrorPadMode")}

    def write(self, node: Node, file: "File") -> None:
        file.operator(node, self.name, {"mode": file.choice("MirrorPadMode", self.mode)}, self.margins)

    def shape(self, source: tuple[int, ...]) -> tuple[int, ...]:
        made = _padded(source, self.margins)
        edge = self.mode == "REFLECT"
        if any(max(pair) > size - edge for pair, size in zip(self.margins, source)):
            raise InputError(f"margins that are larger than {times(source)} values")
        return made

    def move(self, values: np.ndarray) -> np.ndarray:
        return movement.mirror_pad(values, self.margins, self.mode)

    def to_c(self, node: Node, calls: Calls) -> None:
        edge = self.mode == "REFLECT"
        gather_values(
            node,
            calls,
            {
                axis: np.array([_mirrored(place, size, edge) for place in range(-before, size + after)])
                for axis, ((before, after), size) in enumerate(zip(self.margins, node.inputs[0].shape))
                if before or after
            },
        )


def _mirrored(place: int, size: int, edge: bool) -> int:
    """Return the index whose value a mirrored index takes. edge: the mirror repeats the outermost value."""
    if place < 0:
        return -place - (not edge)
    return 2 * size - 1 - edge - place if place >= size else place
