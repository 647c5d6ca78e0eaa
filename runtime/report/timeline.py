# SPDX-License-Identifier: Apache-2.0
"""What each unit did over time: its shares of the cycles from the end of a pass to the end of the next."""

from collections.abc import Callable
from itertools import pairwise

from model.config import GLB_WORD_BYTES, MachineConfig
from runtime.report import canvas
from runtime.report.palette import HUES, LIGHT
from runtime.report.text import printable

_TOP, _RIGHT, _BOTTOM, _LANE, _GAP, _PASS_LANE = 34, 30, 42, 46, 12, 20
_STATES = {"working": "blue", "held up by the next unit": "red", "waiting": "gold",
           "PEs without a pass": "idle"}
IFMAP_LANES = 2  # words a cycle of the ifmap stream, at most

Shares = list[float]  # of the states; the rest of the cycles shows as paper


def _lanes(machine: MachineConfig) -> dict[str, Callable[[dict[str, int]], Shares]]:
    """By unit, from what the counters went on by: cycles in each state."""
    pes, lanes = machine.rows * machine.cols, machine.filter_lanes
    return {
        "PE array": lambda c: [c["MACS"] / machine.total_multipliers, 0, sum(
            c[f"PE_WAIT_{what}"] for what in ("IFMAP", "WORDS", "FILTER", "PSUM")) / pes, c["PE_IDLE"] / pes],
        "ifmap stream": lambda c: [c["GLB_IFMAP_BYTES"] / GLB_WORD_BYTES / IFMAP_LANES, c["IFMAP_STALL"],
                                   c["IFMAP_WAIT"]],
        "filter stream": lambda c: [c["GLB_FILTER_BYTES"] / GLB_WORD_BYTES / lanes, c["FILTER_STALL"],
                                    c["FILTER_WAIT"]],
        "drain, PPU": lambda c: [c["DRAIN_BUSY"], c["DRAIN_STALL"]],
        "DMA": lambda c: [c["DMA_BUSY"], 0, c["DMA_WAIT"]],
    }


def shares(machine: MachineConfig, passes: list[dict]) -> tuple[list[int], dict[str, list[Shares]]]:
    """The ends of the passes, from 0 on, and by unit the shares of its states in each interval between them.

    A state has at most what those before it leave: a unit may wait for one thing while it works on another.
    """
    names = [name for name in passes[0] if name not in ("signature", "pe_cycles")]
    ends, found = [0], {unit: [] for unit in _lanes(machine)}
    for before, after in pairwise([dict.fromkeys(names, 0), *passes]):
        cycles = after["CYCLES"] - before["CYCLES"]
        if cycles <= 0:
            continue
        ends.append(after["CYCLES"])
        gone = {name: after[name] - before[name] for name in names}
        for unit, states in _lanes(machine).items():
            left, parts = 1.0, []
            for state in states(gone):
                parts.append(min(max(state / cycles, 0), left))
                left -= parts[-1]
            found[unit].append(parts)
    return ends, found


def timeline(image, passes: list[dict], predicted: list | None):
    """predicted: times of the passes by the cost model (compiler.timing), None where it has none."""
    machine = image.machine
    ends, units = shares(machine, passes)
    first = _TOP + (_PASS_LANE + _GAP) * (1 + bool(predicted))
    tops = [first + n * (_LANE + _GAP) for n in range(len(units))]
    plot = canvas.figure(tops[-1] + _LANE + _BOTTOM)
    layer_of = {number: n for n, step in enumerate(image.map["steps"]) for number in step["passes"]}
    names = {"passes": "passes, measured", "predicted": "passes, predicted"}
    left = 12 + max(canvas.text_width(name, 9) for name in [*units, *names.values()])
    high = max(ends[-1], *(times.done for times in predicted or []), 1)

    def lane(top: float, height: float, name: str):
        axes = canvas.axes(plot, left, top, canvas.WIDTH - left - _RIGHT, height, xlim=(0, high), ylim=(0, 1))
        axes.set_yticks([0.5], [name])
        axes.set_xticks([])
        axes.spines["left"].set_visible(False)
        return axes

    axes = lane(_TOP, _PASS_LANE, names["passes"])
    spans = [(before["CYCLES"], after["CYCLES"]) for before, after in pairwise([{"CYCLES": 0}, *passes])]
    _bars(axes, spans, layer_of)
    _names(axes, spans, layer_of, image, high)
    if predicted:
        axes = lane(_TOP + _PASS_LANE + _GAP, _PASS_LANE, names["predicted"])
        _bars(axes, [(times.begun, times.worked) for times in predicted], layer_of)
    for top, (unit, parts) in zip(tops, units.items()):
        axes = lane(top, _LANE, unit)
        _stack(axes, ends, parts)
    _cycles_axis(axes)
    canvas.legend(plot, list(_STATES.items()), 8, left)
    return plot


def _stack(axes, ends: list[int], parts: list[Shares]) -> None:
    """The shares of each interval, one upon the other."""
    low = [0.0] * len(parts)
    for number, role in enumerate(_STATES.values()):
        heights = [part[number] if number < len(part) else 0 for part in parts]
        places = [(start, y, end - start, h) for (start, end), y, h in zip(pairwise(ends), low, heights)]
        canvas.boxes(axes, places, role, edgecolors=LIGHT[role], linewidths=0.3)  # no seams between them
        low = [y + h for y, h in zip(low, heights)]


def _cycles_axis(axes) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator(8))
    axes.xaxis.set_major_formatter(lambda value, _: canvas.count(value))
    axes.set_xlabel("cycles")


def _bars(axes, spans: list[tuple], layer_of: dict[int, int]) -> None:
    """A bar for each pass, in its layer's colour."""
    for number, role in enumerate(HUES):
        canvas.boxes(axes, [(start, 0, end - start, 1) for n, (start, end) in enumerate(spans)
                            if layer_of.get(n, 0) % len(HUES) == number], role)


def _names(axes, spans: list[tuple], layer_of: dict[int, int], image, high: float) -> None:
    """Layers' names in the passes that have room."""
    width = axes.get_position().width * canvas.WIDTH / high
    for n, (start, end) in enumerate(spans):
        name = printable(image.map["steps"][layer_of[n]]["name"]) if n in layer_of else ""
        if name and canvas.text_width(name, 8) + 6 <= (end - start) * width:
            axes.text((start + end) / 2, 0.48, name, ha="center", va="center", fontsize=8,
                      color=LIGHT["paper"])
