# SPDX-License-Identifier: Apache-2.0
"""Random ADD, SUB, SQUARED_DIFFERENCE, MUL, MAXIMUM, MINIMUM and PRELU, with tensors that broadcast."""

import numpy as np

from eyrie.model.operators import elementwise
from eyrie.model.operators.quantization import INT8_MAX, INT8_MIN, activation_range
from tb.common.random_operators.drawing import (
    activation,
    chance,
    draw_activation,
    draw_quantization,
    draw_shape,
    draw_values,
    graph,
    result,
    whole,
)


def draw_shapes(rng):
    """Two shapes that broadcast: equal in half of the draws, else with axes of size 1 in one or both, or fewer axes."""
    shape = np.array(draw_shape(rng, 1, 4))
    if chance(rng, 0.5):
        return tuple(shape), tuple(shape)
    first, second = shape.copy(), shape.copy()
    kind = str(rng.choice(["channels", "scalar", "one", "both"]))
    if kind == "channels":
        second[:-1] = 1
    elif kind == "scalar":
        second[:] = 1
    else:
        second[rng.random(len(shape)) < 0.5] = 1
        if kind == "both":
            first[rng.random(len(shape)) < 0.5] = 1
    # Leading axes of size 1 may be left out.
    if len(shape) > 1 and second[0] == 1 and chance(rng, 0.5):
        second = second[whole(rng, 1, int(np.argmax(np.append(second, 2) != 1))) :]
        second = second if len(second) else np.ones(1, int)
    shapes = tuple(map(int, first)), tuple(map(int, second))
    return shapes if chance(rng, 0.5) else shapes[::-1]


def draw_maps(rng, quantizations):
    """Two operands: of shapes that broadcast, or every int8 value with every other."""
    if chance(rng, 0.3):
        values = np.arange(-128, 128).astype(np.int8)
        return tuple(x.reshape(1, 64, 64, 16) for x in np.meshgrid(values, values))
    return tuple(
        draw_values(rng, shape, quantization.zero_point)
        for shape, quantization in zip(draw_shapes(rng), quantizations, strict=True)
    )


def draw_binary(rng, name, kind="int8", same=False):
    """An operator of two tensors; with `same` quantisations are."""
    first = draw_quantization(rng)
    if chance(rng, 0.3):  # scales in tenths of each other: sums that are all but ties
        second = draw_quantization(rng, first.scale * rng.integers(1, 10) / 10)
        output = draw_quantization(rng, first.scale)
    else:
        second = draw_quantization(rng)
        larger = max(first.scale, second.scale)
        output = draw_quantization(rng, larger * np.exp(rng.uniform(np.log(0.5), np.log(6))))
    if name == "MUL":
        output = draw_quantization(rng, first.scale * second.scale * np.exp(rng.uniform(np.log(8), np.log(200))))
    if same:
        second = output = first
    elif name == "SQUARED_DIFFERENCE":
        output = draw_quantization(
            rng, max(first.scale, second.scale) ** 2 * np.exp(rng.uniform(np.log(8), np.log(200)))
        )
    maps = draw_maps(rng, (first, second))
    plain = same or name == "SQUARED_DIFFERENCE"  # which has no activation
    fused, code = ("NONE", 0) if plain else draw_activation(rng)
    golden, clamp = _golden(name, maps, (first, second, output), fused)
    shape = elementwise.broadcast(*maps)
    fixed = int(rng.integers(2)) if chance(rng, 0.3) else None  # which operand is a constant
    # The 16-bit flag does not matter to int8; false is what converters write there.
    flags = {"potScaleInt16": False} if name in ("ADD", "SUB") else {}
    return graph(
        name,
        [
            activation(values, quantization, kind, place == fixed)
            for place, (values, quantization) in enumerate(zip(maps, (first, second), strict=True))
        ],
        [result(shape, output, kind)],
        golden,
        clamp=clamp,
        **flags,
        **({} if plain else {"fusedActivationFunction": code}),
    )


def _golden(name, maps, quantizations, fused):
    """What the golden model gives for a reference, and the clamp."""
    first, second, output = quantizations
    if name in ("MAXIMUM", "MINIMUM"):
        layer = elementwise.maximum if name == "MAXIMUM" else elementwise.minimum
        return lambda _: layer(*maps), (INT8_MIN, INT8_MAX)

    def golden(reference):
        if name == "MUL":
            parameters = elementwise.mul_requantization(*quantizations, fused, reference)
            return elementwise.mul(*maps, (first.zero_point, second.zero_point), parameters)
        if name == "SQUARED_DIFFERENCE":
            return elementwise.squared_difference(*maps, elementwise.square_parameters(*quantizations))
        layer = elementwise.add if name == "ADD" else elementwise.sub
        return layer(*maps, elementwise.add_parameters(*quantizations, fused))

    return golden, activation_range(fused, output)


def draw_prelu(rng, kind="int8"):
    input_, alpha = draw_quantization(rng), draw_quantization(rng)
    output = draw_quantization(rng, input_.scale * np.exp(rng.uniform(-1, 1)))
    shape = draw_shape(rng, 2, 4, 12)
    slopes = np.array(shape)[whole(rng, 0, len(shape) - 1) :]
    slopes[:-1][rng.random(len(slopes) - 1) < 0.6] = 1
    values = draw_values(rng, shape, input_.zero_point)
    factors = draw_values(rng, tuple(slopes), alpha.zero_point)
    zero_points = input_.zero_point, alpha.zero_point

    def golden(reference):
        parameters = elementwise.prelu_parameters(input_, alpha, output, reference)
        return elementwise.prelu(values, factors, zero_points, parameters)

    return graph(
        "PRELU",
        [activation(values, input_, kind), activation(factors, alpha, kind, constant=chance(rng, 0.8))],
        [result(shape, output, kind)],
        golden,
    )


OPERATORS = {
    "ADD": lambda rng: draw_binary(rng, "ADD"),
    "ADD uint8": lambda rng: draw_binary(rng, "ADD", "uint8"),
    "SUB": lambda rng: draw_binary(rng, "SUB"),
    "SUB uint8": lambda rng: draw_binary(rng, "SUB", "uint8"),
    "SQUARED_DIFFERENCE": lambda rng: draw_binary(rng, "SQUARED_DIFFERENCE"),
    "MUL": lambda rng: draw_binary(rng, "MUL"),
    "MUL uint8": lambda rng: draw_binary(rng, "MUL", "uint8"),
    "MAXIMUM": lambda rng: draw_binary(rng, "MAXIMUM", same=True),
    "MINIMUM": lambda rng: draw_binary(rng, "MINIMUM", same=True),
    "PRELU": draw_prelu,
    "PRELU uint8": lambda rng: draw_prelu(rng, "uint8"),
}
