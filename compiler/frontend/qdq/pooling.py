# SPDX-License-Identifier: Apache-2.0
"""Rules of pools: maxima and averages."""

from math import prod

import numpy as np

from eyrie.compiler.frontend.qdq import functions
from eyrie.compiler.frontend.qdq.fold import Fold, Rule
from eyrie.compiler.frontend.qdq.moves import moved
from eyrie.compiler.frontend.qdq.shapes import window
from eyrie.compiler.frontend.qdq.values import Held, Made, Target
from eyrie.compiler.frontend.qdq.weighted import on_map
from eyrie.compiler.ir.failure import Unsupported
from eyrie.compiler.ir.operators.convolution import DepthwiseConv2D
from eyrie.compiler.ir.operators.operator import axis_of
from eyrie.compiler.ir.operators.pooling import AveragePool2D, MaxPool2D, Mean


def _max_pool(fold: Fold, made: Made, target: Target) -> Held:
    kernel, stride, pads, dilation = window(made.operation, made.operation.integers("kernel"))
    if set(dilation) != {1}:
        raise Unsupported("its window has dilations")
    (inner,) = made.inputs
    name = inner.name if isinstance(inner, Made) else target.name
    source = fold.emit(inner, Target(target.quantization, name, activation=target.activation))
    return on_map(fold, made, source, MaxPool2D(kernel=kernel, stride=stride, pads=pads), target)


def _average_pool(fold: Fold, made: Made, target: Target) -> Held:
    """Return the average. If the scale changes, a depthwise convolution with filters of ones sums the window, so that
    the result is rounded only once."""
    kernel, stride, pads, _ = window(made.operation, made.operation.integers("kernel"))
    source, plain = fold.operand(made.inputs[0]), Target(target.quantization, target.name)
    counts_pads = made.operation.flag("count_pads") or not any(pads)
    same = source.quantization == target.quantization
    if (counts_pads and any(pads)) or (counts_pads and not same):
        channels = made.shape[1]
        sums = DepthwiseConv2D(
            filters=np.ones((*kernel, channels), np.int8),
            scales=np.array([1 / prod(kernel)], np.float32),
            bias=np.zeros(channels, np.int32),
            activation=target.activation,
            stride=stride,
            pads=pads,
        )
        return on_map(fold, made, source, sums, plain)
    if same:
        pool = AveragePool2D(kernel=kernel, stride=stride, pads=pads, activation=target.activation)
        return on_map(fold, made, source, pool, plain)
    if target.quantization.scale < source.quantization.scale / 2:
        raise Unsupported("it averages over fewer values at the edges and changes the scale")
    pooled = on_map(
        fold,
        made,
        source,
        AveragePool2D(kernel=kernel, stride=stride, pads=pads),
        Target(source.quantization, made.name),
    )
    return functions.rescaled(fold, made.operation, pooled, target)


def _mean(fold: Fold, made: Made, target: Target) -> Held:
    """Return the mean. A mean of means of equally many values is one mean."""
    axes, inner, keep = _axes(made), made.inputs[0], made.operation.flag("keep")
    gone = set(axes)
    while isinstance(inner, Made) and inner.kind == "mean":
        below, kept, rank = set(_axes(inner)), inner.operation.flag("keep"), len(inner.inputs[0].shape)
        if kept != keep and not (kept and below <= gone):
            break
        left = [n for n in range(rank) if kept or n not in below]
        gone = {left[axis] for axis in gone} | below
        inner = inner.inputs[0]
    source = fold.operand(inner)
    stored = tuple(sorted(source.axes[axis] for axis in gone))
    if keep:
        shape, result = tuple(1 if n in stored else size for n, size in enumerate(source.tensor.shape)), source.axes
    else:
        left = [n for n in range(len(source.axes)) if n not in gone]
        places = sorted(source.axes[n] for n in left)
        shape, result = tuple(source.tensor.shape[n] for n in places), tuple(places.index(source.axes[n]) for n in left)
    return fold.node(made.operation.where, Mean(axes=stored, keep_axes=keep), (source.tensor,), shape, result, target)


def _axes(made: Made) -> list[int]:
    rank = len(made.inputs[0].shape)
    return sorted(axis_of(axis, rank) for axis in made.operation.integers("axes"))


RULES: dict[str, Rule] = {"max_pool": moved(_max_pool), "average_pool": _average_pool, "mean": functions.clamped(_mean)}
