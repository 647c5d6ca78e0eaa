# SPDX-License-Identifier: Apache-2.0
"""All operators of TensorFlow Lite that are known, by family: name -> function of a Call that gives the tensors it
takes and the Operator."""

from eyrie.compiler.frontend.tflite import convolution, elementwise, host, movement, pooling, tables
from eyrie.compiler.frontend.tflite.reader import Importer

IMPORTERS: dict[str, Importer] = {
    **convolution.OPERATORS,
    **elementwise.OPERATORS,
    **pooling.OPERATORS,
    **tables.OPERATORS,
    **movement.OPERATORS,
    **host.OPERATORS,
}
