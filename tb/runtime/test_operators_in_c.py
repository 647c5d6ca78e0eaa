# SPDX-License-Identifier: Apache-2.0
"""The operator library in C: figure 3.5 of DLPlib on the RTL, with programs compiled on demand and ahead of time; drawn
operators of every kind give what tflite-micro gives, on the RTL; streams, one compilation, a full memory, and every
status on a machine that the command-level model executes."""

import ctypes
import hashlib
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from eyrie.operators import Status

from compiler.ir.image import Image
from model.config import DEFAULT
from model.encoding import IDENTITY, Register
from model.operators.convolution import conv2d
from model.operators.quantization import Quantization, requantization
from model.status import Control
from model.status import Status as MachineStatus
from runtime.board.c_programs import CONVOLUTION, EXAMPLES, PROGRAMS, Setting, call, includes, link_operators
from runtime.board.driver import RESULTS, U32, Platform, View, functions
from runtime.board.library import OPERATORS, WARNINGS, board_library
from runtime.folders import ROOT
from tb.common.tflite_builder import Builder
from tb.runtime.driver_library import Modelled
from tb.runtime.operator_library import FUNCTIONS, LIMITS, NO_BIAS, Compiler, Handle, Programs, Stream, Tensor, build
from tb.runtime.test_operators import CONVOLUTIONS, OUTPUT_SCALE, SCALE, drawn, reference, with_filters
from tb.scripts.commands import eyrie

WINDOW = 1 << 20


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return build(tmp_path_factory.mktemp("library"))


@pytest.fixture(scope="module")
def compiler(tmp_path_factory: pytest.TempPathFactory) -> Compiler:
    return Compiler(tmp_path_factory.mktemp("requests"))


@pytest.fixture
def rtl(library: ctypes.CDLL, compiler: Compiler, seed: int) -> Iterator[Handle]:
    """A handle on the RTL."""
    board, platform = functions(board_library(DEFAULT)), Platform()
    view = View(board.board_open(seed % 2**31, 30, WINDOW), 0)
    board.board_platform(view, WINDOW, True, platform)
    handle = Handle(library, platform, compiler.programs)
    yield handle
    assert handle.call("destroy_handle", handle.memory) == "OK"
    board.board_close(view.board)


class Resetting(Modelled):
    """after_reset: what STATUS reads from a reset on, if it is not None."""

    after_reset: int | None = None

    def _write(self, context: int, address: int, value: int) -> None:
        super()._write(context, address, value)
        if address == Register.CONTROL and value & Control.SOFT_RESET and self.after_reset is not None:
            self.status = self.after_reset


class OnModel(Handle):
    """A handle on a machine that the command-level model executes."""

    def __init__(self, library: ctypes.CDLL, programs: Programs | None, window: int = WINDOW) -> None:
        self.machine = Resetting(3 << 16, window)
        super().__init__(library, self.machine.platform, programs)


@pytest.fixture
def handle(library: ctypes.CDLL, compiler: Compiler) -> OnModel:
    return OnModel(library, compiler.programs)


# ---- Figure 3.5 ----

def test_the_example(tmp_path: Path) -> None:
    """The same program with programs compiled on demand, and linked in; without any it says what it lacks."""
    rng = np.random.default_rng(1)
    image = rng.integers(-128, 128, (1, 14, 14, 16)).astype(np.int8)
    weights = rng.integers(-127, 128, (24, 3, 3, 16)).astype(np.int8)
    rescale = requantization(Quantization(0.02, 3), np.full(24, 0.005, np.float32), Quantization(0.1, -7), "NONE")
    golden = conv2d(image, weights, np.zeros(24, np.int32), 3, rescale, (1, 1), (1, 1, 1, 1), (1, 1))
    image.tofile(tmp_path / "image.bin")
    weights.tofile(tmp_path / "weights.bin")
    setting, said = Setting(requests=tmp_path / "requests"), []

    def run(source: Path) -> None:
        folder = tmp_path / source.stem
        folder.mkdir()
        program = link_operators(CONVOLUTION, DEFAULT, folder, source)
        said.append(call(program, tmp_path / "image.bin", tmp_path / "weights.bin", folder / "output.bin",
                         setting=setting))
        np.testing.assert_array_equal(np.fromfile(folder / "output.bin", np.int8).reshape(golden.shape), golden)

    run(PROGRAMS)
    [request] = setting.requests.iterdir()
    source = tmp_path / "linked.c"
    ended = eyrie("operators", "--compile", request, request, "--c", source)
    assert ended.returncode == 0, ended.stderr
    run(source)
    assert said[0] == said[1] and 0 < int(said[0].split()[0]) < 20_000
    none = tmp_path / "none.c"
    none.write_text('#include "eyrie.h"\nconst struct eyrie_programs *eyrie_linked_programs(void) { return NULL; }\n')
    with pytest.raises(ValueError, match="convolution: there is no program for the operator, and nothing that compiles "
                       "one: convolution input0=14,14,16,3ca3d70a,3 output=14,14,24,"):
        run(none)


# ---- Operators on the RTL ----

@pytest.mark.parametrize("mode", CONVOLUTIONS)
def test_convolutions(mode: str, rtl: Handle, seed: int) -> None:
    n, side, channels, outputs, kernel, stride, gap, groups = CONVOLUTIONS[mode]
    rng = np.random.default_rng([seed, len(mode)])
    size = (side - (kernel - 1) * gap - 1) // stride + 1
    values, zero, fused = drawn(rng, n, side, side, channels), int(rng.integers(-20, 20)), int(rng.integers(4))
    weights = drawn(rng, outputs, kernel, kernel, channels // groups)
    scales = rng.uniform(0.002, 0.01, outputs).astype(np.float32)
    bias = rng.integers(-2000, 2000, outputs).astype(np.int32)
    shape, depthwise = (n, size, size, outputs), groups == channels
    name = ["NONE", "RELU", "RELU_N1_TO_1", "RELU6"][fused]  # in the schema's order
    options = {"strideH": stride, "strideW": stride, "dilationHFactor": gap, "dilationWFactor": gap, "padding": 1,
               "fusedActivationFunction": fused} | ({"depthMultiplier": outputs // channels} if depthwise else {})
    laid = weights[..., 0].transpose(1, 2, 0)[None] if depthwise else weights
    wanted = reference("DEPTHWISE_CONV_2D" if depthwise else "CONV_2D", [values], [(SCALE, zero)], shape,
                       (OUTPUT_SCALE, 5), with_filters(laid, scales, bias, 3 if depthwise else 0), **options)
    of = rtl.descriptor("convolution", (stride,) * 2, (gap,) * 2, (0,) * 4, groups, FUNCTIONS.index(name))
    source, output = rtl.put(values, SCALE, zero), rtl.tensor(shape, OUTPUT_SCALE, 5)
    filters, sums = rtl.filters(weights, scales), rtl.bias(bias)
    assert rtl.call("convolution", rtl.stream, ctypes.byref(of), ctypes.byref(source), ctypes.byref(filters),
                    U32(sums), ctypes.byref(output)) == "OK", rtl.message
    np.testing.assert_array_equal(rtl.get(output, shape), wanted)
    np.testing.assert_array_equal(rtl.get(source, values.shape), values)
    kept = np.zeros_like(weights)
    assert rtl.copy("from", "filter", filters, kept) == "OK"
    np.testing.assert_array_equal(kept, weights)


@pytest.mark.parametrize("kind", ["max", "average"])
def test_poolings(kind: str, rtl: Handle, seed: int) -> None:
    values = drawn(np.random.default_rng(seed), 2, 7, 7, 12)
    wanted = reference(f"{kind.upper()}_POOL_2D", [values], [(SCALE, 3)], (2, 3, 3, 12), (SCALE, 3), filterHeight=3,
                       filterWidth=3, strideH=2, strideW=2, padding=1)
    of = rtl.descriptor("pooling", ["max", "average"].index(kind), (3, 3), (2, 2), (0,) * 4)
    source, output = rtl.put(values, SCALE, 3), rtl.tensor((2, 3, 3, 12), SCALE, 3)
    assert rtl.call("pooling", rtl.stream, *map(ctypes.byref, (of, source, output))) == "OK", rtl.message
    np.testing.assert_array_equal(rtl.get(output, wanted.shape), wanted)


ACTIVATIONS = {"RELU": (SCALE, 4), "RELU6": (SCALE, 4), "LEAKY_RELU": (SCALE, 4), "LOGISTIC": (1 / 256, -128),
               "TANH": (1 / 128, 0), "HARD_SWISH": (SCALE, -4)}


@pytest.mark.parametrize("function", ACTIVATIONS)
def test_activations(function: str, rtl: Handle, seed: int) -> None:
    values, output = drawn(np.random.default_rng(seed), 1, 5, 3, 9), ACTIVATIONS[function]
    options = {"alpha": 0.25} if function == "LEAKY_RELU" else {}
    wanted = reference(function, [values], [(SCALE, 4)], values.shape, output, **options)
    of = rtl.descriptor("activation", FUNCTIONS.index(function), 0.25)
    source, made = rtl.put(values, SCALE, 4), rtl.tensor(values.shape, *output)
    assert rtl.call("activation", rtl.stream, *map(ctypes.byref, (of, source, made))) == "OK", rtl.message
    np.testing.assert_array_equal(rtl.get(made, values.shape), wanted)


def test_a_chain(rtl: Handle, seed: int) -> None:
    """A fully connected layer, an addition and a softmax behind each other on a stream of its own."""
    rng = np.random.default_rng(seed)
    values, weights = drawn(rng, 2, 2, 3, 8), drawn(rng, 10, 48)
    bias, scales = rng.integers(-2000, 2000, 10).astype(np.int32), np.full(1, 0.005, np.float32)
    shape, other = (2, 1, 1, 10), drawn(rng, 2, 1, 1, 10)
    first, total, last = rtl.tensor(shape, OUTPUT_SCALE), rtl.tensor(shape, OUTPUT_SCALE), rtl.tensor(shape, 1 / 256, -128)
    source, addend = rtl.put(values, SCALE), rtl.put(other, SCALE)
    filters, sums = rtl.filters(weights.reshape(10, 1, 1, 48), scales), rtl.bias(bias)
    stream, cycles = Stream(), ctypes.c_uint64()
    assert rtl.call("create_stream", rtl.memory, ctypes.byref(stream)) == "OK"
    assert rtl.call("fully_connected", ctypes.byref(stream), *map(ctypes.byref, (source, filters)), U32(sums),
                    ctypes.byref(first)) == "OK", rtl.message
    assert rtl.call("addition", ctypes.byref(stream), 0, *map(ctypes.byref, (first, addend, total))) == "OK"
    assert rtl.call("softmax", ctypes.byref(stream), 1.0, *map(ctypes.byref, (total, last))) == "OK"
    assert rtl.call("poll_stream", ctypes.byref(stream)) == "BUSY"
    assert rtl.call("synchronize_stream", ctypes.byref(stream)) == "OK"
    assert rtl.call("get_cycles", ctypes.byref(stream), ctypes.byref(cycles)) == "OK" and cycles.value > 100
    made = reference("FULLY_CONNECTED", [values.reshape(2, 48)], [(SCALE, 0)], (2, 10), (OUTPUT_SCALE, 0),
                     with_filters(weights, scales, bias, 0))
    summed = reference("ADD", [made, other.reshape(2, 10)], [(OUTPUT_SCALE, 0), (SCALE, 0)], (2, 10), (OUTPUT_SCALE, 0),
                       fusedActivationFunction=0)
    chances = reference("SOFTMAX", [summed], [(OUTPUT_SCALE, 0)], (2, 10), (1 / 256, -128), beta=1.0)
    np.testing.assert_array_equal(rtl.get(first, shape).reshape(2, 10), made)
    np.testing.assert_array_equal(rtl.get(last, shape).reshape(2, 10), chances)
    assert rtl.call("destroy_stream", ctypes.byref(stream)) == "OK"


@pytest.mark.parametrize("seed_", range(4))
def test_softmax(seed_: int, handle: OnModel, seed: int) -> None:
    """Of drawn scales and lengths."""
    rng = np.random.default_rng([seed, seed_])
    shape, scale = (1, 2, 3, int(rng.integers(1, 60))), float(np.float32(2.0 ** rng.uniform(-12, 2)))
    beta, values = float(np.float32(rng.uniform(0.1, 2))), drawn(rng, *shape)
    wanted = reference("SOFTMAX", [values], [(scale, 7)], shape, (1 / 256, -128), beta=beta)
    source, made = handle.put(values, scale, 7), handle.tensor(shape, 1 / 256, -128)
    assert handle.call("softmax", handle.stream, beta, ctypes.byref(source), ctypes.byref(made)) == "OK"
    np.testing.assert_array_equal(handle.get(made, shape), wanted)


# ---- Programs and memory ----

class Relu:
    """A RELU of a drawn tensor."""

    def __init__(self, handle: OnModel, rng: np.random.Generator, shape: tuple[int, ...] = (1, 4, 4, 8)) -> None:
        self.handle, self.values = handle, drawn(rng, *shape)
        self.descriptor = handle.descriptor("activation", FUNCTIONS.index("RELU"), 0.0)
        self.source, self.made = handle.put(self.values, SCALE), handle.tensor(shape, SCALE)

    def give(self, stream: object = None) -> str:
        return self.handle.call("activation", stream or self.handle.stream,
                                *map(ctypes.byref, (self.descriptor, self.source, self.made)))

    def check(self) -> None:
        np.testing.assert_array_equal(self.handle.get(self.made, self.values.shape), np.maximum(self.values, 0))


def test_constants_are_what_is_in_the_memory(handle: OnModel, compiler: Compiler, seed: int) -> None:
    """Their digest is that of what was copied last, and known to the program that is asked for."""
    rng, before = np.random.default_rng(seed), len(compiler.asked)
    values, scales = drawn(rng, 1, 3, 3, 8), np.full(8, 0.005, np.float32)
    source, output = handle.put(values, SCALE), handle.tensor((1, 3, 3, 8), OUTPUT_SCALE)
    filters = handle.filters(drawn(rng, 8, 1, 1, 8), scales)
    of = handle.descriptor("convolution", (1, 1), (1, 1), (0,) * 4, 1, 0)
    for number in (1, 2):
        weights = drawn(rng, 8, 1, 1, 8)
        assert handle.copy("to", "filter", filters, weights) == "OK"
        wanted = reference("CONV_2D", [values], [(SCALE, 0)], (1, 3, 3, 8), (OUTPUT_SCALE, 0), with_filters(
            weights, scales, np.zeros(8, np.int32), 0), strideH=1, strideW=1, dilationHFactor=1, dilationWFactor=1,
            padding=1)
        for _ in range(2):
            assert handle.call("convolution", handle.stream, *map(ctypes.byref, (of, source, filters)), U32(NO_BIAS),
                               ctypes.byref(output)) == "OK", handle.message
            np.testing.assert_array_equal(handle.get(output, (1, 3, 3, 8)), wanted)
        assert len(compiler.asked) == before + number
        digest = hashlib.sha256(scales.tobytes() + hashlib.sha256(weights.tobytes()).digest()).hexdigest()
        assert f" constants={digest} " in compiler.asked[-1]


def test_a_full_memory(library: ctypes.CDLL, compiler: Compiler, seed: int) -> None:
    """Programs make room for tensors, and are placed again when they are needed; then there is no more room."""
    handle, rng = OnModel(library, compiler.programs, 1 << 16), np.random.default_rng(seed)
    relu, place, taken = Relu(handle, rng), U32(), []
    assert relu.give() == "OK"  # and goes on
    for size in (4096, 1024, 256, 64):
        while (result := handle.call("malloc", handle.memory, U32(size), ctypes.byref(place))) == "OK":
            taken.append(place.value)
        assert result == "NO_MEMORY"
    assert len(taken) > 15
    relu.check()
    assert [relu.give(), handle.synchronize(), handle.synchronize()] == ["OK", "NO_MEMORY", "OK"]
    while taken:
        assert handle.call("free", handle.memory, U32(taken.pop())) == "OK"
    assert relu.give() == "OK"
    relu.check()
    places = [handle.malloc(64) for _ in range(LIMITS["EYRIE_MOST_ALLOCATIONS"] - 2)]  # beside those of the RELU
    assert handle.call("malloc", handle.memory, U32(64), ctypes.byref(place)) == "NO_MEMORY"
    assert len({*places, relu.source.place, relu.made.place}) == LIMITS["EYRIE_MOST_ALLOCATIONS"]


def test_streams(handle: OnModel, seed: int) -> None:
    """More operators than there are places for, of two streams; what stands behind one that fails does not run, those
    of the other stream do."""
    rng = np.random.default_rng(seed)
    other = Stream()
    assert handle.call("create_stream", handle.memory, ctypes.byref(other)) == "OK"
    relus = [Relu(handle, rng) for _ in range(6)]
    assert [relu.give(handle.stream if n % 2 else ctypes.byref(other)) for n, relu in enumerate(relus)] == 6 * ["OK"]
    assert handle.synchronize() == "OK"
    for relu in relus:
        relu.check()
    handle.machine.looks, handle.machine.busy = 0, 5
    assert relus[0].give() == "OK"
    looks = 0
    while (result := handle.call("poll_stream", handle.stream)) == "BUSY":
        looks += 1
    assert result == "OK" and looks > 1


def stopped(handle: OnModel, relu: Relu) -> None:
    """The next run of the RELU's program stops the machine."""
    assert [relu.give(), handle.synchronize()] == ["OK", "OK"]
    at = handle.machine.registers[Register.PROGRAM_BASE]
    assert relu.give() == "OK" and handle.synchronize() == "OK"
    assert at == handle.machine.registers[Register.PROGRAM_BASE]
    handle.machine.memory[at] = 15  # no command


def test_a_machine_that_stops(handle: OnModel, seed: int) -> None:
    """What stands behind it on the stream does not run; what stands on another one does, of programs that are placed
    anew."""
    rng, other = np.random.default_rng(seed), Stream()
    assert handle.call("create_stream", handle.memory, ctypes.byref(other)) == "OK"
    relus = [Relu(handle, rng) for _ in range(3)]
    stopped(handle, relus[0])
    before = [handle.get(relu.made, relu.values.shape) for relu in relus]
    assert [relus[0].give(), relus[1].give(), relus[2].give(ctypes.byref(other))] == 3 * ["OK"]
    assert handle.call("synchronize_stream", ctypes.byref(other)) == "OK"
    assert handle.call("synchronize_stream", handle.stream) == "MACHINE_ERROR"
    assert handle.message == "a word of the command list is no command"
    np.testing.assert_array_equal(handle.get(relus[1].made, before[1].shape), before[1])
    relus[2].check()
    assert relus[1].give() == "OK"
    relus[1].check()


@pytest.mark.parametrize(("status", "result"), [(MachineStatus.BUSY, "TIMEOUT"),
                                                (MachineStatus.BUSY | MachineStatus.BUS_WAITS, "BUS_WAITS")])
def test_a_machine_that_stays_stopped(status: int, result: str, handle: OnModel, seed: int) -> None:
    """It is reset when it can be, and then goes on."""
    relu = Relu(handle, np.random.default_rng(seed))
    stopped(handle, relu)
    handle.machine.after_reset = status
    assert [relu.give(), handle.synchronize(), relu.give(), handle.synchronize()] == ["OK", "MACHINE_ERROR", "OK",
                                                                                     result]
    handle.machine.after_reset = handle.machine.status = None
    assert relu.give() == "OK"
    relu.check()


def test_a_run_that_takes_long(handle: OnModel, seed: int) -> None:
    """It goes on behind the limit."""
    relu = Relu(handle, np.random.default_rng(seed))
    handle.machine.busy = LIMITS["EYRIE_LOOKS"] + 10
    assert [relu.give(), handle.synchronize(), handle.synchronize()] == ["OK", "TIMEOUT", "OK"]
    relu.check()


# ---- Refusals ----

def tensors(handle: OnModel, *shapes: tuple[int, ...], scale: float = SCALE) -> list[Tensor]:
    return [handle.tensor(shape, scale) for shape in shapes]


def operator(handle: OnModel, name: str, *arguments: object) -> str:
    """A call on the handle's own stream; structures go by their places."""
    return handle.call(name, handle.stream, *(ctypes.byref(one) if isinstance(one, ctypes.Structure) else one
                                              for one in arguments))


def pooled(handle: OnModel, input_: tuple[int, ...], output: tuple[int, ...], **changes: object) -> str:
    of = handle.descriptor("pooling", 0, (2, 2), (2, 2), (0,) * 4)
    return operator(handle, "pooling", of, *tensors(handle, input_, output, **changes))


def convolved(handle: OnModel, filters: tuple[int, ...], output: tuple[int, ...], bias: int = NO_BIAS,
              groups: int = 1) -> str:
    """Of a 4 x 4 x 8 map."""
    of = handle.descriptor("convolution", (1, 1), (1, 1), (0,) * 4, groups, 0)
    source, made = tensors(handle, (1, 4, 4, 8), output)
    return operator(handle, "convolution", of, source, handle.filters(np.zeros(filters, np.int8), np.ones(1)),
                    U32(bias), made)


def set_to(handle: OnModel, kind: str, *values: object) -> str:
    descriptor = ctypes.create_string_buffer(128)
    assert handle.call(f"create_{kind}_descriptor", descriptor) == "OK"
    return handle.call(f"set_{kind}_descriptor", descriptor, ctypes.byref(handle.setting(kind, *values)))


def activated(handle: OnModel, source: Tensor, made: Tensor) -> str:
    return operator(handle, "activation", handle.descriptor("activation", FUNCTIONS.index("RELU"), 0.0), source, made)


def destroyed(handle: OnModel) -> str:
    source, made = tensors(handle, (1, 2, 2, 8), (1, 2, 2, 8))
    assert handle.call("destroy_tensor_descriptor", source.descriptor) == "OK"
    return activated(handle, source, made)


def overlapping(handle: OnModel) -> str:
    [source] = tensors(handle, (1, 2, 2, 8))
    return activated(handle, source, source)


def of_other_allocation(handle: OnModel, place: int) -> str:
    source, made = tensors(handle, (1, 2, 2, 8), (1, 2, 2, 8))
    made.place = place
    return activated(handle, source, made)


def closed(handle: OnModel) -> str:
    assert [handle.call("destroy_handle", handle.memory) for _ in range(2)] == ["OK", "OK"]
    assert handle.call("synchronize_stream", handle.stream) == "CLOSED"
    return handle.synchronize()


REFUSED: list[tuple[str, str, Callable[[OnModel], str]]] = [
    ("BAD_ARGUMENT", "no handle", lambda of: of.call("synchronize", None)),
    ("BAD_ARGUMENT", "no stream", lambda of: of.call("poll_stream", None)),
    ("BAD_ARGUMENT", "no bytes", lambda of: of.call("malloc", of.memory, U32(0), ctypes.byref(U32()))),
    ("BAD_ARGUMENT", "no tensor", lambda of: operator(of, "softmax", 1.0, None, *tensors(of, (1, 2, 2, 8)))),
    ("BAD_ARGUMENT", "no rows", lambda of: set_to(of, "tensor", 1, 0, 1, 1, 1.0, 0)),
    ("BAD_ARGUMENT", "too many values", lambda of: set_to(of, "tensor", 2**16, 2**16, 1, 1, 1.0, 0)),
    ("BAD_ARGUMENT", "zero point", lambda of: set_to(of, "tensor", 1, 1, 1, 1, 1.0, 128)),
    ("BAD_ARGUMENT", "scale", lambda of: set_to(of, "tensor", 1, 1, 1, 1, float("nan"), 0)),
    ("BAD_ARGUMENT", "scales", lambda of: set_to(of, "filter", 3, 1, 1, 1, (ctypes.c_float * 2)(1, 1), 2)),
    ("BAD_ARGUMENT", "stride", lambda of: set_to(of, "convolution", (0, 1), (1, 1), (0,) * 4, 1, 0)),
    ("BAD_ARGUMENT", "fused", lambda of: set_to(of, "convolution", (1, 1), (1, 1), (0,) * 4, 1, 4)),
    ("BAD_ARGUMENT", "kind", lambda of: set_to(of, "pooling", 2, (2, 2), (2, 2), (0,) * 4)),
    ("BAD_ARGUMENT", "function", lambda of: set_to(of, "activation", 10, 0.0)),
    ("BAD_ARGUMENT", "beta", lambda of: operator(of, "softmax", -1.0, *tensors(of, *2 * [(1, 1, 1, 8)]))),
    ("BAD_ARGUMENT", "its own stream", lambda of: of.call("destroy_stream", of.stream)),
    ("BAD_SIZE", "values", lambda of: of.copy("to", "tensor", of.tensor((1, 2, 2, 8), 1.0), np.zeros(31, np.int8))),
    ("BAD_SIZE", "filters", lambda of: of.copy("to", "filter", of.filters(np.zeros((8, 1, 1, 8), np.int8), np.ones(1)),
                                               np.zeros(63, np.int8))),
    ("BAD_DESCRIPTOR", "not created", lambda of: of.call("set_tensor_descriptor", ctypes.create_string_buffer(128),
                                                         ctypes.byref(of.setting("tensor", 1, 1, 1, 1, 1.0, 0)))),
    ("BAD_DESCRIPTOR", "destroyed", destroyed),
    ("BAD_DESCRIPTOR", "maps", lambda of: pooled(of, (2, 4, 4, 8), (1, 2, 2, 8))),
    ("BAD_DESCRIPTOR", "pooled size", lambda of: pooled(of, (1, 4, 4, 8), (1, 2, 3, 8))),
    ("BAD_DESCRIPTOR", "pooled channels", lambda of: pooled(of, (1, 4, 4, 8), (1, 2, 2, 16))),
    ("BAD_DESCRIPTOR", "filter channels", lambda of: convolved(of, (8, 3, 3, 4), (1, 2, 2, 8))),
    ("BAD_DESCRIPTOR", "groups", lambda of: convolved(of, (9, 3, 3, 4), (1, 2, 2, 9), groups=2)),
    ("BAD_DESCRIPTOR", "rows", lambda of: convolved(of, (8, 3, 3, 8), (1, 3, 2, 8))),
    ("BAD_DESCRIPTOR", "window", lambda of: convolved(of, (8, 5, 5, 8), (1, 1, 1, 8))),
    ("BAD_DESCRIPTOR", "softmax", lambda of: operator(of, "softmax", 1.0, *tensors(of, *2 * [(1, 1, 1, 8)]))),
    ("BAD_DESCRIPTOR", "operands", lambda of: operator(of, "addition", 0, *tensors(
        of, (1, 2, 2, 8), (1, 2, 3, 8), (1, 2, 3, 8)))),
    ("BAD_POINTER", "no allocation", lambda of: of.call("free", of.memory, U32(7))),
    ("BAD_POINTER", "another place", lambda of: of_other_allocation(of, 7)),
    ("BAD_POINTER", "too small", lambda of: of_other_allocation(of, of.malloc(31))),
    ("BAD_POINTER", "bias", lambda of: convolved(of, (8, 3, 3, 8), (1, 2, 2, 8), bias=of.malloc(31))),
    ("BAD_POINTER", "overlap", overlapping),
    ("NO_MEMORY", "", lambda of: of.call("malloc", of.memory, U32(WINDOW + 1), ctypes.byref(U32()))),
    ("NOT_SUPPORTED", "a softmax of more than 4095", lambda of: operator(of, "softmax", 1.0, of.tensor(
        (1, 1, 1, 4096), SCALE), of.tensor((1, 1, 1, 4096), 1 / 256, -128))),
    ("CLOSED", "", closed),
]


@pytest.mark.parametrize("number", range(len(REFUSED)), ids=[f"{status} {about}" for status, about, _ in REFUSED])
def test_refused(number: int, handle: OnModel) -> None:
    status, _, act = REFUSED[number]
    assert act(handle) == status
    if status == "NOT_SUPPORTED":
        assert handle.message.startswith(REFUSED[number][1])


def test_what_does_not_compile(library: ctypes.CDLL, compiler: Compiler) -> None:
    """The compiler's reason is the message."""
    handle = OnModel(library, compiler.programs)
    source, made = tensors(handle, (1, 1, 1, 200_000), (1, 1, 1, 1))
    filters = handle.filters(np.zeros((1, 1, 1, 200_000), np.int8), np.ones(1, np.float32))
    assert operator(handle, "fully_connected", source, filters, U32(NO_BIAS), made) == "NOT_SUPPORTED"
    assert "FULLY_CONNECTED" in handle.message and "\n" not in handle.message


def test_handles_that_cannot_be(library: ctypes.CDLL) -> None:
    machine = Modelled(3 << 16, WINDOW)
    machine.registers[Register.IDENTITY] = IDENTITY ^ 1
    assert Handle(library, machine.platform, None).opened == "NO_MACHINE"
    machine.platform.window_bytes = 1
    assert Handle(library, machine.platform, None).opened == "BAD_PLATFORM"
    assert library.eyrie_create_handle(None, None, None) == RESULTS.index("BAD_ARGUMENT")


def test_tables(library: ctypes.CDLL, compiler: Compiler, seed: int) -> None:
    """Programs that were made ahead of time: one is taken by its key; one of other tensors, of another machine, or
    damaged is refused, and without it the key is the message."""
    handle = OnModel(library, None)
    relu = Relu(handle, np.random.default_rng(seed))
    assert relu.give() == "NOT_COMPILED"
    key = handle.message.encode()
    assert key.startswith(b"activation input0=4,4,8,3ca3d70a,0 output=4,4,8,3ca3d70a,0 function=RELU alpha=00000000 mac")
    other = OnModel(library, compiler.programs)
    for shape in ((1, 4, 4, 8), (1, 5, 4, 8)):
        assert Relu(other, np.random.default_rng(seed), shape).give() == "OK"
    image, wrong = (compiler.images[asked] for asked in (key, key.replace(b"=4,4,8", b"=5,4,8")))
    damaged = Image(image.dram.copy(), image.map)
    damaged.dram[0] ^= 1
    for program, spoil, given, ended in (
            (image, lambda network: None, "OK", "OK"),
            (wrong, lambda network: None, "BAD_NETWORK", "OK"),
            (image, lambda network: network.sizes.__setitem__(0, 9), "OK", "OTHER_MACHINE"),
            (image, lambda network: setattr(network, "crc", 0), "OK", "OTHER_IMAGE"),
            (image, lambda network: setattr(network, "program", 4), "OK", "BAD_NETWORK")):
        made = compiler.program(key, program)
        spoil(made.network.contents)
        table = Programs(ctypes.pointer(made), 1)
        linked = OnModel(library, table)
        relu = Relu(linked, np.random.default_rng(seed))
        assert relu.give() == given
        assert linked.synchronize() == ended
        if (given, ended) == ("OK", "OK"):
            relu.check()


# ---- Text and warnings ----

def test_statuses_of_both_halves() -> None:
    """Those of Python are results in C."""
    assert {status.name for status in Status} < set(RESULTS)


@pytest.mark.parametrize("language", [["-std=c99", "-Wshadow"], ["-x", "c++", "-std=c++17"]], ids=["c99", "c++17"])
@pytest.mark.parametrize("compiler_", ["gcc", "clang"])
def test_no_warnings(compiler_: str, language: list[str], tmp_path: Path) -> None:
    if not shutil.which(compiler_):
        pytest.skip(f"no {compiler_} there")
    sources = {path: ["-ffreestanding"] for path in OPERATORS.glob("*.c")} | {
        CONVOLUTION: [], PROGRAMS: []}
    assert len(sources) > 8 and EXAMPLES in CONVOLUTION.parents
    for path, options in sources.items():
        command = [compiler_, *language, *WARNINGS, "-pedantic", "-Wconversion", "-O2", *options, *includes(OPERATORS),
                   "-c", str(path), "-o", str(tmp_path / "object.o")]
        ended = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
        assert ended.returncode == 0 and not ended.stderr, ended.stderr


def test_needs_no_library(tmp_path: Path) -> None:
    """Of a C library at most what a compiler asks for everywhere."""
    for path in OPERATORS.glob("*.c"):
        subprocess.run(["cc", "-std=c99", "-O2", "-ffreestanding", "-fno-stack-protector", *includes(OPERATORS), "-c",
                        path, "-o", tmp_path / f"{path.stem}.o"], check=True)
    found = subprocess.run(["nm", "-u", *tmp_path.glob("*.o")], capture_output=True, text=True, check=True).stdout
    names = {line.split()[-1] for line in found.splitlines() if " U " in line}
    assert {name for name in names if not name.startswith("eyrie_")} <= {
        "memcpy", "memset", "memmove", "memcmp", "_GLOBAL_OFFSET_TABLE_"}
