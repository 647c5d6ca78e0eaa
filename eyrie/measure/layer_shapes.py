# SPDX-License-Identifier: Apache-2.0
"""Layers of a network as single layers, with the channels that they have or with fewer."""

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from math import isqrt
from pathlib import Path

import numpy as np

from eyrie.compiler.ir.image_layout import ImageStep
from eyrie.compiler.network import compile_network
from eyrie.compiler.performance import performance
from eyrie.measure.dataset.layers import Shape, model
from eyrie.model.config import GLB_WORD_BYTES, AcceleratorConfig

KINDS = {
    "conv": "convolution",
    "pointwise": "pointwise",
    "fc": "fully_connected",
    "depthwise": "depthwise",
    "separable": "separable",
}
MOST_SHAPES = 1000  # whose cycles are remembered


def shape_of(step: ImageStep) -> Shape | None:
    """Return the shape of a layer without its epilogue; None if its image does not tell: square kernels only."""
    kind = KINDS.get(step.kind.partition(" ")[0])
    (height, width, channels), (rows, columns, filters) = step.ifmap, step.ofmap
    if not kind or "average" in step.kind:
        return None
    taps = step.weight_bytes / channels
    taps = taps - filters if kind == "separable" else taps if kind == "depthwise" else taps / filters
    size = isqrt(max(int(taps), 0))
    if size * size != taps or (kind == "depthwise" and channels != filters):
        return None
    for stride in (1, 2):
        for padding, reach in (("same", 0), ("valid", size - 1)):
            if (-(-(height - reach) // stride), -(-(width - reach) // stride)) == (rows, columns):
                return Shape(kind, height, width, channels, filters, size, size, stride, padding=padding)
    return None


def narrower(shape: Shape) -> Iterator[tuple[str, Shape]]:
    """Yield shapes with fewer channels, so that they fill the words of the GLB, and the changes in words."""
    sizes = {"ifmap": ("C", "M")} if shape.kind == "depthwise" else {"ifmap": ("C",), "ofmap": ("M",)}
    for noun, names in sizes.items():
        channels = getattr(shape, names[0])
        fewer = channels // GLB_WORD_BYTES * GLB_WORD_BYTES
        if 0 < fewer < channels:
            changed = replace(shape, **dict.fromkeys(names, fewer))
            yield f"{fewer:,} instead of {channels:,} {noun} channels, layer alone", changed


@lru_cache(MOST_SHAPES)
def alone(shape: Shape, config: AcceleratorConfig) -> int:
    """Return the predicted cycles of a network that consists of this layer."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "layer.tflite"
        path.write_bytes(model(np.random.default_rng(0), shape))
        return performance(compile_network(path, config)).cycles
