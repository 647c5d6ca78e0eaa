# SPDX-License-Identifier: Apache-2.0
"""Importers of AVERAGE_POOL_2D, MAX_POOL_2D and MEAN."""

from eyrie.compiler.frontend.tflite.reader import Call, Imported, Importer
from eyrie.compiler.ir.operators.pooling import AveragePool2D, MaxPool2D, Mean, Pool


def _pool(kind: type[Pool]) -> Importer:
    def make(call: Call) -> Imported:
        source = call.quantized(0)
        call.quantized_output()
        kernel = call.option("filterHeight"), call.option("filterWidth")
        stride, pads = call.window(kernel)
        return (source,), kind(kernel=kernel, stride=stride, pads=pads, activation=call.fused(), unsigned=call.unsigned)

    return make


def mean(call: Call) -> Imported:
    source = call.quantized(0)
    call.quantized_output()
    return (source,), Mean(axes=call.integers(1), keep_axes=bool(call.option("keepDims")))


OPERATORS: dict[str, Importer] = {
    "AVERAGE_POOL_2D": _pool(AveragePool2D),
    "MAX_POOL_2D": _pool(MaxPool2D),
    "MEAN": mean,
}
