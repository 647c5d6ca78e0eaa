# SPDX-License-Identifier: Apache-2.0
"""Quantised TVM modules (Relax): subgraphs of a function become Graphs of int8 operators.

steps      a function of Relax as a list of operators
call       one operator, with the access methods of translators
operators, moves    translators of Relax operators to the operators of compiler/frontend/qdq
read       steps -> Graph
units      the choice of steps: a QUANTIZE with the operators before it; the pattern that finds it
"""
