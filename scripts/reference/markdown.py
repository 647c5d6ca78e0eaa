# SPDX-License-Identifier: Apache-2.0
"""Markdown that the generated pages are made of."""

import inspect
import re
from collections.abc import Iterable, Sequence
from textwrap import dedent, fill


def page(title: str, introduction: str, sources: str, *sections: str) -> str:
    """Return a page: title, introduction, a note that names the sources, then the sections."""
    note = f"`scripts/gen_reference.py` writes this page from {sources}. Change the source, not the page."
    return "\n\n".join([f"# {title}", wrapped(introduction), *(section.strip() for section in sections), note]) + "\n"


def wrapped(text: str) -> str:
    """Return a paragraph in lines of at most 120 characters."""
    return fill(text, 120, break_long_words=False, break_on_hyphens=False)


def linked(text: str) -> str:
    """Return running text with `docs/FOLDER/PAGE.md` as links from docs/reference/, and with its `<` escaped."""
    link = re.compile(r"`?docs/(\w+)/(\w+\.md)`?")
    return link.sub(lambda found: f"[{found[2]}]({_relative(found[1], found[2])})", text.replace("<", "&lt;"))


def docstring(text: str) -> str:
    """Return a docstring as Markdown: indented lines are code, other lines running text."""
    parts = []
    for part in inspect.cleandoc(text).split("\n\n"):
        indented = all(line.startswith("  ") for line in part.splitlines())
        parts.append(f"```text\n{dedent(part)}\n```" if indented or "  " in part.strip() else linked(part))
    return "\n\n".join(parts)


def _relative(folder: str, name: str) -> str:
    return name if folder == "reference" else f"../{folder}/{name}"


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table; a bar in a cell is escaped."""
    lines = [head, ["---"] * len(head), *rows]
    cells = (" | ".join(str(cell).replace("|", "\\|").replace("\n", " ") for cell in line) for line in lines)
    return "\n".join(f"| {line} |" for line in cells)


def code(text: object) -> str:
    """Return text as code."""
    return f"`{text}`"
