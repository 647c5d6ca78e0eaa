# SPDX-License-Identifier: Apache-2.0
"""A picture of the PE array, coloured by scan-chain ID: PEs of one colour receive the same transfers."""

from eyrie.compiler.target.scan_ids import IDLE, ScanIds
from eyrie.model.config import SET_ROWS, AcceleratorConfig

NETWORKS = ("ifmap", "filter")
_CELL, _GAP, _MARGIN, _LEFT, _TOP = 34, 4, 20, 96, 62
_SET_GAP = 10  # between PE sets
_STYLE = (
    "svg{--paper:#fff;--ink:#1c2128;--muted:#5b6570;--lightness:84%}"
    "@media(prefers-color-scheme:dark){svg{--paper:#15181d;--ink:#e7eaee;--muted:#a3adb8;--lightness:28%}}"
    "text{font:11px DejaVu Sans,Verdana,sans-serif;fill:var(--ink)}"
    ".muted{fill:var(--muted)}.title{font-size:14px;font-weight:600}.idle{fill:none;stroke:var(--muted);opacity:.5}"
)


def array_svg(config: AcceleratorConfig, ids: ScanIds) -> str:
    """Return an SVG with the PE array once for each multicast network.

    Two PEs have one colour if they have the same row ID and the same column ID, so that they receive the same
    transfers. A PE that is not in use is an empty frame.
    """
    width = _LEFT + config.cols * (_CELL + _GAP) + _MARGIN
    height = _TOP + config.rows * (_CELL + _GAP) + config.sets * _SET_GAP + _MARGIN
    body = [part for n, network in enumerate(NETWORKS) for part in _network(config, ids, network, n * width)]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{len(NETWORKS) * width}" height="{height}" '
            f'viewBox="0 0 {len(NETWORKS) * width} {height}" role="img">',
            "<title>Scan-chain IDs of the PE array</title>",
            f"<style>{_STYLE}</style>",
            '<rect width="100%" height="100%" fill="var(--paper)"/>',
            *body,
            "</svg>\n",
        ]
    )


def _network(config: AcceleratorConfig, ids: ScanIds, network: str, left: int) -> list[str]:
    tags = [
        [None if pe == IDLE else (ids.rows[row][network], pe[network]) for pe in pes]
        for row, pes in enumerate(ids.columns)
    ]
    colours = {tag: n for n, tag in enumerate(sorted({tag for row in tags for tag in row if tag}))}
    parts = [_text(left + _MARGIN, 26, f"{network} network", "title")]
    for col in range(config.cols):
        parts.append(_text(left + _LEFT + col * (_CELL + _GAP) + _CELL / 2, _TOP - 8, f"c{col}", "muted", "middle"))
    for row, pes in enumerate(tags):
        top = _TOP + row * (_CELL + _GAP) + row // SET_ROWS * _SET_GAP
        name = f"row {row}, ID {ids.rows[row][network]}"
        parts.append(_text(left + _MARGIN, top + _CELL / 2 + 4, name, "muted"))
        for col, tag in enumerate(pes):
            x = left + _LEFT + col * (_CELL + _GAP)
            place = f'<rect x="{x}" y="{top}" width="{_CELL}" height="{_CELL}" rx="5"'
            if tag is None:
                parts.append(f'{place} class="idle"/>')
                continue
            hue = 360 * colours[tag] / len(colours)
            parts.append(f'{place} style="fill:hsl({hue:.0f} 65% var(--lightness))"/>')
            parts.append(_text(x + _CELL / 2, top + _CELL / 2 + 4, str(tag[1]), "", "middle"))
    return parts


def _text(x: float, y: float, text: str, kind: str, anchor: str = "start") -> str:
    return f'<text x="{x:g}" y="{y:g}" class="{kind}" text-anchor="{anchor}">{text}</text>'
