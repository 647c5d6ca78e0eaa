# SPDX-License-Identifier: Apache-2.0
"""The seed of a run of the tests."""

import os

VARIABLE = "EYRIE_SEED"
SEED = 1  # of `make test`: every run repeats the one before, whatever has changed in the sources


def run_seed() -> int:
    """Return the seed that the environment names, or else the fixed one."""
    return int(os.environ.get(VARIABLE) or SEED)
