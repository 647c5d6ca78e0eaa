# SPDX-License-Identifier: Apache-2.0
"""Quantised modules of TVM (Relax): parts of a function become Graphs of int8 operators.

steps      a function of Relax as a list of operators
call       one of them: what a translation of operators asks for
operators, moves    which operator of compiler/frontend/qdq an operator of Relax is
read       steps -> Graph
units      which steps: a QUANTIZE and what is before it; the pattern that finds it
"""
