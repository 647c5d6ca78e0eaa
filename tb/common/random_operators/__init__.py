# SPDX-License-Identifier: Apache-2.0
"""Random graphs of one operator each, as .tflite models with inputs and what they have to give."""

from tb.common.random_operators import convolution, elementwise, host, movement, pooling, tables
from tb.common.random_operators.drawing import Drawn

OPERATORS = {
    **convolution.OPERATORS,
    **elementwise.OPERATORS,
    **pooling.OPERATORS,
    **tables.OPERATORS,
    **movement.OPERATORS,
    **host.OPERATORS,
}


def draw(name, rng) -> Drawn:
    """A graph of the operator `name`, a key of OPERATORS."""
    return OPERATORS[name](rng)
