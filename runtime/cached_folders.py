# SPDX-License-Identifier: Apache-2.0
"""The cache of folders: a folder is made once, verified when it is opened, and made again if it is damaged.

A cached folder has a manifest with its name, and with the size and the digest of each file. The manifest is written
last. A folder without a manifest, or with the manifest of another name, is therefore incomplete. All files are on the
disk before the folder gets its name.
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
    """Return a cached folder, filled first if it is missing or damaged. Another process waits meanwhile.

    `about` describes the filling for the user, `unit` names the unit of the task, and `fill` writes files into an
    empty folder. Raise InputError, with one line, if the folder cannot be written, and every error of `fill`.
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
    """Write the manifest of a folder with the name that the folder will get, after all its files are on the disk."""
    for path in _files(folder):
        synchronise(path)
    entries = {str(path.relative_to(folder)): _entry(path) for path in _files(folder)}
    (folder / MANIFEST).write_text(json.dumps({"folder": name, "files": entries}, indent=1) + "\n")
    synchronise(folder / MANIFEST)
    synchronise(folder)


def is_whole(folder: Path) -> bool:
    """Return whether a folder is complete: it has exactly the files of its manifest, byte for byte."""
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
    """Return the entry of a file in the manifest."""
    state = path.stat()
    return {"size": state.st_size, "executable": bool(state.st_mode & S_IXUSR), "sha256": _digest(path)}


def _files(folder: Path) -> list[Path]:
    found = [Path(place) / name for place, _, names in os.walk(folder) for name in names]
    return sorted(path for path in found if path != folder / MANIFEST)


def _digest(path: Path) -> str:
    """Return the digest of a file. A process computes it again only if the file changes."""
    state = path.stat()
    key = (state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns)
    if key not in _digests:
        with path.open("rb") as file:
            _digests[key] = hashlib.file_digest(file, "sha256").hexdigest()
    return _digests[key]
