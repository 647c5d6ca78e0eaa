# SPDX-License-Identifier: Apache-2.0
"""Functions of one value that the reference evaluates in float32, as 256 entries: entry q + 128 is the result of q.

Sources: `LUTPopulate` in tensorflow/lite/kernels/internal/common.h, reference/concatenation.h.
"""

from collections.abc import Callable
from math import exp, expm1, inf, log, tanh

import numpy as np

from eyrie.compiler.ir.tensor import Tensor
from eyrie.compiler.kernel_calls.scales import INT8, rounded, scale_of, zero_point_of

_float = np.float32
_VALUES = range(INT8[0], INT8[1] + 1)
_LARGEST_EXPONENT = 700  # exp of more is infinite even in double


def _exp(x: np.float32) -> np.float32:
    with np.errstate(over="ignore"):
        return _float(exp(min(float(x), _LARGEST_EXPONENT)))


FUNCTIONS: dict[str, Callable[[np.float32], np.float32]] = {
    "LOGISTIC": lambda x: _float(1) / (_float(1) + _exp(-x)),
    "TANH": lambda x: _float(tanh(float(x))),
    "ELU": lambda x: _float(expm1(float(x))) if x < 0 else x,
    "EXP": _exp,
    "LOG": lambda x: _float(log(float(x)) if x > 0 else -inf),
}


def table_of(function: str, input_: Tensor, output: Tensor) -> np.ndarray:
    """Return the table of one of FUNCTIONS, int8 [256]."""
    scale, steps = _float(scale_of(input_)), _float(1) / _float(scale_of(output))

    def entry(value: int) -> np.float32:
        with np.errstate(over="ignore"):
            return FUNCTIONS[function](scale * _float(value - zero_point_of(input_))) * steps

    return _entries(entry, output)


def joined_table(input_: Tensor, output: Tensor) -> np.ndarray:
    """Return the table that rescales a uint8 input of CONCATENATION to the output's scale, int8 [256]."""
    scale = _float(scale_of(input_)) * (_float(1) / _float(scale_of(output)))
    bias = _float(-(zero_point_of(input_) + 128)) * scale
    return _entries(lambda value: _float(value + 128) * scale + bias, output)


def _entries(steps: Callable[[int], np.float32], output: Tensor) -> np.ndarray:
    held = (min(max(float(steps(value)), -(2**15)), 2**15 - 1) for value in _VALUES)
    return np.array([min(max(rounded(value) + zero_point_of(output), INT8[0]), INT8[1]) for value in held], np.int8)
