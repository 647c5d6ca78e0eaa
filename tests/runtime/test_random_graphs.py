# SPDX-License-Identifier: Apache-2.0
"""Random networks of operators of every kind, compiled in parts for random configurations and batches, saved, loaded
and run: TensorFlow Lite and the golden model give the same outputs. What fails is shrunk, and printed as text.
"""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from hypothesis import strategies as st

from eyrie.compiler.artefact import files
from eyrie.compiler.artefact.network import CompiledNetwork
from eyrie.compiler.folder import save
from eyrie.compiler.frontend import tflite
from eyrie.compiler.ir.failure import DoesNotFit
from eyrie.compiler.parts import compile_parts
from eyrie.model.config import DEFAULT, AcceleratorConfig
from eyrie.model.interpreters import RUN
from eyrie.runtime.back_end import BackEnd
from eyrie.runtime.back_ends.functional import Functional
from eyrie.runtime.back_ends.golden import golden_outputs
from eyrie.runtime.back_ends.rtl import Rtl
from eyrie.testing.configurations import model_rejection, random_configs
from eyrie.testing.samples import scaled
from tb.common.random_graphs import RandomGraph, draw_graph
from tb.common.seed import run_seed
from tb.common.shrinking import Choices, shrinking

GRAPHS = scaled(60)
ON_RTL = scaled(2)
SEED = run_seed()
CONFIGS = (
    DEFAULT,
    *(AcceleratorConfig(**sizes) for sizes in random_configs(SEED, 30, most_pes=96) if model_rejection(sizes) is None),
)
SEARCH_ITERATIONS = 4


@dataclass(frozen=True)
class Drawn:
    """A network, and the accelerator and the images of a run for which it is compiled. A failure prints its text."""

    graph: RandomGraph
    config: AcceleratorConfig
    images: int

    def _repr_pretty_(self, printer, _) -> None:
        """What Hypothesis prints."""
        printer.text(f"{self.config}, {self.images} images\n{tflite.from_bytes(self.graph.model)}\n")


@st.composite
def random_networks(draw, configs: tuple[AcceleratorConfig, ...]) -> Drawn:
    images = draw(st.sampled_from([1, 1, 1, 2, 3]))
    return Drawn(draw_graph(Choices(draw)), draw(st.sampled_from(configs)), images)


def compiled(drawn: Drawn, folder: Path) -> CompiledNetwork | None:
    """None for a network that does not fit."""
    path = folder / "net.tflite"
    path.write_bytes(drawn.graph.model)
    try:
        found = compile_parts(path, drawn.config, search_iterations=SEARCH_ITERATIONS, images=drawn.images)
        save(found.network, folder / "net")
    except ValueError as rejection:
        if not isinstance(rejection.__cause__, DoesNotFit):
            raise
        assert str(rejection).startswith(f"{path}: ") and "\n" not in str(rejection)
        return None
    return files.load(folder / "net")


def compare(network: CompiledNetwork, graph: RandomGraph, back_end: BackEnd) -> None:
    """Run a network on as many images as go through it together, of values in another order."""
    inputs = [np.stack([np.roll(value, n) for n in range(network.images)]) for value in graph.inputs]
    outputs = back_end.run(network, inputs).outputs
    for number, (output, golden) in enumerate(zip(outputs, golden_outputs(network.whole_graph(), inputs), strict=True)):
        np.testing.assert_array_equal(output, golden, f"output {number}, the golden model's", strict=True)
    for reference in graph.references:
        for image, values in enumerate(zip(*inputs, strict=True)):
            expected = RUN[reference](graph.model, *values)
            for number, (output, wanted) in enumerate(zip(outputs, expected, strict=True)):
                np.testing.assert_array_equal(output[image], wanted, f"output {number}, {reference}'s", strict=True)


def test_command_level_model(tmp_path: Path) -> None:
    seen: Counter = Counter()

    def check(drawn: Drawn) -> None:
        with TemporaryDirectory(dir=tmp_path) as folder:
            network = compiled(drawn, Path(folder))
            if network:
                compare(network, drawn.graph, Functional())
            seen["rejected" if network is None else "machine" if network.programs else "host"] += 1

    for number in range(GRAPHS):
        shrinking(number, random_networks(CONFIGS), check)
    assert seen["machine"] > GRAPHS // 4 and seen["rejected"] < GRAPHS // 10 + 1, seen


def test_rtl(tmp_path: Path) -> None:
    """Networks of which the accelerator does something; a simulation takes too long to shrink one."""
    ran = 0

    def check(drawn: Drawn) -> None:
        nonlocal ran
        with TemporaryDirectory(dir=tmp_path) as folder:
            network = compiled(drawn, Path(folder))
            if network and network.programs:
                compare(network, drawn.graph, Rtl())
                ran += 1

    number = 0
    while ran < ON_RTL:
        shrinking(number, random_networks((DEFAULT,)), check, shrink=False)
        number += 1
        assert number < 10 * ON_RTL + 20, "the accelerator has hardly anything to do"
