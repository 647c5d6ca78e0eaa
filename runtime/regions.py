# SPDX-License-Identifier: Apache-2.0
"""Graphs that are regions of another framework's networks: the check whether the accelerator can run them, and
sessions.
"""

import json
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import numpy as np

from eyrie.compiler.ir.graph import Graph
from eyrie.compiler.parts import compile_graph
from eyrie.compiler.passes.constraints import of_operator
from eyrie.compiler.passes.simplify import simplified
from eyrie.model.config import AcceleratorConfig
from eyrie.runtime.digests import COMPILER
from eyrie.runtime.portable_c.executable import Library
from eyrie.runtime.portable_c.networks import built
from eyrie.runtime.programs import cached_program, contents_of
from eyrie.runtime.session import Session, on_functional_simulator

Run = Callable[[Session, list[np.ndarray]], list[np.ndarray]]


def obstacle(graph: Graph) -> str:
    """Return the reason why the accelerator cannot run a Graph, or "" if it can."""
    found = []
    for compose in (True, False):
        made = simplified(graph, compose)
        found.append([f"{node.operator.name}: {reason}" for node in made.nodes for reason in of_operator(node, made)])
    return found[-1][0] if all(found) else ""


def session_of(graph: Graph, name: str, config: AcceleratorConfig) -> Session:
    """Return the Session of a Graph, compiled first if it is not in the cache (docs/developer/runs.md).

    `name` is for the user. Raise CompileError if the Graph does not compile.
    """

    def fill(folder: Path, say: Callable[[str], None]) -> None:
        compile_graph(graph, name, config=config, on_stage=say).save(folder)

    options = json.dumps([config.as_dict(), "graph in parts"])
    return Session.of_graph(graph, cached_program(name, contents_of(graph), options, COMPILER, fill))


def _on_functional_simulator(session: Session, inputs: list[np.ndarray]) -> list[np.ndarray]:
    return session.run(inputs, on_functional_simulator).outputs


def _golden(session: Session, inputs: list[np.ndarray]) -> list[np.ndarray]:
    return session.golden(inputs)


def _on_rtl(session: Session, inputs: list[np.ndarray]) -> list[np.ndarray]:
    from eyrie.runtime.soc.runs import RtlBackEnd

    return session.run(inputs, RtlBackEnd()).outputs


def _as_c(session: Session, inputs: list[np.ndarray]) -> list[np.ndarray]:
    return _library(session).run(inputs)


@lru_cache(maxsize=16)
def _library(session: Session) -> Library:
    return built("region", contents_of(session.graph), session.graph)


BACK_ENDS: dict[str, Run] = {"functional": _on_functional_simulator, "rtl": _on_rtl, "golden": _golden, "c": _as_c}
