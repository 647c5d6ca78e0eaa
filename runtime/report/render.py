# SPDX-License-Identifier: Apache-2.0
"""The elements of a page that stands alone, without scripts: tiles, plots, and the template that shows them."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from eyrie.model.config import AcceleratorConfig
from eyrie.runtime.report import palette

if TYPE_CHECKING:
    from eyrie.runtime.report.canvas import Figure

NUMBERS_TEXT = "The tables of this page have the numbers."  # for readers who cannot see a plot


@dataclass(frozen=True)
class Tile:
    """A number of the summary: its name, its value, and a note that explains it."""

    name: str
    value: str
    note: str


@dataclass(frozen=True)
class Limit:
    """The limit of a layer. over: "n times its roofline" if the layer is slow, else ""; text: the reason"""

    name: str
    limit: str
    over: str
    text: str
    suggestions: list[str]


@dataclass(frozen=True)
class Plot:
    """A plot in its section, for wide and for narrow windows."""

    title: str
    text: str
    wide: str
    narrow: str


def drawn(name: str, title: str, text: str, draw: Callable[[float], "Figure"]) -> tuple[Plot, dict[str, bytes]]:
    """Return a plot, and its files by file name. name: of the files; draw: gives the figure of a width"""
    from eyrie.runtime.report import canvas  # slow: matplotlib

    svg, png = canvas.saved(draw(canvas.WIDE), title)
    narrow = canvas.vectors(draw(canvas.NARROW), title)
    said = title, f"{text} {NUMBERS_TEXT}"
    plot = Plot(title, text, canvas.inlined(svg, name, *said), canvas.inlined(narrow, f"{name}-narrow", *said))
    return plot, {f"{name}.svg": svg.encode(), f"{name}.png": png}


def rendered(template: str, **content: object) -> str:
    """Return the page of a template of this folder."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    colours = {"light": palette.css(palette.LIGHT), "dark": palette.css(palette.DARK)}
    return environment.get_template(template).render(**content, **colours)


def configuration(config: AcceleratorConfig) -> str:
    return (
        f"{config.rows} x {config.cols} PEs with {config.multipliers} multipliers each, GLB of "
        f"{config.glb_bytes // 1024} KiB, DRAM of {config.dram_bytes} bytes a cycle"
    )


def ratio(value: float, other: float) -> str:
    return f"{value / other:.3f} ×" if other else "-"
