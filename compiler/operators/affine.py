# SPDX-License-Identifier: Apache-2.0
"""Factors and offsets per channel, which become part of the layer with weights before them.

Operators on channels between a layer and its QUANTIZE become part of its scales and bias: an added bias, a factor,
batch normalisation.
"""

from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from eyrie.compiler.ir.failure import Unsupported
from eyrie.compiler.ir.operator import axis_of
from eyrie.compiler.ir.qdq.values import CODES, Held, Known, Made, Real
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
    if real.kind in ("conv", "conv_transpose", "linear"):
        return itself(real)
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


def itself(layer: Made) -> Affine[Made]:
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
    return len(layer.shape) - 1 if layer.kind == "linear" else 1


def normalisation(made: Made) -> tuple[np.ndarray, np.ndarray]:
    """Return the factor and the offset of batch_norm."""
    parameters = [each.values.reshape(-1) for each in made.inputs[1:] if isinstance(each, Known)]
    if len(made.inputs) != 5 or len(parameters) != 4:
        raise Unsupported("its scale, bias, mean and variance are not four constants")
    scale, bias, mean, variance = parameters
    factor = scale / np.sqrt(variance + made.operation.number("epsilon", 1e-5))
    return factor, bias - mean * factor


@dataclass(frozen=True, eq=False)
class Weights:
    """The parameters of a layer. filters: in the framework's order, [M, ...]; scales, bias: as in operators with
    weights"""

    filters: np.ndarray
    scales: np.ndarray
    bias: np.ndarray


def weights_of(found: Affine[Made], source: Held) -> Weights:
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
    return Weights(filters, scales.astype(np.float32), _bias(found, outputs, of_sums))


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
