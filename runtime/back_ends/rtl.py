# SPDX-License-Identifier: Apache-2.0
"""The RTL: the C driver on the simulated SoC."""

import numpy as np

from eyrie.compiler.artefact.network import AcceleratorSubgraph
from eyrie.runtime.back_end import AcceleratorBackEnd, AcceleratorRun
from eyrie.runtime.soc.runs import named_on_rtl


class Rtl(AcceleratorBackEnd):
    """The simulated RTL. Each run has a SoC of its own."""

    about = "the driver on the simulated SoC"

    def __init__(self, seed: int = 1, records: bool = False) -> None:
        """records: results have the events of the first run (runtime/trace)"""
        super().__init__(seed)
        self.records = records

    def run_program(self, program: AcceleratorSubgraph, inputs: dict[str, np.ndarray]) -> AcceleratorRun:
        return named_on_rtl(program.image, inputs, self.seed, records=self.records)
