# SPDX-License-Identifier: Apache-2.0
"""ResNet-50 (He et al., arXiv:1512.03385) for 224 x 224 pictures, with random weights.

The stride of a block is in its 3x3 convolution. The outputs have no meaning, but every layer uses its whole range of
values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eyrie.measure.networks.mobilenets import Layers

if TYPE_CHECKING:  # which takes a while to import
    from eyrie.training.tflite_writer import Tensor

STAGES = ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2))  # channels of a block's 3x3 convolution, blocks, stride
EXPANSION = 4
SIZE = 224


def model(size: int = SIZE, seed: int = 1) -> bytes:
    """Return the .tflite file; `size` is the number of rows and columns of the picture."""
    layers = Layers("resnet50", size, seed)
    x = layers.conv(layers.input, 64, 7, 2)
    x = layers.net.max_pool("pool", x, 3, 2, "SAME")
    for channels, blocks, stride in STAGES:
        for block in range(blocks):
            x = _block(layers, x, channels, stride if block == 0 else 1)
    return layers.classified(x)


def _block(layers: Layers, x: Tensor, channels: int, stride: int) -> Tensor:
    """Add a block of three convolutions, plus its input, or plus a 1x1 convolution of the input if shapes differ."""
    made = EXPANSION * channels
    shortcut = layers.conv(x, made, 1, stride, relu=0) if x.shape[3] != made or stride > 1 else x
    inner = layers.conv(layers.conv(x, channels), channels, 3, stride)
    return layers.add(shortcut, layers.conv(inner, made, relu=0), relu=6)
