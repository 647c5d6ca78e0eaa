# SPDX-License-Identifier: Apache-2.0
"""Packages of optional extras, which a user may or may not have installed."""

import shlex
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

from eyrie.compiler.ir.failure import CompileError

MAKEFILE = Path(__file__).resolve().parents[2] / "Makefile"  # of a checkout


def require(package: str, extra: str | None = None) -> ModuleType:
    """Return the package. extra: the extra of pyproject.toml that installs it, by default the one of the same name

    Raise CompileError, with the command that installs it, if the package is not installed.
    """
    try:
        return import_module(package)
    except ModuleNotFoundError as error:
        if error.name != package.partition(".")[0]:
            raise
        raise CompileError(f"{error.name} is not installed", remedy=command(extra or package)) from error


def command(extra: str) -> str:
    """Return the command that installs an extra: in a checkout, or where Eyrie is installed as a package."""
    if MAKEFILE.is_file():
        return f"make extra-{extra}"
    return shlex.join([sys.executable, "-m", "pip", "install", f"eyrie-accelerator[{extra}]"])
