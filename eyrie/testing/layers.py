# SPDX-License-Identifier: Apache-2.0
"""Random layers as single-pass cases, with the results of the golden model's operators."""

from collections.abc import Set
from dataclasses import dataclass

import numpy as np

from eyrie.compiler.ir.layer import Output, Table
from eyrie.compiler.ir.window import Window, output_size
from eyrie.compiler.single_layer.convolution import convolution_cases
from eyrie.compiler.single_layer.layer_run import Addition, Case, Finish, Ifmap
from eyrie.compiler.single_layer.separable import ANY, Depthwise, Tiling, separable_case
from eyrie.compiler.target.blocks import Blocks
from eyrie.model.config import DEFAULT, AcceleratorConfig
from eyrie.model.operators import quantization
from eyrie.model.operators.convolution import conv2d_sums, depthwise_conv2d_sums
from eyrie.model.operators.elementwise import add, add_parameters
from eyrie.model.operators.pooling import max_pool2d
from eyrie.testing.kernel_case import kernel_case

OFFSET = -128
SAME = Window((3, 3), pads=(1, 1, 1, 1))


@dataclass(frozen=True)
class Layer:
    """A layer that is split into passes.

    parts  (case, filters, output rows) of each pass
    sums   int32 [M, E, F] that must leave the array; ofmap int8 [rows, cols, C], if any, in the rows of the sums, or in
           half as many rows if maxima are taken
    """

    parts: list[tuple[Case, slice, slice]]
    sums: np.ndarray | None
    ofmap: np.ndarray | None


def int8(rng: np.random.Generator, *shape: int, zeros: float = 0.2) -> np.ndarray:
    """Return random int8 values, some of them zero and some at the ends of the range."""
    values = rng.integers(-128, 128, shape)
    values[rng.random(shape) < zeros] = 0
    extreme = rng.random(shape) < 0.05
    values[extreme] = rng.choice([-128, 127], int(extreme.sum()))
    return values.astype(np.int8)


def filter_values(rng: np.random.Generator, *shape: int, unsigned: float = 0.4) -> np.ndarray:
    """Return random int8 filters, or with probability `unsigned` int16 ones (uint8 less their zero point); some are
    zero.
    """
    if rng.random() >= unsigned:
        return int8(rng, *shape)
    zero_point = int(rng.choice([0, 255, int(rng.integers(256))], p=[0.2, 0.2, 0.6]))
    stored = rng.integers(0, 256, shape)
    stored[rng.random(shape) < 0.2] = zero_point
    return (stored - zero_point).astype(np.int16)


def convolution(
    rng: np.random.Generator,
    mapping: dict[str, int],
    width: int,
    window: Window = SAME,
    config: AcceleratorConfig = DEFAULT,
    extra: int = 1,
    has: Set[str] = frozenset({"ipsum"}),
) -> Layer:
    """Return a convolution with a given mapping e, p, q, r, t, larger than one pass by `extra` in C, M and E.

    `width` is F, the number of output columns. `window` has the same kernel and stride both ways. `has` contains
    "ipsum", "ofmap", "addition" to the ofmap, and "packed", an ifmap of so few channels.
    """
    (kernel, _), (stride, _), pads = window.kernel, window.stride, window.pads
    channels = 3 * mapping["q"] * mapping["r"] + extra
    if "packed" in has:
        channels = int(rng.integers(1, mapping["q"] + 1))
    filters = 2 * mapping["p"] * mapping["t"] + extra
    height = 2 * mapping["e"] + extra
    rows = (height - 1) * stride + kernel - pads[0] - pads[1]
    cols = (width - 1) * stride + kernel - pads[2] - pads[3]
    ifmap, weights = int8(rng, channels, rows, cols), filter_values(rng, filters, channels, kernel, kernel)
    ipsum = rng.integers(-(2**24), 2**24, (filters, height, width)).astype(np.int32) if "ipsum" in has else None
    zero_point = int(rng.integers(-127, 128))
    spread = 2**24 if "ipsum" in has else 0
    output = table(rng, filters, channels * window.taps, spread) if "ofmap" in has else None
    finish = Finish(ipsum, output, addition=addition(rng, height, width, filters) if "addition" in has else None)
    parts = convolution_cases(Ifmap(ifmap, zero_point, "packed" in has), weights, window, mapping, finish, config)
    sums = conv2d_sums(ifmap.transpose(1, 2, 0), weights.transpose(0, 2, 3, 1), stride, pads, zero_point)
    sums = sums.transpose(2, 0, 1)
    sums = sums if ipsum is None else sums + ipsum
    return Layer(parts, sums, finished(sums, finish) if output else None)


def table(rng: np.random.Generator, channels: int, terms: int, spread: int = 0) -> Table:
    """Return parameters that spread sums of `terms` products, plus any value up to `spread`, over the int8 range."""
    bits = np.log2(127 * 74 * np.sqrt(terms) + spread / 2) - 6.5
    shift = -np.round(bits + rng.normal(0, 0.7, channels)).astype(np.int8) + 1
    low, high = sorted(rng.choice(np.arange(-128, 128), 2, replace=False)) if rng.random() < 0.3 else (-128, 127)
    return Table(
        rng.integers(-(1 << 12), 1 << 12, channels).astype(np.int32),
        rng.integers(1 << 30, 1 << 31, channels).astype(np.int32),
        shift,
        Output(int(rng.choice([OFFSET, int(rng.integers(-128, 128))])), int(low), int(high)),
    )


def raw(values: np.ndarray, zero_point: int) -> tuple[np.ndarray, int]:
    """Return activations as the multipliers see them, and the padding value."""
    return (values.view(np.uint8) ^ 0x80, 0) if zero_point == OFFSET else (values, zero_point)


def requantize(sums: np.ndarray, t: Table) -> np.ndarray:
    limits = quantization.Requantization(t.multiplier, t.shift, t.output.zero_point, t.output.act_min, t.output.act_max)
    return quantization.requantize(sums + t.bias, limits)


def kernel(
    rng: np.random.Generator,
    channels: int,
    filters: int,
    shape: tuple[int, int],
    window: Window,
    blocks: Blocks,
    config: AcceleratorConfig = DEFAULT,
) -> Layer:
    """Return a convolution of any kernel, stride and dilation as pointwise work; `shape` is H, W."""
    ifmap, zero_point = int8(rng, channels, *shape), int(rng.choice([OFFSET, int(rng.integers(-127, 128))]))
    weights = filter_values(rng, filters, channels, *window.kernel)
    output = table(rng, filters, channels * window.taps)
    case = kernel_case(Ifmap(ifmap, zero_point), window, weights, output, blocks, config)
    seen, pad = raw(ifmap.transpose(1, 2, 0), zero_point)
    spread = np.zeros((filters, *window.span, channels), weights.dtype)  # the taps with zeros between
    spread[:, :: window.dilation[0], :: window.dilation[1]] = weights.transpose(0, 2, 3, 1)
    sums = conv2d_sums(seen, spread, window.stride, window.pads, pad)
    parts = [(case, slice(0, filters), slice(0, sums.shape[0]))]
    return Layer(parts, sums.transpose(2, 0, 1), requantize(sums, output))


def addition(rng: np.random.Generator, rows: int, cols: int, channels: int) -> Addition:
    """Return a residual addition of a random map."""
    scales = 2.0 ** rng.uniform(-3, 1, 3)
    scales[2] = max(scales[2], scales[:2].max() / 4)
    first, second, output = (quantization.Quantization(float(scale), int(rng.integers(-128, 128))) for scale in scales)
    activation = str(rng.choice(["NONE", "RELU", "RELU6"]))
    return Addition(int8(rng, rows, cols, channels), add_parameters(first, second, output, activation))


def finished(sums: np.ndarray, finish: Finish) -> np.ndarray:
    """Return sums int32 [M, E, F] finished by the operators: int8 [rows, cols, M]."""
    assert finish.output is not None
    values, other = requantize(sums.transpose(1, 2, 0), finish.output), finish.addition
    if finish.maxima:
        values = max_pool2d(values, 2, 2)
    return add(values, other.values, other.parameters) if other else values


def separable(
    rng: np.random.Generator,
    kind: str,
    shape: tuple[int, int, int, int],
    window: Window = SAME,
    config: AcceleratorConfig = DEFAULT,
    tiling: Tiling = ANY,
    has: Set[str] = frozenset(),
) -> Layer:
    """Return a layer with depthwise or pointwise work.

    `kind` is "fused", "depthwise" or "pointwise"; `shape` is C, M, H, W; `window` of the depthwise work has the same
    stride both ways; `has` contains "ipsum", "maxima", "addition". A depthwise layer can only have the last one.
    """
    channels, filters, rows, cols = shape
    ifmap, zero_point = int8(rng, channels, rows, cols), int(rng.choice([OFFSET, int(rng.integers(-127, 128))]))
    depthwise = filter_values(rng, channels, *window.kernel) if kind != "pointwise" else None
    pointwise = filter_values(rng, filters, channels) if kind != "depthwise" else None
    middle = table(rng, channels, window.taps)
    output = table(rng, filters, channels, spread=2**20 if "ipsum" in has else 0)
    height, width = output_size((rows, cols), window if depthwise is not None else Window())
    ipsum, other = None, None
    if "ipsum" in has:
        ipsum = rng.integers(-(2**20), 2**20, (filters, height, width)).astype(np.int32)
    if "addition" in has:
        size = (height // 2, width // 2) if "maxima" in has else (height, width)
        other = addition(rng, *size, channels if pointwise is None else filters)
    finish = Finish(ipsum, output, "maxima" in has, other)
    case = separable_case(
        Ifmap(ifmap, zero_point),
        window,
        None if depthwise is None else Depthwise(depthwise, middle),
        pointwise,
        finish,
        config,
        tiling,
    )

    values, sums = ifmap.transpose(1, 2, 0), None
    if depthwise is not None:
        seen, pad = raw(values, zero_point)
        taps = depthwise.transpose(1, 2, 0)
        values = requantize(depthwise_conv2d_sums(seen, taps, window.stride[0], window.pads, pad), middle)
        zero_point = middle.output.zero_point
    if pointwise is not None:
        seen, _ = raw(values, zero_point)
        sums = conv2d_sums(seen, pointwise[:, None, None, :]).transpose(2, 0, 1)
        sums = sums if ipsum is None else sums + ipsum
        values = finished(sums, finish)
    elif other:
        values = add(values, other.values, other.parameters)
    return Layer([(case, slice(0, case.shape[0]), slice(0, case.shape[1]))], sums, values)
