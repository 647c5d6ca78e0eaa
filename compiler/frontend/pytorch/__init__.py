# SPDX-License-Identifier: Apache-2.0
"""Quantised models of PyTorch (PT2E): regions of an FX graph become Graphs of int8 operators.

call       one node: what a translation of operators asks for
operators, moves    which operator of compiler/frontend/qdq an operator of ATen is
read       nodes -> Network
regions    which nodes: units that the accelerator runs, put together
"""
