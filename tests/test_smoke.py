# SPDX-License-Identifier: Apache-2.0
"""What `make check` runs: a little of everything, in about a minute on a fresh checkout."""

from pathlib import Path

import numpy as np
import pytest

from eyrie.compiler.frontend import tflite
from eyrie.runtime.bundled import MODEL
from eyrie.runtime.networks import on_model
from eyrie.runtime.programs import compiled
from eyrie.runtime.simulator.simulate import simulate
from eyrie.testing.catalogue import find
from eyrie.testing.demo_net import demo_input
from tests.commands.commands import functional_run
from tests.commands.small_nets import separable


@pytest.mark.parametrize("name", ["fifo0", "requant0", "pe0"])
def test_blocks(name: str, seed: int) -> None:
    result = simulate(find(name), seed)
    assert result["status"] == "pass" and result["comparisons"], result


def test_a_small_network_on_the_functional_simulator(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    model, values = separable(rng), rng.integers(-128, 128, (2, 8, 8, 3)).astype(np.int8)
    run = functional_run(tmp_path, model, values)
    assert run.returncode == 0, run.stderr
    graph = tflite.load(tmp_path / "net.tflite")
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), graph.run_images(values))


def test_the_bundled_network_on_the_functional_simulator() -> None:
    from eyrie.compiler.ir.image import Image

    graph, image, values = tflite.load(MODEL), Image.load(compiled(MODEL)), demo_input()[None]
    np.testing.assert_array_equal(on_model(image, values), graph.run_images(values))
