# SPDX-License-Identifier: Apache-2.0
"""FULLY_CONNECTED."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from eyrie.compiler.ir.failure import Unsupported
from eyrie.compiler.ir.graph import Node, map_shape
from eyrie.compiler.ir.layer import Convolution, Group
from eyrie.compiler.ir.maps import Map
from eyrie.compiler.ir.operator import Arrays, Tensors, expect, int8, only, quantizations, quantized
from eyrie.compiler.ir.qdq.fold import Fold
from eyrie.compiler.ir.qdq.network import Operation
from eyrie.compiler.ir.qdq.values import Held, Made, Target
from eyrie.compiler.ir.tensor import Form
from eyrie.compiler.ir.window import Window
from eyrie.compiler.kernel_calls.scales import limits, zero_point_of
from eyrie.compiler.kernel_calls.steps import Calls, Fields
from eyrie.compiler.operators.affine import Affine, itself, weights_of
from eyrie.compiler.operators.record import ARRAY, Row, Shape, Site
from eyrie.compiler.operators.weights import Weighted, read_filters, read_weights
from eyrie.model.errors import InputError
from eyrie.model.messages import times
from eyrie.model.operators import convolution
from eyrie.model.operators.quantization import Requantization, once_in_fixed_point, requantization

if TYPE_CHECKING:
    from eyrie.compiler.frontend.onnx.call import Call as OnnxCall
    from eyrie.compiler.frontend.pytorch.call import Call as AtenCall
    from eyrie.compiler.frontend.tflite.reader import Call
    from eyrie.compiler.frontend.tflite.writer import File
    from eyrie.compiler.frontend.tvm.call import Call as RelaxCall


def fixed_point(site: Site) -> str:
    """sums are rescaled as fixed point can"""
    assert isinstance(site.operator, FullyConnected)
    found = site.operator.fixed_point(site.node.inputs, site.node.outputs)
    return "" if found else "in double, by a factor that it does not have"


# ---- ONNX ----


def _linear(call: "OnnxCall", inputs: tuple[str, ...], turn: bool) -> list[Operation]:
    """Return a fully connected layer. turn: the weights are C, M"""
    if not turn:
        return [call.make("linear", inputs)]
    turned = call.inner("weight")
    return [
        call.make("transpose", (inputs[1],), (turned,), axes=(1, 0)),
        call.make("linear", (inputs[0], turned, *inputs[2:])),
    ]


def _onnx_gemm(call: "OnnxCall") -> list[Operation]:
    if call.whole("transA", 0):
        raise Unsupported("its first operand is transposed")
    if call.real("alpha", 1.0) != 1 or (call.has(2) and call.real("beta", 1.0) != 1):
        raise Unsupported("it has a factor alpha or beta")
    _check_bias(call, 2)
    return _linear(call, call.inputs, not call.whole("transB", 0))


def _check_bias(call: "OnnxCall", number: int) -> None:
    """Raise Unsupported unless the bias of a Gemm is one value for each output, or for all."""
    shape = call.shape(number) if call.has(number) else ()
    if prod(shape[:-1]) != 1:
        raise Unsupported(f"its bias has {times(shape)} values, not one for each output")


def _check_matrices(call: "OnnxCall", *numbers: int) -> None:
    """Raise Unsupported if one of these inputs is a vector."""
    if any(len(call.shape(number)) < 2 for number in numbers):
        raise Unsupported("an operand is a vector")


def _onnx_matmul(call: "OnnxCall") -> list[Operation]:
    _check_matrices(call, 0, 1)
    return _linear(call, call.inputs, True) if len(call.shape(1)) == 2 else [call.make("matmul", call.inputs)]


def _codes_matmul(call: "OnnxCall") -> list[Operation]:
    return _product(call, (), [], True, 6)


def _codes_gemm(call: "OnnxCall") -> list[Operation]:
    if call.whole("transA", 0):
        raise Unsupported("its first operand is transposed")
    if call.real("alpha", 1.0) != 1:
        raise Unsupported("it has a factor alpha")
    _check_bias(call, 6)
    bias, names = call.bias(6)
    return _product(call, names, bias, not call.whole("transB", 0), 7)


def _product(call: "OnnxCall", names: tuple[str, ...], bias: list[Operation], turn: bool, result: int) -> list:
    """Return a fully connected layer of codes. result: number of the input that is the result's scale"""
    _check_matrices(call, 0, 3)
    x, w = call.inner("x"), call.inner("w")
    matrices = len(call.shape(3)) != 2
    floats = [call.make("matmul", (x, w))] if matrices else _linear(call, (x, w, *names), turn)
    made = [call.dequantized(0, 1, x), call.dequantized(3, 4, w, 1 if turn else 0), *bias, *floats]
    if not call.has(result):
        return made
    made[-1] = call.make(made[-1].kind, made[-1].inputs, (call.inner("float"),))
    return [*made, call.quantized(call.inner("float"), result)]


# ---- ATen and Relax ----


def _aten(call: "AtenCall") -> list[Operation]:
    return [call.make("linear", call["input"], call["weight"], *([call["bias"]] if call.given("bias") else []))]


def _relax(call: "RelaxCall") -> list[Operation]:
    """Translate matmul: with constant weights, which are C, M, or of two tensors."""
    source, weights = call.operand(0), call.operand(1)
    if not call.is_constant(weights) or len(call.shape(weights)) != 2:
        return [call.make("matmul", source, weights)]
    turned = f"{call.step.made.name}.turned"
    return [call.inner("transpose", turned, weights, axes=(1, 0)), call.make("linear", source, turned)]


@dataclass(frozen=True, eq=False, kw_only=True)
class FullyConnected(Weighted):
    """FULLY_CONNECTED. filters: [M, C], for every C values of the input

    keep_axes  the axes before the last stay
    once       sums are rescaled in double and rounded once, as LiteRT does; else in fixed point, as tflite-micro does
    """

    row = Row("fully connected layer", ARRAY)
    library = "eyrie_fully_connected"
    name = "FULLY_CONNECTED"
    version = 12
    constraints = (fixed_point,)
    kind = "linear"
    onnx = {"Gemm": _onnx_gemm, "MatMul": _onnx_matmul}
    microsoft = {"QGemm": _codes_gemm, "QLinearMatMul": _codes_matmul}
    aten = {"linear": _aten}
    relax = {"matmul": _relax}

    keep_axes: bool = False
    once: bool = False

    @classmethod
    def read(cls, call: "Call") -> tuple[Tensors, "FullyConnected"]:
        source, filters = call.quantized(0), read_filters(call, 2)
        if call.option("weightsFormat", 0):
            raise Unsupported("its filters are shuffled")
        keep = bool(call.option("keepNumDims", 0))
        return (source,), cls(keep_axes=keep, once=call.unsigned, **read_weights(call, filters, len(filters)))

    def write(self, node: Node, file: "File") -> None:
        self.write_weights(node, file, quantized(node.inputs[0]), {"keepNumDims": self.keep_axes}, self.filters)

    def infer(self, inputs: Tensors) -> tuple[Form, ...]:
        (source,) = only(inputs)
        expect(source, "int8")
        count, ragged = divmod(source.size, self.filters.shape[1])
        if ragged or not count or (self.keep_axes and source.shape[-1] != self.filters.shape[1]):
            raise InputError(f"filters of {times(self.filters.shape)} do not go with {times(source.shape)} inputs")
        return int8((*source.shape[:-1], self.outputs) if self.keep_axes else (count, self.outputs))

    def run(self, values: Arrays, inputs: Tensors, outputs: Tensors) -> Arrays:
        flat = values[0].reshape(-1, self.filters.shape[1])
        layer = flat, self.filters, self.bias, quantized(inputs[0]).zero_point
        parameters = self.requantization(inputs, outputs)
        if self.once:
            made = convolution.fully_connected_once(*layer, self._real_factors(inputs, outputs), parameters)
        else:
            made = convolution.fully_connected(*layer, parameters)
        return (made.reshape(outputs[0].shape),)

    def requantization(self, inputs: Tensors, outputs: Tensors) -> Requantization:
        input_, output = quantizations(inputs[0], outputs[0])
        return requantization(input_, np.broadcast_to(self.scales, self.outputs), output, self.activation)

    def fixed_point(self, inputs: Tensors, outputs: Tensors) -> Requantization | None:
        parameters = self.requantization(inputs, outputs)
        return once_in_fixed_point(self._real_factors(inputs, outputs), parameters) if self.once else parameters

    def _real_factors(self, inputs: Tensors, outputs: Tensors) -> np.ndarray:
        """Return the factors of the sums in the golden model, [M] or [1]."""
        input_, output = quantizations(inputs[0], outputs[0])
        return input_.scale * self.scales.astype(float) / output.scale

    def macs(self, inputs: Tensors, outputs: Tensors) -> int:
        return outputs[0].size * self.filters.shape[1]

    def is_pointwise(self, node: Node) -> bool:
        return self.filters.shape[1] == map_shape(node.inputs[0].shape)[2]

    def groups(self, node: Node, maps: Mapping[str, Map]) -> list[Group]:
        """Return a pointwise convolution, or one whose kernel is the whole map."""
        if self.is_pointwise(node):
            return [self.pointwise_group(node, maps)]
        source, output, table = maps[node.inputs[0].name], maps[node.outputs[0].name], self.layer_table(node)
        filters, window = self.filters.reshape(-1, *source.shape), Window(source.shape[:2])
        return [Convolution(name=node.where, source=source, output=output, window=window, filters=filters, table=table)]

    def to_c(self, node: Node, calls: Calls) -> None:
        outputs, channels = self.filters.shape
        settings = Fields(N=node.inputs[0].size // channels, C=channels, M=outputs) | self.weight_fields(node)
        if self.once:
            settings |= {
                "factors": self.factors(node),
                "zero_point": zero_point_of(node.outputs[0]),
                **limits(node.outputs[0], self.activation),
            }
            calls.call(node, "fully_connected_once", settings, node.inputs, node.outputs[0])
        else:
            calls.call(node, "fully_connected", settings | self.scaling_fields(node), node.inputs, node.outputs[0])

    @classmethod
    def shapes(cls, operation: Operation, inputs: list[Shape]) -> list[Shape]:
        source, weight = inputs[:2]
        if len(weight) != 2 or not source or source[-1] != weight[1]:
            raise InputError(f"weights of {times(weight)} do not go with {times(source)} values")
        return [(*source[:-1], weight[0])]

    @classmethod
    def as_int8(cls, fold: Fold, made: Made, target: Target) -> Held:
        return connected(fold, itself(made), target)


def connected(fold: Fold, found: Affine[Made], target: Target) -> Held:
    """Return a fully connected layer on the last axis of any tensor, with the factors and offsets after it."""
    layer, rank = found.source, len(found.source.shape)
    source = fold.operand(layer.inputs[0])
    weights = weights_of(found, source)
    tensor = fold.ordered(source, tuple(range(rank)), layer.operation.where)
    operator = FullyConnected(
        filters=weights.filters,
        scales=weights.scales,
        bias=weights.bias,
        activation=target.activation,
        keep_axes=rank != 2,
    )
    return fold.node(layer.operation.where, operator, (tensor,), layer.shape, tuple(range(rank)), target)
