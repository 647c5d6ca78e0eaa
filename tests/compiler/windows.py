# SPDX-License-Identifier: Apache-2.0
"""Random chains of convolutions and depthwise convolutions of any window, as fused operators, and what they compute."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from eyrie.compiler.ir.layer import Convolution, Depthwise, Group, Separable, Table
from eyrie.compiler.ir.maps import Map
from eyrie.compiler.ir.window import Window, output_size
from eyrie.compiler.options import OBJECTIVES
from eyrie.compiler.pipeline import NAMES, STAGES, run_stages
from eyrie.compiler.plan.packed_maps import with_packed_inputs
from eyrie.compiler.plan.patched_maps import with_patched_inputs
from eyrie.compiler.results import Built, Grouped
from eyrie.compiler.target.suit import suited
from eyrie.model.config import DEFAULT, AcceleratorConfig
from eyrie.model.operators.convolution import conv2d, depthwise_conv2d, fold_zero_point
from eyrie.model.operators.quantization import Quantization, Requantization
from eyrie.testing.layers import OFFSET, filter_values, int8, table

SEARCH_ITERATIONS = 8  # of the search for places
KINDS = ("convolution", "depthwise", "separable")
CHANNELS = (1, 2, 3, 4, 8, 9, 16, 20, 40)
FILTERS = (1, 8, 10, 24, 40, 64)
MULTIPLIERS = (1, 1, 2, 3, 4, 8)
MOST_MACS = 3_000_000  # of a layer
MOST_CHANNELS = 96


@dataclass(frozen=True)
class Chain:
    """Groups one behind the other; run: int8 [H, W, C] of the first one's source -> of the last one's output."""

    groups: list[Group]
    steps: tuple[Callable[[np.ndarray], np.ndarray], ...]

    def run(self, values: np.ndarray) -> np.ndarray:
        for step in self.steps:
            values = step(values)
        return values

    def __str__(self) -> str:
        shapes = (" and ".join(str(weights.shape) for weights in group.weights) for group in self.groups)
        return "\n".join(f"{group}, filters {said}" for group, said in zip(self.groups, shapes))


def draw_window(rng: np.random.Generator, shape: tuple[int, int]) -> Window | None:
    """A window of a map; None where the one drawn does not fit."""
    kernel, stride, dilation = (tuple(rng.integers(1, most + 1, 2).tolist()) for most in (7, 4, 3))
    if rng.random() < 0.4:  # as PEs and SUPERs move them, too
        step = int(rng.integers(1, 3))
        kernel, stride, dilation = tuple(rng.integers(1, 4, 2).tolist()), (step, step), (1, 1)
    window = Window(kernel, stride, dilation=dilation)
    if rng.random() < 0.3:  # as large as the map, as far as that can be
        before = tuple((span - 1) // 2 for span in window.span)
        pads = before[0], window.span[0] - 1 - before[0], before[1], window.span[1] - 1 - before[1]
    else:
        pads = tuple(int(rng.integers(0, window.span[side // 2])) for side in range(4))
    window = replace(window, pads=pads)
    sizes = shape[0] + sum(pads[:2]), shape[1] + sum(pads[2:])
    return window if all(span <= size for span, size in zip(window.span, sizes)) else None


def draw_chain(rng: np.random.Generator, most: int = 3) -> Chain:
    """Of up to so many groups."""
    shape = (*rng.integers(1, 25, 2).tolist(), int(rng.choice(CHANNELS)))
    source = Map("t0", shape, Quantization(1.0, int(rng.choice([OFFSET, rng.integers(-127, 128)]))))
    groups: list[Group] = []
    steps: list[Callable[[np.ndarray], np.ndarray]] = []
    count = int(rng.integers(1, most + 1))
    while len(groups) < count:
        drawn = _layer(rng, str(rng.choice(KINDS)), source, len(groups))
        if drawn and drawn[0].macs <= MOST_MACS:
            groups.append(drawn[0])
            steps.append(drawn[1])
            source = drawn[0].output
    return Chain(groups, tuple(steps))


def _layer(
    rng: np.random.Generator, kind: str, source: Map, number: int
) -> tuple[Group, Callable[[np.ndarray], np.ndarray]] | None:
    """A group and what it computes; None where what is drawn does not fit."""
    window = draw_window(rng, source.shape[:2])
    if window is None:
        return None
    size, channels = output_size(source.shape[:2], window), source.shape[2]

    def tensor(shape: tuple[int, int, int], made: Table, end: str = "") -> Map:
        return Map(f"t{number + 1}{end}", shape, Quantization(1.0, made.output.zero_point))

    options = {"stride": window.stride, "pads": window.pads, "dilation": window.dilation}
    if kind == "convolution":
        filters = filter_values(rng, int(rng.choice(FILTERS)), *window.kernel, channels)
        return _convolution(rng, source, window, filters, number)
    outputs = channels * int(rng.choice(MULTIPLIERS))
    if outputs > MOST_CHANNELS:
        return None
    depthwise = filter_values(rng, *window.kernel, outputs)
    middle, bias, limits = _table(rng, depthwise, source.zero_point, -1)
    between = tensor((*size, outputs), middle, "" if kind == "depthwise" else "#depthwise")

    def first(values: np.ndarray) -> np.ndarray:
        return depthwise_conv2d(values, depthwise, bias, source.zero_point, limits, **options)

    if kind == "depthwise":
        return Depthwise(
            name=f"depthwise{number}", source=source, output=between, window=window, depthwise=depthwise, middle=middle
        ), first
    filters = filter_values(rng, int(rng.choice(FILTERS)), 1, 1, outputs)
    made, second_bias, second_limits = _table(rng, filters, between.zero_point, 0)
    group = Separable(
        name=f"block{number}",
        source=source,
        output=tensor((*size, len(filters)), made),
        window=window,
        filters=filters[:, 0, 0],
        table=made,
        depthwise=depthwise,
        middle=middle,
    )
    return group, lambda values: conv2d(first(values), filters, second_bias, between.zero_point, second_limits)


def _convolution(
    rng: np.random.Generator, source: Map, window: Window, filters: np.ndarray, number: int
) -> tuple[Convolution, Callable[[np.ndarray], np.ndarray]]:
    made, bias, limits = _table(rng, filters, source.zero_point, 0)
    output = Map(
        f"t{number + 1}",
        (*output_size(source.shape[:2], window), len(filters)),
        Quantization(1.0, made.output.zero_point),
    )
    group = Convolution(name=f"conv{number}", source=source, output=output, window=window, filters=filters, table=made)
    return group, lambda values: conv2d(
        values, filters, bias, source.zero_point, limits, window.stride, window.pads, window.dilation
    )


def convolution_chain(rng: np.random.Generator, shape: tuple[int, int, int], window: Window, count: int) -> Chain:
    """One convolution of so many filters, in int8."""
    source = Map("t0", shape, Quantization(1.0, int(rng.integers(-128, 128))))
    group, step = _convolution(rng, source, window, int8(rng, count, *window.kernel, shape[2]), 0)
    return Chain([group], (step,))


def _table(
    rng: np.random.Generator, filters: np.ndarray, zero_point: int, axis: int
) -> tuple[Table, np.ndarray, Requantization]:
    """Of filters whose outputs are along an axis: as the accelerator has it, with the share of the zero point in the
    bias; and the bias and the limits as the operator has them."""
    count = filters.shape[axis]
    made = table(rng, count, prod(filters.shape) // count)
    limits = Requantization(
        made.multiplier, made.shift, made.output.zero_point, made.output.act_min, made.output.act_max
    )
    folded = fold_zero_point(made.bias, filters, 0 if zero_point == OFFSET else zero_point, channel_axis=axis)
    # Where the zero point is -128 the array reads q + 128.
    return replace(made, bias=folded), made.bias, limits


def compile_groups(groups: list[Group], config: AcceleratorConfig = DEFAULT) -> Built:
    """All stages behind the forming of groups."""
    *others, last = groups
    packed = with_packed_inputs(suited([*others, replace(last, stored=True)], config), config)
    work = Grouped(
        model="groups",
        config=config,
        objective=OBJECTIVES[0],
        search_iterations=SEARCH_ITERATIONS,
        images=1,
        groups=with_patched_inputs(packed, config),
        inputs=[],
        ends={last.output.name: last.output},
    )
    return run_stages(work, STAGES[NAMES.index("groups") + 1 :])
