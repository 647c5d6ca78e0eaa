# SPDX-License-Identifier: Apache-2.0
"""Attributes of windows."""

from typing import TypedDict

from eyrie.compiler.frontend.onnx.call import Call, Shape
from eyrie.compiler.ir.failure import Unsupported


class Window(TypedDict):
    """The attributes of an operator with a window."""

    strides: Shape
    dilations: Shape
    pads: Shape


def window(call: Call, kernel: Shape, source: Shape) -> Window:
    """Return the attributes of a window over `source`, whose axes are N, C and one or two more."""
    axes, sizes = len(kernel), source[2:]
    if axes not in (1, 2) or len(sizes) != axes:
        raise Unsupported(f"a window over {axes} axes")
    strides, dilations = call.wholes("strides", (1,) * axes), call.wholes("dilations", (1,) * axes)
    reach = [(taps - 1) * gap + 1 for taps, gap in zip(kernel, dilations)]
    automatic = call.text("auto_pad", "NOTSET")
    if automatic in ("SAME_UPPER", "SAME_LOWER"):
        lower = automatic == "SAME_LOWER"
        pads = [_same(size, taps, stride, lower) for size, taps, stride in zip(sizes, reach, strides)]
    else:
        given = call.wholes("pads", (0,) * 2 * axes) if automatic == "NOTSET" else (0,) * 2 * axes
        pads = list(zip(given[:axes], given[axes:]))
    if call.whole("ceil_mode", 0):
        pads = [_up(*each) for each in zip(sizes, reach, strides, pads)]
    return {"strides": strides, "dilations": dilations, "pads": tuple(each for pair in pads for each in pair)}


def _same(size: int, reach: int, stride: int, lower: bool) -> tuple[int, int]:
    total = max((-(-size // stride) - 1) * stride + reach - size, 0)
    small, large = total // 2, total - total // 2
    return (large, small) if lower else (small, large)


def _up(size: int, reach: int, stride: int, pads: tuple[int, int]) -> tuple[int, int]:
    """Return the pads, with enough added at the end to complete the last window. No window begins after the map."""
    before, after = pads
    count = -(-(size + before + after - reach) // stride) + 1
    if (count - 1) * stride >= size + before:
        count -= 1
    return before, max(after, (count - 1) * stride + reach - size - before)
