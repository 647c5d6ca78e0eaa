# SPDX-License-Identifier: Apache-2.0
"""Random single-operator int8 layers, as a .tflite model and as the golden model's answer to it."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from ai_edge_litert import schema_py_generated as schema

from model import operators as ops
from tb.model.tflite_builder import Builder

SAME, VALID = schema.Padding.SAME, schema.Padding.VALID


@dataclass
class Layer:
    """A .tflite `model`, its `inputs`, and a function that computes the same with our operators.

    `litert` is the answer to expect of LiteRT where its kernel rescales in another way on purpose.
    """

    model: bytes
    inputs: tuple
    golden: Callable
    litert: Callable | None = None
    clamp: tuple = (ops.INT8_MIN, ops.INT8_MAX)
    text: str = ""
    parameters: ops.Requantization | None = None


@dataclass
class Geometry:
    """A random window over a random map."""

    shape: tuple  # N, H, W
    kernel: tuple
    stride: tuple
    mode: str  # SAME, VALID or PAD: any four pads

    @classmethod
    def draw(cls, rng, modes, taps=3):
        kernel = tuple(map(int, rng.integers(1, taps, 2, endpoint=True)))
        size = (rng.integers(low, 14) for low in kernel)
        stride = tuple(map(int, rng.integers(1, 2, 2, endpoint=True)))
        shape = (int(rng.integers(1, 3)), *map(int, size))
        return cls(shape, kernel, stride, str(rng.choice(modes)))

    def pads(self, rng):
        if self.mode == "SAME":
            return ops.same_pads(self.shape[1:], self.kernel, self.stride)
        return tuple(map(int, rng.integers(0, 3, 4))) if self.mode == "PAD" else ops.NO_PADS

    def output(self, pads):
        padded = np.add(self.shape[1:], np.reshape(pads, (2, 2)).sum(axis=1))
        return tuple((padded - self.kernel) // self.stride + 1)

    def options(self):
        return {
            "padding": SAME if self.mode == "SAME" else VALID,
            "strideH": self.stride[0],
            "strideW": self.stride[1],
        }


def draw_zero_point(rng):
    return int(rng.choice([-128, 0, 127, rng.integers(-128, 128)], p=[0.4, 0.1, 0.05, 0.45]))


def draw_quantization(rng, scale=None):
    scale = np.exp(rng.uniform(np.log(0.003), np.log(0.3))) if scale is None else scale
    return ops.Quantization(scale, draw_zero_point(rng))


def draw_activation(rng):
    """Return an activation's name and its number in the schema."""
    name = str(rng.choice(list(ops.ACTIVATIONS), p=[0.4, 0.25, 0.1, 0.25]))
    return name, getattr(schema.ActivationFunctionType, name)


def draw_output(rng, input_, filter_scales, deviation, activation):
    """Return an output quantisation in which sums of this deviation fill a fair part of int8."""
    real = input_.scale * float(np.mean(filter_scales)) * deviation
    zero_point = draw_zero_point(rng)
    # An activation leaves little above its zero point's range: keep some of it.
    if activation != "NONE":
        zero_point = int(rng.choice([-128, min(zero_point, 60)]))
    return ops.Quantization(real / rng.uniform(20, 80), zero_point)


def draw_tensor(rng, shape, zero_point, narrow):
    """Return int8 values over the whole range, or `narrow`ly around the zero point."""
    values = zero_point + rng.integers(-3, 4, shape) if narrow else rng.integers(-128, 128, shape)
    return np.clip(values, -128, 127).astype(np.int8)


def draw_weights(rng, shape, terms, ifmap, zero_point, narrow):
    """Return int8 weights and about the standard deviation that their sums will have.

    Narrow layers have small sums, so that their multipliers are over one (a left shift).
    """
    limit = 2 if narrow else 127
    weights = rng.integers(-limit, limit, shape, endpoint=True).astype(np.int8)
    spread = np.sqrt(np.mean((ifmap.astype(float) - zero_point) ** 2)) * limit / np.sqrt(3)
    deviation = max(spread * np.sqrt(terms), 1.0)
    return weights, deviation


def draw_bias(rng, channels, deviation):
    if rng.random() < 0.1:
        return None
    return np.rint(rng.normal(0, deviation / 2, channels)).astype(np.int32)


def draw_filter_scales(rng, channels):
    return np.exp(rng.uniform(np.log(0.001), np.log(0.004), channels)).astype(np.float32)


def add_filter(builder, weights, bias, input_, scales, axis):
    """Add constant weights and bias to the graph; return their indices."""
    filter_ = builder.tensor(weights.shape, scale=scales, axis=axis, data=weights)
    if bias is None:  # LiteRT's int8 convolution insists on one
        bias = np.zeros(weights.shape[axis], np.int32)
    bias_scales = np.float32(input_.scale) * scales
    return filter_, builder.tensor(bias.shape, "int32", scale=bias_scales, data=bias)


def draw_conv2d(rng, modes=("SAME", "VALID"), depthwise=False):
    geometry = Geometry.draw(rng, modes)
    pads = geometry.pads(rng)
    channels = int(rng.integers(1, 41))
    repeats = int(rng.choice([1, 1, 1, 2, 3])) if depthwise else 0
    outputs = channels * repeats if depthwise else int(rng.integers(1, 41))
    shape = (1, *geometry.kernel, outputs) if depthwise else (outputs, *geometry.kernel, channels)
    terms = int(np.prod(geometry.kernel)) * (1 if depthwise else channels)

    narrow = rng.random() < 0.15
    input_ = draw_quantization(rng)
    ifmap = draw_tensor(rng, (*geometry.shape, channels), input_.zero_point, narrow)
    weights, deviation = draw_weights(rng, shape, terms, ifmap, input_.zero_point, narrow)
    bias = draw_bias(rng, outputs, deviation)
    scales = draw_filter_scales(rng, outputs)
    activation, code = draw_activation(rng)
    output = draw_output(rng, input_, scales, deviation, activation)

    builder = Builder()
    source = padded = builder.tensor(ifmap.shape, scale=input_.scale, zero_point=input_.zero_point)
    if geometry.mode == "PAD":
        padded = add_padding(builder, source, ifmap.shape, pads, input_)
    constants = add_filter(builder, weights, bias, input_, scales, axis=3 if depthwise else 0)
    result = builder.tensor(
        (geometry.shape[0], *geometry.output(pads), outputs),
        scale=output.scale,
        zero_point=output.zero_point,
    )
    options = geometry.options() | {"fusedActivationFunction": code}
    if depthwise:
        options["depthMultiplier"] = repeats
    name = "DEPTHWISE_CONV_2D" if depthwise else "CONV_2D"
    builder.operator(name, (padded, *constants), result, **options)

    parameters = ops.requantization(input_, scales, output, activation)
    layer = ops.depthwise_conv2d if depthwise else ops.conv2d
    filter_ = weights[0] if depthwise else weights
    return Layer(
        builder.pack([source], result),
        (ifmap,),
        lambda: layer(
            ifmap, filter_, bias, input_.zero_point, parameters, geometry.stride, pads
        ),
        clamp=(parameters.minimum, parameters.maximum),
        text=f"{geometry} pads={pads} filter={filter_.shape} {activation} {input_} {output}",
        parameters=parameters,
    )


def add_padding(builder, source, shape, pads, quantization):
    """Add a PAD operator (it fills with the zero point) and return its output's index."""
    table = [(0, 0), pads[:2], pads[2:], (0, 0)]
    amounts = builder.tensor((4, 2), "int32", data=np.int32(table))
    padded = builder.tensor(
        np.add(shape, np.sum(table, axis=1)),
        scale=quantization.scale,
        zero_point=quantization.zero_point,
    )
    builder.operator("PAD", (source, amounts), padded)
    return padded


def draw_padded_conv2d(rng):
    return draw_conv2d(rng, modes=("PAD",))


def draw_depthwise_conv2d(rng):
    return draw_conv2d(rng, modes=("SAME", "VALID", "PAD"), depthwise=True)


def rescale_in_double(sums, factors, parameters):
    """Rescale `sums` as LiteRT's fully connected kernel does since TensorFlow 2.20.

    Alone among the int8 kernels it multiplies in double and rounds once, half away from zero
    (LiteRT issue 8567). Used here so that its sums and scales still check ours, exactly.
    """
    scaled = sums * factors
    rounded = np.copysign(np.floor(np.abs(scaled) + 0.5), scaled) + parameters.zero_point
    return np.clip(rounded, parameters.minimum, parameters.maximum).astype(np.int8)


def draw_fully_connected(rng):
    inputs, outputs = int(rng.integers(1, 1500)), int(rng.integers(1, 41))
    narrow = rng.random() < 0.15
    input_ = draw_quantization(rng)
    ifmap = draw_tensor(rng, (int(rng.integers(1, 5)), inputs), input_.zero_point, narrow)
    weights, deviation = draw_weights(
        rng, (outputs, inputs), inputs, ifmap, input_.zero_point, narrow
    )
    bias = draw_bias(rng, outputs, deviation)
    scales = draw_filter_scales(rng, outputs if rng.random() < 0.5 else 1)
    activation, code = draw_activation(rng)
    output = draw_output(rng, input_, scales, deviation, activation)

    builder = Builder()
    source = builder.tensor(ifmap.shape, scale=input_.scale, zero_point=input_.zero_point)
    constants = add_filter(builder, weights, bias, input_, scales, axis=0)
    result = builder.tensor(
        (len(ifmap), outputs), scale=output.scale, zero_point=output.zero_point
    )
    builder.operator("FULLY_CONNECTED", (source, *constants), result, fusedActivationFunction=code)
    parameters = ops.requantization(input_, scales, output, activation)

    def litert():
        folded = ops.fold_zero_point(bias, weights, input_.zero_point)
        sums = ops.accumulate(ops.fully_connected_sums(ifmap, weights), folded)
        return rescale_in_double(
            sums, input_.scale * scales.astype(float) / output.scale, parameters
        )

    return Layer(
        builder.pack([source], result),
        (ifmap,),
        lambda: ops.fully_connected(ifmap, weights, bias, input_.zero_point, parameters),
        litert=litert,
        clamp=(parameters.minimum, parameters.maximum),
        text=f"filter={weights.shape} scales={len(scales)} {activation} {input_} {output}",
    )


def draw_pool2d(rng, name, layer):
    geometry = Geometry.draw(rng, ("SAME", "VALID"), taps=4)
    pads = geometry.pads(rng)
    channels = int(rng.integers(1, 41))
    quantization = draw_quantization(rng)
    ifmap = draw_tensor(rng, (*geometry.shape, channels), quantization.zero_point, False)
    activation, code = draw_activation(rng)
    clamp = ops.activation_range(activation, quantization)

    builder = Builder()
    both = {"scale": quantization.scale, "zero_point": quantization.zero_point}
    source = builder.tensor(ifmap.shape, **both)
    result = builder.tensor((geometry.shape[0], *geometry.output(pads), channels), **both)
    height, width = geometry.kernel
    options = geometry.options() | {"filterHeight": height, "filterWidth": width}
    builder.operator(name, [source], result, fusedActivationFunction=code, **options)
    return Layer(
        builder.pack([source], result),
        (ifmap,),
        lambda: layer(ifmap, geometry.kernel, geometry.stride, pads, *clamp),
        clamp=clamp,
        text=f"{geometry} pads={pads} channels={channels} {activation} {quantization}",
    )


def draw_average_pool2d(rng):
    return draw_pool2d(rng, "AVERAGE_POOL_2D", ops.average_pool2d)


def draw_max_pool2d(rng):
    return draw_pool2d(rng, "MAX_POOL_2D", ops.max_pool2d)


def draw_add(rng):
    """An ADD, of any shape or of every int8 value to every other."""
    shape = tuple(map(int, rng.integers(1, 12, 3))) + (int(rng.integers(1, 41)),)
    activation, code = draw_activation(rng)
    first = draw_quantization(rng)
    if rng.random() < 0.3:  # scales in tenths of each other: sums that are all but ties
        second = draw_quantization(rng, first.scale * rng.integers(1, 10) / 10)
        output = draw_quantization(rng, first.scale)
    else:
        second = draw_quantization(rng)
        larger = max(first.scale, second.scale)
        output = draw_quantization(rng, larger * np.exp(rng.uniform(np.log(0.5), np.log(6))))
    if rng.random() < 0.5:
        values = np.arange(-128, 128).astype(np.int8)
        maps = tuple(x.reshape(1, 64, 64, 16) for x in np.meshgrid(values, values))
    else:
        maps = tuple(draw_tensor(rng, shape, q.zero_point, False) for q in (first, second))

    builder = Builder()
    *sources, result = (
        builder.tensor(maps[0].shape, scale=q.scale, zero_point=q.zero_point)
        for q in (first, second, output)
    )
    # The 16-bit flag does not matter to int8; false is what converters write there.
    builder.operator("ADD", sources, result, fusedActivationFunction=code, potScaleInt16=False)
    parameters = ops.add_parameters(first, second, output, activation)
    return Layer(
        builder.pack(sources, result),
        maps,
        lambda: ops.add(*maps, parameters),
        clamp=(parameters.output.minimum, parameters.output.maximum),
        text=f"{maps[0].shape} {activation} {first} {second} {output}",
    )


def draw_requantize(rng):
    """A QUANTIZE operator, from int32 sums of any magnitude or from int8 to another scale."""
    shape = tuple(map(int, rng.integers(1, 12, 4)))
    output = draw_quantization(rng)
    builder = Builder()
    if rng.random() < 0.5:
        bits = int(rng.integers(6, 32))
        values = rng.integers(-(2**bits), 2**bits, shape).astype(np.int32)
        scale = float(np.float32(output.scale * 2.0 ** (8 - bits) * rng.uniform(0.5, 1)))
        source, zero_point = builder.tensor(shape, "int32", scale=scale), 0
    else:
        scale = float(np.float32(output.scale * np.exp(rng.uniform(-1, 1))))
        zero_point = draw_zero_point(rng)
        values = draw_tensor(rng, shape, zero_point, False)
        source = builder.tensor(shape, scale=scale, zero_point=zero_point)
    result = builder.tensor(shape, scale=output.scale, zero_point=output.zero_point)
    builder.operator("QUANTIZE", [source], result)
    parameters = ops.requantization(ops.Quantization(scale, zero_point), 1.0, output)
    return Layer(
        builder.pack([source], result),
        (values,),
        lambda: ops.requantize(values.astype(np.int64) - zero_point, parameters),
        text=f"{values.dtype} {shape} scale={scale} zero_point={zero_point} {output}",
    )
