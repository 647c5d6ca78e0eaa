# SPDX-License-Identifier: Apache-2.0
"""The contents of the GLB over the cycles of a run, from the buffers of the image."""

import re
from collections.abc import Sequence

import numpy as np

from eyrie.compiler.ir.image import Image
from eyrie.compiler.ir.image_layout import ImageBuffer
from eyrie.runtime.report import canvas
from eyrie.runtime.report.canvas import Axes, Figure
from eyrie.runtime.report.palette import LIGHT
from eyrie.runtime.report.text import printable

HEIGHT = 460
_LEFT, _RIGHT, _BOTTOM = 58, 30, 42
_LABEL_HEIGHT, _LABEL_GAP = 12, 6
# By the end of a buffer's name, the longer ones first: role, words.
_KINDS = {
    "quantisation parameters": ("brown", "quantisation parameters"),
    "depthwise filters": ("purple", "depthwise filters"),
    "filters": ("orange", "filters"),
    "": ("teal", "feature maps"),
}
_MAP = re.compile(r" (input|output|output rows)$")


def spans(buffers: Sequence[ImageBuffer], ends: list[int]) -> list[tuple[float, float]]:
    """Return the cycles at which each buffer begins and ends.

    `ends` has the ends of the passes. `first` and `last` of a buffer count half passes. A pass is assumed to begin at
    the end of the previous one, and its second half in the middle between its begin and end.
    """
    halves = [[buffer.first / 2, (buffer.last + 1) / 2] for buffer in buffers]
    cycles = np.interp(np.reshape(halves, (-1, 2)), range(len(ends) + 1), [0, *ends])
    return [(float(begin), float(end)) for begin, end in cycles]


def glb_map(image: Image, ends: list[int], width: float) -> Figure:
    """Return a plot of the buffers of the image; `ends` has the cycles in which the passes end."""
    legend = canvas.Legend(
        width, _LEFT if width == canvas.WIDE else 8, [(words, role) for role, words in reversed(_KINDS.values())]
    )
    plot = canvas.figure(width, HEIGHT)
    wide, high = width - _LEFT - _RIGHT, HEIGHT - legend.height - _BOTTOM
    size = image.config.glb_bytes / 1024
    axes = canvas.axes(plot, _LEFT, legend.height, wide, high, xlim=(0, ends[-1]), ylim=(0, size))
    axes.set_xlabel("cycles")
    axes.set_ylabel("address, KiB")
    from matplotlib.ticker import MaxNLocator

    canvas.ticks(axes.xaxis, wide, ends[-1])
    axes.yaxis.set_major_locator(MaxNLocator(8, steps=[1, 2, 4, 8]))
    axes.yaxis.set_major_formatter(lambda value, _: canvas.count(value))
    axes.grid(True)
    found: dict[str, list[tuple]] = {kind: [] for kind in _KINDS}
    buffers = image.buffers
    for buffer, (begin, end) in zip(buffers, spans(buffers, ends)):
        kind = next(kind for kind in _KINDS if buffer.name.endswith(kind))
        place = begin, buffer.address / 1024, end - begin, buffer.bytes / 1024
        found[kind].append(place)
        _label(axes, buffer.name, kind, place, (wide / ends[-1], high / size))
    for kind, places in found.items():
        canvas.boxes(axes, places, _KINDS[kind][0], linewidths=1)
    legend.draw(plot)
    return plot


def _label(axes: Axes, name: str, kind: str, place: tuple, scale: tuple) -> None:
    """Write the layer's name into its rectangle, if it fits; the colour tells the kind of the buffer."""
    x, y, wide, high = place
    text = printable(name.removesuffix(kind).strip() if kind else _MAP.sub("", name))
    fits = canvas.text_width(text, canvas.SMALL) + _LABEL_GAP <= wide * scale[0]
    if text and fits and high * scale[1] >= _LABEL_HEIGHT:
        axes.text(
            x + wide / 2, y + high / 2, text, ha="center", va="center", fontsize=canvas.SMALL, color=LIGHT["paper"]
        )
