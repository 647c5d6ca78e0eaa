# SPDX-License-Identifier: Apache-2.0
"""Operators that put values in other places."""

from functools import partial

import numpy as np
from ai_edge_litert import schema_py_generated as schema

from eyrie.model.operators import movement
from tb.common.random_graphs.net import LARGEST, MOST_AXES
from tb.common.random_operators.drawing import chance, constant, draw_axis, draw_quantization, whole


def concatenation(net, x):
    """With tensors that are there, itself, and constants."""
    axis = draw_axis(net.rng, len(x.shape))

    def fits(value):
        rest = [np.delete(each.shape, axis).tolist() for each in (x, value) if len(each.shape) == len(x.shape)]
        return value.quantization == x.quantization and len(rest) == 2 and rest[0] == rest[1]

    others, parts = [value for value in net.values if fits(value)], [x]
    for _ in range(whole(net.rng, 0, 3)):
        part = net.one_of(others)
        parts.append(net.constant(part.shape, x.quantization) if chance(net.rng, 0.2) else part)
    net.move(
        "CONCATENATION",
        parts,
        lambda *values: movement.concatenation(values, axis),
        axis=axis,
        fusedActivationFunction=0,
    )


def rescaling_concatenation(net, x):
    """Of tensors with a scale of their own, as uint8 models have it."""
    others = [value for value in net.values if value.shape == x.shape]
    parts, output = (
        [x, *(net.one_of(others) for _ in range(whole(net.rng, 0, 2)))],
        draw_quantization(net.rng, x.quantization.scale),
    )
    if np.prod(x.shape) * len(parts) <= LARGEST:
        net.add(
            "CONCATENATION",
            parts,
            [((*x.shape[:-1], x.shape[-1] * len(parts)), output)],
            axis=-1,
            fusedActivationFunction=0,
        )


def split(net, x):
    axis = draw_axis(net.rng, len(x.shape))
    count = net.one_of([count for count in (1, 2, 3, 4) if x.shape[axis] % count == 0])
    net.move("SPLIT", [x], lambda values: movement.split(values, count, axis), [[axis]], first=True, numSplits=count)


def split_v(net, x):
    axis = draw_axis(net.rng, len(x.shape))
    sizes, left = [], x.shape[axis]
    while left > 1 and len(sizes) < 3 and chance(net.rng, 0.7):
        sizes.append(whole(net.rng, 1, left - 1))
        left -= sizes[-1]
    sizes.append(-1 if chance(net.rng, 0.3) else left)
    net.move("SPLIT_V", [x], lambda values: movement.split_v(values, sizes, axis), [sizes, axis], numSplits=len(sizes))


def slice_(net, x):
    begin = [whole(net.rng, 0, size - 1) for size in x.shape]
    size = [
        -1 if chance(net.rng, 0.2) else whole(net.rng, 1, total - start)
        for start, total in zip(begin, x.shape, strict=True)
    ]
    net.move("SLICE", [x], lambda values: movement.slice_(values, begin, size), [begin, size])


def strided_slice(net, x):
    """Ends lie beyond the axis, too; one that leaves no values is no tensor, and drawn again."""
    for _ in range(4):
        begin, end = (net.rng.integers(-12, 13, len(x.shape)).tolist() for _ in range(2))
        strides = net.rng.choice([1, 1, 1, 2, 3, -1, -2], len(x.shape)).tolist()
        masks = dict.fromkeys(("begin_mask", "end_mask", "shrink_axis_mask"), 0)
        for place, size in enumerate(x.shape):
            masks["begin_mask"] |= chance(net.rng, 0.5) << place
            masks["end_mask"] |= chance(net.rng, 0.5) << place
            if chance(net.rng, 0.1):
                masks["shrink_axis_mask"] |= 1 << place
                begin[place], strides[place] = whole(net.rng, -size, size - 1), 1
                end[place] = begin[place] + 1
        compute = partial(movement.strided_slice, begin=begin, end=end, strides=strides, **masks)
        if compute(np.zeros(x.shape, np.int8)).size:
            return net.move(
                "STRIDED_SLICE",
                [x],
                compute,
                [begin, end, strides],
                beginMask=masks["begin_mask"],
                endMask=masks["end_mask"],
                shrinkAxisMask=masks["shrink_axis_mask"],
            )
    return None


def _margins(net, x):
    """Of each axis, of rows and columns only, or of channels only."""
    margins, kind = net.rng.integers(0, 4, (len(x.shape), 2)), net.one_of(["window", "channels", "any"])
    for axis in range(len(margins)):
        inner = 1 <= axis < len(margins) - 1
        if (axis == 0 and chance(net.rng, 0.9)) or (kind == "window" and not inner) or (kind == "channels" and inner):
            margins[axis] = 0
    return margins.tolist()


def pad(net, x):
    margins = _margins(net, x)
    net.move("PAD", [x], lambda values: movement.pad(values, margins, 0), [margins])


def pad_v2(net, x):
    margins, filling = _margins(net, x), net.constant((1,), x.quantization)
    shape = np.add(x.shape, np.sum(margins, axis=1))
    if np.prod(shape) > LARGEST:
        return
    table = net.builder.tensor(np.shape(margins), "int32", data=np.int32(margins))
    net.add("PADV2", [x, _Argument(table), filling], [(shape, x.quantization)])


class _Argument:
    """A constant between tensors."""

    def __init__(self, index):
        self.index = index


def mirror_pad(net, x):
    mode = net.one_of(["REFLECT", "SYMMETRIC"])
    most = np.minimum(np.array(x.shape) - (mode == "REFLECT"), 3)
    margins = np.minimum(_margins(net, x), most[:, None]).tolist()
    net.move(
        "MIRROR_PAD",
        [x],
        lambda values: movement.mirror_pad(values, margins, mode),
        [margins],
        mode=getattr(schema.MirrorPadMode, mode),
    )


def tile(net, x):
    multiples = [whole(net.rng, 1, 3) for _ in x.shape]
    net.move("TILE", [x], lambda values: movement.tile(values, multiples), [multiples])


def reshape(net, x):
    """To any shape; one of its sizes may be left open."""
    left, sizes = int(np.prod(x.shape)), []
    for _ in range(whole(net.rng, 0, MOST_AXES - 1)):
        sizes.append(net.one_of([size for size in range(1, left + 1) if left % size == 0]))
        left //= sizes[-1]
    sizes = [1, *sizes] if len(sizes) < MOST_AXES - 1 and chance(net.rng, 0.7) else sizes
    sizes.append(left)
    if chance(net.rng, 0.3):
        sizes[whole(net.rng, 0, len(sizes) - 1)] = -1
    net.move("RESHAPE", [x], lambda values: movement.reshape(values, sizes), [sizes], newShape=sizes)


def transpose(net, x):
    rank = len(x.shape)
    axes = net.rng.permutation(rank).tolist() if chance(net.rng, 0.4) else [0, *(1 + net.rng.permutation(rank - 1))]
    net.move("TRANSPOSE", [x], lambda values: movement.transpose(values, axes), [axes])


def squeeze(net, x):
    axes = [axis for axis, size in enumerate(x.shape) if size == 1 and chance(net.rng, 0.6)]
    if np.prod(x.shape) > 1 or axes:  # without axes all go, and a scalar is no activation
        net.move("SQUEEZE", [x], lambda values: movement.squeeze(values, axes), squeezeDims=axes)


def expand_dims(net, x):
    axis = whole(net.rng, -len(x.shape) - 1, len(x.shape))
    net.move("EXPAND_DIMS", [x], lambda values: movement.expand_dims(values, axis), [[axis]])


def pack(net, x):
    alike = [value for value in net.values if (value.shape, value.quantization) == (x.shape, x.quantization)]
    parts, axis = [x, *(net.one_of(alike) for _ in range(whole(net.rng, 0, 2)))], draw_axis(net.rng, len(x.shape) + 1)
    net.move("PACK", parts, lambda *values: movement.pack(values, axis), axis=axis, valuesCount=len(parts))


def unpack(net, x):
    axis = draw_axis(net.rng, len(x.shape))
    if x.shape[axis] <= 6:
        net.move("UNPACK", [x], lambda values: movement.unpack(values, axis), axis=axis, num=x.shape[axis])


def gather(net, x):
    axis = draw_axis(net.rng, len(x.shape))
    places = net.rng.integers(0, x.shape[axis], whole(net.rng, 1, 5))
    net.move("GATHER", [x], lambda values: movement.gather(values, places, axis), [places], axis=axis)


def _resize(name):
    def add(net, x):
        wanted = [whole(net.rng, 1, 15), whole(net.rng, 1, 15)]
        align_corners, half_pixel_centers = net.one_of([(False, False), (True, False), (False, True)])
        shape = (x.shape[0], *wanted, x.shape[3])
        if np.prod(shape) <= LARGEST:
            net.add(
                name,
                [x],
                [(shape, x.quantization)],
                [constant(np.int32(wanted))],
                alignCorners=align_corners,
                halfPixelCenters=half_pixel_centers,
            )

    return add


resize_nearest_neighbor, resize_bilinear = _resize("RESIZE_NEAREST_NEIGHBOR"), _resize("RESIZE_BILINEAR")
