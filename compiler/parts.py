# SPDX-License-Identifier: Apache-2.0
"""A network that is split between accelerator and host: each subgraph of the accelerator is compiled separately."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf
from pathlib import Path

from eyrie.compiler.artefact.network import AcceleratorSubgraph, CompiledNetwork, HostSubgraph
from eyrie.compiler.artefact.performance import Performance
from eyrie.compiler.ir.failure import CompileError, DoesNotFit, Unsupported
from eyrie.compiler.ir.graph import Graph, Node
from eyrie.compiler.ir.nest_text import ScheduleText
from eyrie.compiler.ir.tensor import Quantized, Tensor
from eyrie.compiler.network import best, compile_given, compile_part, imported
from eyrie.compiler.operators.shapes import Reshape
from eyrie.compiler.operators.weights import Weighted
from eyrie.compiler.options import OBJECTIVES, SEARCH_ITERATIONS
from eyrie.compiler.passes.constraints import Obstacle, Obstacles, is_view, said
from eyrie.compiler.passes.partition import Part, Partition, Side, is_real_layer, part_of, partition
from eyrie.compiler.passes.simplify import composes, simplified
from eyrie.compiler.passes.split_layers import split_layer
from eyrie.compiler.performance import performance
from eyrie.compiler.pipeline import NAMES
from eyrie.compiler.results import Built, Imported, Planned, Request
from eyrie.model.config import DEFAULT, AcceleratorConfig
from eyrie.model.errors import InputError
from eyrie.model.messages import about

PLANNED = "segments"  # the stage that plans


@dataclass(frozen=True, eq=False)
class CompiledPart:
    """A subgraph with its result. stages: None for the host"""

    part: Part
    stages: Built | None

    @property
    def graph(self) -> Graph:
        """Return the graph that runs."""
        return self.stages.folded if self.stages else self.part.graph

    @cached_property
    def performance(self) -> Performance:
        """Return the performance of a subgraph that the accelerator runs."""
        assert self.stages
        return performance(self.stages)


@dataclass(frozen=True, eq=False)
class Compiled:
    """A network whose subgraphs for the accelerator are compiled. graph: as the model has it, for the golden model"""

    graph: Graph
    config: AcceleratorConfig
    parts: tuple[CompiledPart, ...]

    @property
    def partition(self) -> Partition:
        return Partition(tuple(each.part for each in self.parts))

    @property
    def whole(self) -> Built | None:
        """Return the stages if the accelerator runs the whole network, else None."""
        return self.parts[0].stages if len(self.parts) == 1 else None

    @property
    def performances(self) -> list[Performance]:
        """Return the performance of each subgraph that the accelerator runs."""
        return [each.performance for each in self.parts if each.stages]

    @cached_property
    def network(self) -> CompiledNetwork:
        """Return the network to save or to run."""
        return CompiledNetwork.of(
            self.graph,
            self.config,
            tuple(
                AcceleratorSubgraph(each.stages.image, each.performance)
                if each.stages
                else HostSubgraph(each.part.graph, tuple(said(each.part.obstacles)))
                for each in self.parts
            ),
        )

    def __str__(self) -> str:
        """Return the list of subgraphs, unless it is one, and the tables of the accelerator's."""
        tables = [str(metrics) for metrics in self.performances]
        return "\n\n".join(tables if self.whole else [str(self.partition), *tables])


def compile_parts(
    model: str | Path,
    config: AcceleratorConfig = DEFAULT,
    objective: str = OBJECTIVES[0],
    search_iterations: int = SEARCH_ITERATIONS,
    images: int = 1,
    on_stage: Callable[[str], None] | None = None,
) -> Compiled:
    """Compile a model as a whole if possible, else in parts. For the parameters, see `compile_network`.

    Raise InputError, with one line that begins with the path, if an operator runs on neither accelerator nor host, or
    if the weights of a subgraph do not fit: it reports the subgraph that needs most.
    """
    return compile_request(Request(model, config, objective, search_iterations, images), on_stage)


def compile_request(request: Request, on_stage: Callable[[str], None] | None = None) -> Compiled:
    """Compile a model like `compile_parts`; with a given schedule that has no parts, only as a whole.

    Raise InputError, with one line that begins with the path of the model or of the schedule.
    """
    with about(request.model):
        work = imported(request, on_stage)
    given = request.given
    if given and not given.parts:
        simple = _with_ends(simplified(work.graph, given.compose), work.graph)
        stages = compile_given(replace(work, graph=_signed(simple)), given, on_stage)
        return Compiled(work.graph, work.config, (CompiledPart(Part(Side.ACCELERATOR, stages.folded), stages),))
    with about(request.model):
        compiled = compile_graph(work, on_stage)
    return _as_given(compiled, work, given, on_stage) if given else compiled


def _as_given(
    compiled: Compiled, work: Imported, given: ScheduleText, on_stage: Callable[[str], None] | None
) -> Compiled:
    """Return the network with the given schedules of its parts. Raise InputError, which begins with a path."""
    parts = [*compiled.parts]
    for number, schedule in given.parts:
        if number >= len(parts) or not parts[number].stages:
            known = " ".join(f"part{n}" for n, each in enumerate(parts) if each.stages)
            raise InputError(
                f"{given.path}: part{number} is no part of the accelerator, which runs {known or 'no part'}"
            )
        part = parts[number].part
        parts[number] = CompiledPart(part, compile_given(replace(work, graph=_signed(part.graph)), schedule, on_stage))
    return replace(compiled, parts=tuple(parts))


def compile_graph(work: Imported, on_stage: Callable[[str], None] | None = None) -> Compiled:
    """Compile an imported graph like `compile_parts`. Compose data-movement operators if that reduces the work of the
    host, or, at equal work, the objective; or as the given schedule says.

    Raise CompileError.
    """
    composed = (work.given.compose,) if work.given else (True, False) if composes(work.graph) else (True,)
    work = replace(work, given=None)

    def judged(compiled: Compiled) -> tuple[int, float]:
        return len(compiled.partition.host_nodes), sum(each.rating(work.objective) for each in compiled.performances)

    ways = [
        _Compiling(replace(work, compose=compose), _with_ends(simplified(work.graph, compose), work.graph), on_stage)
        for compose in composed
    ]
    least = min(len(way.partition.host_nodes) for way in ways)
    likely, others = list[_Compiling](), list[_Compiling]()
    for way in ways:
        (likely if len(way.partition.host_nodes) == least else others).append(way)
    return best(_attempts(likely), judged, others=[(inf, attempt) for attempt in _attempts(others)])


def _with_ends(graph: Graph, model: Graph) -> Graph:
    """Return a simplified graph with the outputs of the model: an operator that changes no value may have made one."""
    nodes = [*graph.nodes]
    for made, wanted in zip(graph.outputs, model.outputs, strict=True):
        if made.name != wanted.name:
            [place] = (node.where for node in model.nodes if wanted in node.outputs)
            nodes.append(Node(Reshape(to=wanted.shape), place, (made,), (wanted,)))
    return replace(graph, nodes=tuple(nodes), outputs=model.outputs)


def check_accelerated(
    compiled: Compiled, model: str | Path, remedy: str = "eyrie compile -o DIR prints the reasons"
) -> None:
    """Raise InputError, with one line that begins with the path of the model, if the host runs all operators."""
    if compiled.performances:
        return
    real = any(map(is_real_layer, compiled.partition.host_nodes))
    remedy = "quantise it (eyrie quantize-model)" if real else remedy
    raise InputError(f"{model}: the accelerator runs no operator of the model: {remedy}")


def _attempts(ways: list["_Compiling"]) -> Iterator[Callable[[], Compiled]]:
    """Yield the compilations of variants, without those that turn out to be planned like the first one."""
    for way in ways:
        if way is ways[0] or not way.is_planned_like(ways[0]):
            yield way.compiled


@dataclass(eq=False)
class _Compiling:
    """The subgraphs of a network in progress. simple: its simplified graph"""

    work: Imported
    simple: Graph
    on_stage: Callable[[str], None] | None
    parts: list[CompiledPart] = field(default_factory=list)
    too_large: list[tuple[Part, DoesNotFit]] = field(default_factory=list)

    @cached_property
    def partition(self) -> Partition:
        """Return the subgraphs to compile."""
        return partition(self.simple)

    def compiled(self) -> Compiled:
        """Return the compiled network. Raise DoesNotFit."""
        for part in self.partition.parts:
            self._take(part)
        if self.too_large:
            raise _largest(self.too_large)
        return Compiled(self.work.graph, self.work.config, tuple(self.parts))

    def is_planned_like(self, other: "_Compiling") -> bool:
        """Return whether its subgraphs have the plans of another one that is compiled."""
        if self.partition.outline != other.partition.outline or len(other.parts) != len(other.partition.parts):
            return False
        pairs = [(mine, each.stages) for mine, each in zip(self.partition.parts, other.parts) if each.stages]
        planned = ((self._compiled(part, PLANNED), stages.plan) for part, stages in pairs)
        return all(isinstance(mine, Planned) and mine.plan.outline == plan.outline for mine, plan in planned)

    def _compiled(self, part: Part, until: str) -> Request | CompileError:
        """Return the result of the last stage, or the error that ends the compilation."""
        try:
            return compile_part(replace(self.work, graph=_signed(part.graph)), until, self.on_stage)
        except (Unsupported, DoesNotFit) as found:
            return found

    def _take(self, part: Part) -> None:
        """Add a subgraph, split into several if it cannot be compiled as one."""
        until = PLANNED if self.too_large else NAMES[-1]
        found = None if part.side == Side.HOST else self._compiled(part, until)
        if not isinstance(found, CompileError):
            self.parts.append(CompiledPart(part, found if isinstance(found, Built) else None))
            return
        pieces = list(_pieces(part, found))
        if len(pieces) == 1 and isinstance(found, DoesNotFit):
            pieces = _by_weights(part)
        split = split_layer(part.graph, _times(found), found.bound or 0) if isinstance(found, DoesNotFit) else None
        if len(pieces) > 1:
            for piece in pieces:
                self._take(piece)
        elif split:
            self._take(replace(part, graph=split))
        elif isinstance(found, DoesNotFit) and _has_weights(part.graph.nodes[0]):
            self.too_large.append((part, found))
        else:  # each of several nodes would run by itself, but not together; or a map is too large
            self.parts.append(CompiledPart(replace(part, side=Side.HOST, obstacles=_obstacles(part, found)), None))


def _obstacles(part: Part, failure: CompileError) -> tuple[Obstacle, ...]:
    """Return the reasons why the host runs a subgraph that the accelerator supports."""
    if isinstance(failure, Obstacles):
        return failure.obstacles
    return tuple(Obstacle(node.operator.name, node.where, failure.what) for node in part.graph.nodes)


def _largest(failures: list[tuple[Part, DoesNotFit]]) -> DoesNotFit:
    """Return the error of the subgraph that needs most, with its place in the model."""
    part, most = max(failures, key=lambda failed: failed[1].demand or failed[1].bound or 0)
    noun = "operator" if len(part.graph.nodes) == 1 else "operators"
    return DoesNotFit(
        f"{noun} {part.places}: {most.what}", layer=most.layer, demand=most.demand, bound=most.bound, remedy=most.remedy
    )


def _times(found: DoesNotFit) -> int:
    """Return how many times a layer is too large, 2 or more."""
    return max(2, -(-(found.demand or 0) // (found.bound or 1)))


def _by_weights(part: Part) -> list[Part]:
    """Split a chain that does not fit: neighbours with weights stay together, every other node is alone. A chain of
    neighbours with weights is split in the middle."""
    runs: list[list[Node]] = []
    for node in part.graph.nodes:
        if runs and _has_weights(node) and _has_weights(runs[-1][-1]):
            runs[-1].append(node)
        else:
            runs.append([node])
    if len(runs) == 1:
        middle = len(runs[0]) // 2
        runs = [nodes for nodes in (runs[0][:middle], runs[0][middle:]) if nodes]
    return [Part(Side.ACCELERATOR, part_of(part.graph, nodes)) for nodes in runs]


def _has_weights(node: Node) -> bool:
    return isinstance(node.operator, Weighted)


def _pieces(part: Part, failure: CompileError) -> Iterator[Part]:
    """Split a subgraph of the accelerator that cannot be planned at once: at the operator that does not fit, or into
    chains.

    The host does views at their ends.
    """
    for chain in _around(part.graph, failure) or _chains(part.graph):
        first, last = 0, len(chain)
        while first < last and is_view(chain[first]):
            first += 1
        while last > first and is_view(chain[last - 1]):
            last -= 1
        for side, nodes in (
            (Side.HOST, chain[:first]),
            (Side.ACCELERATOR, chain[first:last]),
            (Side.HOST, chain[last:]),
        ):
            if nodes:
                yield Part(side, part_of(part.graph, nodes))


def _around(graph: Graph, failure: CompileError) -> list[list[Node]]:
    """Return the nodes before the one that does not fit, it alone, and the later ones; [] if it is unknown."""
    nodes, result = [*graph.nodes], failure.result or ""
    for n, node in enumerate(nodes):
        if any(result == tensor.name or result.startswith(f"{tensor.name}#") for tensor in node.outputs):
            return [run for run in (nodes[:n], [node], nodes[n + 1 :]) if run]
    return []


def _chains(graph: Graph) -> list[list[Node]]:
    """Return the nodes in chains. In a chain, each node but the first is the only reader of the node before it. The
    order is that of the chains' first nodes."""
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
    """Return the graph with int8 inputs and outputs, for the accelerator, if the model's are uint8."""

    def sides(tensors: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return tuple(
            replace(tensor, unsigned=False) if isinstance(tensor, Quantized) and tensor.unsigned else tensor
            for tensor in tensors
        )

    nodes = tuple(replace(node, inputs=sides(node.inputs), outputs=sides(node.outputs)) for node in graph.nodes)
    return replace(graph, inputs=sides(graph.inputs), nodes=nodes, outputs=sides(graph.outputs))
