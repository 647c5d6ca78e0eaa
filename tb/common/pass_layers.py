# SPDX-License-Identifier: Apache-2.0
"""Random layers for whole passes, of a size that suits the machine."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from compiler.cases.passes import GlbOverflow, pointwise_blocks
from compiler.ir.feature_map import word_groups
from compiler.ir.layer import Window, output_size
from compiler.target.blocks import Blocks
from compiler.target.limits import dealt_filters, most_filters, most_pixels
from compiler.target.scan_ids import convolution_ids
from model.config import GLB_WORD_BYTES, SET_ROWS, WORD_CHANNELS, MachineConfig
from tb.common.layers import Layer, convolution, kernel, separable

STANDARD = [
    dict(e=8, p=4, q=4, r=1, t=2, width=16),
    dict(e=8, p=4, q=3, r=1, t=2, width=32),
    dict(e=8, p=4, q=4, r=2, t=1, width=16),
    dict(e=4, p=4, q=4, r=2, t=2, width=16),
    dict(e=4, p=4, q=4, r=1, t=4, width=16),
    dict(e=16, p=4, q=4, r=1, t=1, width=16),
]
KINDS = ("fused", "pointwise", "depthwise", "convolution", "kernel")
MOST_BLOCK = GLB_WORD_BYTES  # filters of a block of a drain: channels of a GLB word
MOST_CYCLES = 40_000  # of a layer, if all PEs were busy
ATTEMPTS = 1000


def why_not(kind: str, machine: MachineConfig) -> str | None:
    """Why the machine runs no layer of a kind, or not the standard ones; None: it does."""
    if kind == "depthwise" and machine.sets < 2:
        return f"a depthwise layer alone needs two PE sets, the machine has {machine.sets}"
    if kind == "standard":
        try:
            for case in STANDARD:
                convolution_ids(machine, case["e"], case["r"], case["t"], SET_ROWS, 1)
        except ValueError as error:
            return f"a standard mapping: {error}"
    return None


def draw(rng: np.random.Generator, kind: str, machine: MachineConfig) -> tuple[Layer, str]:
    """A random layer of a kind ("standard": a convolution with a standard mapping), and what it is."""
    if kind == "standard":
        case = dict(STANDARD[rng.integers(len(STANDARD))])
        width = case.pop("width")
        return convolution(rng, case, width, machine=machine), f"{case}"
    build = {"convolution": _convolution, "kernel": _kernel}.get(kind, _separable)
    return _until_it_fits(build, rng, kind, machine)


def _until_it_fits(build: Callable[..., tuple[Layer, str]], rng: np.random.Generator, kind: str,
                   machine: MachineConfig) -> tuple[Layer, str]:
    """Draws until a layer fits the GLB, smaller and smaller ones."""
    for attempt in range(ATTEMPTS):
        try:
            return build(rng, kind, machine, 1 / (1 + attempt / 4))
        except GlbOverflow:
            continue
    raise AssertionError(f"no {kind} layer fits {machine}")


def _up_to(rng: np.random.Generator, most: float, least: int = 1) -> int:
    return int(rng.integers(least, max(least, int(most)) + 1))


def _turned(rng: np.random.Generator, blocks: Blocks) -> Blocks:
    """Now and then row blocks of whole rows become inner blocks."""
    if blocks.along > 1 or rng.random() < 0.5:
        return blocks
    return replace(blocks, down=1, inner=blocks.down, below=blocks.down > 1)


def _separable(rng: np.random.Generator, kind: str, machine: MachineConfig, scale: float) -> tuple[Layer, str]:
    stride = int(rng.integers(1, 3)) if kind != "pointwise" else 1
    rows, cols = (_up_to(rng, max(3.0, 17 * scale), 3) for _ in range(2))
    pads = (1, 1, 1, 1) if stride == 1 or rng.random() < 0.5 else (0, 1, 0, 1)
    window = Window() if kind == "pointwise" else Window((3, 3), (stride, stride), pads)
    most = most_pixels(machine, None if kind == "pointwise" else stride)
    most = min(most, machine.psum_words // max(dealt_filters(machine, 8)))  # a tile has at least 8 filters
    blocks = pointwise_blocks(*output_size((rows, cols), window), machine, None if kind == "pointwise" else stride,
                              4 if rng.random() < 0.6 else _up_to(rng, most, 2))
    if kind == "pointwise":
        blocks = _turned(rng, blocks)
    halves = 2 if machine.sets == 1 else 1
    channels = _up_to(rng, 49 * scale)
    if kind == "fused" and rng.random() < 0.3:  # as many words as a SUPER keeps, in several tiles if that is so
        channels = max(1, min(8 * (machine.word_buffer_words // (blocks.pixels * halves)), int(400 * scale) + 8))
    most = MOST_CYCLES * machine.total_multipliers // (rows * cols * channels)
    if kind == "fused" and word_groups(channels) * blocks.pixels * halves > machine.word_buffer_words:
        most = min(most, most_filters(machine, blocks.pixels))  # in one tile
    filters = _up_to(rng, min(149 * scale, most))
    about = f"{kind} C={channels} M={filters} H={rows} W={cols} U={stride} pads={pads} F={blocks.pixels}"
    return separable(rng, kind, channels, filters, rows, cols, stride, pads, blocks=blocks, machine=machine), about


def _convolution(rng: np.random.Generator, kind: str, machine: MachineConfig, scale: float) -> tuple[Layer, str]:
    kernel, stride = int(rng.integers(1, 4)), int(rng.integers(1, 3))
    mapping = draw_mapping(rng, machine, kernel, stride)
    pads = tuple(int(pad) for pad in rng.integers(0, kernel, 4))
    passes = 9 * 2 * mapping["e"] * 2 * mapping["p"] * mapping["t"] * 3 * mapping["q"] * mapping["r"]
    width = _up_to(rng, min(24 * scale, MOST_CYCLES * machine.total_multipliers / passes))
    if (width - 1) * stride + kernel <= pads[2] + pads[3] or (2 * mapping["e"]) * stride <= pads[0] + pads[1]:
        pads = (0, 0, 0, 0)
    extra, ipsum = int(rng.integers(0, 3)), bool(rng.random() < 0.7)
    layer = convolution(rng, mapping, width, kernel, stride, pads, machine, extra, ipsum)
    return layer, f"convolution {mapping} F={width} R={kernel} U={stride} pads={pads} ipsum={ipsum}"


def _kernel(rng: np.random.Generator, kind: str, machine: MachineConfig, scale: float) -> tuple[Layer, str]:
    """Any kernel, any stride and dilation, pads up to the kernel's span."""
    size, stride, dilation = (tuple(int(v) for v in rng.integers(1, most + 1, 2)) for most in (7, 4, 3))
    window = Window(size, stride, dilation=dilation)
    window = replace(window, pads=tuple(int(rng.integers(0, window.span[side // 2])) for side in range(4)))
    shape = tuple(max(1, span - sum(pads)) + _up_to(rng, 20 * scale)
                  for span, pads in zip(window.span, (window.pads[:2], window.pads[2:])))
    height, width = output_size(shape, window)
    most = min(most_pixels(machine), machine.psum_words // max(dealt_filters(machine, 8)))
    blocks = _turned(rng, pointwise_blocks(height, width, machine, None, _up_to(rng, most, 2)))
    channels = _up_to(rng, 24 * scale)
    products = height * width * channels * window.taps
    filters = _up_to(rng, min(60 * scale, MOST_CYCLES * machine.total_multipliers // products))
    about = f"kernel {size} {window} C={channels} M={filters} H={shape[0]} W={shape[1]} F={blocks.pixels}"
    return kernel(rng, channels, filters, shape, window, blocks, machine), about


def draw_mapping(rng: np.random.Generator, machine: MachineConfig, kernel: int, stride: int) -> dict[str, int]:
    """A mapping e, p, q, r, t of a convolution that the array takes."""
    p = _up_to(rng, min(7, machine.filter_words // kernel))
    for _ in range(ATTEMPTS):
        e = _up_to(rng, machine.cols * (machine.sets if rng.random() < 0.3 else 1))
        r = _up_to(rng, min(2, machine.sets))
        t = _up_to(rng, machine.sets // r * (1 if rng.random() < 0.5 else machine.cols // min(e, machine.cols)))
        down = min(t, machine.sets // r) if e <= machine.cols else 1
        try:
            convolution_ids(machine, e, r, t, kernel, stride)
        except ValueError:  # an arrangement that there is not
            continue
        return dict(e=e, p=min(p, MOST_BLOCK // down, 7), q=_up_to(rng, WORD_CHANNELS), r=r, t=t)
    raise AssertionError(f"no mapping of a {kernel} x {kernel} kernel fits {machine}")
