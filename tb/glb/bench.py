# SPDX-License-Identifier: Apache-2.0
"""The GLB's simulation tests."""

from runtime.simulator.bench import Bench

_MODULE = "tb.glb.glb_tests"

BENCHES = [
    Bench(
        "glb0",
        "GLB: random clients against a model: arbitration, strobes, pairs, errors, counters",
        "tb_glb",
        _MODULE,
        "random_clients",
    ),
    Bench(
        "glb1",
        "GLB of 4 banks, likewise",
        "tb_glb",
        _MODULE,
        "random_clients",
        {"BANKS": 4, "BANK_WORDS": 128},
        {"banks": 4, "words": 512},
    ),
    Bench("glb2", "GLB: clients that go along rows, columns or channels leave others their cycles", "tb_glb", _MODULE, "sweeps"),
]
