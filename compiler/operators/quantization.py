# SPDX-License-Identifier: Apache-2.0
"""QUANTIZE and DEQUANTIZE, between scales and from and to other types."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from eyrie.compiler.ir.failure import Unsupported
from eyrie.compiler.ir.graph import Node
from eyrie.compiler.ir.operator import Arrays, Operator, Tensors, expect, int8, only, quantizations
from eyrie.compiler.ir.qdq.network import Attribute, Operation
from eyrie.compiler.ir.tensor import Form, Quantized, Tensor
from eyrie.compiler.kernel_calls.scales import range_of, scale_of, scaling, zero_point_of
from eyrie.compiler.kernel_calls.steps import Calls, Fields
from eyrie.compiler.operators.functions import NamedFunction
from eyrie.compiler.operators.lookup import call_function
from eyrie.compiler.operators.record import HOST, FloatOperator, Record, Row
from eyrie.model.errors import InputError
from eyrie.model.operators import host, tables
from eyrie.model.operators.quantization import Quantization, requantization, requantize

if TYPE_CHECKING:
    from eyrie.compiler.frontend.onnx.call import Call as OnnxCall
    from eyrie.compiler.frontend.pytorch.call import Call as AtenCall
    from eyrie.compiler.frontend.tflite.reader import Call
    from eyrie.compiler.frontend.tvm.call import Call as RelaxCall

_ROW = Row("quantisation", "int8 to int8: PPU; from or to float32: host")


# ---- ONNX ----


def _onnx_quantize(call: "OnnxCall") -> list[Operation]:
    if call.whole("block_size", 0):
        raise Unsupported("its scales are of blocks, not of channels")
    scale = call.scale(1)
    if not call.has(2) and call.whole("output_dtype", 0):
        raise Unsupported("it has a type of codes and no zero point")
    return [call.make("quantize", call.inputs[:1], axis=call.whole("axis", 1), **scale)]


def _onnx_dequantize(call: "OnnxCall") -> list[Operation]:
    if call.whole("block_size", 0):
        raise Unsupported("its scales are of blocks, not of channels")
    return [call.dequantized(0, 1, call.outputs[0], call.whole("axis", 1))]


# ---- ATen ----


def _aten_quantize(call: "AtenCall") -> list[Operation]:
    return [
        call.make(
            "quantize",
            call["input"],
            scale=call.number("scale"),
            zero_point=call.number("zero_point"),
            dtype=call.codes,
            minimum=call.number("quant_min"),
            maximum=call.number("quant_max"),
        )
    ]


def _aten_dequantize(call: "AtenCall") -> list[Operation]:
    return [call.make("dequantize", call["input"], scale=call.number("scale"), zero_point=call.number("zero_point"))]


def _aten_channels(call: "AtenCall", kind: str, /, **attributes: Attribute) -> list[Operation]:
    scales, points = call.array("scales"), call.array("zero_points")
    if scales is None:
        raise Unsupported("its scales are no constants")
    points = 0 * scales.astype("int64") if points is None else points
    form: dict[str, Attribute] = {"scale": scales, "zero_point": points, "axis": call.whole("axis")}
    return [call.make(kind, call["input"], **form, **attributes)]


def _aten_dequantize_channels(call: "AtenCall") -> list[Operation]:
    return _aten_channels(call, "dequantize")


def _aten_quantize_channels(call: "AtenCall") -> list[Operation]:
    return _aten_channels(
        call, "quantize", dtype=call.codes, minimum=call.whole("quant_min"), maximum=call.whole("quant_max")
    )


# ---- Relax ----


def _relax_form(call: "RelaxCall") -> dict[str, Attribute]:
    scale, zero_point = call.array(1, "scale").astype(np.float64), call.array(2, "zero point").astype(np.int64)
    if scale.size > 1:
        return {"scale": scale, "zero_point": zero_point, "axis": call.whole("axis")}
    return {"scale": scale.reshape(()), "zero_point": zero_point.reshape(())}


def _relax_quantize(call: "RelaxCall") -> list[Operation]:
    return [call.make("quantize", call.operand(0), **_relax_form(call), dtype=call.text("out_dtype"))]


def _relax_dequantize(call: "RelaxCall") -> list[Operation]:
    form, made = _relax_form(call), call.text("out_dtype")
    if made != "float32":
        raise Unsupported(f"it makes {made}, not float32")
    return [call.make("dequantize", call.operand(0), **form)]


# ---- QUANTIZE ----


@dataclass(frozen=True, kw_only=True)
class Requantize(NamedFunction):
    """QUANTIZE from one scale to another."""

    row = _ROW
    name = "QUANTIZE"

    @classmethod
    def read(cls, call: "Call") -> tuple[Tensors, Operator]:
        """Return input and operator of a QUANTIZE from float32, int32, or another scale."""
        source = call.tensor(0)
        call.quantized_output()
        if source.dtype == "float32":
            return (source,), Quantize()
        if source.dtype == "int32" and isinstance(source, Quantized):
            return (source,), QuantizeInt32()
        return (call.int8(),), cls(unsigned=call.unsigned)

    def table(self, input_: Quantization, output: Quantization) -> np.ndarray:
        return tables.rescale(input_, output)

    def to_c(self, node: Node, calls: Calls) -> None:
        factor = scale_of(node.inputs[0]) / scale_of(node.outputs[0])
        call_function(node, calls, "scale_values", scaling(factor) | range_of(node.outputs[0]))


@dataclass(frozen=True, kw_only=True)
class Quantize(Record):
    """QUANTIZE from float32 to int8. to_even: whether ties round to even, else away from zero"""

    row = _ROW
    name = "QUANTIZE"
    tflite = ()
    kind = "quantize"
    microsoft = {"QuantizeLinear": _onnx_quantize}
    aten = {
        "quantized_decomposed::quantize_per_tensor": _aten_quantize,
        "quantized_decomposed::quantize_per_channel": _aten_quantize_channels,
    }
    relax = {"quantize": _relax_quantize}

    to_even: bool = False

    def infer(self, inputs: Tensors) -> tuple[Form, ...]:
        (source,) = only(inputs)
        return int8(expect(source, "float32").shape)

    def check(self, inputs: Tensors, outputs: Tensors) -> None:
        quantizations(*outputs)

    def run(self, values: Arrays, inputs: Tensors, outputs: Tensors) -> Arrays:
        [to] = quantizations(*outputs)
        return (host.quantize(values[0], to, self.to_even),)

    def to_c(self, node: Node, calls: Calls) -> None:
        (output,) = node.outputs
        settings: Fields = {
            "count": output.size,
            "scale": np.float32(scale_of(output)),
            "zero_point": zero_point_of(output),
            "to_even": int(self.to_even),
        }
        calls.call(node, "quantize_float", settings, node.inputs, output)


@dataclass(frozen=True, kw_only=True)
class QuantizeInt32(Record):
    """QUANTIZE from int32 of one scale to int8 of another."""

    row = _ROW
    name = "QUANTIZE"
    tflite = ()

    def infer(self, inputs: Tensors) -> tuple[Form, ...]:
        (source,) = only(inputs)
        return int8(expect(source, "int32").shape)

    def check(self, inputs: Tensors, outputs: Tensors) -> None:
        input_, output = quantizations(*inputs, *outputs)
        if input_.zero_point:
            raise InputError(f"its int32 input has zero point {input_.zero_point}, must be 0")
        requantization(input_, 1.0, output)

    def run(self, values: Arrays, inputs: Tensors, outputs: Tensors) -> Arrays:
        input_, output = quantizations(*inputs, *outputs)
        return (requantize(values[0], requantization(input_, 1.0, output)),)

    def to_c(self, node: Node, calls: Calls) -> None:
        (source,), (output,) = node.inputs, node.outputs
        settings: Fields = {"count": output.size, **scaling(scale_of(source) / scale_of(output)), **range_of(output)}
        calls.call(node, "quantize_int32", settings, node.inputs, output)


# ---- DEQUANTIZE ----


@dataclass(frozen=True, kw_only=True)
class Dequantize(Record):
    """DEQUANTIZE from int8 to float32."""

    row = _ROW
    name = "DEQUANTIZE"
    kind = "dequantize"
    microsoft = {"DequantizeLinear": _onnx_dequantize}
    aten = {
        "quantized_decomposed::dequantize_per_tensor": _aten_dequantize,
        "quantized_decomposed::dequantize_per_channel": _aten_dequantize_channels,
    }
    relax = {"dequantize": _relax_dequantize}

    @classmethod
    def inputs(cls, call: "Call") -> tuple[Tensor, ...]:
        return (call.int8(),)

    def infer(self, inputs: Tensors) -> tuple[Form, ...]:
        (source,) = only(inputs)
        return (Form("float32", expect(source, "int8").shape),)

    def check(self, inputs: Tensors, outputs: Tensors) -> None:
        quantizations(*inputs)

    def run(self, values: Arrays, inputs: Tensors, outputs: Tensors) -> Arrays:
        return (host.dequantize(values[0], *quantizations(*inputs)),)

    def to_c(self, node: Node, calls: Calls) -> None:
        (source,) = node.inputs
        settings: Fields = {
            "count": source.size,
            "zero_point": zero_point_of(source),
            "scale": np.float32(scale_of(source)),
        }
        calls.call(node, "dequantize", settings, node.inputs, node.outputs[0])


def _dynamic(call: "OnnxCall") -> list[Operation]:
    raise Unsupported("it finds its scale when it runs: quantise the model statically")


class Dynamic(FloatOperator):
    """Operators of codes whose scale is known only at run time."""

    row = Row("dynamic quantisation", HOST)
    microsoft = dict.fromkeys(("DynamicQuantizeLinear", "ConvInteger", "MatMulInteger"), _dynamic)
