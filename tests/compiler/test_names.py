# SPDX-License-Identifier: Apache-2.0
"""A model may call its tensors what it likes: by the names, too, that the compiler gives to maps of its own."""

from pathlib import Path

import numpy as np
import pytest

from eyrie.compiler.frontend import tflite
from eyrie.compiler.network import compile_network
from eyrie.model.interpreters import RUN
from eyrie.model.operators.reference import Reference
from eyrie.runtime.networks import named_on_model
from eyrie.testing.tflite_builder import Builder

SHAPE, SCALE = (1, 5, 4, 8), {"scale": 0.1, "zero_point": 3}


def joined(names: dict[int, str]) -> bytes:
    """The sum of a map and of its first channel, and a CONCATENATION with the map; the sum has a map of its own."""
    net = Builder()
    x, inner, made = (net.tensor(SHAPE, **SCALE) for _ in range(3))
    last = net.tensor((*SHAPE[:3], 16), **SCALE)
    channel = net.tensor((*SHAPE[:3], 1), **SCALE)
    begin, size = (net.tensor((4,), "int32", data=np.array(data, np.int32)) for data in ((0, 0, 0, 0), (1, 5, 4, 1)))
    net.operator("ABS", [x], [inner])
    net.operator("SLICE", [inner, begin, size], [channel])
    net.operator("ADD", [inner, channel], [made], fusedActivationFunction=0)
    net.operator("CONCATENATION", [made, inner], [last], axis=3, fusedActivationFunction=0)
    for index, name in names.items():
        net.tensors[index].name = name
    return net.pack([x], [inner, last])


def test_names_of_the_compilers_maps(seed: int, tmp_path: Path) -> None:
    path = tmp_path / "net.tflite"
    path.write_bytes(joined({}))
    stages = compile_network(path, search_iterations=4)
    own = {group.output.name for group in stages.groups} - {f"t{index}" for index in range(7)}
    assert own
    values = np.random.default_rng(seed).integers(-128, 128, SHAPE, np.int8)
    expected = RUN[Reference.MICRO](path.read_bytes(), values)
    for name in sorted(own):
        path.write_bytes(joined({1: name}))
        stages = compile_network(path, search_iterations=4)
        [taken] = stages.image.inputs
        outputs = named_on_model(stages.image, {taken: values})
        for output, answer in zip(outputs.values(), expected, strict=True):
            np.testing.assert_array_equal(output.reshape(answer.shape), answer, f"where a tensor is {name}")


@pytest.mark.parametrize("names", [("a", "a", "a#0"), ("a#1", "a", "a"), ("", "", "#0"), ("a#0", "a#0", "a")])
def test_names_that_repeat(names: tuple[str, ...]) -> None:
    graph = tflite.from_bytes(joined(dict(enumerate(names))))
    assert len({graph.input.name, *(tensor.name for node in graph.nodes for tensor in node.outputs)}) == 5
