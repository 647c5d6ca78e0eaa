# SPDX-License-Identifier: Apache-2.0
"""Averages, maxima and means as operations on the words of windows."""

from collections.abc import Mapping

import numpy as np

from compiler.ir.elementwise import Elementwise, Loop
from compiler.ir.graph import Node
from compiler.ir.layer import Map, Window
from compiler.ir.operators.operator import axis_of, quantizations
from compiler.ir.operators.pooling import AveragePool2D, Mean, Pool
from compiler.ir.word_operation import WordOperation, average_of_window, largest_of_window, sum_of_window
from model.encoding import Axis
from model.operators.pooling import mean_requantization
from model.operators.quantization import INT8_MIN, activation_range

# Pixels of which an average is exact: a multiplier is up to 2^-31 too large, of sums up to 128 a pixel, or 255.
MOST_AVERAGED = 2896
MOST_AVERAGED_UP = 2052


def pool_group(node: Node, maps: Mapping[str, Map]) -> Elementwise:
    """Of an operator whose axes are a map's rows and columns (constraints.py)."""
    source, output = maps[node.inputs[0].name], maps[node.outputs[0].name]
    shared = {"name": node.where, "source": source, "output": output}
    if isinstance(node.operator, Mean):
        kernel = mean_kernel(node)
        turned = source.shape[0] // kernel[0] != output.shape[0]  # a column of means is a row
        walk = (Loop(source.shape[0], Axis.ROW, 1),) if turned else ()
        return Elementwise(**shared, window=Window(kernel, stride=kernel), walk=walk, epilogue=(_mean(node),))
    operator = node.operator
    window, clamp = _window(operator), activation_range(operator.activation, node.outputs[0].quantization)
    if isinstance(operator, AveragePool2D):
        counts = pixels_inside(source.shape[:2], window)
        operation, outside = average_of_window(counts, window.taps, *clamp, operator.unsigned), 0
    else:
        operation, outside = largest_of_window(window.taps, *clamp), INT8_MIN
    return Elementwise(**shared, window=window, outside=outside, epilogue=(operation,))


def _window(pool: Pool) -> Window:
    return Window(pool.kernel, pool.stride, pool.pads)


def pixels_inside(shape: tuple[int, int], window: Window) -> np.ndarray:
    """int [E, F]: how many pixels of each window are on a map of [H, W]."""
    counts = []
    for axis, size in enumerate(shape):
        before, after = window.pads[2 * axis : 2 * axis + 2]
        taps, stride = window.kernel[axis], window.stride[axis]
        starts = np.arange(0, size + before + after - taps + 1, stride) - before
        counts.append(np.maximum(np.minimum(starts + taps, size) - np.maximum(starts, 0), 0))
    return np.outer(*counts)


def mean_kernel(node: Node) -> tuple[int, int]:
    """Rows and columns of a map that a MEAN is over. Raises ValueError where it is over other axes."""
    source = node.inputs[0].shape
    gone = {axis_of(axis, len(source)) - len(source) for axis in node.operator.axes if source[axis] > 1}
    if not gone <= {-3, -2}:
        raise ValueError("channels")
    rows, cols = (1, *source)[-3:-1]
    return (rows if -3 in gone else 1), (cols if -2 in gone else 1)


def _mean(node: Node) -> WordOperation:
    input_, output = quantizations(*node.inputs, *node.outputs)
    rows, cols = mean_kernel(node)
    return sum_of_window(rows * cols, input_.zero_point, mean_requantization(input_, output, _count(node)))


def _count(node: Node) -> int:
    return node.inputs[0].size // node.outputs[0].size
