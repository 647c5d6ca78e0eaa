# SPDX-License-Identifier: Apache-2.0
"""The page of the keys of summary.json."""

from eyrie.runtime.summary_keys import SECTIONS
from scripts.reference.markdown import code, page, table, wrapped


def text() -> str:
    """Write the keys by section."""
    sections = [
        f"## {section.writer}\n\n{wrapped(section.about)}\n\n"
        + table(("key", "meaning"), [(code(key), meaning) for key, meaning in section.keys.items()])
        for section in SECTIONS
    ]
    return page(
        "summary.json",
        "Every run writes the file `summary.json`: its result as keys and values. This page lists the keys of all "
        "commands.",
        "`runtime/summary_keys.py`",
        *sections,
    )
