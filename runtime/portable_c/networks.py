# SPDX-License-Identifier: Apache-2.0
"""The build cache of networks as C."""

import json
import os
from collections.abc import Callable
from pathlib import Path

from eyrie.compiler.c.sources import sources_of
from eyrie.compiler.ir.graph import Graph
from eyrie.runtime.portable_c.executable import FAST, LIBRARY, SOURCES, Library, build_library
from eyrie.runtime.programs import cached_program

_NAME = "network"


def built(name: str, contents: bytes, graph: Graph) -> Library:
    """Return the library of a Graph, built first if it is not in the cache.

    `name` is for the user. `contents` are the bytes of the model's file, or all data of the Graph. Raise InputError,
    with one line, if the Graph cannot be written as C or the compiler is missing, and BuildError if the build fails.
    """
    sources = sources_of(graph, _NAME)

    def fill(folder: Path, _say: Callable[[str], None]) -> None:
        build_library([sources], folder)

    options = json.dumps(["c", FAST, os.environ.get("CC", "")])
    return Library(cached_program(name, contents, options, SOURCES, fill) / LIBRARY, (sources,))
