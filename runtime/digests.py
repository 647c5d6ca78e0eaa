# SPDX-License-Identifier: Apache-2.0
"""Digests of the package's own files: part of the key of every cached file that is made from them."""

import hashlib
from importlib.metadata import version
from pathlib import Path

from eyrie.runtime.folders import PACKAGE

COMPILER = ("compiler/**/*.py", "model/**/*.py")
LIBRARIES = ("numpy", "ai-edge-litert")  # a new version of these may also change results


def digest_of(*patterns: str, root: Path = PACKAGE) -> bytes:
    """Return the digest of the names and contents of files; `patterns` are globs below `root`, by default the folder of
    the package."""
    digest = hashlib.sha256("\n".join(f"{name} {version(name)}" for name in LIBRARIES).encode())
    for path in sorted({path for pattern in patterns for path in root.glob(pattern) if path.is_file()}):
        contents = path.read_bytes()
        digest.update(f"{path.relative_to(root)}\n{len(contents)}\n".encode() + contents)
    return digest.digest()
