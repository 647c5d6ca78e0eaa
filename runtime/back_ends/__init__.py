# SPDX-License-Identifier: Apache-2.0
"""The back ends. Each is a class, a BackEnd (runtime/back_end.py), in a module of this package that has its name."""

from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

from eyrie.model.errors import InputError
from eyrie.model.messages import unknown

if TYPE_CHECKING:  # commands list the names
    from eyrie.runtime.back_end import BackEnd

BACK_ENDS = tuple(sorted(module.name for module in iter_modules(__path__)))


def back_end_class(name: object) -> "type[BackEnd]":
    """Return the class of a back end. Raise InputError, with one line, if the name is unknown."""
    from eyrie.runtime.back_end import BackEnd

    if not isinstance(name, str) or name not in BACK_ENDS:
        raise InputError(unknown("back end", str(name), BACK_ENDS))
    module = import_module(f"{__name__}.{name}")
    classes = (each for each in vars(module).values() if isinstance(each, type) and issubclass(each, BackEnd))
    [found] = [each for each in classes if each.__module__ == module.__name__]
    return found
