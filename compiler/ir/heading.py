# SPDX-License-Identifier: Apache-2.0
"""The first line of a level's text, by which it is known. Imports nothing slow."""

MAGIC = "# Eyrie"
IMPORT = "import"  # the level that is a model


def heading(level: str) -> str:
    return f"{MAGIC} {level}"


def level_of(data: bytes) -> str | None:
    """The level that a file's bytes say they are of; None: they are no text of a level."""
    head, _, level = data[:80].partition(b"\n")[0].decode(errors="replace").rpartition(" ")
    return level if head == MAGIC else None
