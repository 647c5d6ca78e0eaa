# SPDX-License-Identifier: Apache-2.0
"""The result of one run, build/sim/<test>/summary.json.

The test inside the simulation writes its counts (`write`). The runner outside reads them and adds the rest
(`complete`). The file is replaced as a whole, so that a reader never sees half of it.
"""

import json
import os
from pathlib import Path

from eyrie.compiler.files import whole_file

VARIABLE = "EYRIE_SUMMARY"  # the environment variable that names the file to the simulation


def write(cycles: int, comparisons: int, mismatches: int, **more: object) -> None:
    """Store the counts of the running test; `more` are further entries."""
    counts = {"cycles": cycles, "comparisons": comparisons, "mismatches": mismatches}
    write_summary(Path(os.environ[VARIABLE]), counts | more)


def complete(path: Path, **entries: object) -> dict[str, object]:
    """Add `entries` before the entries that the test wrote to `path`, if any; return all."""
    counts = {"cycles": 0, "comparisons": 0, "mismatches": 0}
    if path.exists():
        counts |= json.loads(path.read_text())
    summary = entries | counts
    write_summary(path, summary)
    return summary


def write_summary(path: Path, entries: dict[str, object]) -> None:
    """Write a summary. Raise InputError, with one line, if it cannot be written."""
    with whole_file(path) as file:
        file.write(json.dumps(entries, indent=1).encode() + b"\n")
