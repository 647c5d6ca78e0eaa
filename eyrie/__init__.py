# SPDX-License-Identifier: Apache-2.0
"""Eyrie as a library: run networks on the simulated accelerator, on its model, or as C (docs/howto/library.md).

import eyrie
session = eyrie.load("net.tflite", back_end="rtl")
outputs = session("photo.png")
"""

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from eyrie.measure.exploration.explored import explore
    from eyrie.session import BACK_ENDS, Port, Session, load

__all__ = ["BACK_ENDS", "Port", "Session", "__version__", "explore", "load"]
__version__ = "0.2.0"
NO_DOCSTRINGS = "python -OO removes the docstrings, which messages are made of: use python -O, or no option"


def __getattr__(name: str) -> Any:
    """Import the library at the first use of one of its names: the import of `eyrie` itself stays fast."""
    if name in __all__:
        if sys.flags.optimize > 1:
            raise RuntimeError(NO_DOCSTRINGS)
        module = "eyrie.measure.exploration.explored" if name == "explore" else "eyrie.session"
        return getattr(import_module(module), name)
    raise AttributeError(f"module 'eyrie' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the names of the module, with those that are imported at their first use."""
    return sorted({*globals(), *__all__})
