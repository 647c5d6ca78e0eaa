# SPDX-License-Identifier: Apache-2.0
"""The published baseline accelerator, for comparison with runs of the same network."""

import csv

from eyrie.compiler.ir.image import Image
from eyrie.runtime.folders import ROOT

REFERENCE = ROOT / "data" / "reference"
MULTIPLIERS = 48
NAME = "an Eyeriss-like array of 6 x 8 PEs with one multiplier each and a GLB of 64 KiB, by an analytical model"
SOURCE = "data/reference/baseline.csv"


def baseline(image: Image) -> dict[str, float] | None:
    """Return cycles, DRAM bytes and energy (uJ) of the baseline for an image.

    Return None for another network, which has other MACs or bytes of weights.
    """
    network, steps = _table("network.csv"), image.steps
    macs, weights = (sum(int(row[column]) for row in network) for column in ("macs", "weight_B"))
    if (sum(step.macs for step in steps), sum(step.weight_bytes for step in steps)) != (
        image.images * macs,
        weights,
    ):
        return None
    columns = {"cycles": "latency_cycles", "dram_bytes": "dram_access_B", "energy_uJ": "energy_uJ"}
    rows = published_layers()
    return {name: sum(float(row[column]) for row in rows) for name, column in columns.items()}


def published_layers() -> list[dict[str, str]]:
    """Return the published table: a row per layer, by column."""
    return _table("baseline.csv")


def _table(name: str) -> list[dict[str, str]]:
    with (REFERENCE / name).open() as file:
        return list(csv.DictReader(file))
