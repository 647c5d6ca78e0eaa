# SPDX-License-Identifier: Apache-2.0
"""CONV_2D and DEPTHWISE_CONV_2D."""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from eyrie.compiler.ir.failure import ModelImportError, Unsupported
from eyrie.compiler.ir.graph import REMEDY, Node, map_shape
from eyrie.compiler.ir.layer import Convolution, Depthwise, Group
from eyrie.compiler.ir.maps import Map
from eyrie.compiler.ir.operator import Arrays, Tensors, expect, int8, only, quantized
from eyrie.compiler.ir.qdq.fold import Fold
from eyrie.compiler.ir.qdq.network import Operation
from eyrie.compiler.ir.qdq.values import Held, Made, Target
from eyrie.compiler.ir.tensor import Form
from eyrie.compiler.ir.window import Window
from eyrie.compiler.kernel_calls.scales import scale_of
from eyrie.compiler.kernel_calls.steps import Calls, Fields
from eyrie.compiler.operators.affine import Affine, itself, weights_of
from eyrie.compiler.operators.record import ARRAY, Row, Shape
from eyrie.compiler.operators.shapes import on_map
from eyrie.compiler.operators.weights import Weighted, read_filters, read_weights
from eyrie.compiler.operators.windows import (
    both_ends,
    countable_steps,
    onnx_window,
    over,
    window,
    window_fields,
    window_output,
)
from eyrie.model.errors import InputError
from eyrie.model.messages import times
from eyrie.model.operators import convolution
from eyrie.model.operators.windows import NO_PADS

if TYPE_CHECKING:
    from eyrie.compiler.frontend.onnx.call import Call as OnnxCall
    from eyrie.compiler.frontend.pytorch.call import Call as AtenCall
    from eyrie.compiler.frontend.tflite.reader import Call
    from eyrie.compiler.frontend.tflite.writer import File
    from eyrie.compiler.frontend.tvm.call import Call as RelaxCall

_ROW = Row("convolution", ARRAY)


@dataclass(frozen=True, eq=False, kw_only=True)
class Windowed(Weighted):
    """A convolution. stride, dilation: vertical, horizontal; pads: top, bottom, left, right."""

    row = _ROW
    library = "eyrie_convolution"
    version = 3
    constraints = (countable_steps,)

    stride: tuple[int, int] = (1, 1)
    dilation: tuple[int, int] = (1, 1)
    pads: tuple[int, int, int, int] = NO_PADS

    @property
    @abstractmethod
    def kernel(self) -> tuple[int, int]:
        """Return R and S."""

    @property
    def window(self) -> Window:
        return Window(self.kernel, self.stride, self.pads, self.dilation)

    def infer(self, inputs: Tensors) -> tuple[Form, ...]:
        (ifmap,) = only(inputs)
        batch, height, width, channels = expect(ifmap, "int8", 4).shape
        self.check_channels(channels)
        rows, columns = window_output((height, width), self.kernel, self.stride, self.pads, self.dilation)
        return int8((batch, rows, columns, self.outputs))

    @abstractmethod
    def check_channels(self, channels: int) -> None:
        """Raise InputError if the filters are for another number of channels."""

    def _do_not_go(self, channels: int) -> InputError:
        return InputError(f"filters of {times(self.filters.shape)} do not go with a map of {channels} channels")

    def golden(self, function: Callable[..., np.ndarray], values: Arrays, inputs: Tensors, outputs: Tensors) -> Arrays:
        """Return the result of a golden function of the model."""
        parameters, zero_point = self.requantization(inputs, outputs), quantized(inputs[0]).zero_point
        window = self.stride, self.pads, self.dilation
        return (function(values[0], self.filters, self.bias, zero_point, parameters, *window),)

    def factors(self, node: Node) -> np.ndarray:
        """Return the factors of the sums, double [M]. A convolution of uint8 multiplies its scales in float32."""
        if not self.unsigned:
            return super().factors(node)
        products = np.float32(scale_of(node.inputs[0])) * self.scales.astype(np.float32)
        return np.broadcast_to(products.astype(np.float64) / scale_of(node.outputs[0]), self.outputs)

    def kernel_fields(self, node: Node, **more: int) -> Fields:
        """Return the fields of a kernel, with more of its own."""
        window = window_fields(node.inputs[0], node.outputs[0], self.window, of_filters=True)
        return window | more | self.weight_fields(node) | self.scaling_fields(node)

    def window_options(self, node: Node, file: "File", value: int) -> tuple:
        """Return the tensor that the operator of a file reads, and its options. value: of the pads"""
        source, options = file.padded(node, self.window, value)
        rows, columns = map(int, self.dilation)
        return source, {**options, "dilationHFactor": rows, "dilationWFactor": columns}


def _read_window(call: "Call", kernel: tuple[int, int]) -> dict:
    dilation = call.option("dilationHFactor"), call.option("dilationWFactor")
    stride, pads = call.window(kernel, dilation)
    return {"stride": stride, "dilation": dilation, "pads": pads}


# ---- CONV_2D ----


def _onnx(call: "OnnxCall") -> list[Operation]:
    kernel = call.shape(1)[2:]
    return [call.make("conv", groups=call.whole("group", 1), **onnx_window(call, kernel, call.shape(0)))]


def _onnx_codes(call: "OnnxCall") -> list[Operation]:
    if call.whole("channels_last", 0):
        raise Unsupported("its channels are last")
    x, w, made = (call.inner(what) for what in ("x", "w", "float"))
    bias, names = call.bias(8)
    attributes = onnx_window(call, call.shape(3)[2:], call.shape(0))
    return [
        call.dequantized(0, 1, x),
        call.dequantized(3, 4, w, 0),
        *bias,
        call.make("conv", (x, w, *names), (made,), groups=call.whole("group", 1), **attributes),
        call.quantized(made, 6),
    ]


def _aten(call: "AtenCall") -> list[Operation]:
    rank = len(call.shape(call["weight"])) - 2
    pads = call["padding"]
    if isinstance(pads, str):
        if pads == "valid":
            pads = (0,) * rank
        else:
            raise Unsupported('its padding is "same": give it in numbers')
    else:
        pads = call.pair("padding", rank)
    if call.arguments.get("transposed"):
        raise Unsupported("it is transposed")
    operands = [call["input"], call["weight"]] + ([call["bias"]] if call.given("bias") else [])
    return [
        call.make(
            "conv",
            *operands,
            strides=call.pair("stride", rank),
            pads=both_ends(pads),
            dilations=call.pair("dilation", rank),
            groups=call.whole("groups"),
        )
    ]


def _relax(call: "RelaxCall") -> list[Operation]:
    layout, kernel = ("NCW", "OIW") if call.map_axes == 1 else ("NCHW", "OIHW")
    own = tuple(call.text(name) for name in ("data_layout", "kernel_layout", "out_layout"))
    if own != (layout, kernel, layout):
        raise Unsupported(f"its layouts are {own[0]} and {own[1]}, not {layout} and {kernel}: see ConvertLayout")
    return [
        call.make(
            "conv",
            call.operand(0),
            call.operand(1),
            strides=call.numbers("strides"),
            pads=call.pads,
            dilations=call.numbers("dilation"),
            groups=call.whole("groups"),
        )
    ]


@dataclass(frozen=True, eq=False, kw_only=True)
class Conv2D(Windowed):
    """CONV_2D. filters: [M, R, S, C], or [M, R, S, C / G] in G groups"""

    name = "CONV_2D"
    kind = "conv"
    onnx = {"Conv": _onnx}
    microsoft = {"QLinearConv": _onnx_codes}
    aten = dict.fromkeys(("conv1d", "conv2d", "convolution"), _aten)
    relax = dict.fromkeys(("nn.conv1d", "nn.conv2d"), _relax)

    @property
    def kernel(self) -> tuple[int, int]:
        return self.filters.shape[1:3]

    @classmethod
    def read(cls, call: "Call") -> tuple[Tensors, "Conv2D"]:
        source, filters = call.quantized(0), read_filters(call, 4)
        window = _read_window(call, filters.shape[1:3])
        return (source,), cls(**window, **read_weights(call, filters, len(filters)))

    def write(self, node: Node, file: "File") -> None:
        source, options = self.window_options(node, file, quantized(node.inputs[0]).zero_point)
        self.write_weights(node, file, source, options, self.filters)

    def check_channels(self, channels: int) -> None:
        groups, ragged = divmod(channels, self.filters.shape[3])
        if ragged or not groups or self.outputs % groups:
            raise self._do_not_go(channels)

    def run(self, values: Arrays, inputs: Tensors, outputs: Tensors) -> Arrays:
        return self.golden(convolution.conv2d, values, inputs, outputs)

    def macs(self, inputs: Tensors, outputs: Tensors) -> int:
        return outputs[0].size * prod(self.filters.shape[1:])

    def is_pointwise(self, node: Node) -> bool:
        channels = map_shape(node.inputs[0].shape)[2]
        plain = self.stride == (1, 1) and not any(self.pads)
        return self.kernel == (1, 1) and plain and self.filters.shape[3] == channels

    def groups(self, node: Node, maps: Mapping[str, Map]) -> list[Group]:
        if self.is_pointwise(node):
            return [self.pointwise_group(node, maps)]
        source, output, table = maps[node.inputs[0].name], maps[node.outputs[0].name], self.layer_table(node)
        filters, window = _of_all_channels(self.filters, source.shape[2]), self.window
        return [Convolution(name=node.where, source=source, output=output, window=window, filters=filters, table=table)]

    def to_c(self, node: Node, calls: Calls) -> None:
        groups = node.inputs[0].shape[3] // self.filters.shape[3]
        calls.call(node, "conv_2d", self.kernel_fields(node, groups=groups), node.inputs, node.outputs[0])

    @classmethod
    def shapes(cls, operation: Operation, inputs: list[Shape]) -> list[Shape]:
        source, weight, groups = inputs[0], inputs[1], operation.integer("groups", 1)
        if len(weight) < 3 or len(source) != len(weight) or source[1] != weight[1] * groups or weight[0] % groups:
            raise InputError(f"filters of {times(weight)} in {groups} groups do not go with {times(source)} values")
        return [(source[0], weight[0], *over(operation, source, weight[2:]))]

    @classmethod
    def as_int8(cls, fold: Fold, made: Made, target: Target) -> Held:
        return convolved(fold, itself(made), target)


def _of_all_channels(filters: np.ndarray, channels: int) -> np.ndarray:
    """Return the filters of channel groups, [M, R, S, C / G], with zeros for the other groups' channels."""
    taken = filters.shape[3]
    if taken == channels:
        return filters
    full = np.zeros((*filters.shape[:3], channels), filters.dtype)
    each = len(filters) * taken // channels  # filters of a group
    for n, values in enumerate(filters):
        first = n // each * taken
        full[n, :, :, first : first + taken] = values
    return full


def convolved(fold: Fold, found: Affine[Made], target: Target) -> Held:
    """Return a convolution, with the factors and offsets after it."""
    layer = found.source
    source = fold.operand(layer.inputs[0])
    weights, operation, rank = weights_of(found, source), layer.operation, len(layer.shape)
    _, stride, pads, dilation = window(operation, layer.inputs[1].shape[2:])
    groups, channels = operation.integer("groups", 1), layer.inputs[0].shape[1]
    filters = weights.filters[:, :, None] if rank == 3 else weights.filters
    filters = filters.transpose(0, 2, 3, 1)
    kind: type[Conv2D | DepthwiseConv2D] = Conv2D
    if groups == channels > 1:
        kind, filters = DepthwiseConv2D, filters[..., 0].transpose(1, 2, 0)
    operator = kind(
        filters=filters,
        scales=weights.scales,
        bias=weights.bias,
        activation=target.activation,
        stride=stride,
        dilation=dilation,
        pads=pads,
    )
    return on_map(fold, layer, source, operator, target)


# ---- DEPTHWISE_CONV_2D ----


@dataclass(frozen=True, eq=False, kw_only=True)
class DepthwiseConv2D(Windowed):
    """DEPTHWISE_CONV_2D. filters: [R, S, M], M / C for each channel"""

    name = "DEPTHWISE_CONV_2D"
    output_axis = -1

    @property
    def kernel(self) -> tuple[int, int]:
        return self.filters.shape[:2]

    @classmethod
    def read(cls, call: "Call") -> tuple[Tensors, "DepthwiseConv2D"]:
        """Return input and operator. The shape of the filters gives the depth multiplier, so its option is ignored."""
        source, filters = call.quantized(0), read_filters(call, 4)
        if filters.shape[0] != 1:
            raise ModelImportError(f"filters of {times(filters.shape)}, must be 1 x R x S x M", remedy=REMEDY)
        window = _read_window(call, filters.shape[1:3])
        weights = read_weights(call, filters, filters.shape[3])
        return (source,), cls(**window, **{**weights, "filters": weights["filters"][0]})

    def write(self, node: Node, file: "File") -> None:
        source, options = self.window_options(node, file, quantized(node.inputs[0]).zero_point)
        options |= {"depthMultiplier": self.outputs // source.shape[3]}
        self.write_weights(node, file, source, options, self.filters[None], 3)

    def check_channels(self, channels: int) -> None:
        if self.outputs % channels:
            raise self._do_not_go(channels)

    def run(self, values: Arrays, inputs: Tensors, outputs: Tensors) -> Arrays:
        return self.golden(convolution.depthwise_conv2d, values, inputs, outputs)

    def macs(self, inputs: Tensors, outputs: Tensors) -> int:
        return outputs[0].size * prod(self.kernel)

    def groups(self, node: Node, maps: Mapping[str, Map]) -> list[Group]:
        return [
            Depthwise(
                name=node.where,
                source=maps[node.inputs[0].name],
                output=maps[node.outputs[0].name],
                window=self.window,
                depthwise=self.filters,
                middle=self.layer_table(node),
            )
        ]

    def to_c(self, node: Node, calls: Calls) -> None:
        calls.call(node, "depthwise_conv_2d", self.kernel_fields(node), node.inputs, node.outputs[0])
