# SPDX-License-Identifier: Apache-2.0
"""Random AVERAGE_POOL_2D, MAX_POOL_2D and MEAN."""

import numpy as np

from eyrie.model.operators import pooling
from eyrie.model.operators.quantization import activation_range
from tb.common.random_operators.convolution import Geometry
from tb.common.random_operators.drawing import (
    activation,
    chance,
    constant,
    draw_activation,
    draw_quantization,
    draw_shape,
    draw_values,
    graph,
    result,
    whole,
)


def draw_pool2d(rng, name, kind="int8"):
    geometry = Geometry.draw(rng, ("SAME", "VALID"), taps=7, dilations=(1,))
    pads = geometry.pads(rng)
    quantization = draw_quantization(rng)
    ifmap = draw_values(rng, (*geometry.shape, whole(rng, 1, 24)), quantization.zero_point, chance(rng, 0.2))
    fused, code = draw_activation(rng)
    clamp = activation_range(fused, quantization)

    def golden(_):
        window = geometry.kernel, geometry.stride, pads
        if name == "MAX_POOL_2D":
            return pooling.max_pool2d(ifmap, *window, *clamp)
        return pooling.average_pool2d(ifmap, *window, *clamp, ties_up=kind == "uint8")

    height, width = geometry.kernel
    return graph(
        name,
        [activation(ifmap, quantization, kind)],
        [result((geometry.shape[0], *geometry.output(pads), ifmap.shape[-1]), quantization, kind)],
        golden,
        clamp=clamp,
        fusedActivationFunction=code,
        filterHeight=height,
        filterWidth=width,
        **geometry.options,
    )


def draw_mean(rng, kind="int8"):
    """Over some of the axes; one in five keeps the quantisation, one has many values."""
    shape = draw_shape(rng, 1, 4, 9 if chance(rng, 0.8) else 20)
    input_ = draw_quantization(rng)
    factor = 1 if chance(rng, 0.2) else np.exp(rng.uniform(-2, 1.5))
    output = input_ if factor == 1 else draw_quantization(rng, input_.scale * factor)
    count = whole(rng, 1, len(shape))
    axes = rng.choice(len(shape), count, replace=False)
    if len(shape) == 4 and chance(rng, 0.4):
        axes = np.array([1, 2])
    keep_dims = chance(rng, 0.5)
    values = draw_values(rng, shape, input_.zero_point, chance(rng, 0.2))
    made = pooling.mean(values, axes, keep_dims, input_, output)
    from_end = [int(axis) - (len(shape) if chance(rng, 0.3) else 0) for axis in axes]
    return graph(
        "MEAN",
        [activation(values, input_, kind), constant(np.int32(from_end))],
        [result(made.shape, output, kind)],
        lambda _: pooling.mean(values, axes, keep_dims, input_, output),
        keepDims=keep_dims,
    )


OPERATORS = {
    "AVERAGE_POOL_2D": lambda rng: draw_pool2d(rng, "AVERAGE_POOL_2D"),
    "AVERAGE_POOL_2D uint8": lambda rng: draw_pool2d(rng, "AVERAGE_POOL_2D", "uint8"),
    "MAX_POOL_2D": lambda rng: draw_pool2d(rng, "MAX_POOL_2D"),
    "MAX_POOL_2D uint8": lambda rng: draw_pool2d(rng, "MAX_POOL_2D", "uint8"),
    "MEAN": draw_mean,
    "MEAN uint8": lambda rng: draw_mean(rng, "uint8"),
}
