# SPDX-License-Identifier: Apache-2.0
"""The golden model works in one thread."""

import time

import numpy as np

from eyrie.model.operators.convolution import fully_connected_sums


def test_products_take_one_thread(seed: int) -> None:
    """Threads that wait for each other by spinning would take a multiple of this thread's time."""
    rng = np.random.default_rng(seed)
    rows, filters = (rng.integers(-128, 128, (count, 1024)).astype(np.int8) for count in (1000, 10))
    everything, own = time.process_time(), time.thread_time()
    for _ in range(100):
        fully_connected_sums(rows, filters)
    everything, own = time.process_time() - everything, time.thread_time() - own
    assert everything < 1.5 * own
