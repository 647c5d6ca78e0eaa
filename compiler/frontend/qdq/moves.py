# SPDX-License-Identifier: Apache-2.0
"""Rules of data-movement operators and MAX_POOL.

They act the same on codes as on values, so that they take the scale of their input or of their output.
"""

from collections.abc import Callable, Sequence

import numpy as np

from eyrie.compiler.frontend.qdq import functions
from eyrie.compiler.frontend.qdq.fold import Fold, Rule
from eyrie.compiler.frontend.qdq.network import Operation
from eyrie.compiler.frontend.qdq.shapes import parts_of
from eyrie.compiler.frontend.qdq.values import Coded, Codes, Held, Known, Made, Real, Scale, Scaled, Target, int8_codes
from eyrie.compiler.ir.failure import Unsupported
from eyrie.compiler.ir.operators import movement
from eyrie.compiler.ir.operators.operator import axis_of
from eyrie.model.operators.quantization import Quantization

# Operators on arrays, for constants: one result for each output.
ARRAYS: dict[str, Callable[..., list[np.ndarray]]] = {
    "reshape": lambda operation, x: [x.reshape(operation.integers("shape"))],
    "transpose": lambda operation, x: [x.transpose(operation.integers("axes"))],
    "concat": lambda operation, *parts: [np.concatenate(parts, operation.integer("axis"))],
    "split": lambda operation, x: np.split(x, np.cumsum(operation.integers("sizes"))[:-1], operation.integer("axis")),
    "pad": lambda operation, x: [np.pad(x, operation.pairs("margins"), constant_values=operation.number("value", 0))],
    "slice": lambda operation, x: [x[parts_of(operation)]],
    "gather": lambda operation, x: [np.take(x, operation.array("places"), operation.integer("axis"))],
    "identity": lambda operation, x: [x],
}


def of_constants(operation: Operation, inputs: Sequence[Known | Codes]) -> Sequence[Known | Codes]:
    """Return the results of an operator on constants. Quantised weights keep their codes if only their axes move."""
    (first, *_others), arrays = inputs, ARRAYS[operation.kind]
    if operation.kind in ("transpose", "reshape", "identity") and isinstance(first, Known) and first.coded:
        scale = _scale_behind(operation, first.coded.scale, first.shape)
        if scale:
            (values,), (codes,) = arrays(operation, first.values), arrays(operation, first.coded.codes)
            return [Known(values, Coded(codes, scale))]
    kind = Known if all(isinstance(each, Known) for each in inputs) else Codes
    return [kind(np.asarray(each)) for each in arrays(operation, *(each.values for each in inputs))]


def _scale_behind(operation: Operation, scale: Scale, shape: tuple[int, ...]) -> Scale | None:
    """Return the scale of a constant of `shape` after an operator on its axes, None if it has no such scale."""
    if scale.axis is None or operation.kind == "identity":
        return scale
    axis = axis_of(scale.axis, len(shape))
    if operation.kind == "transpose":
        return Scale(scale.scale, scale.zero_point, operation.integers("axes").index(axis))
    to, before = operation.integers("shape"), int(np.prod(shape[:axis]))
    for n, size in enumerate(to):
        if int(np.prod(to[:n])) == before and size == shape[axis]:
            return Scale(scale.scale, scale.zero_point, n)
    return None


def settled(real: Real) -> Quantization | None:
    """Return the scale of a value that is moved, pooled or clipped from codes of one scale, None for another value."""
    if isinstance(real, Scaled):
        return real.held.quantization
    if not isinstance(real, Made) or real.kind not in (*RULES, "max_pool", "relu", "clip", "identity"):
        return None
    scales = {settled(each) for each in real.inputs}
    scale = scales.pop() if len(scales) == 1 else None
    if scale is None or (real.kind == "clip" and not _on_grid(real.operation, scale)):
        return None
    return scale


def _on_grid(operation: Operation, scale: Quantization) -> bool:
    """Return whether the bounds of a clip are values of codes, or outside the range of codes."""
    steps = np.array([bound / scale.scale + scale.zero_point for bound in functions.bounds(operation)])
    return all(abs(step - np.rint(step)) < 1e-3 or not -128 < step < 127 for step in steps)


def moved(rule: Rule) -> Rule:
    """Return a rule for an operator that changes no value: it uses the scale of its input, if it has one scale, and
    then rescales."""

    def done(fold: Fold, made: Made, target: Target) -> Held:
        scale = settled(made)
        if scale is None or (scale, "NONE") == (target.quantization, target.activation):
            return rule(fold, made, target)
        return functions.rescaled(fold, made.operation, fold.emit(made, Target(scale, made.name)), target)

    return done


def _inner(fold: Fold, made: Made, target: Target, number: int = 0) -> Held:
    """Return an input of the operator in the scale of the result."""
    real = made.inputs[number]
    name = real.name if isinstance(real, Made) else f"{target.name} {number}"
    return fold.emit(real, Target(target.quantization, name, activation=target.activation))


def in_order(held: Held) -> bool:
    """Return whether the values of the tensor are in the framework's order."""
    large = [axis for axis in held.axes if held.tensor.shape[axis] > 1]
    return large == sorted(large)


def _reshape(fold: Fold, made: Made, target: Target) -> Held:
    source, axes = _inner(fold, made, target), tuple(range(len(made.shape)))
    where = made.operation.where
    tensor = source.tensor if in_order(source) else fold.ordered(source, tuple(range(len(source.axes))), where)
    return fold.node(where, movement.Reshape(to=made.shape), (tensor,), made.shape, axes, target)


def _transpose(fold: Fold, made: Made, target: Target) -> Held:
    """Return the tensor with permuted axes. The values stay until a reader needs another order."""
    source = _inner(fold, made, target)
    return Held(source.tensor, tuple(source.axes[axis] for axis in made.operation.integers("axes")), source.unsigned)


def _same_axes(fold: Fold, made: Made, target: Target) -> list[Held]:
    """Return all inputs, as tensors with the axes of the first one."""
    held = [_inner(fold, made, target, number) for number in range(len(made.inputs))]
    order = tuple(int(axis) for axis in np.argsort(held[0].axes))
    return [Held(fold.ordered(each, order, made.operation.where), held[0].axes) for each in held]


def _concat(fold: Fold, made: Made, target: Target) -> Held:
    parts = _same_axes(fold, made, target)
    axis = parts[0].axes[axis_of(made.operation.integer("axis"), len(made.shape))]
    return fold.node(
        made.operation.where,
        movement.Concatenation(axis=axis),
        tuple(each.tensor for each in parts),
        _stored(made.shape, parts[0].axes),
        parts[0].axes,
        target,
    )


def _stored(shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of a tensor with these axes, for a shape in the framework's order."""
    return tuple(shape[axis] for axis in np.argsort(axes))


def _pad(fold: Fold, made: Made, target: Target) -> Held:
    value = int8_codes(np.array(made.operation.number("value", 0.0)), target.quantization)
    source, margins = _inner(fold, made, target), made.operation.pairs("margins")
    return fold.node(
        made.operation.where,
        movement.Pad(margins=tuple(margins[axis] for axis in np.argsort(source.axes)), value=int(value)),
        (source.tensor,),
        _stored(made.shape, source.axes),
        source.axes,
        target,
    )


def _slice(fold: Fold, made: Made, target: Target) -> Held:
    source = _inner(fold, made, target)
    parts = [part.indices(size) for part, size in zip(parts_of(made.operation), made.inputs[0].shape)]
    parts = [parts[axis] for axis in np.argsort(source.axes)]
    if min(step for _, _, step in parts) < 1:
        raise Unsupported("it takes values backwards")
    begin, end, steps = (tuple(int(each) for each in column) for column in zip(*parts))
    shape = _stored(made.shape, source.axes)
    operator = (
        movement.Slice(begin=begin, size=shape)
        if set(steps) == {1}
        else movement.StridedSlice(begin=begin, end=end, strides=steps)
    )
    return fold.node(made.operation.where, operator, (source.tensor,), shape, source.axes, target)


def _split(fold: Fold, made: Made, target: Target) -> Held:
    """Return one result, as a slice: results may need different scales."""
    source, operation = _inner(fold, made, target), made.operation
    axis, first = axis_of(operation.integer("axis"), len(made.shape)), sum(operation.integers("sizes")[: made.number])
    begin = tuple(first if n == axis else 0 for n in range(len(made.shape)))
    begin = tuple(begin[each] for each in np.argsort(source.axes))
    shape = _stored(made.shape, source.axes)
    return fold.node(
        operation.where, movement.Slice(begin=begin, size=shape), (source.tensor,), shape, source.axes, target
    )


def _gather(fold: Fold, made: Made, target: Target) -> Held:
    source, operation = _inner(fold, made, target), made.operation
    tensor = fold.ordered(source, tuple(range(len(source.axes))), operation.where)
    axis = axis_of(operation.integer("axis"), len(source.axes))
    places = operation.array("places").astype(np.int64)
    places = np.where(places < 0, places + source.shape[axis], places)
    operator = movement.Gather(places=tuple(map(int, places.ravel())), places_shape=places.shape, axis=axis)
    return fold.node(operation.where, operator, (tensor,), made.shape, tuple(range(len(made.shape))), target)


def _resize_nearest(fold: Fold, made: Made, target: Target) -> Held:
    source, operation = _inner(fold, made, target), made.operation
    tensor = fold.ordered(source, CHANNELS_LAST, operation.where)
    rows, columns = operation.integers("size")
    operator = movement.ResizeNearestNeighbor(
        size=(rows, columns),
        align_corners=operation.flag("align_corners"),
        half_pixel_centers=operation.flag("half_pixel"),
    )
    return fold.node(
        operation.where, operator, (tensor,), _stored(made.shape, FROM_CHANNELS_LAST), FROM_CHANNELS_LAST, target
    )


def channels_last(rank: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the order of axes with channels last, and the axes of a Held with this order."""
    order = (0, *range(2, rank), 1)
    return order, tuple(int(axis) for axis in np.argsort(order))


CHANNELS_LAST, FROM_CHANNELS_LAST = channels_last(4)

RULES: dict[str, Rule] = {
    name: moved(rule)
    for name, rule in {
        "reshape": _reshape,
        "transpose": _transpose,
        "concat": _concat,
        "pad": _pad,
        "slice": _slice,
        "split": _split,
        "gather": _gather,
        "resize_nearest": _resize_nearest,
    }.items()
}
TAKE_CODES = (*RULES, "max_pool", "identity")
