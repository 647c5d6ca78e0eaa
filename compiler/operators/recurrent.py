# SPDX-License-Identifier: Apache-2.0
"""Operators that keep a state, which is their last input and output: SVDF and tflite-micro's spectral subtraction."""

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

from eyrie.compiler.ir.failure import Unsupported
from eyrie.compiler.ir.graph import Node
from eyrie.compiler.ir.operator import Arrays, Tensors, expect, only, quantizations, quantized
from eyrie.compiler.ir.tensor import Form, Tensor
from eyrie.compiler.kernel_calls.steps import Calls
from eyrie.compiler.operators.record import HOST, Imported, Record, Row, not_in_c
from eyrie.model.errors import InputError
from eyrie.model.messages import times as by
from eyrie.model.operators import recurrent

if TYPE_CHECKING:
    from eyrie.compiler.frontend.tflite.reader import Call


class Recurrent(Record):
    """An operator with one tensor as its state."""

    row = Row("recurrent", HOST)

    @property
    def state(self) -> int:
        return 1

    def to_c(self, node: Node, calls: Calls) -> None:
        not_in_c(node, "keeps a state and is not written as C", "end the model before it")


@dataclass(frozen=True, kw_only=True)
class Svdf(Recurrent):
    """SVDF with RELU and a state of int8. Its inputs are a value, the constants features and times, and the state.

    bias: int32; rank: neighbouring features that are added
    """

    name = "SVDF"

    bias: np.ndarray
    rank: int

    @classmethod
    def read(cls, call: "Call") -> Imported:
        if call.unsigned or call.fused() != "RELU":
            raise Unsupported(f"it is of {'uint8' if call.unsigned else 'int8'} with activation {call.fused()}")
        call.quantized_output()
        inputs = tuple(call.quantized(number) for number in (0, 1, 2, 4))
        bias = call.constant(3) if call.has(3) else np.zeros(1, np.int32)
        return inputs, cls(bias=bias, rank=call.option("rank"))

    def infer(self, inputs: Tensors) -> tuple[Form, ...]:
        source, features, times, state = (expect(tensor, "int8", 2) for tensor in only(inputs, 4))
        count, channels = source.shape
        filters, memory = times.shape
        if self.rank < 1 or filters % self.rank or features.shape != (filters, channels):
            raise InputError(f"features of {by(features.shape)}, times of {by(times.shape)}, rank {self.rank}")
        if state.shape != (count, filters * memory) or self.bias.size not in (1, filters // self.rank):
            raise InputError(f"a state of {by(state.shape)} and {self.bias.size} sums for times of {by(times.shape)}")
        return Form("int8", (count, filters // self.rank)), state.form

    def run(self, values: Arrays, inputs: Tensors, outputs: Tensors) -> Arrays:
        value, features, times, state = values
        scales = recurrent.svdf_scales(*quantizations(*inputs, outputs[0]))
        zero_points = quantized(inputs[0]).zero_point, quantized(inputs[3]).zero_point
        return recurrent.svdf(value, state, features, times, self.bias, self.rank, scales, zero_points)

    def macs(self, inputs: Tensors, outputs: Tensors) -> int:
        return inputs[0].shape[0] * (inputs[1].size + inputs[2].size)

    def elements(self, inputs: Tensors, outputs: Tensors) -> int:
        return self.macs(inputs, outputs)


@dataclass(frozen=True, kw_only=True)
class SubtractSpectrum(Recurrent):
    """SignalFilterBankSpectralSubtraction, of uint32. The last output is the noise estimate, which is its state."""

    name = "SignalFilterBankSpectralSubtraction"
    state_is_shown = True

    settings: recurrent.SpectralSubtraction

    @classmethod
    def read(cls, call: "Call") -> Imported:
        names, options = recurrent.SpectralSubtraction.__dataclass_fields__, call.custom_settings
        settings = recurrent.SpectralSubtraction(**{name: int(options[name]) for name in names})
        source = call.tensor(0)
        return (source, Tensor(name=f"{source.name}#noise", shape=source.shape, dtype="uint32")), cls(settings=settings)

    def infer(self, inputs: Tensors) -> tuple[Form, ...]:
        source, _ = only(inputs, 2)
        return (expect(source, "uint32", 1).form,) * 2

    def run(self, values: Arrays, inputs: Tensors, outputs: Tensors) -> Arrays:
        signal, estimate = values
        return recurrent.subtract_spectrum(signal, estimate, self.settings)

    def __str__(self) -> str:
        return "  ".join(f"{name} {value}" for name, value in asdict(self.settings).items())
