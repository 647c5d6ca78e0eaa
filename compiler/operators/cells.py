# SPDX-License-Identifier: Apache-2.0
"""Cells of recurrent networks."""

from dataclasses import dataclass

import numpy as np

from eyrie.compiler.ir.graph import Node
from eyrie.compiler.ir.operator import Tensors, expect, int8, only, quantizations, quantized
from eyrie.compiler.ir.tensor import Form, Quantized, Tensor
from eyrie.compiler.operators.chains import Chain, Nodes, covering, ends_of
from eyrie.compiler.operators.elementwise import Add, Mul
from eyrie.compiler.operators.fully_connected import FullyConnected
from eyrie.compiler.operators.functions import Logistic, Tanh
from eyrie.compiler.operators.joins import Concatenation
from eyrie.compiler.operators.quantization import Requantize
from eyrie.compiler.operators.record import ARRAY, Row
from eyrie.model.errors import InputError
from eyrie.model.messages import times
from eyrie.model.operators.quantization import Quantization
from eyrie.model.operators.tables import LOGISTIC_OUTPUT, TANH_OUTPUT

GATES = 4


@dataclass(frozen=True, kw_only=True, eq=False)
class LstmCell(Chain):
    """A step of an LSTM (Gers et al., 2000), at each pixel. The inputs are x, h and c, the outputs h' and c'.

        i, f, o = LOGISTIC(sums)    g = TANH(sums)    c' = f * c + i * g    h' = o * TANH(c')

    FULLY_CONNECTED makes the sums of a gate from the CONCATENATION of x and h. Its scale covers the values of both;
    QUANTIZE rescales an input that has another scale. f * c has the scale of c, i * g the one of TANH.

    filters  int8 [4H, X + H]: H filters for each of the gates i, f, g and o; x before h
    scales   of the filters, [4H]
    bias     int32 [4H], in the scale of the CONCATENATION times the filter's
    sums     scale and zero point of the sums of all gates
    """

    row = Row("LSTM cell", ARRAY)
    library = "eyrie_lstm_cell"
    name = "LSTM_CELL"

    filters: np.ndarray
    scales: np.ndarray
    bias: np.ndarray
    sums: Quantization

    def infer(self, inputs: Tensors) -> tuple[Form, ...]:
        x, hidden, cell = (expect(tensor, "int8", rank=4) for tensor in only(inputs, 3))
        if hidden.shape != cell.shape or x.shape[:3] != hidden.shape[:3]:
            raise InputError(f"x, h and c of {', '.join(times(each.shape) for each in inputs)} do not go together")
        units = hidden.shape[3]
        wanted = GATES * units, x.shape[3] + units
        if self.filters.shape != wanted:
            shapes = ", ".join(times(each.shape) for each in inputs)
            raise InputError(f"x, h and c of {shapes} need filters of {times(wanted)}, not {times(self.filters.shape)}")
        return int8(hidden.shape) + int8(cell.shape)

    def macs(self, inputs: Tensors, outputs: Tensors) -> int:
        return outputs[0].size // outputs[0].shape[3] * self.filters.size

    def expanded(self, node: Node) -> tuple[Node, ...]:
        """Return the operators."""
        (x, hidden, cell), (next_hidden, next_cell), nodes = node.inputs, node.outputs, Nodes(node)
        ends = [end for scale in quantizations(x, hidden) for end in ends_of(scale)]
        scale = covering(min(ends), max(ends))
        parts = [
            nodes.add(Requantize(), part, scale, tensor) if quantized(tensor).quantization != scale else tensor
            for part, tensor in (("x", x), ("h", hidden))
        ]
        shape = *x.shape[:3], self.filters.shape[1]
        joined = nodes.add(Concatenation(axis=3), "joined", scale, *parts, shape=shape)
        i, f, g, o = (self._gate(nodes, number, joined, hidden.shape) for number in range(GATES))
        kept = nodes.add(Mul(), "kept", quantized(cell).quantization, f, cell)
        added = nodes.add(Mul(), "added", TANH_OUTPUT, i, g)
        nodes.end(Add(), next_cell, kept, added)
        nodes.end(Mul(), next_hidden, o, nodes.add(Tanh(), "shown", TANH_OUTPUT, next_cell))
        return nodes.all()

    def _gate(self, nodes: Nodes, number: int, joined: Tensor, shape: tuple[int, ...]) -> Quantized:
        """Add the layer and the function of a gate."""
        part, own = "ifgo"[number], slice(number * shape[3], (number + 1) * shape[3])
        layer = FullyConnected(filters=self.filters[own], scales=self.scales[own], bias=self.bias[own], keep_axes=True)
        sums = nodes.add(layer, f"{part} sums", self.sums, joined, shape=shape)
        function, scale = (Tanh(), TANH_OUTPUT) if part == "g" else (Logistic(), LOGISTIC_OUTPUT)
        return nodes.add(function, part, scale, sums)
