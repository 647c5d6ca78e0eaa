# SPDX-License-Identifier: Apache-2.0
"""Curves of this project, where a text of the literature prints a curve as a picture."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

WIDTH, HEIGHT = 640, 300
LEFT, RIGHT, BOTTOM = 84, 20, 42


@dataclass(frozen=True)
class Curves:
    """Points by curve.

    name      of the picture's file
    title     of the picture
    x, y      the labels of the axes
    lines     x and y of each point, by the name of the curve; at most as many as the report has hues
    joined    lines join the points
    doubling  x doubles from one tick to the next
    """

    name: str
    title: str
    x: str
    y: str
    lines: Mapping[str, Sequence[Sequence[float]]]
    joined: bool = True
    doubling: bool = False

    @property
    def file(self) -> str:
        return f"{self.name}.svg"

    def svg(self) -> str:
        """Return the picture, the same for the same points."""
        from eyrie.runtime.report import canvas  # slow: matplotlib
        from eyrie.runtime.report.palette import HUES, LIGHT

        lines = dict(zip(self.lines, HUES[: len(self.lines)], strict=True))
        look: dict[str, Any] = {"marker": "o", "markersize": 3, "linestyle": "-" if self.joined else ""}
        with canvas.style():
            legend = canvas.Legend(WIDTH, LEFT, list(lines.items()))
            plot = canvas.figure(WIDTH, legend.height + HEIGHT)
            axes = canvas.axes(plot, LEFT, legend.height + 12, WIDTH - LEFT - RIGHT, HEIGHT - BOTTOM - 12)
            for name, hue in lines.items():
                axes.plot(*zip(*self.lines[name]), color=LIGHT[hue], **look)
            if self.doubling:
                ticks = sorted({x for points in self.lines.values() for x, _ in points})
                axes.set_xscale("log", base=2)
                axes.set_xticks(ticks, list(map(canvas.count, ticks)))
            axes.yaxis.set_major_formatter(lambda value, _: canvas.count(value))
            axes.set_xlabel(self.x)
            axes.set_ylabel(self.y)
            axes.grid(True, axis="y")
            legend.draw(plot)
            return canvas.vectors(plot, self.title)
