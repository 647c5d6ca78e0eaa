# SPDX-License-Identifier: Apache-2.0
"""Importers of SOFTMAX, ARG_MAX, RESIZE_BILINEAR, QUANTIZE and DEQUANTIZE."""

from eyrie.compiler.frontend.file import ModelImportError
from eyrie.compiler.frontend.tflite.movement import resized_to
from eyrie.compiler.frontend.tflite.reader import TYPES, Call, Imported, Importer
from eyrie.compiler.ir.failure import Unsupported
from eyrie.compiler.ir.graph import REMEDY
from eyrie.compiler.ir.operators.host import ArgMax, Dequantize, Quantize, QuantizeInt32, ResizeBilinear, Softmax
from eyrie.compiler.ir.operators.tables import Requantize
from eyrie.compiler.ir.tensor import Quantized, Tensor


def softmax(call: Call) -> Imported:
    source = call.quantized(0)
    call.quantized_output()
    return (source,), Softmax(beta=call.number("beta"))


def arg_max(call: Call) -> Imported:
    axes = call.integers(1)
    if len(axes) != 1:
        raise ModelImportError(f"{len(axes)} axes, must be one", remedy=REMEDY)
    kind = TYPES.get(call.option("outputType"), "")
    if kind not in ("int32", "int64"):
        raise Unsupported(f"its output is {kind}, not int32 or int64")
    return (_int8(call),), ArgMax(axis=axes[0], dtype=kind)


def resize_bilinear(call: Call) -> Imported:
    call.quantized_output()
    source, (size, align_corners, half_pixel_centers) = call.quantized(0), resized_to(call)
    return (source,), ResizeBilinear(size=size, align_corners=align_corners, half_pixel_centers=half_pixel_centers)


def quantize(call: Call) -> Imported:
    """Import QUANTIZE from float32, int32, or another scale."""
    source = call.tensor(0)
    call.quantized_output()
    if source.dtype == "float32":
        return (source,), Quantize()
    if source.dtype == "int32" and isinstance(source, Quantized):
        return (source,), QuantizeInt32()
    return (_int8(call),), Requantize(unsigned=call.unsigned)


def dequantize(call: Call) -> Imported:
    return (_int8(call),), Dequantize()


def _int8(call: Call) -> Tensor:
    """Return the input, which must be int8 or uint8; the output may have another type."""
    source = call.tensor(0)
    if source.dtype != "int8" or not isinstance(source, Quantized):
        raise Unsupported(f"its input is {source.dtype}, not int8 with a scale")
    return source


OPERATORS: dict[str, Importer] = {
    "SOFTMAX": softmax,
    "ARG_MAX": arg_max,
    "RESIZE_BILINEAR": resize_bilinear,
    "QUANTIZE": quantize,
    "DEQUANTIZE": dequantize,
}
