# SPDX-License-Identifier: Apache-2.0
"""The requantizer's simulation tests."""

from runtime.simulator.bench import Bench

BENCHES = [
    Bench(
        name="requant0",
        about="requantizer: corner cases, ties and random values, with stalls, gaps and tags",
        top="tb_requantizer",
        module="tb.requantizer.requantizer_tests",
        testcase="values",
    ),
]
