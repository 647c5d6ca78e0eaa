# SPDX-License-Identifier: Apache-2.0
"""Networks of float operators between DEQUANTIZE and QUANTIZE become Graphs of int8 operators.

ONNX, PyTorch and TVM write quantised networks in this form. A front end translates its operators one by one to the
operators of ir/qdq/network.py. Axes are in the framework's order (channels first). `graph_of` makes the Graph:

    nodes      the nodes of the Graph in progress
    functions  functions of one tensor as tables
    constants  data movement of constants
    walk       visits the operators; at each QUANTIZE, it makes the int8 operators, by their records

Operators of Eyrie may need channels last. A tensor keeps the order of axes in which it was made, and is transposed only
if a reader needs another order. The transposed tensor's name ends in "#" and its axes, for example "#0231" for channels
last.
"""

from eyrie.compiler.frontend.qdq.walk import graph_of

__all__ = ["graph_of"]
