# SPDX-License-Identifier: Apache-2.0
"""The tiling controller's simulation tests."""

from dataclasses import replace

from eyrie.model.config import DEFAULT, AcceleratorConfig
from eyrie.runtime.bundled import SMALL_CONFIG
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
        config=DEFAULT,
        unfit=_is_made_for_others,
        quick=SMALL_CONFIG,
    )


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
    _bench("tile13", "tiling: LOADs fill the port at a latency of 200", "transfer_rates", latency=200),
]

_BY_NAME = {bench.name: bench for bench in BENCHES}
BENCHES += [
    replace(
        _BY_NAME[name],
        name=again,
        about=f"{_BY_NAME[name].about}, coded weights",
        config=replace(DEFAULT, weight_codes=1),
        regress=True,
    )
    for again, name in {"tile14": "tile0", "tile15": "tile2", "tile16": "tile1", "tile17": "tile7"}.items()
]
