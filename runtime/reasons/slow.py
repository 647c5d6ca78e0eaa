# SPDX-License-Identifier: Apache-2.0
"""The slow layers of a run, with the reasons and with changes that make them faster."""

from collections.abc import Mapping
from types import MappingProxyType

Suggestions = Mapping[str, list[dict]]  # by layer; the keys of a suggestion are in docs/reference/summary.md
NONE_SUGGESTED: Suggestions = MappingProxyType({})
OVER_ROOFLINE = 1.3  # times its roofline, and
SLOW_CYCLES = 2000  # cycles: above both, a layer is slow


def is_slow(row: dict) -> bool:
    """Return whether a layer is slow; row: an entry of `metrics["layers"]`."""
    return row["cycles"] > SLOW_CYCLES and row["cycles"] > OVER_ROOFLINE * row["roofline_cycles"]


def slow_layers(metrics: dict) -> str:
    """Return a line for each slow layer of a run, and one for each suggestion; metrics: as in summary.json."""
    lines = []
    for row in filter(is_slow, metrics["layers"]):
        lines.append(f"{row['name']}: {row['cycles']:,} cycles, {over_roofline(row)}: {row['limit']}. {row['reason']}")
        lines += [f"    {line}" for line in suggested(row)]
    bounds = f"{OVER_ROOFLINE} times the roofline and {SLOW_CYCLES:,} cycles"
    if not lines:
        return f"no layer is above {bounds}"
    return "\n".join([f"layers above {bounds}:", *lines]).replace("\N{NO-BREAK SPACE}", " ")


def over_roofline(row: dict) -> str:
    """Return the cycles of a layer as a multiple of its roofline, in words."""
    roofline = row["roofline_cycles"]
    return f"{row['cycles'] / roofline:.2f} times its roofline" if roofline else "its roofline is 0"


def suggested(row: dict) -> list[str]:
    """Return a line for each suggestion of a layer."""
    return [
        f"{each['change']}: {each['predicted_cycles']:,} cycles predicted instead of {each['before']:,}"
        for each in row["suggestions"]
    ]
