# SPDX-License-Identifier: Apache-2.0
"""TRANSPOSE_CONV as the accelerator runs it: a convolution for each phase of the output."""

import numpy as np

from eyrie.compiler.frontend import tflite
from eyrie.compiler.passes.expand import expand
from eyrie.model.operators.reference import Reference
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
    assert {4, 5} <= lengths  # with phases, with and without a slice
