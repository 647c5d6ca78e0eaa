# SPDX-License-Identifier: Apache-2.0
"""The published baseline accelerator, to compare runs of the network of its table with."""

import csv

from eyrie.compiler.ir.image import Image
from eyrie.runtime.folders import ROOT

REFERENCE = ROOT / "data" / "reference"
MULTIPLIERS = 48
NAME = "an Eyeriss-like array of 6 x 8 PEs with one multiplier each and a GLB of 64 KiB, by an analytical model"
SOURCE = "data/reference/baseline.csv"


def baseline(image: Image) -> dict[str, float] | None:
    """Cycles, DRAM bytes, energy in uJ of the baseline for an image; None for another network,
    that is one with other MACs or bytes of weights."""
    network, steps = _table("network.csv"), image.map["steps"]
    macs, weights = (sum(int(row[column]) for row in network) for column in ("macs", "weight_B"))
    if (sum(step["macs"] for step in steps), sum(step["weight_bytes"] for step in steps)) != (
        image.images * macs,
        weights,
    ):
        return None
    columns = {"cycles": "latency_cycles", "dram_bytes": "dram_access_B", "energy_uJ": "energy_uJ"}
    rows = published_layers()
    return {name: sum(float(row[column]) for row in rows) for name, column in columns.items()}


def published_layers() -> list[dict[str, str]]:
    """Its table, a row per layer, by column."""
    return _table("baseline.csv")


def _table(name: str) -> list[dict[str, str]]:
    with (REFERENCE / name).open() as file:
        return list(csv.DictReader(file))
