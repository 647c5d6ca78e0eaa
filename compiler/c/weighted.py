# SPDX-License-Identifier: Apache-2.0
"""Lowering of CONV_2D, DEPTHWISE_CONV_2D and FULLY_CONNECTED."""

import numpy as np

from eyrie.compiler.c.scales import INT8, limits, range_of, scale_of, scalings, zero_point_of
from eyrie.compiler.c.steps import Calls, Fields
from eyrie.compiler.ir.failure import Unsupported
from eyrie.compiler.ir.graph import Node, operator_of
from eyrie.compiler.ir.operators.convolution import Conv2D, DepthwiseConv2D, FullyConnected, Weighted, Windowed

INT32 = (-(2**31), 2**31 - 1)


def conv_2d(node: Node, calls: Calls) -> None:
    operator = operator_of(node, Conv2D)
    channels = node.inputs[0].shape[3]
    groups = channels // operator.filters.shape[3]
    settings = _window(node, operator) | Fields(groups=groups) | _weights(node, operator, 0) | _rescaled(node, operator)
    calls.call(node, "conv_2d", settings, node.inputs, node.outputs[0])


def depthwise_conv_2d(node: Node, calls: Calls) -> None:
    operator = operator_of(node, DepthwiseConv2D)
    settings = _window(node, operator) | _weights(node, operator, 2) | _rescaled(node, operator)
    calls.call(node, "depthwise_conv_2d", settings, node.inputs, node.outputs[0])


def fully_connected(node: Node, calls: Calls) -> None:
    operator = operator_of(node, FullyConnected)
    outputs, channels = operator.filters.shape
    settings = Fields(N=node.inputs[0].size // channels, C=channels, M=outputs) | _weights(node, operator, 0)
    if operator.unsigned:
        settings |= {
            "factors": _factors(node, operator),
            "zero_point": zero_point_of(node.outputs[0]),
            **limits(node.outputs[0], operator.activation),
        }
        calls.call(node, "fully_connected_once", settings, node.inputs, node.outputs[0])
    else:
        calls.call(node, "fully_connected", settings | _rescaled(node, operator), node.inputs, node.outputs[0])


def _window(node: Node, operator: Windowed) -> Fields:
    (batch, height, width, channels), (_, rows, columns, outputs) = node.inputs[0].shape, node.outputs[0].shape
    return {
        "N": batch,
        "H": height,
        "W": width,
        "C": channels,
        "E": rows,
        "F": columns,
        "M": outputs,
        "R": operator.kernel[0],
        "S": operator.kernel[1],
        "stride": tuple(operator.stride),
        "dilation": tuple(operator.dilation),
        "top": operator.pads[0],
        "left": operator.pads[2],
    }


def _weights(node: Node, operator: Weighted, axis: int) -> Fields:
    """Return the fields of filters and bias. axis: of the outputs in the filters

    Filters that do not fit int8 are uint8 and have a zero point.
    """
    filters, zero_point = operator.filters, 0
    _check_sums(node, operator, axis)
    if filters.dtype != np.int8:
        zero_point = INT8[0] - int(filters.min())
        filters = (filters + zero_point).astype(np.int8)
    return {
        "input_zero_point": zero_point_of(node.inputs[0]),
        "filter_zero_point": zero_point,
        "filters": filters,
        "bias": operator.bias,
    }


def _check_sums(node: Node, operator: Weighted, axis: int) -> None:
    """Raise Unsupported if a sum, or a partial sum, could overflow int32."""
    filters = np.moveaxis(operator.filters, axis, 0).reshape(operator.outputs, -1).astype(np.int64)
    ends = [end - zero_point_of(node.inputs[0]) for end in INT8]
    products = np.sort([filters * end for end in ends], axis=0)
    least, most = np.minimum(products[0], 0).sum(axis=1), np.maximum(products[1], 0).sum(axis=1)
    bias = operator.bias.astype(np.int64)
    outside = np.flatnonzero((bias + least < INT32[0]) | (bias + most > INT32[1]))
    if len(outside):
        raise Unsupported(
            f"{node.place}: sums of output {outside[0]} can leave int32",
            layer=node.where,
            remedy="quantise the model again, with a smaller bias",
        )


def _rescaled(node: Node, operator: Weighted) -> Fields:
    return scalings(_factors(node, operator)) | range_of(node.outputs[0], operator.activation)


def _factors(node: Node, operator: Weighted) -> np.ndarray:
    """Return the factors of the sums, double [M]. A convolution of uint8 multiplies its scales in float32."""
    input_, filters, output = scale_of(node.inputs[0]), operator.scales, scale_of(node.outputs[0])
    if operator.unsigned and isinstance(operator, Windowed):
        products = (np.float32(input_) * filters.astype(np.float32)).astype(np.float64)
    else:
        products = input_ * filters.astype(np.float64)
    return np.broadcast_to(products / output, operator.outputs)


LOWERINGS = {Conv2D: conv_2d, DepthwiseConv2D: depthwise_conv_2d, FullyConnected: fully_connected}
