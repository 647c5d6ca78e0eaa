# SPDX-License-Identifier: Apache-2.0
"""A compiled network: subgraphs for the host and for the accelerator, in the order in which they run."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod

import numpy as np

from eyrie.compiler.artefact.performance import Performance
from eyrie.compiler.ir.graph import Graph, Node, map_shape
from eyrie.compiler.ir.image import Image
from eyrie.compiler.ir.image_layout import DramMap
from eyrie.compiler.ir.tensor import Quantized, Tensor
from eyrie.model.config import AcceleratorConfig
from eyrie.model.errors import InputError
from eyrie.model.messages import times
from eyrie.model.operators.quantization import Quantization


@dataclass(frozen=True, eq=False)
class HostSubgraph:
    """Operators that the host runs with their golden functions. reasons: why the accelerator does not run them"""

    graph: Graph
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class AcceleratorSubgraph:
    """A program of the accelerator.

    performance  the prediction of the cost model, None for a program that was written by hand
    place        for messages
    """

    image: Image
    performance: Performance | None = None
    place: str = "the program"


@dataclass(frozen=True, eq=False)
class CompiledNetwork:
    """A network that the compiler has finished. Running it needs no stage of the compiler.

    inputs, outputs  in the model's order, the state last
    graph            the whole network, for the golden model; None if the program was not compiled from a model
    """

    config: AcceleratorConfig
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    subgraphs: tuple[HostSubgraph | AcceleratorSubgraph, ...]
    graph: Graph | None

    @classmethod
    def of(
        cls, graph: Graph, config: AcceleratorConfig, subgraphs: tuple[HostSubgraph | AcceleratorSubgraph, ...] = ()
    ) -> "CompiledNetwork":
        """Return a network of a Graph; the host runs all of it if no subgraphs are given."""
        return cls(config, graph.inputs, graph.outputs, subgraphs or (HostSubgraph(graph),), graph)

    @classmethod
    def of_program(cls, image: Image, performance: Performance | None = None) -> "CompiledNetwork":
        """Return a network of a program whose Graph is not known."""
        inputs, outputs = (
            tuple(_tensor(name, map_) for name, map_ in maps.items()) for maps in (image.inputs, image.outputs)
        )
        return cls(image.config, inputs, outputs, (AcceleratorSubgraph(image, performance),), None)

    @property
    def programs(self) -> tuple[AcceleratorSubgraph, ...]:
        """Return the subgraphs of the accelerator."""
        return tuple(each for each in self.subgraphs if isinstance(each, AcceleratorSubgraph))

    @property
    def whole(self) -> AcceleratorSubgraph | None:
        """Return the program if the accelerator runs the whole network, else None."""
        return self.programs[0] if len(self.subgraphs) == len(self.programs) == 1 else None

    @property
    def images(self) -> int:
        """Return the images of a run of the accelerator."""
        return max((each.image.images for each in self.programs), default=1)

    @property
    def signature(self) -> Graph:
        """Return the Graph, or one that has the inputs and outputs only."""
        return self.graph or Graph(self.inputs, (), self.outputs)

    @property
    def arguments(self) -> tuple[Tensor, ...]:
        """Return the inputs without the state."""
        return self.signature.arguments

    @property
    def start(self) -> tuple[np.ndarray, ...]:
        """Return the start values of the state."""
        return self.signature.start

    @property
    def host_nodes(self) -> tuple[Node, ...]:
        graphs = (each.graph for each in self.subgraphs if isinstance(each, HostSubgraph))
        return tuple(node for graph in graphs for node in graph.nodes)

    @property
    def host(self) -> tuple[str, ...]:
        """Return the operators of the host: position and name."""
        return tuple(f"{node.where} {node.operator.name}" for node in self.host_nodes)

    @property
    def host_share(self) -> float:
        """Return the host's share of all element operations and MACs: 0 to 1."""
        total = sum(node.elements for node in self.graph.nodes) if self.graph else 0
        return sum(node.elements for node in self.host_nodes) / total if total else 0.0

    @property
    def predicted_cycles(self) -> int:
        """Return the predicted cycles of all programs."""
        return sum(each.performance.cycles for each in self.programs if each.performance)

    def whole_graph(self) -> Graph:
        """Return the Graph. Raise InputError, with one line, if the network has none."""
        if self.graph is None:
            raise InputError("the program was not compiled from a model: run it on rtl, functional or cosim")
        return self.graph

    def check(self) -> None:
        """Raise InputError, with one line, unless each subgraph reads what the network or earlier ones give, in their
        shapes, and all outputs are made. A map of one column may be read as one of one row (passes/turn_maps.py).
        """
        known = dict(_shapes(self.inputs))
        for number, subgraph in enumerate(self.subgraphs):
            if isinstance(subgraph, HostSubgraph):
                subgraph.graph.verified()
                read, made = dict(_shapes(subgraph.graph.inputs)), dict(_shapes(subgraph.graph.outputs))
            else:
                if subgraph.image.config != self.config:
                    raise InputError(f"subgraph {number} is compiled for another configuration")
                read, made = (_map_shapes(maps) for maps in (subgraph.image.inputs, subgraph.image.outputs))
            _check_known(known, read, f"subgraph {number} reads")
            known |= made
        _check_known(known, dict(_shapes(self.outputs)), "the network has the output")
        if self.graph and (self.graph.inputs, self.graph.outputs) != (self.inputs, self.outputs):
            raise InputError("the inputs and outputs are not the graph's")


Shape = tuple[int, ...]


def _check_known(known: Mapping[str, Shape], read: Mapping[str, Shape], who: str) -> None:
    for name, shape in read.items():
        if name not in known:
            raise InputError(f"{who} {name}, which no earlier subgraph computes")
        if shape not in (known[name], _turned(known[name])):
            raise InputError(f"{who} {name} as {times(shape)}, it is {times(known[name])}")


def _turned(shape: Shape) -> Shape:
    """Return the shape of a map of one column as one of one row."""
    return (1, shape[0], shape[2]) if len(shape) == 3 and shape[1] == 1 else shape


def _shapes(tensors: tuple[Tensor, ...]) -> Iterator[tuple[str, Shape]]:
    """Yield the names and shapes of tensors: (H, W, C) of those that may be feature maps."""
    for tensor in tensors:
        shape = map_shape(tensor.shape)
        yield tensor.name, shape if prod(shape) == tensor.size else tensor.shape


def _map_shapes(maps: Mapping[str, DramMap]) -> dict[str, Shape]:
    return {name: map_.shape for name, map_ in maps.items()}


def _tensor(name: str, map_: DramMap) -> Tensor:
    quantization = Quantization(map_.scale, map_.zero_point)
    return Quantized(name=name, shape=(1, *map_.shape), dtype="int8", quantization=quantization)
