# SPDX-License-Identifier: Apache-2.0
"""Random networks of one layer, for the cost model's test: operators of a model, or fused operators of any window."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from eyrie.compiler.ir.image import Image
from eyrie.compiler.network import compile_network
from eyrie.model.config import DEFAULT, AcceleratorConfig
from tests.commands.small_nets import INPUT, VALID, Quant, TfliteBuilder, bias, scales, weights
from tests.compiler.windows import Chain, compile_groups, draw_chain

KINDS = ("convolution", "separable", "depthwise", "pointwise", "fully connected")
CHANNELS = (3, 4, 8, 16, 24, 32, 48, 64, 96, 128, 192, 256)
FILTERS = (1, 2, 5, 8, 10, 12, 16, 20, 24, 32, 40, 64, 96, 128, 192, 256)
WINDOWS = 0.3  # of the layers have any window
PACKED = 0.4  # of convolutions have an input of few channels
SEARCH_ITERATIONS = 6  # of the search for places: a layer by itself has little to search


@dataclass(frozen=True)
class Layer:
    """A network of one layer, separable ones being two operators that become one.

    kernel, stride, padding: of the convolution or of the depthwise half; a depthwise layer has no filters
    """

    kind: str
    rows: int
    cols: int
    channels: int
    filters: int = 0
    kernel: int = 1
    stride: int = 1
    padding: str = "SAME"

    def __str__(self) -> str:
        said = f"{self.kind} {self.rows}x{self.cols}x{self.channels}"
        if self.kind != "depthwise":
            said += f" -> {self.filters}"
        if self.kind in ("convolution", "separable", "depthwise"):
            said += f" kernel {self.kernel} stride {self.stride} {self.padding}"
        return said

    def model(self, rng: np.random.Generator) -> bytes:
        """A .tflite file with random constants."""
        net = TfliteBuilder("layer")
        x = net.input("image", (1, self.rows, self.cols, self.channels), INPUT)

        def add(method, name: str, x, *shape: int, count: int, **window):
            out = Quant(0.05, int(rng.choice([-128, 5])))
            constants = weights(rng, *shape), scales(rng, count), bias(rng, count)
            return method(name, x, *constants, out, relu=1, **window)

        window, size = {"stride": self.stride, "padding": self.padding}, self.kernel
        if self.kind == "convolution":
            x = add(net.conv, "conv", x, self.filters, size, size, self.channels, count=self.filters, **window)
        if self.kind in ("separable", "depthwise"):
            x = add(net.depthwise, "depthwise", x, 1, size, size, self.channels, count=self.channels, **window)
        if self.kind in ("separable", "pointwise", "fully connected"):
            x = add(net.conv, "pointwise", x, self.filters, 1, 1, self.channels, count=self.filters)
        return net.build([x])


def draw_layer(rng: np.random.Generator) -> Layer:
    """Maps of 1 x 1 to 32 x 32, up to 256 channels; a fully connected layer is a pointwise one on 1 x 1."""
    kind = str(rng.choice(KINDS))
    rows, cols = (1, 1) if kind == "fully connected" else rng.integers(1, 33, 2).tolist()
    if kind != "fully connected" and rng.random() < 0.5:
        cols = rows
    channels = int(rng.choice(CHANNELS))
    filters = 0 if kind == "depthwise" else int(rng.choice(FILTERS))
    if kind in ("pointwise", "fully connected"):
        return Layer(kind, rows, cols, channels, filters)
    if kind == "convolution" and rng.random() < PACKED:
        channels = int(rng.integers(1, 5))
    kernel, stride = int(rng.integers(1, 4)), int(rng.integers(1, 3))
    padding = VALID if min(rows, cols) >= kernel and rng.random() < 0.3 else "SAME"
    return Layer(kind, rows, cols, channels, filters, kernel, stride, padding)


@dataclass(frozen=True)
class Draw:
    """A random layer; image: None where the compiler rejects it, with the reason."""

    layer: Layer | Chain
    image: Image | None
    reason: str = ""


def draws(seed: int, path: Path, config: AcceleratorConfig, drams: Sequence[Mapping[str, int]]) -> Iterator[Draw]:
    """Random layers without end, compiled for an accelerator with one of the DRAMs; path: for the models' file."""
    number = -1
    while True:
        number += 1
        rng = np.random.default_rng([seed, number])
        with_dram = replace(config, **drams[int(rng.integers(len(drams)))])
        if rng.random() < WINDOWS:
            yield _compile_group(draw_chain(rng, 1), with_dram)
        else:
            yield compile_layer(draw_layer(rng), rng, path, with_dram)


def _compile_group(layer: Chain, config: AcceleratorConfig) -> Draw:
    try:
        return Draw(layer, compile_groups(layer.groups, config).image)
    except ValueError as rejection:
        return Draw(layer, None, str(rejection))


def compile_layer(layer: Layer, rng: np.random.Generator, path: Path, config: AcceleratorConfig = DEFAULT) -> Draw:
    """A layer with random constants; path: for the model's file."""
    path.write_bytes(layer.model(rng))
    try:
        return Draw(layer, compile_network(path, config, search_iterations=SEARCH_ITERATIONS).image)
    except ValueError as rejection:
        return Draw(layer, None, str(rejection))
