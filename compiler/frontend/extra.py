# SPDX-License-Identifier: Apache-2.0
"""Packages of optional extras, which a user may or may not have installed."""

import importlib
import shlex
import sys
from pathlib import Path
from types import ModuleType

from eyrie.compiler.ir.failure import CompileError

MAKEFILE = Path(__file__).resolve().parents[2] / "Makefile"  # of a checkout
_installs = False


def install_missing(yes: bool) -> None:
    """Let `require` install a missing package, or not."""
    global _installs
    _installs = yes


def require(package: str, extra: str | None = None) -> ModuleType:
    """Return the package. extra: the extra of pyproject.toml that installs it, by default the one of the same name

    Raise CompileError, with the command that installs it, if the package is not installed.
    """
    try:
        return importlib.import_module(package)
    except ModuleNotFoundError as error:
        if error.name != package.partition(".")[0]:
            raise
        words = command(extra or package)
        if not _installs:
            raise CompileError(f"{error.name} is not installed", remedy=shlex.join(words)) from error
    import subprocess

    ended = subprocess.run(
        words, cwd=MAKEFILE.parent if MAKEFILE.is_file() else None, stdout=2
    )  # the standard output has results only
    importlib.invalidate_caches()
    try:
        return importlib.import_module(package)
    except ModuleNotFoundError as error:
        said = f"{error.name}: the installation ended with exit code {ended.returncode}"
        raise CompileError(said, remedy=f"see what it printed: {shlex.join(words)}") from error


def command(extra: str) -> list[str]:
    """Return the command that installs an extra: in a checkout, or where Eyrie is installed as a package."""
    if MAKEFILE.is_file():
        return ["make", f"extra-{extra}"]
    return [sys.executable, "-m", "pip", "install", f"eyrie-accelerator[{extra}]"]
