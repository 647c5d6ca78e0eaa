# SPDX-License-Identifier: Apache-2.0
"""Lowering of AVERAGE_POOL_2D, MAX_POOL_2D and MEAN."""

import numpy as np

from eyrie.compiler.c.axes import Walk, dense
from eyrie.compiler.c.scales import limits, mean_scaling, range_of, scale_of, zero_point_of
from eyrie.compiler.c.steps import Calls, Fields
from eyrie.compiler.ir.failure import Unsupported
from eyrie.compiler.ir.graph import Node, operator_of
from eyrie.compiler.ir.operators.pooling import AveragePool2D, MaxPool2D, Mean, Pool

_MOST_AVERAGED = 2**23  # values of int8, less a zero point or more an offset, whose sum fits int32


def average_pool_2d(node: Node, calls: Calls) -> None:
    offset = 128 if operator_of(node, Pool).unsigned else 0
    _check_windows(node)
    calls.call(
        node, "average_pool_2d", _window(node) | Fields(offset=offset) | _limits(node), node.inputs, node.outputs[0]
    )


def _check_windows(node: Node) -> None:
    """Raise Unsupported if a window has no value to average, or too many."""
    (_, height, width, _), (_, rows, columns, _) = node.inputs[0].shape, node.outputs[0].shape
    operator = operator_of(node, Pool)
    for size, count, kernel, stride, pad in zip(
        (height, width), (rows, columns), operator.kernel, operator.stride, operator.pads[::2]
    ):
        if pad >= kernel or (count - 1) * stride - pad >= size:
            raise Unsupported(
                f"{node.place}: pads leave a window without a pixel", layer=node.where, remedy="convert the model again"
            )
    _check_count(node, min(height, operator.kernel[0]) * min(width, operator.kernel[1]))


def max_pool_2d(node: Node, calls: Calls) -> None:
    calls.call(node, "max_pool_2d", _window(node) | _limits(node), node.inputs, node.outputs[0])


def _window(node: Node) -> Fields:
    operator = operator_of(node, Pool)
    (batch, height, width, channels), (_, rows, columns, _) = node.inputs[0].shape, node.outputs[0].shape
    return {
        "N": batch,
        "H": height,
        "W": width,
        "C": channels,
        "E": rows,
        "F": columns,
        "R": operator.kernel[0],
        "S": operator.kernel[1],
        "stride": tuple(operator.stride),
        "top": operator.pads[0],
        "left": operator.pads[2],
    }


def _limits(node: Node) -> Fields:
    return limits(node.outputs[0], operator_of(node, Pool).activation)


def mean(node: Node, calls: Calls) -> None:
    (source,), (output,) = node.inputs, node.outputs
    rank = len(source.shape)
    averaged = sorted({axis % rank for axis in operator_of(node, Mean).axes})
    walks = [_along(source.shape, axes) for axes in ([axis for axis in range(rank) if axis not in averaged], averaged)]
    kept, gone = walks
    _check_count(node, gone.count)
    settings: Fields = {"outputs": kept.count, "count": gone.count}
    for name, walk in (("kept", kept), ("averaged", gone)):
        settings |= {
            f"{name}_axes": len(walk.sizes),
            f"{name}_sizes": np.array(walk.sizes, np.int32),
            f"{name}_strides": np.array(walk.strides[0], np.int32),
        }
    settings["input_zero_point"] = zero_point_of(source)
    settings |= mean_scaling(scale_of(source) / scale_of(output), gone.count) | range_of(output)
    calls.call(node, "mean", settings, node.inputs, output)


def _check_count(node: Node, count: int) -> None:
    """Raise Unsupported if the sum of so many values could overflow int32."""
    if count > _MOST_AVERAGED:
        raise Unsupported(
            f"{node.place}: a mean of {count:,} values",
            layer=node.where,
            demand=count,
            bound=_MOST_AVERAGED,
            remedy=f"average at most {_MOST_AVERAGED:,}",
        )


def _along(shape: tuple[int, ...], axes: list[int]) -> Walk:
    steps = dense(shape)
    return Walk(tuple(shape[axis] for axis in axes), (tuple(steps[axis] for axis in axes),)).merged()


LOWERINGS = {AveragePool2D: average_pool_2d, MaxPool2D: max_pool_2d, Mean: mean}
