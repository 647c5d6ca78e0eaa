# SPDX-License-Identifier: Apache-2.0
"""Diagrams side by side as one SVG with a title and a legend. The file refers to no other file."""

import html
from collections.abc import Sequence
from itertools import pairwise

from eyrie.runtime.diagrams.diagram import Box, Diagram, Line, Meaning
from eyrie.runtime.diagrams.layout import Layout, Point, layout
from eyrie.runtime.report.palette import LIGHT
from eyrie.runtime.report.text import printable

_MARGIN, _BESIDE = 24, 56  # around the picture; between diagrams
_PAD, _NOTE_GAP = 9, 14  # within a box; between a line's text and its note
_STRONG, _PLAIN, _HEADING = 12, 10, 14  # sizes of text
_BOLD = 1.12  # how much wider text is in bold
_LEAD = 4  # between lines
_LEAST, _MOST = 96, 330  # widths of a box
_SWATCH, _ENTRY = 12, 18  # of the legend: a colour's square, the height of an entry
_FONT = "DejaVu Sans, Verdana, sans-serif"


def drawn(title: str, diagrams: Sequence[Diagram], legend: Sequence[Meaning]) -> str:
    """Return the diagrams as an SVG. Raise graphlib.CycleError if the arrows form a cycle."""
    from eyrie.runtime.report.canvas import text_width  # slow: matplotlib

    layouts = [layout({box.key: _size(box) for box in diagram.boxes}, diagram.arrows) for diagram in diagrams]
    titles = [text_width(printable(diagram.title), _HEADING) * _BOLD for diagram in diagrams]
    widths = [max(each.width, wide) for each, wide in zip(layouts, titles)]
    top: float = _MARGIN + _HEADING + 14
    words = [text_width(printable(entry.words), _PLAIN) + 2 * _SWATCH for entry in legend]
    width = max(sum(widths) + _BESIDE * (len(widths) - 1), *words, text_width(printable(title), _HEADING) * _BOLD)
    body = [_text(_MARGIN, _MARGIN + _HEADING, title, _HEADING, "ink", True)]
    for entry in legend:
        body += [
            f'<rect x="{_MARGIN}" y="{top}" width="{_SWATCH}" height="{_SWATCH}" rx="2" {_filled(entry.role)}/>',
            _text(_MARGIN + _SWATCH + 8, top + _SWATCH - 2, entry.words, _PLAIN, "ink"),
        ]
        top += _ENTRY
    top += 20 + _HEADING
    left, height = float(_MARGIN), 0.0
    for diagram, placed, wide in zip(diagrams, layouts, widths):
        body.append(_text(left, top, diagram.title, _HEADING, "muted", True))
        body += _diagram(diagram, placed, left + (wide - placed.width) / 2, top + 16)
        left, height = left + wide + _BESIDE, max(height, placed.height)
    return _document(title, width + 2 * _MARGIN, top + 16 + height + _MARGIN, body)


def _document(title: str, width: float, height: float, body: list[str]) -> str:
    name = html.escape(printable(title))
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="{_FONT}" role="img">'
    )
    tip = (
        f'<defs><marker id="tip" viewBox="0 0 8 8" refX="7.5" refY="4" markerWidth="7" markerHeight="7" '
        f'orient="auto"><path d="M0 0.8 8 4 0 7.2z" fill="{LIGHT["muted"]}"/></marker></defs>'
    )
    paper = f'<rect width="100%" height="100%" fill="{LIGHT["paper"]}"/>'
    return "\n".join(
        ['<?xml version="1.0" encoding="UTF-8"?>', head, f"<title>{name}</title>", tip, paper, *body, "</svg>\n"]
    )


def _diagram(diagram: Diagram, placed: Layout, left: float, top: float) -> list[str]:
    arrows = [
        f'<path d="{_path(route)}" fill="none" stroke="{LIGHT["muted"]}" stroke-width="1.2" marker-end="url(#tip)"/>'
        for route in placed.routes
    ]
    boxes = [_box(box, *placed.corners[box.key]) for box in diagram.boxes]
    return [f'<g transform="translate({left:.1f} {top:.1f})">', *arrows, *boxes, "</g>"]


def _path(route: list[Point]) -> str:
    """Return the path of an arrow: straight through layers, curved between them."""
    (x, y), *_ = route
    parts = [f"M{x:.1f} {y:.1f}"]
    for number, ((x, y), (to_x, to_y)) in enumerate(pairwise(route)):
        if number % 2 == 0:
            parts.append(f"V{to_y:.1f}")
        else:
            middle = (y + to_y) / 2
            parts.append(f"C{x:.1f} {middle:.1f} {to_x:.1f} {middle:.1f} {to_x:.1f} {to_y:.1f}")
    return "".join(parts)


def _filled(role: str) -> str:
    return f'fill="{LIGHT[role]}" fill-opacity="0.14" stroke="{LIGHT[role]}" stroke-width="1.2"'


# ---- Boxes ----


def _points(line: Line) -> int:
    return _STRONG if line.strong else _PLAIN


def _size(box: Box) -> tuple[float, float]:
    from eyrie.runtime.report.canvas import text_width

    widths = [
        text_width(printable(line.text), _points(line)) * (_BOLD if line.strong else 1)
        + (_NOTE_GAP + text_width(printable(line.note), _PLAIN) if line.note else 0)
        for line in box.lines
    ]
    height = sum(_points(line) + _LEAD for line in box.lines) - _LEAD
    return min(max(_LEAST, *widths), _MOST) + 2 * _PAD, height + 2 * _PAD


def _box(box: Box, left: float, top: float) -> str:
    from eyrie.runtime.report.canvas import shortened, text_width

    width, height = _size(box)
    parts = [
        f'<g data-key="{html.escape(printable(box.key))}"><rect x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" '
        f'height="{height:.1f}" rx="4" {_filled(box.role)}/>'
    ]
    foot = top + _PAD
    for line in box.lines:
        foot += _points(line)
        room = width - 2 * _PAD
        note = shortened(printable(line.note), room - _LEAST / 2, _PLAIN)
        if note:
            room -= text_width(note, _PLAIN) + _NOTE_GAP
        text = shortened(printable(line.text), (room + 1) / (_BOLD if line.strong else 1), _points(line))
        parts.append(_text(left + _PAD, foot - 1, text, _points(line), "ink", line.strong))
        if note:
            parts.append(_text(left + width - _PAD, foot - 1, note, _PLAIN, "muted", end=True))
        foot += _LEAD
    return "".join([*parts, "</g>"])


def _text(x: float, y: float, text: str, size: int, role: str, strong: bool = False, end: bool = False) -> str:
    weight, anchor = ' font-weight="bold"' if strong else "", ' text-anchor="end"' if end else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{LIGHT[role]}"{weight}{anchor}>'
        f"{html.escape(printable(text))}</text>"
    )
