# SPDX-License-Identifier: Apache-2.0
"""Networks of float operators between DEQUANTIZE and QUANTIZE, the common form of ONNX, PyTorch and TVM.

network   operators, their attributes, constants
values    the representation of values while the network becomes a Graph
fold      the Graph in progress, as records of operators see it
"""
