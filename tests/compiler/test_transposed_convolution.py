# SPDX-License-Identifier: Apache-2.0
"""TRANSPOSE_CONV as the accelerator runs it: a convolution for each phase of the output."""

import numpy as np

from eyrie.compiler.frontend import tflite
from eyrie.compiler.ir.graph import Graph, Node
from eyrie.compiler.ir.tensor import Quantized
from eyrie.compiler.operators.transposed_convolution import TransposeConv
from eyrie.compiler.parts import compile_graph
from eyrie.compiler.passes.expand import expand
from eyrie.compiler.results import Imported
from eyrie.model.operators.quantization import Quantization
from eyrie.model.operators.reference import Reference
from eyrie.runtime.back_ends.functional import Functional
from eyrie.runtime.back_ends.golden import golden_outputs
from eyrie.testing.samples import scaled
from tb.common.random_operators import OPERATORS

DRAWN = scaled(200, least=40)


def test_phases_are_the_whole(seed: int) -> None:
    """Draw any kernel, stride, padding and size of the output."""
    lengths = set()
    for number in range(DRAWN):
        drawn = OPERATORS["TRANSPOSE_CONV"](np.random.default_rng([seed, number]))
        graph = expand(tflite.from_bytes(drawn.model)).verified()
        [output] = graph.outputs
        [expected] = drawn.golden(Reference.MICRO)
        np.testing.assert_array_equal(graph.run(*drawn.inputs)[output.name], expected, drawn.text)
        lengths.add(len(graph.nodes))
    assert {5, 6} <= lengths  # with phases, and a slice or two


def test_few_outputs(seed: int) -> None:
    """The accelerator runs it with any number of outputs."""
    rng = np.random.default_rng(seed)
    for outputs in (1, 3, int(rng.integers(4, 13))):
        taps, steps, channels = int(rng.integers(2, 5)), int(rng.integers(2, 4)), int(rng.integers(1, 20))
        operator = TransposeConv(
            filters=rng.integers(-127, 128, (outputs, taps, taps, channels)).astype(np.int8),
            scales=np.full(outputs, 0.004),
            bias=rng.integers(-1000, 1000, outputs).astype(np.int32),
            activation="NONE",
            stride=(steps, steps),
            to=(6 * steps, 7 * steps),
            pads=(max(taps - steps, 0) // 2,) * 2,
        )
        x, y = (
            Quantized(name=name, shape=shape, dtype="int8", quantization=Quantization(scale, 3))
            for name, shape, scale in (("x", (1, 6, 7, channels), 0.1), ("y", (1, *operator.to, outputs), 0.3))
        )
        graph = Graph((x,), (Node(operator, "#0", (x,), (y,)),), (y,)).verified()
        compiled = compile_graph(Imported("net", search_iterations=4, graph=graph))
        assert not compiled.partition.host_nodes, compiled.partition
        values = [rng.integers(-128, 128, (1, *x.shape)).astype(np.int8)]
        np.testing.assert_array_equal(Functional().run(compiled.network, values).outputs, golden_outputs(graph, values))
