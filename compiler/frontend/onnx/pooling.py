# SPDX-License-Identifier: Apache-2.0
"""Translators of pools, means and Softmax."""

from eyrie.compiler.frontend.onnx.call import Call
from eyrie.compiler.frontend.onnx.windows import window
from eyrie.compiler.frontend.qdq import Operation
from eyrie.compiler.ir.failure import Unsupported


def max_pool(call: Call) -> list[Operation]:
    if len([name for name in call.outputs if name]) > 1:
        raise Unsupported("its indices are used")
    if call.whole("storage_order", 0):
        raise Unsupported("it goes through columns first")
    kernel = call.wholes("kernel_shape")
    attributes = window(call, kernel, call.shape(0))
    return [call.make("max_pool", None, call.outputs[:1], kernel=kernel, **attributes)]


def average_pool(
    call: Call, inputs: tuple[str, ...] | None = None, outputs: tuple[str, ...] | None = None
) -> list[Operation]:
    kernel = call.wholes("kernel_shape")
    attributes, counted = window(call, kernel, call.shape(0)), bool(call.whole("count_include_pad", 0))
    if set(attributes["dilations"]) != {1}:
        raise Unsupported("its window has dilations")
    if counted and call.whole("ceil_mode", 0):
        raise Unsupported("it counts pads, and has windows that leave the map")
    return [call.make("average_pool", inputs, outputs, kernel=kernel, count_pads=counted, **attributes)]


def global_average(call: Call) -> list[Operation]:
    return [call.make("mean", axes=tuple(range(2, len(call.shape(0)))), keep=True)]


def global_max(call: Call) -> list[Operation]:
    return [call.make("max_pool", kernel=call.shape(0)[2:])]


def reduce_mean(call: Call) -> list[Operation]:
    listed = call.lists("axes", 1)
    if not listed and call.whole("noop_with_empty_axes", 0):
        return [call.make("identity", call.inputs[:1])]
    axes = call.listed("axes", 1) if listed else tuple(range(len(call.shape(0))))
    return [call.make("mean", call.inputs[:1], axes=axes, keep=bool(call.whole("keepdims", 1)))]


def softmax(call: Call) -> list[Operation]:
    return [call.make("softmax", axis=softmax_axis(call, call.version))]


def softmax_axis(call: Call, version: int) -> int:
    """Return the axis of Softmax. Before version 13, Softmax works on all axes from this one on."""
    rank = len(call.shape(0))
    axis = call.whole("axis", -1 if version >= 13 else 1) % rank
    if version < 13 and any(size > 1 for size in call.shape(0)[axis + 1 :]):
        raise Unsupported("it is over several axes")
    return axis


OPERATORS = {
    "MaxPool": max_pool,
    "AveragePool": average_pool,
    "GlobalAveragePool": global_average,
    "GlobalMaxPool": global_max,
    "ReduceMean": reduce_mean,
    "Softmax": softmax,
}
