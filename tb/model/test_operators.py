# SPDX-License-Identifier: Apache-2.0
"""Golden operators against two independent TensorFlow Lite implementations, on random layers.

Knobs: EYRIE_LAYERS random layers of each operator (40), EYRIE_SEED.
"""

import os
from dataclasses import dataclass

import numpy as np
import pytest

from model import operators as ops
from model.arithmetic import quantize_multiplier
from tb.common.seed import run_seed
from tb.model import random_layers
from tb.model.tflite_builder import run_litert, run_micro

LAYERS = int(os.environ.get("EYRIE_LAYERS", "40"))
SEED = run_seed()
REFERENCES = {"litert": run_litert, "tflite-micro": run_micro}
OPERATORS = (
    "conv2d",
    "padded_conv2d",
    "depthwise_conv2d",
    "fully_connected",
    "average_pool2d",
    "max_pool2d",
    "add",
    "requantize",
)


@dataclass
class Tally:
    """What a comparison of many layers saw; `inside` are outputs that no clamp decided."""

    layers: int = 0
    outputs: int = 0
    inside: int = 0
    mismatches: int = 0
    first: str = "none"

    def compare(self, name, reference, layer, expected, got):
        assert got.shape == expected.shape and got.dtype == expected.dtype == np.int8, layer.text
        wrong = np.argwhere(got != expected)
        self.outputs += got.size
        low, high = layer.clamp
        self.inside += int(np.count_nonzero((expected > low) & (expected < high)))
        if len(wrong) and not self.mismatches:
            at = tuple(map(int, wrong[0]))
            self.first = (
                f"{name} layer {self.layers - 1} at {at}: {reference} {expected[at]}, "
                f"golden {got[at]}; {layer.text}"
            )
        self.mismatches += len(wrong)


def compare_layers(name, layers=LAYERS):
    """Run random layers of the operator `name` through the golden model and both references."""
    tally = Tally()
    for index in range(layers):
        # One generator per layer: more layers, or one alone, never change the others.
        rng = np.random.default_rng([SEED, OPERATORS.index(name), index])
        layer = getattr(random_layers, f"draw_{name}")(rng)
        tally.layers += 1
        for reference, run in REFERENCES.items():
            answer = layer.litert if reference == "litert" and layer.litert else layer.golden
            tally.compare(name, reference, layer, run(layer.model, *layer.inputs), answer())
    return tally


@pytest.mark.parametrize("name", OPERATORS)
def test_operator_equals_references(name):
    tally = compare_layers(name)
    print(f"{name}: {tally} EYRIE_SEED={SEED}")
    rerun = f"EYRIE_SEED={SEED} EYRIE_LAYERS={LAYERS}"
    assert tally.mismatches == 0, f"{rerun}: {tally.mismatches} wrong, first {tally.first}"
    assert tally.layers == LAYERS > 0
    # Layers whose outputs are all clamped would agree whatever the arithmetic.
    assert tally.inside > 0.2 * tally.outputs > 0


def round_once(x, multiplier, shift):
    return (np.multiply(x, multiplier, dtype=np.int64) + (1 << (30 - shift))) >> (31 - shift)


def pad_with_zero(ifmap, pads, _value, pad=ops._pad):
    return pad(ifmap, pads, 0)


@pytest.mark.parametrize(
    ("name", "function", "error"),
    [
        ("conv2d", "multiply_by_quantized_multiplier", round_once),
        ("fully_connected", "multiply_by_quantized_multiplier", round_once),
        ("add", "multiply_by_quantized_multiplier", round_once),
        ("conv2d", "_pad", pad_with_zero),
        ("max_pool2d", "_pad", pad_with_zero),
        ("depthwise_conv2d", "fold_zero_point", lambda bias, f, z, axis: np.int32(0)),
        ("average_pool2d", "rounding_average", lambda total, count: total // count),
        ("requantize", "quantize_multiplier", lambda real: (np.int32(2**30), np.int32(0))),
    ],
)
def test_planted_error_is_found(monkeypatch, name, function, error):
    monkeypatch.setattr(ops, function, error)
    tally = compare_layers(name, layers=30)
    assert tally.mismatches > 0


def test_random_layers_are_varied():
    layers = [
        random_layers.draw_depthwise_conv2d(np.random.default_rng([SEED, index]))
        for index in range(150)
    ]
    for word in ("NONE", "RELU ", "RELU6", "SAME", "VALID", "PAD", "zero_point=-128"):
        assert any(word in layer.text for layer in layers), f"no {word}, EYRIE_SEED={SEED}"
    left_shifts = [layer for layer in layers if layer.parameters.shift.max() > 0]
    assert 5 < len(left_shifts) < 100, f"EYRIE_SEED={SEED}"


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
    got = ops.conv2d_sums(ifmap, filter_, stride, pads, info.max)
    assert got.dtype == np.int32 and got.size > 0
    np.testing.assert_array_equal(got, expected)
    # A depthwise filter is a convolution filter with nothing off its diagonal.
    diagonal = np.zeros((5, 3, 2, 5), np.int8)
    diagonal[range(5), :, :, range(5)] = filter_[0].transpose(2, 0, 1)
    np.testing.assert_array_equal(
        ops.depthwise_conv2d_sums(ifmap, filter_[0], stride, pads, info.max),
        direct_sums(ifmap, diagonal, stride, pads, info.max),
    )


@pytest.mark.parametrize(("dtype", "peak"), [(np.int8, -128), (np.uint8, 255)])
@pytest.mark.parametrize("terms", [512, 513, 514, 1023, 1024, 1025, 5000, 65535])
@pytest.mark.parametrize("odd", [0, 1])
def test_sums_are_exact_at_full_scale(dtype, peak, terms, odd):
    """The largest products of every depth, with a one among them to fill the last bit."""
    ifmap, filter_ = np.full((1, terms), peak, dtype), np.full((1, terms), -128, np.int8)
    ifmap[0, -1], filter_[0, -1] = (1, odd)
    assert ops.fully_connected_sums(ifmap, filter_) == (terms - 1) * peak * -128 + odd


def test_scales_are_float32():
    """Files store float32: more digits in the caller's numbers must not change a multiplier."""
    scales = np.random.default_rng(SEED).uniform(0.001, 0.1, (100, 3))
    for input_, filter_, output in scales:
        exact = np.float32([input_, filter_, output]).astype(float)
        got = ops.requantization(ops.Quantization(input_, 0), filter_, ops.Quantization(output, 0))
        expected = quantize_multiplier(exact[0] * exact[1] / exact[2])
        assert (got.multiplier, got.shift) == expected


def test_images_of_a_batch_do_not_mix():
    rng = np.random.default_rng(SEED)
    ifmap = rng.integers(-128, 128, (3, 6, 5, 4)).astype(np.int8)
    filter_ = rng.integers(-128, 128, (7, 3, 3, 4)).astype(np.int8)
    for layer, weights in ((ops.conv2d_sums, filter_), (ops.depthwise_conv2d_sums, filter_[0])):
        single = [layer(image, weights, 2, (0, 1, 0, 1), 9) for image in ifmap]
        np.testing.assert_array_equal(layer(ifmap, weights, 2, (0, 1, 0, 1), 9), single)
    single = [ops.average_pool2d(image, 2, 2) for image in ifmap]
    np.testing.assert_array_equal(ops.average_pool2d(ifmap, 2, 2), single)


def test_average_counts_only_pixels_of_the_map():
    ifmap = np.full((2, 2, 1), -7, np.int8)
    assert ops.average_pool2d(ifmap, 3, 1, (1, 1, 1, 1)).ravel().tolist() == [-7] * 4


MAP, FILTER = np.zeros((4, 4, 3), np.int8), np.zeros((2, 3, 3, 3), np.int8)
UNIT = ops.Quantization(1.0, 0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: ops.conv2d_sums(MAP[..., :2], FILTER),
            "a filter of 2 x 3 x 3 x 3 does not fit a map of 2 channels",
        ),
        (
            lambda: ops.depthwise_conv2d_sums(MAP[..., :2], FILTER[0]),
            "a filter of 3 x 3 x 3 does not fit a map of 2 channels",
        ),
        (
            lambda: ops.conv2d_sums(MAP[:2], FILTER),
            "a kernel of 3 x 3 does not fit a padded map of 2 x 4 x 3",
        ),
        (
            lambda: ops.conv2d_sums(MAP, FILTER, 1, (0, 0, -1, 0)),
            "pads are not negative, got 0, 0, -1, 0",
        ),
        (
            lambda: ops.conv2d_sums(MAP.astype(int), FILTER),
            "operands are int8, got int64 and int8",
        ),
        (
            lambda: ops.fully_connected_sums(MAP, FILTER[0, 0, :, :2]),
            "a filter of 3 x 2 does not fit 3 inputs",
        ),
        (
            lambda: ops.fully_connected_sums(*np.zeros((2, 1, 2**17), np.int8)),
            "sums of 131072 products can leave int32",
        ),
        (
            lambda: ops.accumulate(np.int32([2**31 - 1]), np.int32([1])),
            "accumulator 2147483648 leaves int32: the bias is too big",
        ),
        (
            lambda: ops.average_pool2d(MAP, 1, 1, (1, 0, 0, 0)),
            "pads of 1, 0, 0, 0 leave a window of 1 x 1 outside the map",
        ),
        (
            lambda: ops.add(MAP, MAP[:1], None),
            "addends of different shapes, 4 x 4 x 3 and 1 x 4 x 3",
        ),
        (
            lambda: ops.add_parameters(UNIT, UNIT, ops.Quantization(1e-6, 0)),
            "output scale 9.999999974752427e-07 is too small to hold the sum",
        ),
        (
            lambda: ops.requantization(UNIT, 1.0, UNIT, "TANH"),
            "activation 'TANH' is not one of NONE, RELU, RELU_N1_TO_1, RELU6",
        ),
        (lambda: ops.Quantization(0.0, 0), "a scale is positive and finite, got 0"),
        (lambda: ops.Quantization(1.0, 128), "an int8 zero point is -128 to 127, got 128"),
    ],
)
def test_refuses(call, message):
    with pytest.raises((ValueError, OverflowError)) as error:
        call()
    assert str(error.value) == message
