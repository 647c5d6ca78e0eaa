# SPDX-License-Identifier: Apache-2.0
"""The folder of a compiled network.

DIR/network.json   version of the format, configuration, subgraphs in order: the folder of an accelerator's program,
                   null for the host with the reasons; digests of the files below, and of all this
DIR/graph.txt      inputs, outputs, the whole network and the host's subgraphs as text (compiler/text)
DIR/constants.bin  long arrays of graph.txt
DIR/part<n>/       the program of subgraph n (ir/image.py), and layers.csv and summary.json, its predicted performance.
                   If the accelerator runs the whole network, these files are in DIR itself.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eyrie.compiler.artefact.network import AcceleratorSubgraph, CompiledNetwork, HostSubgraph
from eyrie.compiler.artefact.performance import Performance
from eyrie.compiler.ir.graph import Graph
from eyrie.compiler.ir.image import LAYOUT, REMEDY, VERSION, Image, of_this_version, sealed
from eyrie.compiler.ir.records import WRONG_ENTRY, plain, record
from eyrie.compiler.ir.tensor import Tensor
from eyrie.compiler.text.classes import takes
from eyrie.compiler.text.reading import values_of
from eyrie.compiler.text.writing import written
from eyrie.model.config import AcceleratorConfig
from eyrie.model.errors import InputError
from eyrie.model.reading import read_file, read_json

DESCRIPTION, GRAPH, CONSTANTS, SUMMARY = "network.json", "graph.txt", "constants.bin", "summary.json"
_HOLDS = {"inputs": tuple[Tensor, ...], "outputs": tuple[Tensor, ...], "graph": Graph | None, "host": tuple[Graph, ...]}


@dataclass(frozen=True)
class Entry:
    """A subgraph. folder: None for the host"""

    folder: str | None
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class Description:
    """The contents of network.json. digests: of files, by their paths"""

    config: AcceleratorConfig
    subgraphs: tuple[Entry, ...]
    digests: dict[str, str]


def digest(contents: bytes) -> str:
    return hashlib.sha256(contents).hexdigest()


def folder_of(network: CompiledNetwork, number: int) -> str:
    """Return the name of the folder of an accelerator's subgraph."""
    return "." if network.whole else f"part{number}"


def description(network: CompiledNetwork, programs: Mapping[str, Mapping[str, bytes]]) -> dict[str, bytes]:
    """Return the files beside the programs: graph.txt, constants.bin and network.json. programs: files by folder"""
    data = bytearray()
    host = tuple(each.graph for each in network.subgraphs if isinstance(each, HostSubgraph))
    values = {"inputs": network.inputs, "outputs": network.outputs, "graph": network.graph, "host": host}
    files = {GRAPH: written(values, data).encode(), CONSTANTS: bytes(data)}
    checked = files | {
        path: contents[name]
        for folder, contents in programs.items()
        for path, name in _checked_files(folder)
        if name in contents
    }
    entries = tuple(
        Entry(None, each.reasons) if isinstance(each, HostSubgraph) else Entry(folder_of(network, number), ())
        for number, each in enumerate(network.subgraphs)
    )
    found = Description(network.config, entries, {path: digest(contents) for path, contents in checked.items()})
    contents = sealed({"version": VERSION} | plain(found), b"")
    return files | {DESCRIPTION: json.dumps(contents, indent=1).encode()}


def _checked_files(folder: str) -> list[tuple[str, str]]:
    """Return the files of a program that loading checks: path and name."""
    return [(_path(folder, name), name) for name in (LAYOUT, SUMMARY)]


def _path(folder: str, name: str) -> str:
    return name if folder == "." else f"{folder}/{name}"


def load(directory: str | Path) -> CompiledNetwork:
    """Read the folder of a compiled network. Raise InputError, with one line, if a file is missing or damaged."""
    directory = Path(directory)
    contents = read_json(directory / DESCRIPTION, REMEDY)
    try:
        contents = of_this_version(contents)
        found = record(Description, {key: contents[key] for key in contents if key not in ("version", "sha256")})
        if contents != sealed(contents, b""):
            raise InputError("an entry is not as it was written")
        network = _network(directory, found)
        network.check()
    except InputError as error:
        if str(error).endswith(REMEDY):
            raise
        raise InputError(f"{directory / DESCRIPTION}: {error}: {REMEDY}") from error
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:  # of operators
        raise InputError(f"{directory / GRAPH}: {WRONG_ENTRY}: {REMEDY}") from error
    return network


def _network(directory: Path, found: Description) -> CompiledNetwork:
    values = _values(directory, found)
    graphs, subgraphs = list(values["host"]), list[HostSubgraph | AcceleratorSubgraph]()
    if len(graphs) != sum(entry.folder is None for entry in found.subgraphs):
        raise InputError(f"{GRAPH} has another number of subgraphs")
    for entry in found.subgraphs:
        if entry.folder is None:
            subgraphs.append(HostSubgraph(graphs.pop(0), entry.reasons))
        else:
            subgraphs.append(_program(directory, entry.folder, found.digests))
    return CompiledNetwork(found.config, values["inputs"], values["outputs"], tuple(subgraphs), values["graph"])


def _values(directory: Path, found: Description) -> dict[str, Any]:
    """Return the values of graph.txt. Raise InputError, with one line."""
    text, data = (_contents(directory, name, found.digests) for name in (GRAPH, CONSTANTS))
    try:
        values = values_of(directory / GRAPH, text.decode(), data)
    except (InputError, UnicodeDecodeError) as error:
        raise InputError(f"{GRAPH} is not as it was written") from error
    for name, hint in _HOLDS.items():
        if name not in values or not takes(hint, values[name]):
            raise InputError(f"{GRAPH}: {name}: {WRONG_ENTRY}")
    return values


def _program(directory: Path, name: str, digests: Mapping[str, str]) -> AcceleratorSubgraph:
    folder = directory / Path(name).name
    image = Image.load(folder)
    _contents(directory, _path(name, LAYOUT), digests)
    performance = None
    if (path := _path(name, SUMMARY)) in digests:
        _contents(directory, path, digests)
        performance = record(Performance, read_json(directory / path, REMEDY))
        if len(performance.layers) != len(image.steps):
            raise InputError(f"{path} is of another program")
    return AcceleratorSubgraph(image, performance, str(folder))


def _contents(directory: Path, path: str, digests: Mapping[str, str]) -> bytes:
    """Return the contents of a file. Raise InputError, with one line, unless it is the one that was written."""
    contents = read_file(directory / path, REMEDY)
    if digests.get(path) != digest(contents):
        raise InputError(f"{path} is not the one that was compiled with it")
    return contents
