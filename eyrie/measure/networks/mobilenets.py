# SPDX-License-Identifier: Apache-2.0
"""MobileNetV1 (Howard et al., 2017) and MobileNetV2 (Sandler et al., 2018) of any width and size, with random weights.

`FAMILY` has 26 of them, the benchmark of the accelerator's speed (docs/developer/testbenches.md). Their outputs have no
meaning, but every layer uses its whole range of values, so that clipping hides no error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:  # which takes a while to import
    from eyrie.training.tflite_writer import Quant, Tensor

    Windowed = Callable[[str, Tensor, np.ndarray, np.ndarray, np.ndarray, Quant, int, str, int], Tensor]

Stage = tuple[int, int, int, int, int]  # kernel, expansion, output channels, blocks and stride of the first

CLASSES = 1000
RMS = 50.0  # of a layer's outputs, in counts
# Output channels and stride of MobileNetV1's blocks.
V1 = ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *[(512, 1)] * 5, (1024, 2), (1024, 1))
# Expansion, output channels, blocks and stride of the first of MobileNetV2's stages.
V2 = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))
V2_LAST = 1280


@dataclass(frozen=True)
class Mobilenet:
    """A network of the family. version: 1 or 2; width: factor of the channels (the paper's is 1); size: rows and
    columns.
    """

    version: int
    width: float
    size: int

    @property
    def name(self) -> str:
        return f"mobilenet_v{self.version}_{self.width:.2f}_{self.size}"

    def channels(self, count: int) -> int:
        """Return the channels of a layer that has `count` at width 1."""
        return eighths(count * self.width)

    def model(self, seed: int = 1) -> bytes:
        """Return the .tflite file."""
        return (_v1 if self.version == 1 else _v2)(self, Layers(self.name, self.size, seed))


FAMILY = (
    *(Mobilenet(1, width, size) for width in (0.25, 0.5, 0.75, 1.0) for size in (96, 128, 160, 192, 224)),
    *(Mobilenet(2, width, size) for width in (0.35, 1.0) for size in (96, 160, 224)),
)


def eighths(channels: float) -> int:
    """Return a multiple of 8 near to a number of channels, at most a tenth less (the authors' rule)."""
    rounded = max(8, int(channels + 4) // 8 * 8)
    return rounded + 8 if rounded < 0.9 * channels else rounded


class Layers:
    """Convolutions with random weights on a TfliteBuilder, named by consecutive numbers."""

    def __init__(self, description: str, size: int, seed: int, channels: int = 3) -> None:
        from eyrie.training.tflite_writer import Quant, TfliteBuilder

        self._random, self._quant, self._count = np.random.default_rng(seed), Quant, 0
        self.net = TfliteBuilder(description)
        self.input = self.net.input("image", (1, size, size, channels), Quant(1 / 50, 0))

    def conv(
        self, x: Tensor, filters: int, kernel: int = 1, stride: int = 1, relu: int = 6, padding: str = "SAME"
    ) -> Tensor:
        return self._layer(self.net.conv, x, (filters, kernel, kernel, x.shape[3]), 0, stride, relu, padding)

    def depthwise(self, x: Tensor, stride: int, kernel: int = 3, relu: int = 6) -> Tensor:
        return self._layer(self.net.depthwise, x, (1, kernel, kernel, x.shape[3]), 3, stride, relu)

    def add(self, a: Tensor, b: Tensor, relu: int = 0) -> Tensor:
        self._count += 1
        zero_point = -128 if relu else int(self._random.integers(-9, 10))
        return self.net.add(f"add{self._count}", a, b, self._quant(1.2 * a.quant.scale, zero_point), relu=relu)

    def hard_swish(self, x: Tensor) -> Tensor:
        self._count += 1
        least, most = -3 / 8, 127 * x.quant.scale
        scale = (most - least) / 255
        return self.net.function(
            "HARD_SWISH", f"swish{self._count}", x, self._quant(scale, round(-128 - least / scale))
        )

    def average(self, x: Tensor) -> Tensor:
        """Add the means of all channels, [1, 1, 1, C]."""
        self._count += 1
        return self.net.mean(f"average{self._count}", x, x.quant, keep=True)

    def multiply(self, x: Tensor, factors: Tensor) -> Tensor:
        """Add the product with a factor for each channel."""
        self._count += 1
        return self.net.binary("MUL", f"product{self._count}", x, factors, x.quant)

    def max_pool(self, x: Tensor, size: int, stride: int) -> Tensor:
        self._count += 1
        return self.net.max_pool(f"pool{self._count}", x, size, stride)

    def fully_connected(self, x: Tensor, outputs: int = CLASSES, relu: int = 0) -> Tensor:
        """Add a fully connected layer, by default the classifier without activation; `x` becomes one row."""
        inputs = int(np.prod(x.shape))
        if len(x.shape) > 2:
            self._count += 1
            x = self.net.reshape(f"row{self._count}", x, (1, inputs))
        weight, scale, bias = self._constants((outputs, inputs), inputs, outputs, x.quant.scale)
        if not relu:
            return self.net.fully_connected("classes", x, weight, scale[:1], bias, self._quant(1 / RMS, 0))
        self._count += 1
        made = self._quant(6 / 255, -128)
        return self.net.fully_connected(f"full{self._count}", x, weight, scale[:1], bias, made, relu=relu)

    def classified(self, x: Tensor) -> bytes:
        """Add the mean of each channel and the classifier; return the network."""
        return self.net.build([self.fully_connected(self.net.mean("average", x, x.quant))])

    def _layer(
        self,
        method: Windowed,
        x: Tensor,
        shape: tuple[int, ...],
        axis: int,
        stride: int,
        relu: int,
        padding: str = "SAME",
    ) -> Tensor:
        weight, scale, bias = self._constants(shape, int(np.prod(shape)) // shape[axis], shape[axis], x.quant.scale)
        self._count += 1
        out = self._quant(6 / 255, -128) if relu else self._quant(1 / RMS, int(self._random.integers(-9, 10)))
        return method(f"{method.__name__}{self._count}", x, weight, scale, bias, out, stride, padding, relu)

    def _constants(
        self, shape: tuple[int, ...], taps: int, channels: int, scale: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return random weights, their scales and biases, for which sums of `taps` products have a deviation of about
        1.
        """
        weight = self._random.integers(-127, 128, shape).astype(np.int8)
        scales = self._random.uniform(0.5, 1.5, channels) / (scale * RMS * 73 * np.sqrt(taps))
        bias = self._random.normal(0.5, 0.5, channels) / (scale * scales)
        return weight, scales, np.rint(bias).astype(np.int32)


def _v1(network: Mobilenet, layers: Layers) -> bytes:
    x = layers.conv(layers.input, network.channels(32), 3, 2)
    for filters, stride in V1:
        x = layers.conv(layers.depthwise(x, stride), network.channels(filters))
    x = layers.net.average_pool("average", x, x.shape[1], 1)
    x = layers.conv(x, CLASSES, relu=0)
    return layers.net.build([layers.net.reshape("classes", x, (1, CLASSES))])


def _v2(network: Mobilenet, layers: Layers) -> bytes:
    x = layers.conv(layers.input, network.channels(32), 3, 2)
    stages = [(3, expansion, network.channels(filters), blocks, stride) for expansion, filters, blocks, stride in V2]
    x = inverted_residuals(layers, x, stages)
    x = layers.conv(x, max(V2_LAST, network.channels(V2_LAST)))
    return layers.classified(x)


def inverted_residuals(layers: Layers, x: Tensor, stages: Iterable[Stage]) -> Tensor:
    """Add stages of blocks that expand the channels, run a depthwise kernel over them and reduce them again."""
    for kernel, expansion, filters, blocks, first_stride in stages:
        for block in range(blocks):
            stride, wide = first_stride if block == 0 else 1, x
            if expansion > 1:
                wide = layers.conv(x, expansion * x.shape[3])
            made = layers.conv(layers.depthwise(wide, stride, kernel), filters, relu=0)
            x = layers.add(x, made) if x.shape == made.shape else made
    return x
