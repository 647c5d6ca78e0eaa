# SPDX-License-Identifier: Apache-2.0
"""The page of a schedule: loop nests, and passes and GLB over time as the cost model predicts them."""

from collections.abc import Sequence
from dataclasses import dataclass

from eyrie import __version__
from eyrie.compiler.artefact.performance import Performance
from eyrie.compiler.cost.predict import predict
from eyrie.compiler.performance import performance
from eyrie.compiler.pipeline import dumped
from eyrie.compiler.results import Built
from eyrie.runtime.report.render import Plot, Tile, configuration, drawn, ratio, rendered
from eyrie.runtime.report.tables import Table, mapping_table

TEMPLATE = "schedule.html.j2"
LOOPS_TEXT = (
    "Each segment runs a group of layers; its intermediate feature maps stay in the GLB. Loops are outermost first "
    "(docs/tutorials/schedule.md). eyrie compile --schedule FILE takes such a text."
)
GANTT_TEXT = (
    "Predicted. A load or store lasts from its start in the DMA to its last word, a pass from its first "
    "multiplication, or word of a vector pass, until its results are in the GLB."
)
GLB_TEXT = (
    "Addresses from the schedule, cycles predicted. A buffer lasts from the first pass that needs it to the last."
)


@dataclass(frozen=True)
class Part:
    """A subgraph that the accelerator runs."""

    name: str
    tiles: list[Tile]
    gap: str
    nests: str
    gantt: Plot
    glb: Plot
    mappings: Table


def page(title: str, command: str, parts: Sequence[Built]) -> str:
    """Return the page of the subgraphs that the accelerator runs."""
    from eyrie.runtime.report import canvas  # slow: matplotlib

    facts = {
        "configuration": configuration(parts[0].config),
        "command": command,
        "version": f"Eyrie {__version__}",
    }
    with canvas.style():
        shown = [_part(number, stages) for number, stages in enumerate(parts, 1)]
    return rendered(TEMPLATE, title=title, facts=facts, parts=shown, loops_text=LOOPS_TEXT)


def _part(number: int, stages: Built) -> Part:
    from eyrie.runtime.report.gantt import gantt
    from eyrie.runtime.report.glb_map import glb_map

    image, prediction = stages.image, predict(stages.image)
    ends = [times.done for times in prediction.passes]
    passes, _ = drawn(f"gantt{number}", "Passes over time", GANTT_TEXT, lambda width: gantt(image, prediction, width))
    places, _ = drawn(f"glb{number}", "GLB over time", GLB_TEXT, lambda width: glb_map(image, ends, width))
    cost, nests = performance(stages), dumped(stages, "segments")
    gap = f"{100 * cost.search_gap:.2f} %"
    return Part(f"Subgraph {number}", _tiles(cost), gap, nests, passes, places, mapping_table(image))


def _tiles(cost: Performance) -> list[Tile]:
    return [
        Tile(
            "Cycles, predicted",
            f"{cost.cycles:,}",
            f"{cost.milliseconds:,.3f} ms at {cost.clock_hz / 1e6:,.10g} MHz",
        ),
        Tile(
            "Against the roofline",
            ratio(cost.cycles, cost.roofline_cycles),
            f"the roofline of the network is {cost.roofline_cycles:,} cycles",
        ),
        Tile(
            "DRAM bytes",
            f"{cost.dram_bytes:,}",
            f"{ratio(cost.dram_bytes, cost.compulsory_dram_bytes)} the compulsory {cost.compulsory_dram_bytes:,}",
        ),
    ]
