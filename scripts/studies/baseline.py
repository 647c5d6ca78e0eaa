# SPDX-License-Identifier: Apache-2.0
"""The published design of the same network and size: its layer table beside ours."""

from pathlib import Path

from compiler.network import compile_network
from compiler.performance import Layer, Performance, performance
from runtime.report.baseline import published_layers
from runtime.shipped import MODEL
from scripts.studies.section import Row, Section, Table

SOURCE = """The student design of an Eyeriss machine of 6 x 8 PEs and 64 KiB for MobileNetV1 on CIFAR-10 that this one
grew from (`data/reference/baseline.csv`): an analytical model, whose network leaves out the requantisation between the
two halves of a block. Ours are predicted for the default machine, as `eyrie compile` prints them; docs/cost.md says how
far predictions are from the RTL."""
COLUMNS = (  # what, the table's column, ours
    ("cycles", "latency_cycles", lambda layer: layer.cycles),
    ("DRAM bytes", "dram_access_B", lambda layer: layer.dram_bytes),
    ("GLB bytes", "glb_access_B", lambda layer: layer.glb_bytes),
    ("multiplications", "macs_as_published", lambda layer: layer.macs),
)
FIGURES = ", ".join(what for what, *_ in COLUMNS)


def section(folder: Path) -> Section:
    """folder: not used, nothing is written."""
    found = performance(compile_network(MODEL))
    return Section("The baseline, layer by layer", SOURCE, (_layers(found), _sums(found)))


def _layers(found: Performance) -> Table:
    rows = []
    for row, layer in zip(published_layers(), found.layers, strict=True):
        printed = ", ".join(f"{int(row[column]):,}" for _, column, _ in COLUMNS)
        ours = ", ".join(f"{value(layer):,}" for *_, value in COLUMNS)
        rows.append(Row(f"{layer.name}: {FIGURES}", printed, ours, _note(row, layer)))
    text = "A layer's DRAM bytes are without commands; its cycles begin where those of the layer before end."
    return Table("Layers", text, tuple(rows))


def _note(row: dict[str, str], layer: Layer) -> str:
    return "" if int(row["macs_as_published"]) == layer.macs else (
        "the table counts more multiplications where depthwise layers have stride 2 or are widened")


def _sums(found: Performance) -> Table:
    sums = {column: sum(float(row[column]) for row in published_layers()) for column in published_layers()[0]
            if column != "layer"}
    return Table("Network", "", (
        Row("cycles", f"{sums['latency_cycles']:,.0f}", f"{found.cycles:,}"),
        Row("DRAM bytes", f"{sums['dram_access_B']:,.0f}", f"{found.dram_bytes:,}", "commands included"),
        Row("GLB bytes", f"{sums['glb_access_B']:,.0f}", f"{found.glb_bytes:,}"),
        Row("energy, uJ", f"{sums['energy_uJ']:,.1f}", f"{found.energy_uJ:,.1f}",
            "by the same prices (docs/cost.md), ours without zero gating"),
    ))
