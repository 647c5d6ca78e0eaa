# SPDX-License-Identifier: Apache-2.0
"""Random CONV_2D, DEPTHWISE_CONV_2D, TRANSPOSE_CONV and FULLY_CONNECTED."""

from dataclasses import dataclass

import numpy as np

from eyrie.model.operators import convolution
from eyrie.model.operators.quantization import Quantization, requantization, uint8_requantization
from eyrie.model.operators.reference import Reference
from eyrie.model.operators.windows import NO_PADS, pair, same_pads
from tb.common.random_operators.drawing import (
    SAME,
    VALID,
    activation,
    chance,
    constant,
    draw_activation,
    draw_quantization,
    draw_values,
    draw_zero_point,
    graph,
    result,
    whole,
)


@dataclass
class Geometry:
    """A random window over a random map."""

    shape: tuple  # N, H, W
    kernel: tuple
    stride: tuple
    dilation: tuple
    mode: str  # SAME, VALID or PAD: any four pads

    @classmethod
    def draw(cls, rng, modes, taps=5, dilations=(1, 1, 1, 2, 3)):
        if chance(rng, 0.1):
            taps = 12
        kernel = whole(rng, 1, taps), whole(rng, 1, taps)
        stride = tuple(map(int, rng.choice([1, 1, 2, 2, 3, 4], 2)))
        if chance(rng, 0.6):
            stride = (stride[0],) * 2
        dilation = tuple(map(int, rng.choice(dilations, 2)))
        mode = str(rng.choice(modes))
        reach = ((taps - 1) * gap + 1 for taps, gap in zip(kernel, dilation, strict=True))
        lows = (1, 1) if mode == "SAME" else reach
        return cls((whole(rng, 1, 2), *(whole(rng, low, low + 10) for low in lows)), kernel, stride, dilation, mode)

    def pads(self, rng):
        if self.mode == "SAME":
            return same_pads(self.shape[1:], self.kernel, self.stride, self.dilation)
        return tuple(map(int, rng.integers(0, 3, 4))) if self.mode == "PAD" else NO_PADS

    def output(self, pads):
        """E and F."""
        padded = np.add(self.shape[1:], np.reshape(pads, (2, 2)).sum(axis=1))
        reach = (np.array(self.kernel) - 1) * pair(self.dilation) + 1
        return tuple((padded - reach) // self.stride + 1)

    @property
    def options(self):
        return {"padding": SAME if self.mode == "SAME" else VALID, "strideH": self.stride[0], "strideW": self.stride[1]}

    @property
    def dilations(self):
        return {"dilationHFactor": self.dilation[0], "dilationWFactor": self.dilation[1]}


def draw_output(rng, input_, filter_scales, deviation, activation_):
    """An output quantisation in which sums of this deviation fill a fair part of int8."""
    real = input_.scale * float(np.mean(filter_scales)) * deviation
    zero_point = draw_zero_point(rng)
    # An activation leaves little above its zero point's range: keep some of it.
    if activation_ != "NONE":
        zero_point = int(rng.choice([-128, min(zero_point, 60)]))
    return Quantization(real / rng.uniform(20, 80), zero_point)


@dataclass
class Weights:
    """Filters as the file has them and as the golden model does, a bias, and the scales of the filters."""

    stored: np.ndarray
    centred: np.ndarray
    zero_point: int
    scales: np.ndarray
    bias: np.ndarray | None
    deviation: float  # of the sums, about

    @classmethod
    def draw(cls, rng, shape, axis, terms, ifmap, input_, kind, narrow):
        """Narrow layers have small sums, so that their multipliers are over one (a left shift)."""
        limit, zero_point = 2 if narrow else 127, 0
        stored = rng.integers(-limit, limit, shape, endpoint=True).astype(np.int8)
        centred = stored
        if kind == "uint8":
            zero_point = int(rng.choice([0, 255, 128, whole(rng, 1, 254)], p=[0.05, 0.05, 0.2, 0.7]))
            low, high = (max(zero_point - limit, 0), min(zero_point + limit, 255)) if narrow else (0, 255)
            stored = rng.integers(low, high, shape, np.uint8, endpoint=True)
            centred = stored.astype(np.int16) - np.int16(zero_point)
        values, weights = ifmap.astype(float) - input_.zero_point, centred.astype(float)
        squares = terms * np.mean(values**2) * np.mean(weights**2) + (terms * values.mean() * weights.mean()) ** 2
        deviation = max(np.sqrt(squares), 1.0)
        count = shape[axis] if kind == "int8" and chance(rng, 0.7) else 1
        scales = np.exp(rng.uniform(np.log(0.001), np.log(0.004), count)).astype(np.float32)
        bias = np.rint(rng.normal(0, deviation / 2, shape[axis])).astype(np.int32)
        return cls(stored, centred, zero_point, scales, None if chance(rng, 0.1) else bias, deviation)

    def operands(self, input_, kind, axis, always=True):
        """Filters, and a bias: `always`, or where there is one."""
        operands = [constant(self.stored, kind, self.scales, self.zero_point, axis)]
        if always or self.bias is not None:
            channels = self.stored.shape[axis]
            bias = np.zeros(channels, np.int32) if self.bias is None else self.bias
            operands.append(constant(bias, "int32", np.float32(input_.scale) * self.scales))
        return operands


def draw_conv2d(rng, kind="int8", depthwise=False):
    geometry = Geometry.draw(rng, ("SAME", "VALID", "PAD"))
    pads = geometry.pads(rng)
    channels, outputs, groups = whole(rng, 1, 24), whole(rng, 1, 24), 1
    if depthwise:
        outputs = channels * (repeats := int(rng.choice([1, 1, 1, 2, 3, 8])))
    elif chance(rng, 0.1):
        groups = whole(rng, 2, 4)
        channels, outputs = groups * whole(rng, 1, 6), groups * whole(rng, 1, 6)
    shape = (1, *geometry.kernel, outputs) if depthwise else (outputs, *geometry.kernel, channels // groups)
    axis = 3 if depthwise else 0
    terms = int(np.prod(geometry.kernel)) * (1 if depthwise else channels // groups)

    narrow = chance(rng, 0.15)
    input_ = draw_quantization(rng)
    ifmap = draw_values(rng, (*geometry.shape, channels), input_.zero_point, narrow)
    weights = Weights.draw(rng, shape, axis, terms, ifmap, input_, kind, narrow)
    name, code = draw_activation(rng)
    output = draw_output(rng, input_, weights.scales, weights.deviation, name)
    rescale = requantization if kind == "int8" else uint8_requantization
    parameters = rescale(input_, weights.scales, output, name)

    def golden(_):
        layer, filter_ = convolution.conv2d, weights.centred
        if depthwise:
            layer, filter_ = convolution.depthwise_conv2d, filter_[0]
        return layer(
            ifmap, filter_, weights.bias, input_.zero_point, parameters, geometry.stride, pads, geometry.dilation
        )

    return graph(
        "DEPTHWISE_CONV_2D" if depthwise else "CONV_2D",
        [activation(ifmap, input_, kind), *weights.operands(input_, kind, axis)],
        [result((geometry.shape[0], *geometry.output(pads), outputs), output, kind)],
        golden,
        clamp=(parameters.minimum, parameters.maximum),
        before=padding(activation(ifmap, input_, kind), pads) if geometry.mode == "PAD" else None,
        fusedActivationFunction=code,
        **geometry.options,
        **geometry.dilations,
        **({"depthMultiplier": repeats} if depthwise else {}),
    )


def padding(operand, pads):
    """What adds a PAD operator (it fills with the zero point) before another."""
    table = [(0, 0), pads[:2], pads[2:], (0, 0)]

    def add(builder, source):
        amounts = constant(np.int32(table)).add_to(builder)
        shape = np.add(operand.shape, np.sum(table, axis=1))
        padded = result(shape, operand.quantization, operand.kind).add_to(builder)
        builder.operator("PAD", [source, amounts], [padded])
        return padded

    return add


def draw_transpose_conv(rng):
    """With any output from which the forward convolution makes a map of the input's size."""
    mode = str(rng.choice(["SAME", "VALID"]))
    kernel, stride = rng.integers(1, 6, 2), rng.choice([1, 2, 2, 3, 4], 2)
    size = rng.integers(1, 9, 2)
    largest = size * stride if mode == "SAME" else size * stride + kernel - 1
    to = tuple(map(int, largest - [whole(rng, 0, int(step) - 1) for step in stride]))
    batch, channels, outputs = whole(rng, 1, 2), whole(rng, 1, 24), whole(rng, 1, 24)
    terms = max(int(np.prod(kernel / stride)), 1) * channels
    narrow = chance(rng, 0.15)
    input_ = draw_quantization(rng)
    ifmap = draw_values(rng, (batch, *map(int, size), channels), input_.zero_point, narrow)
    shape = (outputs, *map(int, kernel), channels)
    weights = Weights.draw(rng, shape, 0, terms, ifmap, input_, "int8", narrow)
    name, code = draw_activation(rng)
    output = draw_output(rng, input_, weights.scales, weights.deviation, name)
    parameters = requantization(input_, weights.scales, output, name)
    pads = same_pads(to, tuple(kernel), tuple(stride))[::2] if mode == "SAME" else (0, 0)
    filters, *bias = weights.operands(input_, "int8", 0, always=chance(rng, 0.8))

    def golden(_):
        layer = ifmap, weights.centred, weights.bias, input_.zero_point, parameters
        return convolution.transpose_conv2d(*layer, tuple(stride), pads, to)

    made = (batch, *to, outputs)
    return graph(
        "TRANSPOSE_CONV",
        [constant(np.int32(made)), filters, activation(ifmap, input_), *bias],
        [result(made, output)],
        golden,
        clamp=(parameters.minimum, parameters.maximum),
        fusedActivationFunction=code,
        padding=SAME if mode == "SAME" else VALID,
        strideH=int(stride[0]),
        strideW=int(stride[1]),
    )


def draw_fully_connected(rng, kind="int8"):
    """On a matrix, or on a tensor of more axes, of which the last are its inputs."""
    leading = tuple(whole(rng, 1, 4) for _ in range(whole(rng, 1, 3)))
    keep = chance(rng, 0.3)
    inner = (whole(rng, 1, 1500),) if keep or chance(rng, 0.5) else tuple(whole(rng, 1, 9) for _ in range(3))
    leading = leading if len(inner) == 1 else leading[:1]
    inputs, outputs = int(np.prod(inner)), whole(rng, 1, 40)
    narrow = chance(rng, 0.15)
    input_ = draw_quantization(rng)
    ifmap = draw_values(rng, (*leading, *inner), input_.zero_point, narrow)
    weights = Weights.draw(rng, (outputs, inputs), 0, inputs, ifmap, input_, kind, narrow)
    name, code = draw_activation(rng)
    output = draw_output(rng, input_, weights.scales, weights.deviation, name)
    parameters = requantization(input_, weights.scales, output, name)
    made = (*leading, outputs) if keep else (int(np.prod(leading)), outputs)
    flat = ifmap.reshape(-1, inputs)

    layer = flat, weights.centred, weights.bias, input_.zero_point

    def golden(reference):
        if reference == Reference.MICRO:
            return convolution.fully_connected(*layer, parameters).reshape(made)
        factor = input_.scale * weights.scales.astype(float) / output.scale
        return convolution.fully_connected_once(*layer, factor, parameters).reshape(made)

    return graph(
        "FULLY_CONNECTED",
        [activation(ifmap, input_, kind), *weights.operands(input_, kind, 0, always=chance(rng, 0.5))],
        [result(made, output, kind)],
        golden,
        clamp=(parameters.minimum, parameters.maximum),
        fusedActivationFunction=code,
        keepNumDims=keep,
    )


OPERATORS = {
    "CONV_2D": draw_conv2d,
    "CONV_2D uint8": lambda rng: draw_conv2d(rng, "uint8"),
    "DEPTHWISE_CONV_2D": lambda rng: draw_conv2d(rng, depthwise=True),
    "DEPTHWISE_CONV_2D uint8": lambda rng: draw_conv2d(rng, "uint8", depthwise=True),
    "TRANSPOSE_CONV": draw_transpose_conv,
    "FULLY_CONNECTED": draw_fully_connected,
    "FULLY_CONNECTED uint8": lambda rng: draw_fully_connected(rng, "uint8"),
}
