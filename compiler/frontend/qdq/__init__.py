# SPDX-License-Identifier: Apache-2.0
"""Networks whose operators are float, between DEQUANTIZE and QUANTIZE, become Graphs of int8 operators.

ONNX, PyTorch and TVM write quantised networks so. A front end translates its operators, one by one, into those of
`network`, axes as the framework has them (channels first); `graph_of` makes the Graph:

    network   what a front end gives: operators, their attributes, constants
    values    what is known of a value while the network is gone through
    shapes    the shapes that operators make
    fold      the Graph as it is made: what rules use
    weighted, elementwise, functions, pooling, moves, host
              rules: which int8 operators a float one becomes, by family
    walk      goes through the operators; at each QUANTIZE the int8 operators are made

Channels go last where an operator of Eyrie wants them there: a tensor keeps the order of axes in which it was made, and
is transposed only where somebody needs another. Its name then ends in "#" and its axes, "#0231" for channels last.
"""

from eyrie.compiler.frontend.qdq.network import Attribute, Network, Operation
from eyrie.compiler.frontend.qdq.walk import graph_of

__all__ = ["Attribute", "Network", "Operation", "graph_of"]
