# SPDX-License-Identifier: Apache-2.0
"""The reciprocals of average pooling divide exactly: every count, every reachable sum."""

import numpy as np
import pytest

from eyrie.model import encoding
from eyrie.model.arithmetic import AVERAGE_FRACTION_BITS, MAX_AVERAGE_COUNT, average_reciprocal, rounding_average


def test_every_reachable_sum_divides_exactly() -> None:
    for count in range(1, MAX_AVERAGE_COUNT + 1):
        reciprocal, shift = average_reciprocal(count)
        encoding.PPU.pack(pool_count=count, pool_reciprocal=reciprocal, pool_shift=shift)  # fits
        # The magnitude of a sum of int8 values and half the count.
        sums = np.arange(128 * count + 1, dtype=np.int64)
        quotient = ((sums + count // 2) * reciprocal) >> (AVERAGE_FRACTION_BITS + shift)
        assert np.array_equal(quotient, rounding_average(sums, count)), f"count {count}"
        assert np.array_equal(-quotient, rounding_average(-sums, count)), f"count {count}"


@pytest.mark.parametrize("count", [0, -1, MAX_AVERAGE_COUNT + 1])
def test_other_counts_are_rejected(count: int) -> None:
    with pytest.raises(ValueError, match=f"over 1 to 1024 pixels, got {count}"):
        average_reciprocal(count)
