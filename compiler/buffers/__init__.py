# SPDX-License-Identifier: Apache-2.0
"""Networks on configurations that are described by their buffers (docs/howto/buffers.md).

array        the description of the array, from its parameters
description  descriptions as text
nests        operators as loops over rows, columns, filters and channels
partition    the greedy choice of tiles
program      loads, stores and operations
execution    a program on buffers of the described sizes
timing       bytes and cycles of a program
network      all operators of a network
"""
