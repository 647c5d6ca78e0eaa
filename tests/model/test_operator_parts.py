# SPDX-License-Identifier: Apache-2.0
"""Sums by their definition, scales, and what golden operators reject."""

import numpy as np
import pytest

from eyrie.model.arithmetic import INT32_MAX, INT32_MIN, quantize_multiplier
from eyrie.model.operators import elementwise, movement, tables
from eyrie.model.operators.convolution import conv2d_sums, depthwise_conv2d_sums, fully_connected_sums
from eyrie.model.operators.pooling import average_pool2d
from eyrie.model.operators.quantization import (
    Quantization,
    Requantization,
    from_uint8,
    once_in_fixed_point,
    requantization,
    requantize,
    requantize_once,
    to_uint8,
)
from tb.common.seed import run_seed

SEED = run_seed()


def direct_sums(ifmap, filter_, stride, pads, pad_value):
    """The definition in int64: [H, W, C] and [M, R, S, C] give [E, F, M]."""
    top, bottom, left, right = pads
    height, width = ifmap.shape[0] + top + bottom, ifmap.shape[1] + left + right
    padded = np.full((height, width, ifmap.shape[2]), pad_value, np.int64)
    padded[top : height - bottom, left : width - right] = ifmap
    _, rows, columns, _ = filter_.shape
    return np.array(
        [
            [
                (padded[y : y + rows, x : x + columns] * filter_.astype(np.int64)).sum((1, 2, 3))
                for x in range(0, width - columns + 1, stride[1])
            ]
            for y in range(0, height - rows + 1, stride[0])
        ]
    )


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
@pytest.mark.parametrize("stride", [(1, 1), (2, 1), (3, 2)])
@pytest.mark.parametrize("pads", [(0, 0, 0, 0), (0, 1, 0, 1), (1, 1, 1, 1), (2, 0, 1, 3)])
def test_sums_follow_the_definition(dtype, stride, pads):
    rng = np.random.default_rng(SEED)
    info = np.iinfo(dtype)
    ifmap = rng.integers(info.min, info.max, (9, 7, 5), dtype, endpoint=True)
    filter_ = rng.integers(-128, 127, (6, 3, 2, 5), np.int8, endpoint=True)
    expected = direct_sums(ifmap, filter_, stride, pads, info.max)
    got = conv2d_sums(ifmap, filter_, stride, pads, info.max)
    assert got.dtype == np.int32 and got.size > 0
    np.testing.assert_array_equal(got, expected)
    # A depthwise filter is a convolution filter with nothing off its diagonal.
    diagonal = np.zeros((5, 3, 2, 5), np.int8)
    diagonal[range(5), :, :, range(5)] = filter_[0].transpose(2, 0, 1)
    np.testing.assert_array_equal(
        depthwise_conv2d_sums(ifmap, filter_[0], stride, pads, info.max),
        direct_sums(ifmap, diagonal, stride, pads, info.max),
    )


@pytest.mark.parametrize(("dtype", "peak"), [(np.int8, -128), (np.uint8, 255)])
@pytest.mark.parametrize("terms", [512, 513, 514, 1023, 1024, 1025, 5000, 65535])
@pytest.mark.parametrize("odd", [0, 1])
def test_sums_are_exact_at_full_scale(dtype, peak, terms, odd):
    """The largest products of every depth, with a one among them to fill the last bit."""
    ifmap, filter_ = np.full((1, terms), peak, dtype), np.full((1, terms), -128, np.int8)
    ifmap[0, -1], filter_[0, -1] = (1, odd)
    assert fully_connected_sums(ifmap, filter_) == (terms - 1) * peak * -128 + odd


def test_scales_are_float32():
    """Files store float32: more digits in the caller's numbers must not change a multiplier."""
    scales = np.random.default_rng(SEED).uniform(0.001, 0.1, (100, 3))
    for input_, filter_, output in scales:
        exact = np.float32([input_, filter_, output]).astype(float)
        got = requantization(Quantization(input_, 0), filter_, Quantization(output, 0))
        expected = quantize_multiplier(exact[0] * exact[1] / exact[2])
        assert (got.multiplier, got.shift) == expected


def test_images_of_a_batch_do_not_mix():
    rng = np.random.default_rng(SEED)
    ifmap = rng.integers(-128, 128, (3, 6, 5, 4)).astype(np.int8)
    filter_ = rng.integers(-128, 128, (7, 3, 3, 4)).astype(np.int8)
    for layer, weights in ((conv2d_sums, filter_), (depthwise_conv2d_sums, filter_[0])):
        single = [layer(image, weights, 2, (0, 1, 0, 1), 9) for image in ifmap]
        np.testing.assert_array_equal(layer(ifmap, weights, 2, (0, 1, 0, 1), 9), single)
    single = [average_pool2d(image, 2, 2) for image in ifmap]
    np.testing.assert_array_equal(average_pool2d(ifmap, 2, 2), single)


def test_average_counts_only_pixels_of_the_map():
    ifmap = np.full((2, 2, 1), -7, np.int8)
    assert average_pool2d(ifmap, 3, 1, (1, 1, 1, 1)).ravel().tolist() == [-7] * 4


MAP, FILTER = np.zeros((4, 4, 3), np.int8), np.zeros((2, 3, 3, 3), np.int8)
UNIT = Quantization(1.0, 0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: conv2d_sums(MAP[..., :2], FILTER),
            "a filter of 2 x 3 x 3 x 3 does not fit a map of 2 channels",
        ),
        (
            lambda: depthwise_conv2d_sums(MAP[..., :2], FILTER[0]),
            "a filter of 3 x 3 x 3 does not fit a map of 2 channels",
        ),
        (
            lambda: conv2d_sums(MAP[:2], FILTER),
            "a kernel of 3 x 3 does not fit a padded map of 2 x 4 x 3",
        ),
        (
            lambda: conv2d_sums(MAP, FILTER, 1, (0, 0, -1, 0)),
            "pads are not negative, got 0, 0, -1, 0",
        ),
        (
            lambda: conv2d_sums(MAP.astype(int), FILTER),
            "operands are int8, got int64 and int8",
        ),
        (
            lambda: fully_connected_sums(MAP, FILTER[0, 0, :, :2]),
            "a filter of 3 x 2 does not fit 3 inputs",
        ),
        (
            lambda: fully_connected_sums(*np.zeros((2, 1, 2**17), np.int8)),
            "sums of 131072 products can leave int32",
        ),
        (
            lambda: average_pool2d(MAP, 1, 1, (1, 0, 0, 0)),
            "pads of 1, 0, 0, 0 leave a window of 1 x 1 outside the map",
        ),
        (
            lambda: elementwise.add(MAP, MAP[:2], None),
            "operands of shapes that do not go together, 4 x 4 x 3 and 2 x 4 x 3",
        ),
        (
            lambda: elementwise.add_parameters(UNIT, UNIT, Quantization(1e-6, 0)),
            "output scale 9.999999974752427e-07 is too small to hold the sum",
        ),
        (
            lambda: requantization(UNIT, 1.0, UNIT, "TANH"),
            "activation 'TANH' is not one of NONE, RELU, RELU_N1_TO_1, RELU6",
        ),
        (lambda: elementwise.prelu(MAP[:1], MAP, (0, 0), None), "slopes of 4 x 4 x 3 do not go with 1 x 4 x 3 values"),
        (
            lambda: tables.hard_swish(UNIT, Quantization(1e-3, 0)),
            "output scale 0.0010000000474974513 is too small for HARD_SWISH",
        ),
        (lambda: movement.split(MAP, 3, 0), "4 values along an axis do not split into 3"),
        (lambda: movement.split_v(MAP, [1, 2], 0), "4 values along an axis do not split into 1, 2"),
        (
            lambda: movement.slice_(MAP, [3, 0, 0], [2, 1, 1]),
            "a slice of 2 x 1 x 1 from 3 x 0 x 0 leaves 4 x 4 x 3 values",
        ),
        (lambda: Quantization(0.0, 0), "a scale is positive and finite, got 0"),
        (lambda: Quantization(1.0, 128), "an int8 zero point is -128 to 127, got 128"),
    ],
)
def test_rejects(call, message):
    with pytest.raises(ValueError) as error:
        call()
    assert str(error.value) == message


def test_uint8_is_int8_and_back():
    values = np.arange(256, dtype=np.uint8)
    np.testing.assert_array_equal(from_uint8(values), np.arange(-128, 128))
    np.testing.assert_array_equal(to_uint8(from_uint8(values)), values)


def test_rescaling_once_in_fixed_point():
    """Where it is found it is right for every sum that no clamp decides, and for others; it is found for factors of
    usual size, and not for those of one or more."""
    rng = np.random.default_rng(SEED)
    found = 0
    for factor in np.exp(rng.uniform(np.log(0.002), np.log(0.9), 40)):
        low, high = np.sort(rng.choice(np.arange(-128, 128), 2, replace=False)).tolist()
        parameters = Requantization(0, 0, int(rng.integers(-128, 128)), low, high)
        if (fixed := once_in_fixed_point(factor, parameters)) is None:
            continue
        reach = int(260 / factor)
        sums = np.concatenate(
            [np.arange(-reach, reach + 1), rng.integers(INT32_MIN, INT32_MAX, 1000), [INT32_MIN, INT32_MAX]]
        )
        np.testing.assert_array_equal(requantize(sums, fixed), requantize_once(sums, factor, parameters), str(factor))
        found += 1
    assert found > 20
    assert once_in_fixed_point(1.5, Requantization(0, 0, 0)) is None


def test_rescaling_once_of_several_factors():
    factors, parameters = np.array([0.5, 0.01, 0.5]), Requantization(0, 0, 3)
    fixed = once_in_fixed_point(factors, parameters)
    assert fixed.multiplier.shape == fixed.shift.shape == (3,)
    sums = np.arange(-30000, 30000)[:, None].repeat(3, axis=1)
    np.testing.assert_array_equal(requantize(sums, fixed), requantize_once(sums, factors, parameters))
