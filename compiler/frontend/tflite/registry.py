# SPDX-License-Identifier: Apache-2.0
"""All supported TensorFlow Lite operators, by family: name -> function that imports a Call as its input tensors and
Operator."""

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
