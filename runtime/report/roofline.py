# SPDX-License-Identifier: Apache-2.0
"""The roofline plot: how many multiplications a cycle each layer reaches, over those that a byte from DRAM
pays for."""

from dataclasses import dataclass
from math import hypot

import numpy as np

from runtime.report import canvas
from runtime.report.palette import LIGHT
from runtime.report.text import printable

NAMED = 24  # layers that are labelled with their names; more have their numbers of the table
NAME_WIDTH = 90
HEIGHT = 400
_LEFT, _TOP, _RIGHT, _BOTTOM = 58, 36, 24, 42
_DOT = 5  # radius of a point, with its edge
_GAP = 2  # between labels
_RINGS = 40  # of places around a point


def intensity(row: dict) -> float:
    """Multiplications per byte of DRAM traffic; infinite without any."""
    moved = row["dram_read_bytes"] + row["dram_write_bytes"]
    return row["macs"] / moved if moved else float("inf")


def rate(row: dict) -> float:
    """Multiplications a cycle."""
    return row["macs"] / row["cycles"] if row["cycles"] else 0.0


@dataclass(frozen=True)
class _Plane:
    """The plot's logarithmic plane: limits of x and y, and size in units."""

    left: float
    right: float
    bottom: float
    top: float
    width: float
    height: float

    def place(self, x, y) -> np.ndarray:
        """[n, 2], in units from the lower left corner."""
        return np.column_stack([self.width * np.log(x / self.left) / np.log(self.right / self.left),
                                self.height * np.log(y / self.bottom) / np.log(self.top / self.bottom)])


def roofline(figures: dict, bus_bytes: int):
    """A plot of `figures["layers"]` on a machine whose DRAM port moves `bus_bytes` a cycle."""
    rows, peak = figures["layers"], figures["multipliers"]
    ridge = peak / bus_bytes
    points = np.array([(intensity(row), rate(row)) for row in rows])
    plane = _plane(points, ridge, peak)
    plot = canvas.figure(HEIGHT)
    axes = canvas.axes(plot, _LEFT, _TOP, plane.width, plane.height, xscale="log", yscale="log",
                       xlim=(plane.left, plane.right), ylim=(plane.bottom, plane.top))
    axes.set_xlabel("multiplications per byte of DRAM traffic")
    axes.set_ylabel("multiplications per cycle")
    axes.grid(True)
    axes.minorticks_off()
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(lambda value, _: canvas.count(value))
    axes.plot([plane.left, ridge, plane.right], [plane.left * bus_bytes, peak, peak], color=LIGHT["ink"],
              linewidth=1.6)
    # What has no DRAM traffic, or no multiplications, stands at the edge.
    margin = 1.08
    shown = np.clip(points, [plane.left * margin, plane.bottom * margin], [plane.right / margin, plane.top])
    for part, role in ((points[:, 0] < ridge, "orange"), (points[:, 0] >= ridge, "blue")):
        axes.scatter(*shown[part].T, s=44, color=LIGHT[role], edgecolors=LIGHT["paper"], linewidths=1,
                     zorder=3)
    xs = np.geomspace(plane.left, plane.right, 160)
    roof = [(x - 2, y - 2, 4, 4) for x, y in plane.place(xs, np.minimum(xs * bus_bytes, peak))]
    _label(axes, rows, plane.place(*shown.T), (plane.width, plane.height), roof)
    _legend(plot, rows, peak, bus_bytes)
    return plot


def _plane(points: np.ndarray, ridge: float, peak: int) -> _Plane:
    finite = [x for x in points[:, 0] if 0 < x < float("inf")]
    reached = [y for y in points[:, 1] if y > 0]
    return _Plane(min([*finite, ridge]) / 3, max([*finite, ridge]) * 4, min([*reached, peak / 5]) / 2,
                  peak * 2, canvas.WIDTH - _LEFT - _RIGHT, HEIGHT - _TOP - _BOTTOM)


def _legend(plot, rows: list[dict], peak: int, bus_bytes: int) -> None:
    from matplotlib.lines import Line2D

    roof = f"{peak:,} multipliers, {bus_bytes} bytes a cycle from DRAM"
    lines = [Line2D([], [], color=LIGHT["ink"], label=roof)]
    for role, bound in (("orange", "the DRAM port"), ("blue", "the multipliers")):
        words = f"layer under {bound}"
        lines.append(Line2D([], [], color=LIGHT[role], marker="o", linestyle="", label=words))
    notes = ["numbers as in the table of layers"] if len(rows) > NAMED else []
    if any(intensity(row) == float("inf") for row in rows):
        notes.append("no DRAM traffic: at the right edge")
    lines += [Line2D([], [], linestyle="", label=note) for note in notes]
    canvas.legend(plot, [], 8, _LEFT, lines)


def _label(axes, rows: list[dict], places: np.ndarray, size: tuple, taken: list[tuple]) -> None:
    names = [canvas.shortened(printable(row["name"]), NAME_WIDTH, 9) if len(rows) <= NAMED else str(n)
             for n, row in enumerate(rows, 1)]
    boxes = place_labels(places, [(canvas.text_width(name, 9) + 2, 12) for name in names], size, taken)
    for name, (x, y), (left, low, wide, high) in zip(names, places, boxes):
        near = min(max(x, left), left + wide), min(max(y, low), low + high)
        if hypot(near[0] - x, near[1] - y) > 3 * _DOT:
            axes.annotate("", near, (x, y), xycoords="axes points", textcoords="axes points",
                          arrowprops={"arrowstyle": "-", "color": LIGHT["muted"], "linewidth": 0.7})
        axes.annotate(name, (left + wide / 2, low + high / 2), xycoords="axes points", ha="center",
                      va="center", fontsize=9)


def place_labels(points, sizes: list[tuple], size: tuple, taken: list[tuple] = ()) -> list[tuple]:
    """A box (left, bottom, width, height) for each label, near its point and inside (0, 0) to `size`.

    Boxes meet neither each other nor a point nor what is `taken`. Where there is no such place, they meet
    what is taken; where there is none either, a label has the last place that was tried.
    """
    dots = [(x - _DOT, y - _DOT, 2 * _DOT, 2 * _DOT) for x, y in points]
    boxes: list[tuple] = []
    for (x, y), (wide, high) in zip(points, sizes):
        hard = np.array(dots + boxes)
        soft = np.array([*dots, *boxes, *taken])
        around = [_inside(x, y, wide, high, size, ring, turn) for ring in range(_RINGS) for turn in range(12)]
        free = (box for others in (soft, hard) for box in around if not _meets(box, others))
        boxes.append(next(free, around[-1]))
    return boxes


def _inside(x: float, y: float, wide: float, high: float, size: tuple, ring: int, turn: int) -> tuple:
    """A place around a point, further out with each ring, moved inside the plot."""
    angle = np.pi * turn / 6
    far = _DOT + _GAP + 7 * ring
    left = x + np.cos(angle) * (far + wide / 2) - wide / 2
    low = y + np.sin(angle) * (far + high / 2) - high / 2
    return min(max(left, 0), size[0] - wide), min(max(low, 0), size[1] - high), wide, high


def _meets(box: tuple, others: np.ndarray) -> bool:
    left, low, wide, high = box
    return bool(((others[:, 0] < left + wide + _GAP) & (left < others[:, 0] + others[:, 2] + _GAP)
                 & (others[:, 1] < low + high) & (low < others[:, 1] + others[:, 3])).any())
