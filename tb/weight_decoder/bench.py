# SPDX-License-Identifier: Apache-2.0
"""The decoder of coded weights."""

from eyrie.runtime.simulator.simulation_test import SimulationTest


def _bench(name: str, about: str, testcase: str, bus_words: int) -> SimulationTest:
    module = "tb.weight_decoder.weight_decoder_tests"
    return SimulationTest(
        name, about, "weight_decoder", module, testcase, {"BUS_WORDS": bus_words}, regress=bus_words == 2
    )


BENCHES = [
    _bench("code0", "weight decoder: random codes and chunks, 16 weights a cycle", "decodes", 1),
    _bench("code1", "weight decoder: the same at two words a beat", "decodes", 2),
    _bench("code2", "weight decoder: damaged chunks and tables of any contents", "stops", 1),
    _bench("code3", "weight decoder: the same at two words a beat", "stops", 2),
]
