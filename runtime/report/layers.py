"""Bars by layer: cycles by what the PEs did, utilisation, bytes, energy."""

from runtime.report import canvas
from runtime.report.energy import by_level
from runtime.report.palette import LIGHT, PE_STATES
from runtime.report.text import printable

_TOP, _BOTTOM, _GAP, _RIGHT = 50, 42, 34, 28
_NAME_WIDTH = 130
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
            canvas.boxes(axes, [(end, n + 0.16, part, 0.68) for n, (end, part) in enumerate(zip(ends, parts))], role)
            ends = [end + part for end, part in zip(ends, parts)]
        for n, (end, label) in enumerate(zip(ends, labels)):
            axes.annotate(label, (end, n + 0.5), (4, 0), textcoords="offset points", va="center", fontsize=8.5,
                          color=LIGHT["muted"])


def _ticks(width: float):
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(max(2, int(width // 60)), steps=[1, 2, 2.5, 5, 10])


def _room(labels: list[str], width: float) -> float:
    """Part of a panel's longest bar that is left free behind it, so that the labels stand inside."""
    need = max(canvas.text_width(label, 8.5) for label in labels) + 8
    return need / max(width - need, 1)


def cycles(figures: dict):
    """What the PEs did between the ends of the layers, with the roofline and the DRAM port's work; utilisation."""
    from matplotlib.lines import Line2D

    panels = _Panels(figures["layers"], _TOP)
    rows, share = panels.rows, 0.68
    width = panels.width * share - _GAP
    values = [[row["units"]["pe"][state] for state in PE_STATES] for row in rows]
    labels = [f"{row['counters']['cycles']:,}" for row in rows]
    ends = [max(row["counters"]["cycles"], row["roofline_cycles"], row["units"]["dma"]["busy"]) for row in rows]
    axes = panels.panel(0, width, max(ends), "cycles", _room(labels, width))
    panels.stack(axes, values, [role for _, role in PE_STATES.values()], [""] * len(rows))
    for n, (end, label) in enumerate(zip(ends, labels)):
        axes.annotate(label, (end, n + 0.5), (6, 0), textcoords="offset points", va="center", fontsize=8.5,
                      color=LIGHT["muted"])
    middles = [n + 0.5 for n in range(len(rows))]
    marks = (("|", "roofline of the layer", [row["roofline_cycles"] for row in rows], 11),
             ("D", "DRAM port busy", [row["units"]["dma"]["busy"] for row in rows], 4.5))
    lines = []
    for shape, name, xs, size in marks:
        look = {"marker": shape, "markersize": size, "linestyle": "", "color": LIGHT["ink"],
                "markeredgecolor": LIGHT["ink" if shape == "|" else "paper"], "markeredgewidth": 1.8 if shape == "|" else 0.8}
        axes.plot(xs, middles, **look, clip_on=False)
        lines.append(Line2D([], [], label=name, **look))
    width_used = panels.width * (1 - share)
    percent = [100 * row["utilisation"] for row in rows]
    texts = [f"{value:.1f}" for value in percent]
    axes = panels.panel(panels.width * share, width_used, max(100, *percent), "utilisation, %", _room(texts, width_used))
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
        axes = panels.panel(number * (width + _GAP), width, max(map(sum, kib)), f"{level.upper()}, KiB", _room(labels, width))
        panels.stack(axes, kib, ["purple", "gold"], labels)
    parts = [by_level(row["counters"]["macs"] - row["gated"], row["glb_read_bytes"] + row["glb_write_bytes"],
                      row["dram_read_bytes"] + row["dram_write_bytes"], row["counters"]["cycles"], clock_hz)
             for row in rows]
    labels = [f"{sum(part.values()):,.2f}" for part in parts]
    axes = panels.panel(2 * (width + _GAP), width, max(sum(part.values()) for part in parts), "energy, µJ",
                        _room(labels, width))
    panels.stack(axes, [list(part.values()) for part in parts], list(ENERGY.values()), labels)
    canvas.legend(panels.plot, [("bytes read", "purple"), ("bytes written", "gold")], 8, panels.left)
    canvas.legend(panels.plot, [(f"energy: {level}", role) for level, role in ENERGY.items()], 24, panels.left)
    return panels.plot
