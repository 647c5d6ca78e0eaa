# SPDX-License-Identifier: Apache-2.0
"""TRANSPOSE_CONV."""

from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from eyrie.compiler.ir.failure import ModelImportError, Unsupported
from eyrie.compiler.ir.graph import REMEDY, Node
from eyrie.compiler.ir.operator import Arrays, Operator, Tensors, expect, int8, only, quantized
from eyrie.compiler.ir.qdq.fold import Fold
from eyrie.compiler.ir.qdq.network import Operation
from eyrie.compiler.ir.qdq.values import Held, Made, Target
from eyrie.compiler.ir.tensor import Form, Tensor
from eyrie.compiler.ir.window import Window
from eyrie.compiler.kernel_calls.steps import Calls
from eyrie.compiler.operators.affine import Affine, itself, weights_of
from eyrie.compiler.operators.convolution import Conv2D
from eyrie.compiler.operators.parts import Slice
from eyrie.compiler.operators.record import ARRAY, Row, Shape
from eyrie.compiler.operators.shapes import Reshape, Transpose, on_map
from eyrie.compiler.operators.weights import Weighted, read_filters, read_weights
from eyrie.compiler.operators.windows import MOST_TAPS, window_fields
from eyrie.model.errors import InputError
from eyrie.model.messages import times
from eyrie.model.operators import convolution

if TYPE_CHECKING:
    from eyrie.compiler.frontend.onnx.call import Call as OnnxCall
    from eyrie.compiler.frontend.pytorch.call import Call as AtenCall
    from eyrie.compiler.frontend.tflite.reader import Call
    from eyrie.compiler.frontend.tflite.writer import File


def _onnx(call: "OnnxCall") -> list[Operation]:
    weight, sizes = call.shape(1), call.shape(0)[2:]
    axes = len(weight) - 2
    ones, zeros = (1,) * axes, (0,) * axes
    if axes not in (1, 2) or len(sizes) != axes:
        raise Unsupported(f"a window over {axes} axes")
    if call.whole("group", 1) != 1:
        raise Unsupported("its channels are in groups")
    if call.wholes("dilations", ones) != ones:
        raise Unsupported("it is dilated")
    strides, more = call.wholes("strides", ones), call.wholes("output_padding", zeros)
    full = [(size - 1) * step + taps for size, step, taps in zip(sizes, strides, weight[2:])]
    automatic = call.text("auto_pad", "NOTSET")
    if automatic in ("NOTSET", "VALID") and not call.given("output_shape"):
        given = call.wholes("pads", zeros + zeros) if automatic == "NOTSET" else zeros + zeros
        before, behind = given[:axes], given[axes:]
    else:
        wanted = call.wholes("output_shape", tuple(size * step for size, step in zip(sizes, strides)))[-axes:]
        rest = [of + added - size for of, added, size in zip(full, more, wanted)]
        if any(each % 2 or each < 0 for each in rest):
            raise Unsupported("its pads are not the same on both sides")
        before = behind = tuple(each // 2 for each in rest)
    to = tuple(of + added - sum(pads) for of, added, *pads in zip(full, more, before, behind))
    if min(*strides, *to) < 1 or min(*before, *behind, *more) < 0 or any(map(int.__ge__, more, strides)):
        raise Unsupported(f"pads of {', '.join(map(str, before + behind))} with {', '.join(map(str, more))} more")
    filters = call.inner("filters")
    return [
        call.make("transpose", (call.input(1),), (filters,), axes=(1, 0, *range(2, len(weight)))),
        call.make("conv_transpose", (call.input(0), filters, *call.inputs[2:]), strides=strides, pads=before, size=to),
    ]


def _aten(call: "AtenCall") -> list[Operation]:
    axes, filters = call.map_axes, f"{call.node.name}.filters"
    if call.whole("groups") != 1:
        raise Unsupported("its channels are in groups")
    if set(call.pair("dilation", axes)) != {1}:
        raise Unsupported("it is dilated")
    bias = [call["bias"]] if call.given("bias") else []
    return [
        call.inner("transpose", (filters,), call["weight"], axes=(1, 0, *range(2, axes + 2))),
        call.make(
            "conv_transpose",
            call["input"],
            filters,
            *bias,
            strides=call.pair("stride", axes),
            pads=call.pair("padding", axes),
            size=call.made_shape[2:],
        ),
    ]


@dataclass(frozen=True, eq=False, kw_only=True)
class TransposeConv(Weighted):
    """TRANSPOSE_CONV. filters: [M, R, S, C]; stride: vertical, horizontal; to: E and F

    pads: the rows and columns of sums above and left of the output
    """

    row = Row("transposed convolution", ARRAY)
    library = "eyrie_transposed_convolution"
    name = "TRANSPOSE_CONV"
    version = 4
    kind = "conv_transpose"
    onnx = {"ConvTranspose": _onnx}
    aten = dict.fromkeys(("conv_transpose1d", "conv_transpose2d"), _aten)
    constraints = None  # it is expanded

    stride: tuple[int, int]
    to: tuple[int, int]
    pads: tuple[int, int]

    @property
    def kernel(self) -> tuple[int, int]:
        return self.filters.shape[1:3]

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
        to = output.shape[1], output.shape[2]
        pads = _pads(to, filters.shape[1:3], stride, call.pads_as_same)
        return (source,), cls(stride=stride, to=to, pads=pads, **weights)

    def write(self, node: Node, file: "File") -> None:
        source, (output,) = quantized(node.inputs[0]), node.outputs
        same = [each for each in (True, False) if _pads(self.to, self.kernel, self.stride, each) == self.pads]
        if not same:
            self._write_part(node, file)
            return
        padding = file.choice("Padding", "SAME" if same[0] else "VALID")
        options = {
            "strideH": self.stride[0],
            "strideW": self.stride[1],
            "padding": padding,
            "fusedActivationFunction": self.activation,
        }
        filters, bias = self.written_weights(node, file, source, self.filters)
        shape = file.integers(f"{output.name}/shape", output.shape)
        file.operator(node, self.name, options, inputs=(), others=(shape, filters, file.tensor(source), bias))

    def _write_part(self, node: Node, file: "File") -> None:
        """Add the operator without pads, and a SLICE of its result. Raise Unsupported if TensorFlow Lite pads it."""
        (top, left), (rows, columns), [output] = self.pads, self.to, node.outputs
        all_of = replace(self, to=(top + rows, left + columns), pads=(0, 0))
        if _pads(all_of.to, self.kernel, self.stride, False) != all_of.pads:
            raise Unsupported(f"pads of {times(self.pads)} are neither SAME nor VALID")
        whole = replace(output, name=f"{output.name}/whole", shape=(output.shape[0], *all_of.to, self.outputs))
        file.write(replace(node, operator=all_of, outputs=(whole,)))
        part = Slice(begin=(0, top, left, 0), size=output.shape)
        file.write(replace(node, operator=part, inputs=(whole,)))

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
        (down, across), (batch, height, width, _) = self.stride, source.shape
        (rows, above, below, top), (columns, before, behind, left) = (
            _phase_outputs(*axis) for axis in zip((height, width), self.kernel, self.stride, self.to, self.pads)
        )
        phases, m, own = down * across, self._padded, self.outputs
        taps = (above + below + height - rows + 1, before + behind + width - columns + 1)
        conv = Conv2D(
            filters=self._phases(taps),
            scales=np.tile(np.pad(np.broadcast_to(self.scales, own), (0, m - own), mode="edge"), phases),
            bias=np.tile(np.pad(self.bias, (0, m - own)), phases),
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
        if m > own:
            interleaved = (*interleaved[:3], own)
            steps.append((Slice(begin=(0, 0, 0, 0), size=interleaved), interleaved))
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

    @property
    def _padded(self) -> int:
        """Return M, or more so that a phase has whole words, which move as they are."""
        return self.outputs if self.stride == (1, 1) else -(-self.outputs // 8) * 8

    def _phases(self, taps: tuple[int, int]) -> np.ndarray:
        """Return the filters of all phases, [phases * M, taps, taps, C]: the taps of a phase, the last one first."""
        (down, across), (_, _, _, channels), m = self.stride, self.filters.shape, self._padded
        padded = np.zeros((m, taps[0] * down, taps[1] * across, channels), self.filters.dtype)
        padded[: self.outputs, : self.kernel[0], : self.kernel[1]] = self.filters
        split = padded.reshape(m, taps[0], down, taps[1], across, channels)[:, ::-1, :, ::-1]
        return split.transpose(2, 4, 0, 1, 3, 5).reshape(-1, *taps, channels)

    # ---- Float operator ----

    @classmethod
    def shapes(cls, operation: Operation, inputs: list[Shape]) -> list[Shape]:
        source, weight = inputs[0], inputs[1]
        if len(weight) < 3 or len(source) != len(weight) or source[1] != weight[1]:
            raise InputError(f"filters of {times(weight)} do not go with {times(source)} values")
        return [(source[0], weight[0], *operation.integers("size"))]

    @classmethod
    def as_int8(cls, fold: Fold, made: Made, target: Target) -> Held:
        return deconvolved(fold, itself(made), target)

    # ---- C ----

    def to_c(self, node: Node, calls: Calls) -> None:
        window = Window(self.kernel, self.stride, (self.pads[0], 0, self.pads[1], 0))
        settings = window_fields(node.inputs[0], node.outputs[0], window, of_filters=True)
        settings |= self.weight_fields(node) | self.scaling_fields(node)
        calls.call(node, "transpose_conv", settings, node.inputs, node.outputs[0])


def _pads(to: tuple[int, int], kernel: Shape, stride: tuple[int, int], same: bool) -> tuple[int, int]:
    """Return the pads of a file. same: the forward convolution, whose input the output is, has padding SAME, else VALID

    Source: ComputePaddingHeightWidth in tensorflow/lite/kernels/padding.h, with the output as the image.
    """

    def pad(size: int, taps: int, step: int) -> int:
        count = -(-size // step) if same else int((size + step - taps) / step)  # the quotient is truncated
        return max((count - 1) * step + taps - size, 0) // 2

    top, left = map(pad, to, kernel, stride)
    return top, left


def deconvolved(fold: Fold, found: Affine[Made], target: Target) -> Held:
    """Return a transposed convolution, with the factors and offsets after it."""
    layer = found.source
    source, operation = fold.operand(layer.inputs[0]), layer.operation
    weights = weights_of(found, source)
    filters = weights.filters[:, :, None] if len(layer.shape) == 3 else weights.filters
    strides, pads, to = (_of_map(operation, *each) for each in (("strides", 1), ("pads", 0), ("size", 1)))
    if any(-(-taps // step) <= pad // step for taps, step, pad in zip(filters.shape[2:], strides, pads)):
        raise Unsupported(f"pads of {times(pads)} are larger than filters of {times(filters.shape)}")
    if max(*strides, *filters.shape[2:]) > MOST_TAPS:
        raise Unsupported(f"filters of {times(filters.shape)} with strides of {times(strides)}: at most {MOST_TAPS}")
    operator = TransposeConv(
        filters=filters.transpose(0, 2, 3, 1),
        scales=weights.scales,
        bias=weights.bias,
        activation=target.activation,
        stride=strides,
        pads=pads,
        to=to,
    )
    return on_map(fold, layer, source, operator, target)


def _of_map(operation: Operation, attribute: str, rows: int) -> tuple[int, int]:
    """Return an attribute of rows and columns. rows: its value if only columns exist"""
    down, across = (rows, *operation.integers(attribute))[-2:]
    return down, across


def _phase_outputs(size: int, kernel: int, step: int, to: int, pad: int) -> tuple[int, int, int, int]:
    """Return, along an axis, the outputs of a phase's convolution, its pads, and the pixels before the result when
    phases are interleaved."""
    taps, first = -(-kernel // step), pad // step
    before, behind = taps - 1 - first, max((to - 1 + pad) // step - size + 1, 0)
    return size + before + behind - taps + 1, before, behind, pad - first * step
