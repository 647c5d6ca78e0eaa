# SPDX-License-Identifier: Apache-2.0
"""Random layers for whole passes, of a size that matches the accelerator."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from eyrie.compiler.ir.feature_map import word_groups
from eyrie.compiler.ir.window import Window, output_size
from eyrie.compiler.single_layer.layer_run import GlbOverflow
from eyrie.compiler.single_layer.separable import Tiling, pointwise_blocks
from eyrie.compiler.target.blocks import Blocks
from eyrie.compiler.target.limits import MOST_DEPTHWISE, alike, most_dealt, most_filters, most_pixels
from eyrie.compiler.target.scan_ids import convolution_ids
from eyrie.model.config import GLB_WORD_BYTES, SET_ROWS, WORD_CHANNELS, AcceleratorConfig
from eyrie.model.descriptor import Descriptor
from eyrie.model.encoding import ArrayMode, PoolMode, Stream
from eyrie.model.errors import InputError
from eyrie.testing import elementwise_layers
from eyrie.testing.array_layers import depthwise_window
from eyrie.testing.layers import Layer, convolution, kernel, separable
from eyrie.testing.samples import scaled

STANDARD = [
    dict(e=8, p=4, q=4, r=1, t=2, width=16),
    dict(e=8, p=4, q=3, r=1, t=2, width=32),
    dict(e=8, p=4, q=4, r=2, t=1, width=16),
    dict(e=4, p=4, q=4, r=2, t=2, width=16),
    dict(e=4, p=4, q=4, r=1, t=4, width=16),
    dict(e=16, p=4, q=4, r=1, t=1, width=16),
]
KINDS = ("fused", "pointwise", "depthwise", "convolution", "packed", "kernel", "elementwise")
FINISHES = ("maxima", "addition", "ipsum", "fold")  # of passes with an int8 ofmap; a test can require one
SHARE = 0.2  # of the other layers have such a finish
FEW = 12  # largest number of filters in the same share of layers
MOST_BLOCK = GLB_WORD_BYTES  # filters of a block of a drain: channels of a GLB word
MOST_CYCLES = 40_000  # of a layer, if all PEs were busy
ATTEMPTS = 1000


def why_not(kind: str, config: AcceleratorConfig) -> str | None:
    """Return why the accelerator cannot run layers of a kind, or the standard ones; None if it can."""
    if kind == "depthwise" and config.sets < 2:
        return f"a depthwise layer alone needs two PE sets, the accelerator has {config.sets}"
    if kind == "fold" and (config.sets < 2 or config.filter_words < MOST_BLOCK):
        return f"a fold needs two PE sets and {MOST_BLOCK} filters in a PE"
    if kind == "standard":
        try:
            for case in STANDARD:
                convolution_ids(config, case["e"], case["r"], case["t"], SET_ROWS, 1)
        except InputError as error:
            return f"a standard mapping: {error}"
    return None


def draw(rng: np.random.Generator, kind: str, config: AcceleratorConfig) -> tuple[Layer, str]:
    """Return a random layer of a kind, and its description.

    "standard" is a convolution with a standard mapping, "packed" one with a packed ifmap, and one of FINISHES any layer
    that has it.
    """
    if kind == "standard":
        case = dict(STANDARD[rng.integers(len(STANDARD))])
        width, packed = case.pop("width"), bool(rng.random() < SHARE)
        has = {"ipsum", *(["packed"] if packed else [])}
        return convolution(rng, case, width, config=config, has=has), f"{case} packed={packed}"
    finish = kind if kind in FINISHES else ""
    if finish == "fold":
        kind = "convolution"
    elif finish:
        block = finish != "maxima" and config.filter_words >= MOST_BLOCK
        kind = str(rng.choice(["fused", "pointwise", *(["convolution"] if block else [])]))
    builds = {"convolution": _convolution, "packed": _convolution, "kernel": _kernel, "elementwise": _elementwise}
    build = builds.get(kind, _separable)
    return _until_it_fits(build, rng, kind, config, finish)


def finishes(descriptor: Descriptor) -> list[str]:
    """Return the members of FINISHES that a pass of the array has."""
    if not descriptor.drain["to_ppu"] or descriptor.shape["mode"] == ArrayMode.ELEMENTWISE:
        return []
    has = {
        "maxima": descriptor.ppu["pool"] == PoolMode.MAX,
        "addition": descriptor.uses(Stream.RESIDUAL),
        "ipsum": descriptor.drain["ipsum"],
        "fold": descriptor.drain["fold"],
    }
    return [name for name in FINISHES if has[name]]


def _until_it_fits(
    build: Callable[..., tuple[Layer, str]], rng: np.random.Generator, kind: str, config: AcceleratorConfig, finish: str
) -> tuple[Layer, str]:
    """Try random layers, smaller and smaller ones, until one fits the GLB."""
    for attempt in range(ATTEMPTS):
        try:
            return build(rng, kind, config, 1 / (1 + attempt / 4), finish)
        except GlbOverflow:
            continue
    raise AssertionError(f"no {kind} layer fits {config}")


def _up_to(rng: np.random.Generator, most: float, least: int = 1) -> int:
    return int(rng.integers(least, max(least, int(most)) + 1))


def _filters(rng: np.random.Generator, most: float) -> int:
    """Return a number of filters up to `most`, sometimes few: less than a block, or one and a short last one."""
    return _up_to(rng, min(most, FEW) if rng.random() < SHARE else most)


def _turned(rng: np.random.Generator, blocks: Blocks) -> Blocks:
    """Sometimes turn row blocks of whole rows into inner blocks."""
    if blocks.along > 1 or rng.random() < 0.5:
        return blocks
    return replace(blocks, down=1, inner=blocks.down, below=blocks.down > 1)


def _odd(rng: np.random.Generator, blocks: Blocks, width: int, window: Window = Window()) -> Blocks:
    """Sometimes make blocks of an odd number of pixels, so that others begin at odd columns."""
    if blocks.pixels % 2 or rng.random() < 0.7 or not alike(window, blocks.pixels - 1):
        return blocks
    return replace(blocks, pixels=blocks.pixels - 1, along=-(-width // (blocks.cols * (blocks.pixels - 1))))


def _finish(rng: np.random.Generator, finish: str, *names: str) -> dict[str, bool]:
    """Return which of the finishes `names` a layer has: the wanted one, others at random."""
    return {name: bool(name == finish or rng.random() < SHARE) for name in names}


def _separable(
    rng: np.random.Generator, kind: str, config: AcceleratorConfig, scale: float, finish: str
) -> tuple[Layer, str]:
    has = _finish(rng, finish, "addition", *(["ipsum", "maxima"] if kind != "depthwise" else []))
    stride = int(rng.integers(1, 3)) if kind != "pointwise" else 1
    rows, cols = (_up_to(rng, max(5.0, 17 * scale), 5 if has.get("maxima") else 3) for _ in range(2))
    window = Window()
    if kind != "pointwise":
        window = _depthwise_window(rng, config, (rows, cols), stride, pairs=bool(has.get("maxima")))
    depthwise = None if kind == "pointwise" else window
    most = most_pixels(config, depthwise)
    most = min(most, config.psum_words // most_dealt(config, 8, 1))  # a tile has at least 8 filters
    size, pixels = output_size((rows, cols), window), 4 if rng.random() < 0.6 else _up_to(rng, most, 2)
    blocks = _odd(rng, pointwise_blocks(*size, config, depthwise, pixels), size[1], window)
    if has.get("maxima"):  # columns are rows of the map, and pairs of rows and of pixels whole
        down, along = 2 * _up_to(rng, min(size[0] + 1, config.cols) // 2), 2 * max(1, min(pixels, most) // 2)
        blocks = Blocks(down, 1, along, -(-size[0] // down), -(-size[1] // along))
    elif kind == "pointwise" and not any(has.values()):
        blocks = _turned(rng, blocks)
    halves = 2 if config.sets == 1 else 1
    channels = _up_to(rng, 49 * scale)
    if kind == "fused" and rng.random() < 0.3:  # as many words as a SUPER PE holds, so that several tiles are possible
        channels = max(1, min(8 * (config.word_buffer_words // (blocks.pixels * halves)), int(400 * scale) + 8))
    most = MOST_CYCLES * config.total_multipliers // (rows * cols * channels)
    if kind == "fused" and word_groups(channels) * blocks.pixels * halves > config.word_buffer_words:
        most = min(most, most_filters(config, blocks.pixels))  # in one tile
    filters = _filters(rng, min(149 * scale, most))
    sizes = f"C={channels} M={filters} H={rows} W={cols} kernel {window.kernel}"
    about = f"{kind} {sizes} {window} F={blocks.pixels} {_names(has)}"
    return separable(rng, kind, (channels, filters, rows, cols), window, config, Tiling(blocks), _those(has)), about


def _depthwise_window(
    rng: np.random.Generator, config: AcceleratorConfig, shape: tuple[int, int], stride: int, pairs: bool
) -> Window:
    """Return a window that PEs move along rows, 3 x 3 or of any size; pairs: so that they hold pairs of pixels."""
    kernel = (3, 3)
    if rng.random() < 0.5:
        kernel = _up_to(rng, MOST_DEPTHWISE[0]), _up_to(rng, MOST_DEPTHWISE[1])
    window = depthwise_window(rng, shape, stride, kernel)
    while not _has_blocks(config, window, 1 + pairs) or (pairs and min(output_size(shape, window)) < 2):
        kernel = kernel[0], kernel[1] - 1
        if not kernel[1]:
            kernel, stride = (3, 3), 1
        window = depthwise_window(rng, shape, stride, kernel)
    return window


def _has_blocks(config: AcceleratorConfig, window: Window, least: int) -> bool:
    """Return whether depthwise blocks of at least so many pixels can stand side by side."""
    return any(alike(window, pixels) for pixels in range(least, most_pixels(config, window) + 1))


def _those(has: dict[str, bool]) -> set[str]:
    return {name for name, there in has.items() if there}


def _names(has: dict[str, bool]) -> str:
    return ", ".join(name for name, there in has.items() if there) or "plain"


def _convolution(
    rng: np.random.Generator, kind: str, config: AcceleratorConfig, scale: float, finish: str
) -> tuple[Layer, str]:
    kernel, stride = int(rng.integers(1, 4)), int(rng.integers(1, 3))
    if finish:  # the filters of a block fit a PE
        kernel = min(kernel, config.filter_words // MOST_BLOCK)
    mapping = _block_mapping(rng, config, kernel, stride, finish) if finish or rng.random() < 2 * SHARE else None
    has = _finish(rng, finish, "ipsum", "addition") if mapping else {"ipsum": bool(rng.random() < 0.7)}
    with_ofmap = mapping is not None
    mapping = mapping or draw_mapping(rng, config, kernel, stride)
    top, bottom, left, right = (int(pad) for pad in rng.integers(0, kernel, 4))
    pads = top, bottom, left, right
    packed = kind == "packed" or (bool(finish) and rng.random() < SHARE)
    channels = 1 if packed else 3 * mapping["q"] * mapping["r"]
    passes = 9 * 2 * mapping["e"] * 2 * mapping["p"] * mapping["t"] * channels
    width = _up_to(rng, min(24 * scale, MOST_CYCLES * config.total_multipliers / passes))
    if (width - 1) * stride + kernel <= pads[2] + pads[3] or (2 * mapping["e"]) * stride <= pads[0] + pads[1]:
        pads = (0, 0, 0, 0)
    has |= {"packed": packed, "ofmap": with_ofmap}
    window, extra = Window((kernel, kernel), (stride, stride), pads), int(rng.integers(0, 3))
    layer = convolution(rng, mapping, width, window, config, extra, _those(has))
    about = f"convolution {mapping} F={width} R={kernel} U={stride} pads={pads} {_names(has)}"
    return layer, about


def _block_mapping(
    rng: np.random.Generator, config: AcceleratorConfig, kernel: int, stride: int, finish: str
) -> dict[str, int] | None:
    """Return a mapping whose filters are blocks of an int8 ofmap, each in one set or in two; None if no such layer
    exists."""
    found, sets = [], range(1, config.sets + 1)
    for p, t, r, folds in product((2, 4, MOST_BLOCK), sets, (1, 2), sets):
        e = folds * config.cols if folds > 1 else _up_to(rng, config.cols)
        if (
            MOST_BLOCK not in (p, p * t)
            or t * r > config.sets
            or p * kernel > config.filter_words
            or config.psum_words < p * 2
            or (finish == "fold" and folds == 1 and p * t == MOST_BLOCK)
        ):
            continue
        try:
            convolution_ids(config, e, r, t, kernel, stride)
        except InputError:  # this arrangement does not exist
            continue
        found.append(dict(e=e, p=p, q=_up_to(rng, WORD_CHANNELS), r=r, t=t))
    return found[rng.integers(len(found))] if found else None


def _elementwise(
    rng: np.random.Generator, kind: str, config: AcceleratorConfig, scale: float, finish: str
) -> tuple[Layer, str]:
    return elementwise_layers.draw(rng, config, scale)


def _kernel(
    rng: np.random.Generator, kind: str, config: AcceleratorConfig, scale: float, finish: str
) -> tuple[Layer, str]:
    """Return a convolution of any kernel, stride and dilation, with pads up to the kernel's span."""
    size, stride, dilation = (_pair(rng, most) for most in (7, 4, 3))
    window = Window(size, stride, dilation=dilation)
    top, bottom, left, right = (int(rng.integers(0, window.span[side // 2])) for side in range(4))
    window = replace(window, pads=(top, bottom, left, right))
    rows, cols = (
        max(1, span - sum(pads)) + _up_to(rng, 20 * scale)
        for span, pads in zip(window.span, (window.pads[:2], window.pads[2:]))
    )
    height, width = output_size((rows, cols), window)
    most = min(most_pixels(config), config.psum_words // most_dealt(config, 8, 1))
    blocks = pointwise_blocks(height, width, config, None, _up_to(rng, most, 2))
    blocks = _turned(rng, _odd(rng, blocks, width))
    channels = _up_to(rng, 24 * scale)
    products = height * width * channels * window.taps
    filters = _filters(rng, min(60 * scale, MOST_CYCLES * config.total_multipliers // products))
    about = f"kernel {size} {window} C={channels} M={filters} H={rows} W={cols} F={blocks.pixels}"
    return kernel(rng, channels, filters, (rows, cols), window, blocks, config), about


def _pair(rng: np.random.Generator, most: int) -> tuple[int, int]:
    first, second = rng.integers(1, most + 1, 2)
    return int(first), int(second)


def draw_mapping(rng: np.random.Generator, config: AcceleratorConfig, kernel: int, stride: int) -> dict[str, int]:
    """Return a mapping e, p, q, r, t of a convolution that the array can run."""
    p = _up_to(rng, min(MOST_BLOCK, config.filter_words // kernel))
    for _ in range(ATTEMPTS):
        e = _up_to(rng, config.cols * (config.sets if rng.random() < 0.3 else 1))
        r = _up_to(rng, min(2, config.sets))
        t = _up_to(rng, config.sets // r * (1 if rng.random() < 0.5 else config.cols // min(e, config.cols)))
        try:
            convolution_ids(config, e, r, t, kernel, stride)
        except InputError:  # this arrangement does not exist
            continue
        return dict(e=e, p=p, q=_up_to(rng, WORD_CHANNELS), r=r, t=t)
    raise AssertionError(f"no mapping of a {kernel} x {kernel} kernel fits {config}")


def layers_to_draw(layers: int, kinds: Sequence[str]) -> int:
    """Return the number of random layers of a testbench: `layers`, scaled, and at least one of each kind."""
    return scaled(layers, least=len(kinds))
