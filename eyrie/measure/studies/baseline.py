# SPDX-License-Identifier: Apache-2.0
"""The published design of the same network and size: its layer table beside ours."""

from pathlib import Path

from eyrie.compiler.cost.counters import by_layer
from eyrie.compiler.cost.prices import energy_uj
from eyrie.compiler.network import compile_network
from eyrie.compiler.performance import Layer, Performance, performance
from eyrie.compiler.pipeline import Built
from eyrie.measure.studies.section import NOT_HAD, Row, Section, Table
from eyrie.model.encoding import glb_read_bytes, glb_write_bytes
from eyrie.runtime.bundled import MODEL
from eyrie.runtime.report.baseline import published_layers

SOURCE = """The baseline is a student design of an Eyeriss accelerator with 6 x 8 PEs and 64 KiB for MobileNetV1 on
CIFAR-10 (`data/reference/baseline.csv`). Eyrie started from it. It is an analytical model without the requantisation
between the two halves of a block. Our numbers are predictions for the default configuration, as `eyrie compile` prints
them. docs/concepts/cost.md has the error of predictions."""
COLUMNS = (  # what, the table's column, ours
    ("cycles", "latency_cycles", lambda layer: layer.predicted_cycles),
    ("DRAM bytes", "dram_access_B", lambda layer: layer.dram_bytes),
    ("GLB bytes", "glb_access_B", lambda layer: layer.glb_bytes),
    ("MACs", "macs_as_published", lambda layer: layer.macs),
)
FIGURES = ", ".join(what for what, *_ in COLUMNS)


def section(folder: Path) -> Section:
    """folder: not used."""
    stages = compile_network(MODEL)
    found = performance(stages)
    return Section(
        "The baseline, layer by layer", SOURCE, (_layers(found), _directions(stages, found), _sums(found), _model())
    )


def _layers(found: Performance) -> Table:
    rows = []
    for row, layer in zip(published_layers(), found.layers, strict=True):
        printed = ", ".join(f"{int(row[column]):,}" for _, column, _ in COLUMNS)
        ours = ", ".join(f"{value(layer):,}" for *_, value in COLUMNS)
        rows.append(Row(f"{layer.name}: {FIGURES}", printed, ours, _note(row, layer)))
    text = "DRAM bytes of a layer do not include commands. Its cycles begin at the end of the previous layer."
    return Table("Layers", text, tuple(rows))


def _note(row: dict[str, str], layer: Layer) -> str:
    return (
        ""
        if int(row["macs_as_published"]) == layer.macs
        else ("the table counts more MACs if depthwise layers have stride 2 or are widened")
    )


def _directions(stages: Built, found: Performance) -> Table:
    rows = []
    for row, layer, counts in zip(published_layers(), found.layers, by_layer(stages.image), strict=True):
        energy = energy_uj(counts["MACS"], layer.glb_bytes, layer.dram_bytes, layer.predicted_cycles, found.clock_hz)
        printed = [f"{int(row[f'{memory}_{way}_B']):,}" for memory in ("dram", "glb") for way in ("read", "write")]
        ours = [
            f"{count:,}"
            for count in (
                counts["DRAM_READ_BYTES"],
                counts["DRAM_WRITE_BYTES"],
                glb_read_bytes(counts),
                glb_write_bytes(counts),
            )
        ]
        rows.append(
            Row(
                f"{layer.name}: DRAM read, written, GLB read, written, energy in uJ",
                ", ".join([*printed, f"{float(row['energy_uJ']):.1f}"]),
                ", ".join([*ours, f"{energy:.1f}"]),
            )
        )
    uses = ", ".join(f"{int(row['glb_usage_B']):,}" for row in published_layers())
    rows.append(
        Row(
            "bytes of the GLB in use, layer by layer",
            uses,
            NOT_HAD,
            "the GLB has maps of several layers and "
            "weights of later ones at a time; `eyrie compile --dump places` shows them",
        )
    )
    return Table(
        "Reads and writes",
        "Energy with the same energy per access (docs/concepts/cost.md), ours without zero skipping.",
        tuple(rows),
    )


def _model() -> Table:
    run = "needs the data set: `eyrie accuracy`, data/mobilenetv1_cifar10/README.md"
    return Table(
        "Model",
        "The model was trained again and has other weights. PyTorch's profile is for a CPU.",
        (
            Row("int8 model, MB", "1.117842", f"{MODEL.stat().st_size / 1e6:.6f}", "of the file"),
            Row("CIFAR-10 top-1, float", "87.33 %", NOT_HAD, run),
            Row("CIFAR-10 top-1, int8", "86.94 %", NOT_HAD, run),
        ),
    )


def _sums(found: Performance) -> Table:
    sums = {
        column: sum(float(row[column]) for row in published_layers())
        for column in published_layers()[0]
        if column != "layer"
    }
    return Table(
        "Network",
        "",
        (
            Row("cycles", f"{sums['latency_cycles']:,.0f}", f"{found.cycles:,}"),
            Row("DRAM bytes", f"{sums['dram_access_B']:,.0f}", f"{found.dram_bytes:,}", "commands included"),
            Row("GLB bytes", f"{sums['glb_access_B']:,.0f}", f"{found.glb_bytes:,}"),
            Row(
                "energy, uJ",
                f"{sums['energy_uJ']:,.1f}",
                f"{found.energy_uJ:,.1f}",
                "with the same energy per access (docs/concepts/cost.md), ours without zero skipping",
            ),
        ),
    )
