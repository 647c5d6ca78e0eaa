# SPDX-License-Identifier: Apache-2.0
"""The operator library in C by itself: softmax, memory, streams, configurations that stop, and what it rejects, each
with its result."""

import ctypes
import hashlib
from collections.abc import Callable

import numpy as np
import pytest

from eyrie.model.encoding import IDENTITY, Register
from eyrie.model.status import Status as MachineStatus
from eyrie.operators import Status
from eyrie.operators.descriptors import TensorSetting
from eyrie.operators.launch import packed
from eyrie.runtime.soc.driver import RESULTS, U32
from tests.runtime.driver_library import Modelled
from tests.runtime.operator_library import LIMITS, NO_BIAS, Compiler, Handle, Stream, Tensor, build
from tests.runtime.operators_on_model import WINDOW, OnModel, Relu, activated, operator, tensors
from tests.runtime.test_operators import OUTPUT_SCALE, SCALE, drawn, reference, with_filters


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return build(tmp_path_factory.mktemp("library"))


@pytest.fixture(scope="module")
def compiler(tmp_path_factory: pytest.TempPathFactory) -> Compiler:
    return Compiler(tmp_path_factory.mktemp("requests"))


@pytest.fixture
def handle(library: ctypes.CDLL, compiler: Compiler) -> OnModel:
    return OnModel(library, compiler.programs)


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


@pytest.mark.parametrize("shape", [(2, 3, 5, 9), (1, 2, 4, 3), (1, 1, 1, 8192), (1, 2, 1, 8200)])
def test_layout(shape: tuple[int, ...], handle: OnModel, seed: int) -> None:
    """Tensors lie in the memory as Python's do, and lanes that hold no value are zero."""
    values = drawn(np.random.default_rng(seed), *shape)
    handle.modelled.memory[:] = 0x55
    wanted = packed(values, TensorSetting(*shape, SCALE)).view(np.uint8).ravel()
    tensor = handle.put(values, SCALE)
    begin = handle.modelled.base + tensor.place
    np.testing.assert_array_equal(handle.modelled.memory[begin:][: wanted.size], wanted)
    assert (handle.modelled.memory[begin + wanted.size :] == 0x55).all()
    np.testing.assert_array_equal(handle.get(tensor, shape), values)


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
        wanted = reference(
            "CONV_2D",
            [values],
            [(SCALE, 0)],
            (1, 3, 3, 8),
            (OUTPUT_SCALE, 0),
            with_filters(weights, scales, np.zeros(8, np.int32), 0),
            strideH=1,
            strideW=1,
            dilationHFactor=1,
            dilationWFactor=1,
            padding=1,
        )
        for _ in range(2):
            assert (
                handle.call(
                    "convolution",
                    handle.stream,
                    *map(ctypes.byref, (of, source, filters)),
                    U32(NO_BIAS),
                    ctypes.byref(output),
                )
                == "OK"
            ), handle.message
            np.testing.assert_array_equal(handle.get(output, (1, 3, 3, 8)), wanted)
        assert len(compiler.asked) == before + number
        digest = hashlib.sha256(scales.tobytes() + hashlib.sha256(weights.tobytes()).digest()).hexdigest()
        assert f" constants={digest} " in compiler.asked[-1]


def test_filters_that_an_operator_makes(handle: OnModel, seed: int) -> None:
    """They are taken as it leaves them, though it has not run when the convolution is given."""
    rng, scales = np.random.default_rng(seed), np.full(1, 0.005, np.float32)
    relu, values = Relu(handle, rng, (1, 1, 8, 8)), drawn(rng, 1, 3, 3, 8)
    filters = handle.filters(drawn(rng, 8, 1, 1, 8), scales)
    filters.place = relu.made.place  # 8 pixels of 8 channels lie as 8 filters do
    source, output = handle.put(values, SCALE), handle.tensor((1, 3, 3, 8), OUTPUT_SCALE)
    of = handle.descriptor("convolution", (1, 1), (1, 1), (0,) * 4, 1, 0)
    assert operator(handle, "convolution", of, source, filters, U32(NO_BIAS), output) == "OK", handle.message
    assert relu.give() == "OK"
    assert operator(handle, "convolution", of, source, filters, U32(NO_BIAS), output) == "OK", handle.message
    weights = np.maximum(relu.values, 0).reshape(8, 1, 1, 8)
    wanted = reference(
        "CONV_2D",
        [values],
        [(SCALE, 0)],
        (1, 3, 3, 8),
        (OUTPUT_SCALE, 0),
        with_filters(weights, scales, np.zeros(8, np.int32), 0),
        strideH=1,
        strideW=1,
        dilationHFactor=1,
        dilationWFactor=1,
        padding=1,
    )
    np.testing.assert_array_equal(handle.get(output, (1, 3, 3, 8)), wanted)


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
    assert [relu.give(), handle.synchronize()] == ["OK", "NO_MEMORY"]
    assert handle.message.endswith(" bytes has no room in a window of 65536 bytes: free some tensors")
    assert handle.synchronize() == "OK"
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
    handle.modelled.looks, handle.modelled.busy = 0, 5
    assert relus[0].give() == "OK"
    looks = 0
    while (result := handle.call("poll_stream", handle.stream)) == "BUSY":
        looks += 1
    assert result == "OK" and looks > 1


def stopped(handle: OnModel, relu: Relu) -> None:
    """The next run of the RELU's program stops the accelerator."""
    assert [relu.give(), handle.synchronize()] == ["OK", "OK"]
    at = handle.modelled.registers[Register.PROGRAM_BASE]
    assert relu.give() == "OK" and handle.synchronize() == "OK"
    assert at == handle.modelled.registers[Register.PROGRAM_BASE]
    handle.modelled.memory[at] = 15  # no command


def test_an_accelerator_that_stops(handle: OnModel, seed: int) -> None:
    """What stands behind it on the stream does not run; what stands on another one does, of programs that are placed
    anew."""
    rng, other = np.random.default_rng(seed), Stream()
    assert handle.call("create_stream", handle.memory, ctypes.byref(other)) == "OK"
    relus = [Relu(handle, rng) for _ in range(3)]
    stopped(handle, relus[0])
    before = [handle.get(relu.made, relu.values.shape) for relu in relus]
    assert [relus[0].give(), relus[1].give(), relus[2].give(ctypes.byref(other))] == 3 * ["OK"]
    assert handle.call("synchronize_stream", ctypes.byref(other)) == "OK"
    assert handle.message == ""
    assert handle.call("synchronize_stream", handle.stream) == "ACCELERATOR_ERROR"
    assert handle.message == "a word of the command list is no command"
    np.testing.assert_array_equal(handle.get(relus[1].made, before[1].shape), before[1])
    relus[2].check()
    assert relus[1].give() == "OK"
    relus[1].check()


@pytest.mark.parametrize(
    ("status", "result"), [(MachineStatus.BUSY, "TIMEOUT"), (MachineStatus.BUSY | MachineStatus.BUS_WAITS, "BUS_WAITS")]
)
def test_an_accelerator_that_stays_stopped(status: int, result: str, handle: OnModel, seed: int) -> None:
    """It is reset when it can be, and then goes on."""
    relu = Relu(handle, np.random.default_rng(seed))
    stopped(handle, relu)
    handle.modelled.after_reset = status
    assert [relu.give(), handle.synchronize(), relu.give(), handle.synchronize()] == [
        "OK",
        "ACCELERATOR_ERROR",
        "OK",
        result,
    ]
    handle.modelled.after_reset = handle.modelled.status = None
    assert relu.give() == "OK"
    relu.check()


def test_a_run_that_takes_long(handle: OnModel, seed: int) -> None:
    """It goes on behind the limit."""
    relu = Relu(handle, np.random.default_rng(seed))
    handle.modelled.busy = LIMITS["EYRIE_LOOKS"] + 10
    assert [relu.give(), handle.synchronize(), handle.synchronize()] == ["OK", "TIMEOUT", "OK"]
    relu.check()


def pooled(handle: OnModel, input_: tuple[int, ...], output: tuple[int, ...], **changes: object) -> str:
    of = handle.descriptor("pooling", 0, (2, 2), (2, 2), (0,) * 4)
    return operator(handle, "pooling", of, *tensors(handle, input_, output, **changes))


def convolved(
    handle: OnModel, filters: tuple[int, ...], output: tuple[int, ...], bias: int = NO_BIAS, groups: int = 1
) -> str:
    """Of a 4 x 4 x 8 map."""
    of = handle.descriptor("convolution", (1, 1), (1, 1), (0,) * 4, groups, 0)
    source, made = tensors(handle, (1, 4, 4, 8), output)
    return operator(
        handle, "convolution", of, source, handle.filters(np.zeros(filters, np.int8), np.ones(1)), U32(bias), made
    )


def spread(handle: OnModel, dilation: tuple[int, int], pad: int) -> str:
    """A transposed convolution of a 2 x 2 x 8 map."""
    of = handle.descriptor("convolution", (2, 2), dilation, (pad,) * 4, 1, 0)
    source, made = tensors(handle, (1, 2, 2, 8), (1, 3, 3, 8))
    filters = handle.filters(np.zeros((8, 1, 1, 8), np.int8), np.ones(1))
    return operator(handle, "transposed_convolution", of, source, filters, U32(NO_BIAS), made)


def set_to(handle: OnModel, kind: str, *values: object) -> str:
    descriptor = ctypes.create_string_buffer(128)
    assert handle.call(f"create_{kind}_descriptor", descriptor) == "OK"
    return handle.call(f"set_{kind}_descriptor", descriptor, ctypes.byref(handle.setting(kind, *values)))


def destroyed(handle: OnModel) -> str:
    source, made = tensors(handle, (1, 2, 2, 8), (1, 2, 2, 8))
    assert handle.call("destroy_tensor_descriptor", source.descriptor) == "OK"
    return activated(handle, source, made)


def overlapping(handle: OnModel) -> str:
    [source] = tensors(handle, (1, 2, 2, 8))
    return activated(handle, source, source)


def least(handle: OnModel) -> str:
    """A minimum of tensors of which the second has another scale."""
    shape = 1, 2, 2, 8
    return operator(handle, "arithmetic", 4, 0, *(handle.tensor(shape, scale) for scale in (0.02, 0.03, 0.02)))


def of_other_allocation(handle: OnModel, place: int) -> str:
    source, made = tensors(handle, (1, 2, 2, 8), (1, 2, 2, 8))
    made.place = place
    return activated(handle, source, made)


def cell(handle: OnModel, *made: Tensor, columns: int = 1, filtered: int = 13) -> str:
    """A step of an LSTM with 5 values and 8 units; made: the next states; filtered: channels of the filters."""
    source, *states = tensors(handle, (1, 1, columns, 5), *2 * [(1, 1, 1, 8)])
    filters = handle.filters(np.zeros((32, 1, 1, filtered), np.int8), np.ones(1))
    lstm = handle.descriptor("lstm", SCALE, 0)
    return operator(handle, "lstm_cell", lstm, source, *states, filters, U32(NO_BIAS), *made)


def closed(handle: OnModel) -> str:
    assert [handle.call("destroy_handle", handle.memory) for _ in range(2)] == ["OK", "OK"]
    assert handle.call("synchronize_stream", handle.stream) == "CLOSED"
    return handle.synchronize()


SAID = {  # of calls that have a handle
    "no bytes": "bytes: 0: give at least 1",
    "no tensor": "input: is NULL, or something in it is: give one",
    "beta": "beta: is -1.00000e0: must be positive and finite",
    "its own stream": "stream: is the handle's own: give one that eyrie_create_stream made",
    "values": "count: 31 values, the descriptor says 32",
    "filters": "count: 63 values, the descriptor says 64",
    "destroyed": "input: its descriptor is destroyed: create it and set it",
    "maps": "input: has 2 maps, the output 1: give as many",
    "pooled size": "output: is 2 x 3 x 8, the operator makes 2 x 2 x 8",
    "pooled channels": "output: is 2 x 2 x 16, the operator makes 2 x 2 x 8",
    "filter channels": "filter: 4 channels in 1 groups do not go with an input of 8 channels",
    "groups": "filter: 9 filters do not go into 2 groups: give as many to each",
    "rows": "output: is 3 x 2 x 8, the operator makes 2 x 2 x 8",
    "window": "input: 4 x 4 with its pads is smaller than the window",
    "softmax": "output: its scale is 2.00000e-2 and its zero point 0, the operator makes 3.90625e-3 and -128",
    "operands": "second: is 2 x 3 x 8, the first 2 x 2 x 8: give sizes that are equal, or one of them 1",
    "arithmetic": "kind: is 7: give EYRIE_ADD to EYRIE_DIV",
    "fused sum": "fused: is 4: give EYRIE_NONE, EYRIE_RELU, EYRIE_RELU6 or EYRIE_RELU_N1_TO_1",
    "fused maximum": "fused: is 1: of this kind it is EYRIE_NONE",
    "unpooling": "output: has 4 x 3 pixels, no multiples of the input's 2 x 2",
    "transposed": "convolution: if it is transposed, its dilation is 1, 1, its groups 1 and its function EYRIE_NONE",
    "removed": "convolution: its pads leave no output, or are larger than the filters",
    "parts": "second: is 2 x 3, the first 2 x 2: give equal sizes",
    "minimum": "output: its scale is 2.00000e-2 and its zero point 0, the operator makes 3.00000e-2 and 0",
    "cell": "next_cell: is 1 x 1 x 9, the cell 1 x 1 x 8: give equal sizes",
    "cell rows": "input: is 1 x 2 x 5, the cell 1 x 1 x 8: give equal rows and columns",
    "cell filter": "filter: is 32 x 1 x 1 x 14, of 5 channels and a cell of 8 it is 4 * 8 x 1 x 1 x 5 + 8",
    "cell overlap": "next_hidden: overlaps the next_cell at 0x400: allocate one of its own",
    "no allocation": "place: 0x7 is no allocation: give what eyrie_malloc gave",
    "another place": "output: 0x7 is no allocation: give what eyrie_malloc gave",
    "too small": "output: 32 bytes are needed, 31 are allocated at 0x400: allocate as many as its descriptor says",
    "bias": "bias: 32 bytes are needed, 31 are allocated at 0x400: allocate as many as its descriptor says",
    "overlap": "output: overlaps the input at 0x400: allocate one of its own",
    "no room": f"bytes: {WINDOW + 1} have no room beside 2 allocations (of at most 24) in a window of {WINDOW} bytes: "
    "free some",
    "channels": "a softmax of more than 4095 channels (4096): their exponentials have no sum that fits",
    "closed": "the handle is not open: create it",
}
REJECTED: list[tuple[str, str, Callable[[OnModel], str]]] = [
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
    ("BAD_ARGUMENT", "radius", lambda of: set_to(of, "normalization", 0, 1.0, 1.0, 1.0)),
    ("BAD_ARGUMENT", "factor", lambda of: set_to(of, "normalization", 1, 1.0, float("inf"), 1.0)),
    ("BAD_ARGUMENT", "sums", lambda of: set_to(of, "lstm", 1.0, -129)),
    ("BAD_ARGUMENT", "beta", lambda of: operator(of, "softmax", -1.0, *tensors(of, *2 * [(1, 1, 1, 8)]))),
    ("BAD_ARGUMENT", "its own stream", lambda of: of.call("destroy_stream", of.stream)),
    ("BAD_SIZE", "values", lambda of: of.copy("to", "tensor", of.tensor((1, 2, 2, 8), 1.0), np.zeros(31, np.int8))),
    (
        "BAD_SIZE",
        "filters",
        lambda of: of.copy(
            "to", "filter", of.filters(np.zeros((8, 1, 1, 8), np.int8), np.ones(1)), np.zeros(63, np.int8)
        ),
    ),
    (
        "BAD_DESCRIPTOR",
        "not created",
        lambda of: of.call(
            "set_tensor_descriptor",
            ctypes.create_string_buffer(128),
            ctypes.byref(of.setting("tensor", 1, 1, 1, 1, 1.0, 0)),
        ),
    ),
    ("BAD_DESCRIPTOR", "destroyed", destroyed),
    ("BAD_DESCRIPTOR", "maps", lambda of: pooled(of, (2, 4, 4, 8), (1, 2, 2, 8))),
    ("BAD_DESCRIPTOR", "pooled size", lambda of: pooled(of, (1, 4, 4, 8), (1, 2, 3, 8))),
    ("BAD_DESCRIPTOR", "pooled channels", lambda of: pooled(of, (1, 4, 4, 8), (1, 2, 2, 16))),
    ("BAD_DESCRIPTOR", "filter channels", lambda of: convolved(of, (8, 3, 3, 4), (1, 2, 2, 8))),
    ("BAD_DESCRIPTOR", "groups", lambda of: convolved(of, (9, 3, 3, 4), (1, 2, 2, 9), groups=2)),
    ("BAD_DESCRIPTOR", "rows", lambda of: convolved(of, (8, 3, 3, 8), (1, 3, 2, 8))),
    ("BAD_DESCRIPTOR", "window", lambda of: convolved(of, (8, 5, 5, 8), (1, 1, 1, 8))),
    ("BAD_DESCRIPTOR", "softmax", lambda of: operator(of, "softmax", 1.0, *tensors(of, *2 * [(1, 1, 1, 8)]))),
    (
        "BAD_DESCRIPTOR",
        "operands",
        lambda of: operator(of, "arithmetic", 0, 0, *tensors(of, (1, 2, 2, 8), (1, 2, 3, 8), (1, 2, 3, 8))),
    ),
    ("BAD_ARGUMENT", "arithmetic", lambda of: operator(of, "arithmetic", 7, 0, *tensors(of, *3 * [(1, 2, 2, 8)]))),
    ("BAD_ARGUMENT", "fused sum", lambda of: operator(of, "arithmetic", 1, 4, *tensors(of, *3 * [(1, 2, 2, 8)]))),
    ("BAD_ARGUMENT", "fused maximum", lambda of: operator(of, "arithmetic", 3, 1, *tensors(of, *3 * [(1, 2, 2, 8)]))),
    ("BAD_DESCRIPTOR", "minimum", least),
    ("BAD_DESCRIPTOR", "unpooling", lambda of: operator(of, "unpooling", *tensors(of, (1, 2, 2, 8), (1, 4, 3, 8)))),
    ("BAD_DESCRIPTOR", "transposed", lambda of: spread(of, (2, 2), 0)),
    ("BAD_DESCRIPTOR", "removed", lambda of: spread(of, (1, 1), 9)),
    (
        "BAD_DESCRIPTOR",
        "parts",
        lambda of: operator(of, "concatenation", *tensors(of, (1, 2, 2, 8), (1, 2, 3, 8), (1, 2, 2, 16))),
    ),
    ("BAD_DESCRIPTOR", "cell", lambda of: cell(of, *tensors(of, (1, 1, 1, 8), (1, 1, 1, 9)))),
    ("BAD_DESCRIPTOR", "cell rows", lambda of: cell(of, *tensors(of, *2 * [(1, 1, 1, 8)]), columns=2)),
    ("BAD_DESCRIPTOR", "cell filter", lambda of: cell(of, *tensors(of, *2 * [(1, 1, 1, 8)]), filtered=14)),
    ("BAD_POINTER", "cell overlap", lambda of: cell(of, *2 * tensors(of, (1, 1, 1, 8)))),
    ("BAD_POINTER", "no allocation", lambda of: of.call("free", of.memory, U32(7))),
    ("BAD_POINTER", "another place", lambda of: of_other_allocation(of, 7)),
    ("BAD_POINTER", "too small", lambda of: of_other_allocation(of, of.malloc(31))),
    ("BAD_POINTER", "bias", lambda of: convolved(of, (8, 3, 3, 8), (1, 2, 2, 8), bias=of.malloc(31))),
    ("BAD_POINTER", "overlap", overlapping),
    ("NO_MEMORY", "no room", lambda of: of.call("malloc", of.memory, U32(WINDOW + 1), ctypes.byref(U32()))),
    (
        "NOT_SUPPORTED",
        "channels",
        lambda of: operator(
            of, "softmax", 1.0, of.tensor((1, 1, 1, 4096), SCALE), of.tensor((1, 1, 1, 4096), 1 / 256, -128)
        ),
    ),
    ("CLOSED", "closed", closed),
]


@pytest.mark.parametrize("number", range(len(REJECTED)), ids=[f"{status} {about}" for status, about, _ in REJECTED])
def test_rejected(number: int, handle: OnModel) -> None:
    """The message says the argument, what was given and what has to be, whatever was said before, and is gone after
    a call that succeeds."""
    status, about, act = REJECTED[number]
    assert Relu(handle, np.random.default_rng(1)).give() == "OK" and handle.message == ""
    assert act(handle) == status
    assert handle.message == SAID.get(about, "")
    if status != "CLOSED":
        assert handle.synchronize() == "OK" and handle.message == ""


def test_handles_that_cannot_be(library: ctypes.CDLL) -> None:
    config = Modelled(3 << 16, WINDOW)
    config.registers[Register.IDENTITY] = IDENTITY ^ 1
    assert Handle(library, config.platform, None).opened == "NO_ACCELERATOR"
    config.platform.window_bytes = 1
    assert Handle(library, config.platform, None).opened == "BAD_PLATFORM"
    assert library.eyrie_create(None, None, None) == RESULTS.index("BAD_ARGUMENT")


def test_statuses_of_both_halves() -> None:
    """Those of Python are results in C."""
    assert {status.name for status in Status} < set(RESULTS)
