# SPDX-License-Identifier: Apache-2.0
"""Networks of float operators between DEQUANTIZE and QUANTIZE become Graphs of int8 operators.

ONNX, PyTorch and TVM write quantised networks in this form. A front end translates its operators one by one to the
operators of `network`. Axes are in the framework's order (channels first). `graph_of` makes the Graph:

    network   the result of a front end: operators, their attributes, constants
    values    the representation of values during the walk
    shapes    shape inference
    fold      the Graph in progress, for rules
    weighted, elementwise, functions, pooling, moves, host
              rules from float to int8 operators, by family
    walk      visits the operators; at each QUANTIZE, it makes the int8 operators

Operators of Eyrie may need channels last. A tensor keeps the order of axes in which it was made, and is transposed only
if a reader needs another order. The transposed tensor's name ends in "#" and its axes, for example "#0231" for channels
last.
"""

from eyrie.compiler.frontend.qdq.network import Attribute, Network, Operation
from eyrie.compiler.frontend.qdq.walk import graph_of

__all__ = ["Attribute", "Network", "Operation", "graph_of"]
