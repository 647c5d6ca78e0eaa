# SPDX-License-Identifier: Apache-2.0
"""The seed of a run of the tests."""

import hashlib
import os
from functools import cache

from eyrie.runtime.folders import ROOT

FOLDERS = ("rtl", "model", "compiler", "runtime", "tb", "scripts")
KINDS = (".py", ".sv", ".svh", ".cpp", ".c", ".h", ".j2")


@cache
def run_seed() -> int:
    """EYRIE_SEED, or else what follows from the sources: two runs of the same sources draw the same, others anew."""
    if given := os.environ.get("EYRIE_SEED"):
        return int(given)
    digest = hashlib.sha256()
    for folder in FOLDERS:
        for path in sorted(path for path in (ROOT / folder).rglob("*") if path.suffix in KINDS):
            digest.update(f"{path.relative_to(ROOT)}\n".encode() + path.read_bytes())
    return int.from_bytes(digest.digest()[:4]) % 1_000_000
