# SPDX-License-Identifier: Apache-2.0
"""The operator library on the RTL: random operators of every kind give what tflite-micro gives, alone, in chains that
stay in the accelerator's memory, from streams and threads; programs are compiled once."""

import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from eyrie.model.interpreters import run_micro
from eyrie.operators import (
    ActivationDescriptor,
    ConvolutionDescriptor,
    FilterDescriptor,
    Handle,
    OperatorError,
    PoolingDescriptor,
    Status,
    TensorDescriptor,
)
from eyrie.runtime import programs
from eyrie.runtime.folders import ROOT
from eyrie.testing.tflite_builder import Builder
from tests.commands.commands import assert_rejected, eyrie

SCALE, OUTPUT_SCALE = 0.02, 0.1
FUSED = ["NONE", "RELU", "RELU_N1_TO_1", "RELU6"]  # in the schema's order


def drawn(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.integers(-128, 128, shape).astype(np.int8)


def put(handle: Handle, values: np.ndarray, scale: float = SCALE, zero: int = 0) -> tuple[TensorDescriptor, int]:
    descriptor = TensorDescriptor(*values.shape, scale, zero)
    place = handle.malloc(descriptor.get().bytes)
    handle.copy_to(place, values, descriptor)
    return descriptor, place


def room(
    handle: Handle, shape: tuple[int, ...], scale: float = OUTPUT_SCALE, zero: int = 0
) -> tuple[TensorDescriptor, int]:
    descriptor = TensorDescriptor(*shape, scale, zero)
    return descriptor, handle.malloc(descriptor.get().bytes)


def got(handle: Handle, tensor: tuple[TensorDescriptor, int]) -> np.ndarray:
    return handle.copy_from(tensor[1], tensor[0])


def reference(
    operator: str,
    sources: list[np.ndarray],
    scales: list[tuple[float, int]],
    shape: tuple[int, ...],
    output: tuple[float, int],
    constants: Callable[[Builder], list[int]] = lambda net: [],
    run: Callable[..., list[np.ndarray]] = run_micro,
    **options: object,
) -> np.ndarray:
    """Return the result of an operator, map by map, by tflite-micro or another interpreter. scales: with zero points"""
    net = Builder()
    inputs = [
        net.tensor((1, *values.shape[1:]), scale=scale, zero_point=zero)
        for values, (scale, zero) in zip(sources, scales, strict=True)
    ]
    more = constants(net)
    made = net.tensor((1, *shape[1:]), scale=output[0], zero_point=output[1])
    net.operator(operator, [*inputs, *more], [made], **options)
    model = net.pack(inputs, [made])
    return np.concatenate([run(model, *(values[n:][:1] for values in sources))[0] for n in range(shape[0])])


def with_filters(
    weights: np.ndarray, scales: np.ndarray, bias: np.ndarray, axis: int
) -> Callable[[Builder], list[int]]:
    return lambda net: [
        net.tensor(weights.shape, scale=scales, axis=axis, data=weights),
        net.tensor(bias.shape, "int32", scale=SCALE * scales, data=bias),
    ]


# maps, side, channels, filters, kernel, stride, dilation, groups
CONVOLUTIONS = {
    "normal": (1, 7, 16, 12, 3, 1, 1, 1),
    "packed": (2, 9, 3, 8, 3, 2, 1, 1),
    "pointwise": (1, 5, 24, 40, 1, 1, 1, 1),
    "dilated": (1, 9, 8, 8, 3, 1, 2, 1),
    "grouped": (1, 6, 16, 24, 3, 1, 1, 2),
    "depthwise": (2, 7, 16, 16, 3, 2, 1, 16),
    "large": (1, 8, 5, 9, 5, 1, 1, 1),
}


@pytest.mark.parametrize("mode", CONVOLUTIONS)
def test_convolutions(mode: str, handle: Handle, seed: int) -> None:
    n, side, channels, outputs, kernel, stride, gap, groups = CONVOLUTIONS[mode]
    rng = np.random.default_rng([seed, len(mode)])
    reach = (kernel - 1) * gap + 1
    size = (side - reach) // stride + 1
    values, zero, fused = drawn(rng, n, side, side, channels), int(rng.integers(-20, 20)), int(rng.integers(4))
    weights, scales = drawn(rng, outputs, kernel, kernel, channels // groups), rng.uniform(0.002, 0.01, outputs)
    scales = scales.astype(np.float32)
    bias = rng.integers(-2000, 2000, outputs).astype(np.int32)
    shape = n, size, size, outputs
    depthwise = groups == channels
    options = {
        "strideH": stride,
        "strideW": stride,
        "dilationHFactor": gap,
        "dilationWFactor": gap,
        "padding": 1,
        "fusedActivationFunction": fused,
    } | ({"depthMultiplier": outputs // channels} if depthwise else {})
    laid = weights[..., 0].transpose(1, 2, 0)[None] if depthwise else weights
    wanted = reference(
        "DEPTHWISE_CONV_2D" if depthwise else "CONV_2D",
        [values],
        [(SCALE, zero)],
        shape,
        (OUTPUT_SCALE, 5),
        with_filters(laid, scales, bias, 3 if depthwise else 0),
        **options,
    )
    descriptor = FilterDescriptor(*weights.shape, tuple(map(float, scales)))
    filters, sums = handle.malloc(weights.size), handle.malloc(bias.nbytes)
    handle.copy_to(filters, weights, descriptor)
    handle.copy_to(sums, bias)
    np.testing.assert_array_equal(handle.copy_from(filters, descriptor), weights)
    convolution = ConvolutionDescriptor((stride,) * 2, (gap,) * 2, groups=groups, activation=FUSED[fused])
    source, output = put(handle, values, zero=zero), room(handle, shape, zero=5)
    handle.convolution(convolution, source, (descriptor, filters), sums, output)
    np.testing.assert_array_equal(got(handle, output), wanted)
    assert len(handle.stream.ran) == n
    for ran in handle.stream.ran:
        assert 0 < ran.cycles < ran.clocked < ran.cycles + 100
    np.testing.assert_array_equal(got(handle, source), values)


# filters, stride, pads: top, bottom, left, right
TRANSPOSED = {"valid": (16, 2, (0, 0, 0, 0)), "same": (8, 2, (0, 1, 0, 1)), "strides of 1": (5, 1, (0, 0, 0, 0))}


def transposed(mode: str, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the input, 3 x 3 filters, the bias and the result of a transposed convolution."""
    outputs, stride, pads = TRANSPOSED[mode]
    values, weights = drawn(rng, 2, 5, 4, 12), drawn(rng, outputs, 3, 3, 12)
    bias = rng.integers(-2000, 2000, outputs).astype(np.int32)
    shape = 2, 4 * stride + 3 - sum(pads[:2]), 3 * stride + 3 - sum(pads[2:]), outputs
    net = Builder()
    of = net.tensor((4,), "int32", data=np.array([1, *shape[1:]]))
    source = net.tensor((1, 5, 4, 12), scale=SCALE, zero_point=3)
    filters, sums = with_filters(weights, np.full(outputs, 0.005, np.float32), bias, 0)(net)
    made = net.tensor((1, *shape[1:]), scale=OUTPUT_SCALE, zero_point=5)
    padding = 0 if mode == "same" else 1
    net.operator("TRANSPOSE_CONV", [of, filters, source, sums], [made], strideH=stride, strideW=stride, padding=padding)
    model = net.pack([source], [made])
    return values, weights, bias, np.concatenate([run_micro(model, value[None])[0] for value in values])


@pytest.mark.parametrize("mode", TRANSPOSED)
def test_transposed_convolutions(mode: str, handle: Handle, seed: int) -> None:
    values, weights, bias, wanted = transposed(mode, np.random.default_rng(seed))
    _, stride, pads = TRANSPOSED[mode]
    descriptor = FilterDescriptor(*weights.shape, (0.005,))
    filters, sums = handle.malloc(weights.size), handle.malloc(bias.nbytes)
    handle.copy_to(filters, weights, descriptor)
    handle.copy_to(sums, bias)
    made = room(handle, wanted.shape, OUTPUT_SCALE, 5)
    setting = ConvolutionDescriptor((stride, stride), pads=pads)
    handle.transposed_convolution(setting, put(handle, values, zero=3), (descriptor, filters), sums, made)
    np.testing.assert_array_equal(got(handle, made), wanted)


@pytest.mark.parametrize("kind", ["max", "average"])
def test_poolings(kind: str, handle: Handle, seed: int) -> None:
    values = drawn(np.random.default_rng(seed), 2, 7, 7, 12)
    wanted = reference(
        f"{kind.upper()}_POOL_2D",
        [values],
        [(SCALE, 3)],
        (2, 3, 3, 12),
        (SCALE, 3),
        filterHeight=3,
        filterWidth=3,
        strideH=2,
        strideW=2,
        padding=1,
    )
    source, output = put(handle, values, zero=3), room(handle, (2, 3, 3, 12), SCALE, 3)
    handle.pooling(PoolingDescriptor(kind, (3, 3), (2, 2)), source, output)
    np.testing.assert_array_equal(got(handle, output), wanted)


def test_unpooling(handle: Handle, seed: int) -> None:
    rng = np.random.default_rng(seed)
    values, (rows, cols) = drawn(rng, 2, 3, 4, int(rng.integers(1, 20))), rng.integers(1, 4, 2)
    made = room(handle, (2, 3 * rows, 4 * cols, values.shape[3]), SCALE, 4)
    handle.unpooling(put(handle, values, zero=4), made)
    np.testing.assert_array_equal(got(handle, made), values.repeat(rows, 1).repeat(cols, 2))


@pytest.mark.parametrize(
    ("function", "output"),
    [("RELU", (SCALE, 4)), ("LOGISTIC", (1 / 256, -128)), ("TANH", (1 / 128, 0)), ("HARD_SWISH", (SCALE, -4))],
)
def test_activations(function: str, output: tuple[float, int], handle: Handle, seed: int) -> None:
    values = drawn(np.random.default_rng(seed), 1, 5, 3, 9)
    wanted = reference(function, [values], [(SCALE, 4)], values.shape, output)
    source, made = put(handle, values, zero=4), room(handle, values.shape, *output)
    handle.activation(ActivationDescriptor(function), source, made)
    np.testing.assert_array_equal(got(handle, made), wanted)


# scale and zero point of the second operand, and of the output
ARITHMETIC = {
    "ADD": ((0.03, -7), (OUTPUT_SCALE, 5)),
    "SUB": ((0.03, -7), (OUTPUT_SCALE, 5)),
    "MUL": ((0.03, -7), (OUTPUT_SCALE, 5)),
    "MAXIMUM": ((SCALE, 4), (SCALE, 4)),
    "MINIMUM": ((SCALE, 4), (SCALE, 4)),
    "SQUARED_DIFFERENCE": ((0.03, -7), (OUTPUT_SCALE, 5)),
    "DIV": ((0.03, -7), (OUTPUT_SCALE, 5)),
}


def operands(kind: str, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, int, np.ndarray]:
    """Return two operands of two maps, which may be broadcast, a fused function, and the result."""
    owners = rng.integers(3, size=3)  # of an axis: both operands, the first, the second
    first, second = (drawn(rng, 2, *np.where(owners == other, 1, (5, 3, 9))) for other in (2, 1))
    fused = int(rng.integers(4)) if kind in ("ADD", "SUB", "MUL") else 0
    options = {"fusedActivationFunction": fused} if kind in ("ADD", "SUB", "MUL") else {}
    scale, output = ARITHMETIC[kind]
    if kind == "DIV":
        return first, second, fused, divided(first, second, (SCALE, 4), scale, output)
    return first, second, fused, reference(kind, [first, second], [(SCALE, 4), scale], (2, 5, 3, 9), output, **options)


def covering(*ends: float) -> tuple[float, int]:
    """Return the scale and zero point of values between some, and of 0."""
    scale = (max(*ends, 0) - min(*ends, 0)) / 255
    return float(np.float32(scale)), round(-128 - min(*ends, 0) / scale)


def divided(
    first: np.ndarray,
    second: np.ndarray,
    scale: tuple[float, int],
    divisor: tuple[float, int],
    output: tuple[float, int],
) -> np.ndarray:
    """Return the quotients of two tensors, by MUL of tflite-micro."""
    distances = np.arange(-128, 128) - divisor[1]
    distances[distances == 0] = 1
    exponents = np.floor(np.log2(abs(distances)))
    factors = -(2**exponents) / distances
    factor = covering(factors.min(), factors.max())
    steps = factors / factor[0]
    entries = np.clip(np.sign(steps) * np.floor(abs(steps) + 0.5) + factor[1], -128, 127).astype(np.int8)
    ends = [(end - scale[1]) * float(np.float32(scale[0])) * reach for end in (-128, 127) for reach in factors]
    part, power = covering(min(ends), max(ends)), (float(np.float32(1 / float(np.float32(divisor[0])) / 128)), 0)
    shape, places = np.broadcast_shapes(first.shape, second.shape), second.astype(int) + 128
    made = reference("MUL", [first, entries[places]], [scale, factor], shape, part, fusedActivationFunction=0)
    powers = (-(2 ** (7 - exponents))).astype(np.int8)[places]
    return reference("MUL", [made, powers], [part, power], shape, output, fusedActivationFunction=0)


@pytest.mark.parametrize("kind", ARITHMETIC)
def test_arithmetic(kind: str, handle: Handle, seed: int) -> None:
    first, second, fused, wanted = operands(kind, np.random.default_rng(seed))
    scale, output = ARITHMETIC[kind]
    made = room(handle, wanted.shape, *output)
    handle.arithmetic(kind, put(handle, first, zero=4), put(handle, second, *scale), made, FUSED[fused])
    np.testing.assert_array_equal(got(handle, made), wanted)


def test_quotients(handle: Handle, seed: int) -> None:
    """Divisors of both signs, and of one sign, give nearly the real quotients. A divisor of 0 counts as its scale."""
    rng = np.random.default_rng(seed)
    for zero, output in ((int(rng.integers(-100, 100)), 0.05), (-128, 0.02), (127, 0.02)):
        values, divisors = drawn(rng, 1, 5, 3, 9), drawn(rng, 1, 5, 3, 9)
        divisors[abs(divisors.astype(int) - zero) < 32] = 127 if zero < 0 else -128
        made = room(handle, values.shape, output, 5)
        handle.arithmetic("DIV", put(handle, values, SCALE, -30), put(handle, divisors, 0.03, zero), made)
        wanted = (values + 30.0) * SCALE / ((divisors - float(zero)) * 0.03)
        assert abs(got(handle, made) - np.clip(wanted / output + 5, -128, 127)).max() < 3
    none, values = room(handle, (1, 1, 1, 3), 0.5), np.array([-3, 0, 5], np.int8).reshape(1, 1, 1, 3)
    handle.arithmetic("DIV", put(handle, values, 1.0), put(handle, np.zeros_like(values), 0.25), none)
    assert got(handle, none).ravel().tolist() == [-24, 0, 40]


@pytest.mark.parametrize("channels", [(8, 16), (5, 9)])
def test_concatenation(channels: tuple[int, int], handle: Handle, seed: int) -> None:
    rng = np.random.default_rng(seed)
    parts = [drawn(rng, 2, 5, 3, count) for count in channels]
    made = room(handle, (2, 5, 3, sum(channels)), SCALE)
    handle.concatenation(*(put(handle, part) for part in parts), made)
    np.testing.assert_array_equal(got(handle, made), np.concatenate(parts, 3))


def test_fully_connected_addition_and_softmax(handle: Handle, seed: int) -> None:
    """Of vectors, one behind the other on a stream: nothing is copied between them."""
    rng = np.random.default_rng(seed)
    values, weights = drawn(rng, 2, 2, 3, 8), drawn(rng, 10, 48)
    bias = rng.integers(-2000, 2000, 10).astype(np.int32)
    scales = np.full(1, 0.005, np.float32)
    shape, other = (2, 1, 1, 10), drawn(rng, 2, 1, 1, 10)
    net = Builder()
    source, addend = net.tensor((1, 48), scale=SCALE), net.tensor((1, 10), scale=SCALE)
    made, total = (net.tensor((1, 10), scale=OUTPUT_SCALE) for _ in range(2))
    chances = net.tensor((1, 10), scale=1 / 256, zero_point=-128)
    net.operator("FULLY_CONNECTED", [source, *with_filters(weights, scales, bias, 0)(net)], [made])
    net.operator("ADD", [made, addend], [total], fusedActivationFunction=0)
    net.operator("SOFTMAX", [total], [chances], beta=1.0)
    model = net.pack([source, addend], [chances])
    wanted = [run_micro(model, values[n].reshape(1, 48), other[n].reshape(1, 10))[0] for n in range(2)]
    descriptor = FilterDescriptor(10, 1, 1, 48, (0.005,))
    filters, sums = handle.malloc(480), handle.malloc(40)
    handle.copy_to(filters, weights.reshape(10, 1, 1, 48), descriptor)
    handle.copy_to(sums, bias)
    stream, first, second = handle.create_stream(), room(handle, shape), room(handle, shape)
    last = room(handle, shape, 1 / 256, -128)
    handle.fully_connected(put(handle, values), (descriptor, filters), sums, first, stream)
    handle.arithmetic("ADD", first, put(handle, other), second, stream=stream)
    handle.softmax(second, last, stream=stream)
    stream.synchronize()
    np.testing.assert_array_equal(got(handle, last).reshape(2, 10), np.concatenate(wanted))


def convolved(handle: Handle, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A pointwise convolution's output, and what it has to be."""
    values, weights = drawn(rng, 1, 4, 4, 8), drawn(rng, 8, 1, 1, 8)
    descriptor, filters = FilterDescriptor(8, 1, 1, 8, (0.005,)), handle.malloc(64)
    handle.copy_to(filters, weights, descriptor)
    output = room(handle, (1, 4, 4, 8))
    handle.convolution(ConvolutionDescriptor((1, 1)), put(handle, values), (descriptor, filters), None, output)
    wanted = reference(
        "CONV_2D",
        [values],
        [(SCALE, 0)],
        (1, 4, 4, 8),
        (OUTPUT_SCALE, 0),
        with_filters(weights, np.full(1, 0.005, np.float32), np.zeros(8, np.int32), 0),
        strideH=1,
        strideW=1,
        dilationHFactor=1,
        dilationWFactor=1,
        padding=1,
    )
    return got(handle, output), wanted


@pytest.mark.parametrize(("kernel", "pads"), [((1, 3), (2, 0, 0, 0)), ((1, 2), (2, 0, 1, 0)), ((3, 3), (1, 1, 1, 1))])
def test_a_convolution_of_few_channels(
    kernel: tuple[int, int], pads: tuple[int, int, int, int], handle: Handle, seed: int
) -> None:
    """Its program may read patches of the input, also where these have the shape of the input."""
    rng = np.random.default_rng([seed, *kernel])
    values, weights = drawn(rng, 1, 3, 5, 3), drawn(rng, 2, *kernel, 3)
    descriptor = FilterDescriptor(*weights.shape, (0.005,))
    filters = handle.malloc(descriptor.get().bytes)
    handle.copy_to(filters, weights, descriptor)
    padded = np.pad(values, ((0, 0), pads[:2], pads[2:], (0, 0)))
    shape = (1, (padded.shape[1] - kernel[0]) // 2 + 1, padded.shape[2] - kernel[1] + 1, 2)
    output = room(handle, shape)
    source = put(handle, values)
    handle.convolution(ConvolutionDescriptor((2, 1), pads=pads), source, (descriptor, filters), None, output)
    steps = {"strideH": 2, "strideW": 1, "dilationHFactor": 1, "dilationWFactor": 1, "padding": 1}
    constants = with_filters(weights, np.full(1, 0.005, np.float32), np.zeros(2, np.int32), 0)
    wanted = reference("CONV_2D", [padded], [(SCALE, 0)], shape, (OUTPUT_SCALE, 0), constants, **steps)
    np.testing.assert_array_equal(got(handle, output), wanted)


def test_handles_side_by_side(seed: int) -> None:
    """Each with an accelerator of its own."""

    def run(number: int) -> tuple[np.ndarray, np.ndarray]:
        with Handle(seed=number) as own:
            return convolved(own, np.random.default_rng([seed, number]))

    with ThreadPoolExecutor(2) as threads:
        for made, wanted in threads.map(run, range(3)):
            np.testing.assert_array_equal(made, wanted)


def test_programs_are_compiled_once(handle: Handle, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not again by the handle, nor by another one; other filters are another program."""
    convolved(handle, np.random.default_rng([seed, 9]))
    monkeypatch.setattr(programs, "compile_whole", lambda *_, **__: pytest.fail("it compiles"))
    with Handle() as other:
        for of in (handle, other):
            made, wanted = convolved(of, np.random.default_rng([seed, 9]))
            np.testing.assert_array_equal(made, wanted)


def test_a_full_memory(seed: int) -> None:
    """Programs make room for tensors, and are placed again when they are needed; then there is no more room."""
    with Handle() as handle:
        rng = np.random.default_rng([seed, 10])
        before = convolved(handle, rng)[0].shape
        taken = []
        with pytest.raises(OperatorError) as rejection:
            while True:
                taken.append(handle.malloc(8 << 20))
        assert rejection.value.status == Status.NO_MEMORY and len(taken) == 7 and not handle._launcher._programs
        handle.free(taken.pop())
        made, wanted = convolved(handle, rng)
        assert made.shape == before
        np.testing.assert_array_equal(made, wanted)


def test_an_accelerator_that_stops(seed: int) -> None:
    """What stands behind it on the stream does not run; the next call does, of programs that are placed anew."""
    with Handle() as handle:
        values = drawn(np.random.default_rng(seed), 1, 4, 4, 8)
        source, (first, second) = put(handle, values), [room(handle, values.shape, SCALE) for _ in range(2)]
        relu = ActivationDescriptor("RELU")
        handle.activation(relu, source, first)
        handle.synchronize()
        [placed] = handle._launcher._programs.values()
        handle._soc.memory[placed.offset + placed.image.program.address] = 15  # no command
        handle.copy_to(second[1], values, second[0])
        for output in (first, second):
            handle.activation(relu, source, output)
        with pytest.raises(
            OperatorError, match="^the accelerator stopped with an error: a word of the command"
        ) as stop:
            handle.synchronize()
        assert stop.value.status == Status.ACCELERATOR_ERROR
        np.testing.assert_array_equal(got(handle, second), values)
        handle.activation(relu, source, second)
        np.testing.assert_array_equal(got(handle, second), np.maximum(values, 0))


def test_the_example() -> None:
    """Figure 3.5 of DLPlib, by itself."""
    example = ROOT / "eyrie" / "operators" / "examples" / "convolution.py"
    ended = subprocess.run([sys.executable, example], capture_output=True, text=True)
    assert ended.returncode == 0 and ended.stdout.endswith(" cycles, equal to the golden model\n"), ended


def test_the_table(tmp_path: Path) -> None:
    """Of what is not run its prediction; a layer that there is not is rejected."""
    ended = eyrie("operators", "--layers", "Pool1", "--most-cycles", "0")
    assert ended.returncode == 0 and ended.stdout.splitlines()[1].startswith("Pool1 "), ended.stderr
    assert_rejected(eyrie("operators", "--layers", "Pool3"), "eyrie operators: unknown layer 'Pool3'; did you mean ")
