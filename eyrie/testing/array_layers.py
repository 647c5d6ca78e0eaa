# SPDX-License-Identifier: Apache-2.0
"""Random layers for the testbenches of the PE array, from their options."""

from dataclasses import replace

import numpy as np

from eyrie.compiler.ir.window import Window, output_size
from eyrie.compiler.single_layer.separable import Tiling, pointwise_blocks
from eyrie.model.config import AcceleratorConfig
from eyrie.model.errors import InputError
from eyrie.testing import layers


def why_not(options: dict, config: AcceleratorConfig) -> str | None:
    """Return why the array cannot run a layer with these options, or None if it can."""
    try:
        draw(np.random.default_rng(0), options, config)
    except InputError as error:
        return str(error)
    return None


def draw(rng: np.random.Generator, options: dict, config: AcceleratorConfig) -> tuple[str, layers.Layer]:
    """Return a description and a random layer of a kind: "convolution", "fused", "pointwise", "depthwise" or
    "connected".

    Properties that the options leave open are random.
    """
    options = dict(options)
    kind = options.pop("kind")
    if kind == "convolution":
        return convolution(rng, options, config)
    if kind == "connected":  # a fully connected layer is a pointwise one on a map of one pixel
        kind, options = "pointwise", {"rows": 1, "cols": 1, **options}
    stride, inner, tile = options.pop("stride", 1), options.pop("inner", 1), options.pop("tile", None)
    kernel = options.pop("kernel", (3, 3))
    shape = {
        "channels": int(rng.integers(1, 41)),
        "filters": int(rng.integers(1, 90)),
        "rows": int(rng.integers(3, 14)),
        "cols": int(rng.integers(3, 14)),
        **options,
    }
    rows, cols = shape["rows"], shape["cols"]
    window = Window()
    if kind != "pointwise":
        window = depthwise_window(rng, (rows, cols), stride, kernel)
    blocks = pointwise_blocks(*output_size((rows, cols), window), config, None if kind == "pointwise" else window)
    if blocks.pixels * stride % 2:
        inner = 1  # blocks begin at even columns: a map of one column has one
    blocks = replace(blocks, inner=inner, along=-(-blocks.along // inner))
    about = f"{kind} {shape} {window} inner {inner}" + f" tile {tile}" * bool(tile)
    return about, layers.separable(rng, kind, tuple(shape.values()), window, config, Tiling(blocks, tile))


def depthwise_window(
    rng: np.random.Generator, shape: tuple[int, int], stride: int, kernel: tuple[int, int] = (3, 3)
) -> Window:
    """Return a window with random pads for an ifmap of H x W."""
    below, right = (int(rng.integers(0, size)) for size in kernel)
    above, left = (
        max(int(rng.integers(0, size)), size - length - after)
        for size, length, after in zip(kernel, shape, (below, right))
    )
    return Window(kernel, (stride, stride), (above, below, left, right))


def convolution(rng: np.random.Generator, options: dict, config: AcceleratorConfig) -> tuple[str, layers.Layer]:
    mapping = {name: options.pop(name) for name in "epqrt"}
    kernel, stride = options.pop("kernel", 3), options.pop("stride", 1)
    width = options.pop("width")
    pads = tuple(options.pop("pads", (1, 1, 1, 1) if kernel == 3 else (0, 0, 0, 0)))
    extra = options.pop("extra", 1)
    window = Window((kernel, kernel), (stride, stride), pads)
    layer = layers.convolution(rng, mapping, width, window, config, extra, **options)
    return f"convolution {mapping} F={width} R={kernel} U={stride} pads {pads}", layer
