# SPDX-License-Identifier: Apache-2.0
"""Operators without a golden function, which LiteRT runs: of int8 and uint8, and of int32 and real numbers between."""

import numpy as np

from tb.common.random_operators.drawing import chance, constant, draw_axis, draw_quantization, whole


def reverse(net, x):
    axis = draw_axis(net.rng, len(x.shape))
    net.move("REVERSE_V2", [x], lambda values: np.flip(values, axis), [[axis]])


def reduce(net, x):
    """The largest or the smallest values over some axes."""
    axes = [axis for axis in range(len(x.shape)) if chance(net.rng, 0.5)] or [len(x.shape) - 1]
    keeps = len(axes) == len(x.shape) or chance(net.rng, 0.5)
    name = net.one_of(["REDUCE_MAX", "REDUCE_MIN"])
    net.move(name, [x], lambda values: values.max(tuple(axes), keepdims=keeps), [axes], keepDims=keeps)


def depth_to_space(net, x):
    """Or back: blocks of pixels become channels."""
    _, rows, columns, channels = x.shape
    if channels % 4 == 0:
        net.move("DEPTH_TO_SPACE", [x], lambda v: v.reshape(len(v), 2 * rows, 2 * columns, -1), blockSize=2)
    elif rows % 2 == columns % 2 == 0:
        net.move("SPACE_TO_DEPTH", [x], lambda v: v.reshape(len(v), rows // 2, columns // 2, -1), blockSize=2)


def select(net, x):
    """Values that are larger than the reversed ones, else the first again: of a tensor of bools."""
    other = net.constant(x.shape, x.quantization)
    [larger] = net.add("GREATER", [x, other], [(x.shape, "bool")])
    net.add("SELECT_V2", [larger, x, other], [(x.shape, x.quantization)])


def whole_numbers(net, x):
    """Arithmetic of int32, then real numbers."""
    [cast] = net.add("CAST", [x], [(x.shape, "int32")])
    by = constant(np.int32(whole(net.rng, 1, 9)))
    [made] = net.add(net.one_of(["FLOOR_DIV", "FLOOR_MOD", "MUL", "ADD", "SUB"]), [cast], [(x.shape, "int32")], [by])
    [real] = net.add("CAST", [made], [(x.shape, "float32")])
    net.add("QUANTIZE", [real], [(x.shape, draw_quantization(net.rng))])


def real_numbers(net, x):
    [real] = net.add("DEQUANTIZE", [x], [(x.shape, "float32")])
    [made] = net.add(net.one_of(["NEG", "FLOOR", "SIN", "SQUARE", "SIGN"]), [real], [(x.shape, "float32")])
    if chance(net.rng, 0.3):
        [made] = net.add("ADD", [made, real], [(x.shape, "float32")])
    net.add("QUANTIZE", [made], [(x.shape, net.near(x))])


def top(net, x):
    """The largest values of a row, and where they are."""
    count = whole(net.rng, 1, x.shape[-1])
    shape, number = (*x.shape[:-1], count), constant(np.int32(count))
    net.add("TOPK_V2", [x], [(shape, x.quantization), (shape, "int32")], [number])
