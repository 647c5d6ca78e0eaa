# SPDX-License-Identifier: Apache-2.0
"""Rules of convolutions and fully connected layers.

Operators on channels between the layer and the QUANTIZE become part of its scales and bias: an added bias, a factor,
batch normalisation.
"""

from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from eyrie.compiler.frontend.qdq.fold import Fold, Rule
from eyrie.compiler.frontend.qdq.moves import channels_last
from eyrie.compiler.frontend.qdq.shapes import window
from eyrie.compiler.frontend.qdq.values import CODES, Held, Known, Made, Real, Target
from eyrie.compiler.ir.failure import Unsupported
from eyrie.compiler.ir.operators.convolution import Conv2D, DepthwiseConv2D, FullyConnected
from eyrie.compiler.ir.operators.movement import Reshape
from eyrie.compiler.ir.operators.operator import Operator, axis_of
from eyrie.model.arithmetic import INT32_MAX, INT32_MIN
from eyrie.model.errors import InputError

QUANTISE_WEIGHTS = "quantise the model's weights to int8, too"
Source = TypeVar("Source", bound=Real)


@dataclass(frozen=True, eq=False)
class Affine(Generic[Source]):
    """A float value with a factor and an offset per channel: factor * source + added, float64 [M]."""

    source: Source
    factor: np.ndarray
    added: np.ndarray

    def then(self, factor: np.ndarray, added: np.ndarray) -> "Affine[Source]":
        return Affine(self.source, self.factor * factor, self.added * factor + added)


def affine(real: Real) -> Affine[Made] | None:
    """Return the layer with weights before a value, and the factor and offset per channel after it.

    Return None if other operators lie between the layer and the value.
    """
    if not isinstance(real, Made):
        return None
    if real.kind in ("conv", "linear"):
        return _itself(real)
    if real.kind == "batch_norm":
        inner = affine(real.inputs[0])
        return inner and inner.then(*normalisation(real))
    if real.kind not in ("add", "sub", "mul", "div"):
        return None
    for source in real.inputs:
        if inner := affine(source):
            if by := _by_constant(real, source, channel_axis(inner.source)):
                return inner.then(*by)
    return None


def _itself(layer: Made) -> Affine[Made]:
    outputs = layer.inputs[1].shape[0]
    return Affine(layer, np.ones(outputs), np.zeros(outputs))


def of_channels(made: Made) -> Affine[Real] | None:
    """Return the factor and offset of a feature map and a float constant per channel, None for other operands.

    A constant that has codes keeps its codes.
    """
    for source in made.inputs:
        if not isinstance(source, Known) and len(made.shape) in (3, 4):
            by = _by_constant(made, source, 1)
            if by and all(each.coded is None for each in made.inputs if isinstance(each, Known)):
                return Affine(source, *by)
    return None


def _by_constant(made: Made, source: Real, axis: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the factor and the offset that an operator applies to `source`, if its other input is a constant per
    channel."""
    first, second = made.inputs
    constant = first if source is second else second
    if not isinstance(constant, Known) or source.shape != made.shape:
        return None
    full = constant.values.reshape((1,) * (len(made.shape) - constant.values.ndim) + constant.shape)
    if any(size > 1 for n, size in enumerate(full.shape) if n != axis):
        return None
    each = np.broadcast_to(full.reshape(-1), made.shape[axis])
    zero, one = np.zeros(len(each)), np.ones(len(each))
    if made.kind == "add":
        return one, each
    if made.kind == "sub":
        return (one, -each) if source is first else (-one, each)
    if made.kind == "div":
        return (1 / each, zero) if source is first and np.all(each) else None
    return each, zero


def channel_axis(layer: Made) -> int:
    return 1 if layer.kind == "conv" else len(layer.shape) - 1


def normalisation(made: Made) -> tuple[np.ndarray, np.ndarray]:
    """Return the factor and the offset of batch_norm."""
    parameters = [each.values.reshape(-1) for each in made.inputs[1:] if isinstance(each, Known)]
    if len(made.inputs) != 5 or len(parameters) != 4:
        raise Unsupported("its scale, bias, mean and variance are not four constants")
    scale, bias, mean, variance = parameters
    factor = scale / np.sqrt(variance + made.operation.number("epsilon", 1e-5))
    return factor, bias - mean * factor


def with_weights(fold: Fold, layer: Affine[Made], target: Target) -> Held:
    """Return conv or linear, with the operators that are folded into it."""
    source = fold.operand(layer.source.inputs[0])
    weights = _weights(layer, source)
    if layer.source.kind == "linear":
        return _linear(fold, layer.source, source, weights, target)
    return _conv(fold, layer.source, source, weights, target)


def _layer(fold: Fold, made: Made, target: Target) -> Held:
    return with_weights(fold, _itself(made), target)


@dataclass(frozen=True, eq=False)
class _Weights:
    """The parameters of a layer. filters: in the framework's order, [M, ...]; scales, bias: as in operators with
    weights"""

    filters: np.ndarray
    scales: np.ndarray
    bias: np.ndarray


def _weights(found: Affine[Made], source: Held) -> _Weights:
    weight, outputs = found.source.inputs[1], len(found.factor)
    if not isinstance(weight, Known) or weight.coded is None:
        raise Unsupported(f"its weights are no quantised constant: {QUANTISE_WEIGHTS}")
    codes, scale = weight.coded.codes, weight.coded.scale
    if codes.dtype.name not in CODES:
        raise Unsupported(f"its weights are {codes.dtype}, not int8: {QUANTISE_WEIGHTS}")
    if scale.axis is not None and axis_of(scale.axis, codes.ndim) != 0 and scale.scale.size > 1:
        raise Unsupported("its weights have a scale for each input channel: quantise them by output channels")
    factor = found.factor
    if not np.all(factor):
        raise Unsupported("a factor of zero after it")
    filters = centred(codes, scale.along(codes.ndim)[1])
    if np.any(factor < 0):
        filters = _narrow(
            filters.astype(np.int16) * np.sign(factor).astype(np.int16).reshape(-1, *(1,) * (filters.ndim - 1))
        )
    scales = np.broadcast_to(scale.scale.reshape(-1), outputs) * np.abs(factor)
    of_sums = source.quantization.scale * scales.astype(np.float32).astype(np.float64)
    return _Weights(filters, scales.astype(np.float32), _bias(found, outputs, of_sums))


def centred(codes: np.ndarray, zero_point: np.ndarray) -> np.ndarray:
    """Return the codes less their zero point: int8 if all fit, else int16."""
    return _narrow(codes.astype(np.int16) - zero_point.astype(np.int16))


def _narrow(values: np.ndarray) -> np.ndarray:
    narrow = values.astype(np.int8)
    return narrow if (narrow == values).all() else values


def _bias(found: Affine[Made], outputs: int, of_sums: np.ndarray) -> np.ndarray:
    """Return the bias, int32, in the scale of the sums."""
    total = found.added
    if len(found.source.inputs) > 2:
        bias = found.source.inputs[2]
        if not isinstance(bias, Known):
            raise Unsupported("its bias is no constant")
        if bias.values.size not in (1, outputs):
            raise InputError(f"{bias.values.size} biases for {outputs} channels")
        total = total + bias.values.reshape(-1) * found.factor
    steps = np.rint(total / of_sums)
    if not np.all((steps >= INT32_MIN) & (steps <= INT32_MAX)):
        raise Unsupported("its bias does not fit int32 in the scale of the sums")
    return steps.astype(np.int32)


def _linear(fold: Fold, layer: Made, source: Held, weights: _Weights, target: Target) -> Held:
    """Return the result of a fully connected layer on the last axis of any tensor."""
    rank = len(layer.shape)
    tensor = fold.ordered(source, tuple(range(rank)), layer.operation.where)
    operator = FullyConnected(
        filters=weights.filters,
        scales=weights.scales,
        bias=weights.bias,
        activation=target.activation,
        keep_axes=rank != 2,
    )
    return fold.node(layer.operation.where, operator, (tensor,), layer.shape, tuple(range(rank)), target)


def _conv(fold: Fold, layer: Made, source: Held, weights: _Weights, target: Target) -> Held:
    operation, rank = layer.operation, len(layer.shape)
    _, stride, pads, dilation = window(operation, layer.inputs[1].shape[2:])
    groups, channels = operation.integer("groups", 1), layer.inputs[0].shape[1]
    filters = weights.filters[:, :, None] if rank == 3 else weights.filters
    filters = filters.transpose(0, 2, 3, 1)
    kind: type[Conv2D | DepthwiseConv2D] = Conv2D
    if groups == channels > 1:
        kind, filters = DepthwiseConv2D, filters[..., 0].transpose(1, 2, 0)
    operator = kind(
        filters=filters,
        scales=weights.scales,
        bias=weights.bias,
        activation=target.activation,
        stride=stride,
        dilation=dilation,
        pads=pads,
    )
    return on_map(fold, layer, source, operator, target)


def on_map(fold: Fold, made: Made, source: Held, operator: Operator, target: Target) -> Held:
    """Return the result of a window on a map N, H, W, C. A source of one axis has columns only."""
    where, rank = made.operation.where, len(made.shape)
    order, axes = channels_last(rank)
    tensor, shape = fold.ordered(source, order, where), tuple(made.shape[axis] for axis in order)
    if rank == 4:
        return fold.node(where, operator, (tensor,), shape, axes, target)
    flat = fold.node(
        where,
        Reshape(to=(tensor.shape[0], 1, *tensor.shape[1:])),
        (tensor,),
        (tensor.shape[0], 1, *tensor.shape[1:]),
        (0, 1, 2, 3),
        Target(source.quantization, f"{target.name} input"),
    )
    map_ = fold.node(
        where,
        operator,
        (flat.tensor,),
        (shape[0], 1, *shape[1:]),
        (0, 1, 2, 3),
        Target(target.quantization, f"{target.name} map"),
    )
    return fold.node(where, Reshape(to=shape), (map_.tensor,), shape, axes, target)


def batch_norm(fold: Fold, made: Made, target: Target) -> Held:
    """Return the result of batch_norm. On a quantised feature map, it is a depthwise 1x1 convolution; its filters have
    the largest magnitude."""
    if layer := affine(made):
        return with_weights(fold, layer, target)
    source = fold.operand(made.inputs[0])
    return scaled_channels(fold, made, source, Affine(made.inputs[0], *normalisation(made)), target)


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


RULES: dict[str, Rule] = {"conv": _layer, "linear": _layer, "batch_norm": batch_norm}
