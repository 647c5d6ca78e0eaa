# SPDX-License-Identifier: Apache-2.0
"""The tiling controller's simulation tests."""

from dataclasses import replace

from eyrie.model.config import DEFAULT, AcceleratorConfig
from eyrie.runtime.simulator.simulation_test import SimulationTest
from tb.sim.dram import SOURCES


def _is_made_for_others(harness: AcceleratorConfig) -> str | None:
    if (harness.bus_words, harness.glb_words) == (DEFAULT.bus_words, DEFAULT.glb_words):
        return None
    return (
        f"the bench's programs and model are made for a port of {DEFAULT.bus_words} word and a GLB of "
        f"{DEFAULT.glb_words} words, it has {harness.bus_words} and {harness.glb_words}"
    )


def _bench(
    name: str,
    about: str,
    testcase: str,
    tests: str = "tiling",
    config: AcceleratorConfig = DEFAULT,
    **arguments: object,
) -> SimulationTest:
    return SimulationTest(
        name,
        about,
        "tb_tiling",
        f"tb.tiling.{tests}_tests",
        testcase,
        arguments=arguments,
        sources=SOURCES,
        config=config,
        unfit=_is_made_for_others,
    )


CODES = replace(DEFAULT, weight_codes=1)

BENCHES = [
    _bench("tile0", "tiling: random command lists against a model", "random_lists"),
    _bench("tile1", "tiling: every error stops with code and address, soft reset", "errors", "error"),
    _bench(
        "tile2",
        "tiling: random lists, slow DRAM with random stalls everywhere",
        "random_lists",
        runs=2,
        stall=0.5,
        high=True,
        memory={"latency": 90, "stall": 100},
    ),
    _bench(
        "tile3",
        "tiling: random lists, fast DRAM of 3 beats in 4 cycles",
        "random_lists",
        runs=2,
        memory={"latency": 1, "beats": 3, "cycles": 4},
    ),
    _bench("tile4", "tiling: the watchdog ends what hangs", "hangs", "watchdog", high=True),
    _bench(
        "tile5",
        "tiling: soft resets at random moments",
        "interruptions",
        runs=15,
        high=True,
        memory={"latency": 60, "stall": 60},
    ),
    _bench("tile6", "tiling: LOADs fill the port at a latency of 30", "transfer_rates", latency=30),
    _bench(
        "tile7",
        "tiling: errors with a slow DRAM with random stalls",
        "errors",
        "error",
        high=True,
        memory={"latency": 70, "stall": 80},
    ),
    _bench("tile8", "tiling: long waits in a row are no hang to the watchdog", "slow", "watchdog"),
    _bench(
        "tile9",
        "tiling: more transfers, passes and chunks than 16 bits can count",
        "counts_on",
        "long",
        latency=2,
        passes=34_000,
        chunks=40_000,
        least=1 << 15,
        limit=2_000_000,
    ),
    _bench(
        "tile10",
        "tiling: a memory that dies on each channel, then answers or is reset",
        "dead_memory",
        "recovery",
        high=True,
    ),
    _bench("tile11", "tiling: a memory that dies after END", "dead_after_end", "recovery", high=True),
    _bench("tile12", "tiling: rst_ni at random moments", "resets", "recovery", high=True, runs=12),
    _bench("tile14", "tiling: random lists with coded weights", "random_lists", config=CODES),
    _bench(
        "tile15",
        "tiling: random lists with coded weights, slow DRAM with random stalls everywhere",
        "random_lists",
        config=CODES,
        runs=2,
        stall=0.5,
        high=True,
        memory={"latency": 90, "stall": 100},
    ),
    _bench("tile16", "tiling: every error of coded weights", "errors", "error", config=CODES),
    _bench(
        "tile17",
        "tiling: errors of coded weights with a slow DRAM with random stalls",
        "errors",
        "error",
        config=CODES,
        high=True,
        memory={"latency": 70, "stall": 80},
    ),
    _bench("tile13", "tiling: LOADs fill the port at a latency of 200", "transfer_rates", latency=200),
]
