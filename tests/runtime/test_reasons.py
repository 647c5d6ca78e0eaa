# SPDX-License-Identifier: Apache-2.0
"""The limits of layers: each rule with counters made for it."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from eyrie.compiler.cost.occupancy import Occupancy, occupancies
from eyrie.compiler.cost.predict import predict
from eyrie.compiler.ir.image_layout import ImageStep
from eyrie.compiler.network import compile_network
from eyrie.measure.dataset.layers import Shape, model
from eyrie.model.config import DEFAULT, AcceleratorConfig
from eyrie.runtime.reasons.interval import Interval
from eyrie.runtime.reasons.padding import channels_filled, filters_filled, kernel_filled, pixels_filled
from eyrie.runtime.reasons.rules import IDLE_RULES, PADDING_RULES, RULES, Reason, reason
from eyrie.runtime.reasons.slow import is_slow, slow_layers

CYCLES = 10_000
STEP = ImageStep("conv0", "conv", "rows by 2", "", (0, 1, 2), 1000, 500, 16, ifmap=(8, 8, 16), ofmap=(8, 8, 16))
FULL = Occupancy(1000, 8.0, 4.0, 64, 8, 16, 1024, 0)


def row(pe: dict[str, int], counters: dict[str, int] | None = None, **units: dict[str, int]) -> dict:
    """A layer of 10,000 cycles; states that are not given are 0, and the PEs multiply in the rest of the cycles."""
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
        "cycles": CYCLES,
        "dram_bytes": None,
        "dram_read_bytes": 400,
        "dram_write_bytes": 0,
        "units": {"pe": {"busy": CYCLES - sum(states.values()), **states}}
        | {unit: dict.fromkeys(states, 0) | units.get(unit, {}) for unit, states in none.items()},
        "counters": dict.fromkeys(names, 0) | {"cycles": CYCLES, "array_busy": CYCLES} | (counters or {}),
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
        row({"wait_filter": 4000}, counters={"glb_filter_bytes": 72_000, "array_busy": 9500}),
        "filter port",
        "The filter stream used 95 % of its GLB port while a pass ran. That port limits this layer.",
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
        "the depthwise part limits this layer. Each result is used for 16 ofmap channels.",
    ),
    "pixels": (row({"wait_words": 4000}), "ifmap stream", "the ifmap stream limits this layer."),
    "drain": (
        row({"wait_psum": 4000}, drain={"busy": 7000, "stall": 2500}),
        "drain",
        "The drain was busy in 70 % of the cycles, and the PPU stalled it in 25 %. The drain "
        "limits this layer. MACs for each ofmap value: 1.",
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
    "idle for DRAM": (
        row({"idle": 5000}, dma={"busy": 9000}) | {"dram_bytes": 70_000, "dram_read_bytes": 72_000},
        "memory-bound",
        "The DRAM port limits this layer. It moved 72,000 bytes; the layer's filters and quantisation parameters have "
        "644.",
    ),
    "port for others": (row({"idle": 5000}, dma={"busy": 9000}), "mapping", "A pass ran in 100 % of the cycles."),
}


def found(given: dict, config: AcceleratorConfig = DEFAULT, step: ImageStep = STEP, **occupancy: float) -> Reason:
    """Return the reason of a layer; occupancy: fields in which its passes differ from FULL, if it is predicted."""
    told = reason(Interval(given, config, step, 1, replace(FULL, **occupancy) if occupancy else None))
    return Reason(told.limit, told.text.replace("\N{NO-BREAK SPACE}", " "))


@pytest.mark.parametrize("name", CASES)
def test_reason(name: str) -> None:
    given, limit, text = CASES[name]
    assert found(given).limit == limit
    assert text in found(given).text


OCCUPIED: dict[str, tuple[dict, dict, dict, str, str]] = {  # special fields of row, step and passes; limit, text
    "channels": (
        row({"idle": 500}),
        {"ifmap": (8, 8, 3)},
        {"issued_macs": 1333, "word_channels": 4},
        "padding",
        "Of the 1,333 issued MACs, 75 % are the layer's: its 3 ifmap channels fill 3 of 4.",
    ),
    "filters": (
        row({}),
        {"ofmap": (8, 8, 10)},
        {"issued_macs": 1600},
        "padding",
        "Of the 1,600 issued MACs, 62 % are the layer's: its 10 ofmap channels fill 10 of 16 filters",
    ),
    "blocks": (row({}), {}, {"issued_macs": 1250, "block_pixels": 80}, "padding", "the ofmap fills 80 % of its blocks"),
    "tiles overlap": (
        row({}),
        {},
        {"issued_macs": 1500, "block_pixels": 96, "ofmap_bytes": 1536},
        "padding",
        "its passes compute the ofmap 1.50 times, since tiles overlap",
    ),
    "grouped": (row({}), {"kind": "grouped"}, {"issued_macs": 8000}, "padding", "each filter reads one of 8 channels."),
    "kernel": (row({}), {}, {"issued_macs": 1200}, "padding", "its kernel fills 83 % of the taps"),
    "one column": (
        row({"wait_filter": 1000}, counters={"glb_filter_bytes": 76_000}),
        {"ofmap": (64, 1, 16)},
        {"issued_macs": 2000, "block_pixels": 128, "pixels": 2},
        "filter port",
        "A PE has 1 pixel for each filter, since the ofmap is 1 pixel wide. Of the 2,000 issued MACs, 50 % are the "
        "layer's: a PE computes 2 pixels of a row, and the ofmap is 1 wide.",
    ),
    "columns without work": (
        row({"wait_words": 6000}, counters={"glb_depthwise_bytes": 8}),
        {},
        {"columns": 4.0},
        "mapping",
        'Passes use 4.0 of 8 columns on average; the ofmap is 8 x 8, the schedule "rows by 2".',
    ),
    "late data": (
        row({"idle": 3000}, counters={"array_busy": 7500}, dma={"busy": 6000}),
        {},
        {"waited": 2000},
        "late data",
        "No pass ran in 25 % of the cycles. In 20 %, as predicted, the next pass waited for a transfer.",
    ),
    "short passes": (
        row({"idle": 3000}, counters={"array_busy": 7500}),
        {},
        {"waited": 100},
        "start and end",
        "No pass ran in 25 % of the cycles. The layer has 3 passes.",
    ),
    "without the array": (
        row({"wait_ifmap": 9000}, drain={"busy": 4700}),
        {"ofmap": (8, 8, 3)},
        {"issued_macs": 0, "columns": 0.0, "waited": 1500},
        "vector pass",
        "Words entered the PPU in 47 % of the interval's 10,000 cycles. Its 3 channels fill 3 of 8 in the words. "
        "In 15 %, as predicted, a pass waited for a transfer.",
    ),
    "padding before the port": (
        row({}, dma={"busy": 9900}),
        {},
        {"issued_macs": 1333, "block_pixels": 85, "waited": 1400},
        "padding",
        "Padding limits this layer.",
    ),
}


@pytest.mark.parametrize("name", OCCUPIED)
def test_reason_with_the_work_of_the_passes(name: str) -> None:
    given, step, occupancy, limit, text = OCCUPIED[name]
    told = found(given, step=replace(STEP, **step), **occupancy)
    assert told.limit == limit
    assert text in told.text


SAME_5X5 = {"R": 5, "S": 5, "padding": "same"}
PADDED = {  # a layer, and the shares that it fills: channels, filters, pixels, kernel
    "a full layer": (Shape("pointwise", 8, 32, 64, 64), (1, 1, 1, 1)),
    "channels and filters": (Shape("pointwise", 8, 32, 33, 12), (33 / 40, 1, 1, 1)),
    "one column": (Shape("convolution", 66, 3, 40, 120, 3, 3), (1, 1, 1 / 2, 1)),
    "three channels": (Shape("convolution", 16, 16, 3, 16, 3, 3, padding="same"), (3 / 4, 1, 1, 1)),
    "six rows for a kernel of five": (Shape("depthwise", 16, 16, 32, 32, **SAME_5X5), (1, 1, 1, 5 / 6)),
    "one channel of eight": (Shape("depthwise", 16, 16, 32, 32, **SAME_5X5, dilation=2), (1 / 8, 1, 1, 1)),
}


@pytest.mark.parametrize("name", PADDED)
def test_what_a_layer_fills(name: str, tmp_path: Path) -> None:
    """The factors of padding, of layers for which they are known; their product is the layer's share of the MACs."""
    shape, expected = PADDED[name]
    path = tmp_path / "layer.tflite"
    path.write_bytes(model(np.random.default_rng(0), shape))
    image = compile_network(path).image
    [work], [step] = occupancies(image, predict(image)), image.steps
    interval = Interval(row({}), DEFAULT, step, 1, work)
    filled = [each(interval, work) for each in (channels_filled, filters_filled, pixels_filled, kernel_filled)]
    assert filled == pytest.approx(expected, rel=1e-3)
    assert np.prod(filled) == pytest.approx(interval.own)


def test_cycles_in_intervals_of_other_layers() -> None:
    given = row({"idle": 1500}, counters={"array_busy": 8500}) | {"cycles": 15_000}
    told = found(given, issued_macs=FULL.issued_macs)
    assert told.limit == "other layers"
    assert told.text.startswith("5,000 of the 15,000 cycles lie in intervals of other layers, whose passes had not")
    issued = DEFAULT.total_multipliers * 13_000  # of them 8,500 cycles in the interval
    step = replace(STEP, macs=issued)
    assert found(given, step=step, issued_macs=issued).limit == "compute-bound"


def test_every_rule_has_a_case() -> None:
    """Its docstring is one sentence, and a case makes it speak first."""
    rules = {*RULES, *IDLE_RULES, *PADDING_RULES}
    assert all(rule.__doc__.strip().endswith(".") for rule in rules)
    spoken = set()
    for given, step, occupancy in [
        *((given, {}, None) for given, _, _ in CASES.values()),
        *((given, step, replace(FULL, **occupancy)) for given, step, occupancy, _, _ in OCCUPIED.values()),
    ]:
        interval = Interval(given, DEFAULT, replace(STEP, **step), 1, occupancy)
        own = {"idle": IDLE_RULES, "padding": PADDING_RULES}.get(interval.loss, RULES)
        spoken.add(next(rule for rule in own if rule(interval)))
    assert spoken == rules


def test_wide_filter_port() -> None:
    given = row({"wait_filter": 4000}, counters={"glb_filter_bytes": 76_000})
    assert found(given, AcceleratorConfig(filter_lanes=2)).limit == "filters in bursts"


def test_no_cycles() -> None:
    assert found(row({}, counters={"cycles": 0})) == Reason(
        "none", "The passes of this layer end together with passes of other layers."
    )


@pytest.mark.parametrize(
    "cycles, roofline, slow", [(2001, 1539, True), (2001, 1540, False), (2000, 0, False), (2001, 0, True)]
)
def test_slow_layers(cycles: int, roofline: int, slow: bool) -> None:
    suggestion = {"change": "cols 16", "before": 2100, "predicted_cycles": 1050}
    entry = {"name": "conv0", "cycles": cycles, "roofline_cycles": roofline, "limit": "drain", "reason": "It is full."}
    entry["suggestions"] = [suggestion]
    assert is_slow(entry) == slow
    over = f"{cycles / roofline:.2f} times its roofline" if roofline else "its roofline is 0"
    lines = f"\nconv0: 2,001 cycles, {over}: drain. It is full.\n    cols 16: 1,050 cycles predicted instead of 2,100"
    bounds = "above 1.3 times the roofline and 2,000 cycles"
    assert slow_layers({"layers": [entry]}) == (f"layers {bounds}:{lines}" if slow else f"no layer is {bounds}")
