# SPDX-License-Identifier: Apache-2.0
"""Digests of the repository's own files: what was made from them is known by them."""

import hashlib

from eyrie.runtime.folders import ROOT

COMPILER = ("compiler/**/*.py", "model/**/*.py", "requirements.txt")


def digest_of(*patterns: str) -> bytes:
    """Of the names and contents of all files that the patterns (of Path.glob, in the repository) find."""
    digest = hashlib.sha256()
    for path in sorted({path for pattern in patterns for path in ROOT.glob(pattern) if path.is_file()}):
        contents = path.read_bytes()
        digest.update(f"{path.relative_to(ROOT)}\n{len(contents)}\n".encode() + contents)
    return digest.digest()
