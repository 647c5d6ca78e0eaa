# SPDX-License-Identifier: Apache-2.0
"""Operators of the library that are several int8 operators, on the RTL: local response normalisation and LSTM cells
give what tflite-micro gives for these int8 operators, and about what the formula gives."""

from dataclasses import dataclass

import numpy as np
import pytest

from eyrie.model.interpreters import run_litert, run_micro
from eyrie.operators import FilterDescriptor, Handle, LstmDescriptor, NormalizationDescriptor
from eyrie.testing.tflite_builder import STEPS, Builder
from tests.runtime.test_operators import OUTPUT_SCALE, SCALE, covering, drawn, got, put, reference, room


def normalized(rng: np.random.Generator) -> tuple[np.ndarray, tuple[int, float, float, float], np.ndarray]:
    """Return values, the setting of a local response normalisation, and its result by one operator after the other:
    LOG and EXP by LiteRT, as tflite-micro lacks them in int8, the others by tflite-micro."""
    channels, radius = int(rng.integers(2, 20)), int(rng.integers(1, 4))
    alpha, beta, k = (float(np.float32(rng.uniform(*ends))) for ends in ((0.05, 2), (0.3, 1.2), (0.3, 3)))
    values, near = drawn(rng, 2, 5, 3, channels), abs(np.subtract.outer(range(channels), range(channels))) <= radius
    most = float(np.float32(SCALE)) * (128 + 4)

    def step(name: str, sources: list, scales: list, output: tuple[float, int], **more: object) -> np.ndarray:
        return reference(name, sources, scales, values.shape, output, **more)

    largest = k + alpha * min(2 * radius + 1, channels) * most**2
    square, total, log = covering(most**2), covering(largest), covering(np.log(k), np.log(largest))
    exponent, factor = covering(-beta * np.log(k), -beta * np.log(largest)), covering(k**-beta)
    squares = step("MUL", [values] * 2, [(SCALE, 4)] * 2, square, fusedActivationFunction=0)

    def filters(net: Builder) -> list[int]:
        data = near.astype(np.int8).reshape(channels, 1, 1, channels)
        scales, bias = np.full(channels, alpha, np.float32), round(k / square[0] / alpha)
        return [
            net.tensor(data.shape, scale=scales, data=data),
            net.tensor((channels,), "int32", scale=square[0] * scales, data=np.full(channels, bias, np.int32)),
        ]

    sums = step("CONV_2D", [squares], [square], total, constants=filters, padding=1, **STEPS)
    logs = step("LOG", [sums], [total], log, run=run_litert)
    powers = np.full((2, 1, 1, 1), -127, np.int8)
    products = step("MUL", [logs, powers], [log, (beta / 127, 0)], exponent, fusedActivationFunction=0)
    factors = step("EXP", [products], [exponent], factor, run=run_litert)
    wanted = step("MUL", [values, factors], [(SCALE, 4), factor], (OUTPUT_SCALE / 4, 5), fusedActivationFunction=0)
    return values, (radius, alpha, beta, k), wanted


def test_local_response_normalization(handle: Handle, seed: int) -> None:
    values, setting, wanted = normalized(np.random.default_rng(seed))
    made = room(handle, wanted.shape, OUTPUT_SCALE / 4, 5)
    handle.local_response_normalization(NormalizationDescriptor(*setting), put(handle, values, zero=4), made)
    np.testing.assert_array_equal(got(handle, made), wanted)
    radius, alpha, beta, k = setting
    real = (values - 4.0) * SCALE
    squares = np.pad(real**2, ((0, 0),) * 3 + ((radius, radius),))
    sums = sum(squares[..., n : n + values.shape[3]] for n in range(2 * radius + 1))
    counts = np.clip(real / (k + alpha * sums) ** beta / (OUTPUT_SCALE / 4) + 5, -128, 127)
    assert abs(counts - wanted).mean() < 2


@dataclass
class Cell:
    """A step of an LSTM: x, h and c, the results, and all scales and zero points."""

    values: list[np.ndarray]
    scales: list[tuple[float, int]]
    made_scales: list[tuple[float, int]]
    sums: tuple[float, int]
    weights: np.ndarray
    filter_scales: np.ndarray
    bias: np.ndarray
    wanted: list[np.ndarray]


def lstm(rng: np.random.Generator, same: bool) -> Cell:
    """Return a random step, and its results by tflite-micro. same: x and h have one scale and zero point"""
    size, inputs, units = tuple(map(int, rng.integers(1, 4, 2))), int(rng.integers(1, 30)), int(rng.integers(1, 30))

    def random_scale(least: float, most: float) -> tuple[float, int]:
        return float(np.float32(rng.uniform(least, most))), int(rng.integers(-20, 20))

    state, before, sums = (1 / 128, 0), random_scale(0.01, 0.06), random_scale(0.02, 0.1)
    scales = [state if same else random_scale(0.002, 0.02), state, before]
    made_scales = [state, before if same else random_scale(0.01, 0.06)]
    values = [drawn(rng, 2, *size, count) for count in (inputs, units, units)]
    weights, filter_scales = drawn(rng, 4 * units, inputs + units), rng.uniform(0.002, 0.01, 4 * units)
    filter_scales, bias = filter_scales.astype(np.float32), rng.integers(-2000, 2000, 4 * units).astype(np.int32)
    net = Builder()

    def tensor(scale: tuple[float, int], channels: int = units) -> int:
        return net.tensor((1, *size, channels), scale=scale[0], zero_point=scale[1])

    def made(name: str, inputs: list[int], scale: tuple[float, int], **options: object) -> int:
        net.operator(name, inputs, [result := tensor(scale)], **options)
        return result

    given = [tensor(scale, each.shape[3]) for scale, each in zip(scales, values)]
    join, parts = covering(*_ends(scales[:2])), given[:2]
    for n in range(2):
        if scales[n] != join:
            parts[n] = tensor(join, values[n].shape[3])
            net.operator("QUANTIZE", [given[n]], [parts[n]])
    joined = tensor(join, inputs + units)
    net.operator("CONCATENATION", parts, [joined], axis=3)
    gates = []
    for n, name in enumerate(("LOGISTIC", "LOGISTIC", "TANH", "LOGISTIC")):
        own = slice(n * units, (n + 1) * units)
        filters = net.tensor(weights[own].shape, scale=filter_scales[own], data=weights[own])
        addends = net.tensor((units,), "int32", scale=join[0] * filter_scales[own], data=bias[own])
        total = made("FULLY_CONNECTED", [joined, filters, addends], sums, keepNumDims=True)
        gates.append(made(name, [total], (1 / 128, 0) if name == "TANH" else (1 / 256, -128)))
    kept = made("MUL", [gates[1], given[2]], scales[2], fusedActivationFunction=0)
    added = made("MUL", [gates[0], gates[2]], (1 / 128, 0), fusedActivationFunction=0)
    cell = made("ADD", [kept, added], made_scales[1], fusedActivationFunction=0)
    hidden = made("MUL", [gates[3], made("TANH", [cell], (1 / 128, 0))], made_scales[0], fusedActivationFunction=0)
    model = net.pack(given, [hidden, cell])
    maps = [run_micro(model, *(each[n:][:1] for each in values)) for n in range(2)]
    wanted = [np.concatenate(each) for each in zip(*maps, strict=True)]
    return Cell(values, scales, made_scales, sums, weights, filter_scales, bias, wanted)


def _ends(scales: list[tuple[float, int]]) -> list[float]:
    """Return the least and the largest value of each scale and zero point."""
    return [scale * (end - zero) for scale, zero in scales for end in (-128, 127)]


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


@pytest.mark.parametrize("same", [True, False])
def test_lstm_cell(same: bool, handle: Handle, seed: int) -> None:
    of = lstm(np.random.default_rng([seed, same]), same)
    descriptor = FilterDescriptor(len(of.weights), 1, 1, of.weights.shape[1], of.filter_scales)
    filters, sums = handle.malloc(of.weights.size), handle.malloc(of.bias.nbytes)
    handle.copy_to(filters, of.weights[:, None, None], descriptor)
    handle.copy_to(sums, of.bias)
    given = [put(handle, values, *scale) for values, scale in zip(of.values, of.scales)]
    made = [room(handle, of.wanted[0].shape, *scale) for scale in of.made_scales]
    handle.lstm_cell(LstmDescriptor(*of.sums), *given, (descriptor, filters), sums, *made)
    for tensor, wanted in zip(made, of.wanted):
        np.testing.assert_array_equal(got(handle, tensor), wanted)
    assert [ran.name for ran in handle.stream.ran] == ["LSTM_CELL"] * 2
    x, h, c = ((values - float(zero)) * scale for values, (scale, zero) in zip(of.values, of.scales))
    step = covering(*_ends(of.scales[:2]))[0] * of.filter_scales
    real = np.concatenate([x, h], 3) @ (of.weights * of.filter_scales[:, None]).T + of.bias * step
    i, f, g, o = np.split(np.clip(real, *_ends([of.sums])), 4, 3)
    next_cell = np.clip(sigmoid(f) * c + sigmoid(i) * np.tanh(g), *_ends(of.made_scales[1:]))
    for values, tensor, (scale, zero) in zip((sigmoid(o) * np.tanh(next_cell), next_cell), of.wanted, of.made_scales):
        assert abs(np.clip(values / scale + zero, -128, 127) - tensor).mean() < 2
