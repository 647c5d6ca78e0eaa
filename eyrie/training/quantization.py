# SPDX-License-Identifier: Apache-2.0
"""Float weights -> int8 .tflite, by post-training quantisation calibrated on training images.

In order:
1. folds each batch norm into the convolution before it;
2. folds the input's mean and standard deviation into the first convolution, so that the network's
   input is the pixel itself (minus 128). Its zero point is the grey value nearest to the mean, so
   that the zero padding the network was trained with stays (nearly) a padding with the mean;
3. runs calibration images and gives each activation the scale with the least squared error;
4. rounds weights (one scale per output channel; the classifier, one in all) and biases.

PyTorch pads a 3x3 convolution of stride 2 by (1, 1), TFLite's SAME would by (0, 1): those layers
become PAD and a VALID convolution.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from eyrie.training import cifar10
from eyrie.training.float_network import MobileNetV1
from eyrie.training.tflite_writer import SAME, VALID, Quant, TfliteBuilder

GREY = round(255 * float(np.mean(cifar10.MEAN)))  # the pixel value that stands for a real zero
INPUT = Quant(1 / 255, GREY - 128)
LEVELS = 255  # steps of an int8 activation
CALIBRATION_IMAGES = 1024
CANDIDATES = np.linspace(0.3, 1.0, 71)  # clipping ranges tried, as fractions of the largest value
SAMPLES = 1_000_000  # values of one activation that its scale is chosen from
BIAS_LIMIT = 2**24  # keeps sums far from int32's ends even for a channel with hardly any weight


@dataclass
class Layer:
    """A convolution with everything folded in: weight float32 [M, C / groups, R, S], bias [M]."""

    name: str
    weight: torch.Tensor
    bias: torch.Tensor
    stride: int = 1
    groups: int = 1
    relu: bool = True

    @property
    def depthwise(self) -> bool:
        return self.groups > 1

    @property
    def pads(self) -> bool:
        """Return whether TFLite needs a PAD operator to place the kernel as PyTorch does."""
        return self.stride > 1 and self.weight.shape[2] > 1


def fold(model: MobileNetV1) -> list[Layer]:
    """Return the network's layers, batch norms and the input's mean and deviation folded in."""
    modules = [("conv0", *_with_norm(model.conv1, 0))]
    for index, block in enumerate(model.layers, 1):
        modules.append((f"block{index}/depthwise", *_with_norm(block, 0)))
        modules.append((f"block{index}/pointwise", *_with_norm(block, 3)))
    layers = []
    for name, conv, norm in modules:
        average, variance = norm.running_mean, norm.running_var
        assert average is not None and variance is not None  # a batch norm keeps both unless it is told not to
        gain = norm.weight / torch.sqrt(variance + norm.eps)
        weight, bias = conv.weight * gain[:, None, None, None], norm.bias - average * gain
        layers.append(Layer(name, weight, bias, conv.stride[0], conv.groups))
    layers.append(Layer("fc", model.fc.weight[:, :, None, None], model.fc.bias, relu=False))
    mean, std = torch.tensor(cifar10.MEAN), torch.tensor(cifar10.STD)
    offset = (GREY / 255 - mean) / std  # value of the old input for a real zero of the new one
    first = layers[0]
    first.bias = first.bias + (first.weight.sum((2, 3)) * offset).sum(1)
    first.weight = first.weight / std[:, None, None]
    return layers


def _with_norm(layers: nn.Module, place: int) -> tuple[nn.Conv2d, nn.BatchNorm2d]:
    """Return a convolution of several layers, and the batch norm after it."""
    assert isinstance(layers, nn.Sequential)
    conv, norm = layers[place], layers[place + 1]
    assert isinstance(conv, nn.Conv2d) and isinstance(norm, nn.BatchNorm2d)
    return conv, norm


def forward(layers: list[Layer], x: torch.Tensor) -> Iterator[torch.Tensor]:
    """Yield each layer's float32 output [N, M, E, F]; x: real inputs [N, 3, 32, 32]."""
    for layer in layers:
        if layer.name == "fc":
            x = x.mean((2, 3), keepdim=True)
        pad = layer.weight.shape[2] // 2
        x = functional.conv2d(x, layer.weight, layer.bias, layer.stride, pad, groups=layer.groups)
        x = x.relu() if layer.relu else x
        yield x


def best_range(values: np.ndarray) -> float:
    """Return the clipping range whose rounding plus clipping error is least; values >= 0."""
    errors = []
    for top in CANDIDATES * values.max():
        rounded = np.minimum(np.rint(values * (LEVELS / top)), LEVELS) * (top / LEVELS)
        errors.append(np.square(rounded - values).mean(dtype=np.float64))
    return float(CANDIDATES[np.argmin(errors)] * values.max())


def calibrate(layers: list[Layer], images: np.ndarray) -> list[Quant]:
    """Return each layer's output quantisation from uint8 training images [N, 32, 32, 3].

    A ReLU's output spans the whole int8 range from its zero, -128. The logits keep their full range
    on both sides.
    """
    x = (torch.as_tensor(images).float() - GREY).permute(0, 3, 1, 2) * INPUT.scale
    random = np.random.default_rng(0)
    quants = []
    for layer, out in zip(layers, forward(layers, x)):
        values = out.numpy().ravel()
        if not layer.relu:
            low, high = float(values.min()), float(values.max())
            scale = (high - low) / LEVELS
            quants.append(Quant(scale, round(-128 - low / scale)))
            continue
        if values.size > SAMPLES:
            values = values[random.integers(0, values.size, SAMPLES)]
        quants.append(Quant(best_range(values) / LEVELS, -128))
    return quants


def quantize_layer(layer: Layer, input_scale: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return weight int8 [M, C, R, S], weight scales float32 [M], bias int32 [M]."""
    weight, bias = layer.weight.double().numpy(), layer.bias.double().numpy()
    largest, floor = np.abs(weight).max((1, 2, 3)), np.abs(bias)
    scale = np.maximum(largest / 127, floor / (input_scale * BIAS_LIMIT))
    scale = scale.astype(np.float32)
    rounded = np.rint(weight / scale.reshape(-1, 1, 1, 1)).clip(-127, 127)
    bias = np.rint(bias / (np.float32(input_scale) * scale))
    return rounded.astype(np.int8), scale, bias.astype(np.int32)


def write(layers: list[Layer], quants: list[Quant]) -> bytes:
    """Return the int8 network as a .tflite file; its input: int8 [1, 32, 32, 3], pixel - 128.

    The classifier is a 1x1 CONV_2D, as in the original MobileNetV1 files: some TFLite versions round
    FULLY_CONNECTED in another way than their other kernels, and than the specification.
    """
    net = TfliteBuilder("MobileNetV1 for CIFAR-10, int8")
    x = net.input("image", (1, 32, 32, 3), INPUT)
    for layer, out in zip(layers, quants):
        if layer.name == "fc":
            x = net.average_pool("pool", x, size=x.shape[1], stride=x.shape[1])
        weight, scale, bias = quantize_layer(layer, x.quant.scale)
        if layer.pads:
            x = net.pad(f"{layer.name}/pad", x, 1, 1, 1, 1)
        add = net.depthwise if layer.depthwise else net.conv
        order = (1, 2, 3, 0) if layer.depthwise else (0, 2, 3, 1)
        x = add(
            layer.name,
            x,
            weight.transpose(order),
            scale,
            bias,
            out,
            layer.stride,
            padding=VALID if layer.pads else SAME,
            relu=layer.relu,
        )
    return net.build([x])
