# SPDX-License-Identifier: Apache-2.0
"""Operators that run on the host: they have types other than int8, or need functions that the accelerator does not
have."""

from dataclasses import dataclass

import numpy as np

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
from eyrie.compiler.ir.tensor import Form, Quantized
from eyrie.model.errors import InputError
from eyrie.model.operators import host
from eyrie.model.operators.quantization import from_uint8, requantization, requantize, to_uint8


@dataclass(frozen=True, kw_only=True)
class Softmax(Operator):
    """SOFTMAX over the last axis. beta: a factor of the input"""

    name = "SOFTMAX"
    beta: float = 1.0

    def infer(self, inputs: Tensors) -> tuple[Form, ...]:
        (source,) = only(inputs)
        return int8(expect(source, "int8").shape)

    def check(self, inputs: Tensors, outputs: Tensors) -> None:
        (output,) = quantizations(*outputs)
        if output != host.SOFTMAX_OUTPUT:
            raise InputError(
                f"its output has scale {output.scale:g} and zero point {output.zero_point}, "
                f"must be {host.SOFTMAX_OUTPUT.scale:g} and {host.SOFTMAX_OUTPUT.zero_point}"
            )
        if not 0 < self.beta < np.inf:
            raise InputError(f"beta is positive and finite, got {self.beta:g}")
        host.softmax(np.zeros(1, np.int8), quantized(inputs[0]).quantization, self.beta)

    def run(self, values: Arrays, inputs: Tensors, outputs: Tensors) -> Arrays:
        return (host.softmax(values[0], quantized(inputs[0]).quantization, self.beta),)


@dataclass(frozen=True, kw_only=True)
class ArgMax(Operator):
    """ARG_MAX. dtype: of the result, int32 or int64"""

    name = "ARG_MAX"
    axis: int
    dtype: str

    def infer(self, inputs: Tensors) -> tuple[Form, ...]:
        (source,) = only(inputs)
        shape = expect(source, "int8").shape
        axis = axis_of(self.axis, len(shape))
        return (Form(self.dtype, shape[:axis] + shape[axis + 1 :]),)

    def run(self, values: Arrays, inputs: Tensors, outputs: Tensors) -> Arrays:
        return (np.asarray(host.arg_max(values[0], self.axis), self.dtype),)

    def elements(self, inputs: Tensors, outputs: Tensors) -> int:
        return inputs[0].size


@dataclass(frozen=True, kw_only=True)
class ResizeBilinear(Operator):
    """RESIZE_BILINEAR. size: rows, columns of the result"""

    name = "RESIZE_BILINEAR"
    size: tuple[int, int]
    align_corners: bool = False
    half_pixel_centers: bool = False

    def infer(self, inputs: Tensors) -> tuple[Form, ...]:
        (source,) = only(inputs)
        batch, _, _, channels = expect(source, "int8", 4).shape
        rows, columns = self.size
        return int8((batch, rows, columns, channels))

    def check(self, inputs: Tensors, outputs: Tensors) -> None:
        check_same(*inputs, *outputs)

    def run(self, values: Arrays, inputs: Tensors, outputs: Tensors) -> Arrays:
        unsigned = isinstance(inputs[0], Quantized) and inputs[0].unsigned
        if unsigned:
            made = host.resize_bilinear_uint8(
                to_uint8(values[0]), self.size, self.align_corners, self.half_pixel_centers
            )
            return (from_uint8(made),)
        return (host.resize_bilinear(values[0], self.size, self.align_corners, self.half_pixel_centers),)

    def elements(self, inputs: Tensors, outputs: Tensors) -> int:
        return 4 * outputs[0].size


@dataclass(frozen=True, kw_only=True)
class Quantize(Operator):
    """QUANTIZE from float32 to int8."""

    name = "QUANTIZE"

    def infer(self, inputs: Tensors) -> tuple[Form, ...]:
        (source,) = only(inputs)
        return int8(expect(source, "float32").shape)

    def check(self, inputs: Tensors, outputs: Tensors) -> None:
        quantizations(*outputs)

    def run(self, values: Arrays, inputs: Tensors, outputs: Tensors) -> Arrays:
        return (host.quantize(values[0], *quantizations(*outputs)),)


@dataclass(frozen=True, kw_only=True)
class QuantizeInt32(Operator):
    """QUANTIZE from int32 of one scale to int8 of another."""

    name = "QUANTIZE"

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


@dataclass(frozen=True, kw_only=True)
class Dequantize(Operator):
    """DEQUANTIZE from int8 to float32."""

    name = "DEQUANTIZE"

    def infer(self, inputs: Tensors) -> tuple[Form, ...]:
        (source,) = only(inputs)
        return (Form("float32", expect(source, "int8").shape),)

    def check(self, inputs: Tensors, outputs: Tensors) -> None:
        quantizations(*inputs)

    def run(self, values: Arrays, inputs: Tensors, outputs: Tensors) -> Arrays:
        return (host.dequantize(values[0], *quantizations(*inputs)),)
