# SPDX-License-Identifier: Apache-2.0
"""Products of two feature maps. Source: tensorflow/lite/kernels/internal/reference/batch_matmul.h."""

import numpy as np

from eyrie.model.arithmetic import INT32_MAX
from eyrie.model.errors import InputError
from eyrie.model.operators.quantization import Quantization, Requantization, requantize

LARGEST_PRODUCT = 255 * 255  # of int8 values less their zero points


def check_terms(terms: int) -> None:
    """Raise InputError if a sum of so many products can leave int32; the reference would wrap silently."""
    if terms * LARGEST_PRODUCT > INT32_MAX:
        raise InputError(f"sums of {terms} products can leave int32")


def batch_matmul(
    first: np.ndarray, second: np.ndarray, scales: tuple[Quantization, Quantization], parameters: Requantization
) -> np.ndarray:
    """Return the matrix products of int8 [..., M, K] and [..., K, N], int8 [..., M, N]. Axes before these broadcast.

    scales: of both; their scale factors are in `parameters`. Raise InputError for sums that can leave int32.
    """
    check_terms(first.shape[-1])
    # Sums are whole numbers below 2^31, which double has exactly.
    rows, columns = (values.astype(float) - each.zero_point for values, each in zip((first, second), scales))
    return requantize((rows @ columns).astype(np.int32), parameters)
