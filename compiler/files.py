"""The files of a compiled network's folder: all of them or none. Imports nothing slow."""

import os
from contextlib import suppress
from pathlib import Path

REMEDY = "name a folder that can be"


def check_folder(directory: str | Path) -> None:
    """Raises ValueError, in one line, where a folder can be neither made nor written to."""
    directory = Path(directory)
    there = next(place for place in (directory, *directory.absolute().parents) if place.exists())
    if not there.is_dir():
        raise ValueError(f"{directory}: cannot be written ({there} is a file): {REMEDY}")
    if not os.access(there, os.W_OK | os.X_OK):
        raise ValueError(f"{directory}: cannot be written (no permission in {there}): {REMEDY}")


def write_all(directory: str | Path, contents: dict[str, bytes]) -> None:
    """Writes files by name into a folder, which is made if need be; none of them half. Raises ValueError
    in one line."""
    directory = Path(directory)
    new = not directory.exists()
    parts = {directory / name: directory / f"{name}.part" for name in contents}
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for part, data in zip(parts.values(), contents.values()):
            part.write_bytes(data)
        for target, part in parts.items():
            part.replace(target)
    except OSError as error:
        with suppress(OSError):
            for part in parts.values():
                part.unlink(missing_ok=True)
            if new:
                directory.rmdir()
        raise ValueError(f"{directory}: cannot be written ({error.strerror}): {REMEDY}") from error
