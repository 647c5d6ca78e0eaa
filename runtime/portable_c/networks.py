# SPDX-License-Identifier: Apache-2.0
"""Networks as C that are built once and kept."""

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
    """The library of a Graph, built first if it is not there yet; name: for people; contents: of the model's file,
    or all that the Graph is.

    Raises InputError, in one line, for what cannot be C, and where there is no compiler; BuildError.
    """
    sources = sources_of(graph, _NAME)

    def fill(folder: Path, _say: Callable[[str], None]) -> None:
        build_library([sources], folder)

    options = json.dumps(["c", FAST, os.environ.get("CC", "")])
    return Library(cached_program(name, contents, options, SOURCES, fill) / LIBRARY, (sources,))
