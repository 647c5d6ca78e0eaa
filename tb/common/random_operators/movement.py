# SPDX-License-Identifier: Apache-2.0
"""Random operators that only put values in other places."""

import numpy as np
from ai_edge_litert import schema_py_generated as schema

from eyrie.model.operators import movement, tables
from tb.common.random_operators.drawing import (
    LITERT,
    activation,
    chance,
    constant,
    draw_axis,
    draw_map,
    draw_quantization,
    draw_shape,
    draw_values,
    graph,
    result,
    whole,
)


def move(rng, name, shape, golden, arguments=(), first=False, references=None, parts=None, kind="int8", **options):
    """A graph of one tensor of `shape`, or of `parts` of these shapes; `golden` takes them and gives outputs.

    `arguments` are constant operands behind the tensor, or before it if they come `first`.
    """
    quantization = draw_quantization(rng)
    values = [draw_values(rng, part) for part in parts or [shape]]
    made = golden(*values)
    made = made if isinstance(made, list) else [made]
    operands = [activation(part, quantization, kind) for part in values]
    arguments = [constant(np.asarray(argument, np.int32)) for argument in arguments]
    return graph(
        name,
        arguments + operands if first else operands + arguments,
        [result(part.shape, quantization, kind) for part in made],
        lambda _: golden(*values),
        references,
        **options,
    )


def draw_concatenation(rng, kind="int8"):
    shape = draw_shape(rng, 1, 4)
    axis = draw_axis(rng, len(shape))
    parts = []
    for _ in range(whole(rng, 1, 5)):
        part = list(shape)
        part[axis] = whole(rng, 1, 9)
        parts.append(tuple(part))
    return move(
        rng,
        "CONCATENATION",
        None,
        lambda *values: movement.concatenation(values, axis),
        parts=parts,
        kind=kind,
        axis=axis,
        fusedActivationFunction=0,
    )


def draw_rescaling_concatenation(rng):
    """Of uint8 tensors, each with a scale of its own."""
    shape, output = draw_shape(rng, 1, 3), draw_quantization(rng)
    quantizations = [
        output if chance(rng, 0.2) else draw_quantization(rng, output.scale * np.exp(rng.uniform(-1, 1)))
        for _ in range(whole(rng, 1, 4))
    ]
    values = [draw_values(rng, shape) for _ in quantizations]

    def golden(_):
        rescaled = [
            tables.apply(tables.joined_uint8(quantization, output), part)
            for quantization, part in zip(quantizations, values, strict=True)
        ]
        return movement.concatenation(rescaled, 0)

    return graph(
        "CONCATENATION",
        [activation(part, quantization, "uint8") for part, quantization in zip(values, quantizations, strict=True)],
        [result((shape[0] * len(values), *shape[1:]), output, "uint8")],
        golden,
        axis=0,
        fusedActivationFunction=0,
    )


def draw_split(rng):
    shape = list(draw_shape(rng, 1, 4))
    axis, count = draw_axis(rng, len(shape)), whole(rng, 1, 4)
    shape[axis] = count * whole(rng, 1, 5)
    return move(
        rng, "SPLIT", shape, lambda values: movement.split(values, count, axis), [axis], first=True, numSplits=count
    )


def draw_split_v(rng):
    shape = list(draw_shape(rng, 1, 4))
    axis = draw_axis(rng, len(shape))
    sizes = [whole(rng, 1, 5) for _ in range(whole(rng, 1, 4))]
    shape[axis] = sum(sizes)
    if chance(rng, 0.3):
        sizes[whole(rng, 0, len(sizes) - 1)] = -1
    return move(
        rng, "SPLIT_V", shape, lambda values: movement.split_v(values, sizes, axis), [sizes, axis], numSplits=len(sizes)
    )


def draw_slice(rng):
    shape = draw_shape(rng, 1, 4)
    begin = [whole(rng, 0, size - 1) for size in shape]
    size = [-1 if chance(rng, 0.2) else whole(rng, 1, total - start) for start, total in zip(begin, shape, strict=True)]
    return move(rng, "SLICE", shape, lambda values: movement.slice_(values, begin, size), [begin, size])


def draw_strided_slice(rng):
    """One in five has an ellipsis or a new axis, which TensorFlow Lite Micro has not."""
    while True:
        shape = draw_shape(rng, 1, 4)
        special = chance(rng, 0.2)
        begin, end = (rng.integers(-12, 13, len(shape)) for _ in range(2))
        strides = rng.choice([1, 1, 1, 2, 3, -1, -2], len(shape))
        masks = dict.fromkeys(("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"), 0)
        for place, size in enumerate(shape):
            masks["begin_mask"] |= chance(rng, 0.3) << place
            masks["end_mask"] |= chance(rng, 0.3) << place
            if chance(rng, 0.2):
                masks["shrink_axis_mask"] |= 1 << place
                # An ellipsis or a new axis puts entries on other axes.
                begin[place], strides[place] = whole(rng, -1, 0) if special else whole(rng, -size, size - 1), 1
                end[place] = begin[place] + 1
        if special:
            place = whole(rng, 0, len(shape) - 1)
            masks[str(rng.choice(["ellipsis_mask", "new_axis_mask"]))] |= 1 << place
            masks["shrink_axis_mask"] &= ~(1 << place)
        arguments = begin.tolist(), end.tolist(), strides.tolist()
        # A slice without values is no tensor.
        if movement.strided_slice(np.zeros(shape, np.int8), *arguments, **masks).size:
            break
    options = {
        "".join([word.capitalize() if place else word for place, word in enumerate(name.split("_"))]): mask
        for name, mask in masks.items()
    }
    return move(
        rng,
        "STRIDED_SLICE",
        shape,
        lambda values: movement.strided_slice(values, *arguments, **masks),
        arguments,
        references=LITERT if special else None,
        **options,
    )


def draw_pad(rng, kind="int8"):
    shape = draw_shape(rng, 1, 4)
    margins = rng.integers(0, 4, (len(shape), 2))
    quantization = draw_quantization(rng)
    values = draw_values(rng, shape)
    made = movement.pad(values, margins, quantization.zero_point)
    return graph(
        "PAD",
        [activation(values, quantization, kind), constant(np.int32(margins))],
        [result(made.shape, quantization, kind)],
        lambda _: movement.pad(values, margins, quantization.zero_point),
    )


def draw_padv2(rng):
    shape = draw_shape(rng, 1, 4)
    margins = rng.integers(0, 4, (len(shape), 2))
    quantization = draw_quantization(rng)
    values, filling = draw_values(rng, shape), draw_values(rng, (1,))
    return graph(
        "PADV2",
        [
            activation(values, quantization),
            constant(np.int32(margins)),
            activation(filling, quantization, constant=True),
        ],
        [result(movement.pad(values, margins, 0).shape, quantization)],
        lambda _: movement.pad(values, margins, int(filling[0])),
    )


def draw_mirror_pad(rng):
    shape = draw_shape(rng, 1, 4)
    mode = str(rng.choice(["REFLECT", "SYMMETRIC"]))
    most = np.array(shape) - (mode == "REFLECT")
    margins = rng.integers(0, np.minimum(most, 4)[:, None], (len(shape), 2), endpoint=True)
    return move(
        rng,
        "MIRROR_PAD",
        shape,
        lambda values: movement.mirror_pad(values, margins, mode),
        [margins],
        mode=getattr(schema.MirrorPadMode, mode),
    )


def draw_tile(rng):
    shape = draw_shape(rng, 1, 4, 6)
    multiples = [whole(rng, 1, 3) for _ in shape]
    return move(rng, "TILE", shape, lambda values: movement.tile(values, multiples), [multiples], references=LITERT)


def draw_depth_to_space(rng):
    (batch, rows, columns, channels), block = draw_map(rng, channels=8), whole(rng, 1, 3)

    def golden(values):
        made = np.zeros((batch, rows * block, columns * block, channels), values.dtype)
        for place in range(block * block):
            down, across = divmod(place, block)
            made[:, down::block, across::block] = values[..., place * channels : (place + 1) * channels]
        return made

    return move(rng, "DEPTH_TO_SPACE", (batch, rows, columns, channels * block * block), golden, blockSize=block)


def draw_space_to_depth(rng):
    (batch, rows, columns, channels), block = draw_map(rng, channels=8), whole(rng, 1, 3)

    def golden(values):
        places = [divmod(place, block) for place in range(block * block)]
        return np.concatenate([values[:, down::block, across::block] for down, across in places], axis=3)

    return move(rng, "SPACE_TO_DEPTH", (batch, rows * block, columns * block, channels), golden, blockSize=block)


def draw_reshape(rng):
    shape = draw_shape(rng, 1, 4)
    left, sizes = int(np.prod(shape)), []
    for _ in range(whole(rng, 0, 3)):
        sizes.append(int(rng.choice([size for size in range(1, left + 1) if left % size == 0])))
        left //= sizes[-1]
    sizes.insert(whole(rng, 0, len(sizes)), left)
    if chance(rng, 0.3):
        sizes[whole(rng, 0, len(sizes) - 1)] = -1
    return move(rng, "RESHAPE", shape, lambda values: movement.reshape(values, sizes), [sizes], newShape=sizes)


def draw_transpose(rng):
    shape = draw_shape(rng, 1, 5, 7)
    axes = rng.permutation(len(shape)).tolist()
    return move(rng, "TRANSPOSE", shape, lambda values: movement.transpose(values, axes), [axes])


def draw_squeeze(rng):
    shape = np.array(draw_shape(rng, 2, 5))
    shape[rng.random(len(shape)) < 0.5] = 1
    shape[whole(rng, 0, len(shape) - 1)] = 4  # a scalar is no activation
    ones = np.flatnonzero(shape == 1)
    axes = [int(axis) - (len(shape) if chance(rng, 0.3) else 0) for axis in ones if chance(rng, 0.7)]
    return move(rng, "SQUEEZE", tuple(shape), lambda values: movement.squeeze(values, axes), squeezeDims=axes)


def draw_expand_dims(rng):
    shape = draw_shape(rng, 1, 4)
    axis = whole(rng, -len(shape) - 1, len(shape))
    return move(rng, "EXPAND_DIMS", shape, lambda values: movement.expand_dims(values, axis), [[axis]])


def draw_pack(rng):
    shape, count = draw_shape(rng, 1, 3), whole(rng, 1, 4)
    axis = whole(rng, -len(shape) - 1, len(shape))
    return move(
        rng,
        "PACK",
        None,
        lambda *values: movement.pack(values, axis),
        parts=[shape] * count,
        axis=axis,
        valuesCount=count,
    )


def draw_unpack(rng):
    shape = draw_shape(rng, 2, 4, 5)
    axis = draw_axis(rng, len(shape))
    return move(rng, "UNPACK", shape, lambda values: movement.unpack(values, axis), axis=axis, num=shape[axis])


def draw_gather(rng):
    shape = draw_shape(rng, 1, 3)
    axis = draw_axis(rng, len(shape))
    places = rng.integers(0, shape[axis], draw_shape(rng, 1, 2, 5))
    return move(rng, "GATHER", shape, lambda values: movement.gather(values, places, axis), [places], axis=axis)


def draw_resize_nearest_neighbor(rng, kind="int8"):
    shape, wanted = draw_map(rng, channels=8), [whole(rng, 1, 20), whole(rng, 1, 20)]
    align_corners, half_pixel_centers = [(False, False), (True, False), (False, True)][whole(rng, 0, 2)]
    return move(
        rng,
        "RESIZE_NEAREST_NEIGHBOR",
        shape,
        lambda values: movement.resize_nearest_neighbor(values, wanted, align_corners, half_pixel_centers),
        [wanted],
        kind=kind,
        alignCorners=align_corners,
        halfPixelCenters=half_pixel_centers,
    )


OPERATORS = {
    "CONCATENATION": draw_concatenation,
    "CONCATENATION uint8": lambda rng: draw_concatenation(rng, "uint8"),
    "CONCATENATION uint8 to one scale": draw_rescaling_concatenation,
    "SPLIT": draw_split,
    "SPLIT_V": draw_split_v,
    "SLICE": draw_slice,
    "STRIDED_SLICE": draw_strided_slice,
    "PAD": draw_pad,
    "PAD uint8": lambda rng: draw_pad(rng, "uint8"),
    "PADV2": draw_padv2,
    "MIRROR_PAD": draw_mirror_pad,
    "TILE": draw_tile,
    "DEPTH_TO_SPACE": draw_depth_to_space,
    "SPACE_TO_DEPTH": draw_space_to_depth,
    "RESHAPE": draw_reshape,
    "TRANSPOSE": draw_transpose,
    "SQUEEZE": draw_squeeze,
    "EXPAND_DIMS": draw_expand_dims,
    "PACK": draw_pack,
    "UNPACK": draw_unpack,
    "GATHER": draw_gather,
    "RESIZE_NEAREST_NEIGHBOR": draw_resize_nearest_neighbor,
    "RESIZE_NEAREST_NEIGHBOR uint8": lambda rng: draw_resize_nearest_neighbor(rng, "uint8"),
}
