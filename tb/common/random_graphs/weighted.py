# SPDX-License-Identifier: Apache-2.0
"""CONV_2D, DEPTHWISE_CONV_2D, FULLY_CONNECTED and pools, of any window and any pads."""

import numpy as np

from tb.common.random_graphs.net import LARGEST
from tb.common.random_operators.convolution import Geometry, Weights, draw_output
from tb.common.random_operators.drawing import chance, constant, draw_activation, draw_values, whole

FILTERS = (1, 3, 8, 10, 16, 24, 40)


def _weighted(net, x, name, shape, axis, terms, made, **options):
    """An operator with filters of a shape."""
    sample = draw_values(net.rng, (64,), x.quantization.zero_point)
    weights = Weights.draw(net.rng, shape, axis, terms, sample, x.quantization, net.kind, chance(net.rng, 0.1))
    fused, code = draw_activation(net.rng)
    output = draw_output(net.rng, x.quantization, weights.scales, weights.deviation, fused)
    return net.add(
        name,
        [x],
        [(made, output)],
        weights.operands(x.quantization, net.kind, axis),
        fusedActivationFunction=code,
        **options,
    )[0]


def _geometry(net, x, taps=5, dilations=(1, 1, 1, 2, 3)):
    """A map, perhaps with PAD before it, a window that fits it, and its rows and columns of output."""
    drawn = Geometry.draw(net.rng, ("SAME", "VALID", "PAD"), taps, dilations)
    if drawn.mode == "PAD":
        margins = np.zeros((4, 2), np.int32)
        margins[1:3] = net.rng.integers(0, 4, (2, 2))
        (x,) = net.add("PAD", [x], [(np.add(x.shape, margins.sum(axis=1)), x.quantization)], [constant(margins)])
    geometry = Geometry(
        x.shape[:3], drawn.kernel, drawn.stride, drawn.dilation, "SAME" if drawn.mode == "SAME" else "VALID"
    )
    if min(geometry.output(geometry.pads(net.rng))) <= 0:
        geometry.mode = "SAME"
    return x, geometry, tuple(map(int, geometry.output(geometry.pads(net.rng))))


def conv_2d(net, x, pointwise=False):
    geometry, output = Geometry(x.shape[:3], (1, 1), (1, 1), (1, 1), "VALID"), x.shape[1:3]
    if not pointwise:
        x, geometry, output = _geometry(net, x)
    channels, outputs, groups = x.shape[3], net.one_of(FILTERS), 1
    if channels % 2 == 0 and outputs % 2 == 0 and not pointwise and chance(net.rng, 0.1):
        groups = 2
    terms = int(np.prod(geometry.kernel)) * channels // groups
    return _weighted(
        net,
        x,
        "CONV_2D",
        (outputs, *geometry.kernel, channels // groups),
        0,
        terms,
        (x.shape[0], *output, outputs),
        **geometry.options,
        **geometry.dilations,
    )


def pointwise(net, x):
    return conv_2d(net, x, pointwise=True)


def depthwise_conv_2d(net, x):
    x, geometry, output = _geometry(net, x)
    repeats = int(net.rng.choice([1, 1, 1, 2, 3]))
    outputs = x.shape[3] * repeats
    return _weighted(
        net,
        x,
        "DEPTHWISE_CONV_2D",
        (1, *geometry.kernel, outputs),
        3,
        int(np.prod(geometry.kernel)),
        (x.shape[0], *output, outputs),
        depthMultiplier=repeats,
        **geometry.options,
        **geometry.dilations,
    )


def separable(net, x):
    """A depthwise convolution and a pointwise one."""
    if np.prod((x := depthwise_conv_2d(net, x)).shape) <= LARGEST:
        pointwise(net, x)


def fully_connected(net, x):
    """Of all that an image has, or of the last axis."""
    outputs, shape = whole(net.rng, 1, 40), x.shape
    whole_image, keep = len(shape) == 1 or chance(net.rng, 0.6), chance(net.rng, 0.3)
    inputs = int(np.prod(shape[1:])) if whole_image and len(shape) > 1 else shape[-1]
    keep = keep and not (whole_image and len(shape) > 2)
    made = (*shape[:-1], outputs) if keep else (int(np.prod(shape)) // inputs, outputs)
    return _weighted(net, x, "FULLY_CONNECTED", (outputs, inputs), 0, inputs, made, keepNumDims=keep)


def _pool(name):
    def add(net, x):
        """One in four is over the whole map."""
        x, geometry, output = _geometry(net, x, taps=7, dilations=(1,))
        if chance(net.rng, 0.25):
            geometry, output = Geometry(x.shape[:3], x.shape[1:3], (1, 1), (1, 1), "VALID"), (1, 1)
        height, width = geometry.kernel
        net.add(
            name,
            [x],
            [((x.shape[0], *output, x.shape[3]), x.quantization)],
            fusedActivationFunction=draw_activation(net.rng)[1],
            filterHeight=height,
            filterWidth=width,
            **geometry.options,
        )

    return add


average_pool_2d, max_pool_2d = _pool("AVERAGE_POOL_2D"), _pool("MAX_POOL_2D")


def pooled_pointwise(net, x):
    """A pointwise convolution and the average over its map."""
    x = pointwise(net, x)
    geometry = Geometry(x.shape[:3], x.shape[1:3], (1, 1), (1, 1), "VALID")
    net.add(
        "AVERAGE_POOL_2D",
        [x],
        [((x.shape[0], 1, 1, x.shape[3]), x.quantization)],
        filterHeight=x.shape[1],
        filterWidth=x.shape[2],
        fusedActivationFunction=0,
        **geometry.options,
    )


def mean(net, x):
    """Over some of the axes; one in five keeps the quantisation."""
    rank = len(x.shape)
    axes = net.rng.choice(rank, whole(net.rng, 1, rank), replace=False)
    if rank == 4 and chance(net.rng, 0.4):
        axes = np.array([1, 2])
    keep = chance(net.rng, 0.5)
    shape = tuple(1 if axis in axes else size for axis, size in enumerate(x.shape) if keep or axis not in axes)
    from_end = [int(axis) - (rank if chance(net.rng, 0.3) else 0) for axis in axes]
    output = x.quantization if chance(net.rng, 0.2) else net.near(x)
    net.add("MEAN", [x], [(shape, output)], [constant(np.int32(from_end))], keepDims=keep)
