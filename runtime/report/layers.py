# SPDX-License-Identifier: Apache-2.0
"""Bar charts by layer: cycles with their bound, states of the PEs, utilisation, bytes, energy."""

from eyrie.compiler.cost.prices import energy_by_level
from eyrie.runtime.report import canvas
from eyrie.runtime.report.canvas import SMALL, Axes, Figure, Line2D
from eyrie.runtime.report.palette import LIGHT, PE_STATES
from eyrie.runtime.report.text import printable

Markers = tuple[list[canvas.Entry], list[Line2D]]  # of a line of a legend

_AXIS, _GAP, _RIGHT = 42, 34, 28
_NAME_WIDTH = 130
ENERGY = {"multipliers": "blue", "GLB": "teal", "DRAM": "orange", "weight decoder": "pink", "leakage": "idle"}


class _Panels:
    """Bars of all layers in panels. Panels stand side by side and share the names of the layers.

    In a narrow plot they stand one below the other.
    """

    def __init__(self, rows: list[dict], width: float, parts: list[float], legends: list[Markers]) -> None:
        """Create the panels; `parts` are their shares of the width, `legends` (entries, markers) of each line."""
        self.rows, self.stacked = rows, width == canvas.NARROW
        self.height = len(rows) * (22 if len(rows) <= 40 else 14)
        self.names = [
            canvas.shortened(f"{number}  {printable(row['name'])}", _NAME_WIDTH, SMALL)
            for number, row in enumerate(rows, 1)
        ]
        self.left = 12 + max(canvas.text_width(name, SMALL) for name in self.names)
        drawn = [canvas.Legend(width, 8 if self.stacked else self.left, *legend) for legend in legends]
        self.top = 8 + sum(canvas.LINE * len(legend.rows) for legend in drawn) + 10
        self.pitch = self.height + _AXIS + 8
        count = len(parts) if self.stacked else 1
        self.plot = canvas.figure(width, self.top + count * self.pitch - 8)
        top = 8
        for legend in drawn:
            legend.draw(self.plot, top)
            top += canvas.LINE * len(legend.rows)
        room = width - self.left - _RIGHT
        free = room - _GAP * (len(parts) - 1)
        self.widths = [room] * len(parts) if self.stacked else [free * part for part in parts]

    def panel(self, number: int, high: float, label: str, labels: list[str]) -> Axes:
        """Return axes from 0 to `high`, extended by the labels of the longest bar."""
        width = self.widths[number]
        left = self.left + (0 if self.stacked else sum(self.widths[:number]) + number * _GAP)
        top = self.top + (number * self.pitch if self.stacked else 0)
        need = max(canvas.text_width(text, SMALL) for text in labels) + 10 if labels else 0.02 * width
        axes = canvas.axes(self.plot, left, top, width, self.height)
        end = (high or 1) * width / max(width - need, 1)
        axes.set(xlim=(0, end), ylim=(len(self.rows), 0), xlabel=label)
        canvas.ticks(axes.xaxis, width, end)
        axes.grid(True, axis="x")
        axes.spines["bottom"].set_visible(False)
        axes.tick_params(axis="x", length=0)
        named = self.stacked or not number
        names = self.names if named else []
        axes.set_yticks([n + 0.5 for n in range(len(names))], names)
        return axes

    def stack(self, axes: Axes, values: list[list[float]], roles: list[str]) -> list[float]:
        """Draw a bar for each layer with a part for each role; return the ends of the bars."""
        ends = [0.0] * len(self.rows)
        for role, parts in zip(roles, zip(*values)):
            places = [(end, n + 0.16, part, 0.68) for n, (end, part) in enumerate(zip(ends, parts))]
            canvas.boxes(axes, places, role)
            ends = [end + part for end, part in zip(ends, parts)]
        return ends

    def label(self, axes: Axes, ends: list[float], labels: list[str]) -> None:
        """Write a label for each layer after the end of its bar."""
        for n, (end, label) in enumerate(zip(ends, labels)):
            axes.annotate(
                label,
                (end, n + 0.5),
                (6, 0),
                textcoords="offset points",
                va="center",
                fontsize=SMALL,
                color=LIGHT["muted"],
            )

    def mark(self, axes: Axes, values: list[float], line: Line2D) -> None:
        """Draw a marker for each layer in the style of `line`."""
        look = {
            name: getattr(line, f"get_{name}")()
            for name in ("marker", "markersize", "linestyle", "color", "markeredgecolor", "markeredgewidth")
        }
        axes.plot(values, [n + 0.5 for n in range(len(values))], **look, clip_on=False)


def _marker(shape: str, size: float, edge: str, edge_width: float, name: str) -> Line2D:
    return Line2D(
        [],
        [],
        marker=shape,
        markersize=size,
        linestyle="",
        color=LIGHT["ink"],
        label=name,
        markeredgecolor=LIGHT[edge],
        markeredgewidth=edge_width,
    )


def cycles(metrics: dict, width: float) -> Figure:
    """Draw by layer: measured and predicted cycles and the MAC bound; the states of the PEs and the DRAM port in the
    layer's interval; utilisation."""
    rows = metrics["layers"]
    bound = _marker("|", 11, "ink", 1.8, "MAC bound: MACs / multipliers")
    port = _marker("D", 4.5, "paper", 0.8, "DRAM port busy")
    markers = [bound]
    if all(row["predicted_cycles"] is not None for row in rows):
        markers.append(_marker("o", 5, "paper", 0.8, "cycles, predicted"))
    parts = [([("cycles, measured", "time")], markers), (list(PE_STATES.values()), [port])]
    panels = _Panels(rows, width, [0.4, 0.4, 0.2], parts)
    labels = [f"{row['cycles']:,}" for row in rows]
    ends = [max(row["cycles"], row["predicted_cycles"] or 0) for row in rows]
    axes = panels.panel(0, max(ends), "cycles", labels)
    panels.stack(axes, [[row["cycles"]] for row in rows], ["time"])
    panels.label(axes, ends, labels)
    panels.mark(axes, [row["mac_cycles"] for row in rows], bound)
    for predicted in markers[1:]:
        panels.mark(axes, [row["predicted_cycles"] for row in rows], predicted)
    intervals = [max(row["counters"]["cycles"], 1) for row in rows]
    axes = panels.panel(1, 100, "PEs, % of the layer's interval", [])
    panels.stack(
        axes,
        [
            [100 * row["units"]["pe"][state] / cycles for state in PE_STATES]
            for row, cycles in zip(rows, intervals, strict=True)
        ],
        [role for _, role in PE_STATES.values()],
    )
    busy = [100 * row["units"]["dma"]["busy"] / cycles for row, cycles in zip(rows, intervals, strict=True)]
    panels.mark(axes, busy, port)
    percent = [100 * row["utilisation"] for row in rows]
    _labelled(panels, 2, [[value] for value in percent], ["blue"], "utilisation, %", "{:.1f}", 100)
    return panels.plot


def _labelled(
    panels: _Panels, number: int, values: list[list[float]], roles: list[str], name: str, form: str, least: float = 0
) -> None:
    """Draw a panel of bars with their sums beside them; the axis reaches at least `least`."""
    sums = [sum(parts) for parts in values]
    labels = [form.format(value) for value in sums]
    axes = panels.panel(number, max(*sums, least), name, labels)
    panels.label(axes, panels.stack(axes, values, roles), labels)


def levels(metrics: dict, clock_hz: int, width: float) -> Figure:
    """Draw the bytes to and from DRAM and GLB, and the energy by level."""
    rows = metrics["layers"]
    counters = [{name.upper(): count for name, count in row["counters"].items()} for row in rows]
    energies = [energy_by_level(counts, counts["CYCLES"], clock_hz) for counts in counters]
    shown = {level: role for level, role in ENERGY.items() if any(energy[level] for energy in energies)}
    panels = _Panels(
        rows,
        width,
        [1 / 3] * 3,
        [
            ([("bytes read", "green"), ("bytes written", "pink")], []),
            ([(f"energy: {level}", role) for level, role in shown.items()], []),
        ],
    )
    for number, level in enumerate(("dram", "glb")):
        kib = [[row[f"{level}_{way}_bytes"] / 1024 for way in ("read", "write")] for row in rows]
        _labelled(panels, number, kib, ["green", "pink"], f"{level.upper()}, KiB", "{:,.1f}")
    parts = [[energy[level] for level in shown] for energy in energies]
    _labelled(panels, 2, parts, list(shown.values()), "energy, µJ", "{:,.2f}")
    return panels.plot
