# SPDX-License-Identifier: Apache-2.0
"""One network on every kind of accelerator: the array by the planner's plan and by the greedy one, configurations that
are described by their buffers, portable C. The outputs are equal."""

from pathlib import Path

import numpy as np
import pytest

from eyrie.compiler.buffers import description
from eyrie.compiler.buffers.array import array_tree
from eyrie.compiler.buffers.network import compiled
from eyrie.compiler.c.sources import sources_of
from eyrie.compiler.frontend import tflite
from eyrie.compiler.network import compile_greedily, compile_network
from eyrie.compiler.results import Built
from eyrie.model.config import DEFAULT
from eyrie.runtime.folders import ROOT
from eyrie.runtime.inputs import random_inputs
from eyrie.runtime.networks import named_on_model
from eyrie.runtime.portable_c.executable import build_library
from tests.compiler.test_text import drawn

SEARCH_ITERATIONS = 8
NETWORKS = 3


def on_array(work: Built, image: np.ndarray) -> np.ndarray:
    ((name, place),) = work.image.inputs.items()
    (made,) = named_on_model(work.image, {name: image.reshape(1, *place.shape)}).values()
    return made.ravel()


@pytest.mark.parametrize("number", range(NETWORKS))
def test_outputs_are_equal(number: int, seed: int, tmp_path: Path) -> None:
    path = tmp_path / "net.tflite"
    path.write_bytes(drawn([seed, 3, number]))
    graph = tflite.load(path)
    (image,) = random_inputs(graph, 1, seed)
    golden = graph.run(image[0])[graph.output.name].ravel()
    assert len(np.unique(golden)) > 1 or golden.size == 1
    greedy, exact = (
        compile_greedily(path, search_iterations=SEARCH_ITERATIONS),
        compile_network(path, search_iterations=SEARCH_ITERATIONS),
    )
    assert all(
        len(segment.groups) == 1 and segment.nest.from_dram and segment.nest.to_dram for segment in greedy.plan.segments
    )
    made = {"greedy": on_array(greedy, image), "planned": on_array(exact, image)}
    configs = sorted((ROOT / "data" / "configurations").glob("*.buffers"))
    for tree in (array_tree(DEFAULT), *map(description.load, configs)):
        for doubled in (False, True):
            found = compiled(graph, tree, doubled)
            assert any(step.program for step in found.steps)
            made[f"{tree.name}, doubled {doubled}"] = found.run(image[0])[0].ravel()
    made["C"] = build_library([sources_of(graph, "net")], tmp_path / "c").run([image])[0].ravel()
    for name, value in made.items():
        np.testing.assert_array_equal(value, golden, name)
