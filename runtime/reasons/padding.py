# SPDX-License-Identifier: Apache-2.0
"""The padding that a layer multiplies, and its causes."""

from collections.abc import Iterator
from math import prod

from eyrie.compiler.cost.occupancy import Occupancy
from eyrie.runtime.reasons.interval import MUCH, Interval, percent

FILLED = 0.9  # share from which on channels, filters or pixels count as without padding
NARROW = 2  # columns of a feature map
OVERLAP = 1.1  # times the ofmap that passes write, above which they recompute rows


def padded(interval: Interval) -> str:
    """Return a sentence on the padding and its causes, if the PEs multiply much of it."""
    if interval.padding < MUCH or not interval.occupancy:
        return ""
    issued, causes = interval.occupancy.issued_macs, "; ".join(_causes(interval, interval.occupancy))
    why = f": {causes}" if causes else ""
    return f"Of the {issued:,} issued MACs, {percent(interval.own)} are the layer's{why}."


def _causes(interval: Interval, found: Occupancy) -> Iterator[str]:
    """Yield the causes of padding in words."""
    _, width, filters = interval.step.ofmap
    channels = interval.step.ifmap[2]
    if _is_grouped(interval):
        yield f"each filter reads one of {found.word_channels} channels"
    elif channels_filled(interval, found) < FILLED:
        yield f"its {channels} ifmap channels fill {channels} of {in_words(channels, found.word_channels)}"
    if filters_filled(interval, found) < FILLED:
        yield f"its {filters} ofmap channels fill {filters} of {found.filters} filters"
    again = found.ofmap_bytes / (interval.images * prod(interval.step.ofmap))
    if is_averaged(interval):
        return
    if narrow(interval) and pixels_filled(interval, found) < FILLED:
        yield f"a PE computes {found.pixels:.3g} pixels of a row, and the ofmap is {width} wide"
    elif again > OVERLAP and len(interval.step.passes) > 1:
        yield f"its passes compute the ofmap {again:.2f} times, since tiles overlap"
    elif pixels_filled(interval, found) < FILLED:
        yield f"the ofmap fills {percent(pixels_filled(interval, found))} of its blocks of pixels"
    if kernel_filled(interval, found) < FILLED:
        yield f"its kernel fills {percent(kernel_filled(interval, found))} of the taps that the array computes"


def channels_filled(interval: Interval, found: Occupancy) -> float:
    """Return the share of the channels in words that a filter uses."""
    if _is_grouped(interval):
        return 1 / found.word_channels
    channels = interval.step.ifmap[2]
    return channels / in_words(channels, found.word_channels)


def in_words(channels: int, word: int) -> int:
    """Return the channels of whole words, padding included."""
    return -(-channels // word) * word


def filters_filled(interval: Interval, found: Occupancy) -> float:
    """Return the share of the filters that are the layer's; 1 if each pass has a part of them, or if `channels_filled`
    has counted them."""
    if not found.filters or interval.step.kind.startswith("depthwise"):
        return 1.0
    return min(interval.step.ofmap[2] / found.filters, 1)


def pixels_filled(interval: Interval, found: Occupancy) -> float:
    """Return the share of the pixels of blocks that are the ofmap's, each counted once."""
    height, width, channels = interval.step.ofmap
    parts = max(round(channels / found.filters), 1) if found.filters else 1  # passes with a part of the filters each
    return min(parts * interval.images * height * width / found.block_pixels, 1)


def kernel_filled(interval: Interval, found: Occupancy) -> float:
    """Return the share of the MACs that are the layer's, apart from padding of channels, filters and pixels.

    Kernels are padded to rows of a set, and to whole patches of an input with few channels.
    """
    return interval.own / (
        channels_filled(interval, found) * filters_filled(interval, found) * pixels_filled(interval, found)
    )


def narrow(interval: Interval) -> int:
    """Return the width of an ofmap of one or two columns, 0 if it is wider or if the mapping joins its rows."""
    width, found = interval.step.ofmap[1], interval.occupancy
    if not found or width > NARROW or is_averaged(interval):
        return 0
    return width if found.pixels < width + 0.5 or pixels_filled(interval, found) < FILLED else 0


def is_averaged(interval: Interval) -> bool:
    return "average" in interval.step.kind


def _is_grouped(interval: Interval) -> bool:
    return interval.step.kind.startswith("grouped")
