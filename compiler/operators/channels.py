# SPDX-License-Identifier: Apache-2.0
"""Batch normalisation, and other factors and offsets per channel."""

from typing import TYPE_CHECKING

import numpy as np

from eyrie.compiler.ir.failure import Unsupported
from eyrie.compiler.ir.qdq.fold import Fold
from eyrie.compiler.ir.qdq.network import Operation
from eyrie.compiler.ir.qdq.values import Held, Made, Real, Target
from eyrie.compiler.operators.affine import Affine, affine, normalisation
from eyrie.compiler.operators.convolution import DepthwiseConv2D, convolved
from eyrie.compiler.operators.fully_connected import connected
from eyrie.compiler.operators.record import FloatOperator, Row, Shape
from eyrie.compiler.operators.shapes import on_map
from eyrie.compiler.operators.transposed_convolution import deconvolved
from eyrie.model.arithmetic import INT32_MAX

if TYPE_CHECKING:
    from eyrie.compiler.frontend.onnx.call import Call as OnnxCall
    from eyrie.compiler.frontend.pytorch.call import Call as AtenCall


def with_weights(fold: Fold, layer: Affine[Made], target: Target) -> Held:
    """Return a layer, with the operators that are folded into it."""
    layers = {"conv": convolved, "conv_transpose": deconvolved, "linear": connected}
    return layers[layer.source.kind](fold, layer, target)


def scaled_channels(fold: Fold, made: Made, source: Held, by: Affine[Real], target: Target) -> Held:
    """Return the feature map with a factor and an offset per channel, as a depthwise 1x1 convolution."""
    factor, added = by.factor, by.added
    if len(made.shape) not in (3, 4):
        raise Unsupported(f"a map of {len(made.shape)} axes")
    scales = (np.where(factor == 0, 1.0, np.abs(factor)) / 127).astype(np.float32)
    steps = np.rint(added / (source.quantization.scale * scales.astype(np.float64)))
    if np.any(np.abs(steps) > INT32_MAX):
        raise Unsupported("its offset does not fit int32 in the scale of the sums")
    filters = (127 * np.sign(factor)).astype(np.int8).reshape(1, 1, -1)
    operator = DepthwiseConv2D(
        filters=filters, scales=scales, bias=steps.astype(np.int32), activation=target.activation
    )
    return on_map(fold, made, source, operator, Target(target.quantization, target.name))


def _onnx(call: "OnnxCall") -> list[Operation]:
    if call.whole("training_mode", 0) or len([name for name in call.outputs if name]) > 1:
        raise Unsupported("it is trained")
    return [call.make("batch_norm", None, call.outputs[:1], epsilon=call.real("epsilon", 1e-5))]


def _aten(call: "AtenCall") -> list[Operation]:
    if call["training"]:
        raise Unsupported("it is in training mode: call model.eval() first")
    if not (call.given("weight") and call.given("bias")):
        raise Unsupported("it has no weight or no bias")
    return [
        call.make(
            "batch_norm",
            call["input"],
            call["weight"],
            call["bias"],
            call["running_mean"],
            call["running_var"],
            epsilon=call.number("eps"),
        )
    ]


class BatchNorm(FloatOperator):
    """Batch normalisation. On a quantised feature map, it is a depthwise 1x1 convolution; its filters have the largest
    magnitude."""

    row = Row("batch normalisation", "array (part of the layer before it, if possible)")
    kind = "batch_norm"
    onnx = {"BatchNormalization": _onnx}
    aten = {"batch_norm": _aten}

    @classmethod
    def shapes(cls, operation: Operation, inputs: list[Shape]) -> list[Shape]:
        return inputs[:1]

    @classmethod
    def as_int8(cls, fold: Fold, made: Made, target: Target) -> Held:
        if layer := affine(made):
            return with_weights(fold, layer, target)
        source = fold.operand(made.inputs[0])
        return scaled_channels(fold, made, source, Affine(made.inputs[0], *normalisation(made)), target)
