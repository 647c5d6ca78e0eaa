# SPDX-License-Identifier: Apache-2.0
"""The first line of a stage's text, which identifies the stage. Imports no slow module."""

MAGIC = "# Eyrie"
IMPORT = "import"  # the stage of an imported model


def heading(stage: str) -> str:
    return f"{MAGIC} {stage}"


def stage_of(data: bytes) -> str | None:
    """Return the stage that a file's heading names, None if the file is not the text of a stage."""
    head, _, stage = data[:80].partition(b"\n")[0].decode(errors="replace").rpartition(" ")
    return stage if head == MAGIC else None
