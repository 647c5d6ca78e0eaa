# SPDX-License-Identifier: Apache-2.0
"""The whole accelerator running compiled networks."""

from dataclasses import replace

from eyrie.model.config import CODED, DEFAULT, WIDE, AcceleratorConfig
from eyrie.runtime.bundled import SMALL_CONFIG
from eyrie.runtime.simulator.simulation_test import SimulationTest
from tb.sim.dram import SOURCES

DRAM_BYTES = 4 << 20  # of the simulated memory, unless a network needs more
CYCLE_LIMIT = 5_000_000  # of a run

CAMPAIGN_CYCLES = 200_000_000  # of all runs of a bench together

_MODULE = "tb.net.net_tests"
_UVM_MODULE = "tb.net.accelerator_tests"


def _does_not_compile(config: AcceleratorConfig) -> str | None:
    """Why the bundled network does not run on an accelerator."""
    from eyrie.testing.demo_net import demo_network

    try:
        demo_network(config)
    except ValueError as error:
        return f"the bundled network does not compile: {error}"
    return None


def _runs_nothing(config: AcceleratorConfig) -> str | None:
    """Why random networks do not run on an accelerator: what the first that are drawn say."""
    from tb.net.programs import why_none

    return why_none(config)


def _has_no_faults(config: AcceleratorConfig) -> str | None:
    """Why faults cannot be planted in what an accelerator runs."""
    if config.glb_words >= 1 << 15:
        return f"streams that leave a GLB of {config.glb_words} words need addresses beyond 16 bits"
    return _runs_nothing(config)


def network(name: str, about: str, testcase: str = "runs_network", **arguments: object) -> SimulationTest:
    return SimulationTest(
        name,
        about,
        "soc",
        _MODULE,
        testcase,
        arguments=arguments,
        sources=SOURCES,
        cycles=CAMPAIGN_CYCLES,
        config=DEFAULT,
        unfit=_does_not_compile,
        quick=SMALL_CONFIG,
    )


def random_networks(name: str, about: str, testcase: str = "runs_networks", **arguments: object) -> SimulationTest:
    """A bench of the pyuvm environment: networks of at most `cycles_each` predicted cycles each, with DRAM at its
    default pace (at a slow one they take up to 20 times as many)."""
    return SimulationTest(
        name,
        about,
        "soc",
        _UVM_MODULE,
        testcase,
        arguments=arguments,
        sources=SOURCES,
        cycles=CAMPAIGN_CYCLES,
        config=DEFAULT,
        unfit=_runs_nothing,
        quick=SMALL_CONFIG,
    )


BENCHES = [
    replace(network("net", "MobileNetV1 on the demo photo, every pass and the result against the model"), regress=True),
    random_networks("net1", "random networks one after the other, DRAM of any pace", networks=16, cycles_each=160_000),
    replace(
        random_networks(
            "net2", "every error code, soft reset, and the next program", "recovers", rounds=6, cycles_each=12_000
        ),
        unfit=_has_no_faults,
    ),
    random_networks("net3", "random networks on a slow, stalling DRAM", networks=20, cycles_each=20_000, slow=True),
    replace(network("net4", "as well, a DRAM port and a filter port of 128 bits"), config=WIDE, regress=True),
    replace(network("net10", "as well, coded weights and two filter lanes"), config=CODED, regress=True),
    replace(
        network("net5", "layers of 512 columns, 512 rows, 4,096 channels, 32,768 inputs", "runs_large_layers"),
        module="tb.net.large_tests",
        regress=True,
    ),
    replace(
        random_networks(
            "net6",
            "networks above 2^31, reset by rst_ni in the middle of a run",
            "runs_after_resets",
            networks=3,
            resets=3,
            cycles_each=80_000,
        ),
        module="tb.net.reset_tests",
    ),
    replace(
        network("net7", "convolutions and depthwise convolutions of any window", "runs_windows", chains=12),
        module="tb.net.window_tests",
    ),
    replace(
        network(
            "net8", "random networks with branches and joins, several inputs and outputs", "runs_branches", networks=6
        ),
        module="tb.net.branch_tests",
    ),
    replace(
        network("net9", "a random graph of each operator", "runs_operators", graphs=1), module="tb.net.operator_tests"
    ),
    replace(
        network(
            "words0",
            "vector passes in lists, the cost model",
            "runs_lists",
            kinds=["elementwise"],
            lists=6,
            passes=12,
            timed=True,
        ),
        module="tb.net.pass_list_tests",
        unfit=lambda config: None,
    ),
    replace(
        network(
            "words1",
            "passes of every kind in lists, one overlapping the next",
            "runs_lists",
            lists=8,
            kinds=[
                "elementwise",
                "fused",
                "elementwise",
                "pointwise",
                "kernel",
                "elementwise",
                "depthwise",
                "addition",
                "maxima",
            ],
            passes=9,
            timed=False,
        ),
        module="tb.net.pass_list_tests",
        unfit=lambda config: None,
    ),
    replace(
        network("cost0", "the cost model on random layers and the network", "predicts_layers", layers=8),
        module="tb.net.cost_tests",
        regress=True,
    ),
    replace(
        network("cost1", "as well, a DRAM port and a filter port of 128 bits", "predicts_layers", layers=8),
        module="tb.net.cost_tests",
        config=WIDE,
        regress=True,
    ),
    replace(
        network("cost2", "as well, coded weights and two filter lanes", "predicts_layers", layers=8),
        module="tb.net.cost_tests",
        config=CODED,
        regress=True,
    ),
]
