# SPDX-License-Identifier: Apache-2.0
"""Every rejection of the operator library has its status, and one line that names the fault."""

import inspect
from collections.abc import Callable

import numpy as np
import pytest

from eyrie.operators import (
    ActivationDescriptor,
    ConvolutionDescriptor,
    FilterDescriptor,
    Handle,
    LstmDescriptor,
    NormalizationDescriptor,
    OperatorError,
    PoolingDescriptor,
    Status,
    TensorDescriptor,
)
from eyrie.operators.graphs import softmax
from tests.runtime.test_operators import room


def test_descriptors() -> None:
    descriptor = TensorDescriptor()
    with pytest.raises(OperatorError, match="^TensorDescriptor is not set$"):
        descriptor.get()
    descriptor.set(1, 3, 5, 9, 0.5)
    setting = descriptor.get()
    assert (setting.shape, setting.zero_point, setting.bytes) == ((1, 3, 5, 9), 0, 3 * 2 * 6 * 8)
    descriptor.destroy()
    for act in (descriptor.get, lambda: descriptor.set(1, 1, 1, 1, 1.0)):
        with pytest.raises(OperatorError) as rejection:
            act()
        assert rejection.value.status == Status.BAD_DESCRIPTOR


def test_descriptors_say_what_they_take() -> None:
    for kind, first in {
        TensorDescriptor: "n",
        FilterDescriptor: "m",
        ConvolutionDescriptor: "stride",
        PoolingDescriptor: "kind",
        ActivationDescriptor: "function",
        NormalizationDescriptor: "radius",
        LstmDescriptor: "scale",
    }.items():
        for function in (kind, kind.set):
            names = [name for name in inspect.signature(function).parameters if name != "self"]
            assert names[0] == first and "values" not in names, function
        assert kind.__doc__ and kind.set.__doc__
    as_lists = ConvolutionDescriptor([2, 1], np.array([1, 1]), [0, 1, 0, 1])
    assert as_lists.get() == ConvolutionDescriptor((2, 1), (1, 1), (0, 1, 0, 1)).get()
    assert TensorDescriptor(np.int64(1), 2, np.uint8(3), 4, 0.5).get() == TensorDescriptor(1, 2, 3, 4, 0.5).get()
    assert FilterDescriptor(2, 1, 1, 1, [0.5, 0.25]).get() == FilterDescriptor(2, 1, 1, 1, (0.5, 0.25)).get()


TENSOR = (TensorDescriptor(1, 2, 2, 8, 1.0), 0)
POOLING = PoolingDescriptor("max", (2, 2), (2, 2))
MISTAKEN: list[tuple[str, Callable[[Handle], object]]] = [
    ("pooling is of type tuple, must be a PoolingDescriptor", lambda of: of.pooling(TENSOR, POOLING, TENSOR)),
    ("activation is of type PoolingDescriptor, must be a Act", lambda of: of.activation(POOLING, TENSOR, TENSOR)),
    ("input 0 is of type TensorDescriptor, must be a Tens", lambda of: of.pooling(POOLING, TENSOR[0], TENSOR)),
    (
        "output is of type NoneType, must be a TensorDescriptor and an",
        lambda of: of.arithmetic("ADD", TENSOR, TENSOR, None),
    ),
    ("filters is of type tuple, must be a", lambda of: of.fully_connected(TENSOR, (1, 2, 3), None, TENSOR)),
    ("filters is of type TensorDescriptor, must be a", lambda of: of.fully_connected(TENSOR, TENSOR, None, TENSOR)),
    ("convolution is of type tuple, must be a", lambda of: of.convolution(TENSOR, TENSOR, TENSOR, None, TENSOR)),
    ("descriptor is of type int, must be a Tensor", lambda of: of.copy_from(TENSOR[0], 0)),
    ("descriptor is of type Pooling", lambda of: of.copy_to(0, [1], POOLING)),
    ("TensorDescriptor: scale = x: must be a number", lambda of: TensorDescriptor(1, 1, 1, 1, "x")),
    ("TensorDescriptor: missing 3 required", lambda of: TensorDescriptor(1, 1)),
    ("FilterDescriptor: scales = 0.5: must be a tuple of one", lambda of: FilterDescriptor(1, 1, 1, 1, 0.5)),
    ("NormalizationDescriptor: alpha = 0: must be positive", lambda of: NormalizationDescriptor(1, 0, 1, 1)),
    ("NormalizationDescriptor: k is too large for float32", lambda of: NormalizationDescriptor(1, 1, 1, 10**400)),
    ("NormalizationDescriptor: radius = 0: must be an", lambda of: NormalizationDescriptor(0, 1, 1, 1)),
    ("LstmDescriptor: zero_point = 0.5: must be an integer", lambda of: LstmDescriptor(0.1, 0.5)),
    ("LstmDescriptor: a scale is positive and finite, got 0", lambda of: LstmDescriptor(0)),
    ("beta = '1': must be a number", lambda of: softmax("1")),
    ("ActivationDescriptor: function = ['RELU']: must be a", lambda of: ActivationDescriptor(["RELU"])),
]


@pytest.mark.parametrize("number", range(len(MISTAKEN)))
def test_mistaken_arguments(number: int) -> None:
    """Before there is any configuration."""
    said, act = MISTAKEN[number]
    with pytest.raises(OperatorError) as rejection:
        act(object.__new__(Handle))
    assert str(rejection.value).startswith(said) and "\n" not in str(rejection.value), rejection.value
    assert rejection.value.status == Status.BAD_ARGUMENT


def spread(handle: Handle, setting: ConvolutionDescriptor) -> None:
    filters = FilterDescriptor(8, 1, 1, 8, (0.005,))
    source, made = room(handle, (1, 2, 2, 8)), room(handle, (1, 3, 3, 8))
    handle.transposed_convolution(setting, source, (filters, handle.malloc(64)), None, made)


def stepped(handle: Handle, setting: LstmDescriptor, units: int = 8, apart: bool = True, taps: int = 1) -> None:
    """A step of an LSTM with 5 values and 8 units. units, taps: of the filters; apart: the next states are two
    tensors"""
    descriptor = FilterDescriptor(4 * units, taps, 1, (5 + units) // taps, (0.005,))
    filters = descriptor, handle.malloc(descriptor.get().bytes)
    source, *states = [room(handle, (1, 1, 1, count)) for count in (5, 8, 8, 8, 8)]
    made = states[2:] if apart else states[2:3] * 2
    handle.lstm_cell(setting, source, *states[:2], filters, None, *made)


REJECTED: list[tuple[Status, str, Callable[[Handle], object]]] = [
    (Status.BAD_ARGUMENT, "0 bytes: must be", lambda of: of.malloc(0)),
    (Status.BAD_ARGUMENT, "TensorDescriptor: h = 0: must be", lambda of: TensorDescriptor(1, 0, 1, 1, 1.0)),
    (Status.BAD_ARGUMENT, "TensorDescriptor: an int8 zero point is", lambda of: TensorDescriptor(1, 1, 1, 1, 1.0, 200)),
    (Status.BAD_ARGUMENT, "2 scales for 3 filters: give one", lambda of: FilterDescriptor(3, 1, 1, 1, (1.0,) * 2)),
    (Status.BAD_ARGUMENT, "PoolingDescriptor: a pooling is", lambda of: PoolingDescriptor("least", (2, 2), (2, 2))),
    (
        Status.BAD_ARGUMENT,
        "unknown activation 'SINE'",
        lambda of: of.activation(ActivationDescriptor("SINE"), room(of, (1, 2, 2, 8)), room(of, (1, 2, 2, 8))),
    ),
    (
        Status.BAD_ARGUMENT,
        "values are int8 1 x 2 x 2 x 7, the descriptor says",
        lambda of: of.copy_to(0, np.zeros((1, 2, 2, 7), np.int8), TensorDescriptor(1, 2, 2, 8, 1.0)),
    ),
    (Status.BAD_ARGUMENT, "ConvolutionDescriptor: stride = 2: must be", lambda of: ConvolutionDescriptor(2)),
    (
        Status.BAD_ARGUMENT,
        "ConvolutionDescriptor: pads = (0, 0, -1, 0): must be",
        lambda of: ConvolutionDescriptor((1, 1), pads=(0, 0, -1, 0)),
    ),
    (
        Status.BAD_ARGUMENT,
        "values are 3 int64 numbers, a bias is int32 numbers",
        lambda of: of.copy_to(0, np.zeros(3, np.int64)),
    ),
    (Status.BAD_ARGUMENT, "memory_bytes = 8589934592: must be", lambda of: Handle(memory_bytes=1 << 33)),
    (
        Status.BAD_DESCRIPTOR,
        "activation 'SINE' is not one of",
        lambda of: of.arithmetic("ADD", *(room(of, (1, 2, 2, 8)) for _ in range(3)), "SINE"),
    ),
    (
        Status.BAD_ARGUMENT,
        "unknown arithmetic 'POW': choose from ADD, ",
        lambda of: of.arithmetic("POW", *(room(of, (1, 2, 2, 8)) for _ in range(3))),
    ),
    (
        Status.BAD_ARGUMENT,
        "kind = None: must be a name",
        lambda of: of.arithmetic(None, *(room(of, (1, 2, 2, 8)) for _ in range(3))),
    ),
    (
        Status.BAD_ARGUMENT,
        "activation = RELU: MAXIMUM is not fused with one",
        lambda of: of.arithmetic("MAXIMUM", *(room(of, (1, 2, 2, 8)) for _ in range(3)), "RELU"),
    ),
    (
        Status.BAD_DESCRIPTOR,
        "if a convolution is transposed, its dilation is (1, 1)",
        lambda of: spread(of, ConvolutionDescriptor((2, 2), (2, 2))),
    ),
    (
        Status.BAD_DESCRIPTOR,
        "pads = (9, 9, 0, 0) are larger than filters of 1 x 1",
        lambda of: spread(of, ConvolutionDescriptor((2, 2), pads=(9, 9, 0, 0))),
    ),
    (Status.BAD_POINTER, "free: 0x7 is no allocation", lambda of: of.free(7)),
    (Status.BAD_ARGUMENT, "free: 'a' is no offset", lambda of: of.free("a")),
    (
        Status.BAD_POINTER,
        "output: 384 bytes are needed, 8 are allocated",
        lambda of: of.activation(
            ActivationDescriptor("RELU"), room(of, (1, 6, 8, 8)), (TensorDescriptor(1, 6, 8, 8, 1.0), of.malloc(8))
        ),
    ),
    (
        Status.BAD_POINTER,
        "the output overlaps input 0",
        lambda of: of.activation(ActivationDescriptor("RELU"), *[room(of, (1, 2, 2, 8))] * 2),
    ),
    (
        Status.BAD_DESCRIPTOR,
        "operator #0 MAX_POOL_2D: makes int8 1 x 1 x 1 x 8, its output is",
        lambda of: of.pooling(PoolingDescriptor("max", (2, 2), (2, 2)), room(of, (1, 2, 2, 8)), room(of, (1, 2, 2, 8))),
    ),
    (
        Status.BAD_DESCRIPTOR,
        "filters of 4 channels in 1 groups do not go with",
        lambda of: of.convolution(
            ConvolutionDescriptor((1, 1)),
            room(of, (1, 2, 2, 8)),
            (FilterDescriptor(8, 1, 1, 4, (1.0,)), of.malloc(32)),
            None,
            room(of, (1, 2, 2, 8)),
        ),
    ),
    (
        Status.BAD_DESCRIPTOR,
        "input 0 has 2 maps, the output 1",
        lambda of: of.activation(ActivationDescriptor("RELU"), room(of, (2, 2, 2, 8)), room(of, (1, 2, 2, 8))),
    ),
    (
        Status.BAD_DESCRIPTOR,
        "operator #0 LSTM_CELL: x, h and c of 1 x 1 x 1 x 5, 1 x 1 x 1 x 8, 1 x 1 x 1 x 8 need filters of 32 x 13, not",
        lambda of: stepped(of, LstmDescriptor(0.1), units=9),
    ),
    (
        Status.BAD_DESCRIPTOR,
        "operator #0 LSTM_CELL: LOGISTIC: its input has scale 8, its fixed point takes less than 8",
        lambda of: stepped(of, LstmDescriptor(8)),
    ),
    (Status.BAD_POINTER, "the output 1 overlaps output 0", lambda of: stepped(of, LstmDescriptor(0.1), apart=False)),
    (Status.BAD_DESCRIPTOR, "the filters have 13 x 1 taps", lambda of: stepped(of, LstmDescriptor(0.1), taps=13)),
    (Status.NO_MEMORY, "bytes do not fit into the", lambda of: of.malloc(1 << 30)),
    (
        Status.NOT_SUPPORTED,
        "",
        lambda of: (
            of.fully_connected(
                room(of, (1, 1, 1, 200_000)),
                (FilterDescriptor(1, 1, 1, 200_000, (1.0,)), of.malloc(200_000)),
                None,
                room(of, (1, 1, 1, 1)),
            ),
            of.synchronize(),
        ),
    ),
]


@pytest.mark.parametrize("number", range(len(REJECTED)))
def test_rejected(number: int, handle: Handle) -> None:
    status, said, act = REJECTED[number]
    with pytest.raises(OperatorError) as rejection:
        act(handle)
    assert rejection.value.status == status and said in str(rejection.value) and "\n" not in str(rejection.value)


def test_a_destroyed_handle() -> None:
    handle = Handle()
    handle.destroy()
    handle.destroy()
    for act in (lambda: handle.malloc(8), handle.synchronize, handle.create_stream, lambda: handle.free(0)):
        with pytest.raises(OperatorError, match="^the handle is destroyed: create another one$") as rejection:
            act()
        assert rejection.value.status == Status.CLOSED
