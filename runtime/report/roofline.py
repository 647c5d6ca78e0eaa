# SPDX-License-Identifier: Apache-2.0
"""The roofline plot: MACs per cycle of each layer over its arithmetic intensity.

The arithmetic intensity is MACs per byte of weights and quantisation parameters, each byte counted once.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import hypot
from typing import Any

import numpy as np

from eyrie.compiler.cost.roofline import step_bytes
from eyrie.compiler.ir.image import Image
from eyrie.runtime.report import canvas
from eyrie.runtime.report.canvas import Axes, Figure, Line2D
from eyrie.runtime.report.palette import LIGHT
from eyrie.runtime.report.text import printable

NAMED: dict[float, int] = {
    canvas.WIDE: 24,
    canvas.NARROW: 12,
}  # layers with names by the plot's width; more have numbers
NAME_WIDTH = 90
HEIGHT = 400
_LEFT, _RIGHT, _BOTTOM = 58, 24, 42
_DOT = 5  # radius of a point, with its edge
_GAP = 2  # between labels
_LABEL = 12  # height of one
_RINGS = 40  # of places around a point


def points(image: Image, metrics: dict) -> np.ndarray:
    """Return [layers, 2]: MACs per byte of weights and quantisation parameters, each byte once; MACs per cycle.

    With these bytes, a layer is as far below the roof as its `cycles` are above its `roofline_cycles`. A layer without
    bytes or cycles has 0.
    """
    return np.array(
        [
            (_ratio(step.macs, step_bytes(step)), _ratio(row["macs"], row["cycles"]))
            for step, row in zip(image.steps, metrics["layers"])
        ]
    )


def _ratio(count: float, of: float) -> float:
    return count / of if of else 0.0


@dataclass(frozen=True)
class _Plane:
    """The plot's logarithmic plane: limits of x and y, and size in units."""

    left: float
    right: float
    bottom: float
    top: float
    width: float
    height: float

    def place(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the points as [n, 2], in units from the lower left corner."""
        return np.column_stack(
            [
                self.width * np.log(x / self.left) / np.log(self.right / self.left),
                self.height * np.log(y / self.bottom) / np.log(self.top / self.bottom),
            ]
        )


def roofline(image: Image, metrics: dict, width: float) -> Figure:
    """Return the roofline plot of `metrics["layers"]`."""
    rows, peak = metrics["layers"], metrics["multipliers"]
    bus_bytes = image.config.dram_bytes
    ridge = peak / bus_bytes
    reached = points(image, metrics)
    legend = _legend(rows, peak, bus_bytes, width)
    plane = _plane(reached, ridge, peak, (width - _LEFT - _RIGHT, HEIGHT - legend.height - _BOTTOM))
    plot = canvas.figure(width, HEIGHT)
    legend.draw(plot)
    axes = canvas.axes(
        plot,
        _LEFT,
        legend.height,
        plane.width,
        plane.height,
        xlim=(plane.left, plane.right),
        ylim=(plane.bottom, plane.top),
        scale="log",
    )
    axes.set_xlabel("MAC per byte (arithmetic intensity)")
    axes.set_ylabel("MAC per cycle")
    axes.grid(True)
    axes.minorticks_off()
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(lambda value, _: canvas.count(value))
    axes.plot([plane.left, ridge, plane.right], [plane.left * bus_bytes, peak, peak], color=LIGHT["ink"], linewidth=1.6)
    limit = _label_roof(axes, plane, peak, bus_bytes)
    # A layer without cycles or MACs stands at the edge.
    margin = 1.08
    shown = np.clip(reached, [plane.left * margin, plane.bottom * margin], [plane.right / margin, plane.top])
    for part, role in ((reached[:, 0] < ridge, "orange"), (reached[:, 0] >= ridge, "blue")):
        places_x, places_y = shown[part].T
        axes.scatter(places_x, places_y, s=44, color=LIGHT[role], edgecolors=LIGHT["paper"], linewidths=1, zorder=3)
    xs = np.geomspace(plane.left, plane.right, 160)
    roof = [(x - 2, y - 2, 4, 4) for x, y in plane.place(xs, np.minimum(xs * bus_bytes, peak))]
    names = [
        canvas.shortened(printable(row["name"]), NAME_WIDTH, canvas.SMALL) if len(rows) <= NAMED[width] else str(n)
        for n, row in enumerate(rows, 1)
    ]
    _label(axes, names, plane.place(*shown.T), (plane.width, plane.height), [limit], roof)
    return plot


def _label_roof(axes: Axes, plane: _Plane, peak: int, bus_bytes: int) -> tuple:
    """Write the limits along the roof and along the slope. Return the box of the one along the roof."""
    look: dict[str, Any] = {"fontsize": canvas.SMALL, "color": LIGHT["muted"], "textcoords": "offset points"}
    limit, above = f"{peak:,} MAC a cycle", 4
    axes.annotate(limit, (plane.right, peak), xytext=(-above, above), ha="right", va="bottom", **look)
    xs = np.array([plane.left, plane.left * 2])
    (x0, y0), (x1, y1) = plane.place(xs, xs * bus_bytes)
    middle = (plane.left * peak / bus_bytes) ** 0.5
    angle = np.degrees(np.arctan2(y1 - y0, x1 - x0))
    text = f"{bus_bytes} bytes a cycle"
    at = (middle, middle * bus_bytes)
    axes.annotate(text, at, xytext=(-5, 5), rotation=angle, rotation_mode="anchor", ha="center", va="bottom", **look)
    [[right, roof]] = plane.place(np.array([plane.right]), np.array([peak]))
    wide = canvas.text_width(limit, canvas.SMALL)
    return right - above - wide, roof + above, wide, _LABEL


def _plane(reached: np.ndarray, ridge: float, peak: int, size: tuple[float, float]) -> _Plane:
    xs, ys = ([value for value in values if value > 0] for values in reached.T)
    return _Plane(min([*xs, ridge]) / 3, max([*xs, ridge]) * 4, min([*ys, peak / 5]) / 2, peak * 2, *size)


def _legend(rows: list[dict], peak: int, bus_bytes: int, width: float) -> canvas.Legend:
    roof = f"roof: {peak:,} multipliers, DRAM port of {bus_bytes} bytes a cycle"
    lines = [Line2D([], [], color=LIGHT["ink"], label=roof)]
    for role, bound in (("orange", "memory"), ("blue", "compute")):
        words = f"layer, {bound}-bound"
        lines.append(Line2D([], [], color=LIGHT[role], marker="o", linestyle="", label=words))
    if len(rows) > NAMED[width]:
        lines.append(Line2D([], [], linestyle="", label="numbers as in the table of layers"))
    return canvas.Legend(width, _LEFT if width == canvas.WIDE else 8, [], lines)


def _label(
    axes: Axes, names: list[str], places: np.ndarray, size: tuple, labels: list[tuple], taken: list[tuple]
) -> None:
    sizes = [(canvas.text_width(name, canvas.SMALL) + 2, _LABEL) for name in names]
    boxes = place_labels(places, sizes, size, taken, labels)
    for name, (x, y), (left, low, wide, high) in zip(names, places, boxes):
        near = min(max(x, left), left + wide), min(max(y, low), low + high)
        if hypot(near[0] - x, near[1] - y) > 3 * _DOT:
            axes.annotate(
                "",
                near,
                (x, y),
                xycoords="axes points",
                textcoords="axes points",
                arrowprops={"arrowstyle": "-", "color": LIGHT["muted"], "linewidth": 0.7},
            )
        axes.annotate(
            name,
            (left + wide / 2, low + high / 2),
            xycoords="axes points",
            ha="center",
            va="center",
            fontsize=canvas.SMALL,
        )


def place_labels(
    points: Iterable[tuple[float, float]],
    sizes: list[tuple],
    size: tuple,
    taken: Sequence[tuple] = (),
    labels: Sequence[tuple] = (),
) -> list[tuple]:
    """Return a box (left, bottom, width, height) for each label, near its point and inside (0, 0) to `size`.

    A box avoids the other boxes, `labels`, the points and `taken`. If no position is free, it may overlap `taken`. If
    that is not possible either, the label has the last position that was tried.
    """
    kept = [*labels, *((x - _DOT, y - _DOT, 2 * _DOT, 2 * _DOT) for x, y in points)]
    boxes: list[tuple] = []
    for (x, y), (wide, high) in zip(points, sizes):
        hard = np.array(kept + boxes)
        soft = np.array([*kept, *boxes, *taken])
        around = [_inside(x, y, wide, high, size, ring, turn) for ring in range(_RINGS) for turn in range(12)]
        free = (box for others in (soft, hard) for box in around if not _meets(box, others))
        boxes.append(next(free, around[-1]))
    return boxes


def _inside(x: float, y: float, wide: float, high: float, size: tuple, ring: int, turn: int) -> tuple:
    """Return a position around a point, further out with each ring, moved inside the plot."""
    angle = np.pi * turn / 6
    far = _DOT + _GAP + 7 * ring
    left = x + np.cos(angle) * (far + wide / 2) - wide / 2
    low = y + np.sin(angle) * (far + high / 2) - high / 2
    return min(max(left, 0), size[0] - wide), min(max(low, 0), size[1] - high), wide, high


def _meets(box: tuple, others: np.ndarray) -> bool:
    left, low, wide, high = box
    return bool(
        (
            (others[:, 0] < left + wide + _GAP)
            & (left < others[:, 0] + others[:, 2] + _GAP)
            & (others[:, 1] < low + high)
            & (low < others[:, 1] + others[:, 3])
        ).any()
    )
