# SPDX-License-Identifier: Apache-2.0
"""Random networks of one layer, for the cost model's test."""

from pathlib import Path

import numpy as np

from compiler.image import Image
from compiler.pipeline import compile_network
from model.config import DEFAULT, MachineConfig
from tb.scripts.small_nets import (
    INPUT,
    VALID,
    Quant,
    TfliteBuilder,
    bias,
    scales,
    weights,
)

KINDS = ("convolution", "separable", "pointwise", "fully connected")
CHANNELS = (3, 4, 8, 16, 24, 32, 48, 64, 96, 128, 192, 256)
FILTERS = (8, 10, 16, 24, 32, 40, 64, 96, 128, 192, 256)
EFFORT = 6  # of the search for places: a layer by itself has little to search


def random_model(rng: np.random.Generator, kind: str, shape: tuple[int, int, int],
           filters: int) -> tuple[bytes, str]:
    rows, cols, channels = shape
    net = TfliteBuilder("layer")
    x = net.input("image", (1, rows, cols, channels), INPUT)
    size, stride = int(rng.integers(1, 4)), int(rng.integers(1, 3))
    padding = VALID if min(rows, cols) >= size and rng.random() < 0.3 else "SAME"

    def add(method, name: str, x, *kernel: int, count: int, **window):
        out = Quant(0.05, int(rng.choice([-128, 5])))
        constants = weights(rng, *kernel), scales(rng, count), bias(rng, count)
        return method(name, x, *constants, out, relu=1, **window)

    window = {"stride": stride, "padding": padding}
    about = f"{kind} {rows}x{cols}x{channels} -> {filters}"
    if kind == "convolution":
        x = add(net.conv, "conv", x, filters, size, size, channels, count=filters, **window)
        about += f" kernel {size} stride {stride} {padding}"
    else:
        if kind == "separable":
            x = add(net.depthwise, "depthwise", x, 1, size, size, channels, count=channels, **window)
            about += f" kernel {size} stride {stride} {padding}"
        x = add(net.conv, "pointwise", x, filters, 1, 1, channels, count=filters)
    return net.build([x]), about


def random_layer(rng: np.random.Generator, path: Path, machine: MachineConfig = DEFAULT) -> tuple[str, Image]:
    """A layer that the compiler accepts: what it is, and its image. path: for the model's file.

    Maps of 1 x 1 to 32 x 32, up to 256 channels; a fully connected one is a pointwise one on 1 x 1.
    """
    while True:
        kind = str(rng.choice(KINDS))
        rows, cols = (1, 1) if kind == "fully connected" else rng.integers(1, 33, 2).tolist()
        if kind != "fully connected" and rng.random() < 0.5:
            cols = rows
        channels, filters = int(rng.choice(CHANNELS)), int(rng.choice(FILTERS))
        model, about = random_model(rng, kind, (rows, cols, channels), filters)
        path.write_bytes(model)
        try:
            stages = compile_network(path, machine, effort=EFFORT)
        except ValueError:
            continue
        return about, stages.image
