# SPDX-License-Identifier: Apache-2.0
"""A network in parts for machine and host: each machine part is compiled by itself.

DIR/network.json  the parts in their order: side, nodes as text, and of a machine part its folder and the digest of its
                  map.json; the digest of model.tflite; host_share
DIR/model.tflite  the model: what the host computes, constants among it, is read from there
DIR/part<n>/      a machine part, as `eyrie compile` writes a network that is one
"""

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from compiler.files import unlink, write_all
from compiler.folder import DESCRIPTION, save
from compiler.frontend.file import load, read_model
from compiler.ir.failure import DoesNotFit, Failure, Unsupported
from compiler.ir.graph import Graph, Node
from compiler.ir.tensor import Quantized, Tensor
from compiler.options import EFFORT, OBJECTIVES
from compiler.passes.constraints import is_view
from compiler.passes.partition import Part, Partition, Side, part_of, partition
from compiler.passes.simplify import simplified
from compiler.performance import Performance, performance
from compiler.pipeline import Stages, compile_part
from model.config import DEFAULT, MachineConfig
from model.messages import about

MODEL = "model.tflite"


def prepared(model: str | Path) -> Graph:
    """The network whose parts are taken. Raises ValueError, which begins with the path."""
    return simplified(load(model))


@dataclass(frozen=True, eq=False)
class CompiledPart:
    """stages: None for the host."""

    part: Part
    stages: Stages | None

    @cached_property
    def performance(self) -> Performance:
        """Of a machine part."""
        return performance(self.stages)


@dataclass(frozen=True, eq=False)
class Compiled:
    """A network whose machine parts are compiled."""

    graph: Graph
    model: bytes
    parts: tuple[CompiledPart, ...]

    @property
    def partition(self) -> Partition:
        return Partition(tuple(each.part for each in self.parts))

    @property
    def performances(self) -> list[Performance]:
        """Of the machine parts."""
        return [each.performance for each in self.parts if each.stages]

    def save(self, directory: str | Path) -> None:
        """Writes the folder; what says that it is whole comes last. Raises ValueError in one line."""
        directory, entries = Path(directory), []
        unlink(directory, DESCRIPTION, "map.json")
        for number, each in enumerate(self.parts):
            entry = {"side": each.part.side, "nodes": [str(node) for node in each.part.graph.nodes]}
            if each.stages:
                folder = directory / f"part{number}"
                save(each.stages, each.performance, folder)
                entry |= {"folder": folder.name, "sha256": digest((folder / "map.json").read_bytes())}
            entries.append(entry)
        description = {"sha256": digest(self.model), "host_share": self.partition.host_share, "parts": entries}
        write_all(directory, {MODEL: self.model, DESCRIPTION: json.dumps(description, indent=1).encode()})

    def __str__(self) -> str:
        """The parts, and the tables of those of the machine."""
        tables = [str(figures) for figures in self.performances]
        return "\n\n".join([str(self.partition), *tables])


def digest(contents: bytes) -> str:
    return hashlib.sha256(contents).hexdigest()


def compile_parts(model: str | Path, machine: MachineConfig = DEFAULT, objective: str = OBJECTIVES[0],
                  effort: int = EFFORT, on_stage: Callable[[str], None] | None = None) -> Compiled:
    """Raises ValueError, in one line that begins with the path, for what neither machine nor host can do, and for
    machine parts that do not fit: of these the one that needs most."""
    def compiled(part: Part) -> Stages | Failure:
        try:
            return compile_part(_signed(part.graph), model, machine, objective, effort, on_stage)
        except (Unsupported, DoesNotFit) as failure:
            return failure

    with about(model):
        graph = prepared(model)
        parts, too_large = [], []
        for whole in partition(graph).parts:
            found = compiled(whole) if whole.side == Side.MACHINE else None
            if not isinstance(found, Failure):
                parts.append(CompiledPart(whole, found))
                continue
            for piece in _pieces(whole, graph):
                if piece.side == Side.MACHINE and piece.graph.nodes != whole.graph.nodes:
                    found = compiled(piece)
                if piece.side == Side.HOST or isinstance(found, Unsupported):  # not what runs node by node
                    parts.append(CompiledPart(replace(piece, side=Side.HOST), None))
                elif isinstance(found, DoesNotFit):
                    too_large.append((piece, found))
                else:
                    parts.append(CompiledPart(piece, found))
        if too_large:
            raise _largest(too_large)
        return Compiled(graph, read_model(model), tuple(parts))


def _largest(failures: list[tuple[Part, DoesNotFit]]) -> DoesNotFit:
    """Of parts that do not fit, the failure of the one that needs most, with its place in the model."""
    part, most = max(failures, key=lambda failed: failed[1].demand or failed[1].bound or 0)
    noun = "operator" if len(part.graph.nodes) == 1 else "operators"
    return DoesNotFit(f"{noun} {part.places}: {most.what}", layer=most.layer, demand=most.demand, bound=most.bound,
                      remedy=most.remedy)


def _pieces(part: Part, graph: Graph) -> Iterator[Part]:
    """A machine part that cannot be planned at once in chains, without views at their ends, which are the host's;
    graph: the whole network."""
    for chain in _chains(part.graph):
        first, last = 0, len(chain)
        while first < last and is_view(chain[first]):
            first += 1
        while last > first and is_view(chain[last - 1]):
            last -= 1
        for side, nodes in ((Side.HOST, chain[:first]), (Side.MACHINE, chain[first:last]), (Side.HOST, chain[last:])):
            if nodes:
                yield Part(side, part_of(graph, nodes))


def _chains(graph: Graph) -> list[list[Node]]:
    """Nodes in the order of their chains' first ones: all but the first of a chain alone take what the one before
    makes."""
    readers, ends = graph.readers, {tensor.name for tensor in graph.outputs}
    open_chains: dict[str, list[Node]] = {}  # by the tensor that their last node makes
    found = []
    for node in graph.nodes:
        name = node.activations[0].name if node.activations else ""
        chain = open_chains.get(name)
        if chain is None or len(node.activations) > 1 or len(readers[name]) > 1 or name in ends:
            chain = []
            found.append(chain)
        chain.append(node)
        if len(node.outputs) == 1:
            open_chains[node.outputs[0].name] = chain
    return found


def _signed(graph: Graph) -> Graph:
    """The same values are int8 on their way to the machine, whatever the model's ends have."""
    def sides(tensors: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return tuple(replace(tensor, unsigned=False) if isinstance(tensor, Quantized) and tensor.unsigned else tensor
                     for tensor in tensors)

    nodes = tuple(replace(node, inputs=sides(node.inputs), outputs=sides(node.outputs)) for node in graph.nodes)
    return Graph(sides(graph.inputs), nodes, sides(graph.outputs))
