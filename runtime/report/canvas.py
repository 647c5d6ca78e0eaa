# SPDX-License-Identifier: Apache-2.0
"""The drawing and saving of plots with matplotlib: sizes, fonts, the same bytes for the same numbers.

A plot is drawn in the light colours and at two widths. `saved` returns the files of the wide plot. `inlined` returns
the SVG of either one for the page, with CSS variables as colours. One unit of a plot is 1/72 inch, or a CSS pixel if
the page is as wide as the plot.
"""

import html
import logging
import os
import re
import warnings
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from io import BytesIO, StringIO
from typing import Literal

from eyrie.runtime.folders import BUILD
from eyrie.runtime.report.palette import LIGHT

os.environ.setdefault("MPLCONFIGDIR", str(BUILD / "matplotlib"))  # for its font cache
logging.getLogger("matplotlib").setLevel(logging.ERROR)  # says so when it builds its font cache

import matplotlib  # noqa: E402
from matplotlib import font_manager  # noqa: E402
from matplotlib.artist import Artist  # noqa: E402
from matplotlib.axes import Axes  # noqa: E402
from matplotlib.axis import Axis  # noqa: E402
from matplotlib.backends import backend_agg, backend_svg  # noqa: E402, F401
from matplotlib.figure import Figure  # noqa: E402
from matplotlib.lines import Line2D  # noqa: E402

Place = tuple[float, float, float, float]  # of a rectangle: left, bottom, width, height
Entry = tuple[str, str]  # of a legend: words and the role of a colour

_VARIABLES = {colour: f"var(--{role})" for role, colour in LIGHT.items()}
WIDE, NARROW = 800, 340  # widths of plots; the narrow ones are for narrow windows
PNG_DPI = 144
FONT_SIZE = 10
SMALL = 9  # size of the smallest text: 9 CSS pixels on a telephone of 375
LINE = 16  # height of a line of text with its distance
_FONT = "DejaVu Sans"  # comes with matplotlib; among the widest, so that text in another one fits
_STYLE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "eyrie",
    "text.parse_math": False,
    "axes.unicode_minus": False,
    "font.family": "sans-serif",
    "font.sans-serif": [_FONT],
    "font.size": FONT_SIZE,
    "axes.titlesize": 10.5,
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
    "axes.titlepad": 8,
    "axes.labelsize": FONT_SIZE,
    "text.color": LIGHT["ink"],
    "axes.labelcolor": LIGHT["muted"],
    "axes.edgecolor": LIGHT["grid"],
    "axes.titlecolor": LIGHT["ink"],
    "xtick.color": LIGHT["grid"],
    "ytick.color": LIGHT["grid"],
    "xtick.labelcolor": LIGHT["muted"],
    "ytick.labelcolor": LIGHT["ink"],
    "xtick.labelsize": SMALL,
    "ytick.labelsize": SMALL,
    "ytick.major.size": 0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.facecolor": LIGHT["paper"],
    "figure.facecolor": LIGHT["paper"],
    "savefig.facecolor": LIGHT["paper"],
    "grid.color": LIGHT["grid"],
    "grid.linewidth": 0.8,
    "axes.axisbelow": True,
    "patch.linewidth": 0,
    "legend.frameon": False,
    "legend.fontsize": SMALL,
    "legend.handlelength": 1.1,
    "legend.handleheight": 0.9,
    "legend.columnspacing": 1.4,
    "legend.handletextpad": 0.5,
    "legend.borderpad": 0,
    "legend.borderaxespad": 0,
}


def style() -> AbstractContextManager[None]:
    """Return a context in which plots are drawn and saved."""
    return matplotlib.rc_context(matplotlib.RcParams(_STYLE))


def figure(width: float, height: float) -> Figure:
    """Return an empty plot."""
    return Figure(figsize=(width / 72, height / 72))


def _place(plot: Figure, left: float, top: float) -> tuple[float, float]:
    """Convert a point in units from the top left corner to fractions of the plot from the lower left corner."""
    return left / (plot.get_figwidth() * 72), 1 - top / (plot.get_figheight() * 72)


def axes(
    plot: Figure,
    left: float,
    top: float,
    width: float,
    height: float,
    xlim: tuple[float, float] | None = None,
    ylim: tuple[float, float] | None = None,
    scale: Literal["linear", "log"] = "linear",
) -> Axes:
    """Return axes at a position in units from the top left corner."""
    (x, low), (right, y) = _place(plot, left, top + height), _place(plot, left + width, top)
    made = plot.add_axes((x, low, right - x, y - low), xscale=scale, yscale=scale)
    if xlim:
        made.set_xlim(xlim)
    if ylim:
        made.set_ylim(ylim)
    return made


def boxes(
    axes: Axes, places: Iterable[Place], role: str, edgecolors: str = LIGHT["paper"], linewidths: float = 0.5
) -> None:
    """Draw rectangles (left, bottom, width, height) in the coordinates of the axes, as one artist."""
    from matplotlib.collections import PolyCollection

    corners = [((x, y), (x + w, y), (x + w, y + h), (x, y + h)) for x, y, w, h in places if w > 0 and h > 0]
    made = PolyCollection(corners, facecolors=LIGHT[role], edgecolors=edgecolors, linewidths=linewidths)
    axes.add_collection(made, autolim=False)


def count(value: float) -> str:
    """Return a number of an axis, with thousands in groups."""
    return f"{value:,.10g}"


def text_width(text: str, size: float = FONT_SIZE) -> float:
    """Return the width of a text in units."""
    font = font_manager.get_font(font_manager.findfont(_FONT))
    font.set_size(size, 72)
    font.set_text("".join("W" if ord(c) > 0x1100 else c for c in text))  # as wide as CJK, which it lacks
    return font.get_width_height()[0] / 64


def ticks(axis: Axis, width: float, high: float) -> None:
    """Set the ticks of an axis of length `width` from 0 to `high`: as many as have space for their numbers."""
    from matplotlib.ticker import MaxNLocator

    for most in range(max(1, int(width // 14)), 0, -1):
        locator = MaxNLocator(most, steps=[1, 2, 2.5, 5, 10])
        values = locator.tick_values(0, high)
        widest = max(text_width(count(float(f"{value:.10g}")), SMALL) for value in values)
        if widest + 14 <= width * (values[1] - values[0]) / high:
            break
    axis.set_major_locator(locator)
    axis.set_major_formatter(lambda value, _: count(value))


def shortened(text: str, width: float, size: float = FONT_SIZE) -> str:
    """Shorten a text to a width, with an ellipsis in place of the rest."""
    if text_width(text, size) <= width:
        return text
    short, long = 0, len(text)
    while long - short > 1:
        middle = (short + long) // 2
        if text_width(text[:middle] + "…", size) <= width:
            short = middle
        else:
            long = middle
    return text[:short] + "…"


class Legend:
    """A legend with the names of colours (words, role) and of markers (lines of matplotlib).

    It takes as many rows as needed, from the top of the plot and from `left` on. height: of the legend with its
    margins.
    """

    def __init__(self, width: float, left: float, entries: list[Entry], markers: Sequence[Line2D] = ()) -> None:
        from matplotlib.patches import Patch

        self.left = left
        self.rows: list[list[Artist]] = [[]]
        used = left
        patches = [Patch(facecolor=LIGHT[role], label=words) for words, role in entries]
        for handle in (*patches, *markers):
            need = text_width(str(handle.get_label()), SMALL) + 32
            if self.rows[-1] and used + need > width:
                self.rows.append([])
                used = left
            self.rows[-1].append(handle)
            used += need

    @property
    def height(self) -> float:
        return 10 + LINE * len(self.rows)

    def draw(self, plot: Figure, top: float = 8) -> None:
        for number, row in enumerate(self.rows):
            place = _place(plot, self.left, top + number * LINE)
            plot.add_artist(plot.legend(handles=row, loc="upper left", bbox_to_anchor=place, ncols=len(row)))
            plot.legends.clear()


def saved(plot: Figure, title: str) -> tuple[str, bytes]:
    """Return the plot as SVG and as PNG."""
    pixels = BytesIO()
    with warnings.catch_warnings(action="ignore"):  # of characters that this font lacks
        plot.savefig(pixels, format="png", dpi=PNG_DPI, metadata={"Software": None})
    return vectors(plot, title), pixels.getvalue()


def vectors(plot: Figure, title: str) -> str:
    """Return the plot as SVG."""
    text = StringIO()
    with warnings.catch_warnings(action="ignore"):
        plot.savefig(text, format="svg", metadata={"Date": None, "Creator": None, "Title": title})
    return text.getvalue()


def inlined(svg: str, name: str, title: str, text: str) -> str:
    """Return an SVG as part of an HTML page: without links, with unique names, and with colours and font of the page.

    Screen readers read `title` and `text`.
    """
    body = svg[svg.index("<svg") :]
    found = re.search(r'viewBox="[^"]*"', body)
    assert found  # matplotlib writes one
    box = found.group()
    body = body[body.index(">") + 1 :]
    body = re.sub(
        r"<title>.*?</title>|<metadata>.*?</metadata>|<style.*?</style>|<!--.*?-->|\n *", "", body, flags=re.DOTALL
    )
    body = re.sub(r"<[^>]+>", lambda tag: _of_page(tag.group(), name), body)
    return (
        f'<svg {box} role="img" aria-labelledby="{name}-title {name}-text">'
        f'<title id="{name}-title">{html.escape(title)}</title>'
        f'<desc id="{name}-text">{html.escape(text)}</desc>{body}'
    )


def _of_page(tag: str, name: str) -> str:
    tag = tag.replace("xlink:href", "href")
    tag = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{name}-", tag)
    tag = re.sub(r"#[0-9a-f]{6}\b", lambda colour: _VARIABLES.get(colour.group(), colour.group()), tag)
    return re.sub(r" ?font-family: [^;\"]*;?", "", tag)
