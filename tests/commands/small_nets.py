# SPDX-License-Identifier: Apache-2.0
"""Small int8 networks with random weights, as .tflite files."""

import numpy as np

from eyrie.training.tflite_writer import VALID, Quant, TfliteBuilder

INPUT = Quant(1 / 255, -9)


def weights(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.integers(-127, 128, shape).astype(np.int8)


def bias(rng: np.random.Generator, count: int) -> np.ndarray:
    return rng.integers(-2000, 2000, count).astype(np.int32)


def scales(rng: np.random.Generator, count: int) -> np.ndarray:
    return rng.uniform(0.002, 0.01, count).astype(np.float32)


def separable(rng: np.random.Generator, size: int = 8) -> bytes:
    """Convolution, depthwise (padded apart, stride 2), pointwise, average, classifier."""
    net = TfliteBuilder("small")
    x = net.input("image", (1, size, size, 3), INPUT)
    x = net.conv("conv", x, weights(rng, 16, 3, 3, 3), scales(rng, 16), bias(rng, 16), Quant(0.03, -128), relu=True)
    x = net.pad("pad", x, 1, 1, 1, 1)
    x = net.depthwise(
        "depthwise",
        x,
        weights(rng, 1, 3, 3, 16),
        scales(rng, 16),
        bias(rng, 16),
        Quant(0.05, -128),
        stride=2,
        padding=VALID,
        relu=6,
    )
    x = net.conv(
        "pointwise", x, weights(rng, 24, 1, 1, 16), scales(rng, 24), bias(rng, 24), Quant(0.1, -128), relu=True
    )
    x = net.average_pool("pool", x, x.shape[1], x.shape[1])
    x = net.conv("logits", x, weights(rng, 10, 1, 1, 24), scales(rng, 10), bias(rng, 10), Quant(0.2, 3))
    return net.build([x])


def deep() -> bytes:
    """A fully connected layer of more inputs than a small GLB has bytes."""
    rng, inputs, outputs = np.random.default_rng(1), 20_000, 10
    net = TfliteBuilder("deep")
    x = net.input("values", (1, inputs), INPUT)
    filters = weights(rng, outputs, inputs)
    return net.build([net.fully_connected("logits", x, filters, scales(rng, 1), bias(rng, outputs), Quant(0.2, 3))])
