# SPDX-License-Identifier: Apache-2.0
"""Bars by layer: cycles by what the PEs did, utilisation, bytes, energy."""

from compiler.prices import energy_by_level
from runtime.report import canvas
from runtime.report.palette import LIGHT, PE_STATES
from runtime.report.text import printable

_TOP, _BOTTOM, _GAP, _RIGHT = 50, 42, 34, 28
_NAME_WIDTH = 130
_LABEL_SIZE = 8.5
ENERGY = {"multipliers": "blue", "GLB": "teal", "DRAM": "orange", "leakage": "idle"}


class _Panels:
    """Bars of all layers in panels side by side, that share the layers' names."""

    def __init__(self, rows: list[dict], top: float) -> None:
        self.rows, self.top = rows, top
        self.pitch = 22 if len(rows) <= 40 else 14
        self.height = len(rows) * self.pitch
        self.plot = canvas.figure(top + self.height + _BOTTOM)
        self.names = [canvas.shortened(f"{number}  {printable(row['name'])}", _NAME_WIDTH, 9)
                      for number, row in enumerate(rows, 1)]
        self.left = 12 + max(canvas.text_width(name, 9) for name in self.names)
        self.width = canvas.WIDTH - self.left - _RIGHT

    def panel(self, left: float, width: float, high: float, label: str, margin: float = 0.02):
        """Axes from 0 to `high` and `margin` of it, `left` of the names' end."""
        axes = canvas.axes(self.plot, self.left + left, self.top, width, self.height)
        axes.set(xlim=(0, (high or 1) * (1 + margin)), ylim=(len(self.rows), 0), xlabel=label)
        axes.xaxis.set_major_formatter(lambda value, _: canvas.count(value))
        axes.xaxis.set_major_locator(_ticks(width))
        axes.grid(True, axis="x")
        axes.spines["bottom"].set_visible(False)
        axes.tick_params(axis="x", length=0)
        axes.set_yticks([n + 0.5 for n in range(len(self.rows))] if not left else [],
                        self.names if not left else [])
        return axes

    def stack(self, axes, values: list[list[float]], roles: list[str], labels: list[str]) -> None:
        """A bar for each layer, of a part for each role, with a label behind its end."""
        ends = [0.0] * len(self.rows)
        for role, parts in zip(roles, zip(*values)):
            places = [(end, n + 0.16, part, 0.68) for n, (end, part) in enumerate(zip(ends, parts))]
            canvas.boxes(axes, places, role)
            ends = [end + part for end, part in zip(ends, parts)]
        self.label(axes, ends, labels)

    def label(self, axes, ends: list[float], labels: list[str]) -> None:
        """A label for each layer, behind where its bar ends."""
        for n, (end, label) in enumerate(zip(ends, labels)):
            axes.annotate(label, (end, n + 0.5), (6, 0), textcoords="offset points", va="center",
                          fontsize=_LABEL_SIZE, color=LIGHT["muted"])


def _ticks(width: float):
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(max(2, int(width // 60)), steps=[1, 2, 2.5, 5, 10])


def _room(labels: list[str], width: float) -> float:
    """Part of a panel's longest bar that is left free behind it, so that the labels stand inside."""
    need = max(canvas.text_width(label, _LABEL_SIZE) for label in labels) + 10
    return need / max(width - need, 1)


def cycles(figures: dict):
    """What the PEs did between the ends of the layers, with roofline and DRAM port; utilisation."""
    from matplotlib.lines import Line2D

    panels = _Panels(figures["layers"], _TOP)
    rows, share = panels.rows, 0.68
    width = panels.width * share - _GAP
    values = [[row["units"]["pe"][state] for state in PE_STATES] for row in rows]
    labels = [f"{row['counters']['cycles']:,}" for row in rows]
    ends = [max(row["counters"]["cycles"], row["roofline_cycles"], row["units"]["dma"]["busy"])
            for row in rows]
    axes = panels.panel(0, width, max(ends), "cycles", _room(labels, width))
    panels.stack(axes, values, [role for _, role in PE_STATES.values()], [""] * len(rows))
    panels.label(axes, ends, labels)
    middles = [n + 0.5 for n in range(len(rows))]
    marks = (("|", 11, "ink", 1.8, "roofline of the layer", [row["roofline_cycles"] for row in rows]),
             ("D", 4.5, "paper", 0.8, "DRAM port busy", [row["units"]["dma"]["busy"] for row in rows]))
    lines = []
    for shape, size, edge, edge_width, name, xs in marks:
        look = {"marker": shape, "markersize": size, "linestyle": "", "color": LIGHT["ink"],
                "markeredgecolor": LIGHT[edge], "markeredgewidth": edge_width}
        axes.plot(xs, middles, **look, clip_on=False)
        lines.append(Line2D([], [], label=name, **look))
    left, width = panels.width * share, panels.width * (1 - share)
    percent = [100 * row["utilisation"] for row in rows]
    texts = [f"{value:.1f}" for value in percent]
    axes = panels.panel(left, width, max(100, *percent), "utilisation, %", _room(texts, width))
    panels.stack(axes, [[value] for value in percent], ["blue"], texts)
    canvas.legend(panels.plot, list(PE_STATES.values()), 8, panels.left, lines)
    return panels.plot


def levels(figures: dict, clock_hz: int):
    """Bytes to and from DRAM and GLB, and energy by level."""
    panels = _Panels(figures["layers"], _TOP)
    rows, width = panels.rows, (panels.width - 2 * _GAP) / 3
    for number, level in enumerate(("dram", "glb")):
        kib = [[row[f"{level}_{way}_bytes"] / 1024 for way in ("read", "write")] for row in rows]
        labels = [f"{sum(parts):,.1f}" for parts in kib]
        axes = panels.panel(number * (width + _GAP), width, max(map(sum, kib)), f"{level.upper()}, KiB",
                            _room(labels, width))
        panels.stack(axes, kib, ["purple", "gold"], labels)
    parts = [energy_by_level(
        row["counters"]["macs"] - row["gated"], row["glb_read_bytes"] + row["glb_write_bytes"],
        row["dram_read_bytes"] + row["dram_write_bytes"], row["counters"]["cycles"], clock_hz)
        for row in rows]
    labels = [f"{sum(part.values()):,.2f}" for part in parts]
    axes = panels.panel(2 * (width + _GAP), width, max(sum(part.values()) for part in parts), "energy, µJ",
                        _room(labels, width))
    panels.stack(axes, [list(part.values()) for part in parts], list(ENERGY.values()), labels)
    canvas.legend(panels.plot, [("bytes read", "purple"), ("bytes written", "gold")], 8, panels.left)
    levels = [(f"energy: {level}", role) for level, role in ENERGY.items()]
    canvas.legend(panels.plot, levels, 8 + canvas.LINE, panels.left)
    return panels.plot
