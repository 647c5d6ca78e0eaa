# SPDX-License-Identifier: Apache-2.0
"""Measured gate equivalents of data/reference/gate_records.csv, and the fit of the gate model to them."""

import csv
import io
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from eyrie.model.config import AcceleratorConfig, sizes
from eyrie.runtime.folders import ROOT
from eyrie.runtime.synthesis.blocks import BLOCKS
from eyrie.runtime.synthesis.gate_model import GROUPS, BlockGroup, Terms

RECORDS = ROOT / "data" / "reference" / "gate_records.csv"
FIT, HELD_OUT = "fit", "held-out"  # uses of a record
_COLUMNS = ("name", "use", *sizes(), "memory_bits", *BLOCKS)
_DIGITS = 6  # of a coefficient


@dataclass(frozen=True)
class GateRecord:
    """The synthesis of a configuration.

    use               FIT, or HELD_OUT for a record that the fit does not see
    gate_equivalents  block -> gate equivalents of all its instances, without the blocks in them; some blocks for FIT,
                      all blocks of the accelerator for HELD_OUT
    """

    name: str
    use: str
    config: AcceleratorConfig
    memory_bits: int
    gate_equivalents: dict[str, float]

    @property
    def total(self) -> float:
        return sum(self.gate_equivalents.values())

    def measured(self, group: BlockGroup) -> float | None:
        """Return the gate equivalents of a group; None if the record lacks it."""
        found = [self.gate_equivalents[block] for block in group.blocks if block in self.gate_equivalents]
        return sum(found) if found else None


def read_records() -> list[GateRecord]:
    """Return the checked-in records in order."""
    with RECORDS.open(newline="") as file:
        return [_record(row) for row in csv.DictReader(file)]


def _record(row: dict[str, str]) -> GateRecord:
    config = AcceleratorConfig(**{name: int(row[name]) for name in sizes()})
    areas = {block: float(row[block]) for block in BLOCKS if row[block]}
    return GateRecord(row["name"], row["use"], config, int(row["memory_bits"]), areas)


def text(records: Iterable[GateRecord]) -> str:
    """Return the text of the file of records."""
    file = io.StringIO()
    writer = csv.DictWriter(file, _COLUMNS, lineterminator="\n")
    writer.writeheader()
    for record in records:
        chosen = {name: getattr(record.config, name) for name in sizes()}
        own = {"name": record.name, "use": record.use, "memory_bits": record.memory_bits}
        writer.writerow(own | chosen | record.gate_equivalents)
    return file.getvalue()


def fitted(records: Iterable[GateRecord]) -> dict[str, Terms]:
    """Return the coefficients of each group, in gate equivalents for each unit of a term.

    They have the least sum of squared relative errors over the records for the fit.
    """
    chosen = [record for record in records if record.use == FIT]
    return {name: _coefficients(group, chosen) for name, group in GROUPS.items()}


def _coefficients(group: BlockGroup, records: list[GateRecord]) -> Terms:
    rows, names = [], list(group.terms(records[0].config))
    for record in records:
        measured = record.measured(group)
        if measured is not None:
            rows.append([value / measured for value in group.terms(record.config).values()])
    found = np.linalg.lstsq(np.array(rows), np.ones(len(rows)), rcond=None)[0]
    return {name: float(f"{value:.{_DIGITS}g}") for name, value in zip(names, found, strict=True)}
