# SPDX-License-Identifier: Apache-2.0
"""Files that scripts generate from their sources: write them, or check that they are up to date."""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path


def camel(name: str) -> str:
    """Return a name of words with underscores as SystemVerilog writes it, in capitals without them."""
    return "".join(part.capitalize() for part in name.split("_"))


def update(files: Mapping[Path, Callable[[], str]], script: str) -> int:
    """Write the files, or with --check on the command line compare them; return the exit code."""
    check, stale = "--check" in sys.argv[1:], False
    for path, text in files.items():
        if not check:
            path.write_text(text())
        elif not path.exists() or path.read_text() != text():
            print(f"{path}: not up to date; run {script}", file=sys.stderr)
            stale = True
    return int(stale)
