# SPDX-License-Identifier: Apache-2.0
"""The GLB's simulation tests."""

from model.config import DEFAULT, MachineConfig
from runtime.simulator.bench import Bench


def _glb(name: str, about: str, testcase: str, machine: MachineConfig = DEFAULT) -> Bench:
    return Bench(name, about, "tb_glb", "tb.glb.glb_tests", testcase, machine=machine)


BENCHES = [
    _glb("glb0", "GLB: random clients against a model: arbitration, strobes, pairs, errors, counters",
         "random_clients"),
    _glb("glb1", "GLB of 4 banks, likewise", "random_clients", MachineConfig(glb_banks=4, glb_bank_words=513)),
    _glb("glb2", "GLB: clients that go along rows, columns or channels leave others their cycles", "sweeps"),
]
