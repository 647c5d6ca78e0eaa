# SPDX-License-Identifier: Apache-2.0
"""Writes the report: a page without links or scripts, and its plots as files beside it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from eyrie.compiler.cost.predict import predict
from eyrie.compiler.cost.timing.array import PassTimes
from eyrie.compiler.files import write_all, writing
from eyrie.compiler.ir.image import Image
from eyrie.model.errors import InputError
from eyrie.runtime.report import baseline, palette, reasons
from eyrie.runtime.report.tables import Table, cell_tables, energy_table
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
    "numbers": "Layers in figures",
    "config": "Machine and counters",
}


@dataclass(frozen=True)
class Tile:
    """A figure of the summary: what it is, its value, what it is compared with."""

    name: str
    value: str
    note: str


@dataclass(frozen=True)
class Plot:
    """A plot in its section: for wide windows and for narrow ones."""

    title: str
    text: str
    wide: str
    narrow: str


def write(folder: Path, title: str, image: Image, metrics: dict, passes: list[dict]) -> Path:
    """Writes folder/report.html and folder/report/*.svg and *.png; the page's path.

    figures: of the run (docs/reference/summary.md), with `runs` where it is the first of several; passes: for each
    pass all counters at its end, by name. Raises InputError in one line.
    """
    folder = Path(folder)
    plots, files = _plots(image, metrics, passes)
    page = _render(title, image, metrics, plots)
    with writing(folder):
        (folder / PLOTS).mkdir(parents=True, exist_ok=True)
    write_all(folder, {f"{PLOTS}/{name}": data for name, data in files.items()} | {PAGE: page.encode()})
    return folder / PAGE


# ---- Plots ----


def _plots(image: Image, metrics: dict, passes: list[dict]) -> tuple[dict[str, Plot], dict[str, bytes]]:
    """The plots by name, and their files by file name."""
    from eyrie.runtime.report import canvas, glb_map, layers, roofline, timeline  # slow: matplotlib

    predicted = _predicted(image)
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
        "glb": ("GLB over time", GLB_TEXT, lambda width: glb_map.glb_map(image, passes, width)),
    }
    plots, files = dict[str, Plot](), dict[str, bytes]()
    with canvas.style():
        for name, (title, text, draw) in drawings.items():
            svg, png = canvas.saved(draw(canvas.WIDE), title)
            narrow = canvas.vectors(draw(canvas.NARROW), title)
            said = title, f"{text} {FIGURES_TEXT}"
            plots[name] = Plot(
                title, text, canvas.inlined(svg, name, *said), canvas.inlined(narrow, f"{name}-narrow", *said)
            )
            files |= {f"{name}.svg": svg.encode(), f"{name}.png": png}
    return plots, files


def _predicted(image: Image) -> list[PassTimes] | None:
    """When each pass begins and ends by the cost model; None without a command list."""
    try:
        return predict(image).passes
    except InputError:
        return None


FIGURES_TEXT = "The tables of the page have the figures."  # to those who cannot see a plot
CYCLES_TEXT = (
    "Two measures, because passes of two layers can run at a time. Cycles are those of a layer's passes, "
    "shared where two run; roofline and utilisation go with them. Its span is from the end of the layer "
    "before to its own; what the PEs and the DRAM port did is of that. PEs are without work where no pass "
    "runs, or where the running one has none for them. Loads run ahead: the port's cycles are partly for "
    "the layers behind, and a layer whose filters came early can take less than its roofline."
)
ROOFLINE_TEXT = (
    "Left of the bend the DRAM port bounds a layer, right of it the multipliers. A layer is as far below "
    "the roof as its cycles are above its roofline: its bytes are those of its filters and tables, each "
    "once. A point can stand a little above the slope where filters were loaded ahead."
)
LEVELS_TEXT = (
    "Of a layer's span. Energy by the prices in the table below. PE registers, psum buffers, multicast "
    "networks and the PPU have no price and are not in it; leakage is priced far below what a chip of this "
    "many gates leaks (docs/concepts/cost.md)."
)
TIMELINE_TEXT = (
    "Measured at the end of each pass: a unit's height is its share of the cycles since the end of the "
    "pass before. Streams work when they bring words, of as many as their ports carry at most. PEs are "
    "without work where no pass runs, or where the running one has none for them. In the lanes of passes "
    "each colour is a layer, and a bar ends with its pass."
)
PREDICTED_TEXT = (
    " Below that, from the cost model and not measured: from the cycle in which a pass can multiply to "
    "its last multiplication."
)
GLB_TEXT = (
    "Places by the schedule, from the pass that first needs one to the last; a pass goes from the end of "
    "the pass before to its own. Filters and tables are loaded earlier where their place is free earlier."
)


# ---- Page ----


def _render(title: str, image: Image, metrics: dict, plots: dict[str, Plot]) -> str:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    whys = [(printable(row["name"]), reasons.reason(row, image.config)) for row in metrics["layers"]]
    return environment.get_template(TEMPLATE).render(
        title=title,
        facts=_facts(metrics),
        tiles=_tiles(image, metrics),
        plots=plots,
        whys=whys,
        tables=cell_tables(metrics),
        energy=energy_table(metrics, image.config),
        config=_config_table(image),
        sections=SECTIONS,
        light=palette.css(palette.LIGHT),
        dark=palette.css(palette.DARK),
    )


def _facts(metrics: dict) -> dict[str, str]:
    """What came out, as far as the figures have it, and of how many runs this is the first."""
    runs, facts = metrics.get("runs", 1), {}
    if runs > 1:
        facts["runs"] = f"{runs:,}, of which this page has the first"
    if "class" in metrics:
        first = metrics["images"] > 1 or runs > 1
        facts["class of the first image" if first else "class"] = f"{metrics['class']}"
    if "match" in metrics:
        count = metrics["comparisons"]
        compared = (
            f"all {count:,} outputs are equal"
            if metrics["match"]
            else f"{metrics['mismatches']:,} of {count:,} outputs differ"
        )
        facts["golden model"] = f"class {metrics['golden_class']}, {compared}"
    return facts


def _tiles(image: Image, metrics: dict) -> list[Tile]:
    clock, cycles, images = image.config.clock_hz, metrics["cycles"], metrics["images"]
    seconds = cycles / clock
    dram = metrics["dram_read_bytes"] + metrics["dram_write_bytes"]
    compulsory = metrics["compulsory_dram_bytes"]
    each = f", {metrics['cycles_per_image']:,} an image" if images > 1 else ""
    tiles = [
        Tile("Cycles", f"{cycles:,}", f"{1000 * seconds:,.3f} ms at {clock / 1e6:,.10g} MHz{each}"),
        Tile(
            "Inferences per second",
            f"{images / seconds:,.0f}",
            f"{images:,} images a run" if images > 1 else "one image a run",
        ),
        Tile(
            "Against the roofline",
            _times(cycles, metrics["roofline_cycles"]),
            f"{metrics['roofline_cycles']:,} cycles are the least",
        ),
        Tile("DRAM bytes", f"{dram:,}", f"{_times(dram, compulsory)} the compulsory {compulsory:,}"),
        Tile("Energy", f"{metrics['energy_uJ']:,} µJ", "without what has no price, see below"),
        Tile(
            "Utilisation",
            f"{100 * metrics['utilisation']:.1f} %",
            f"of {metrics['multipliers']:,} multipliers in all cycles",
        ),
    ]
    if metrics.get("host_operators"):
        tiles.append(
            Tile(
                "On the host",
                f"{100 * metrics['host_share']:.3f} %",
                f"of the network's operations: {printable(', '.join(metrics['host_operators']))}",
            )
        )
    return tiles + _baseline_tiles(image, metrics, dram)


def _times(value: float, other: float) -> str:
    return f"{value / other:.3f} ×" if other else "-"


def _baseline_tiles(image: Image, metrics: dict, dram: int) -> list[Tile]:
    """Against the published baseline, for an image of the run, where the network is its."""
    found = baseline.baseline(image)
    if not found:
        return []
    mine = {"cycles": metrics["cycles"], "dram_bytes": dram, "energy_uJ": metrics["energy_uJ"]}
    names = {
        "cycles": ("Cycles", "fewer", ""),
        "dram_bytes": ("DRAM bytes", "fewer", ""),
        "energy_uJ": ("Energy", "less", " µJ"),
    }
    return [
        Tile(
            f"{name} against the published baseline",
            _less(found[key] * metrics["images"] / mine[key], word),
            f"{found[key]:,.0f}{unit} an image, by an analytical model of {baseline.MULTIPLIERS} "
            f"multipliers; this configuration has {metrics['multipliers']:,}",
        )
        for key, (name, word, unit) in names.items()
    ]


def _less(ratio: float, word: str) -> str:
    return f"{ratio:,.1f} × {word}" if ratio >= 1 else f"{1 / ratio:,.1f} × more"


def _config_table(image: Image) -> Table:
    """What was fixed when the network was compiled."""
    contents = image.map
    numbers = contents["config"] | {
        "images a run": contents["images"],
        "layers": len(contents["steps"]),
        "passes": sum(len(step["passes"]) for step in contents["steps"]),
        "DRAM image, bytes": contents["bytes"],
        "program, bytes": contents["program"]["bytes"],
    }
    return Table(
        "Machine and program",
        "Fixed when the network was compiled.",
        ["parameter", "value"],
        [[name, (f"{value:,}", "")] for name, value in numbers.items()],
    )
