# SPDX-License-Identifier: Apache-2.0
"""Drawing and saving plots with matplotlib: sizes, fonts, the same bytes for the same figures.

A plot is drawn once, in the light colours. `finish` makes SVG and PNG of it, and the SVG that stands in the
page, with CSS variables as colours. One unit of a plot is 1/72 inch, a CSS pixel where the page is 800 wide.
"""

import html
import logging
import re
import warnings
from dataclasses import dataclass
from io import BytesIO, StringIO

from runtime.report.palette import LIGHT

logging.getLogger("matplotlib").setLevel(logging.ERROR)  # says so when it builds its font cache

import matplotlib  # noqa: E402
from matplotlib import font_manager  # noqa: E402
from matplotlib.backends import backend_agg, backend_svg  # noqa: E402, F401
from matplotlib.figure import Figure  # noqa: E402

_VARIABLES = {colour: f"var(--{role})" for role, colour in LIGHT.items()}
WIDTH = 800  # of all plots
PNG_DPI = 144
FONT_SIZE = 10
LINE = 16  # height of a line of text with its distance
_FONT = "DejaVu Sans"  # comes with matplotlib; among the widest, so that text in another one fits
_STYLE = {
    "svg.fonttype": "none", "svg.hashsalt": "eyrie", "text.parse_math": False, "axes.unicode_minus": False,
    "font.family": "sans-serif", "font.sans-serif": [_FONT], "font.size": FONT_SIZE,
    "axes.titlesize": 10.5,
    "axes.titlelocation": "left", "axes.titleweight": "bold", "axes.titlepad": 8, "axes.labelsize": FONT_SIZE,
    "text.color": LIGHT["ink"], "axes.labelcolor": LIGHT["muted"], "axes.edgecolor": LIGHT["grid"],
    "axes.titlecolor": LIGHT["ink"], "xtick.color": LIGHT["grid"], "ytick.color": LIGHT["grid"],
    "xtick.labelcolor": LIGHT["muted"], "ytick.labelcolor": LIGHT["ink"], "xtick.labelsize": 9,
    "ytick.labelsize": 9, "ytick.major.size": 0, "axes.spines.top": False, "axes.spines.right": False,
    "axes.facecolor": LIGHT["paper"], "figure.facecolor": LIGHT["paper"], "savefig.facecolor": LIGHT["paper"],
    "grid.color": LIGHT["grid"], "grid.linewidth": 0.8, "axes.axisbelow": True, "patch.linewidth": 0,
    "legend.frameon": False, "legend.fontsize": 9, "legend.handlelength": 1.1, "legend.handleheight": 0.9,
    "legend.columnspacing": 1.4, "legend.handletextpad": 0.5, "legend.borderpad": 0,
    "legend.borderaxespad": 0,
}


@dataclass(frozen=True)
class Drawn:
    """A plot as files in the light colours, and as part of the page."""

    svg: bytes
    png: bytes
    inline: str


def style():
    """A context in which plots are drawn and saved."""
    return matplotlib.rc_context(_STYLE)


def figure(height: float) -> Figure:
    """An empty plot, `WIDTH` wide."""
    return Figure(figsize=(WIDTH / 72, height / 72))


def axes(plot: Figure, left: float, top: float, width: float, height: float, **options):
    """Axes at a place in units, from the top left corner."""
    total = plot.get_figheight() * 72
    return plot.add_axes((left / WIDTH, 1 - (top + height) / total, width / WIDTH, height / total), **options)


def boxes(axes, places, role: str, **options) -> None:
    """Rectangles (left, bottom, width, height) in the axes' coordinates, as one artist."""
    from matplotlib.collections import PolyCollection

    corners = [((x, y), (x + w, y), (x + w, y + h), (x, y + h)) for x, y, w, h in places if w > 0 and h > 0]
    options = {"edgecolors": LIGHT["paper"], "linewidths": 0.5} | options
    axes.add_collection(PolyCollection(corners, facecolors=LIGHT[role], **options), autolim=False)


def count(value: float) -> str:
    """A number of an axis: thousands in groups."""
    return f"{value:,.10g}"


def text_width(text: str, size: float = FONT_SIZE) -> float:
    """Units that a text takes."""
    font = font_manager.get_font(font_manager.findfont(_FONT))
    font.set_size(size, 72)
    font.set_text("".join("W" if ord(c) > 0x1100 else c for c in text))  # as wide as CJK, which it lacks
    return font.get_width_height()[0] / 64


def shortened(text: str, width: float, size: float = FONT_SIZE) -> str:
    """A text cut down to a width, with an ellipsis where something is missing."""
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


def legend(plot: Figure, entries: list[tuple[str, str]], top: float, left: float,
           markers: list = ()) -> None:
    """Names what colours (words, role) and markers (lines of matplotlib) mean, in as many rows as it takes,
    from `top` on."""
    from matplotlib.patches import Patch

    handles = [Patch(facecolor=LIGHT[role], label=words) for words, role in entries] + list(markers)
    rows: list[list] = [[]]
    used = left
    for handle in handles:
        need = text_width(handle.get_label(), 9) + 32
        if rows[-1] and used + need > WIDTH - 8:
            rows.append([])
            used = left
        rows[-1].append(handle)
        used += need
    total = plot.get_figheight() * 72
    for number, row in enumerate(rows):
        place = (left / WIDTH, 1 - (top + number * LINE) / total)
        plot.add_artist(plot.legend(handles=row, loc="upper left", bbox_to_anchor=place, ncols=len(row)))
        plot.legends.clear()


def finish(plot: Figure, name: str, title: str, text: str) -> Drawn:
    """The files of a plot. Its SVG in the page says `title` and `text` to those who cannot see it."""
    vectors, pixels = StringIO(), BytesIO()
    with warnings.catch_warnings(action="ignore"):  # of characters that this font lacks
        plot.savefig(vectors, format="svg", metadata={"Date": None, "Creator": None, "Title": title})
        plot.savefig(pixels, format="png", dpi=PNG_DPI, metadata={"Software": None})
    svg = vectors.getvalue()
    return Drawn(svg.encode(), pixels.getvalue(), _inlined(svg, name, title, text))


def _inlined(svg: str, name: str, title: str, text: str) -> str:
    """The SVG as part of an HTML page: no links, names of its own, colours and font of the page."""
    body = svg[svg.index("<svg") :]
    box = re.search(r'viewBox="[^"]*"', body).group()
    body = body[body.index(">") + 1 :]
    body = re.sub(r"<title>.*?</title>|<metadata>.*?</metadata>|<style.*?</style>|<!--.*?-->|\n *", "", body,
                  flags=re.DOTALL)
    body = re.sub(r"<[^>]+>", lambda tag: _of_page(tag.group(), name), body)
    return (f'<svg {box} role="img" aria-labelledby="{name}-title {name}-text">'
            f'<title id="{name}-title">{html.escape(title)}</title>'
            f'<desc id="{name}-text">{html.escape(text)}</desc>{body}')


def _of_page(tag: str, name: str) -> str:
    tag = tag.replace("xlink:href", "href")
    tag = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{name}-", tag)
    tag = re.sub(r"#[0-9a-f]{6}\b", lambda colour: _VARIABLES.get(colour.group(), colour.group()), tag)
    return re.sub(r" ?font-family: [^;\"]*;?", "", tag)
