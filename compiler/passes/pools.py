# SPDX-License-Identifier: Apache-2.0
"""Averages, maxima and means as elementwise operations on windows, or as sums of the array."""

from collections.abc import Mapping
from math import prod

import numpy as np

from eyrie.compiler.ir.elementwise import Elementwise, Loop
from eyrie.compiler.ir.graph import Node, map_shape
from eyrie.compiler.ir.layer import OFFSET_ZERO_POINT, Convolution, Map, Output, Table, Window, window_of
from eyrie.compiler.ir.operators.operator import axis_of, quantizations, quantized
from eyrie.compiler.ir.operators.pooling import AveragePool2D, Mean, Pool
from eyrie.compiler.ir.word_operation import average_of_window, largest_of_window, sum_of_window
from eyrie.model.encoding import Axis
from eyrie.model.errors import InputError
from eyrie.model.operators.pooling import mean_requantization
from eyrie.model.operators.quantization import INT8_MIN, Requantization, activation_range

# Largest number of pixels with an exact average. A multiplier is up to 2^-31 too large; a pixel adds up to 128, or 255.
MOST_AVERAGED = 2896
MOST_AVERAGED_UP = 2052


def pool_group(node: Node, operator: Pool, maps: Mapping[str, Map]) -> Elementwise:
    """Return the fused operator of a pool."""
    source, output, window = maps[node.inputs[0].name], maps[node.outputs[0].name], window_of(operator)
    minimum, maximum = activation_range(operator.activation, output.quantization)
    if isinstance(operator, AveragePool2D):
        counts = pixels_inside(source.shape[:2], window)
        operation, outside = average_of_window(counts, window.taps, minimum, maximum, operator.unsigned), 0
    else:
        operation, outside = largest_of_window(window.taps, minimum, maximum), INT8_MIN
    return Elementwise(
        name=node.where, source=source, output=output, window=window, outside=outside, epilogue=(operation,)
    )


def pixels_inside(shape: tuple[int, int], window: Window) -> np.ndarray:
    """Return int [E, F]: the number of pixels of each window that are on a map of [H, W]."""
    counts = []
    for axis, size in enumerate(shape):
        before, after = window.pads[2 * axis : 2 * axis + 2]
        taps, stride = window.kernel[axis], window.stride[axis]
        starts = np.arange(0, size + before + after - taps + 1, stride) - before
        counts.append(np.maximum(np.minimum(starts + taps, size) - np.maximum(starts, 0), 0))
    return np.outer(*counts)


# ---- Means ----


def mean_group(node: Node, operator: Mean, maps: Mapping[str, Map]) -> Elementwise | Convolution:
    """Return the fused operator of a mean: a sum of windows for rows and columns, a convolution with a filter of ones
    if it includes channels.

    Raise InputError for other means.
    """
    source, output = maps[node.inputs[0].name], maps[node.outputs[0].name]
    kernel = _kernel(operator, node.inputs[0].shape)
    window = Window(kernel[:2], stride=kernel[:2])
    scaling, zero_point = _scaling(node), quantized(node.inputs[0]).zero_point
    made = tuple(size // over for size, over in zip(source.shape, kernel))
    if kernel[2] > 1:
        if made != output.shape:
            raise InputError("channels that become columns")
        offset = 0 if zero_point == OFFSET_ZERO_POINT else zero_point  # the array's values are q less the rest
        table = Table(
            np.full(1, -offset * prod(kernel), np.int32),
            np.full(1, scaling.multiplier, np.int32),
            np.full(1, scaling.shift, np.int8),
            Output(scaling.zero_point),
        )
        filters = np.ones((1, *kernel), np.int8)
        return Convolution(name=node.where, source=source, output=output, window=window, filters=filters, table=table)
    turned = made != output.shape  # a column of means is a row
    if turned and (made[1] != 1 or (1, made[0], made[2]) != output.shape):
        raise InputError("pixels that become channels")
    walk = (Loop(source.shape[0], Axis.ROW, 1),) if turned else ()
    epilogue = (sum_of_window(prod(kernel), zero_point, scaling),)
    return Elementwise(name=node.where, source=source, output=output, window=window, walk=walk, epilogue=epilogue)


def _kernel(operator: Mean, source: tuple[int, ...]) -> tuple[int, int, int]:
    """Return the rows, columns and channels that a mean is over. source: shape of the tensor"""
    gone = {axis_of(axis, len(source)) - len(source) for axis in operator.axes}
    rows, cols, channels = (size if axis in gone else 1 for axis, size in zip((-3, -2, -1), map_shape(source)))
    return rows, cols, channels


def _scaling(node: Node) -> Requantization:
    source, output = quantizations(*node.inputs, *node.outputs)
    return mean_requantization(source, output, node.inputs[0].size // node.outputs[0].size)
