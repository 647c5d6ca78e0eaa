# SPDX-License-Identifier: Apache-2.0
"""Portable C, built with the compiler in CC."""

from functools import lru_cache

import numpy as np

from eyrie.compiler.artefact.network import CompiledNetwork
from eyrie.runtime.back_end import BackEnd, NetworkRun
from eyrie.runtime.portable_c.executable import Library
from eyrie.runtime.portable_c.networks import built
from eyrie.runtime.programs import contents_of


class PortableC(BackEnd):
    """Portable C."""

    about, compiles = "portable C, without the accelerator", False

    def prepare(self, network: CompiledNetwork) -> None:
        """Build the C. Raise InputError, with one line, if the network cannot be written as C, or BuildError."""
        _library(network)

    def _run(self, network: CompiledNetwork, inputs: list[np.ndarray]) -> NetworkRun:
        return NetworkRun(network, _library(network).run(inputs))


@lru_cache(maxsize=16)
def _library(network: CompiledNetwork) -> Library:
    graph = network.whole_graph()
    return built("network", contents_of(graph), graph)
