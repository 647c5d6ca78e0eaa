# SPDX-License-Identifier: Apache-2.0
"""Options and constant inputs of the file's operators, of those that need nothing else."""

from collections.abc import Callable, Mapping

import numpy as np
from ai_edge_litert import schema_py_generated as schema

from eyrie.compiler.ir.operators import elementwise, host, movement, pooling, tables
from eyrie.compiler.ir.operators.operator import Operator

Options = object  # a class of the schema's
Written = tuple[Options | None, tuple]


def _plain(options: type | None) -> Callable[[Operator], Written]:
    return lambda operator: (options() if options else None, ())


def _binary(options: type) -> Callable[[Operator], Written]:
    def make(operator: elementwise.Sum | elementwise.Mul) -> Written:
        made = options()
        made.fusedActivationFunction = getattr(schema.ActivationFunctionType, operator.activation)
        return made, ()

    return make


def _mean(operator: pooling.Mean) -> Written:
    options = schema.ReducerOptionsT()
    options.keepDims = operator.keep_axes
    return options, (operator.axes,)


def _softmax(operator: host.Softmax) -> Written:
    options = schema.SoftmaxOptionsT()
    options.beta = operator.beta
    return options, ()


def _reshape(operator: movement.Reshape) -> Written:
    options = schema.ReshapeOptionsT()
    options.newShape = list(operator.to)
    return options, (operator.to,)


def _concatenation(operator: movement.Concatenation) -> Written:
    options = schema.ConcatenationOptionsT()
    options.axis = operator.axis
    return options, ()


def _gather(operator: movement.Gather) -> Written:
    options = schema.GatherOptionsT()
    options.axis = operator.axis
    return options, (np.reshape(operator.places, operator.places_shape),)


def _strided_slice(operator: movement.StridedSlice) -> Written:
    options = schema.StridedSliceOptionsT()
    options.beginMask, options.endMask = operator.begin_mask, operator.end_mask
    options.ellipsisMask, options.newAxisMask = operator.ellipsis_mask, operator.new_axis_mask
    options.shrinkAxisMask = operator.shrink_axis_mask
    return options, (operator.begin, operator.end, operator.strides)


def _resized(options: type) -> Callable[[Operator], Written]:
    def make(operator: movement.ResizeNearestNeighbor | host.ResizeBilinear) -> Written:
        made = options()
        made.alignCorners, made.halfPixelCenters = operator.align_corners, operator.half_pixel_centers
        return made, (operator.size,)

    return make


OPERATORS: Mapping[type, Callable[[Operator], Written]] = {
    elementwise.Add: _binary(schema.AddOptionsT),
    elementwise.Sub: _binary(schema.SubOptionsT),
    elementwise.Mul: _binary(schema.MulOptionsT),
    elementwise.Maximum: _plain(schema.MaximumMinimumOptionsT),
    elementwise.Minimum: _plain(schema.MaximumMinimumOptionsT),
    elementwise.Prelu: _plain(None),
    pooling.Mean: _mean,
    host.Softmax: _softmax,
    tables.Requantize: _plain(schema.QuantizeOptionsT),
    movement.Reshape: _reshape,
    movement.Concatenation: _concatenation,
    movement.Gather: _gather,
    movement.Transpose: lambda operator: (schema.TransposeOptionsT(), (operator.axes,)),
    movement.Slice: lambda operator: (schema.SliceOptionsT(), (operator.begin, operator.size)),
    movement.StridedSlice: _strided_slice,
    movement.ResizeNearestNeighbor: _resized(schema.ResizeNearestNeighborOptionsT),
    host.ResizeBilinear: _resized(schema.ResizeBilinearOptionsT),
}
