# SPDX-License-Identifier: Apache-2.0
"""The compilation cache: compiled programs that are stored and reused."""

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from eyrie.compiler.folder import network_of, save
from eyrie.compiler.frontend.file import read_model
from eyrie.compiler.ir.graph import Graph
from eyrie.compiler.network import compile_whole
from eyrie.compiler.parts import compile_graph, compile_parts
from eyrie.compiler.results import Built, Imported, reached
from eyrie.model.config import DEFAULT, AcceleratorConfig
from eyrie.runtime.cached_folders import cached
from eyrie.runtime.digests import COMPILER, digest_of
from eyrie.runtime.folders import BUILD, shortened

PROGRAMS = BUILD / "programs"


def compiled(model: Path, config: AcceleratorConfig = DEFAULT, images: int = 1) -> Path:
    """Return the folder of a compiled model (`compile_parts`), compiled first if it is not in the cache.

    The key has everything that the program depends on: the model's bytes, the accelerator, the images of a run, and the
    sources of compiler and model. Raise InputError, with one line, if the model does not compile.
    """

    def fill(folder: Path, say: Callable[[str], None]) -> None:
        save(compile_parts(model, config, images=images, on_stage=say).network, folder)

    return cached_program(model.stem, read_model(model), json.dumps([config.as_dict(), images]), COMPILER, fill)


def compiled_graph(graph: Graph, name: str, config: AcceleratorConfig = DEFAULT) -> Path:
    """Do the same as `compiled` for a Graph, one image a run; `name` is for the user.

    Raise CompileError, with one line, if the Graph does not compile.
    """

    def fill(folder: Path, say: Callable[[str], None]) -> None:
        save(compile_graph(Imported(name, config, graph=graph), say).network, folder)

    return cached_program(name, contents_of(graph), json.dumps([config.as_dict(), "graph"]), COMPILER, fill)


def compiled_operator(graph: Graph, name: str, config: AcceleratorConfig = DEFAULT) -> Path:
    """Do the same as `compiled_graph` for a Graph that the accelerator runs alone, on feature maps that lie in its
    memory.

    Raise CompileError, with one line, if the Graph does not compile.
    """

    def fill(folder: Path, say: Callable[[str], None]) -> None:
        work = Imported(name, config, graph=graph, input_tables=False)
        save(network_of(reached(compile_whole(work, on_stage=say), Built)), folder)

    return cached_program(name, contents_of(graph), json.dumps([config.as_dict(), "operator"]), COMPILER, fill)


def contents_of(graph: Graph) -> bytes:
    """Return all data of a network: its tensors, and its operators with all their attributes."""
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


def cached_program(
    name: str,
    contents: bytes,
    options: str,
    sources: Sequence[str],
    fill: Callable[[Path, Callable[[str], None]], None],
) -> Path:
    """Return the folder of a program made from a model, made first if it is missing or damaged.

    `name` is the model's. `options` are the options of the compiler. `sources` are globs of the compiler's files, as in
    `digest_of`. `fill` makes the program and reports its progress.
    """
    key = hashlib.sha256(b"\0".join([digest_of(*sources), options.encode(), contents])).hexdigest()[:16]
    folder = PROGRAMS / f"{shortened(name)}-{key}"
    return cached(folder, f"compiling {name}", lambda part, task: fill(part, task.say))
