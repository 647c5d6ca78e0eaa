# SPDX-License-Identifier: Apache-2.0
"""Writing of compiled networks, and the compiled network of a model that the accelerator runs as a whole."""

from __future__ import annotations

from pathlib import Path

from eyrie.compiler.artefact.files import DESCRIPTION, SUMMARY, description, folder_of
from eyrie.compiler.artefact.network import AcceleratorSubgraph, CompiledNetwork
from eyrie.compiler.assembly.commands import to_text
from eyrie.compiler.files import unlink, write_all
from eyrie.compiler.performance import performance
from eyrie.compiler.results import Built

LAYERS = "layers.csv"


def network_of(stages: Built) -> CompiledNetwork:
    """Return the network of a model that went through all stages."""
    image, metrics = stages.image, performance(stages)
    return CompiledNetwork.of(stages.graph, image.config, (AcceleratorSubgraph(image, metrics),))


def save(network: CompiledNetwork, directory: str | Path) -> None:
    """Write the folder; network.json, which marks it as complete, comes last. Raise InputError, with one line."""
    directory = Path(directory)
    programs = {
        folder_of(network, number): _files(subgraph)
        for number, subgraph in enumerate(network.subgraphs)
        if isinstance(subgraph, AcceleratorSubgraph)
    }
    unlink(directory, DESCRIPTION)
    for folder, files in programs.items():
        unlink(directory / folder, LAYERS, SUMMARY)
        write_all(directory / folder, files)
    write_all(directory, description(network, programs))


def _files(program: AcceleratorSubgraph) -> dict[str, bytes]:
    files = program.image.files(to_text(program.image.commands))
    if program.performance:
        files |= {LAYERS: program.performance.csv().encode(), SUMMARY: program.performance.json().encode()}
    return files
