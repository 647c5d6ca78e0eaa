# SPDX-License-Identifier: Apache-2.0
"""The elements of a diagram of any graph: lines, boxes, arrows, and entries of the legend."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Line:
    """A line of a box: a text at the left, and a note at the right."""

    text: str
    note: str = ""
    strong: bool = False


@dataclass(frozen=True)
class Box:
    """A node. `key` is its name in the diagram, `role` the role of its colour (runtime/report/palette.py)."""

    key: str
    lines: tuple[Line, ...]
    role: str


@dataclass(frozen=True)
class Diagram:
    """Boxes, and arrows from one key to another. The arrows form no cycle."""

    title: str
    boxes: tuple[Box, ...]
    arrows: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Meaning:
    """An entry of the legend: the meaning of a role."""

    role: str
    words: str
