# SPDX-License-Identifier: Apache-2.0
"""Networks whose operators are float, between DEQUANTIZE and QUANTIZE, become Graphs of int8 operators.

ONNX, PyTorch and TVM write quantised networks so. A front end translates its operators, one by one, into those of
`network`, axes as the framework has them (channels first); `graph_of` makes the Graph:

    network   what a front end gives: operators, their attributes, constants
    values    what is known of a value while the network is gone through
    shapes    the shapes that operators make
    fold      goes through the operators; at each QUANTIZE the int8 operators are made
    weighted, elementwise, functions, pooling, moves, host
              which int8 operators a float one becomes, by family

Channels go last where an operator of Eyrie wants them there: a tensor keeps the order of axes in which it was made, and
is transposed only where somebody needs another. Its name then ends in "#" and its axes, "#0231" for channels last.
"""

from eyrie.compiler.frontend.qdq.fold import graph_of
from eyrie.compiler.frontend.qdq.network import Network, Operation

__all__ = ["Network", "Operation", "graph_of"]
