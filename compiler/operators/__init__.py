# SPDX-License-Identifier: Apache-2.0
"""Operators, by family: a record of each, from which front ends and back ends are derived.

record        the base classes of records; constraints; rows of the table of operators
registry      all records, by their names
convolution, fully_connected, channels    layers with weights, batch normalisation
elementwise, prelu                        operators on two tensors
functions, clips, float_functions         functions of one value
pooling, mean                             pools and means
quotient, normalization, cells            several int8 operators in one: division, local response normalisation,
                                          LSTM cell
shapes, padding, parts, splits, joins, resize, composed    data movement
quantization, host, recurrent             conversions of types, other operators of the host, those with a state
interpreted, custom                       operators that an interpreter or a function of the user computes

Helpers: foreign (base class of the last two), weights, affine (layers with weights), binary (two operands), lookup
(tables), chains (several operators in one), move, moves (data movement as loops and filters), windows, folding (from
float values to int8 tensors).
"""
