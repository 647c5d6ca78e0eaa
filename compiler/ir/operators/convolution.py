# SPDX-License-Identifier: Apache-2.0
"""Operators with weights: golden models, shapes, and attributes."""

from abc import abstractmethod
from dataclasses import dataclass
from math import prod

import numpy as np

from eyrie.compiler.ir.operators.operator import Arrays, Operator, Tensors, expect, int8, only, quantizations, quantized
from eyrie.compiler.ir.tensor import Form
from eyrie.model.errors import InputError
from eyrie.model.messages import times
from eyrie.model.operators import convolution
from eyrie.model.operators.quantization import Requantization, once_in_fixed_point, requantization, uint8_requantization
from eyrie.model.operators.windows import NO_PADS


@dataclass(frozen=True, eq=False, kw_only=True)
class Weighted(Operator):
    """An operator that sums products with constant filters, and rescales the sums.

    filters     int8, or int16 if uint8 filters less their zero point do not fit int8
    scales      float32 of the filters, [M] or [1]
    bias        int32 [M], zero if the model has none
    activation  the fused activation, by its name in the schema
    unsigned    the model has the operator in uint8, whose kernels compute a little differently
    """

    filters: np.ndarray
    scales: np.ndarray
    bias: np.ndarray
    activation: str = "NONE"
    unsigned: bool = False

    @property
    def outputs(self) -> int:
        """Return M."""
        return len(self.bias)

    def requantization(self, inputs: Tensors, outputs: Tensors) -> Requantization:
        """Return the quantisation parameters of the sums; multipliers and shifts are [M]."""
        input_, output = quantizations(inputs[0], outputs[0])
        rescale = uint8_requantization if self.unsigned else requantization
        return rescale(input_, np.broadcast_to(self.scales, self.outputs), output, self.activation)

    def fixed_point(self, inputs: Tensors, outputs: Tensors) -> Requantization | None:
        """Return the fixed-point parameters that reproduce the model's kernel, None if no parameters do."""
        return self.requantization(inputs, outputs)

    def check(self, inputs: Tensors, outputs: Tensors) -> None:
        self.requantization(inputs, outputs)

    @abstractmethod
    def macs(self, inputs: Tensors, outputs: Tensors) -> int: ...

    def elements(self, inputs: Tensors, outputs: Tensors) -> int:
        return self.macs(inputs, outputs)


@dataclass(frozen=True, eq=False, kw_only=True)
class Windowed(Weighted):
    """A convolution. stride, dilation: vertical, horizontal; pads: top, bottom, left, right."""

    stride: tuple[int, int] = (1, 1)
    dilation: tuple[int, int] = (1, 1)
    pads: tuple[int, int, int, int] = NO_PADS

    @property
    @abstractmethod
    def kernel(self) -> tuple[int, int]:
        """Return R and S."""

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


@dataclass(frozen=True, eq=False, kw_only=True)
class Conv2D(Windowed):
    """CONV_2D. filters: [M, R, S, C], or [M, R, S, C / G] in G groups"""

    name = "CONV_2D"

    @property
    def kernel(self) -> tuple[int, int]:
        return self.filters.shape[1:3]

    def check_channels(self, channels: int) -> None:
        groups, ragged = divmod(channels, self.filters.shape[3])
        if ragged or not groups or self.outputs % groups:
            raise self._do_not_go(channels)

    def run(self, values: Arrays, inputs: Tensors, outputs: Tensors) -> Arrays:
        parameters = self.requantization(inputs, outputs)
        return (
            convolution.conv2d(
                values[0],
                self.filters,
                self.bias,
                quantized(inputs[0]).zero_point,
                parameters,
                self.stride,
                self.pads,
                self.dilation,
            ),
        )

    def macs(self, inputs: Tensors, outputs: Tensors) -> int:
        return outputs[0].size * prod(self.filters.shape[1:])


@dataclass(frozen=True, eq=False, kw_only=True)
class DepthwiseConv2D(Windowed):
    """DEPTHWISE_CONV_2D. filters: [R, S, M], M / C for each channel"""

    name = "DEPTHWISE_CONV_2D"

    @property
    def kernel(self) -> tuple[int, int]:
        return self.filters.shape[:2]

    def check_channels(self, channels: int) -> None:
        if self.outputs % channels:
            raise self._do_not_go(channels)

    def run(self, values: Arrays, inputs: Tensors, outputs: Tensors) -> Arrays:
        parameters = self.requantization(inputs, outputs)
        return (
            convolution.depthwise_conv2d(
                values[0],
                self.filters,
                self.bias,
                quantized(inputs[0]).zero_point,
                parameters,
                self.stride,
                self.pads,
                self.dilation,
            ),
        )

    def macs(self, inputs: Tensors, outputs: Tensors) -> int:
        return outputs[0].size * prod(self.kernel)


@dataclass(frozen=True, eq=False, kw_only=True)
class FullyConnected(Weighted):
    """FULLY_CONNECTED. filters: [M, C], for every C values of the input; keep_axes: the axes before the last stay"""

    name = "FULLY_CONNECTED"
    keep_axes: bool = False

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
        if self.unsigned:
            made = convolution.fully_connected_once(*layer, self._factors(inputs, outputs), parameters)
        else:
            made = convolution.fully_connected(*layer, parameters)
        return (made.reshape(outputs[0].shape),)

    def requantization(self, inputs: Tensors, outputs: Tensors) -> Requantization:
        input_, output = quantizations(inputs[0], outputs[0])
        return requantization(input_, np.broadcast_to(self.scales, self.outputs), output, self.activation)

    def fixed_point(self, inputs: Tensors, outputs: Tensors) -> Requantization | None:
        parameters = self.requantization(inputs, outputs)
        return once_in_fixed_point(self._factors(inputs, outputs), parameters) if self.unsigned else parameters

    def _factors(self, inputs: Tensors, outputs: Tensors) -> np.ndarray:
        """Return the factors of the sums, [M] or [1]."""
        input_, output = quantizations(inputs[0], outputs[0])
        return input_.scale * self.scales.astype(float) / output.scale

    def macs(self, inputs: Tensors, outputs: Tensors) -> int:
        return outputs[0].size * self.filters.shape[1]


def window_output(
    shape: tuple[int, int],
    kernel: tuple[int, int],
    stride: tuple[int, int],
    pads: tuple[int, int, int, int],
    dilation: tuple[int, int] = (1, 1),
) -> tuple[int, ...]:
    """Return E and F. Raise InputError if no window fits."""
    padded = shape[0] + pads[0] + pads[1], shape[1] + pads[2] + pads[3]
    reach = tuple((taps - 1) * gap + 1 for taps, gap in zip(kernel, dilation))
    if min(*kernel, *stride, *dilation) < 1:
        raise InputError(f"a kernel of {times(kernel)}, strides of {times(stride)}, dilations of {times(dilation)}")
    if any(size < taps for size, taps in zip(padded, reach)):
        raise InputError(f"a kernel of {times(reach)} does not fit a padded map of {times(padded)}")
    return tuple((size - taps) // step + 1 for size, taps, step in zip(padded, reach, stride))
