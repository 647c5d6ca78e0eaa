# SPDX-License-Identifier: Apache-2.0
"""A compiled network on the RTL, with random inputs."""

from pathlib import Path

from eyrie.compiler.artefact import files
from eyrie.compiler.artefact.network import CompiledNetwork
from eyrie.compiler.folder import save
from eyrie.runtime.back_end import AcceleratorRun
from eyrie.runtime.back_ends.golden import golden_outputs
from eyrie.runtime.back_ends.rtl import Rtl
from eyrie.runtime.inputs import random_inputs


def on_rtl(compiled: CompiledNetwork, folder: Path, seed: int) -> tuple[list[AcceleratorRun], int]:
    """Save a network in a folder, load it, and run it once. Return the run of each subgraph on the accelerator, and the
    number of outputs that differ from the golden model."""
    save(compiled, folder)
    network = files.load(folder)
    inputs = random_inputs(network.whole_graph(), 1, seed)
    golden = golden_outputs(network.whole_graph(), inputs)
    done = Rtl().run(network, inputs)
    wrong = sum(int((got != wanted).sum()) for got, wanted in zip(done.outputs, golden, strict=True))
    return list(done.accelerator), wrong
