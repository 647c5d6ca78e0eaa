# SPDX-License-Identifier: Apache-2.0
"""Graph passes: padding and averages are joined, or rejected by name; nothing of a network is lost."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from eyrie.compiler.frontend import tflite
from eyrie.compiler.network import compile_network
from eyrie.compiler.passes.fold_pads import fold_pads
from eyrie.compiler.passes.form_groups import form_groups
from eyrie.model.functional_simulator import FunctionalSimulator
from tests.commands.small_nets import INPUT, VALID, Quant, TfliteBuilder, bias, scales, weights

OUT = Quant(0.05, -128)


class Net:
    """A network of random constants, layer by layer."""

    def __init__(self, seed: int, shape: tuple[int, int, int, int] = (1, 6, 8, 8)) -> None:
        self.rng, self.net = np.random.default_rng(seed), TfliteBuilder("small")
        self.x = self.net.input("image", shape, INPUT)

    def conv(self, name: str, size: int, **window) -> "Net":
        constants = weights(self.rng, 8, size, size, self.x.shape[3]), scales(self.rng, 8), bias(self.rng, 8)
        self.x = self.net.conv(name, self.x, *constants, OUT, **window)
        return self

    def depthwise(self, name: str, size: int, **window) -> "Net":
        count = self.x.shape[3]
        constants = weights(self.rng, 1, size, size, count), scales(self.rng, count), bias(self.rng, count)
        self.x = self.net.depthwise(name, self.x, *constants, OUT, **window)
        return self

    def pad(self, name: str, *pads: int) -> "Net":
        self.x = self.net.pad(name, self.x, *pads)
        return self

    def pool(self, name: str, size: int) -> "Net":
        self.x = self.net.average_pool(name, self.x, size, size)
        return self

    def write(self, folder: Path) -> Path:
        path = folder / "net.tflite"
        path.write_bytes(self.net.build([self.x]))
        return path


RIGHT: dict[str, Callable[[Net], Net]] = {
    "two PADs": lambda net: net.pad("p", 1, 0, 0, 1).pad("q", 0, 1, 1, 0).conv("c", 3, padding=VALID),
    "PAD between the halves": lambda net: net.depthwise("d", 3).pad("p", 1, 1, 1, 1).conv("c", 1, padding=VALID),
    "PAD before a pointwise convolution": lambda net: net.pad("p", 1, 1, 1, 1).conv("c", 1, padding=VALID),
    "average of one pixel": lambda net: net.conv("c", 1, padding=VALID).pool("p", 1),
    "PAD at the end": lambda net: net.conv("c", 3).pad("p", 1, 1, 1, 1),
    "PAD alone": lambda net: net.pad("p", 1, 1, 1, 1),
    "PAD before an average": lambda net: net.conv("c", 1).pad("p", 2, 0, 0, 0).pool("a", 8),
    "average of windows": lambda net: net.conv("c", 1).pool("a", 2),
    "average first": lambda net: net.pad("p", 0, 2, 0, 0).pool("a", 8),
    "average behind a window": lambda net: (
        net.conv("c", 3).pad("p", 0, 2, 0, 0).conv("d", 3, padding=VALID).conv("e", 3).pool("a", 6)
    ),
}


@pytest.mark.parametrize("what", RIGHT)
def test_golden_output(what: str, seed: int, tmp_path: Path) -> None:
    """Of so many images that not all values are clamped to the same."""
    shape = (1, 1, 1, 8) if what == "average of one pixel" else (1, 6, 8, 8)
    stages = compile_network(RIGHT[what](Net(seed, shape)).write(tmp_path), search_iterations=8)
    values = np.random.default_rng([seed, 1]).integers(-128, 128, (8, *shape[1:]), np.int8)
    golden = stages.graph.run_images(values)
    for image, expected in zip(values, golden, strict=True):
        simulator = FunctionalSimulator(stages.image.with_input(image), stages.config)
        simulator.run(stages.image.program.address)
        np.testing.assert_array_equal(stages.image.output(simulator.dram), expected)
    assert len(np.unique(golden)) > 1


def test_average_after_average_keeps_the_first(seed: int, tmp_path: Path) -> None:
    path = Net(seed, (1, 4, 4, 8)).conv("c", 1).pool("p", 4).pool("q", 1).write(tmp_path)
    stages = compile_network(path, search_iterations=8)
    [group] = stages.groups
    assert (group.averaged, group.output.name) == (16, stages.folded.output.name)


def test_groups_lead_from_input_to_output(seed: int, tmp_path: Path) -> None:
    path = Net(seed).conv("a", 3).conv("b", 3).conv("c", 3).write(tmp_path)
    graph = fold_pads(tflite.load(path))
    first, second, third = graph.nodes
    assert len(form_groups(graph)) == 3
    with pytest.raises(ValueError, match="^group conv1: no group before it makes "):
        form_groups(replace(graph, nodes=(first, third)))
    with pytest.raises(ValueError, match="^the groups conv0, conv1, conv2 are not the whole network$"):
        form_groups(replace(graph, nodes=(first, replace(second, inputs=first.inputs), third)))
