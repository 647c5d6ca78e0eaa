# SPDX-License-Identifier: Apache-2.0
"""The report of a run: a page that stands alone, without scripts, and its plots as files beside it."""

import base64
from collections.abc import Callable
from pathlib import Path

from eyrie import __version__
from eyrie.compiler.cost.predict import Prediction
from eyrie.compiler.files import write_all, writing
from eyrie.compiler.ir.image import Image
from eyrie.runtime.reasons.slow import is_slow, over_roofline, suggested
from eyrie.runtime.report import baseline
from eyrie.runtime.report.about import About
from eyrie.runtime.report.render import Limit, Plot, Tile, configuration, drawn, ratio, rendered
from eyrie.runtime.report.tables import Table, cell_tables, energy_table, mapping_table
from eyrie.runtime.report.text import printable

TEMPLATE = "page.html.j2"
PAGE = "report.html"
PLOTS = "report"  # folder of the plots' files
SECTIONS = {
    "time": "Cycles",
    "bounds": "Roofline",
    "traffic": "Bytes and energy",
    "units": "Units over time",
    "places": "GLB over time",
    "layers": "Layers",
    "graph": "Graph",
    "baseline": "Published baseline",
    "config": "Configuration and counters",
}


def write(
    folder: Path,
    about: About,
    image: Image,
    metrics: dict,
    passes: list[dict],
    prediction: Prediction | None = None,
) -> Path:
    """Write folder/report.html and folder/report/*.svg and *.png; return the path of the page.

    metrics: of the run (docs/reference/summary.md), with `runs` if it is the first of several; passes: all counters
    by name at the end of each pass. Raise InputError, with one line, if a file cannot be written.
    """
    folder = Path(folder)
    plots, files = _plots(image, metrics, passes, prediction)
    page = _render(about, image, metrics, plots)
    with writing(folder):
        (folder / PLOTS).mkdir(parents=True, exist_ok=True)
    write_all(folder, {f"{PLOTS}/{name}": data for name, data in files.items()} | {PAGE: page.encode()})
    return folder / PAGE


# ---- Plots ----


def _plots(
    image: Image, metrics: dict, passes: list[dict], prediction: Prediction | None = None
) -> tuple[dict[str, Plot], dict[str, bytes]]:
    """Return the plots by name, and their files by file name."""
    from eyrie.runtime.report import canvas, glb_map, layers, roofline, timeline  # slow: matplotlib

    predicted = prediction.passes if prediction else None
    ends = [counters["CYCLES"] for counters in passes]
    drawings: dict[str, tuple[str, str, Callable]] = {
        "cycles": ("Cycles by layer", CYCLES_TEXT, lambda width: layers.cycles(metrics, width)),
        "roofline": ("Roofline", ROOFLINE_TEXT, lambda width: roofline.roofline(image, metrics, width)),
        "levels": (
            "Bytes and energy by layer",
            LEVELS_TEXT,
            lambda width: layers.levels(metrics, image.config.clock_hz, width),
        ),
        "timeline": (
            "Units over time",
            TIMELINE_TEXT + (PREDICTED_TEXT if predicted else ""),
            lambda width: timeline.timeline(image, passes, predicted, width),
        ),
        "glb": ("GLB over time", GLB_TEXT, lambda width: glb_map.glb_map(image, ends, width)),
    }
    plots, files = dict[str, Plot](), dict[str, bytes]()
    with canvas.style():
        for name, drawing in drawings.items():
            plots[name], made = drawn(name, *drawing)
            files |= made
    return plots, files


CYCLES_TEXT = (
    "Cycles of a layer are the cycles of its passes in the PEs; if passes of two layers overlap, the layers share "
    "them. The MAC bound is MACs / multipliers: no layer takes fewer cycles. The interval of a layer is the time since "
    "the previous layer ended; the states of the PEs and of the DRAM port refer to it. A PE is idle if no pass runs, "
    "or if the pass has no work for it. Loads run ahead, so that the port also works for the next layers."
)
ROOFLINE_TEXT = (
    "A layer left of the bend is memory-bound: the DRAM port limits it. A layer right of the bend is compute-bound: "
    "the multipliers limit it. The bytes of a layer are its filters and quantisation parameters, each counted once. "
    "A point can lie above the slope if its filters were loaded while earlier layers ran."
)
LEVELS_TEXT = (
    "Bytes and energy in the interval of each layer. The table below has the energy per access. PE registers, psum "
    "buffers, multicast networks and the PPU have no published energy and are left out. The leakage is far below the "
    "leakage of a chip with this many gates (docs/concepts/cost.md)."
)
TIMELINE_TEXT = (
    "Measured at the end of each pass. The height of a unit is its share of the cycles since the end of the previous "
    "pass. A stream works if it brings words; full height is as many words as its ports carry. In the lanes of passes "
    "the layers have two shades in turn, and a bar ends with its pass."
)
PREDICTED_TEXT = (
    " The second lane is predicted by the cost model: each bar lasts from the first to the last cycle in which the "
    "pass can multiply."
)
GLB_TEXT = (
    "Addresses from the schedule. A buffer lasts from the first pass that needs it to the last one; a pass lasts from "
    "the end of the previous pass to its own end. Filters and quantisation parameters are loaded earlier if their "
    "addresses are free earlier."
)


# ---- Page ----


def _render(about: About, image: Image, metrics: dict, plots: dict[str, Plot]) -> str:
    whys = [
        Limit(
            printable(row["name"]),
            row["limit"],
            over_roofline(row) if is_slow(row) else "",
            row["reason"],
            [printable(line) for line in suggested(row)],
        )
        for row in metrics["layers"]
    ]
    compared = _baseline_tiles(image, metrics)
    absent = {*([] if compared else ["baseline"]), *([] if about.graph else ["graph"])}
    return rendered(
        TEMPLATE,
        title=about.title,
        picture=base64.b64encode(about.picture).decode() if about.picture else "",
        answers=[(printable(name), f"{share:.3f}", f"{100 * share:.2f}") for name, share in about.answers],
        facts=_facts(about, image, metrics),
        tiles=_tiles(image, metrics),
        baseline=compared,
        source=baseline,
        graph=about.graph or "",
        plots=plots,
        whys=whys,
        tables=cell_tables(metrics),
        mappings=mapping_table(image),
        energy=energy_table(metrics, image.config),
        config=_config_table(image),
        sections={name: text for name, text in SECTIONS.items() if name not in absent},
    )


def _facts(about: About, image: Image, metrics: dict) -> dict[str, str]:
    """Return the facts at the head of the page by name."""
    runs, config = metrics.get("runs", 1), image.config
    facts = {
        "model": about.model,
        "configuration": configuration(config),
        "command": about.command,
        "date": about.date,
        "version": f"Eyrie {__version__}",
    }
    if runs > 1:
        facts["runs"] = f"{runs:,}; this page shows the first"
    if "class" in metrics and not about.answers and not about.picture:
        first = metrics["images"] > 1 or runs > 1
        facts["class of the first image" if first else "class"] = f"{metrics['class']}"
    if "match" in metrics:
        count = metrics["comparisons"]
        facts["golden model"] = (
            f"all {count:,} outputs are equal"
            if metrics["match"]
            else f"{metrics['mismatches']:,} of {count:,} outputs differ"
        )
    return {name: printable(text) for name, text in facts.items()}


def _tiles(image: Image, metrics: dict) -> list[Tile]:
    clock, cycles, images = image.config.clock_hz, metrics["cycles"], metrics["images"]
    seconds = cycles / clock
    dram = metrics["dram_read_bytes"] + metrics["dram_write_bytes"]
    compulsory = metrics["compulsory_dram_bytes"]
    saved = f"; {metrics['saved_by_codes']:,} more without codes" if metrics["saved_by_codes"] else ""
    each = f", {metrics['cycles_per_image']:,} an image" if images > 1 else ""
    tiles = [
        Tile("Cycles, measured", f"{cycles:,}", f"{1000 * seconds:,.3f} ms at {clock / 1e6:,.10g} MHz{each}"),
        Tile(
            "Inferences per second",
            f"{images / seconds:,.0f}",
            f"{images:,} images a run" if images > 1 else "one image a run",
        ),
        Tile(
            "Against the roofline",
            ratio(cycles, metrics["roofline_cycles"]),
            f"the roofline of the network is {metrics['roofline_cycles']:,} cycles",
        ),
        Tile(
            "DRAM bytes",
            f"{dram:,}",
            f"{ratio(dram, compulsory)} the compulsory {compulsory:,}: weights, inputs and outputs once{saved}",
        ),
        Tile("Energy", f"{metrics['energy_uJ']:,} µJ", "by level below"),
        Tile(
            "Utilisation",
            f"{100 * metrics['utilisation']:.1f} %",
            f"MACs / ({metrics['multipliers']:,} multipliers x cycles)",
        ),
    ]
    if metrics.get("host_operators"):
        tiles.append(
            Tile(
                "CPU fallback",
                f"{100 * metrics['host_share']:.3f} %",
                f"of the operations: {printable(', '.join(metrics['host_operators']))}",
            )
        )
    return tiles


def _baseline_tiles(image: Image, metrics: dict) -> list[Tile]:
    """Compare an image of the run with the published baseline, if the network is the one of its table."""
    found = baseline.baseline(image)
    if not found:
        return []
    dram = metrics["dram_read_bytes"] + metrics["dram_write_bytes"]
    mine = {"cycles": metrics["cycles"], "dram_bytes": dram, "energy_uJ": metrics["energy_uJ"]}
    names = {
        "cycles": ("Cycles", "fewer", ""),
        "dram_bytes": ("DRAM bytes", "fewer", ""),
        "energy_uJ": ("Energy", "less", " µJ"),
    }
    return [
        Tile(
            name,
            _less(found[key] * metrics["images"] / mine[key], word),
            f"{mine[key] / metrics['images']:,.0f}{unit} against {found[key]:,.0f}{unit} an image",
        )
        for key, (name, word, unit) in names.items()
    ]


def _less(ratio: float, word: str) -> str:
    return f"{ratio:,.1f} × {word}" if ratio >= 1 else f"{1 / ratio:,.1f} × more"


def _config_table(image: Image) -> Table:
    numbers = image.config.as_dict() | {
        "images a run": image.images,
        "layers": len(image.steps),
        "passes": image.passes,
        "DRAM image, bytes": image.dram.nbytes,
        "program, bytes": image.program.bytes,
    }
    return Table(
        "Configuration and program",
        "Fixed when the network was compiled (docs/reference/parameters.md).",
        ["parameter", "value"],
        [[name, (f"{value:,}", "")] for name, value in numbers.items()],
    )
