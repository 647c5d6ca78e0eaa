# SPDX-License-Identifier: Apache-2.0
"""The metrics of a network run, from the accelerator's counters (keys: docs/reference/summary.md)."""

from eyrie.compiler.cost.occupancy import occupancies
from eyrie.compiler.cost.predict import Prediction, predict
from eyrie.compiler.cost.prices import energy_uj
from eyrie.compiler.cost.roofline import compulsory_bytes, roofline_cycles, step_cycles
from eyrie.compiler.cost.shares import held_cycles
from eyrie.compiler.cost.traffic import saved_by_codes
from eyrie.compiler.ir.image import Image
from eyrie.compiler.performance import estimates
from eyrie.model.encoding import glb_read_bytes, glb_write_bytes
from eyrie.model.errors import InputError
from eyrie.model.messages import aligned
from eyrie.runtime.reasons.interval import Interval
from eyrie.runtime.reasons.rules import reason
from eyrie.runtime.reasons.slow import NONE_SUGGESTED, Suggestions, is_slow

# The cycle counters of each unit, by state. Counters of PEs are divided by the number of PEs.
_PE_WAITS = {
    "wait_ifmap": "PE_WAIT_IFMAP",
    "wait_words": "PE_WAIT_WORDS",
    "wait_filter": "PE_WAIT_FILTER",
    "wait_psum": "PE_WAIT_PSUM",
    "idle": "PE_IDLE",
}
_UNITS = {
    "ifmap": {"stall": "IFMAP_STALL", "wait": "IFMAP_WAIT"},
    "filter": {"stall": "FILTER_STALL", "wait": "FILTER_WAIT"},
    "drain": {"busy": "DRAIN_BUSY", "stall": "DRAIN_STALL"},
    "dma": {"busy": "DMA_BUSY", "wait": "DMA_WAIT"},
    "glb": {"lost": "GLB_CONFLICTS"},
}
_TITLES = {
    "pe": " PEs: busy, waiting for ..., idle ",
    "ifmap": " ifmap ",
    "filter": " filter ",
    "drain": " drain ",
    "dma": " DMA ",
    "glb": " GLB ",
}


def multipliers(image: Image) -> int:
    return image.config.total_multipliers


def units(image: Image, counters: dict[str, int]) -> dict[str, dict[str, int]]:
    """Return the cycles of each unit by state: busy, stalled by the next unit, waiting; PEs are averaged."""
    pes = image.config.rows * image.config.cols
    pe = {"busy": round(counters["MACS"] / multipliers(image))}
    pe |= {what: round(counters[name] / pes) for what, name in _PE_WAITS.items()}
    return {"pe": pe} | {
        unit: {what: counters[name] for what, name in states.items()} for unit, states in _UNITS.items()
    }


def _layers(image: Image, passes: list[dict], prediction: Prediction | None, suggestions: Suggestions) -> list[dict]:
    """Return the entry of each layer (keys: docs/reference/summary.md).

    The cycles of a layer are those in which its passes hold the accelerator (compiler/cost/shares.py). The last layer
    also has the cycles after its last pass left the array. The interval of a pass is the time since the end of the
    previous one; the interval of a layer consists of the intervals of its passes.
    """
    counts = [name for name in passes[0] if name not in ("signature", "pe_cycles")]
    pes = image.config.rows * image.config.cols
    before = [dict.fromkeys(counts, 0), *passes[:-1]]
    gone = [{name: now[name] - then[name] for name in counts} for then, now in zip(before, passes)]
    estimated = estimates(image, prediction.layers) if prediction else [None] * len(image.steps)
    occupied = occupancies(image, prediction) if prediction else [None] * len(image.steps)
    is_vector = [times.columns == 0 for times in prediction.passes] if prediction else [False] * len(passes)
    held = held_cycles([now["pe_cycles"] / pes for now in passes], [now["CYCLES"] for now in passes], is_vector)
    rows = list[dict]()
    for step, estimate, occupancy in zip(image.steps, estimated, occupied, strict=True):
        row = {name: sum(gone[number][name] for number in step.passes) for name in counts}
        cycles = round(sum(held[number] for number in step.passes))
        if step is image.steps[-1]:
            cycles = passes[-1]["CYCLES"] - sum(r["cycles"] for r in rows)
        entry = {
            "name": step.name,
            "kind": step.kind,
            "schedule": step.schedule,
            "cycles": cycles,
            "predicted_cycles": estimate and estimate.predicted_cycles,
            "mac_cycles": round(step.macs / multipliers(image)),
            "macs": step.macs,
            "roofline_cycles": round(step_cycles(image, step)),
            "roofline_share": _share(step_cycles(image, step), cycles),
            "utilisation": _share(step.macs, multipliers(image) * cycles),
            "zero_skipped": row["ZERO_SKIPPED"],
            "dram_bytes": estimate and estimate.dram_bytes,
            "dram_read_bytes": row["DRAM_READ_BYTES"],
            "dram_write_bytes": row["DRAM_WRITE_BYTES"],
            "glb_read_bytes": glb_read_bytes(row),
            "glb_write_bytes": glb_write_bytes(row),
            "units": units(image, row),
            "counters": {name.lower(): value for name, value in row.items()},
        }
        suggested = suggestions.get(step.name, []) if is_slow(entry) else []
        found = reason(Interval(entry, image.config, step, image.images, occupancy))
        rows.append(entry | {"limit": found.limit, "reason": found.text, "suggestions": suggested})
    return rows


def prediction_of(image: Image) -> Prediction | None:
    """Return the prediction of the cost model, which takes a second; None if the image has no command list."""
    try:
        return predict(image)
    except InputError:
        return None


def _share(part: float, cycles: int) -> float:
    """Return part / cycles; 0 for a layer without PE cycles, which has vector passes only."""
    return round(part / cycles, 4) if cycles else 0.0


def metrics(
    image: Image,
    counters: dict[str, int],
    passes: list[dict],
    prediction: Prediction | None = None,
    suggestions: Suggestions = NONE_SUGGESTED,
) -> dict:
    """Return the entries of a network run's summary; without a prediction its predicted entries are None."""
    macs, cycles = sum(step.macs for step in image.steps), counters["CYCLES"]
    glb_read, glb_write = glb_read_bytes(counters), glb_write_bytes(counters)
    dram = counters["DRAM_READ_BYTES"] + counters["DRAM_WRITE_BYTES"]
    return {
        "images": image.images,
        "cycles": cycles,
        "predicted_cycles": prediction and prediction.cycles,
        "cycles_per_image": round(cycles / image.images, 1),
        "dram_bytes_per_image": round(dram / image.images, 1),
        "macs": macs,
        "multipliers": multipliers(image),
        "utilisation": round(macs / (multipliers(image) * cycles), 4),
        "roofline_cycles": roofline_cycles(image),
        "dram_read_bytes": counters["DRAM_READ_BYTES"],
        "dram_write_bytes": counters["DRAM_WRITE_BYTES"],
        "saved_by_codes": saved_by_codes(counters),
        "compulsory_dram_bytes": compulsory_bytes(image),
        "dram_over_compulsory": round(dram / compulsory_bytes(image), 4),
        "glb_read_bytes": glb_read,
        "glb_write_bytes": glb_write,
        "glb_bytes": glb_read + glb_write,
        "energy_uJ": round(energy_uj(counters, cycles, image.config.clock_hz), 2),
        "units": units(image, counters),
        "counters": {name.lower(): value for name, value in counters.items()},
        "layers": _layers(image, passes, prediction, suggestions),
    }


def layer_table(metrics: dict) -> str:
    """Return the table of the layers and the network: measured and predicted cycles, bound, utilisation, bytes.

    DRAM bytes are the bytes that a layer owns; moved are the bytes at the DRAM port in the interval of the layer.
    """
    rows: list[tuple[str, ...]] = [LAYER_HEADS]
    for row in metrics["layers"]:
        rows.append((row["name"], row["kind"], *_shown(row, row["mac_cycles"], row["dram_bytes"])))
    macs, owned = (sum(row[key] or 0 for row in metrics["layers"]) for key in ("mac_cycles", "dram_bytes"))
    rows.append(("network", "", *_shown(metrics, macs, owned or None)))
    return "\n".join(aligned(rows, left=range(2)))


LAYER_HEADS = ("layer", "kind", "measured", "predicted", "MAC bound", "utilisation", "DRAM bytes", "moved", "GLB bytes")


def _shown(row: dict, mac_cycles: int, dram_bytes: int | None) -> tuple[str, ...]:
    """Return the cells of a row from `measured` on; "-" for an unknown value."""
    numbers = (row["cycles"], row["predicted_cycles"], mac_cycles)
    moved = (
        dram_bytes,
        row["dram_read_bytes"] + row["dram_write_bytes"],
        row["glb_read_bytes"] + row["glb_write_bytes"],
    )
    return (
        *("-" if number is None else f"{number:,}" for number in numbers),
        f"{100 * row['utilisation']:.1f} %",
        *("-" if number is None else f"{number:,}" for number in moved),
    )


BAR_WIDTH = 60  # characters of all layers together
BAR_STATES = {"busy": "█", "idle": "░"}  # of the PEs; other states are waits
WAITS = "▒"


def bars(metrics: dict) -> str:
    """Return a bar for each layer: its length is the layer's share of the cycles, its shades the states of the PEs."""
    rows, total = metrics["layers"], max(metrics["cycles"], 1)
    width = max(len(row["name"]) for row in rows)
    longest = max(row["counters"]["cycles"] for row in rows)
    lines = [f"cycles by layer: {BAR_STATES['busy']} multiplying, {WAITS} waiting, {BAR_STATES['idle']} idle"]
    for row in rows:
        cycles, states = row["counters"]["cycles"], row["units"]["pe"]
        length = round(BAR_WIDTH * cycles / max(longest, 1))
        cells = {state: round(length * states[state] / max(cycles, 1)) for state in BAR_STATES}
        waits = max(length - sum(cells.values()), 0)
        bar = BAR_STATES["busy"] * cells["busy"] + WAITS * waits + BAR_STATES["idle"] * cells["idle"]
        lines.append(f"{row['name']:{width}}  {100 * cycles / total:5.1f} %  {bar[:length]}".rstrip())
    return "\n".join(lines)


def unit_table(metrics: dict) -> str:
    """Return the table of the units: their cycles in the interval of each layer, and in the whole run."""
    names = [(unit, what) for unit, states in metrics["units"].items() for what in states]
    heads = [what.removeprefix("wait_") for _, what in names]
    widths = [max(7, len(head) + 1) for head in heads]
    title = f"{'':8} {'':7}"
    for unit in metrics["units"]:
        width = sum(w for w, (of, _) in zip(widths, names) if of == unit)
        title += f" {_TITLES[unit]:-^{width - 1}}"
    lines = [title, f"{'layer':8} {'cycles':>7}" + "".join(f"{head:>{w}}" for head, w in zip(heads, widths))]
    for row in [*metrics["layers"], metrics | {"name": "network"}]:
        cells = [f"{row['units'][unit][what]:{w}}" for w, (unit, what) in zip(widths, names)]
        lines.append(f"{row['name']:8} {row['counters']['cycles']:7}" + "".join(cells))
    return "\n".join(lines)


def ratios(metrics: dict) -> str:
    """Return the ratios of the network to its lower bounds."""
    roofline = metrics["roofline_cycles"]  # 0 for a network of elementwise operations only
    times = f"{metrics['cycles'] / roofline:.3f}" if roofline else "-"
    return f"cycles / roofline {times}, DRAM / compulsory bytes {metrics['dram_over_compulsory']:.3f}"
