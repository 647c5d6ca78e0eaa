# SPDX-License-Identifier: Apache-2.0
"""A picture of a trace: a row for each track of slices."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from eyrie.runtime.report import canvas
from eyrie.runtime.report.gantt import Span, merged
from eyrie.runtime.report.palette import LIGHT
from eyrie.runtime.report.text import printable
from eyrie.runtime.trace.file import lanes
from eyrie.runtime.trace.tracks import Slice, Slices, Track

_WIDTH, _ROW, _RIGHT, _BOTTOM = 1100, 16, 30, 42
_BAR = 0.8  # of the height of a row
_LEAST = 12  # width of a slice with a name
# The colour of a slice: of the first word that the path of its track or its name has. The others work.
_ROLES = {
    "planned": "time",
    "STALL": "red",
    "WAIT_FILTER": "orange",
    "WAIT_IFMAP": "teal",
    "WAIT_WORDS": "purple",
    "WAIT_PSUM": "red",
    "WAIT": "gold",
    "IDLE": "idle",
    "commands": "brown",
    "loads": "green",
    "reads": "green",
    "stores": "pink",
    "writes": "pink",
}
_WORKS = "blue"
_LEGEND = [
    *(("measured: works", _WORKS), ("stalled", "red"), ("waits", "gold"), ("PEs wait for filters", "orange")),
    *(("PEs wait for ifmap", "teal"), ("PEs wait for depthwise results", "purple"), ("idle PEs", "idle")),
    *(("reads", "green"), ("writes", "pink"), ("commands", "brown"), ("planned", "time")),
]


class Colours(NamedTuple):
    """The colours of a picture: role: of a slice of a track; legend: words and roles"""

    role: Callable[[Slices, Slice], str]
    legend: list[canvas.Entry]


def window(tracks: Sequence[Track], at: int | None, cycles: int) -> Span:
    """Return the first cycle of a picture and the cycle after its last: `cycles` around `at`, or the whole run."""
    end = max(each.end for track in tracks if isinstance(track, Slices) for each in track.slices)
    return (0, end) if at is None else (max(at - cycles // 2, 0), min(at + (cycles + 1) // 2, end))


def picture(
    title: str,
    tracks: Sequence[Track],
    begin: float,
    end: float,
    colours: Colours | None = None,
    at: float | None = None,
) -> str:
    """Return the cycles from `begin` to before `end` as an SVG.

    colours: for a trace by default; at: a cycle to mark with a line
    """
    role, entries = colours or Colours(_role, _LEGEND)
    rows = list(_rows(tracks, begin, end, role))
    names = [name for name, _ in rows]
    with canvas.style():
        left = 12 + max(canvas.text_width(name, canvas.SMALL) for name in names)
        legend = canvas.Legend(_WIDTH, left, entries)
        wide, high = _WIDTH - left - _RIGHT, _ROW * len(rows)
        plot = canvas.figure(_WIDTH, legend.height + high + _BOTTOM)
        axes = canvas.axes(plot, left, legend.height, wide, high, xlim=(begin, end), ylim=(len(rows) - 0.5, -0.5))
        for number, (_, bars) in enumerate(rows):
            _draw(axes, number, bars, (end - begin) / wide)
        if at is not None:
            axes.axvline(at, color=LIGHT["ink"], linewidth=0.8)
        axes.set_yticks(range(len(names)), names, fontsize=canvas.SMALL)
        axes.set_xlabel("cycles")
        canvas.ticks(axes.xaxis, wide, end)
        axes.grid(True, axis="x")
        legend.draw(plot)
        return canvas.vectors(plot, title)


def _rows(
    tracks: Sequence[Track], begin: float, end: float, role: Callable[[Slices, Slice], str]
) -> Iterator[tuple[str, dict[str, list[Slice]]]]:
    """Yield the name of each row and, by colour, what the window has of it. Slices that overlap have rows of their own.

    Only the first row of a track has its name.
    """
    for track in tracks:
        if isinstance(track, Slices):
            name = printable(" ".join(track.path))
            for lane in lanes(each for each in track.slices if each.begin < end and each.end > begin):
                bars = defaultdict[str, list[Slice]](list)
                for each in lane:
                    bars[role(track, each)].append(each)
                yield name, bars
                name = ""


def _role(track: Slices, slice_: Slice) -> str:
    state = max(slice_.name.split(", "))  # of a column of PEs: the state that most of them have
    text = " ".join((*track.path, state))
    return next((role for word, role in _ROLES.items() if word in text), _WORKS)


def _draw(axes: canvas.Axes, row: int, bars: dict[str, list[Slice]], unit: float) -> None:
    """Draw a row, and names into slices with enough space. unit: cycles of a unit of the plot"""
    first, last = axes.get_xlim()
    for role, slices in bars.items():
        spans = [(max(each.begin, first), min(each.end, last)) for each in slices]
        places = [(begin, row - _BAR / 2, end - begin, _BAR) for begin, end in merged(spans, unit / 2)]
        canvas.boxes(axes, places, role, linewidths=0.2)
        for each, (begin, end) in zip(slices, spans):
            name = printable(each.name)
            if (end - begin) / unit > _LEAST and canvas.text_width(name, canvas.SMALL) + 6 <= (end - begin) / unit:
                middle = (begin + end) / 2
                axes.text(*(middle, row), name, ha="center", va="center", fontsize=canvas.SMALL, color=LIGHT["paper"])
