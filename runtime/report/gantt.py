# SPDX-License-Identifier: Apache-2.0
"""The predicted schedule over time: loads, stores, and the passes of each layer."""

from collections.abc import Iterable

from eyrie.compiler.cost.predict import Prediction
from eyrie.compiler.ir.image import Image
from eyrie.runtime.report import canvas
from eyrie.runtime.report.canvas import Figure
from eyrie.runtime.report.text import printable

ROW = 18
_BAR = 0.7  # of the height of a row
_RIGHT, _BOTTOM = 30, 42
_NAMES, _NARROW_NAMES = 200, 90  # width of the names at the left, at most
_ROLES = {"load": "orange", "store": "purple", "pass": "blue"}

Span = tuple[float, float]


def merged(spans: Iterable[Span], gap: float) -> list[Span]:
    """Return spans in which those that overlap, or are apart by less than `gap`, are one."""
    found = list[Span]()
    for begin, end in sorted(spans):
        if found and begin - found[-1][1] < gap:
            found[-1] = found[-1][0], max(found[-1][1], end)
        else:
            found.append((begin, end))
    return found


def rows(image: Image, prediction: Prediction) -> dict[str, tuple[str, list[Span]]]:
    """Return the kind and the spans in cycles of each row."""
    spans: dict[bool, list[Span]] = {True: [], False: []}
    for transfer in prediction.transfers:
        spans[transfer.load].append((transfer.started, transfer.done))
    found = {"loads": ("load", spans[True]), "stores": ("store", spans[False])}
    for number, step in enumerate(image.steps, 1):
        passes = [prediction.passes[n] for n in step.passes]
        found[f"{number}  {printable(step.name)}"] = "pass", [(times.begun, times.done) for times in passes]
    return found


def gantt(image: Image, prediction: Prediction, width: float) -> Figure:
    """Return the plot."""
    lanes, most = rows(image, prediction), _NARROW_NAMES if width == canvas.NARROW else _NAMES
    names = [canvas.shortened(name, most, canvas.SMALL) for name in lanes]
    left = 12 + max(canvas.text_width(name, canvas.SMALL) for name in names)
    legend = canvas.Legend(width, 8 if width == canvas.NARROW else left, list(_ROLES.items()))
    wide, high = width - left - _RIGHT, ROW * len(lanes)
    plot = canvas.figure(width, legend.height + high + _BOTTOM)
    axes = canvas.axes(
        plot, left, legend.height, wide, high, xlim=(0, prediction.cycles), ylim=(len(lanes) - 0.5, -0.5)
    )
    for number, (kind, spans) in enumerate(lanes.values()):
        shown = merged(spans, prediction.cycles / wide / 2)
        places = [(begin, number - _BAR / 2, end - begin, _BAR) for begin, end in shown]
        canvas.boxes(axes, places, _ROLES[kind], linewidths=0.2)
    axes.set_yticks(range(len(names)), names, fontsize=canvas.SMALL)
    axes.set_xlabel("cycles")
    canvas.ticks(axes.xaxis, wide, prediction.cycles)
    axes.grid(True, axis="x")
    legend.draw(plot)
    return plot
