# SPDX-License-Identifier: Apache-2.0
"""The data sheet of a data set: how it was made, its columns, and the errors of three models of time."""

from collections import Counter

import numpy as np

from eyrie.measure import Entry
from eyrie.measure.dataset.layers import MAX_MACS, MAX_VALUES

ESTIMATES = {
    "predicted_cycles": "Eyrie's cost model",
    "bottleneck_cycles": "throughput model of Timeloop (ISPASS 2019)",
    "roofline_cycles": "roofline",
}
COLUMNS = {
    "seed, task, index": "place of the record in the drawing",
    "kind": "kind of the layer",
    "H, W, C, M, R, S, U, dilation, padding": "sizes of the layer: ifmap, ofmap channels, filter, stride",
    "configuration": "name of the configuration; its parameters follow (reference/parameters.md)",
    "mode": "mode of the array",
    "block_rows, block_cols, pixels, inner, outer": "the mapping: rows, columns, pixels of a PE, channel loops",
    "tile, tiles": "filters of a tile, and tiles",
    "filters_in": "memory of the filters",
    "schedule, passes": "loops around the passes, and their number",
    "macs": "MACs, padding included",
    "cycles": "cycles on the RTL, from start to done",
    "pe_*, ifmap_*, filter_*, drain_*, dma_*, glb_*": "cycles of the unit in this state (docs/reference/counters.md)",
    "dram_read_bytes, dram_write_bytes": "bytes at the DRAM port, commands included",
    **{name: f"estimate: {model}" for name, model in ESTIMATES.items()},
}


def errors(records: list[Entry], estimate: str) -> dict[str, float]:
    """Return the mean and the percentiles 50, 90 and 100 of the absolute relative error of an estimate."""
    found = np.array([abs(record[estimate] / record["cycles"] - 1) for record in records])
    return {"mean": float(found.mean()), **{f"p{p}": float(np.percentile(found, p)) for p in (50, 90, 100)}}


def sheet(records: list[Entry], command: str) -> str:
    """Return the data sheet in Markdown."""
    cycles = [record["cycles"] for record in records]
    kinds = Counter(record["kind"] for record in records)
    lines = [
        "# Layers of Eyrie on the RTL",
        "",
        f"{len(records):,} records, made by `{command}`. Each is a layer that ran on the RTL with random weights and a "
        "random input; every output was equal to the golden model's. Sizes are even on a logarithmic scale, at most "
        f"{MAX_MACS:,} MACs and {MAX_VALUES:,} values of a feature map. Kinds and configurations have equal shares. No "
        "two records have equal layer and configuration. Layers that do not fit into the GLB are drawn again.",
        "",
        f"Cycles: median {np.median(cycles):,.0f}, smallest {min(cycles):,}, largest {max(cycles):,}. License: "
        "Apache-2.0.",
        "",
        "| column | meaning |",
        "|---|---|",
        *(f"| `{name}` | {meaning} |" for name, meaning in COLUMNS.items()),
        "",
        "## Models of time",
        "",
        "Absolute relative error against the cycles on the RTL.",
        "",
        "| kind | records | " + " | ".join(f"{model}: mean | 90 % | largest" for model in ESTIMATES.values()) + " |",
        "|---|--:|" + 3 * len(ESTIMATES) * "--:|",
    ]
    for kind in (*sorted(kinds), "all"):
        own = [record for record in records if kind in (record["kind"], "all")]
        cells = []
        for estimate in ESTIMATES:
            found = errors(own, estimate)
            cells += [f"{found['mean']:.1%}", f"{found['p90']:.1%}", f"{found['p100']:.1%}"]
        lines.append(f"| {kind} | {len(own):,} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"
