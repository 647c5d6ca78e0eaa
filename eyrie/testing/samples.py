# SPDX-License-Identifier: Apache-2.0
"""The number of random cases that tests draw: one factor for all of them, from the environment."""

import os

VARIABLE = "EYRIE_SCALE"  # 1: as many as the tests say; `make test` draws fewer, a long campaign more
QUICK = 0.1  # the factor of `make test`


def scale() -> float:
    """Return the factor."""
    return float(os.environ.get(VARIABLE) or 1)


def scaled(count: int, least: int = 1) -> int:
    """Return the number of random cases to generate, at least `least`; `count` is the number at a factor of 1."""
    return max(least, round(count * scale()))
