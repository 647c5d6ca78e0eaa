# SPDX-License-Identifier: Apache-2.0
"""What lies where in the GLB, pass by pass, from the image's buffers."""

from compiler.image import Image
from runtime.report import canvas
from runtime.report.palette import LIGHT
from runtime.report.text import printable

HEIGHT = 420
_LEFT, _TOP, _RIGHT, _BOTTOM = 58, 34, 28, 42
_LABEL_SIZE, _LABEL_HEIGHT, _LABEL_GAP = 8, 10, 6
# By the end of a buffer's name, the longer ones first: role, words.
_KINDS = {"requantisation tables": ("purple", "requantisation tables"),
          "depthwise filters": ("teal", "depthwise filters"), "filters": ("orange", "filters"),
          "": ("blue", "maps")}


def glb_map(image: Image, passes: int):
    """A plot of the buffers in `image.map` over the passes of a run."""
    plot = canvas.figure(HEIGHT)
    width, height = canvas.WIDTH - _LEFT - _RIGHT, HEIGHT - _TOP - _BOTTOM
    size = image.machine.glb_bytes / 1024
    axes = canvas.axes(plot, _LEFT, _TOP, width, height, xlim=(0, passes), ylim=(0, size))
    axes.set_xlabel("pass")
    axes.set_ylabel("address, KiB")
    from matplotlib.ticker import MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator(min(passes, 16), integer=True))
    axes.yaxis.set_major_locator(MaxNLocator(8, steps=[1, 2, 4, 8]))
    axes.yaxis.set_major_formatter(lambda value, _: canvas.count(value))
    axes.grid(True)
    found: dict[str, list[tuple]] = {kind: [] for kind in _KINDS}
    for buffer in image.map["buffers"]:
        kind = next(kind for kind in _KINDS if buffer["name"].endswith(kind))
        place = (buffer["first"] / 2, buffer["address"] / 1024, (buffer["last"] + 1 - buffer["first"]) / 2,
                 buffer["bytes"] / 1024)
        found[kind].append(place)
        _label(axes, buffer["name"], kind, place, (width / passes, height / size))
    for kind, places in found.items():
        canvas.boxes(axes, places, _KINDS[kind][0], linewidths=1)
    canvas.legend(plot, [(words, role) for role, words in reversed(_KINDS.values())], 8, _LEFT)
    return plot


def _label(axes, name: str, kind: str, place: tuple, scale: tuple) -> None:
    """The buffer's name, or its layer's, where there is room."""
    x, y, wide, high = place
    if high * scale[1] < _LABEL_HEIGHT:
        return
    for text in (name, name.removesuffix(kind).strip()):
        text = printable(text)
        if text and canvas.text_width(text, _LABEL_SIZE) + _LABEL_GAP <= wide * scale[0]:
            axes.text(x + wide / 2, y + high / 2, text, ha="center", va="center", fontsize=_LABEL_SIZE,
                      color=LIGHT["paper"])
            return
