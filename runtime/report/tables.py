# SPDX-License-Identifier: Apache-2.0
"""The tables of the report: figures as they are in summary.json, each cell with its key there."""

from collections.abc import Iterable
from dataclasses import dataclass

from eyrie.compiler.cost.prices import LEAKAGE_W, PJ_PER_DRAM_BYTE, PJ_PER_GLB_BYTE, PJ_PER_MAC, energy_by_level
from eyrie.model.config import AcceleratorConfig
from eyrie.runtime.report.text import printable

LAYER_COLUMNS = {
    "cycles": "cycles",
    "roofline_cycles": "roofline cycles",
    "utilisation": "utilisation",
    "macs": "multiplications",
    "zero_skipped": "zero_skipped",
    "dram_read_bytes": "DRAM bytes read",
    "dram_write_bytes": "DRAM bytes written",
    "glb_read_bytes": "GLB bytes read",
    "glb_write_bytes": "GLB bytes written",
}
NETWORK_KEYS = {"zero_skipped": "counters.zero_skipped"}  # where the network's figure has another key than a layer's
UNIT_NAMES = {"pe": "PE", "ifmap": "ifmap", "filter": "filters", "drain": "drain", "dma": "DMA", "glb": "GLB"}

LAYERS_TEXT = (
    "Cycles: where two passes run at a time, they share them; utilisation is of these cycles. What is "
    "zero-skipped MACs and the bytes are those of the layer's span, from the end of the layer before to its own."
)
UNITS_TEXT = "Cycles of the layer's span, from the end of the layer before to its own; PEs on average."

Cell = tuple[str, str]  # text, key in summary.json or ""
Row = list[str | Cell]


@dataclass(frozen=True)
class Table:
    """rows: the first entry of each is its name, the others are cells; total: the last row is the sum."""

    title: str
    text: str
    heads: list[str]
    rows: list[Row]
    total: bool = False


def shown(key: str, value: float) -> str:
    """A figure as text; utilisation in percent."""
    if key.endswith("utilisation"):
        return f"{100 * value:.2f} %"
    return f"{value:,}"


def _cells(metrics: dict, prefix: str, keys: Iterable[str]) -> list[Cell]:
    return [(shown(key, _figure(metrics, key)), prefix + key) for key in keys]


def _figure(metrics: dict, key: str) -> float:
    *outer, last = key.split(".")
    for part in outer:
        metrics = metrics[part]
    return metrics[last]


def _by_layer(metrics: dict, title: str, text: str, heads: list[str], keys: list[str], total: list[str]) -> Table:
    """keys: of the figures of a layer; total: of the network."""
    rows: list[Row] = [
        [f"{number}  {printable(row['name'])}", *_cells(row, f"layers.{number - 1}.", keys)]
        for number, row in enumerate(metrics["layers"], 1)
    ]
    rows.append(["network", *_cells(metrics, "", total)])
    return Table(title, text, ["layer", *heads], rows, True)


def cell_tables(metrics: dict) -> list[Table]:
    """All layers; the units in each layer; all counters."""
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
        _by_layer(metrics, "Units", UNITS_TEXT, ["span", *heads], ["counters.cycles", *units], ["cycles", *units]),
        Table("Counters", "Of the whole run.", ["counter", "value"], counters),
    ]


def energy_table(metrics: dict, config: AcceleratorConfig) -> Table:
    """Energy of the network by level, with what was counted and its price."""
    counts = {
        "multipliers": metrics["counters"]["macs"] - metrics["counters"]["zero_skipped"],
        "GLB": metrics["glb_read_bytes"] + metrics["glb_write_bytes"],
        "DRAM": metrics["dram_read_bytes"] + metrics["dram_write_bytes"],
        "leakage": metrics["cycles"],
    }
    units = {
        "multipliers": ("MACs that are not zero-skipped", f"{PJ_PER_MAC} pJ"),
        "GLB": ("bytes", f"{PJ_PER_GLB_BYTE} pJ"),
        "DRAM": ("bytes", f"{PJ_PER_DRAM_BYTE} pJ"),
        "leakage": ("cycles", f"{1e6 * LEAKAGE_W:g} µW"),
    }
    split = energy_by_level(counts["multipliers"], counts["GLB"], counts["DRAM"], counts["leakage"], config.clock_hz)
    whole = sum(split.values())
    rows: list[Row] = [
        [
            level,
            *(
                (text, "")
                for text in (
                    f"{counts[level]:,} {units[level][0]}",
                    units[level][1],
                    f"{value:,.2f} µJ",
                    f"{100 * value / whole:.1f} %",
                )
            ),
        ]
        for level, value in split.items()
    ]
    total = (f"{metrics['energy_uJ']:,} µJ", "energy_uJ")
    rows.append(["all", ("", ""), ("", ""), total, ("", "")])
    return Table("Energy by level", "", ["level", "counted", "price of each", "energy", "share"], rows, True)
