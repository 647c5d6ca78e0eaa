# SPDX-License-Identifier: Apache-2.0
"""Atomic writing of files: a file appears completely or not at all. Imports no slow module."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from eyrie.model.errors import InputError

REMEDY = "name a place with room that can be written to"
_MOST_LETTERS = 40  # of a file's name in the name of its .part file


def check_folder(directory: str | Path) -> None:
    """Raise InputError, with one line, if a folder cannot be made or written to."""
    directory = Path(directory)
    with writing(directory):
        there = next(place for place in (directory, *directory.parents) if os.path.lexists(place))
        if not there.is_dir():
            nowhere = there.is_symlink() and not there.exists()
            raise OSError(0, f"{there} is {'a link that leads nowhere' if nowhere else 'no folder'}")
        if not os.access(there, os.W_OK | os.X_OK):
            raise OSError(0, f"no permission in {there}")


def check_file(path: str | Path) -> None:
    """Raise InputError, with one line, if a file cannot be written there."""
    path, remedy = Path(path), "name a file in an existing folder"
    try:
        if path.is_dir():
            raise OSError(0, "a folder")
        if path.exists() and not path.is_file():
            raise OSError(0, "a pipe or a device")
        if not path.parent.is_dir():
            raise OSError(0, f"{path.parent} is no folder")
        if not os.access(path.parent, os.W_OK | os.X_OK):
            remedy = "name a folder that can be written"
            raise OSError(0, f"no permission in {path.parent}")
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror}): {remedy}") from error


def write_all(directory: str | Path, contents: dict[str, bytes]) -> None:
    """Write files by name into a folder, all or none, and make the folder if it does not exist. Raise InputError, with
    one line."""
    directory = Path(directory)
    new = not directory.exists()
    with writing(directory):
        try:
            directory.mkdir(parents=True, exist_ok=True)
            with ExitStack() as files:
                for name, data in contents.items():
                    files.enter_context(whole_file(directory / name)).write(data)
        except BaseException:
            if new:
                with suppress(OSError):
                    directory.rmdir()
            raise


def unlink(directory: str | Path, *names: str) -> None:
    """Remove the files that exist. Raise InputError, with one line."""
    for path in (Path(directory) / name for name in names):
        with writing(path), suppress(FileNotFoundError, NotADirectoryError):
            path.unlink()


@contextmanager
def writing(path: Path | str) -> Iterator[None]:
    """Turn an OSError of the block into an InputError of one line with the path."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror or error}): {REMEDY}") from error


@contextmanager
def whole_file(path: Path | str) -> Iterator[BinaryIO]:
    """Yield a file to write to. It gets its name if the block ends without an exception.

    Raise InputError, with one line, if it cannot be written.
    """
    path = Path(path)
    with writing(path):
        if path.exists() and not path.is_file():
            raise OSError(0, "a folder" if path.is_dir() else "a pipe or a device")
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name[:_MOST_LETTERS]}.", dir=path.parent)
        part = Path(name)
        try:
            with os.fdopen(descriptor, "wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            part.chmod(0o666 & ~umask())
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)


def synchronise(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def umask() -> int:
    """Return the umask of the process, which tempfile ignores."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
