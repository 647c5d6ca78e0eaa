# SPDX-License-Identifier: Apache-2.0
"""The report of a run: what its page says, that it stands alone, and what cannot be written."""

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from eyrie.model.config import DEFAULT
from eyrie.runtime.folders import ROOT
from eyrie.runtime.metrics import prediction_of
from eyrie.runtime.report import baseline, palette, write
from eyrie.runtime.report import page as report_page
from eyrie.runtime.report.about import About, png_of, ranked, softmax
from eyrie.testing.demo_net import demo_network
from tests.commands.commands import files
from tests.runtime.runs import made_up

WIDE = replace(DEFAULT, bus_words=2, filter_lanes=2)
NASTY = [
    "<script>alert(1)</script>",
    "a\"b'c&d",
    "$x^2$",
    "_hidden",
    "\x00\u202ezero",
    "x" * 300,
    "]]>-->",
    'id="q" #2565ae url(#z)',
    "層の名前",
]
PLOTS = ("cycles", "roofline", "levels", "timeline", "glb")
VOID = {"meta", "img"}


class Page(HTMLParser):
    """A page's elements with their attributes, its texts, and its table cells: key, text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict]] = []
        self.texts: list[str] = []
        self.cells: list[tuple[str | None, str]] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attributes: list) -> None:
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "td":
            self.cells.append((dict(attributes).get("data-key"), ""))

    def handle_startendtag(self, tag: str, attributes: list) -> None:
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)
        if self.open and self.open[-1] == "td":
            self.cells[-1] = self.cells[-1][0], self.cells[-1][1] + data


def about(title: str = "a run", **given: object) -> About:
    return About(title, "net.tflite", command="eyrie run net", date="2026-11-24 12:00+00:00", **given)


def written(folder: Path, run: tuple, title: str = "a run") -> Page:
    return Page(write(folder, about(title), *run).read_text())


@pytest.fixture(scope="module")
def run(seed: int) -> tuple:
    return made_up(np.random.default_rng(seed), [f"layer{n}" for n in range(12)], WIDE)


@pytest.fixture(scope="module")
def plots(run: tuple) -> tuple:
    return report_page._plots(*run)


@pytest.fixture(scope="module")
def report(run: tuple, plots: tuple, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of `run`; its plots lie in the folder `report` beside it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(report_page, "_plots", lambda *_: plots)
        return write(tmp_path_factory.mktemp("report"), about(), *run)


@pytest.fixture
def drawn(plots: tuple, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports take the plots of `run`: for tests of all else, since drawing takes seconds."""
    monkeypatch.setattr(report_page, "_plots", lambda *_: plots)


@pytest.fixture(scope="module")
def page(report: Path) -> Page:
    return Page(report.read_text())


def leaves(value: object, key: str = "") -> dict[str, float]:
    """Every number of a summary by its path."""
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        prefix = f"{key}." if key else ""
        return {k: v for name, part in items for k, v in leaves(part, f"{prefix}{name}").items()}
    return {key: value} if isinstance(value, int | float) else {}


def test_tables_have_the_numbers_of_the_summary(run: tuple, page: Page) -> None:
    summary = leaves(json.loads(json.dumps(run[1])))
    shown = {key: text for key, text in page.cells if key}
    for key, text in shown.items():
        if text == "-":
            assert key.endswith(("predicted_cycles", "dram_bytes"))
            continue
        number = float(re.match(r"-?[\d,.]+", text).group().replace(",", ""))
        if key.endswith("utilisation"):
            assert text.endswith(" %") and number == pytest.approx(100 * summary[key], abs=1e-9)
        else:
            assert number == summary[key], key
    units = sum(len(states) for states in run[1]["units"].values())
    assert len(shown) > 13 * (8 + units)
    assert {f"layers.{n}.{name}" for n in range(12) for name in ("cycles", "units.dma.busy")} < set(shown)
    assert {f"counters.{name}" for name in run[1]["counters"]} < set(shown)


def test_cells_without_a_key_are_prices_and_the_accelerator(run: tuple, page: Page) -> None:
    free = [text for key, text in page.cells if not key and text]
    image, metrics, _ = run
    assert {"2 pJ", "10 pJ", "200 pJ", "50 µW", "1 x 1 x 8"} < set(free)
    energies = [float(text.split()[0].replace(",", "")) for text in free if text.endswith("µJ")]
    assert sum(energies) == pytest.approx(metrics["energy_uJ"], abs=0.03)
    sizes = [f"{value:,}" for value in image.config.as_dict().values()]
    levels = 4 + (metrics["counters"]["decoded_bytes"] > 0)
    assert ("11 pJ" in free) == (levels == 5)
    assert sizes == free[-5 - len(sizes) : -5] and len(free) == 4 * levels + 4 * 12 + len(sizes) + 5


@pytest.mark.usefixtures("drawn")
def test_summary(tmp_path: Path, run: tuple) -> None:
    image, metrics, passes = run
    changed = metrics | {
        "cycles": 400_000,
        "roofline_cycles": 320_000,
        "images": 4,
        "cycles_per_image": 100_000.0,
        "dram_read_bytes": 1000,
        "dram_write_bytes": 500,
        "compulsory_dram_bytes": 1200,
        "energy_uJ": 12.5,
        "utilisation": 0.3125,
    }
    text = "|".join(written(tmp_path, (image, changed, passes), "cat & dog").texts)
    for said in (
        "2.000 ms at 200 MHz, 100,000.0 an image",
        "|2,000|",
        "|1.250 ×|",
        "1.250 × the compulsory 1,200",
        "12.5 µJ",
        "31.2 %",
        "cat & dog",
    ):
        assert said in text, said
    assert "baseline" not in text and "cost model" not in text and "interval" in text


@pytest.mark.parametrize(
    ("given", "facts"),
    [
        ({}, []),
        ({"class": 3, "comparisons": 0}, [("class", "3")]),
        (
            {"class": 3, "golden_class": 3, "match": True, "comparisons": 1000},
            [("class", "3"), ("golden model", "all 1,000 outputs are equal")],
        ),
        (
            {"class": 3, "golden_class": 4, "match": False, "comparisons": 1000, "mismatches": 7},
            [("class", "3"), ("golden model", "7 of 1,000 outputs differ")],
        ),
        ({"class": 3, "images": 4}, [("class of the first image", "3")]),
        ({"class": 3, "runs": 5}, [("runs", "5; this page shows the first"), ("class of the first image", "3")]),
        ({"class": 3, "runs": 1}, [("class", "3")]),
    ],
)
@pytest.mark.usefixtures("drawn")
def test_head(given: dict, facts: list[tuple], tmp_path: Path, run: tuple) -> None:
    """The outputs, and the run that they are of."""
    image, metrics, passes = run
    text = write(tmp_path, about(), image, metrics | given, passes).read_text()
    head = text[text.index("<h1>") : text.index('<dl class="tiles">')]
    found = re.findall("<dt>(.*?)</dt><dd>(.*?)</dd>", head)
    assert [name for name, _ in found[:5]] == ["model", "configuration", "command", "date", "version"]
    assert found[:1] + found[2:4] == [
        ("model", "net.tflite"),
        ("command", "eyrie run net"),
        ("date", "2026-11-24 12:00+00:00"),
    ]
    assert "6 x 8 PEs" in found[1][1] and found[5:] == facts


@pytest.mark.usefixtures("drawn")
def test_answers(tmp_path: Path, run: tuple) -> None:
    """The input picture, and a bar for each class."""
    head = about(picture=png_of(np.zeros((4, 4, 3), np.uint8)), answers=(("cat <1>", 0.75), ("dog", 0.25)))
    page = Page(write(tmp_path, head, *run).read_text())
    [image] = [attributes for tag, attributes in page.elements if tag == "img"]
    assert image["src"].startswith("data:image/png;base64,") and image["alt"]
    assert {"cat <1>", "dog", "0.750", "0.250"} <= set(page.texts)
    assert {"width:75.00%", "width:25.00%"} <= {attributes.get("style") for _, attributes in page.elements}
    assert "class" not in set(page.texts)


def test_answers_are_ranked() -> None:
    found = ranked(softmax(np.log(np.array([0.1, 0.7, 0.2]))), ["a", "b", "c"])
    assert [name for name, _ in found] == ["b", "c", "a"] and found[0][1] == pytest.approx(0.7)
    assert len(ranked(np.ones(100) / 100, [str(n) for n in range(100)])) == 10


def test_nothing_leaves_the_page(page: Page, report: Path) -> None:
    text = report.read_text()
    assert "http" not in text.replace("http-equiv", "") and "@import" not in text
    assert set(re.findall(r"url\(.", text)) <= {"url(#"}
    policies = [a["content"] for _, a in page.elements if a.get("http-equiv") == "Content-Security-Policy"]
    assert policies == ["default-src 'none'; style-src 'unsafe-inline'; img-src data:"]
    tags = {tag for tag, _ in page.elements}
    assert not tags & {"script", "link", "iframe", "object", "img", "image", "form", "base"}
    names = {attribute for _, attributes in page.elements for attribute in attributes}
    assert not [name for name in names if name.startswith("on") or name == "src"]


def test_references_are_to_one_element_each(page: Page) -> None:
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    for _, attributes in page.elements:
        wanted = attributes.get("aria-labelledby", "").split()
        wanted += [attributes["href"][1:]] if "href" in attributes else []
        wanted += re.findall(r"url\(#([^)]*)\)", " ".join(value or "" for value in attributes.values()))
        assert set(wanted) <= set(ids)
        assert attributes.get("href", "#").startswith("#")


def test_plots_for_those_who_cannot_see_them(page: Page) -> None:
    plots = [attributes for tag, attributes in page.elements if tag == "svg"]
    names = [name + end for name in PLOTS for end in ("", "-narrow")]
    assert len(plots) == len(names) and all(plot["role"] == "img" for plot in plots)
    assert [plot["aria-labelledby"].split() for plot in plots] == [[f"{n}-title", f"{n}-text"] for n in names]


def test_each_window_has_one_drawing_of_a_plot(report: Path) -> None:
    """The style takes the narrow ones, and none scrolls."""
    text = report.read_text()
    found = re.findall(
        r'<figure><div class="large"><svg viewBox="0 0 ([\d.]+) .*?</svg></div>'
        r'<div class="small"><svg viewBox="0 0 ([\d.]+) .*?</svg></div></figure>',
        text,
        re.DOTALL,
    )
    assert found == [("800", "340")] * len(PLOTS)
    style = text[text.index("<style>") : text.index("</style>")].replace("\n", "").replace(" ", "")
    assert ".small{display:none" in style and "min-width:42rem" not in style
    assert "@mediascreenand(max-width:48rem){.large{display:none}.small{display:block}}" in style


def test_plots_take_all_colours_from_the_page(report: Path) -> None:
    text = report.read_text()
    for svg in re.findall(r"<svg.*?</svg>", text, re.DOTALL):
        assert not re.findall(r"(?:fill|stroke): (?!none|var\(--)[^;\"]*", svg)
        assert "font-family" not in svg
    assert re.search(r"fill: #2565ae", (report.parent / "report" / "cycles.svg").read_text())


def test_colours_stand_out() -> None:
    def light(colour: str) -> float:
        parts = (int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5))
        red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    for colours in (palette.LIGHT, palette.DARK):
        assert len(set(colours.values())) == len(colours)
        paper = light(colours["paper"])
        for role, colour in colours.items():
            low, high = sorted((paper, light(colour)))
            least = {"paper": 1, "grid": 1.1, "ink": 7, "muted": 4.5}.get(role, 3)
            assert (high + 0.05) / (low + 0.05) >= least, role


def test_names_are_text(tmp_path: Path, seed: int) -> None:
    run = made_up(np.random.default_rng(seed), NASTY, replace(WIDE, rows=3, cols=2), 16, dry=(0, 1, 8))
    page = written(tmp_path, run, "<b>")
    assert not {tag for tag, _ in page.elements} & {"script", "i", "b"}
    seen = "".join(page.texts)
    for name in (*NASTY[:4], *NASTY[5:], "\N{REPLACEMENT CHARACTER}" * 2 + "zero", "<b>"):
        assert name in seen, name
    drawn = {name: ElementTree.parse(tmp_path / "report" / f"{name}.svg") for name in PLOTS}
    labels = {element.text for element in drawn["cycles"].iter() if element.tag.endswith("}text")}
    assert {"1  <script>alert(1)</script>"[:14], "3  $x^2$", "4  _hidden"} <= labels | {
        label[:14] for label in labels if label
    }


def test_no_dram_traffic(tmp_path: Path, seed: int) -> None:
    run = made_up(np.random.default_rng(seed), ["dry", "dry too"], WIDE, dry=(0, 1))
    assert run[1]["dram_read_bytes"] == 0
    assert ("layers.0.dram_read_bytes", "0") in written(tmp_path, run).cells


def test_bundled_network(tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Has a cost model and the baseline of the literature."""
    _, image = demo_network()
    names = [step.name for step in image.steps]
    _, metrics, _ = made_up(np.random.default_rng(seed), names, DEFAULT)
    _, _, passes = made_up(np.random.default_rng(seed), [""] * 200, DEFAULT)
    count = 1 + max(number for step in image.steps for number in step.passes)
    drawn = report_page._plots(image, metrics | {"cycles": 204_240}, passes[:count], prediction_of(image))
    monkeypatch.setattr(report_page, "_plots", lambda *_: drawn)
    page = written(tmp_path, (image, metrics | {"cycles": 204_240}, passes[:count]))
    text = "|".join(page.texts)
    assert ("|Cycles|100.0 × fewer|204,240 against 20,423,964 an image|") in text
    assert "against 2,845,416 an image" in text and "against 958 µJ an image" in text
    assert "Published baseline" in text and "It has 48 multipliers" in text
    slow = written(tmp_path, (image, metrics | {"cycles": 40_847_928, "energy_uJ": 479.2}, passes[:count]))
    assert {"2.0 × more", "2.0 × less"} <= set(slow.texts)
    assert "predicted by the cost model" in text and "passes, predicted" in text


def test_baseline_is_of_one_network(run: tuple) -> None:
    _, image = demo_network()
    found = baseline.baseline(image)
    assert (found["cycles"], found["dram_bytes"]) == (20_423_964, 2_845_416)
    assert found["energy_uJ"] == pytest.approx(958.4, abs=0.05)
    assert baseline.baseline(run[0]) is None


@pytest.mark.usefixtures("drawn")
def test_files(tmp_path: Path, run: tuple) -> None:
    assert write(tmp_path / "new" / "out", about(), *run) == tmp_path / "new" / "out" / "report.html"
    plots = {f"report/{name}.{kind}" for name in PLOTS for kind in ("svg", "png")}
    assert files(tmp_path / "new" / "out") == {"report.html", "report"} | plots


def test_same_run_same_bytes(tmp_path: Path, run: tuple, report: Path) -> None:
    write(tmp_path, about(), *run)
    assert len(report.read_bytes()) > 50_000
    for name in files(report.parent) - {"report"}:
        assert (report.parent / name).read_bytes() == (tmp_path / name).read_bytes(), name


@pytest.mark.usefixtures("drawn")
def test_cannot_be_written(tmp_path: Path, run: tuple) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(ValueError) as error:
        write(tmp_path / "file", about(), *run)
    assert str(error.value).startswith(f"{tmp_path / 'file'}: cannot be written (")
    assert "\n" not in str(error.value)
    assert str(error.value).endswith("): name a place with room that can be written to")
    (tmp_path / "out" / "report.html").mkdir(parents=True)
    with pytest.raises(ValueError, match="report.html: cannot be written"):
        write(tmp_path / "out", about(), *run)
    assert files(tmp_path / "out") == {"report", "report.html"}


def test_silent_without_a_home(tmp_path: Path) -> None:
    """Where matplotlib can keep nothing."""
    code = (
        "import numpy, sys; from pathlib import Path; from tests.runtime.runs import made_up; "
        "from eyrie.model.config import AcceleratorConfig; from eyrie.runtime.report import write; "
        "from eyrie.runtime.report.about import About; "
        "write(Path(sys.argv[1]), About('a run', 'net'), *made_up(numpy.random.default_rng(1), ['a', 'b'], "
        "AcceleratorConfig(bus_words=2)))"
    )
    kept = {name: value for name, value in os.environ.items() if name != "MPLCONFIGDIR"}
    kept |= dict.fromkeys(("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"), "/dev/null")
    ended = subprocess.run([sys.executable, "-c", code, tmp_path], cwd=ROOT, capture_output=True, text=True, env=kept)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
    assert (tmp_path / "report.html").exists()
