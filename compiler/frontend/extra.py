# SPDX-License-Identifier: Apache-2.0
"""Packages of optional parts, which are there only where a user has installed them."""

from importlib import import_module
from types import ModuleType

from eyrie.compiler.ir.failure import CompileError


def require(package: str, extra: str | None = None) -> ModuleType:
    """The package. extra: the optional part that has it (requirements-EXTRA.txt), one of its name by default. Raises
    CompileError where it is not installed."""
    try:
        return import_module(package)
    except ModuleNotFoundError as error:
        if error.name != package.partition(".")[0]:
            raise
        raise CompileError(f"{error.name} is not installed", remedy=f"make extra-{extra or package}") from error
