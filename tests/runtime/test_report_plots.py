# SPDX-License-Identifier: Apache-2.0
"""The report's plots: labels are whole and apart from each other, shares are of the counters."""

import re
from dataclasses import replace
from functools import cache
from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree

import matplotlib
import numpy as np
import pytest
from PIL import ImageFont

from eyrie.compiler.ir.image_layout import ImageBuffer
from eyrie.model.config import DEFAULT, WIDE
from eyrie.model.encoding import Counter
from eyrie.runtime.report import canvas, glb_map, layers, roofline, timeline, write
from eyrie.runtime.report.about import About
from eyrie.runtime.report.roofline import place_labels
from tests.runtime.runs import made_up

LAYERS = {
    "one": ["only"],
    "named": [f"block_{n}" for n in range(24)],
    "many": [f"model_1/conv_{n}/a_long_name_of_a_layer" for n in range(100)],
}


@pytest.fixture
def run(seed: int) -> tuple:
    return made_up(np.random.default_rng(seed), [f"layer{n}" for n in range(8)], WIDE, dry=(2, 5))


@cache
def font(size: float) -> ImageFont.FreeTypeFont:
    """Ten times as large, for its widths to be exact."""
    path = Path(matplotlib.get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf"
    return ImageFont.truetype(path, 10 * size)


def boxes(svg: str) -> tuple[list[tuple], tuple]:
    """(text, left, top, right, bottom) of each text that is not turned, and the size of the plot."""
    root = ElementTree.fromstring(svg)
    size = tuple(map(float, root.get("viewBox").split()[2:]))
    found = []
    for element in root.iter():
        turned = re.match(r"rotate\((?!-?0 )", element.get("transform", ""))
        if element.tag.rpartition("}")[2] != "text" or turned or not (element.text or "").strip():
            continue
        style = element.get("style")
        height = float(re.search(r"font(?:-size)?: ([\d.]+)px", style).group(1))
        assert height >= 9, element.text
        width = font(height).getlength(element.text) / 10
        anchor = re.search(r"text-anchor: (\w+)", style)
        part = {"middle": 0.5, "end": 1}.get(anchor.group(1) if anchor else "start", 0)
        place = element.get("transform") or ""
        moved = re.search(r"translate\(([-\d.]+) ([-\d.]+)\)", place)
        x, y = map(float, moved.groups()) if moved else (float(element.get("x")), float(element.get("y")))
        left = x - part * width
        found.append((element.text, left, y - 0.75 * height, left + width, y + 0.2 * height))
    return found, size


def drawings(folder: Path) -> dict[str, str]:
    """The plots of a report by file name, and the narrow ones of its page."""
    wide = {svg.name: svg.read_text() for svg in sorted((folder / "report").glob("*.svg"))}
    page = (folder / "report.html").read_text()
    narrow = re.findall(r'<div class="small">(<svg.*?</svg>)</div>', page, re.DOTALL)
    assert len(narrow) == len(wide) == 5
    return wide | {f"narrow {number}": svg for number, svg in enumerate(narrow)}


@pytest.mark.parametrize("names", ["one", "named", pytest.param("many", marks=pytest.mark.regress)])
def test_labels(names: str, tmp_path: Path, seed: int) -> None:
    """None is cut, no two meet, and none is too small."""
    write(tmp_path, About(names, names), *made_up(np.random.default_rng(seed), LAYERS[names], WIDE))
    for name, svg in drawings(tmp_path).items():
        labels, (width, height) = boxes(svg)
        assert len(labels) > 4
        for text, left, top, right, bottom in labels:
            assert left >= 0 and right <= width and top >= 0 and bottom <= height, (name, text)
        for a, b in combinations(labels, 2):
            apart = a[3] <= b[1] or b[3] <= a[1] or a[4] <= b[2] + 2 or b[4] <= a[2] + 2
            assert apart, (name, a, b)


@pytest.mark.parametrize("width", [canvas.WIDE, canvas.NARROW])
def test_bars_and_bounds_are_of_one_measure(width: int, run: tuple) -> None:
    """No bar is shorter than its MAC bound; shares of the interval have a panel of their own."""
    _, metrics, _ = run
    layers_ = metrics["layers"]
    for row in layers_:
        row["counters"]["cycles"] = row["mac_cycles"] // 2
        row["cycles"] += row["mac_cycles"]
        row["predicted_cycles"] = row["cycles"] + 7
    with canvas.style():
        cycles, spans, _ = layers.cycles(metrics, width).axes
    ends = [path.get_extents().x1 for path in cycles.collections[0].get_paths()]
    assert ends == [row["cycles"] for row in layers_]
    bounds, predicted = cycles.lines
    assert list(bounds.get_xdata()) == [row["mac_cycles"] for row in layers_]
    assert list(predicted.get_xdata()) == [row["predicted_cycles"] for row in layers_]
    assert all(bound < end for bound, end in zip(bounds.get_xdata(), ends))
    assert (cycles.get_xlabel(), spans.get_xlabel()) == ("cycles", "PEs, % of the layer's interval")
    [port] = spans.lines
    assert list(port.get_xdata()) == [
        100 * row["units"]["dma"]["busy"] / max(row["counters"]["cycles"], 1) for row in layers_
    ]


def test_points_are_below_the_roof_as_cycles_are_above_the_roofline(run: tuple) -> None:
    image, metrics, _ = run
    peak, port = WIDE.total_multipliers, 8 * WIDE.bus_words
    for row, (x, y) in zip(metrics["layers"], roofline.points(image, metrics), strict=True):
        assert y * row["cycles"] == pytest.approx(row["macs"])
        assert row["macs"] / min(peak, x * port) == pytest.approx(row["roofline_cycles"], abs=0.51)


def test_glb_spans() -> None:
    """Of buffers over passes that end after 100, 300 and 1000 cycles."""
    buffers = [ImageBuffer("", 0, 8, first, last) for first, last in ((0, 1), (0, 5), (2, 2), (3, 4))]
    assert glb_map.spans(buffers, [100, 300, 1000]) == [(0, 100), (0, 1000), (100, 200), (200, 650)]


def test_glb_is_over_cycles(run: tuple) -> None:
    """Its axis ends with the last pass, and a buffer with room has a name."""
    image, _, passes = run
    image = replace(image, buffers=(ImageBuffer("wide output", 0, 8192, 0, 2 * len(passes) - 1),))
    with canvas.style():
        [axes] = glb_map.glb_map(image, [counters["CYCLES"] for counters in passes], canvas.NARROW).axes
    assert axes.get_xlim() == (0, passes[-1]["CYCLES"]) and axes.get_xlabel() == "cycles"
    assert [text.get_text() for text in axes.texts] == ["wide"]


@pytest.mark.parametrize("taken", [(), [(0, 0, 700, 320)]], ids=["free", "all taken"])
def test_crowded_labels_are_apart(taken: list[tuple], seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = rng.normal((350, 160), (30, 12), (60, 2))
    sizes = [(float(rng.uniform(10, 60)), 12) for _ in points]
    found = place_labels(points, sizes, (700, 320), taken)
    for left, low, wide, high in found:
        assert left >= 0 and left + wide <= 700 and low >= 0 and low + high <= 320
    for (a, b, c, d), (e, f, g, h) in combinations(found, 2):
        assert a + c <= e or e + g <= a or b + d <= f or f + h <= b


def test_label_is_near_its_point() -> None:
    [(left, low, _wide, high)] = place_labels([(100, 100)], [(40, 12)], (200, 200))
    assert left - 100 < 10 and abs(low + high / 2 - 100) < 1


def test_shares() -> None:
    """Of two passes on 48 PEs with 4 multipliers, and one that ends in the cycle of the one before."""
    zero = {counter.name: 0 for counter in Counter}
    first = zero | {
        "CYCLES": 1000,
        "MACS": 96_000,
        "PE_WAIT_FILTER": 12_000,
        "PE_IDLE": 12_000,
        "DMA_BUSY": 900,
        "DMA_WAIT": 500,
        "GLB_FILTER_BYTES": 4000,
        "FILTER_WAIT": 250,
        "DRAIN_BUSY": 100,
    }
    last = first | {"CYCLES": 3000, "MACS": 480_000, "GLB_IFMAP_BYTES": 16_000, "IFMAP_STALL": 500}
    passes = [trace | {"signature": 0, "pe_cycles": 0} for trace in (first, first, last)]
    ends, units = timeline.shares(DEFAULT, passes)
    assert ends == [0, 1000, 3000]
    assert units["PE array"] == [[0.5, 0, 0.25, 0.25], [1, 0, 0, 0]]
    assert units["DMA"][0] == pytest.approx([0.9, 0, 0.1]) and units["DMA"][1] == [0, 0, 0]
    assert units["filter stream"][0] == [0.5, 0, 0.25]
    assert units["ifmap stream"][1] == [0.5, 0.25, 0]
    assert units["drain, PPU"][0] == [0.1, 0]
