# SPDX-License-Identifier: Apache-2.0
"""Pools: averages and maxima."""

from dataclasses import dataclass

from eyrie.compiler.ir.operators.convolution import window_output
from eyrie.compiler.ir.operators.operator import (
    Arrays,
    Operator,
    Tensors,
    axis_of,
    check_same,
    expect,
    int8,
    only,
    quantizations,
    quantized,
)
from eyrie.compiler.ir.tensor import Form
from eyrie.model.operators import pooling
from eyrie.model.operators.quantization import activation_range
from eyrie.model.operators.windows import NO_PADS


@dataclass(frozen=True, kw_only=True)
class Pool(Operator):
    """A pool over windows of a map, with the window attributes of a convolution."""

    kernel: tuple[int, int]
    stride: tuple[int, int]
    pads: tuple[int, int, int, int] = NO_PADS
    activation: str = "NONE"
    unsigned: bool = False

    def infer(self, inputs: Tensors) -> tuple[Form, ...]:
        (ifmap,) = only(inputs)
        batch, height, width, channels = expect(ifmap, "int8", 4).shape
        return int8((batch, *window_output((height, width), self.kernel, self.stride, self.pads), channels))

    def check(self, inputs: Tensors, outputs: Tensors) -> None:
        check_same(*inputs, *outputs)

    def elements(self, inputs: Tensors, outputs: Tensors) -> int:
        return outputs[0].size * self.kernel[0] * self.kernel[1]


@dataclass(frozen=True, kw_only=True)
class AveragePool2D(Pool):
    name = "AVERAGE_POOL_2D"

    def run(self, values: Arrays, inputs: Tensors, outputs: Tensors) -> Arrays:
        clamp = activation_range(self.activation, quantized(outputs[0]).quantization)
        return (pooling.average_pool2d(values[0], self.kernel, self.stride, self.pads, *clamp, self.unsigned),)


@dataclass(frozen=True, kw_only=True)
class MaxPool2D(Pool):
    name = "MAX_POOL_2D"

    def run(self, values: Arrays, inputs: Tensors, outputs: Tensors) -> Arrays:
        clamp = activation_range(self.activation, quantized(outputs[0]).quantization)
        return (pooling.max_pool2d(values[0], self.kernel, self.stride, self.pads, *clamp),)


@dataclass(frozen=True, kw_only=True)
class Mean(Operator):
    """MEAN over axes, which keep size 1 if `keep_axes` is set."""

    name = "MEAN"
    axes: tuple[int, ...]
    keep_axes: bool = False

    def infer(self, inputs: Tensors) -> tuple[Form, ...]:
        (source,) = only(inputs)
        shape = expect(source, "int8").shape
        gone = {axis_of(axis, len(shape)) for axis in self.axes}
        return int8(
            tuple(1 if axis in gone else size for axis, size in enumerate(shape) if self.keep_axes or axis not in gone)
        )

    def check(self, inputs: Tensors, outputs: Tensors) -> None:
        count = max(inputs[0].size // max(outputs[0].size, 1), 1)
        input_, output = quantizations(*inputs, *outputs)
        pooling.mean_requantization(input_, output, count)

    def run(self, values: Arrays, inputs: Tensors, outputs: Tensors) -> Arrays:
        return (pooling.mean(values[0], self.axes, self.keep_axes, *quantizations(*inputs, *outputs)),)

    def elements(self, inputs: Tensors, outputs: Tensors) -> int:
        return inputs[0].size
