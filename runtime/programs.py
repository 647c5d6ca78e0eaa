# SPDX-License-Identifier: Apache-2.0
"""Compiled programs, kept and reused."""

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from eyrie.compiler.folder import save
from eyrie.compiler.frontend.file import read_model
from eyrie.compiler.ir.graph import Graph
from eyrie.compiler.ir.image import Image
from eyrie.compiler.network import compile_network, compile_part
from eyrie.compiler.options import EFFORT
from eyrie.compiler.parts import compile_parts
from eyrie.compiler.performance import performance
from eyrie.model.config import DEFAULT, MachineConfig
from eyrie.model.errors import InputError
from eyrie.model.messages import about
from eyrie.runtime import progress
from eyrie.runtime.digests import COMPILER, digest_of
from eyrie.runtime.folders import BUILD, locked, replacing
from eyrie.runtime.session import Session

PROGRAMS = BUILD / "programs"


def compiled(
    model: Path, machine: MachineConfig = DEFAULT, images: int = 1, objective: str = "cycles", effort: int = EFFORT
) -> Path:
    """The folder of a model's program, compiled first if it is not there yet.

    It is known by all that decides what the compiler makes: the model's bytes, the machine, the options, and the
    sources of compiler and model. Raises InputError, in one line, for a model that does not compile.
    """

    def fill(folder: Path, say: Callable[[str], None]) -> None:
        with about(model):
            stages = compile_network(model, machine, objective, effort, images, on_stage=say)
        save(stages, performance(stages), folder)

    options = json.dumps([machine.as_dict(), images, objective, effort])
    return kept(model.stem, read_model(model), options, COMPILER, Image.load, fill)


def compiled_parts(model: Path, machine: MachineConfig = DEFAULT) -> Path:
    """`compiled` of a network in parts for machine and host (compiler/parts.py), for one image at a time."""

    def fill(folder: Path, say: Callable[[str], None]) -> None:
        compile_parts(model, machine, on_stage=say).save(folder)

    options = json.dumps([machine.as_dict(), "parts"])
    return kept(model.stem, read_model(model), options, COMPILER, Session.load, fill)


def compiled_graph(graph: Graph, name: str, machine: MachineConfig = DEFAULT) -> Path:
    """`compiled` of a network that is no file, all of it on the machine, for one image; name: what it is called.

    Raises Failure, in one line."""

    def fill(folder: Path, say: Callable[[str], None]) -> None:
        stages = compile_part(graph, name, machine, on_stage=say)
        save(stages, performance(stages), folder)

    return kept(name, contents_of(graph), json.dumps([machine.as_dict(), "graph"]), COMPILER, Image.load, fill)


def contents_of(graph: Graph) -> bytes:
    """All that a network is: its tensors, and its operators with all their attributes."""
    parts = [str(graph).encode()]
    for node in graph.nodes:
        tensors = [vars(tensor) for tensor in (*node.inputs, *node.outputs)]
        for values in ({"operator": node.operator.name, **vars(node.operator)}, *tensors):
            for name, value in sorted(values.items()):
                array = isinstance(value, np.ndarray)
                parts += (
                    [f"{name} {value.dtype}{value.shape}".encode(), value.tobytes()]
                    if array
                    else [f"{name} {value!r}".encode()]
                )
    return b"\0".join(parts)


def kept(
    name: str,
    contents: bytes,
    options: str,
    sources: Sequence[str],
    load: Callable[[Path], object],
    fill: Callable[[Path, Callable[[str], None]], None],
) -> Path:
    """The folder of what is made of a model, made first if it is not there or damaged.

    name: the model's; options: that it is made with; sources: what makes it, as `digest_of` takes them; load: raises
    InputError for a folder that is not whole; fill: makes it, and says how far it is.
    """
    key = hashlib.sha256(b"\0".join([digest_of(*sources), options.encode(), contents])).hexdigest()[:16]
    folder = PROGRAMS / f"{name}-{key}"
    if not _whole(folder, load):
        with progress.task(f"compiling {name}") as task, locked(folder.with_name(f"{folder.name}.lock")):
            if not _whole(folder, load):  # nobody else has made it meanwhile
                with replacing(folder) as part:
                    fill(part, task.say)
    return folder


def _whole(folder: Path, load: Callable[[Path], object]) -> bool:
    try:
        load(folder)
    except InputError:
        return False
    return True
