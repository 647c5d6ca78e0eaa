# SPDX-License-Identifier: Apache-2.0
"""The cost of quantisation, over samples."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

Samples = Sequence[Sequence[np.ndarray]]  # values of all inputs, of each sample


@dataclass(frozen=True)
class Cost:
    """The difference of a quantised model from the float model.

    mean_error  mean absolute error of the first output, as a share of the range of its float values
    agreement   share of samples whose largest value of the first output is at the same place; None for a single value
    """

    mean_error: float
    agreement: float | None


def cost(real: np.ndarray, quantised: np.ndarray) -> Cost:
    """Compare the first outputs [N, ...] of both models."""
    span = float(real.max() - real.min()) or 1.0
    real, quantised = (each.reshape(len(each), -1) for each in (real, quantised))
    error = float(np.abs(real - quantised).mean())
    same = float((real.argmax(1) == quantised.argmax(1)).mean())
    return Cost(error / span, same if real.shape[1] > 1 else None)
