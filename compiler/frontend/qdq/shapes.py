# SPDX-License-Identifier: Apache-2.0
"""Shape inference of operators, with axes in the framework's order. Functions raise InputError if inputs do not fit."""

from collections.abc import Callable, Sequence
from math import prod

import numpy as np

from eyrie.compiler.frontend.qdq.network import Operation
from eyrie.compiler.frontend.qdq.values import Value
from eyrie.compiler.ir.operators.convolution import window_output
from eyrie.compiler.ir.operators.operator import axis_of
from eyrie.model.errors import InputError
from eyrie.model.messages import times

Shape = tuple[int, ...]
Pair = tuple[int, int]
Pads = tuple[int, int, int, int]
MOST_TAPS = 4096  # limit of a kernel with its strides and dilations along an axis


def shapes_of(operation: Operation, inputs: Sequence[Value]) -> list[Shape]:
    """Return the shapes of all outputs."""
    made = _SHAPES.get(operation.kind, _of_all)(operation, [value.shape for value in inputs])
    return made if isinstance(made, list) else [made]


def window(operation: Operation, kernel: Shape) -> tuple[Pair, Pair, Pads, Pair]:
    """Return kernel, strides, pads and dilations over rows and columns. A window over one axis is over columns."""
    ones = (1,) * len(kernel)
    strides, dilations = (operation.integers(name, ones) for name in ("strides", "dilations"))
    pads = operation.integers("pads", (0,) * 2 * len(kernel))
    if len(kernel) not in (1, 2) or not len(kernel) == len(strides) == len(dilations) == len(pads) / 2:
        raise InputError(f"a window over {len(kernel)} axes with {len(strides)} strides and {len(pads)} pads")
    if max(*kernel, *strides, *dilations, *pads) > MOST_TAPS or min(pads) < 0:
        raise InputError(
            f"a window of {times(kernel)} with strides {times(strides)} and pads of {', '.join(map(str, pads))}"
        )
    top, bottom, left, right = (0, 0, *pads)[-4:]
    return _pair(kernel), _pair(strides), (top, bottom, left, right), _pair(dilations)


def _pair(values: Shape) -> Pair:
    """Return the values of rows and columns; rows are 1 if only columns exist."""
    rows, columns = (1, *values)[-2:]
    return rows, columns


def over(operation: Operation, source: Shape, kernel: Shape) -> Shape:
    """Return the result's axes after N and C, for a window of `kernel` over `source`."""
    if len(source) != len(kernel) + 2:
        raise InputError(f"a window of {times(kernel)} over {times(source)} values")
    taps, strides, pads, dilations = window(operation, kernel)
    return window_output(_pair(source[2:]), taps, strides, pads, dilations)[-len(kernel) :]


def _of_all(operation: Operation, inputs: list[Shape]) -> Shape:
    try:
        return tuple(np.broadcast_shapes(*inputs))
    except ValueError:
        raise InputError(f"operands of {' and '.join(map(times, inputs))} do not go together") from None


def _conv(operation: Operation, inputs: list[Shape]) -> Shape:
    source, weight, groups = inputs[0], inputs[1], operation.integer("groups", 1)
    if len(weight) < 3 or len(source) != len(weight) or source[1] != weight[1] * groups or weight[0] % groups:
        raise InputError(f"filters of {times(weight)} in {groups} groups do not go with {times(source)} values")
    return source[0], weight[0], *over(operation, source, weight[2:])


def _linear(operation: Operation, inputs: list[Shape]) -> Shape:
    source, weight = inputs[:2]
    if len(weight) != 2 or not source or source[-1] != weight[1]:
        raise InputError(f"weights of {times(weight)} do not go with {times(source)} values")
    return *source[:-1], weight[0]


def _pool(operation: Operation, inputs: list[Shape]) -> Shape:
    return *inputs[0][:2], *over(operation, inputs[0], operation.integers("kernel"))


def _first(operation: Operation, inputs: list[Shape]) -> Shape:
    return inputs[0]


def _reduced(operation: Operation, inputs: list[Shape]) -> Shape:
    rank = len(inputs[0])
    gone = {axis_of(axis, rank) for axis in operation.integers("axes")}
    return tuple(
        1 if n in gone else size for n, size in enumerate(inputs[0]) if n not in gone or operation.flag("keep")
    )


def _reshape(operation: Operation, inputs: list[Shape]) -> Shape:
    to = operation.integers("shape")
    if prod(to) != prod(inputs[0]):
        raise InputError(f"{times(inputs[0])} values do not fill {times(to)}")
    return to


def _transpose(operation: Operation, inputs: list[Shape]) -> Shape:
    axes = operation.integers("axes")
    if sorted(axes) != list(range(len(inputs[0]))):
        raise InputError(f"axes {', '.join(map(str, axes))} of a tensor of {len(inputs[0])} axes")
    return tuple(inputs[0][axis] for axis in axes)


def _concat(operation: Operation, inputs: list[Shape]) -> Shape:
    axis = axis_of(operation.integer("axis"), len(inputs[0]))
    if len({(*shape[:axis], *shape[axis + 1 :]) for shape in inputs}) > 1:
        raise InputError(f"tensors of {', '.join(map(times, inputs))} are not joined along axis {axis}")
    return *inputs[0][:axis], sum(shape[axis] for shape in inputs), *inputs[0][axis + 1 :]


def _split(operation: Operation, inputs: list[Shape]) -> list[Shape]:
    axis, sizes = axis_of(operation.integer("axis"), len(inputs[0])), operation.integers("sizes")
    if sum(sizes) != inputs[0][axis] or len(sizes) != len(operation.outputs):
        raise InputError(f"{inputs[0][axis]} values along an axis are not split into {' + '.join(map(str, sizes))}")
    return [(*inputs[0][:axis], size, *inputs[0][axis + 1 :]) for size in sizes]


def _pad(operation: Operation, inputs: list[Shape]) -> Shape:
    margins = operation.pairs("margins")
    if len(margins) != len(inputs[0]) or any(min(pair) < 0 for pair in margins):
        raise InputError(f"margins of {len(margins)} axes do not go with {times(inputs[0])} values")
    return tuple(size + before + after for size, (before, after) in zip(inputs[0], margins))


def _slice(operation: Operation, inputs: list[Shape]) -> Shape:
    made = tuple(len(range(size)[part]) for size, part in zip(inputs[0], parts_of(operation), strict=True))
    if not all(made):
        raise InputError(f"a slice of {times(inputs[0])} values without any")
    return made


def parts_of(operation: Operation) -> tuple[slice, ...]:
    """Return the slice of each axis."""
    begin, end = operation.integers("begin"), operation.integers("end")
    steps = operation.integers("steps", (1,) * len(begin))
    return tuple(slice(*each) for each in zip(begin, end, steps, strict=True))


def _gather(operation: Operation, inputs: list[Shape]) -> Shape:
    axis = axis_of(operation.integer("axis"), len(inputs[0]))
    return *inputs[0][:axis], *operation.array("places").shape, *inputs[0][axis + 1 :]


def _resize(operation: Operation, inputs: list[Shape]) -> Shape:
    size = operation.integers("size")
    if len(inputs[0]) != 4:
        raise InputError(f"a tensor of {times(inputs[0])} is not resized to {times(size)}")
    return *inputs[0][:2], *size


_SHAPES: dict[str, Callable[[Operation, list[Shape]], Shape | list[Shape]]] = {
    "conv": _conv,
    "linear": _linear,
    "batch_norm": _first,
    "prelu": _first,
    "softmax": _first,
    "max_pool": _pool,
    "average_pool": _pool,
    "mean": _reduced,
    "reshape": _reshape,
    "transpose": _transpose,
    "concat": _concat,
    "split": _split,
    "pad": _pad,
    "slice": _slice,
    "gather": _gather,
    "resize_nearest": _resize,
    "resize_bilinear": _resize,
}
