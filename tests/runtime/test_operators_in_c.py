# SPDX-License-Identifier: Apache-2.0
"""The operator library in C: figure 3.5 of DLPlib on the RTL, with programs compiled on demand and ahead of time; drawn
operators of every kind give what tflite-micro gives, on the RTL; C99 and C++17 without a warning or a library."""

import ctypes
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from eyrie.model.config import DEFAULT
from eyrie.model.operators.convolution import conv2d
from eyrie.model.operators.quantization import Quantization, requantization
from eyrie.runtime.folders import ROOT
from eyrie.runtime.soc.c_programs import CONVOLUTION, PROGRAMS, Setting, call, includes, link_operators
from eyrie.runtime.soc.driver import U32, Platform, View, functions
from eyrie.runtime.soc.library import OPERATORS, WARNINGS, soc_library
from tests.commands.commands import eyrie
from tests.runtime.operator_library import FUNCTIONS, Compiler, Handle, Stream, build
from tests.runtime.operators_on_model import WINDOW
from tests.runtime.test_operator_chains import lstm, normalized
from tests.runtime.test_operators import (
    ARITHMETIC,
    CONVOLUTIONS,
    FUSED,
    OUTPUT_SCALE,
    SCALE,
    TRANSPOSED,
    drawn,
    operands,
    reference,
    transposed,
    with_filters,
)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return build(tmp_path_factory.mktemp("library"))


@pytest.fixture(scope="module")
def compiler(tmp_path_factory: pytest.TempPathFactory) -> Compiler:
    return Compiler(tmp_path_factory.mktemp("requests"))


@pytest.fixture
def rtl(library: ctypes.CDLL, compiler: Compiler, seed: int) -> Iterator[Handle]:
    """A handle on the RTL."""
    soc, platform = functions(soc_library(DEFAULT)), Platform()
    view = View(soc.soc_open(seed % 2**31, DEFAULT.dram_latency, DEFAULT.dram_interval, WINDOW, None), 0)
    soc.soc_platform(view, WINDOW, True, platform)
    handle = Handle(library, platform, compiler.programs)
    yield handle
    assert handle.call("destroy_handle", handle.memory) == "OK"
    soc.soc_close(view.soc)


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
        said.append(
            call(program, tmp_path / "image.bin", tmp_path / "weights.bin", folder / "output.bin", setting=setting)
        )
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
    with pytest.raises(
        ValueError,
        match="convolution: there is no program for the operator, and nothing that compiles "
        "one: convolution input0=14,14,16,3ca3d70a,3 output=14,14,24,",
    ):
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
    of = rtl.descriptor("convolution", (stride,) * 2, (gap,) * 2, (0,) * 4, groups, FUNCTIONS.index(FUSED[fused]))
    source, output = rtl.put(values, SCALE, zero), rtl.tensor(shape, OUTPUT_SCALE, 5)
    filters, sums = rtl.filters(weights, scales), rtl.bias(bias)
    assert (
        rtl.call(
            "convolution",
            rtl.stream,
            ctypes.byref(of),
            ctypes.byref(source),
            ctypes.byref(filters),
            U32(sums),
            ctypes.byref(output),
        )
        == "OK"
    ), rtl.message
    np.testing.assert_array_equal(rtl.get(output, shape), wanted)
    np.testing.assert_array_equal(rtl.get(source, values.shape), values)
    kept = np.zeros_like(weights)
    assert rtl.copy("from", "filter", filters, kept) == "OK"
    np.testing.assert_array_equal(kept, weights)


@pytest.mark.parametrize("mode", TRANSPOSED)
def test_transposed_convolutions(mode: str, rtl: Handle, seed: int) -> None:
    values, weights, bias, wanted = transposed(mode, np.random.default_rng(seed))
    _, stride, pads = TRANSPOSED[mode]
    of = rtl.descriptor("convolution", (stride,) * 2, (1, 1), pads, 1, 0)
    source, output = rtl.put(values, SCALE, 3), rtl.tensor(wanted.shape, OUTPUT_SCALE, 5)
    filters, sums = rtl.filters(weights, np.full(1, 0.005, np.float32)), rtl.bias(bias)
    given = *map(ctypes.byref, (of, source, filters)), U32(sums), ctypes.byref(output)
    assert rtl.call("transposed_convolution", rtl.stream, *given) == "OK", rtl.message
    np.testing.assert_array_equal(rtl.get(output, wanted.shape), wanted)


@pytest.mark.parametrize("kind", ["max", "average"])
def test_poolings(kind: str, rtl: Handle, seed: int) -> None:
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
    of = rtl.descriptor("pooling", ["max", "average"].index(kind), (3, 3), (2, 2), (0,) * 4)
    source, output = rtl.put(values, SCALE, 3), rtl.tensor((2, 3, 3, 12), SCALE, 3)
    assert rtl.call("pooling", rtl.stream, *map(ctypes.byref, (of, source, output))) == "OK", rtl.message
    np.testing.assert_array_equal(rtl.get(output, wanted.shape), wanted)


def test_unpooling(rtl: Handle, seed: int) -> None:
    rng = np.random.default_rng(seed)
    values, (rows, cols) = drawn(rng, 2, 3, 4, int(rng.integers(1, 20))), map(int, rng.integers(1, 4, 2))
    wanted = values.repeat(rows, 1).repeat(cols, 2)
    source, made = rtl.put(values, SCALE, 4), rtl.tensor(wanted.shape, SCALE, 4)
    assert rtl.call("unpooling", rtl.stream, *map(ctypes.byref, (source, made))) == "OK", rtl.message
    np.testing.assert_array_equal(rtl.get(made, wanted.shape), wanted)


ACTIVATIONS = {
    "RELU": (SCALE, 4),
    "RELU6": (SCALE, 4),
    "LEAKY_RELU": (SCALE, 4),
    "LOGISTIC": (1 / 256, -128),
    "TANH": (1 / 128, 0),
    "HARD_SWISH": (SCALE, -4),
}


@pytest.mark.parametrize("function", ACTIVATIONS)
def test_activations(function: str, rtl: Handle, seed: int) -> None:
    values, output = drawn(np.random.default_rng(seed), 1, 5, 3, 9), ACTIVATIONS[function]
    options = {"alpha": 0.25} if function == "LEAKY_RELU" else {}
    wanted = reference(function, [values], [(SCALE, 4)], values.shape, output, **options)
    of = rtl.descriptor("activation", FUNCTIONS.index(function), 0.25)
    source, made = rtl.put(values, SCALE, 4), rtl.tensor(values.shape, *output)
    assert rtl.call("activation", rtl.stream, *map(ctypes.byref, (of, source, made))) == "OK", rtl.message
    np.testing.assert_array_equal(rtl.get(made, values.shape), wanted)


@pytest.mark.parametrize("kind", ARITHMETIC)
def test_arithmetic(kind: str, rtl: Handle, seed: int) -> None:
    first, second, fused, wanted = operands(kind, np.random.default_rng(seed))
    scale, output = ARITHMETIC[kind]
    sources, made = (rtl.put(first, SCALE, 4), rtl.put(second, *scale)), rtl.tensor(wanted.shape, *output)
    settings = list(ARITHMETIC).index(kind), FUNCTIONS.index(FUSED[fused])
    assert rtl.call("arithmetic", rtl.stream, *settings, *map(ctypes.byref, (*sources, made))) == "OK", rtl.message
    np.testing.assert_array_equal(rtl.get(made, wanted.shape), wanted)


@pytest.mark.parametrize("channels", [(8, 16), (5, 9)])
def test_concatenation(channels: tuple[int, int], rtl: Handle, seed: int) -> None:
    rng = np.random.default_rng(seed)
    parts = [drawn(rng, 2, 5, 3, count) for count in channels]
    sources, made = [rtl.put(part, SCALE) for part in parts], rtl.tensor((2, 5, 3, sum(channels)), SCALE)
    assert rtl.call("concatenation", rtl.stream, *map(ctypes.byref, (*sources, made))) == "OK", rtl.message
    np.testing.assert_array_equal(rtl.get(made, (2, 5, 3, sum(channels))), np.concatenate(parts, 3))


def test_local_response_normalization(rtl: Handle, seed: int) -> None:
    values, setting, wanted = normalized(np.random.default_rng(seed))
    source, made = rtl.put(values, SCALE, 4), rtl.tensor(wanted.shape, OUTPUT_SCALE / 4, 5)
    given = map(ctypes.byref, (rtl.descriptor("normalization", *setting), source, made))
    assert rtl.call("local_response_normalization", rtl.stream, *given) == "OK", rtl.message
    np.testing.assert_array_equal(rtl.get(made, wanted.shape), wanted)


@pytest.mark.parametrize("same", [True, False])
def test_lstm_cell(same: bool, rtl: Handle, seed: int) -> None:
    of = lstm(np.random.default_rng([seed, same]), same)
    shape = of.wanted[0].shape
    given = [rtl.put(values, *scale) for values, scale in zip(of.values, of.scales)]
    made = [rtl.tensor(shape, *scale) for scale in of.made_scales]
    filters, sums = rtl.filters(of.weights[:, None, None], of.filter_scales), rtl.bias(of.bias)
    arguments = *map(ctypes.byref, (rtl.descriptor("lstm", *of.sums), *given, filters)), U32(sums)
    assert rtl.call("lstm_cell", rtl.stream, *arguments, *map(ctypes.byref, made)) == "OK", rtl.message
    for tensor, wanted in zip(made, of.wanted):
        np.testing.assert_array_equal(rtl.get(tensor, shape), wanted)


def test_a_chain(rtl: Handle, seed: int) -> None:
    """A fully connected layer, an addition and a softmax behind each other on a stream of its own."""
    rng = np.random.default_rng(seed)
    values, weights = drawn(rng, 2, 2, 3, 8), drawn(rng, 10, 48)
    bias, scales = rng.integers(-2000, 2000, 10).astype(np.int32), np.full(1, 0.005, np.float32)
    shape, other = (2, 1, 1, 10), drawn(rng, 2, 1, 1, 10)
    first, total = rtl.tensor(shape, OUTPUT_SCALE), rtl.tensor(shape, OUTPUT_SCALE)
    last = rtl.tensor(shape, 1 / 256, -128)
    source, addend = rtl.put(values, SCALE), rtl.put(other, SCALE)
    filters, sums = rtl.filters(weights.reshape(10, 1, 1, 48), scales), rtl.bias(bias)
    stream, cycles = Stream(), ctypes.c_uint64()
    assert rtl.call("create_stream", rtl.memory, ctypes.byref(stream)) == "OK"
    assert (
        rtl.call(
            "fully_connected",
            ctypes.byref(stream),
            *map(ctypes.byref, (source, filters)),
            U32(sums),
            ctypes.byref(first),
        )
        == "OK"
    ), rtl.message
    assert rtl.call("arithmetic", ctypes.byref(stream), 0, 0, *map(ctypes.byref, (first, addend, total))) == "OK"
    assert rtl.call("softmax", ctypes.byref(stream), 1.0, *map(ctypes.byref, (total, last))) == "OK"
    assert rtl.call("poll_stream", ctypes.byref(stream)) == "BUSY"
    assert rtl.call("synchronize_stream", ctypes.byref(stream)) == "OK"
    assert rtl.call("get_cycles", ctypes.byref(stream), ctypes.byref(cycles)) == "OK" and cycles.value > 100
    made = reference(
        "FULLY_CONNECTED",
        [values.reshape(2, 48)],
        [(SCALE, 0)],
        (2, 10),
        (OUTPUT_SCALE, 0),
        with_filters(weights, scales, bias, 0),
    )
    summed = reference(
        "ADD",
        [made, other.reshape(2, 10)],
        [(OUTPUT_SCALE, 0), (SCALE, 0)],
        (2, 10),
        (OUTPUT_SCALE, 0),
        fusedActivationFunction=0,
    )
    chances = reference("SOFTMAX", [summed], [(OUTPUT_SCALE, 0)], (2, 10), (1 / 256, -128), beta=1.0)
    np.testing.assert_array_equal(rtl.get(first, shape).reshape(2, 10), made)
    np.testing.assert_array_equal(rtl.get(last, shape).reshape(2, 10), chances)
    assert rtl.call("destroy_stream", ctypes.byref(stream)) == "OK"


# ---- Text and warnings ----


@pytest.mark.parametrize("language", [["-std=c99", "-Wshadow"], ["-x", "c++", "-std=c++17"]], ids=["c99", "c++17"])
@pytest.mark.parametrize("compiler_", ["gcc", "clang"])
def test_no_warnings(compiler_: str, language: list[str], tmp_path: Path) -> None:
    """The library as it is for a processor without an operating system; of the programs test_driver.py says it."""
    if not shutil.which(compiler_):
        pytest.skip(f"no {compiler_} there")
    sources = [*OPERATORS.glob("*.c")]
    assert len(sources) > 6
    for path in sources:
        command = [
            compiler_,
            *language,
            *WARNINGS,
            "-Wconversion",
            "-O2",
            "-ffreestanding",
            *includes(),
            "-c",
            path,
            "-o",
            tmp_path / "object.o",
        ]
        ended = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
        assert ended.returncode == 0 and not ended.stderr, ended.stderr


def test_needs_no_library(tmp_path: Path) -> None:
    """Of a C library at most what a compiler asks for everywhere."""
    for path in OPERATORS.glob("*.c"):
        subprocess.run(
            [
                "cc",
                "-std=c99",
                "-O2",
                "-ffreestanding",
                "-fno-stack-protector",
                *includes(),
                "-c",
                path,
                "-o",
                tmp_path / f"{path.stem}.o",
            ],
            check=True,
        )
    found = subprocess.run(["nm", "-u", *tmp_path.glob("*.o")], capture_output=True, text=True, check=True).stdout
    names = {line.split()[-1] for line in found.splitlines() if " U " in line}
    assert {name for name in names if not name.startswith("eyrie_")} <= {
        "memcpy",
        "memset",
        "memmove",
        "memcmp",
        "_GLOBAL_OFFSET_TABLE_",
    }
