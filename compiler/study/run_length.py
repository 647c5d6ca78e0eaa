# SPDX-License-Identifier: Apache-2.0
"""Run-length coding of zeros, as in Eyeriss (Chen et al., JSSC 2017, section IV): pairs of a run and a value."""

import numpy as np

RUN_BITS = range(1, 6)  # Eyeriss has 5 bits beside 16 of a value
VALUE_BITS = 8


def coded_bytes(values: np.ndarray, zero: int, run_bits: int) -> int:
    """Return the bytes of int8 values in this code. zero: the value whose runs are coded; run_bits: of a run's length

    A pair has a run of at most 2^run_bits - 1 zeros and the value that follows, which is a zero if the run is longer.
    """
    flat = values.reshape(-1)
    ends = np.append(np.flatnonzero(flat != zero), flat.size)
    runs = np.diff(ends, prepend=-1) - 1
    pairs = int((runs[:-1] // (1 << run_bits)).sum()) + ends.size - 1 + -(-int(runs[-1]) // (1 << run_bits))
    return -(-pairs * (run_bits + VALUE_BITS) // 8)
