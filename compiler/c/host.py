# SPDX-License-Identifier: Apache-2.0
"""Lowering of SOFTMAX, ARG_MAX, RESIZE_BILINEAR, and conversions of float and int32 to and from int8."""

from math import prod

import numpy as np

from eyrie.compiler.c.scales import range_of, scale_of, scaling, to_integer_bits, zero_point_of
from eyrie.compiler.c.steps import Calls, Fields
from eyrie.compiler.ir.failure import Unsupported
from eyrie.compiler.ir.graph import Node, operator_of
from eyrie.compiler.ir.operators.host import ArgMax, Dequantize, Quantize, QuantizeInt32, ResizeBilinear, Softmax
from eyrie.compiler.ir.operators.operator import quantized

_MOST_ADDED = 4095  # exponentials whose sum fits int32 with 12 integer bits
_LARGEST_FACTOR = 2.0**31 - 1


def softmax(node: Node, calls: Calls) -> None:
    (source,) = node.inputs
    length = source.shape[-1]
    if length > _MOST_ADDED:
        raise Unsupported(
            f"{node.place}: is over {length:,} values",
            layer=node.where,
            demand=length,
            bound=_MOST_ADDED,
            remedy=f"have at most {_MOST_ADDED:,}",
        )
    factor = min(float(np.float32(operator_of(node, Softmax).beta)) * scale_of(source) * 2.0**26, _LARGEST_FACTOR)
    multiplier, shift, radius = to_integer_bits(factor / 2.0**26, 5)
    settings: Fields = {
        "rows": source.size // length,
        "length": length,
        "lowest": -radius,
        "multiplier": multiplier,
        "shift": shift,
    }
    calls.call(node, "softmax", settings, node.inputs, node.outputs[0])


def arg_max(node: Node, calls: Calls) -> None:
    operator, shape = operator_of(node, ArgMax), node.inputs[0].shape
    axis = operator.axis % len(shape)
    settings: Fields = {"outer": prod(shape[:axis]), "count": shape[axis], "inner": prod(shape[axis + 1 :])}
    calls.call(node, f"arg_max_{operator.dtype}", settings, node.inputs, node.outputs[0])


def resize_bilinear(node: Node, calls: Calls) -> None:
    operator = operator_of(node, ResizeBilinear)
    batch, height, width, channels = node.inputs[0].shape
    rows, columns = operator.size
    settings: Fields = {"N": batch, "H": height, "W": width, "C": channels, "E": rows, "F": columns}
    unsigned = quantized(node.inputs[0]).unsigned
    for name, size, wanted in (("row_scale", height, rows), ("column_scale", width, columns)):
        aligned = int(operator.align_corners and wanted > 1)
        size, wanted = size - aligned, wanted - aligned
        settings[name] = np.float32(size) / np.float32(wanted) if unsigned else (1024 * size + wanted // 2) // wanted
    settings["half_pixel_centers"] = int(operator.half_pixel_centers)
    calls.call(node, "resize_bilinear_float" if unsigned else "resize_bilinear", settings, node.inputs, node.outputs[0])


def quantize(node: Node, calls: Calls) -> None:
    (output,) = node.outputs
    settings: Fields = {
        "count": output.size,
        "scale": np.float32(scale_of(output)),
        "zero_point": zero_point_of(output),
    }
    calls.call(node, "quantize_float", settings, node.inputs, output)


def quantize_int32(node: Node, calls: Calls) -> None:
    (source,), (output,) = node.inputs, node.outputs
    settings: Fields = {"count": output.size, **scaling(scale_of(source) / scale_of(output)), **range_of(output)}
    calls.call(node, "quantize_int32", settings, node.inputs, output)


def dequantize(node: Node, calls: Calls) -> None:
    (source,) = node.inputs
    settings: Fields = {
        "count": source.size,
        "zero_point": zero_point_of(source),
        "scale": np.float32(scale_of(source)),
    }
    calls.call(node, "dequantize", settings, node.inputs, node.outputs[0])


LOWERINGS = {
    Softmax: softmax,
    ArgMax: arg_max,
    ResizeBilinear: resize_bilinear,
    Quantize: quantize,
    QuantizeInt32: quantize_int32,
    Dequantize: dequantize,
}
