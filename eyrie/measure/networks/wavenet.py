# SPDX-License-Identifier: Apache-2.0
"""WaveNet (van den Oord et al., arXiv:1609.03499), with random weights, as a framework exports it.

The network has stacks of gated residual blocks. A block begins with a causal convolution of two taps, whose dilation
doubles from layer to layer. Half of its channels go through TANH, the other half through LOGISTIC. Their product goes
through two 1x1 convolutions, to the next block and to a sum. Two more layers turn the sum into the output, mean and
scale of each sample (as in Parallel WaveNet, arXiv:1711.10433).

A dilation is exported as data movement around a convolution without dilation: samples become images of a batch and
back. A network of the default size has 124 tensors that such operators make.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from eyrie.model.errors import InputError

TAPS = 2
RMS = 50.0  # of a layer's outputs, in counts


@dataclass(frozen=True)
class Wavenet:
    """A network. stacks: of `layers` blocks each, with dilations 1, 2, 4 ..; samples: a multiple of the largest
    dilation.
    """

    stacks: int = 2
    layers: int = 9
    channels: int = 16
    samples: int = 512

    def __post_init__(self) -> None:
        if self.samples % self.dilations[-1]:
            raise InputError(
                f"--samples {self.samples}: must be a multiple of {self.dilations[-1]}, the largest dilation"
            )

    @property
    def dilations(self) -> tuple[int, ...]:
        """Return the dilations of a stack."""
        return tuple(1 << layer for layer in range(self.layers))


def model(network: Wavenet, seed: int = 1) -> bytes:
    """Return the .tflite file: int8 [1, samples, 1] to two of [1, 1, samples, 1]."""
    net = _Layers(seed)
    audio = net.tensor((1, network.samples, 1), 1 / 50, 0)
    x = net.reshape(audio, (1, 1, network.samples, 1))
    x = net.slice(net.pad(x, 1), x.shape)  # for each sample the one before it
    x = net.conv(net.pad(x, TAPS - 1), network.channels, TAPS)
    total: _Tensor | None = None
    for number, dilation in enumerate(network.dilations * network.stacks, 1):
        product = _gated(net, x, dilation)
        skip = net.conv(product, network.channels)
        if number < network.layers * network.stacks:
            x = net.binary("ADD", x, net.conv(product, network.channels), _grown(x.scale, number))
        total = skip if total is None else net.binary("ADD", total, skip, _grown(total.scale, number))
    assert total is not None  # every network has a layer
    x = net.function("RELU", total)
    x = net.function("RELU", net.conv(x, network.channels))
    return net.builder.pack([audio.index], [half.index for half in net.split(net.conv(x, 2))])


def _grown(scale: float, count: int) -> float:
    """Return the scale of a sum of `count` + 1 similar terms; `scale` is the scale of a sum of `count`."""
    return scale * float(np.sqrt(1 + 1 / count))


def _gated(net: "_Layers", x: "_Tensor", dilation: int) -> "_Tensor":
    """Add the gated convolution of a block."""
    filter_, gate = net.split(_dilated(net, x, dilation))
    return net.binary("MUL", net.function("TANH", filter_), net.function("LOGISTIC", gate), 1 / 128)


def _dilated(net: "_Layers", x: "_Tensor", dilation: int) -> "_Tensor":
    """Add a causal convolution to twice as many channels; every `dilation`-th sample belongs to one image."""
    *_, samples, channels = x.shape
    if dilation == 1:
        return net.conv(net.pad(x, TAPS - 1), 2 * channels, TAPS)
    images = net.transpose(net.reshape(x, (1, samples // dilation, dilation, channels)), (2, 0, 1, 3))
    made = net.conv(net.pad(images, TAPS - 1), 2 * channels, TAPS)
    return net.reshape(net.transpose(made, (1, 2, 0, 3)), (1, 1, samples, 2 * channels))


@dataclass(frozen=True)
class _Tensor:
    index: int
    shape: tuple[int, ...]
    scale: float
    zero_point: int


class _Layers:
    """Operators with random weights."""

    def __init__(self, seed: int) -> None:
        from eyrie.testing.tflite_builder import STEPS, Builder

        self._random, self.builder, self._steps = np.random.default_rng(seed), Builder(), STEPS

    def tensor(self, shape: tuple[int, ...], scale: float, zero_point: int) -> _Tensor:
        return _Tensor(self.builder.tensor(shape, scale=scale, zero_point=zero_point), shape, scale, zero_point)

    def conv(self, x: _Tensor, filters: int, taps: int = 1) -> _Tensor:
        """Add a VALID convolution. Its sums of products have a deviation of about 1."""
        channels, draw = x.shape[3], self._random
        scales = draw.uniform(0.5, 1.5, filters) / (x.scale * RMS * 73 * np.sqrt(taps * channels))
        bias = np.rint(draw.normal(0, 0.5, filters) / (x.scale * scales))
        shape = filters, 1, taps, channels
        weight = self.builder.tensor(shape, scale=scales, data=draw.integers(-127, 128, shape))
        bias = self.builder.tensor((filters,), "int32", x.scale * scales, data=bias)
        made = self.tensor((*x.shape[:2], x.shape[2] - taps + 1, filters), 1 / RMS, int(draw.integers(-9, 10)))
        self.builder.operator("CONV_2D", [x.index, weight, bias], [made.index], padding=1, **self._steps)
        return made

    def function(self, name: str, x: _Tensor) -> _Tensor:
        """Add a function. TANH and LOGISTIC have the scales that TensorFlow Lite requires."""
        scale, zero_point = {"TANH": (1 / 128, 0), "LOGISTIC": (1 / 256, -128)}.get(name, (x.scale, x.zero_point))
        return self._made(name, [x], self.tensor(x.shape, scale, zero_point))

    def binary(self, name: str, a: _Tensor, b: _Tensor, scale: float) -> _Tensor:
        return self._made(name, [a, b], self.tensor(a.shape, scale, int(self._random.integers(-9, 10))))

    def reshape(self, x: _Tensor, shape: tuple[int, ...]) -> _Tensor:
        return self._moved("RESHAPE", x, shape, shape, newShape=shape)

    def transpose(self, x: _Tensor, axes: tuple[int, ...]) -> _Tensor:
        return self._moved("TRANSPOSE", x, tuple(x.shape[axis] for axis in axes), axes)

    def pad(self, x: _Tensor, before: int) -> _Tensor:
        """Add columns before the first one."""
        shape = (*x.shape[:2], x.shape[2] + before, x.shape[3])
        return self._moved("PAD", x, shape, ((0, 0), (0, 0), (before, 0), (0, 0)))

    def slice(self, x: _Tensor, shape: tuple[int, ...]) -> _Tensor:
        """Slice from the first value on."""
        return self._moved("SLICE", x, shape, (0,) * len(shape), shape)

    def split(self, x: _Tensor) -> tuple[_Tensor, _Tensor]:
        """Return the two halves of the channels."""
        axis = self.builder.tensor((1,), "int32", data=[3])
        first, second = (self.tensor((*x.shape[:3], x.shape[3] // 2), x.scale, x.zero_point) for _ in range(2))
        self.builder.operator("SPLIT", [axis, x.index], [first.index, second.index], numSplits=2)
        return first, second

    def _moved(
        self, name: str, x: _Tensor, shape: tuple[int, ...], *constants: ArrayLike, **options: object
    ) -> _Tensor:
        places = [self.builder.tensor(np.shape(each), "int32", data=np.array(each)) for each in constants]
        return self._made(name, [x], self.tensor(shape, x.scale, x.zero_point), places, **options)

    def _made(
        self, name: str, taken: list[_Tensor], made: _Tensor, constants: Sequence[int] = (), **options: object
    ) -> _Tensor:
        self.builder.operator(name, [*(each.index for each in taken), *constants], [made.index], **options)
        return made
