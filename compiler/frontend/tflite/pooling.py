# SPDX-License-Identifier: Apache-2.0
"""AVERAGE_POOL_2D, MAX_POOL_2D and MEAN."""

from eyrie.compiler.frontend.tflite.reader import Call
from eyrie.compiler.ir.operators.operator import Operator
from eyrie.compiler.ir.operators.pooling import AveragePool2D, MaxPool2D, Mean, Pool
from eyrie.compiler.ir.tensor import Tensor

Imported = tuple[tuple[Tensor, ...], Operator]


def _pool(kind: type[Pool]):
    def make(call: Call) -> Imported:
        source, options = call.quantized(0), call.options
        call.quantized_output()
        kernel = int(options.filterHeight), int(options.filterWidth)
        return (source,), kind(kernel=kernel, **call.window(kernel), activation=call.fused(), unsigned=call.unsigned)

    return make


def mean(call: Call) -> Imported:
    source = call.quantized(0)
    call.quantized_output()
    return (source,), Mean(axes=call.integers(1), keep_axes=bool(call.options.keepDims))


OPERATORS = {"AVERAGE_POOL_2D": _pool(AveragePool2D), "MAX_POOL_2D": _pool(MaxPool2D), "MEAN": mean}
