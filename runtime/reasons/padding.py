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
    if _channels(interval, found) < FILLED:
        whole = -(-channels // found.word_channels) * found.word_channels
        yield f"its {channels} ifmap channels fill {channels} of {whole}"
    if _filters(interval, found) < FILLED:
        yield f"its {filters} ofmap channels fill {filters} of {found.filters} filters"
    again = found.ofmap_bytes / (interval.images * prod(interval.step.ofmap))
    if is_averaged(interval):
        return
    if narrow(interval) and _pixels(interval, found) < FILLED:
        yield f"a PE computes {found.pixels:.3g} pixels of a row, and the ofmap is {width} wide"
    elif again > OVERLAP and len(interval.step.passes) > 1:
        yield f"its passes compute the ofmap {again:.2f} times, since tiles overlap"
    elif _pixels(interval, found) < FILLED:
        yield f"the ofmap fills {percent(_pixels(interval, found))} of its blocks of pixels"
    if _kernel(interval, found) < FILLED:
        yield f"the kernel fills {percent(_kernel(interval, found))} of the rows of a set"


def _channels(interval: Interval, found: Occupancy) -> float:
    """Return the share of the channels in words that are the ifmap's."""
    if interval.step.kind.startswith("grouped"):
        return 1.0
    channels = interval.step.ifmap[2]
    return channels / (-(-channels // found.word_channels) * found.word_channels)


def _filters(interval: Interval, found: Occupancy) -> float:
    """Return the share of the filters that are the layer's; 1 if each pass has a part of them."""
    return min(interval.step.ofmap[2] / found.filters, 1) if found.filters else 1.0


def _pixels(interval: Interval, found: Occupancy) -> float:
    """Return the share of the pixels of blocks that are the ofmap's, each counted once."""
    height, width, channels = interval.step.ofmap
    parts = max(round(channels / found.filters), 1) if found.filters else 1  # passes with a part of the filters each
    return min(parts * interval.images * height * width / found.block_pixels, 1)


def _kernel(interval: Interval, found: Occupancy) -> float:
    """Return the share of the MACs that is neither padding of channels, filters or pixels."""
    return interval.own / (_channels(interval, found) * _filters(interval, found) * _pixels(interval, found))


def narrow(interval: Interval) -> int:
    """Return the width of an ofmap of one or two columns, 0 if it is wider or if the mapping joins its rows."""
    width, found = interval.step.ofmap[1], interval.occupancy
    if not found or width > NARROW or is_averaged(interval):
        return 0
    return width if found.pixels < width + 0.5 or _pixels(interval, found) < FILLED else 0


def is_averaged(interval: Interval) -> bool:
    return "average" in interval.step.kind
