# SPDX-License-Identifier: Apache-2.0
"""AVERAGE_POOL_2D and MAX_POOL_2D."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from eyrie.compiler.ir.elementwise import Elementwise
from eyrie.compiler.ir.failure import Unsupported
from eyrie.compiler.ir.graph import Node
from eyrie.compiler.ir.layer import Group
from eyrie.compiler.ir.maps import Map
from eyrie.compiler.ir.operator import Arrays, Tensors, check_same, expect, int8, only, quantizations, quantized
from eyrie.compiler.ir.qdq.fold import Fold
from eyrie.compiler.ir.qdq.network import Operation
from eyrie.compiler.ir.qdq.values import Held, Made, Target
from eyrie.compiler.ir.tensor import Form
from eyrie.compiler.ir.window import Window
from eyrie.compiler.ir.word_operation import average_of_window, largest_of_window
from eyrie.compiler.kernel_calls.scales import limits
from eyrie.compiler.kernel_calls.steps import Calls, Fields
from eyrie.compiler.operators.chains import Nodes
from eyrie.compiler.operators.convolution import DepthwiseConv2D
from eyrie.compiler.operators.mean import check_count, over_maps
from eyrie.compiler.operators.record import PPU, Constraint, Record, Row, Shape, Site
from eyrie.compiler.operators.shapes import on_map
from eyrie.compiler.operators.windows import (
    aten_pooling,
    check_layout,
    check_whole,
    countable_steps,
    even_windows,
    onnx_window,
    over,
    relax_pooling,
    window,
    window_fields,
    window_output,
)
from eyrie.model.encoding import PPU_FIRST
from eyrie.model.operators import pooling
from eyrie.model.operators.quantization import INT8_MIN, activation_range
from eyrie.model.operators.windows import NO_PADS

if TYPE_CHECKING:
    from eyrie.compiler.frontend.onnx.call import Call as OnnxCall
    from eyrie.compiler.frontend.pytorch.call import Call as AtenCall
    from eyrie.compiler.frontend.tflite.reader import Call
    from eyrie.compiler.frontend.tflite.writer import File
    from eyrie.compiler.frontend.tvm.call import Call as RelaxCall

# Largest number of pixels with an exact average. A multiplier is up to 2^-31 too large; a pixel adds up to 128, or 255.
MOST_AVERAGED = 2896
MOST_AVERAGED_UP = 2052
FEWER_READS = 1.5  # least ratio of the words that a max pool reads to the words of two in its place


# ---- Constraints of the accelerator ----


def countable_window(site: Site) -> str:
    """the accelerator's field counts the pixels of a window"""
    assert isinstance(site.operator, Pool)
    taps, most = prod(site.operator.kernel), PPU_FIRST.largest("window")
    return "" if taps <= most else f"{taps}: at most {most}"


def few_averaged(site: Site) -> str:
    """averages are of 1 to 2896 pixels, of uint8 ones to 2052"""
    assert isinstance(site.operator, AveragePool2D)
    counts = pixels_inside(site.maps[0][:2], site.operator.window)
    most = MOST_AVERAGED_UP if site.operator.unsigned else MOST_AVERAGED
    return next((str(count) for count in (counts.min(), counts.max()) if not 1 <= count <= most), "")


def pixels_inside(shape: tuple[int, int], window: Window) -> np.ndarray:
    """Return int [E, F]: the number of pixels of each window that are on a map of [H, W]."""
    counts = []
    for axis, size in enumerate(shape):
        before, after = window.pads[2 * axis : 2 * axis + 2]
        taps, stride = window.kernel[axis], window.stride[axis]
        starts = np.arange(0, size + before + after - taps + 1, stride) - before
        counts.append(np.maximum(np.minimum(starts + taps, size) - np.maximum(starts, 0), 0))
    return np.outer(*counts)


@dataclass(frozen=True, kw_only=True)
class Pool(Record):
    """A pool over windows of a map, with the window attributes of a convolution."""

    schema_table = "Pool2DOptions"
    schema_options = {"activation": "fusedActivationFunction"}
    constraints: ClassVar[tuple[Constraint, ...]] = (countable_steps, countable_window)

    kernel: tuple[int, int]
    stride: tuple[int, int]
    pads: tuple[int, int, int, int] = NO_PADS
    activation: str = "NONE"
    unsigned: bool = False

    @property
    def window(self) -> Window:
        return Window(self.kernel, self.stride, self.pads)

    @classmethod
    def read_attributes(cls, call: "Call") -> dict[str, object]:
        kernel = call.option("filterHeight"), call.option("filterWidth")
        stride, pads = call.window(kernel)
        return {"kernel": kernel, "stride": stride, "pads": pads, **super().read_attributes(call)}

    def write_window(self, node: Node, file: "File", value: int | None) -> None:
        """Add the operator to a file. value: of pads, None if pads have no value"""
        source, options = file.padded(node, self.window, value)
        rows, columns = map(int, self.kernel)
        options |= {"filterHeight": rows, "filterWidth": columns, "fusedActivationFunction": self.activation}
        file.operator(node, self.name, options, inputs=(source,))

    def infer(self, inputs: Tensors) -> tuple[Form, ...]:
        (ifmap,) = only(inputs)
        batch, height, width, channels = expect(ifmap, "int8", 4).shape
        return int8((batch, *window_output((height, width), self.kernel, self.stride, self.pads), channels))

    def check(self, inputs: Tensors, outputs: Tensors) -> None:
        check_same(*inputs, *outputs)

    def elements(self, inputs: Tensors, outputs: Tensors) -> int:
        return outputs[0].size * self.kernel[0] * self.kernel[1]

    def kernel_fields(self, node: Node, **more: int) -> Fields:
        """Return the fields of a kernel, with more of its own."""
        window = window_fields(node.inputs[0], node.outputs[0], self.window)
        return window | more | limits(node.outputs[0], self.activation)

    @classmethod
    def shapes(cls, operation: Operation, inputs: list[Shape]) -> list[Shape]:
        return [(*inputs[0][:2], *over(operation, inputs[0], operation.integers("kernel")))]


# ---- AVERAGE_POOL_2D ----


def _onnx_average(
    call: "OnnxCall", inputs: tuple[str, ...] | None = None, outputs: tuple[str, ...] | None = None
) -> list[Operation]:
    kernel = call.wholes("kernel_shape")
    attributes, counted = onnx_window(call, kernel, call.shape(0)), bool(call.whole("count_include_pad", 0))
    if set(attributes["dilations"]) != {1}:
        raise Unsupported("its window has dilations")
    if counted and call.whole("ceil_mode", 0):
        raise Unsupported("it counts pads, and has windows that leave the map")
    return [call.make("average_pool", inputs, outputs, kernel=kernel, count_pads=counted, **attributes)]


def _onnx_average_of_codes(call: "OnnxCall") -> list[Operation]:
    return call.between(lambda x, made: _onnx_average(call, (x,), (made,)))


def _onnx_global(call: "OnnxCall") -> list[Operation]:
    return [over_maps(call, call.inputs, call.outputs)]


def _onnx_global_of_codes(call: "OnnxCall") -> list[Operation]:
    return call.between(lambda x, made: [over_maps(call, (x,), (made,))])


def _aten_average(call: "AtenCall") -> list[Operation]:
    attributes = aten_pooling(call)
    if call.arguments.get("divisor_override") is not None:
        raise Unsupported("its divisor is given")
    check_whole(call.shape(call["self"]), call.made_shape, attributes)
    counted = bool(call["count_include_pad"])
    return [call.make("average_pool", call["self"], **attributes, count_pads=counted)]


def _aten_adaptive(call: "AtenCall") -> list[Operation]:
    source = call.shape(call["self"])
    kernel = even_windows(source, call.made_shape)
    if kernel is None:
        return [call.make("mean", call["self"], axes=tuple(range(2, len(source))), keep=True)]
    return [call.make("average_pool", call["self"], kernel=kernel, strides=kernel)]


def _relax_average(call: "RelaxCall") -> list[Operation]:
    attributes = relax_pooling(call)
    counted = bool(call.whole("count_include_pad"))
    return [call.make("average_pool", call.operand(0), **attributes, count_pads=counted)]


def _relax_adaptive(call: "RelaxCall") -> list[Operation]:
    check_layout(call)
    source = call.shape(call.operand(0))
    kernel = even_windows(source, call.made_shape)
    if kernel is None:
        return [call.make("mean", call.operand(0), axes=tuple(range(2, len(source))), keep=True)]
    return [call.make("average_pool", call.operand(0), kernel=kernel, strides=kernel)]


@dataclass(frozen=True, kw_only=True)
class AveragePool2D(Pool):
    row = Row("average pooling", PPU)
    library = "eyrie_pooling"
    name = "AVERAGE_POOL_2D"
    constraints = (countable_steps, countable_window, few_averaged)
    kind = "average_pool"
    onnx = {"AveragePool": _onnx_average, "GlobalAveragePool": _onnx_global}
    microsoft = {"QLinearAveragePool": _onnx_average_of_codes, "QLinearGlobalAveragePool": _onnx_global_of_codes}
    aten = {
        **dict.fromkeys(("avg_pool1d", "avg_pool2d"), _aten_average),
        **dict.fromkeys(("adaptive_avg_pool1d", "adaptive_avg_pool2d"), _aten_adaptive),
    }
    relax = {
        **dict.fromkeys(("nn.avg_pool1d", "nn.avg_pool2d"), _relax_average),
        **dict.fromkeys(("nn.adaptive_avg_pool1d", "nn.adaptive_avg_pool2d"), _relax_adaptive),
    }

    def write(self, node: Node, file: "File") -> None:
        self.write_window(node, file, None)

    def run(self, values: Arrays, inputs: Tensors, outputs: Tensors) -> Arrays:
        clamp = activation_range(self.activation, quantized(outputs[0]).quantization)
        return (pooling.average_pool2d(values[0], self.kernel, self.stride, self.pads, *clamp, self.unsigned),)

    def groups(self, node: Node, maps: Mapping[str, Map]) -> list[Group]:
        source, output = maps[node.inputs[0].name], maps[node.outputs[0].name]
        clamp = activation_range(self.activation, output.quantization)
        counts = pixels_inside(source.shape[:2], self.window)
        epilogue = (average_of_window(counts, self.window.taps, *clamp, self.unsigned),)
        return [Elementwise(name=node.where, source=source, output=output, window=self.window, epilogue=epilogue)]

    def to_c(self, node: Node, calls: Calls) -> None:
        self._check_windows(node)
        settings = self.kernel_fields(node, offset=128 if self.unsigned else 0)
        calls.call(node, "average_pool_2d", settings, node.inputs, node.outputs[0])

    def _check_windows(self, node: Node) -> None:
        """Raise Unsupported if a window has no value to average, or too many."""
        (_, height, width, _), (_, rows, columns, _) = node.inputs[0].shape, node.outputs[0].shape
        for size, count, kernel, stride, pad in zip(
            (height, width), (rows, columns), self.kernel, self.stride, self.pads[::2]
        ):
            if pad >= kernel or (count - 1) * stride - pad >= size:
                raise Unsupported(
                    f"{node.place}: pads leave a window without a pixel",
                    layer=node.where,
                    remedy="convert the model again",
                )
        check_count(node, min(height, self.kernel[0]) * min(width, self.kernel[1]))

    @classmethod
    def as_int8(cls, fold: Fold, made: Made, target: Target) -> Held:
        """Return the average. If the scale changes, a depthwise convolution with filters of ones sums the window, so
        that the result is rounded only once."""
        kernel, stride, pads, _ = window(made.operation, made.operation.integers("kernel"))
        source, plain = fold.operand(made.inputs[0]), Target(target.quantization, target.name)
        counts_pads = made.operation.flag("count_pads") or not any(pads)
        same = source.quantization == target.quantization
        if (counts_pads and any(pads)) or (counts_pads and not same):
            channels = made.shape[1]
            sums = DepthwiseConv2D(
                filters=np.ones((*kernel, channels), np.int8),
                scales=np.array([1 / prod(kernel)], np.float32),
                bias=np.zeros(channels, np.int32),
                activation=target.activation,
                stride=stride,
                pads=pads,
            )
            return on_map(fold, made, source, sums, plain)
        if same:
            pool = cls(kernel=kernel, stride=stride, pads=pads, activation=target.activation)
            return on_map(fold, made, source, pool, plain)
        if target.quantization.scale < source.quantization.scale / 2:
            raise Unsupported("it averages over fewer values at the edges and changes the scale")
        pool = cls(kernel=kernel, stride=stride, pads=pads)
        pooled = on_map(fold, made, source, pool, Target(source.quantization, made.name))
        return fold.rescaled(made.operation, pooled, target)


# ---- MAX_POOL_2D ----


def _onnx_max(call: "OnnxCall") -> list[Operation]:
    if len([name for name in call.outputs if name]) > 1:
        raise Unsupported("its indices are used")
    if call.whole("storage_order", 0):
        raise Unsupported("it goes through columns first")
    kernel = call.wholes("kernel_shape")
    attributes = onnx_window(call, kernel, call.shape(0))
    return [call.make("max_pool", None, call.outputs[:1], kernel=kernel, **attributes)]


def _onnx_global_max(call: "OnnxCall") -> list[Operation]:
    return [call.make("max_pool", kernel=call.shape(0)[2:])]


def _aten_max(call: "AtenCall") -> list[Operation]:
    attributes = aten_pooling(call)
    if set(call.pair("dilation", call.map_axes)) != {1}:
        raise Unsupported("its windows have gaps")
    check_whole(call.shape(call["self"]), call.made_shape, attributes)
    return [call.make("max_pool", call["self"], **attributes)]


def _relax_max(call: "RelaxCall") -> list[Operation]:
    return [call.make("max_pool", call.operand(0), **relax_pooling(call))]


@dataclass(frozen=True, kw_only=True)
class MaxPool2D(Pool):
    row = Row("max pooling", PPU)
    library = "eyrie_pooling"
    name = "MAX_POOL_2D"
    kind = "max_pool"
    onnx = {"MaxPool": _onnx_max, "GlobalMaxPool": _onnx_global_max}
    aten = dict.fromkeys(("max_pool1d", "max_pool2d"), _aten_max)
    relax = dict.fromkeys(("nn.max_pool1d", "nn.max_pool2d"), _relax_max)
    moves = takes_codes = keeps_scale = True

    def write(self, node: Node, file: "File") -> None:
        self.write_window(node, file, INT8_MIN)  # which no maximum sees

    def run(self, values: Arrays, inputs: Tensors, outputs: Tensors) -> Arrays:
        clamp = activation_range(self.activation, quantized(outputs[0]).quantization)
        return (pooling.max_pool2d(values[0], self.kernel, self.stride, self.pads, *clamp),)

    def expanded(self, node: Node) -> tuple[Node, ...]:
        """Return two max pools, over the columns and then the rows of a window, if they read fewer words.

        The map between them is as wide as the input. It is no wider than the output, so that it fits as this does.
        """
        batch, _, width, channels = node.inputs[0].shape
        _, height, made, _ = node.outputs[0].shape
        (rows, columns), (down, across), nodes = self.kernel, self.stride, Nodes(node)
        pairs = -(-columns // 2)  # of words that a window reads of a row
        if made < width or rows * pairs < FEWER_READS * (rows + pairs):
            return (node,)
        down_columns = MaxPool2D(kernel=(rows, 1), stride=(down, 1), pads=(*self.pads[:2], 0, 0))
        scale, shape = quantizations(*node.inputs)[0], (batch, height, width, channels)
        part = nodes.add(down_columns, "columns", scale, *node.inputs, shape=shape)
        along_rows = replace(self, kernel=(1, columns), stride=(1, across), pads=(0, 0, *self.pads[2:]))
        nodes.end(along_rows, node.outputs[0], part)
        return nodes.all()

    def groups(self, node: Node, maps: Mapping[str, Map]) -> list[Group]:
        source, output = maps[node.inputs[0].name], maps[node.outputs[0].name]
        clamp = activation_range(self.activation, output.quantization)
        epilogue = (largest_of_window(self.window.taps, *clamp),)
        return [
            Elementwise(
                name=node.where, source=source, output=output, window=self.window, outside=INT8_MIN, epilogue=epilogue
            )
        ]

    def to_c(self, node: Node, calls: Calls) -> None:
        calls.call(node, "max_pool_2d", self.kernel_fields(node), node.inputs, node.outputs[0])

    @classmethod
    def as_int8(cls, fold: Fold, made: Made, target: Target) -> Held:
        kernel, stride, pads, dilation = window(made.operation, made.operation.integers("kernel"))
        if set(dilation) != {1}:
            raise Unsupported("its window has dilations")
        (real,) = made.inputs
        name = real.name if isinstance(real, Made) else target.name
        source = fold.emit(real, Target(target.quantization, name, activation=target.activation))
        return on_map(fold, made, source, cls(kernel=kernel, stride=stride, pads=pads), target)
