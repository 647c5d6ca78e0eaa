# SPDX-License-Identifier: Apache-2.0
"""The work of each unit over time: shares of the cycles between the ends of two passes."""

from collections.abc import Callable, Sequence
from itertools import pairwise

from eyrie.compiler.cost.timing.array import PassTimes
from eyrie.compiler.ir.image import Image
from eyrie.model.config import GLB_WORD_BYTES, AcceleratorConfig
from eyrie.runtime.report import canvas
from eyrie.runtime.report.canvas import Axes, Figure
from eyrie.runtime.report.palette import LIGHT
from eyrie.runtime.report.text import printable

_RIGHT, _BOTTOM, _LANE, _GAP, _PASS_LANE = 30, 42, 46, 12, 20
_STATES = {"working": "blue", "stalled by the next unit": "red", "waiting": "gold", "idle PEs": "idle"}
_SHADES = ("time", "muted")  # of the passes of one layer and of the next
IFMAP_LANES = 2  # words a cycle of the ifmap stream, at most

Shares = list[float]  # of the states; the rest of the cycles shows as paper


def _lanes(config: AcceleratorConfig) -> dict[str, Callable[[dict[str, int]], Shares]]:
    """Return, by unit, a function from the increments of the counters to the cycles in each state."""
    pes, lanes = config.rows * config.cols, config.filter_lanes
    return {
        "PE array": lambda c: [
            c["MACS"] / config.total_multipliers,
            0,
            sum(c[f"PE_WAIT_{what}"] for what in ("IFMAP", "WORDS", "FILTER", "PSUM")) / pes,
            c["PE_IDLE"] / pes,
        ],
        "ifmap stream": lambda c: [
            c["GLB_IFMAP_BYTES"] / GLB_WORD_BYTES / IFMAP_LANES,
            c["IFMAP_STALL"],
            c["IFMAP_WAIT"],
        ],
        "filter stream": lambda c: [
            c["GLB_FILTER_BYTES"] / GLB_WORD_BYTES / lanes,
            c["FILTER_STALL"],
            c["FILTER_WAIT"],
        ],
        "drain, PPU": lambda c: [c["DRAIN_BUSY"], c["DRAIN_STALL"]],
        "DMA": lambda c: [c["DMA_BUSY"], 0, c["DMA_WAIT"]],
    }


def shares(config: AcceleratorConfig, passes: list[dict]) -> tuple[list[int], dict[str, list[Shares]]]:
    """Return the ends of the passes from 0 on, and by unit the shares of its states in each interval between them.

    A state has at most the share that earlier states leave, because a unit can wait for one thing while it works on
    another.
    """
    names = [name for name in passes[0] if name not in ("signature", "pe_cycles")]
    ends = [0]
    found: dict[str, list[Shares]] = {unit: [] for unit in _lanes(config)}
    for before, after in pairwise([dict.fromkeys(names, 0), *passes]):
        cycles = after["CYCLES"] - before["CYCLES"]
        if cycles <= 0:
            continue
        ends.append(after["CYCLES"])
        gone = {name: after[name] - before[name] for name in names}
        for unit, states in _lanes(config).items():
            left, parts = 1.0, Shares()
            for state in states(gone):
                parts.append(min(max(state / cycles, 0), left))
                left -= parts[-1]
            found[unit].append(parts)
    return ends, found


class _Lanes:
    """Axes over the same cycles, one below the other. Their names stand at the left, or in a narrow plot above."""

    def __init__(self, width: float, high: float, names: list[str], heights: Sequence[float]) -> None:
        self.narrow, self.high, self.names, self.heights = width == canvas.NARROW, high, names, heights
        self.left = 12 + (0 if self.narrow else max(canvas.text_width(name, canvas.SMALL) for name in names))
        self.gap = _GAP + (8 if self.narrow else 0)
        legend = canvas.Legend(width, 8 if self.narrow else self.left, list(_STATES.items()))
        self.top = legend.height + (self.gap - _GAP)
        self.width = width - self.left - _RIGHT
        self.plot = canvas.figure(width, self._top(len(names)) - self.gap + _BOTTOM)
        legend.draw(self.plot)

    def _top(self, number: int) -> float:
        return self.top + sum(self.heights[:number]) + number * self.gap

    def lane(self, number: int) -> Axes:
        axes = canvas.axes(
            self.plot, self.left, self._top(number), self.width, self.heights[number], xlim=(0, self.high), ylim=(0, 1)
        )
        axes.set_yticks([] if self.narrow else [0.5], [] if self.narrow else [self.names[number]])
        axes.set_xticks([])
        axes.spines["left"].set_visible(False)
        if self.narrow:
            axes.annotate(
                self.names[number],
                (0, 1),
                (0, 4),
                xycoords="axes fraction",
                textcoords="offset points",
                fontsize=canvas.SMALL,
            )
        return axes


def timeline(image: Image, passes: list[dict], predicted: list[PassTimes] | None, width: float) -> Figure:
    """Return the plot; `predicted` has the passes' times by the cost model (compiler.cost.timing), or None."""
    ends, units = shares(image.config, passes)
    layer_of = image.step_of_pass
    high = max(ends[-1], *(times.done for times in predicted or []), 1)
    names = ["passes, measured", *(["passes, predicted"] if predicted else [])]
    lanes = _Lanes(width, high, [*names, *units], [_PASS_LANE] * len(names) + [_LANE] * len(units))
    axes = lanes.lane(0)
    spans = [(before["CYCLES"], after["CYCLES"]) for before, after in pairwise([{"CYCLES": 0}, *passes])]
    _bars(axes, spans, layer_of)
    _names(axes, spans, layer_of, image, lanes.width / high)
    if predicted:
        _bars(lanes.lane(1), [(times.begun, times.worked) for times in predicted], layer_of)
    for number, parts in enumerate(units.values(), len(names)):
        axes = lanes.lane(number)
        _stack(axes, ends, parts)
    canvas.ticks(axes.xaxis, lanes.width, high)
    axes.set_xlabel("cycles")
    return lanes.plot


def _stack(axes: Axes, ends: list[int], parts: list[Shares]) -> None:
    """Draw the shares of each interval as a stack."""
    low = [0.0] * len(parts)
    for number, role in enumerate(_STATES.values()):
        heights = [part[number] if number < len(part) else 0 for part in parts]
        places = [(start, y, end - start, h) for (start, end), y, h in zip(pairwise(ends), low, heights)]
        canvas.boxes(axes, places, role, edgecolors=LIGHT[role], linewidths=0.3)  # no seams between them
        low = [y + h for y, h in zip(low, heights)]


def _bars(axes: Axes, spans: list[tuple], layer_of: dict[int, int]) -> None:
    """Draw a bar for each pass; the layers have two shades in turn."""
    for number, role in enumerate(_SHADES):
        canvas.boxes(
            axes,
            [(start, 0, end - start, 1) for n, (start, end) in enumerate(spans) if layer_of.get(n, 0) % 2 == number],
            role,
        )


def _names(axes: Axes, spans: list[tuple], layer_of: dict[int, int], image: Image, scale: float) -> None:
    """Write the names of layers into passes with enough space; `scale` is the number of units of a cycle."""
    for n, (start, end) in enumerate(spans):
        name = printable(image.steps[layer_of[n]].name) if n in layer_of else ""
        if name and canvas.text_width(name, canvas.SMALL) + 6 <= (end - start) * scale:
            axes.text(
                (start + end) / 2, 0.48, name, ha="center", va="center", fontsize=canvas.SMALL, color=LIGHT["paper"]
            )
