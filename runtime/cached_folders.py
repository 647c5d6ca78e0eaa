# SPDX-License-Identifier: Apache-2.0
"""Folders that are made once and kept: verified when they are opened, made anew where they are damaged.

A kept folder has a manifest with its name, and with the size and the digest of each file. It is written last, so that a
folder without one is not whole, nor one in the place of another, and all files are on the disk before the folder gets
its name.
"""

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from stat import S_IXUSR

from eyrie.compiler.files import synchronise
from eyrie.runtime import progress
from eyrie.runtime.folders import locked, replacing

MANIFEST = "manifest.json"
_digests: dict[tuple[int, ...], str] = {}  # of files, by what changes when a file is written


def cached(folder: Path, about: str, fill: Callable[[Path, progress.Task], None], unit: str = "") -> Path:
    """Return a kept folder, filled first if it is not there or not whole; another process waits meanwhile.

    about: what filling does, for people; unit: what the task counts; fill: writes files into an empty folder.
    Raises InputError, in one line, if it cannot be written, and what `fill` raises.
    """
    if not is_whole(folder):
        lock = folder.with_name(f"{folder.name}.lock")
        with progress.task(about, unit) as task, locked(lock):
            if not is_whole(folder):
                with replacing(folder) as part:
                    fill(part, task)
                    seal(part, folder.name)
    return folder


def seal(folder: Path, name: str) -> None:
    """Write the manifest of a folder, which is to have this name, after all its files are on the disk."""
    for path in _files(folder):
        synchronise(path)
    entries = {str(path.relative_to(folder)): _entry(path) for path in _files(folder)}
    (folder / MANIFEST).write_text(json.dumps({"folder": name, "files": entries}, indent=1) + "\n")
    synchronise(folder / MANIFEST)
    synchronise(folder)


def is_whole(folder: Path) -> bool:
    """Return whether a folder is the one of its manifest, with exactly these files, byte for byte."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text())
        wanted = manifest["files"]
        paths = {str(path.relative_to(folder)): path for path in _files(folder)}
        return (
            manifest["folder"] == folder.name
            and wanted.keys() == paths.keys()
            and all(wanted[name] == _entry(path) for name, path in paths.items())
        )
    except (OSError, ValueError, LookupError, TypeError, AttributeError):  # no manifest, or a damaged one
        return False


def _entry(path: Path) -> dict[str, object]:
    """Return what a manifest has of a file."""
    state = path.stat()
    return {"size": state.st_size, "executable": bool(state.st_mode & S_IXUSR), "sha256": _digest(path)}


def _files(folder: Path) -> list[Path]:
    found = [Path(place) / name for place, _, names in os.walk(folder) for name in names]
    return sorted(path for path in found if path != folder / MANIFEST)


def _digest(path: Path) -> str:
    """Return the digest of a file, computed once in a process as long as the file stays as it is."""
    state = path.stat()
    key = (state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns)
    if key not in _digests:
        with path.open("rb") as file:
            _digests[key] = hashlib.file_digest(file, "sha256").hexdigest()
    return _digests[key]
