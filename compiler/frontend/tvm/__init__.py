# SPDX-License-Identifier: Apache-2.0
"""Quantised TVM modules (Relax): subgraphs of a function become Graphs of int8 operators.

steps      a function of Relax as a list of operators
call       one operator, with the access methods of translators
read       steps -> Graph, with the translators of the records of operators
units      the choice of steps: a QUANTIZE with the operators before it; the pattern that finds it
"""
