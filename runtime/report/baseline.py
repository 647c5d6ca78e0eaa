# SPDX-License-Identifier: Apache-2.0
"""The published baseline machine, for runs of the network that its table is about."""

import csv
from pathlib import Path

from compiler.image import Image

REFERENCE = Path(__file__).resolve().parents[2] / "data" / "reference"
MULTIPLIERS = 48


def baseline(image: Image) -> dict[str, float] | None:
    """Cycles, DRAM and GLB bytes, energy in uJ of the baseline for an image; None for another network."""
    network = [(int(row["macs"]), int(row["weight_B"])) for row in _table("network.csv") if int(row["macs"])]
    steps = [(step["macs"] // image.images, step["weight_bytes"]) for step in image.map["steps"]]
    if steps != network:
        return None
    columns = {"cycles": "latency_cycles", "dram_bytes": "dram_access_B", "glb_bytes": "glb_access_B",
               "energy_uJ": "energy_uJ"}
    rows = _table("baseline.csv")
    return {name: sum(float(row[column]) for row in rows) for name, column in columns.items()}


def _table(name: str) -> list[dict[str, str]]:
    with (REFERENCE / name).open() as file:
        return list(csv.DictReader(file))
