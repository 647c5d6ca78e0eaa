# SPDX-License-Identifier: Apache-2.0
"""The two sets of reference kernels and their differences; docs/concepts/quantisation.md says which one Eyrie
follows."""

from enum import StrEnum

import numpy as np


class Reference(StrEnum):
    """TensorFlow Lite Micro, the reference for int8, and LiteRT, the only reference for uint8."""

    MICRO = "tflite-micro"
    LITERT = "litert"


def factor_precision(reference: Reference) -> type[np.float32] | type[np.float64]:
    """Return the type in which RELU, LEAKY_RELU, ABS, HARD_SWISH, MUL and PRELU form factors of scales."""
    return np.float32 if reference == Reference.LITERT else np.float64
