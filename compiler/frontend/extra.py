# SPDX-License-Identifier: Apache-2.0
"""Packages of optional extras, which a user may or may not have installed."""

from importlib import import_module
from types import ModuleType

from eyrie.compiler.ir.failure import CompileError


def require(package: str, extra: str | None = None) -> ModuleType:
    """Return the package. extra: the extra that installs it (requirements-EXTRA.txt), by default the one of the same
    name.

    Raise CompileError if the package is not installed.
    """
    try:
        return import_module(package)
    except ModuleNotFoundError as error:
        if error.name != package.partition(".")[0]:
            raise
        raise CompileError(f"{error.name} is not installed", remedy=f"make extra-{extra or package}") from error
