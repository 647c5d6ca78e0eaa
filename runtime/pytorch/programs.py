# SPDX-License-Identifier: Apache-2.0
"""Compiled regions, kept and reused as models' programs are (runtime/programs.py)."""

import json
from collections.abc import Callable
from pathlib import Path

from compiler.ir.graph import Graph
from compiler.parts import compile_graph
from model.config import MachineConfig
from runtime.digests import COMPILER
from runtime.programs import contents_of, kept
from runtime.session import Session


def session_of(graph: Graph, name: str, machine: MachineConfig) -> Session:
    """The Session of a Graph, compiled first if that has not been done; name: for people. Raises Failure."""
    def load(folder: Path) -> Session:
        return Session.of_graph(graph, folder)

    def fill(folder: Path, say: Callable[[str], None]) -> None:
        compile_graph(graph, name, machine=machine, on_stage=say).save(folder)

    options = json.dumps([machine.as_dict(), "graph in parts"])
    return load(kept(name, contents_of(graph), options, COMPILER, load, fill))
