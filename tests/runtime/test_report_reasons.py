# SPDX-License-Identifier: Apache-2.0
"""The limits of layers: each rule with counters made for it."""

import pytest

from eyrie.model.config import DEFAULT, AcceleratorConfig
from eyrie.runtime.report.reasons import RULES, Reason, reason

CYCLES = 10_000


def row(pe: dict[str, int], macs: int = 1000, counters: dict[str, int] | None = None, **units: dict[str, int]) -> dict:
    """A layer of 10,000 cycles; what is not given is 0, and the PEs multiply in the rest of the cycles."""
    states = dict.fromkeys(("wait_ifmap", "wait_words", "wait_filter", "wait_psum", "idle"), 0) | pe
    none = {
        "ifmap": ("stall", "wait"),
        "filter": ("stall", "wait"),
        "drain": ("busy", "stall"),
        "dma": ("busy", "wait"),
        "glb": ("lost",),
    }
    names = ("glb_filter_bytes", "glb_depthwise_bytes", "array_busy", "array_stall", "pass_wait", "macs")
    return {
        "macs": macs,
        "units": {"pe": {"busy": CYCLES - sum(states.values()), **states}}
        | {unit: dict.fromkeys(states, 0) | units.get(unit, {}) for unit, states in none.items()},
        "counters": dict.fromkeys(names, 0) | {"cycles": CYCLES} | (counters or {}),
    }


CASES: dict[str, tuple[dict, str, str]] = {
    "multipliers": (
        row({"wait_psum": 400}),
        "compute-bound",
        "The PEs multiplied in 96 % of the interval's 10,000 cycles and waited for free "
        "psum buffers in 4 %. The multipliers limit this layer.",
    ),
    "nothing lost": (
        row({}),
        "compute-bound",
        "The PEs multiplied in 100 % of the interval's 10,000 cycles. The multipliers limit this layer.",
    ),
    "DRAM port": (
        row({"wait_filter": 3800}, dma={"busy": 9437}, filter={"wait": 3500}),
        "memory-bound",
        "The PEs multiplied in 62 % of the interval's 10,000 cycles and waited for filters in 38 %. "
        "The DRAM port was busy in 9,437 of 10,000 cycles, and the filter stream waited for chunks in 35 %. "
        "The DRAM port limits this layer.",
    ),
    "no room": (
        row({"wait_filter": 4000}, dma={"busy": 3000, "wait": 6000}, filter={"wait": 2500}),
        "late filters",
        "The filter stream waited for chunks from DRAM in 25 % of the cycles. The DRAM port was busy in 30 %. "
        "Transfers waited for free space in the GLB.",
    ),
    "late": (
        row({"wait_filter": 4000}, dma={"busy": 3000}, filter={"wait": 2500}),
        "late filters",
        "Transfers began late.",
    ),
    "filter port": (
        row({"wait_filter": 4000}, counters={"glb_filter_bytes": 76_000}),
        "filter port",
        "The filter stream used 95 % of its GLB port. That port limits this layer.",
    ),
    "bursts": (
        row({"wait_filter": 4000}, counters={"glb_filter_bytes": 40_000}, dma={"busy": 2000}),
        "filters in bursts",
        "Neither the DRAM port (busy 20 %) nor the filter port (used 50 %) was full",
    ),
    "earlier pass": (
        row({"wait_ifmap": 4000}, ifmap={"wait": 3000}),
        "earlier pass",
        "The ifmap stream waited in 30 % of the cycles until an earlier pass wrote its ofmap.",
    ),
    "ifmap": (
        row({"wait_ifmap": 4000}, glb={"lost": 1234}),
        "ifmap",
        "Clients of the GLB lost 1,234 cycles to bank conflicts.",
    ),
    "depthwise": (
        row({"wait_words": 4000}, counters={"glb_depthwise_bytes": 8}),
        "depthwise part",
        "the depthwise part limits this layer.",
    ),
    "pixels": (row({"wait_words": 4000}), "ifmap stream", "the ifmap stream limits this layer."),
    "drain": (
        row({"wait_psum": 4000}, drain={"busy": 7000, "stall": 2500}),
        "drain",
        "The drain was busy in 70 % of the cycles, and the PPU stalled it in 25 %",
    ),
    "mapping": (
        row({"idle": 5000}, counters={"array_busy": 9000, "array_stall": 800}),
        "mapping",
        "and were idle in 50 %. A pass ran in 98 % of the cycles. The mapping of the running pass uses only a "
        "part of the PEs.",
    ),
    "no pass": (
        row({"idle": 5000}, counters={"array_busy": 5500, "pass_wait": 4000}),
        "start and end",
        "No pass ran in 45 % of the cycles; a pass waited for transfers or earlier passes in 40 %.",
    ),
    "idle for DRAM": (row({"idle": 5000}, dma={"busy": 9000}), "memory-bound", "The DRAM port limits this layer."),
}


@pytest.mark.parametrize("name", CASES)
def test_reason(name: str) -> None:
    given, bound, text = CASES[name]
    found = reason(given, DEFAULT)
    assert found.bound == bound
    assert text in found.text.replace("\N{NO-BREAK SPACE}", " ")
    assert "without a pass" not in found.text


def test_every_rule_has_a_case() -> None:
    """Its docstring is one sentence, and a case makes it speak first."""
    assert len(RULES) == len(set(RULES)) and all(rule.__doc__.strip().endswith(".") for rule in RULES)
    bounds = {reason(given, DEFAULT).bound for given, _, _ in CASES.values()}
    assert bounds == {bound for _, bound, _ in CASES.values()}


def test_wide_filter_port() -> None:
    given = row({"wait_filter": 4000}, counters={"glb_filter_bytes": 76_000})
    assert reason(given, AcceleratorConfig(filter_lanes=2)).bound == "filters in bursts"


def test_padding() -> None:
    assert reason(row({}, macs=250, counters={"macs": 1000}), DEFAULT).text.endswith(
        "The layer's 250 MACs are 25\N{NO-BREAK SPACE}% of the issued MACs. The others are padding of channels and "
        "filters, or belong to another layer."
    )
    assert "padding" not in reason(row({}, macs=800, counters={"macs": 1000}), DEFAULT).text


def test_no_cycles() -> None:
    assert reason(row({}, counters={"cycles": 0}), DEFAULT) == Reason(
        "none", "The passes of this layer end together with passes of other layers."
    )
