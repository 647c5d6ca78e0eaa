# SPDX-License-Identifier: Apache-2.0
"""Networks as C that are built once and kept."""

import json
import os
from collections.abc import Callable
from pathlib import Path

from compiler.c.sources import sources_of
from compiler.frontend.file import read_model
from compiler.ir.graph import Graph
from model.messages import about
from runtime.portable_c.executable import FAST, SOURCES, Executable, build
from runtime.programs import kept

_NAME = "network"


def built(model: Path, graph: Graph) -> Executable:
    """The executable of a model, built first if it is not there yet; graph: the model's.

    Raises ValueError, in one line, for what cannot be C, and where there is no compiler; BuildError.
    """
    with about(model):
        sources = sources_of(graph, _NAME)

    def fill(folder: Path, _say: Callable[[str], None]) -> None:
        build([sources], folder, FAST)

    def load(folder: Path) -> None:
        if not (folder / "program").exists():
            raise ValueError("not built")

    options = json.dumps(["c", FAST, os.environ.get("CC", "")])
    return Executable(kept(model.stem, read_model(model), options, SOURCES, load, fill) / "program", (sources,))
