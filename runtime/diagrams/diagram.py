# SPDX-License-Identifier: Apache-2.0
"""What a picture of a graph shows, whatever the graph is one of."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Line:
    """A line of a box: what stands at its left end, and a note at its right one."""

    text: str
    note: str = ""
    strong: bool = False


@dataclass(frozen=True)
class Box:
    """A node. key: its name among the diagram's; role: of its colour (runtime/report/palette.py)."""

    key: str
    lines: tuple[Line, ...]
    role: str


@dataclass(frozen=True)
class Diagram:
    """Boxes, and arrows from one key to another. The arrows go round in no circle."""

    title: str
    boxes: tuple[Box, ...]
    arrows: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Meaning:
    """An entry of the legend: what a role stands for."""

    role: str
    words: str
