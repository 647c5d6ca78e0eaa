# SPDX-License-Identifier: Apache-2.0
"""The tables of the report: numbers of summary.json, each cell with its key there."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from eyrie.compiler.cost.prices import LEAKAGE_W, PICOJOULES, accesses, energy_by_level
from eyrie.compiler.ir.image import Image
from eyrie.model.config import AcceleratorConfig
from eyrie.model.messages import times
from eyrie.runtime.report.text import printable

LAYER_COLUMNS = {
    "cycles": "cycles, measured",
    "predicted_cycles": "cycles, predicted",
    "mac_cycles": "MAC bound, cycles",
    "utilisation": "utilisation",
    "macs": "MACs",
    "zero_skipped": "zero-skipped MACs",
    "dram_bytes": "DRAM bytes",
    "dram_read_bytes": "moved: DRAM bytes read",
    "dram_write_bytes": "moved: DRAM bytes written",
    "glb_read_bytes": "GLB bytes read",
    "glb_write_bytes": "GLB bytes written",
}
# Keys of the network's numbers if they differ from a layer's; None: the network has no such number.
NETWORK_KEYS = {"zero_skipped": "counters.zero_skipped", "mac_cycles": None, "dram_bytes": None}
UNIT_NAMES = {"pe": "PE", "ifmap": "ifmap", "filter": "filters", "drain": "drain", "dma": "DMA", "glb": "GLB"}

LAYERS_TEXT = (
    "Cycles are the cycles of a layer's passes in the PEs. Utilisation is MACs / (multipliers x cycles). DRAM bytes "
    "are the bytes that a layer owns: its weights, its quantisation parameters, and its feature maps in DRAM. Moved "
    "are the bytes at the DRAM port in the layer's interval, which is the time since the previous layer ended. "
    "Zero-skipped MACs and GLB bytes are of that interval, too."
)
UNITS_TEXT = "Cycles in the layer's interval, which is the time since the previous layer ended; PEs on average."
MAPPING_TEXT = (
    "Shapes are height x width x channels. The mapping says how the output is divided among columns, passes and PEs "
    "(docs/concepts/mapping.md)."
)

Cell = tuple[str, str]  # text, key in summary.json or ""
Row = list[str | Cell]


@dataclass(frozen=True)
class Table:
    """A table. rows: the first entry of each is its name, the others are cells; total: the last row is the sum."""

    title: str
    text: str
    heads: list[str]
    rows: list[Row]
    total: bool = False


def shown(key: str, value: float | None) -> str:
    """Return a number as text: utilisation in percent, "-" for None."""
    if value is None:
        return "-"
    if key.endswith("utilisation"):
        return f"{100 * value:.2f} %"
    return f"{value:,}"


def _cells(metrics: dict, prefix: str, keys: Iterable[str | None]) -> list[Cell]:
    return [(shown(key, _number(metrics, key)), prefix + key) if key else ("", "") for key in keys]


def _number(metrics: dict, key: str) -> float | None:
    *outer, last = key.split(".")
    for part in outer:
        metrics = metrics[part]
    return metrics[last]


def _by_layer(
    metrics: dict, title: str, text: str, heads: list[str], keys: list[str], total: Sequence[str | None]
) -> Table:
    """Return a table with a row for each layer; keys: of the numbers of a layer; total: of the network."""
    rows: list[Row] = [
        [f"{number}  {printable(row['name'])}", *_cells(row, f"layers.{number - 1}.", keys)]
        for number, row in enumerate(metrics["layers"], 1)
    ]
    rows.append(["network", *_cells(metrics, "", total)])
    return Table(title, text, ["layer", *heads], rows, True)


def cell_tables(metrics: dict) -> list[Table]:
    """Return the tables of the layers, of the units in each layer, and of the counters."""
    units = [f"units.{unit}.{state}" for unit, states in metrics["units"].items() for state in states]
    heads = [
        f"{UNIT_NAMES[unit]} {state.replace('_', ' ')}" for unit, states in metrics["units"].items() for state in states
    ]
    counters: list[Row] = [[name, *_cells(metrics, "", [f"counters.{name}"])] for name in metrics["counters"]]
    return [
        _by_layer(
            metrics,
            "Layers",
            LAYERS_TEXT,
            list(LAYER_COLUMNS.values()),
            list(LAYER_COLUMNS),
            [NETWORK_KEYS.get(key, key) for key in LAYER_COLUMNS],
        ),
        _by_layer(metrics, "Units", UNITS_TEXT, ["interval", *heads], ["counters.cycles", *units], ["cycles", *units]),
        Table("Counters", "Of the whole run (docs/reference/counters.md).", ["counter", "value"], counters),
    ]


def energy_table(metrics: dict, config: AcceleratorConfig) -> Table:
    """Return the energy of the network by level, with the counts and the energy per access."""
    counters = {name.upper(): count for name, count in metrics["counters"].items()}
    units = {"multipliers": "MACs that are not zero-skipped"}
    counted = {
        level: (f"{count:,} {units.get(level, 'bytes')}", f"{PICOJOULES[level]} pJ")
        for level, count in accesses(counters).items()
    }
    counted["leakage"] = (f"{metrics['cycles']:,} cycles", f"{1e6 * LEAKAGE_W:g} µW")
    split = energy_by_level(counters, metrics["cycles"], config.clock_hz)
    whole = sum(split.values())
    rows: list[Row] = [
        [level, *((text, "") for text in (*counted[level], f"{value:,.2f} µJ", f"{100 * value / whole:.1f} %"))]
        for level, value in split.items()
        if value
    ]
    total = (f"{metrics['energy_uJ']:,} µJ", "energy_uJ")
    rows.append(["all", ("", ""), ("", ""), total, ("", "")])
    return Table("Energy by level", "", ["level", "counted", "energy per access", "energy", "share"], rows, True)


def mapping_table(image: Image) -> Table:
    """Return the kind, the shapes, the schedule and the mapping of each layer."""
    rows: list[Row] = [
        [
            f"{number}  {printable(step.name)}",
            (step.kind, ""),
            (times(step.ifmap), ""),
            (times(step.ofmap), ""),
            (f"{len(step.passes)}, {step.schedule}", ""),
            (step.mapping, ""),
        ]
        for number, step in enumerate(image.steps, 1)
    ]
    return Table("Shapes and mapping", MAPPING_TEXT, ["layer", "kind", "ifmap", "ofmap", "passes", "mapping"], rows)
