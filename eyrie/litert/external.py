# SPDX-License-Identifier: Apache-2.0
"""The external delegate of LiteRT: a shared library that programs in any language load.

external_delegate.c lists its options.
"""

import json
import os
import sys
from collections.abc import Callable
from os import PathLike
from pathlib import Path

from ai_edge_litert import interpreter as litert

from eyrie.model.errors import InputError
from eyrie.runtime.configurations import Configuration, config_of
from eyrie.runtime.portable_c.executable import FAST, SHARED, run_compiler
from eyrie.runtime.programs import cached_program

SOURCE = Path(__file__).with_name("external_delegate.c")
LIBRARY = "eyrie_delegate.so"


def delegate(model_path: str | PathLike, back_end: str = "rtl", config: Configuration = None) -> litert.Delegate:
    """Return a delegate for one interpreter in one process: Interpreter(path, experimental_delegates=[delegate(path)]).

    A process of its own runs the whole graph. Inputs keep the shapes of the model, and variables keep
    their values as long as the delegate lives.
    back_end, config: as in `eyrie.load`. Raise InputError if the network cannot be run, and BuildError if the library
    cannot be built.
    """
    options = {"model": Path(model_path).absolute(), "back_end": back_end, "python": sys.executable}
    if config is not None:
        options["config"] = json.dumps(config_of(config).as_dict())
    try:
        return litert.Delegate(str(library()), options)
    except ValueError as error:
        raise InputError(str(error)) from error


def library() -> Path:
    """Return the path of the delegate, built first if it is not in the cache.

    Raise InputError, with one line, if the C compiler is missing, and BuildError if it rejects the source.
    """

    def fill(folder: Path, _say: Callable[[str], None]) -> None:
        run_compiler([*FAST, *SHARED, str(SOURCE), "-o", LIBRARY], folder)

    options = json.dumps(["delegate", FAST, os.environ.get("CC", "")])
    return cached_program("delegate", b"", options, ("litert/*", "runtime/portable_c/executable.py"), fill) / LIBRARY
