# SPDX-License-Identifier: Apache-2.0
"""Importers of CONV_2D, DEPTHWISE_CONV_2D and FULLY_CONNECTED."""

from dataclasses import dataclass

import numpy as np

from eyrie.compiler.frontend.file import ModelImportError
from eyrie.compiler.frontend.tflite.reader import Call, Imported, Importer
from eyrie.compiler.ir.failure import Unsupported
from eyrie.compiler.ir.graph import REMEDY
from eyrie.compiler.ir.operators.convolution import Conv2D, DepthwiseConv2D, FullyConnected
from eyrie.model.messages import times

UINT8_MAX = 255


def conv_2d(call: Call) -> Imported:
    source, filters = call.quantized(0), _filters(call, 4)
    dilation = _dilation(call)
    stride, pads = call.window(filters.shape[1:3], dilation)
    weights = _weights(call, filters, len(filters))
    return (source,), Conv2D(
        filters=weights.filters,
        scales=weights.scales,
        bias=weights.bias,
        activation=weights.activation,
        unsigned=call.unsigned,
        stride=stride,
        dilation=dilation,
        pads=pads,
    )


def depthwise_conv_2d(call: Call) -> Imported:
    """Import DEPTHWISE_CONV_2D. The shape of the filters gives the depth multiplier, so its option is ignored."""
    source, filters = call.quantized(0), _filters(call, 4)
    if filters.shape[0] != 1:
        raise ModelImportError(f"filters of {times(filters.shape)}, must be 1 x R x S x M", remedy=REMEDY)
    dilation = _dilation(call)
    stride, pads = call.window(filters.shape[1:3], dilation)
    weights = _weights(call, filters, filters.shape[3])
    return (source,), DepthwiseConv2D(
        filters=weights.filters[0],
        scales=weights.scales,
        bias=weights.bias,
        activation=weights.activation,
        unsigned=call.unsigned,
        stride=stride,
        dilation=dilation,
        pads=pads,
    )


def fully_connected(call: Call) -> Imported:
    source, filters = call.quantized(0), _filters(call, 2)
    if call.option("weightsFormat", 0):
        raise Unsupported("its filters are shuffled")
    keep = bool(call.option("keepNumDims", 0))
    weights = _weights(call, filters, len(filters))
    return (source,), FullyConnected(
        filters=weights.filters,
        scales=weights.scales,
        bias=weights.bias,
        activation=weights.activation,
        unsigned=call.unsigned,
        keep_axes=keep,
    )


def _dilation(call: Call) -> tuple[int, int]:
    return call.option("dilationHFactor"), call.option("dilationWFactor")


def _filters(call: Call, axes: int) -> np.ndarray:
    """Return the filters as the file has them. Raise Unsupported for other types, ModelImportError for a wrong
    shape."""
    call.quantized_output()
    filters = call.constant(1)
    if filters.dtype != (np.uint8 if call.unsigned else np.int8):
        raise Unsupported(f"filters are {filters.dtype}, not {'uint8' if call.unsigned else 'int8'}")
    if filters.ndim != axes:
        raise ModelImportError(f"filters of {times(filters.shape)}, must have {axes} axes", remedy=REMEDY)
    return filters


@dataclass(frozen=True, eq=False)
class _Weights:
    """The parameters of all operators with weights. activation: the fused activation"""

    filters: np.ndarray
    scales: np.ndarray
    bias: np.ndarray
    activation: str


def _weights(call: Call, filters: np.ndarray, outputs: int) -> _Weights:
    scales, zero_points = call.reader.scales(call.inputs[1], outputs)
    if call.unsigned:
        filters = _without_zero_point(filters, zero_points)
    elif zero_points.any():
        raise Unsupported("filters with a zero point: quantise them symmetrically")
    return _Weights(filters, scales, _bias(call, outputs), call.fused())


def _without_zero_point(filters: np.ndarray, zero_points: np.ndarray) -> np.ndarray:
    """Return uint8 filters less their zero point: int8 if all fit, else int16."""
    zero_point, *others = sorted({0} if not len(zero_points) else set(zero_points.tolist()))
    if others:
        raise Unsupported("uint8 filters with a zero point of each channel: quantise them with one")
    if not 0 <= zero_point <= UINT8_MAX:
        raise ModelImportError(f"uint8 filters with zero point {zero_point}, must be 0 to {UINT8_MAX}", remedy=REMEDY)
    centred = filters.astype(np.int16) - np.int16(zero_point)
    narrow = centred.astype(np.int8)
    return narrow if (narrow == centred).all() else centred


def _bias(call: Call, outputs: int) -> np.ndarray:
    if not call.has(2):
        return np.zeros(outputs, np.int32)
    bias = call.constant(2)
    if bias.dtype != np.int32:
        raise Unsupported(f"its bias is {bias.dtype}, not int32")
    if bias.size != outputs:
        raise ModelImportError(f"{bias.size} biases for {outputs} channels", remedy=REMEDY)
    return bias.reshape(outputs)


OPERATORS: dict[str, Importer] = {
    "CONV_2D": conv_2d,
    "DEPTHWISE_CONV_2D": depthwise_conv_2d,
    "FULLY_CONNECTED": fully_connected,
}
