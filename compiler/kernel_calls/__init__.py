# SPDX-License-Identifier: Apache-2.0
"""Calls of the C kernels: what records of operators use to call them.

steps           a network as calls of kernels
scales, tables  numbers for the kernels, computed from the scales of a graph
axes, copies    strides, and copies of arrays

The kernels and their numbers are independent of the golden model, so that each checks the other (docs/howto/c.md).
"""
