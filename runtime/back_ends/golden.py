# SPDX-License-Identifier: Apache-2.0
"""The golden model: golden functions for all operators."""

from collections.abc import Sequence

import numpy as np

from eyrie.compiler.artefact.network import CompiledNetwork
from eyrie.compiler.ir.graph import Graph
from eyrie.model.config import DEFAULT
from eyrie.runtime.back_end import BackEnd, NetworkRun, inside, on_host, outside


class Golden(BackEnd):
    """The golden model."""

    about, compiles = "the golden model, without the accelerator", False

    def prepare(self, network: CompiledNetwork) -> None:
        """Raise Obstacles if an operator is unknown."""
        from eyrie.compiler.passes.constraints import check_known

        check_known(network.whole_graph())

    def _run(self, network: CompiledNetwork, inputs: list[np.ndarray]) -> NetworkRun:
        graph, count = network.whole_graph(), len(inputs[0])
        values = on_host(graph, inside(graph.inputs, inputs), count)
        return NetworkRun(network, outside(graph.outputs, values, count))


def golden_outputs(graph: Graph, inputs: Sequence[np.ndarray], state: Sequence[np.ndarray] = ()) -> list[np.ndarray]:
    """Return the outputs of the golden model; arguments and outputs are as in `BackEnd.run`."""
    return Golden().run(CompiledNetwork.of(graph, DEFAULT), inputs, state).outputs
