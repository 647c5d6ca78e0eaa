# SPDX-License-Identifier: Apache-2.0
"""Options and constant inputs of the operators that need no other parts in a file."""

from functools import singledispatch

import numpy as np
from ai_edge_litert import schema_py_generated as schema
from numpy.typing import ArrayLike

from eyrie.compiler.ir.failure import Unsupported
from eyrie.compiler.ir.operators import elementwise, host, movement, pooling, tables
from eyrie.compiler.ir.operators.operator import Operator

Options = object  # a class of the schema's
Written = tuple[Options | None, tuple[ArrayLike, ...]]


@singledispatch
def parts_of(operator: Operator) -> Written:
    """Return the options and constant inputs of an operator.

    Raise Unsupported if it needs other parts, or if TensorFlow Lite does not have it.
    """
    raise Unsupported("it is not written to TensorFlow Lite")


@parts_of.register
def _(operator: elementwise.Add) -> Written:
    return _fused(schema.AddOptionsT(), operator.activation)


@parts_of.register
def _(operator: elementwise.Sub) -> Written:
    return _fused(schema.SubOptionsT(), operator.activation)


@parts_of.register
def _(operator: elementwise.Mul) -> Written:
    return _fused(schema.MulOptionsT(), operator.activation)


def _fused(options: schema.AddOptionsT | schema.SubOptionsT | schema.MulOptionsT, activation: str) -> Written:
    options.fusedActivationFunction = getattr(schema.ActivationFunctionType, activation)
    return options, ()


@parts_of.register
def _(operator: elementwise.Maximum | elementwise.Minimum) -> Written:
    return schema.MaximumMinimumOptionsT(), ()


@parts_of.register
def _(operator: tables.Requantize) -> Written:
    return schema.QuantizeOptionsT(), ()


@parts_of.register
def _(operator: tables.LeakyRelu) -> Written:
    options = schema.LeakyReluOptionsT()
    options.alpha = operator.alpha
    return options, ()


@parts_of.register
def _(
    operator: elementwise.Prelu | tables.Relu | tables.Logistic | tables.Tanh | tables.HardSwish | tables.Real,
) -> Written:
    return None, ()


@parts_of.register
def _(operator: pooling.Mean) -> Written:
    options = schema.ReducerOptionsT()
    options.keepDims = operator.keep_axes
    return options, (operator.axes,)


@parts_of.register
def _(operator: host.Softmax) -> Written:
    options = schema.SoftmaxOptionsT()
    options.beta = operator.beta
    return options, ()


@parts_of.register
def _(operator: movement.Reshape) -> Written:
    options = schema.ReshapeOptionsT()
    options.newShape = list(operator.to)
    return options, (operator.to,)


@parts_of.register
def _(operator: movement.Concatenation) -> Written:
    options = schema.ConcatenationOptionsT()
    options.axis = operator.axis
    return options, ()


@parts_of.register
def _(operator: movement.Gather) -> Written:
    options = schema.GatherOptionsT()
    options.axis = operator.axis
    return options, (np.reshape(operator.places, operator.places_shape),)


@parts_of.register
def _(operator: movement.Transpose) -> Written:
    return schema.TransposeOptionsT(), (operator.axes,)


@parts_of.register
def _(operator: movement.Slice) -> Written:
    return schema.SliceOptionsT(), (operator.begin, operator.size)


@parts_of.register
def _(operator: movement.StridedSlice) -> Written:
    options = schema.StridedSliceOptionsT()
    options.beginMask, options.endMask = operator.begin_mask, operator.end_mask
    options.ellipsisMask, options.newAxisMask = operator.ellipsis_mask, operator.new_axis_mask
    options.shrinkAxisMask = operator.shrink_axis_mask
    return options, (operator.begin, operator.end, operator.strides)


@parts_of.register
def _(operator: movement.ResizeNearestNeighbor) -> Written:
    return _resized(schema.ResizeNearestNeighborOptionsT(), operator)


@parts_of.register
def _(operator: host.ResizeBilinear) -> Written:
    return _resized(schema.ResizeBilinearOptionsT(), operator)


def _resized(
    options: schema.ResizeNearestNeighborOptionsT | schema.ResizeBilinearOptionsT,
    operator: movement.ResizeNearestNeighbor | host.ResizeBilinear,
) -> Written:
    options.alignCorners, options.halfPixelCenters = operator.align_corners, operator.half_pixel_centers
    return options, (operator.size,)
