# SPDX-License-Identifier: Apache-2.0
"""Random case files (eyrie/commands/case.py), and the sums that the golden model's operators give."""

import numpy as np

from eyrie.model.operators import quantization
from eyrie.model.operators.convolution import conv2d_sums, depthwise_conv2d_sums
from eyrie.testing.layers import int8

Arrays = dict[str, np.ndarray]


def arrays(**values: object) -> Arrays:
    return {name: np.asarray(value) for name, value in values.items()}


def convolution(
    rng: np.random.Generator,
    shape: tuple[int, int, int],
    filters: int,
    kernel: tuple[int, int],
    stride: int,
    pad: object,
    zero_point: int = 0,
    **mapping: int,
) -> tuple[Arrays, np.ndarray]:
    """A convolution with ipsum: (case, opsum). shape: C, H, W."""
    ifmap, weights = int8(rng, *shape), int8(rng, filters, shape[0], *kernel)
    sums = conv2d_sums(
        ifmap.transpose(1, 2, 0),
        weights.transpose(0, 2, 3, 1),
        stride,
        tuple(np.broadcast_to(pad, 4)),
        zero_point,
    ).transpose(2, 0, 1)
    ipsum = rng.integers(-(2**24), 2**24, sums.shape).astype(np.int32)
    case = arrays(
        ifmap=ifmap,
        filter=weights,
        stride=stride,
        pad=pad,
        zero_point=zero_point,
        ipsum=ipsum,
        **mapping,
    )
    return case, sums + ipsum


def fused(
    rng: np.random.Generator,
    shape: tuple[int, int, int],
    filters: int,
    kernel: tuple[int, int],
    stride: int,
    pad: object,
    zero_point: int = 0,
    dw_zero_point: int = -128,
) -> tuple[Arrays, np.ndarray]:
    """A fused depthwise-separable layer: (case, opsum)."""
    channels = shape[0]
    ifmap, weights, pointwise = (
        int8(rng, *shape),
        int8(rng, channels, 1, *kernel),
        int8(rng, filters, channels),
    )
    case = arrays(
        ifmap=ifmap,
        filter=weights,
        stride=stride,
        pad=pad,
        zero_point=zero_point,
        pw_filter=pointwise,
        dw_bias=rng.integers(-4096, 4096, channels).astype(np.int32),
        dw_multiplier=rng.integers(2**30, 2**31, channels).astype(np.int32),
        dw_shift=rng.integers(-9, -6, channels) - (weights[0].size > 3),
        dw_zero_point=dw_zero_point,
        dw_min=-128,
        dw_max=100,
    )
    sums = depthwise_conv2d_sums(
        ifmap.transpose(1, 2, 0),
        weights[:, 0].transpose(1, 2, 0),
        stride,
        tuple(np.broadcast_to(pad, 4)),
        zero_point,
    )
    words = quantization.requantize(
        sums + case["dw_bias"],
        quantization.Requantization(case["dw_multiplier"], case["dw_shift"], dw_zero_point, -128, 100),
    )
    different = len(np.unique(words))
    assert channels < 4 or different > min(4, words.size // 20), "the words tell too little"
    return case, conv2d_sums(words, pointwise[:, None, None, :]).transpose(2, 0, 1)
