# SPDX-License-Identifier: Apache-2.0
"""Quantised PyTorch models (PT2E): regions of an FX graph become Graphs of int8 operators.

call       one node, with the access methods of translators
operators  translators of ATen operators, from the records of operators
read       nodes -> Network
regions    the choice of nodes: units that the accelerator supports, combined
"""
