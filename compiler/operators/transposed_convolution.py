# SPDX-License-Identifier: Apache-2.0
"""TRANSPOSE_CONV."""

from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from eyrie.compiler.ir.failure import ModelImportError, Unsupported
from eyrie.compiler.ir.graph import REMEDY, Node
from eyrie.compiler.ir.operator import Arrays, Operator, Tensors, expect, int8, only, quantized
from eyrie.compiler.ir.tensor import Form, Tensor
from eyrie.compiler.ir.window import Window
from eyrie.compiler.kernel_calls.steps import Calls
from eyrie.compiler.operators.convolution import Conv2D
from eyrie.compiler.operators.parts import Slice
from eyrie.compiler.operators.record import ARRAY, Row
from eyrie.compiler.operators.shapes import Reshape, Transpose
from eyrie.compiler.operators.weights import Weighted, read_filters, read_weights
from eyrie.compiler.operators.windows import MOST_TAPS, window_fields
from eyrie.model.errors import InputError
from eyrie.model.messages import times
from eyrie.model.operators import convolution

if TYPE_CHECKING:
    from eyrie.compiler.frontend.tflite.reader import Call
    from eyrie.compiler.frontend.tflite.writer import File


@dataclass(frozen=True, eq=False, kw_only=True)
class TransposeConv(Weighted):
    """TRANSPOSE_CONV. filters: [M, R, S, C]; stride: vertical, horizontal; to: E and F

    same: the padding of the forward convolution, whose input the output is, is SAME, otherwise VALID
    """

    row = Row("transposed convolution", ARRAY)
    name = "TRANSPOSE_CONV"
    version = 4
    constraints = None  # it is expanded

    stride: tuple[int, int]
    to: tuple[int, int]
    same: bool

    @property
    def kernel(self) -> tuple[int, int]:
        return self.filters.shape[1:3]

    @property
    def pads(self) -> tuple[int, int]:
        """Return the rows and columns of sums above and left of the output.

        Source: ComputePaddingHeightWidth in tensorflow/lite/kernels/padding.h, with the output as the image.
        """
        top, left = map(self._pad, self.to, self.kernel, self.stride)
        return top, left

    def _pad(self, size: int, taps: int, step: int) -> int:
        count = -(-size // step) if self.same else int((size + step - taps) / step)  # the quotient is truncated
        return max((count - 1) * step + taps - size, 0) // 2

    # ---- TensorFlow Lite ----

    @classmethod
    def read(cls, call: "Call") -> tuple[Tensors, "TransposeConv"]:
        """Return input and operator. The output's shape is the tensor's; a constant shape has to be the same."""
        if call.unsigned:
            raise Unsupported("its tensors are uint8: quantise it to int8")
        source, filters, output = call.quantized(2), read_filters(call, 4), call.quantized_output()
        stride = call.option("strideH"), call.option("strideW")
        if len(source.shape) != 4 or len(output.shape) != 4 or min(*stride, *filters.shape) < 1:
            raise ModelImportError(
                f"strides of {times(stride)} and filters of {times(filters.shape)} from {times(source.shape)} to "
                f"{times(output.shape)}",
                remedy=REMEDY,
            )
        if max(*stride, *filters.shape[1:3]) > MOST_TAPS:
            raise Unsupported(f"filters of {times(filters.shape)} with strides of {times(stride)}: at most {MOST_TAPS}")
        if call.reader.is_constant(call.inputs[0]) and tuple(call.constant(0).tolist()) != tuple(output.shape):
            raise ModelImportError(
                f"a shape of {times(call.constant(0).tolist())} for an output of {times(output.shape)}", remedy=REMEDY
            )
        weights = read_weights(call, filters, len(filters), bias_input=3)
        return (source,), cls(stride=stride, to=(output.shape[1], output.shape[2]), same=call.pads_as_same, **weights)

    def write(self, node: Node, file: "File") -> None:
        source, (output,) = quantized(node.inputs[0]), node.outputs
        padding = file.choice("Padding", "SAME" if self.same else "VALID")
        options = {
            "strideH": self.stride[0],
            "strideW": self.stride[1],
            "padding": padding,
            "fusedActivationFunction": self.activation,
        }
        filters, bias = self.written_weights(node, file, source, self.filters)
        shape = file.integers(f"{output.name}/shape", output.shape)
        file.operator(node, self.name, options, inputs=(), others=(shape, filters, file.tensor(source), bias))

    # ---- Values ----

    def infer(self, inputs: Tensors) -> tuple[Form, ...]:
        (ifmap,) = only(inputs)
        batch, *_, channels = expect(ifmap, "int8", 4).shape
        if channels != self.filters.shape[3]:
            raise InputError(f"filters of {times(self.filters.shape)} do not go with a map of {channels} channels")
        return int8((batch, *self.to, self.outputs))

    def run(self, values: Arrays, inputs: Tensors, outputs: Tensors) -> Arrays:
        parameters, zero_point = self.requantization(inputs, outputs), quantized(inputs[0]).zero_point
        window = self.stride, self.pads, self.to
        return (convolution.transpose_conv2d(values[0], self.filters, self.bias, zero_point, parameters, *window),)

    def macs(self, inputs: Tensors, outputs: Tensors) -> int:
        return inputs[0].size * prod(self.filters.shape[:3])

    # ---- Accelerator ----

    def expanded(self, node: Node) -> tuple[Node, ...]:
        """Return the nodes: a convolution with filters for each phase of the output, whose maps are then interleaved.

        Output rows y with the same phase (y + top) mod U read the same taps: tap r of input row (y + top - r) / U.
        """
        (source,), (output,) = node.inputs, node.outputs
        (down, across), (batch, height, width, _), m = self.stride, source.shape, self.outputs
        (rows, above, below, top), (columns, before, behind, left) = (
            _phase_outputs(*axis) for axis in zip((height, width), self.kernel, self.stride, self.to, self.pads)
        )
        phases, taps = down * across, (above + below + height - rows + 1, before + behind + width - columns + 1)
        conv = Conv2D(
            filters=self._phases(taps),
            scales=np.tile(np.broadcast_to(self.scales, self.outputs), phases),
            bias=np.tile(self.bias, phases),
            pads=(above, below, before, behind),
            activation=self.activation,
        )
        interleaved = (batch, rows * down, columns * across, m)
        steps: list[tuple[Operator, tuple[int, ...]]] = [(conv, (batch, rows, columns, phases * m))]
        if phases > 1:
            split = (batch, rows, columns, down, across, m)
            order = (0, 1, 3, 2, 4, 5)
            steps += [
                (Reshape(to=split), split),
                (Transpose(axes=order), tuple(split[axis] for axis in order)),
                (Reshape(to=interleaved), interleaved),
            ]
        if interleaved != output.shape:
            steps.append((Slice(begin=(0, top, left, 0), size=output.shape), output.shape))
        nodes, value = list[Node](), source
        for number, (operator, shape) in enumerate(steps, 1):
            made: Tensor = output
            if number < len(steps):
                made = replace(output, name=f"{output.name}#{number}", shape=shape)
            nodes.append(replace(node, operator=operator, inputs=(value,), outputs=(made,)))
            value = made
        return tuple(nodes)

    def _phases(self, taps: tuple[int, int]) -> np.ndarray:
        """Return the filters of all phases, [phases * M, taps, taps, C]: the taps of a phase, the last one first."""
        (down, across), (m, _, _, channels) = self.stride, self.filters.shape
        padded = np.zeros((m, taps[0] * down, taps[1] * across, channels), self.filters.dtype)
        padded[:, : self.kernel[0], : self.kernel[1]] = self.filters
        split = padded.reshape(m, taps[0], down, taps[1], across, channels)[:, ::-1, :, ::-1]
        return split.transpose(2, 4, 0, 1, 3, 5).reshape(-1, *taps, channels)

    # ---- C ----

    def to_c(self, node: Node, calls: Calls) -> None:
        window = Window(self.kernel, self.stride, (self.pads[0], 0, self.pads[1], 0))
        settings = window_fields(node.inputs[0], node.outputs[0], window, of_filters=True)
        settings |= self.weight_fields(node) | self.scaling_fields(node)
        calls.call(node, "transpose_conv", settings, node.inputs, node.outputs[0])


def _phase_outputs(size: int, kernel: int, step: int, to: int, pad: int) -> tuple[int, int, int, int]:
    """Return, along an axis, the outputs of a phase's convolution, its pads, and the pixels before the result when
    phases are interleaved."""
    taps, first = -(-kernel // step), pad // step
    before, behind = taps - 1 - first, max((to - 1 + pad) // step - size + 1, 0)
    return size + before + behind - taps + 1, before, behind, pad - first * step
