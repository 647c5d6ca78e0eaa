# SPDX-License-Identifier: Apache-2.0
"""Float weights -> int8 .tflite, by post-training quantisation calibrated on training images.

In order:
1. folds each batch norm into the convolution before it;
2. folds the input's mean and standard deviation into the first convolution, so that the network's
   input is the pixel itself (minus 128). Its zero point is the grey value nearest to the mean, so
   that the zero padding the network was trained with stays (nearly) a padding with the mean;
3. runs calibration images and gives each activation the scale with the least squared error;
4. rounds weights (one scale per output channel; the classifier, one in all) and biases. Layers may have fewer bits
   than eight, or a share of weights that are zero: rounding.py.

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
from eyrie.training.rounding import clipping_scale, input_products, round_weights
from eyrie.training.tflite_writer import SAME, VALID, Quant, TfliteBuilder

GREY = round(255 * float(np.mean(cifar10.MEAN)))  # the pixel value that stands for a real zero
INPUT = Quant(1 / 255, GREY - 128)
LEVELS = 255  # steps of an int8 activation
CALIBRATION_IMAGES = 1024
CANDIDATES = np.linspace(0.3, 1.0, 71)  # clipping ranges tried, as fractions of the largest value
SAMPLES = 1_000_000  # values of one activation that its scale is chosen from
WEIGHT_BITS = 8
BIAS_LIMIT = 2**24  # keeps sums far from int32's ends even for a channel with hardly any weight


@dataclass(frozen=True)
class Rounded:
    """A layer in whole numbers: weight int8 [M, C / groups, R, S], its scales float32 [M], bias int32 [M]."""

    weight: np.ndarray
    scale: np.ndarray
    bias: np.ndarray


@dataclass
class Layer:
    """A convolution with everything folded in: weight float32 [M, C / groups, R, S], bias [M]."""

    name: str
    weight: torch.Tensor
    bias: torch.Tensor
    stride: int = 1
    groups: int = 1
    relu: bool = True
    bits: int = WEIGHT_BITS
    zeros: float = 0.0  # the fraction of the weights that become zero at least

    @property
    def smaller(self) -> bool:
        """Return whether its weights take fewer bits, once coded, than plain rounding gives them."""
        return self.bits < WEIGHT_BITS or self.zeros > 0

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
        x = _output(layer, _input(layer, x), layer.weight)
        yield x


def _input(layer: Layer, x: torch.Tensor) -> torch.Tensor:
    """Return the input of a layer, from the output of the layer before it."""
    return x.mean((2, 3), keepdim=True) if layer.name == "fc" else x


def _output(layer: Layer, x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """Return a layer's output with other weights."""
    x = functional.conv2d(x, weight, layer.bias, layer.stride, weight.shape[2] // 2, groups=layer.groups)
    return x.relu() if layer.relu else x


def real(images: np.ndarray) -> torch.Tensor:
    """Return the real inputs, float32 [N, 3, 32, 32], of uint8 images [N, 32, 32, 3]."""
    return (torch.as_tensor(images).float() - GREY).permute(0, 3, 1, 2) * INPUT.scale


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
    random = np.random.default_rng(0)
    quants = []
    for layer, out in zip(layers, forward(layers, real(images))):
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


def quantize(layers: list[Layer], quants: list[Quant], images: np.ndarray) -> list[Rounded]:
    """Return the layers in whole numbers; quants and images: of `calibrate`.

    The images pass the quantised layers as far as the last layer with smaller weights.
    """
    last = max((place for place, layer in enumerate(layers) if layer.smaller), default=-1)
    x, quant, rounded = real(images), INPUT, []
    for place, (layer, out) in enumerate(zip(layers, quants)):
        if place <= last:
            x = _input(layer, x)
        rounded.append(quantize_layer(layer, quant.scale, x if layer.smaller else None))
        if place < last:
            scale = torch.from_numpy(rounded[-1].scale).reshape(-1, 1, 1, 1)
            x = _output(layer, x, torch.from_numpy(rounded[-1].weight) * scale)
            x = (x / out.scale + out.zero_point).round().clamp(-128, 127).sub(out.zero_point) * out.scale
        quant = out
    return rounded


def quantize_layer(layer: Layer, input_scale: float, x: torch.Tensor | None) -> Rounded:
    """Return a layer in whole numbers. x: its real inputs [N, C, H, W], where its weights become smaller."""
    weight, bias = layer.weight.double(), layer.bias.double().numpy()
    largest, floor = 2 ** (layer.bits - 1) - 1, torch.from_numpy(np.abs(bias) / (input_scale * BIAS_LIMIT))
    if x is None:
        scale = torch.maximum(weight.abs().amax((1, 2, 3)) / largest, floor).float()
        rounded = (weight / scale.reshape(-1, 1, 1, 1)).round().clamp(-largest, largest)
    else:
        rows = weight.reshape(layer.groups, -1, weight[0].numel())
        scale = torch.maximum(clipping_scale(rows, largest).flatten(), floor).float()
        products = input_products(x, weight.shape[2], layer.stride, layer.groups)
        columns = scale.double().reshape(layer.groups, -1, 1)
        rounded = round_weights(rows, products, columns, largest, layer.zeros).reshape(weight.shape)
    scales = scale.numpy()
    bias = np.rint(bias / (np.float32(input_scale) * scales))
    return Rounded(rounded.numpy().astype(np.int8), scales, bias.astype(np.int32))


def write(layers: list[Layer], quants: list[Quant], rounded: list[Rounded]) -> bytes:
    """Return the int8 network as a .tflite file; its input: int8 [1, 32, 32, 3], pixel - 128.

    The classifier is a 1x1 CONV_2D, as in the original MobileNetV1 files: some TFLite versions round
    FULLY_CONNECTED in another way than their other kernels, and than the specification.
    """
    net = TfliteBuilder("MobileNetV1 for CIFAR-10, int8")
    x = net.input("image", (1, 32, 32, 3), INPUT)
    for layer, out, values in zip(layers, quants, rounded):
        if layer.name == "fc":
            x = net.average_pool("pool", x, size=x.shape[1], stride=x.shape[1])
        if layer.pads:
            x = net.pad(f"{layer.name}/pad", x, 1, 1, 1, 1)
        add = net.depthwise if layer.depthwise else net.conv
        order = (1, 2, 3, 0) if layer.depthwise else (0, 2, 3, 1)
        x = add(
            layer.name,
            x,
            values.weight.transpose(order),
            values.scale,
            values.bias,
            out,
            layer.stride,
            padding=VALID if layer.pads else SAME,
            relu=layer.relu,
        )
    return net.build([x])
