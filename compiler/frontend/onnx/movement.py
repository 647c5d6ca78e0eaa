# SPDX-License-Identifier: Apache-2.0
"""Translators of data-movement operators."""

from math import prod

import numpy as np

from eyrie.compiler.frontend.onnx.call import Call, Shape
from eyrie.compiler.frontend.qdq import Operation
from eyrie.compiler.ir.failure import Unsupported


def _to(call: Call, shape: Shape) -> list[Operation]:
    return [call.make("reshape", call.inputs[:1], shape=tuple(int(size) for size in shape))]


def reshape(call: Call) -> list[Operation]:
    """Translate Reshape. Size 0 keeps the input's size; -1 stands for all remaining values."""
    source, to = call.shape(0), list(call.listed("shape", 1))
    if not call.whole("allowzero", 0):
        to = [source[n] if size == 0 and n < len(source) else size for n, size in enumerate(to)]
    if -1 in to:
        to[to.index(-1)] = prod(source) // max(-prod(to), 1)
    return _to(call, tuple(to))


def flatten(call: Call) -> list[Operation]:
    source = call.shape(0)
    axis = call.whole("axis", 1)
    axis = axis + len(source) if axis < 0 else axis
    return _to(call, (prod(source[:axis]), prod(source[axis:])))


def squeeze(call: Call) -> list[Operation]:
    source = call.shape(0)
    if call.lists("axes", 1):
        gone = {axis % len(source) for axis in call.listed("axes", 1)}
    else:
        gone = {n for n, size in enumerate(source) if size == 1}
    return _to(call, tuple(size for n, size in enumerate(source) if n not in gone))


def unsqueeze(call: Call) -> list[Operation]:
    source, axes = list(call.shape(0)), call.listed("axes", 1)
    for axis in sorted(axis % (len(source) + len(axes)) for axis in axes):
        source.insert(axis, 1)
    return _to(call, tuple(source))


def transpose(call: Call) -> list[Operation]:
    return [call.make("transpose", axes=call.wholes("perm", tuple(reversed(range(len(call.shape(0)))))))]


def concat(call: Call) -> list[Operation]:
    return [call.make("concat", axis=call.whole("axis"))]


def split(call: Call) -> list[Operation]:
    axis, count = call.whole("axis", 0), len(call.outputs)
    sizes = call.listed("split", 1) if call.lists("split", 1) else None
    whole = call.shape(0)[axis]
    if sizes is None:
        each = -(-whole // count)
        sizes = (*(each,) * (count - 1), whole - each * (count - 1))
    return [call.make("split", call.inputs[:1], axis=axis, sizes=sizes)]


def pad(call: Call) -> list[Operation]:
    rank = len(call.shape(0))
    if (mode := call.text("mode", "constant")) != "constant":
        raise Unsupported(f"it pads by {mode}")
    pads, value = call.listed("pads", 1), call.number("value", 2)
    axes = [axis % rank for axis in call.integers(3)] if call.has(3) else list(range(rank))
    margins = {axis: (pads[n], pads[n + len(axes)]) for n, axis in enumerate(axes)}
    if min(pads, default=0) < 0:
        raise Unsupported("it has negative pads")
    return [call.make("pad", call.inputs[:1], margins=tuple(margins.get(n, (0, 0)) for n in range(rank)), value=value)]


def slice_(call: Call) -> list[Operation]:
    source = call.shape(0)
    starts, ends = call.listed("starts", 1), call.listed("ends", 2)
    axes = call.listed("axes", 3, tuple(range(len(starts))))
    steps = call.integers(4) if call.has(4) else (1,) * len(starts)
    parts = [(0, size, 1) for size in source]
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        if step < 1:
            raise Unsupported("it takes values backwards")
        parts[axis] = slice(start, end, step).indices(source[axis])
    first, last, steps = zip(*parts)
    return [call.make("slice", call.inputs[:1], begin=first, end=last, steps=steps)]


def gather(call: Call) -> list[Operation]:
    return [call.make("gather", call.inputs[:1], axis=call.whole("axis", 0), places=call.constant(1))]


def resize(call: Call) -> list[Operation]:
    """Translate Resize: nearest and linear, of rows and columns."""
    source, mode = call.shape(0), call.text("mode", "nearest")
    places = call.text("coordinate_transformation_mode", "half_pixel")
    nearest = call.text("nearest_mode", "round_prefer_floor")
    if call.has(3):
        to = call.integers(3)
    else:
        to = tuple(int(np.floor(size * by)) for size, by in zip(source, call.constant(2).ravel(), strict=True))
    if len(source) != 4 or to[:2] != source[:2] or call.given("axes"):
        raise Unsupported("it resizes other axes than rows and columns")
    whole = all(size % before == 0 for size, before in zip(to, source))
    if mode == "nearest":
        # For an integer factor, all coordinate modes give the same result, except at the ends with aligned corners.
        if not whole or places not in ("asymmetric", "half_pixel") or nearest not in ("floor", "round_prefer_floor"):
            raise Unsupported("it resizes to the nearest other than by whole numbers")
        if places == "asymmetric" and nearest != "floor":
            raise Unsupported("it rounds to the nearest from the corner on")
        return [call.make("resize_nearest", call.inputs[:1], size=to[2:])]
    if mode != "linear" or places not in ("half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners"):
        raise Unsupported(f"it resizes by {mode}, {places}")
    return [
        call.make(
            "resize_bilinear",
            call.inputs[:1],
            size=to[2:],
            align_corners=places == "align_corners",
            half_pixel="half_pixel" in places,
        )
    ]


def depth_to_space(call: Call) -> list[Operation]:
    (batch, channels, rows, columns), by = call.shape(0), call.whole("blocksize")
    left = channels // by**2
    first = call.text("mode", "DCR") == "DCR"
    parts = (batch, by, by, left, rows, columns) if first else (batch, left, by, by, rows, columns)
    axes = (0, 3, 4, 1, 5, 2) if first else (0, 1, 4, 2, 5, 3)
    taken, turned = call.inner("parts"), call.inner("turned")
    return [
        call.make("reshape", None, (taken,), shape=parts),
        call.make("transpose", (taken,), (turned,), axes=axes),
        call.make("reshape", (turned,), shape=(batch, left, rows * by, columns * by)),
    ]


OPERATORS = {
    "Reshape": reshape,
    "Flatten": flatten,
    "Squeeze": squeeze,
    "Unsqueeze": unsqueeze,
    "Transpose": transpose,
    "Concat": concat,
    "Split": split,
    "Pad": pad,
    "Slice": slice_,
    "Gather": gather,
    "Resize": resize,
    "DepthToSpace": depth_to_space,
}
