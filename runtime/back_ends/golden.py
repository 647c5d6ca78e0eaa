# SPDX-License-Identifier: Apache-2.0
"""The golden model: golden functions for all operators."""

from collections.abc import Sequence

import numpy as np

from eyrie.compiler.artefact.network import CompiledNetwork
from eyrie.compiler.ir.graph import Graph
from eyrie.runtime.back_end import BackEnd, NetworkRun, inside, on_host, outside
from eyrie.runtime.inputs import fitted


def golden_outputs(graph: Graph, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return the outputs of the golden model; inputs and outputs are as in `BackEnd.run`."""
    given = fitted(graph.inputs, inputs)
    count = len(given[0])
    return outside(graph.outputs, on_host(graph, inside(graph.inputs, given), count), count)


class Golden(BackEnd):
    """The golden model."""

    about, compiles = "the golden model, without the accelerator", False

    def _run(self, network: CompiledNetwork, inputs: list[np.ndarray]) -> NetworkRun:
        return NetworkRun(network, golden_outputs(network.whole_graph(), inputs))
