# SPDX-License-Identifier: Apache-2.0
"""Products with a constant per channel, and changes of scale, as depthwise convolutions of one tap.

The array computes a word in a cycle, a vector pass a word in two cycles. An elementwise operation can also be fused as
epilogue.
"""

from collections.abc import Mapping

import numpy as np

from eyrie.compiler.ir.graph import Node
from eyrie.compiler.ir.layer import Grouped, Output, Table, array_offset
from eyrie.compiler.ir.maps import Map
from eyrie.compiler.ir.operator import quantizations, quantized
from eyrie.compiler.ir.tensor import Constant
from eyrie.compiler.ir.window import Window
from eyrie.compiler.operators.elementwise import Mul
from eyrie.compiler.operators.quantization import Requantize
from eyrie.model.config import GLB_WORD_BYTES
from eyrie.model.encoding import PARAMETER_WORDS
from eyrie.model.operators.elementwise import mul_requantization
from eyrie.model.operators.quantization import INT8_MAX, INT8_MIN, Requantization, rescaling

# Words of a channel group's filters and table, which come through the DRAM port: fewer pixels save fewer cycles.
LEAST_PIXELS = GLB_WORD_BYTES + PARAMETER_WORDS
MOST_SHIFTED = 8  # bits to the left: 32 bits hold any product of 17 so


def factors_group(node: Node, maps: Mapping[str, Map]) -> Grouped | None:
    """Return the fused operator of a MUL or a QUANTIZE. Return None if it is not an int8 factor per channel, or if
    loading the filters costs more than it saves."""
    source, output = maps[node.activations[0].name], maps[node.outputs[0].name]
    rows, cols, channels = output.shape
    if source.shape != output.shape or channels == 1 or rows * cols < LEAST_PIXELS:
        return None
    factors, scaling = _factors(node, channels), _scaling(node)
    if factors is None or not INT8_MIN <= factors.min() <= factors.max() <= INT8_MAX or scaling.shift > MOST_SHIFTED:
        return None
    left = source.zero_point - array_offset(source.zero_point)
    table = Table(
        (-left * factors).astype(np.int32),
        np.full(channels, scaling.multiplier, np.int32),
        np.full(channels, scaling.shift, np.int8),
        Output(int(scaling.zero_point), int(scaling.minimum), int(scaling.maximum)),
    )
    return Grouped(
        name=node.where,
        source=source,
        output=output,
        window=Window(),
        table=table,
        filters=factors.astype(np.int8).reshape(channels, 1, 1),
    )


def _factors(node: Node, channels: int) -> np.ndarray | None:
    """Return the factor of each channel, [C], before the result is rescaled. Return None for other operators."""
    if isinstance(node.operator, Requantize):
        return np.ones(channels, np.int64)
    constants = [tensor for tensor in node.inputs if isinstance(tensor, Constant)]
    if not isinstance(node.operator, Mul) or len(constants) != 1 or constants[0].size != constants[0].shape[-1]:
        return None
    values = constants[0].data.reshape(-1).astype(np.int64) - quantized(constants[0]).zero_point
    return np.broadcast_to(values, channels)


def _scaling(node: Node) -> Requantization:
    if isinstance(node.operator, Mul):
        first, second, output = quantizations(*node.inputs, *node.outputs)
        return mul_requantization(first, second, output, node.operator.activation, node.operator.reference)
    source, output = quantizations(*node.inputs, *node.outputs)
    return rescaling(source.scale / output.scale, output)
