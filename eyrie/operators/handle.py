# SPDX-License-Identifier: Apache-2.0
"""An accelerator in use: memory, streams, operators."""

import contextlib
import threading
from collections.abc import Callable
from functools import partial

import numpy as np

from eyrie.compiler.ir.operator import Operator
from eyrie.model.messages import array, times
from eyrie.operators import graphs
from eyrie.operators.descriptors import (
    ActivationDescriptor,
    ConvolutionDescriptor,
    FilterDescriptor,
    FilterSetting,
    LstmDescriptor,
    NormalizationDescriptor,
    PoolingDescriptor,
    TensorDescriptor,
    TensorSetting,
    placed,
    setting_of,
)
from eyrie.operators.launch import Launcher, Place, packed, unpacked
from eyrie.operators.memory import Memory
from eyrie.operators.status import OperatorError, Status
from eyrie.operators.stream import Ran, Stream
from eyrie.runtime.configurations import Configuration, config_of
from eyrie.runtime.soc.driver import Soc
from eyrie.values import as_array

Source = tuple[TensorDescriptor, int]  # with the offset of its allocation
MEMORY_BYTES = 64 << 20
MOST_BYTES = (1 << 32) - 64  # largest window of the DRAM


class Handle:
    """An accelerator on a simulated SoC, until it is destroyed.

    Operators are added to a stream (by default the handle's own) and run while the caller continues. Methods that copy,
    free or synchronise wait for them. Offsets take the place of pointers. Every method raises OperatorError, whose
    status gives the kind of error. If an operator fails while it runs, the next method that waits for its stream raises
    the error.
    """

    def __init__(self, config: Configuration = None, memory_bytes: int = MEMORY_BYTES, seed: int = 1) -> None:
        """Create the handle.

        `memory_bytes` is the size of the DRAM for tensors, filters and programs, `seed` the seed of the start values.
        Raise InputError for sizes that are not legal, and BuildError if the simulated SoC cannot be built.
        """
        if type(memory_bytes) is not int or not 0 < memory_bytes <= MOST_BYTES:
            raise OperatorError(
                Status.BAD_ARGUMENT, f"memory_bytes = {memory_bytes}: must be an integer of 1 to {MOST_BYTES}"
            )
        self._lock = threading.Lock()
        self._soc: Soc | None = Soc(config_of(config), memory_bytes, seed)
        self._memory = Memory(self._soc.window)
        self._launcher = Launcher(self._soc, self._memory)
        self._streams = [Stream()]

    def destroy(self) -> None:
        """Wait for running operators, whether they fail or not, and close the simulated SoC. A second call has no
        effect.
        """
        if self._soc is None:
            return
        for stream in self._streams:
            with contextlib.suppress(OperatorError):
                stream.synchronize()
            stream.close()
        self._soc.close()
        self._soc = None

    def __enter__(self) -> "Handle":
        return self

    def __exit__(self, *_exception: object) -> None:
        self.destroy()

    # ---- Memory ----

    def malloc(self, size: int) -> int:
        """Allocate `size` bytes of DRAM; return the offset. The values are undefined."""
        self._open()
        if type(size) is not int or size < 1:
            raise OperatorError(Status.BAD_ARGUMENT, f"{size} bytes: must be an integer of at least 1")
        with self._lock:
            return self._launcher.room(size)

    def free(self, offset: int) -> None:
        self.synchronize()
        with self._lock:
            self._memory.give(offset)

    def copy_to(
        self, offset: int, values: np.ndarray | list, descriptor: TensorDescriptor | FilterDescriptor | None = None
    ) -> None:
        """Copy int8 values of the descriptor's shape to DRAM, or without a descriptor a bias: int32 [m]."""
        setting = (
            setting_of("descriptor", descriptor, TensorDescriptor, FilterDescriptor) if descriptor is not None else None
        )
        values = np.ascontiguousarray(as_array(values, np.int8 if setting else np.int32))
        self.synchronize()
        if setting and (values.dtype != np.int8 or values.shape != setting.shape):
            raise OperatorError(
                Status.BAD_ARGUMENT, f"values are {array(values)}, the descriptor says int8 {times(setting.shape)}"
            )
        if not setting and (values.dtype != np.int32 or values.ndim != 1):
            raise OperatorError(
                Status.BAD_ARGUMENT,
                f"values are {array(values)}, a bias is int32 numbers: give a descriptor for other values",
            )
        contents = packed(values, setting) if isinstance(setting, TensorSetting) else values
        contents = contents.reshape(-1).view(np.uint8)
        self._memory.check(offset, contents.size, "copy_to")
        self._open().memory[offset:][: contents.size] = contents

    def copy_from(self, offset: int, descriptor: TensorDescriptor | FilterDescriptor) -> np.ndarray:
        """Return int8 values of the descriptor's shape from DRAM."""
        setting = setting_of("descriptor", descriptor, TensorDescriptor, FilterDescriptor)
        self.synchronize()
        self._memory.check(offset, setting.bytes, "copy_from")
        contents = self._open().memory[offset:][: setting.bytes].copy()
        return (
            unpacked(contents, setting)
            if isinstance(setting, TensorSetting)
            else (contents.view(np.int8).reshape(setting.shape))
        )

    # ---- Streams ----

    def create_stream(self) -> Stream:
        self._open()
        self._streams.append(Stream())
        return self._streams[-1]

    def synchronize(self) -> None:
        """Wait for all streams."""
        self._open()
        for stream in self._streams:
            stream.synchronize()

    @property
    def stream(self) -> Stream:
        """Return the handle's own stream."""
        return self._streams[0]

    # ---- Operators ----

    def convolution(
        self,
        convolution: ConvolutionDescriptor,
        source: Source,
        filters: tuple[FilterDescriptor, int],
        bias: int | None,
        output: Source,
        stream: Stream | None = None,
    ) -> None:
        """Add a convolution. `filters` have their offset; `bias` is the offset of int32 [m], None: zeros."""
        self._filtered(_of_window(graphs.convolution, convolution, source), [source], filters, bias, [output], stream)

    def transposed_convolution(
        self,
        convolution: ConvolutionDescriptor,
        source: Source,
        filters: tuple[FilterDescriptor, int],
        bias: int | None,
        output: Source,
        stream: Stream | None = None,
    ) -> None:
        """Add a transposed convolution (deconvolution): stride is the distance of the input's values in the output, and
        pads are removed from the output. Dilation and groups are 1, and the activation is NONE.
        """
        make = _of_window(graphs.transposed_convolution, convolution, source)
        self._filtered(make, [source], filters, bias, [output], stream)

    def fully_connected(
        self,
        source: Source,
        filters: tuple[FilterDescriptor, int],
        bias: int | None,
        output: Source,
        stream: Stream | None = None,
    ) -> None:
        """Add a fully connected layer over all values of each of the n maps."""
        self._filtered(graphs.fully_connected, [source], filters, bias, [output], stream)

    def pooling(self, pooling: PoolingDescriptor, source: Source, output: Source, stream: Stream | None = None) -> None:
        setting = setting_of("pooling", pooling, PoolingDescriptor)
        self._add(lambda: graphs.pooling(setting), [source], [output], stream)

    def unpooling(self, source: Source, output: Source, stream: Stream | None = None) -> None:
        """Add an unpooling: each value fills a window of the output. The output's rows and columns are multiples of the
        input's, and its scale and zero point are the same.
        """
        given, made = (
            placed(name, pair, TensorDescriptor)[0] for name, pair in (("source", source), ("output", output))
        )
        self._add(lambda: graphs.unpooling(given, made), [source], [output], stream)

    def activation(
        self, activation: ActivationDescriptor, source: Source, output: Source, stream: Stream | None = None
    ) -> None:
        setting = setting_of("activation", activation, ActivationDescriptor)
        self._add(lambda: graphs.activation(setting), [source], [output], stream)

    def arithmetic(
        self,
        kind: str,
        first: Source,
        second: Source,
        output: Source,
        activation: str = "NONE",
        stream: Stream | None = None,
    ) -> None:
        """Add an operator of two tensors: ADD, SUB, MUL, MAXIMUM, MINIMUM, SQUARED_DIFFERENCE or DIV.

        Sizes of the operands are those of the output, or 1: MUL of M x 1 x 1 and 1 x 1 x N is the outer product. ADD,
        SUB and MUL may have a fused activation. Tensors of MAXIMUM and MINIMUM have the same scale and zero point.

        DIV is first * f * p. Lookup tables of the second operand have f (-1 to 1) and p, a power of 2 divided by the
        scale of this operand. A divisor of 0 counts as the scale.
        """
        self._add(lambda: graphs.arithmetic(kind, activation), [first, second], [output], stream)

    def concatenation(self, first: Source, second: Source, output: Source, stream: Stream | None = None) -> None:
        """Add a concatenation of channels. The tensors have the same scale and zero point."""
        self._add(graphs.concatenation, [first, second], [output], stream)

    def local_response_normalization(
        self, normalization: NormalizationDescriptor, source: Source, output: Source, stream: Stream | None = None
    ) -> None:
        """Add a local response normalisation: x / (k + alpha * sums) ^ beta, as int8 operators of TensorFlow Lite: MUL,
        CONV_2D, LOG, MUL, EXP and MUL. The scale of each result covers all values that it can have.
        """
        setting = setting_of("normalization", normalization, NormalizationDescriptor)
        self._add(lambda: graphs.local_response_normalization(setting), [source], [output], stream)

    def lstm_cell(
        self,
        lstm: LstmDescriptor,
        source: Source,
        hidden: Source,
        cell: Source,
        filters: tuple[FilterDescriptor, int],
        bias: int | None,
        next_hidden: Source,
        next_cell: Source,
        stream: Stream | None = None,
    ) -> None:
        """Add a step of an LSTM, at each pixel: i, f, o = LOGISTIC(sums), g = TANH(sums), c' = f * c + i * g,
        h' = o * TANH(c'), as int8 operators of TensorFlow Lite. The next states are other tensors than the states.

        The `filters` [4H, 1, 1, X + H] make the sums of i, f, g and o from x and h. These are joined in a scale that
        covers the values of both, and the bias, int32 [4H] or None, has this scale times the filter's. f * c has the
        scale of c.
        """
        setting = setting_of("lstm", lstm, LstmDescriptor)
        sources, outputs = [source, hidden, cell], [next_hidden, next_cell]
        self._filtered(partial(graphs.lstm_cell, setting), sources, filters, bias, outputs, stream)

    def softmax(self, source: Source, output: Source, beta: float = 1.0, stream: Stream | None = None) -> None:
        """Add a softmax over the channels, which the host computes."""
        self._add(lambda: graphs.softmax(beta), [source], [output], stream, host=True)

    def _filtered(
        self,
        make: Callable[[FilterSetting, np.ndarray, np.ndarray], Operator],
        sources: list[Source],
        filters: tuple[FilterDescriptor, int],
        bias: int | None,
        outputs: list[Source],
        stream: Stream | None,
    ) -> None:
        """Add an operator with filters; `make` takes the setting of the filters, their values and the bias."""
        setting, place = placed("filters", filters, FilterDescriptor)
        self._open()
        self._memory.check(place, setting.bytes, "filters")
        if bias is not None:
            self._memory.check(bias, 4 * setting.m, "bias")

        def operator() -> Operator:
            values = self._open().memory[place:][: setting.bytes].view(np.int8).reshape(setting.shape)
            sums = (
                self._open().memory[bias:][: 4 * setting.m].view(np.int32)
                if bias is not None
                else np.zeros(setting.m, np.int32)
            )
            return make(setting, values.copy(), sums.copy())

        self._add(operator, sources, outputs, stream)

    def _add(
        self,
        make: Callable[[], Operator],
        sources: list[Source],
        outputs: list[Source],
        stream: Stream | None,
        host: bool = False,
    ) -> None:
        """Add an operator. `make` is called here, to check the arguments, and again when the operator runs."""
        inputs = [placed(f"input {number}", source, TensorDescriptor) for number, source in enumerate(sources)]
        names = ["output"] if len(outputs) == 1 else [f"output {number}" for number in range(len(outputs))]
        made = [placed(name, output, TensorDescriptor) for name, output in zip(names, outputs)]
        self._open()
        stream = self.stream if stream is None else stream
        if stream not in self._streams:
            raise OperatorError(Status.BAD_ARGUMENT, "the stream is another handle's: create one with this handle")
        others = [(f"input {number}", *given) for number, given in enumerate(inputs)]
        for name, output in zip(names, made):
            self._check(name, output, others)
            others.append((name, *output))
        settings = [tuple(setting for setting, _ in places) for places in (inputs, made)]
        graphs.graph_of(make(), settings[0], *settings[1])

        def work() -> list[Ran]:
            with self._lock:
                graph = graphs.graph_of(make(), settings[0], *settings[1])
                run = self._launcher.on_host if host else self._launcher.run
                return run(graph, inputs, made)

        stream.add(work)

    def _check(self, name: str, output: Place, others: list[tuple[str, TensorSetting, int]]) -> None:
        """Raise OperatorError unless an output is allocated apart from other tensors, and all have as many maps."""
        setting, place = output
        self._memory.check(place, setting.bytes, name)
        for other, given, begin in others:
            self._memory.check(begin, given.bytes, other)
            if given.n != setting.n:
                raise OperatorError(
                    Status.BAD_DESCRIPTOR, f"{other} has {given.n} maps, the {name} {setting.n}: give as many"
                )
            if begin < place + setting.bytes and place < begin + given.bytes:
                raise OperatorError(Status.BAD_POINTER, f"the {name} overlaps {other}: allocate one of its own")

    def _open(self) -> Soc:
        if self._soc is None:
            raise OperatorError(Status.CLOSED, "the handle is destroyed: create another one")
        return self._soc


def _of_window(
    make: Callable[..., Operator], convolution: ConvolutionDescriptor, source: Source
) -> Callable[[FilterSetting, np.ndarray, np.ndarray], Operator]:
    """Return a function that makes a convolution, or a transposed one, of filters, their values and the bias."""
    setting = setting_of("convolution", convolution, ConvolutionDescriptor)
    given, _ = placed("source", source, TensorDescriptor)
    return lambda filters, values, bias: make(setting, given, filters, values, bias)
