# SPDX-License-Identifier: Apache-2.0
"""Max pools on the accelerator."""

from pathlib import Path

import numpy as np
import pytest

from eyrie.compiler.network import compile_network
from eyrie.training.tflite_writer import Quant, TfliteBuilder
from tests.compiler.test_networks import check

WINDOWS = [(2, 2, 1), (3, 1, 1), (3, 2, 1), (5, 1, 2), (7, 2, 1), (13, 1, 2)]  # taps, stride, passes over the map


@pytest.mark.parametrize(("taps", "stride", "passes"), WINDOWS)
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_a_large_window_runs_over_columns_then_rows(
    taps: int, stride: int, passes: int, padding: str, seed: int, tmp_path: Path
) -> None:
    rng, net, path = np.random.default_rng(seed), TfliteBuilder("pool"), tmp_path / "net.tflite"
    x = net.input("image", (1, 16, 17, int(rng.choice([8, 12]))), Quant(0.1, 3))
    path.write_bytes(net.build([net.max_pool("pool", x, taps, stride, padding)]))
    stages = compile_network(path)
    check(stages, rng, f"seed {seed}")
    if padding == "SAME":
        assert len(stages.groups) == passes
