# SPDX-License-Identifier: Apache-2.0
"""The first line of a stage's text, which identifies the stage. Imports no slow module."""

MAGIC = "# Eyrie"
IMPORT = "import"  # the stage that is a model


def heading(stage: str) -> str:
    return f"{MAGIC} {stage}"


def stage_of(data: bytes) -> str | None:
    """The stage that a file's bytes say they are of; None: they are no text of a stage."""
    head, _, stage = data[:80].partition(b"\n")[0].decode(errors="replace").rpartition(" ")
    return stage if head == MAGIC else None
