# SPDX-License-Identifier: Apache-2.0
"""eyrie bench and runtime/metrics.py: figures of counters made by hand, tables, parts and budget."""

import re
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from eyrie.commands import bench
from eyrie.compiler.ir.feature_map import FeatureMap, word_groups
from eyrie.compiler.ir.image import Image
from eyrie.compiler.ir.image_layout import Area, DramMap, ImageStep
from eyrie.measure.campaigns import engine, executors
from eyrie.measure.campaigns.task import Result
from eyrie.model.config import AcceleratorConfig
from eyrie.model.encoding import Counter
from eyrie.model.errors import InputError
from eyrie.runtime import folders
from eyrie.runtime.metrics import LAYER_HEADS, bars, layer_table, ratios, unit_table
from eyrie.runtime.metrics import metrics as network_metrics
from tests.commands.campaign_tasks import in_threads
from tests.commands.commands import assert_rejected, eyrie

NO_PROGRAM = Area(0, 64)  # nothing can be predicted


def counters(**values: int) -> dict[str, int]:
    return {counter.name: 0 for counter in Counter} | values


def step(name: str, passes: tuple[int, ...], macs: int, weight_bytes: int, channels: int) -> ImageStep:
    return ImageStep(
        name, "conv", "whole", "", passes, macs, weight_bytes, channels, ifmap=(1, 1, 8), ofmap=(1, 1, channels)
    )


def whole(channels: int) -> DramMap:
    """Return a map of one pixel at the beginning of the memory."""
    return DramMap(0, (1, 1, channels), FeatureMap(1, 1, word_groups(channels), 0, 1), None, 1.0, 0, None)


@pytest.fixture
def image() -> Image:
    """Two groups on 6 x 8 PEs with 4 multipliers: the first is bound by MACs, the second by
    bytes."""
    steps = (step("a", (0, 1), 192_000, 72, 8), step("b", (2,), 1920, 7200, 800))
    inputs, outputs = {"map": whole(4)}, {"map": whole(800)}
    return Image(1, NO_PROGRAM, inputs, outputs, {}, AcceleratorConfig(), steps, (), np.zeros(0, np.uint8))


@pytest.fixture
def metrics(image: Image) -> dict:
    """Of three passes; each one's counters are those since the start."""
    traces = [
        counters(CYCLES=900, MACS=96_000, PE_WAIT_FILTER=4800, DMA_BUSY=10),
        counters(CYCLES=1500, MACS=192_000, ZERO_SKIPPED=1000, PE_WAIT_FILTER=9600, DMA_BUSY=30, GLB_LOAD_BYTES=64),
        counters(
            CYCLES=3900,
            MACS=194_000,
            ZERO_SKIPPED=1500,
            PE_WAIT_FILTER=9600,
            PE_IDLE=96_000,
            DMA_BUSY=1030,
            GLB_LOAD_BYTES=64,
            GLB_OFMAP_BYTES=800,
            DRAM_READ_BYTES=16_000,
        ),
    ]
    end = traces[-1] | counters(
        CYCLES=4000,
        MACS=194_000,
        ZERO_SKIPPED=1500,
        PE_WAIT_FILTER=9600,
        PE_IDLE=100_800,
        DMA_BUSY=1130,
        GLB_LOAD_BYTES=64,
        GLB_OFMAP_BYTES=800,
        GLB_STORE_BYTES=800,
        DRAM_READ_BYTES=16_000,
        DRAM_WRITE_BYTES=800,
        GLB_CONFLICTS=12,
    )
    passes = [trace | {"signature": 1, "pe_cycles": cycles * 48} for trace, cycles in zip(traces, (800, 450, 2650))]
    return network_metrics(image, end, passes)


def test_figures(metrics: dict) -> None:
    assert (metrics["cycles"], metrics["macs"], metrics["multipliers"]) == (4000, 193_920, 192)
    assert metrics["utilisation"] == 0.2525
    assert metrics["roofline_cycles"] == 1000 + 1800
    assert metrics["compulsory_dram_bytes"] == 72 + 72 + 7200 + 7200 + 804
    assert (metrics["glb_read_bytes"], metrics["glb_write_bytes"]) == (800, 864)
    # pJ: 192,500 MACs, 1664 and 16,800 bytes; 50 uW for 20 us.
    assert metrics["energy_uJ"] == round((192_500 * 2 + 1664 * 10 + 16_800 * 200) * 1e-6 + 50e-6 * 20, 2)


def test_layers(metrics: dict) -> None:
    first, second = metrics["layers"]
    assert (first["cycles"], second["cycles"]) == (1250, 3900 - 1250)
    assert (first["mac_cycles"], second["mac_cycles"]) == (1000, 10)
    assert first["predicted_cycles"] is None and first["dram_bytes"] is None
    assert (first["roofline_cycles"], second["roofline_cycles"]) == (1000, 1800)
    assert first["utilisation"] == 0.8
    assert (first["zero_skipped"], second["zero_skipped"]) == (1000, 500)
    assert (first["glb_write_bytes"], second["glb_write_bytes"]) == (64, 800)
    assert (first["counters"]["cycles"], second["counters"]["cycles"]) == (1500, 2400)


def test_units(metrics: dict) -> None:
    none = dict.fromkeys(("wait_ifmap", "wait_words", "wait_psum"), 0)
    first, second = (layer["units"] for layer in metrics["layers"])
    assert first["pe"] == {"busy": 1000, "wait_filter": 200, "idle": 0, **none}
    assert second["pe"] == {"busy": 10, "wait_filter": 0, "idle": 2000, **none}
    assert (first["dma"]["busy"], second["dma"]["busy"]) == (30, 1000)
    assert metrics["units"]["pe"]["idle"] == 2100 and metrics["units"]["glb"] == {"lost": 12}


def test_bars(metrics: dict) -> None:
    """The longest interval has the longest bar; its shades are the states of the PEs."""
    title, *rows = bars(metrics).splitlines()
    assert "multiplying" in title and "waiting" in title and "idle" in title
    assert rows[0].split() == ["a", "37.5", "%", "█" * 25 + "▒" * 13]
    assert rows[1].split() == ["b", "60.0", "%", "▒" * 10 + "░" * 50]


def test_tables(metrics: dict) -> None:
    head, *rows = layer_table(metrics).splitlines()
    assert re.split("  +", head) == list(LAYER_HEADS)
    assert [row.split() for row in rows] == [
        ["a", "conv", "1,250", "-", "1,000", "80.0", "%", "-", "0", "64"],
        ["b", "conv", "2,650", "-", "10", "0.4", "%", "-", "16,000", "800"],
        ["network", "4,000", "-", "1,010", "25.2", "%", "-", "16,800", "1,664"],
    ]
    assert ratios(metrics) == "cycles / roofline 1.429, DRAM / compulsory bytes 1.095"
    title, head, *rows = unit_table(metrics).splitlines()
    assert {len(line) for line in (title, head, *rows)} == {len(head)} and len(head) <= 130
    # Each column ends where its head does, and each unit's title spans its columns.
    assert rows[0].split() == "a 1500 1000 0 0 200 0 0 0 0 0 0 0 0 30 0 0".split()
    assert rows[1].split() == "b 2400 10 0 0 0 0 2000 0 0 0 0 0 0 1000 0 0".split()
    assert head.split()[:8] == "layer cycles busy ifmap words filter psum idle".split()
    assert title.index("-") == head.index("busy") - 2 and title.split("GLB")[0].count("DMA") == 1


@pytest.mark.parametrize("text", ["nosuch", "speed,nosuch", "nosuch,speed"])
def test_unknown_part_rejected(text: str) -> None:
    run = eyrie("bench", "--parts", text)
    assert_rejected(
        run,
        "eyrie bench: unknown part 'nosuch': choose from latency100, batch4, mult48, bus128, codes, cost_model, speed",
    )
    assert not run.stdout


def test_command_line_rejected() -> None:
    run = eyrie("bench", "--budget", "soon")
    assert_rejected(run, "eyrie bench: --budget 'soon': must be a number of minutes, 0 or more")


def test_parts_within_the_budget(monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    def fails(base: object) -> dict:
        raise InputError("no reason")

    monkeypatch.setattr(bench, "PARTS", {"good": lambda base: {"match": True}, "bad": fails})
    base = SimpleNamespace(campaign=engine.Campaign("bench", time.time() + 60))
    assert bench.chosen("bad, good,") == ["bad", "good"]
    sections = bench.run_parts(["bad", "good"], base)
    assert sections == {"bad": {"match": False, "reason": "no reason"}, "good": {"match": True}}
    assert capsys.readouterr().out == "bad: no reason\n"
    base.campaign, base.seeds = engine.Campaign("bench", time.time() - 1), (1, 2, 3)  # the others are stored
    assert bench.run_parts(["good"], base) == {}
    assert capsys.readouterr().out == "good: skipped, the budget is used up\n"


def test_seeds_of_the_cost_model(monkeypatch: pytest.MonkeyPatch, capsys, tmp_path: Path) -> None:
    """All seeds count. A seed that fails gives the reason. None begins when the budget is used up."""

    def run(folder: Path, bench: str, seed: int) -> Result:
        share = 0.5 if bench == "cost0" else 1.25
        entry = {
            "test": bench,
            "seed": seed,
            "status": "pass" if share < 1 else "fail",
            "reason": "too far",
            "layers": 60,
            "within": 60 - (share > 1),
            "worst_share_of_bound": share,
            "missed": [],
            "drawn": 63,
            "rejected": 3,
        }
        return Result(entry, failure=None if share < 1 else "too far")

    monkeypatch.setattr(folders, "BUILD", tmp_path / "build")
    monkeypatch.setattr(executors, "local", in_threads)
    monkeypatch.setattr(bench, "cost_run", run)
    monkeypatch.setattr(bench, "predict", lambda image: SimpleNamespace(layers=[SimpleNamespace(name="a", cycles=99)]))
    campaign = engine.Campaign("bench", time.time() + 60)
    base = SimpleNamespace(
        out=tmp_path, image=None, summary={"layers": [{"cycles": 100}]}, seeds=(7, 8, 9), campaign=campaign
    )
    section = bench.cost_model(base)
    assert (section["layers"], section["within"], section["drawn"], section["rejected"]) == (360, 357, 378, 18)
    assert section["worst_share_of_bound"] == 1.25 and not section["match"]
    seeds = [run["seed"] for run in section["runs"]]
    assert [*dict.fromkeys(seeds)] == [7, 8, 9] and [run["test"] for run in section["runs"]] == ["cost0", "cost1"] * 3
    assert section["reason"] == f"cost1, seed {seeds[0]}: too far"
    assert (
        f"failed: cost1, seed {seeds[0]}: too far; again: EYRIE_SCALE=7.5 eyrie sim cost1 --seed {seeds[0]}"
        in capsys.readouterr().out
    )
    base.campaign, base.seeds = engine.Campaign("bench", time.time() - 1), (1, 2, 3)  # the others are stored
    assert bench.cost_model(base) == {"match": False, "reason": "the budget is used up"}
    assert "the budget is used up after 0 of 6 runs" in capsys.readouterr().out
