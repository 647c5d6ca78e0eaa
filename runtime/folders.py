# SPDX-License-Identifier: Apache-2.0
"""Folders that appear complete or not at all, and locks that keep parallel runs apart.

A folder is written beside its target under a unique name, and replaces the target in one step when it is complete. A
process that is killed leaves such a folder; the next process removes it.
"""

import ctypes
import errno
import fcntl
import glob
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from importlib.resources import files
from pathlib import Path

from eyrie.compiler.files import umask, writing
from eyrie.model.errors import InputError
from eyrie.runtime.signals import held

PACKAGE = Path(str(files("eyrie")))
# A checkout has the test benches and a build folder of its own; an installed package has neither.
_PARENT = PACKAGE.resolve().parent
CHECKOUT = _PARENT if (_PARENT / "tb").is_dir() and (_PARENT / "pyproject.toml").is_file() else None
ROOT = CHECKOUT or PACKAGE  # of compiler/, model/, runtime/, rtl/ and data/


def _build_folder() -> Path:
    """Return the folder of runs and caches: EYRIE_BUILD, build/ of the checkout, or the user's cache folder."""
    if given := os.environ.get("EYRIE_BUILD"):
        return Path(given).absolute()
    if CHECKOUT:
        return CHECKOUT / "build"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").absolute() / "eyrie"


BUILD = _build_folder()


def checkout(needed: str) -> Path:
    """Return the root of the checkout. `needed` names the part of the checkout that is needed, for the message.

    Raise InputError, with one line, if Eyrie is installed as a package.
    """
    if CHECKOUT is None:
        raise InputError(
            f"{needed} are part of a checkout, and this Eyrie is a package installed in {ROOT}: "
            "run the command in a clone of the repository"
        )
    return CHECKOUT


_AT_FDCWD, _RENAME_EXCHANGE = -100, 2  # Linux, renameat2(2)
_MARK = ".own-"  # in the names of folders that a process is filling
_NAME_BYTES = 100  # of a model's name, in the name of a folder


def shortened(name: str) -> str:
    """Return the beginning of a model's name. File systems allow names of 255 bytes, and a key and a suffix follow."""
    return os.fsencode(name)[:_NAME_BYTES].decode(errors="ignore")


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of a file until the block, or the process, ends."""
    with writing(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("w")
    with file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextmanager
def locked_folder(path: Path, wait: bool = True) -> Iterator[None]:
    """Hold the lock of an existing folder. Raise BlockingIOError if it is locked and `wait` is false."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def replacing(target: Path, keep: type[Exception] | tuple = ()) -> Iterator[Path]:
    """Yield an empty folder that replaces `target` when the block ends.

    After an exception, the folder is removed and `target` stays as it was. After an exception of `keep`, the folder
    replaces `target` all the same, because it has a log to look at. Raise InputError, with one line, if the folder
    cannot be written.
    """
    with ExitStack() as stack:
        with writing(target.parent):
            target.parent.mkdir(parents=True, exist_ok=True)
            with held():
                own = stack.enter_context(_own_folder(target))
        try:
            with _room(target):
                yield own
        except keep:
            _take_place(own, target)
            raise
        with writing(target):
            _take_place(own, target)


@contextmanager
def _room(target: Path) -> Iterator[None]:
    """Report a full disk, or a limit of it, as InputError."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise InputError(f"{target}: cannot be written ({error.strerror}): make room there") from error
        raise


def _remove(path: Path) -> None:
    """Remove a folder, a file or a link."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def unfinished(parent: Path) -> list[Path]:
    """Return the folders in `parent` that processes are filling, or have left unfinished."""
    return sorted(path for path in parent.glob(f".*{_MARK}*") if path.is_dir()) if parent.is_dir() else []


@contextmanager
def _own_folder(target: Path) -> Iterator[Path]:
    """Yield a locked folder beside `target`. Its lock shows that its process lives. It is removed at the end."""
    with ExitStack() as stack:
        with locked(target.parent / ".lock"):
            for left in target.parent.glob(f".{glob.escape(target.name)}{_MARK}*"):
                _remove_if_left(left)
            own = Path(tempfile.mkdtemp(prefix=f".{target.name}{_MARK}", dir=target.parent))
            own.chmod(0o777 & ~umask())
            stack.enter_context(locked_folder(own))
            stack.callback(_remove, own)
        yield own


def _remove_if_left(folder: Path) -> None:
    """Remove a folder if its process has ended."""
    with suppress(OSError), locked_folder(folder, wait=False):  # BlockingIOError: its process lives
        shutil.rmtree(folder, ignore_errors=True)


def _take_place(own: Path, target: Path) -> None:
    """Rename `own` to `target`. The previous target gets the name of `own`, if it exists."""
    with suppress(OSError):  # the target exists
        own.rename(target)
        return
    if _exchange(own, target):
        return
    with locked(target.parent / ".lock"):  # the system cannot exchange names
        before = own.with_name(f"{own.name}.before")
        with suppress(FileNotFoundError):
            target.rename(before)
        own.rename(target)
        with suppress(FileNotFoundError):
            before.rename(own)


def _exchange(one: Path, other: Path) -> bool:
    """Exchange two names in one step; return whether the system can do so."""
    try:
        call = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError):
        return False
    return call(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE) == 0
