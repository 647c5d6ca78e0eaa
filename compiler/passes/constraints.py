# SPDX-License-Identifier: Apache-2.0
"""The legality checks: the constraints of the accelerator on a network.

The constraints of all operators are here; the record of an operator has the others (operators/). A message is the
docstring of a constraint, "not", and the actual value.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from eyrie.compiler.ir.failure import Unsupported
from eyrie.compiler.ir.graph import Graph, Node, map_shape
from eyrie.compiler.ir.operator import NO_OPERATOR, Unknown
from eyrie.compiler.ir.tensor import Quantized
from eyrie.compiler.operators.interpreted import Interpreted
from eyrie.compiler.operators.move import has_one_scale
from eyrie.compiler.operators.record import Constraint, Record, Site
from eyrie.compiler.operators.shapes import Reshape
from eyrie.model.encoding import STREAM_LEVEL, STREAM_RANGE
from eyrie.model.interpreters import ONNXRUNTIME
from eyrie.model.messages import times

# Rows, columns and channels of a map: the fields of a stream's range; a loop counts channels, 4 at a time.
LARGEST = (STREAM_RANGE.largest("rows"), STREAM_RANGE.largest("cols"), 4 * (STREAM_LEVEL.largest("last") + 1))


# ---- Of all operators ----


def int8_tensors(site: Site) -> str:
    """the accelerator takes int8 tensors"""
    tensors = (*site.node.inputs, *site.node.outputs)
    return _first(tensor.dtype for tensor in tensors if tensor.dtype != "int8" or not isinstance(tensor, Quantized))


def of_maps(site: Site) -> str:
    """an operator has an input that is known only at run time"""
    return "" if site.node.activations else "constants alone"


def one_image(site: Site) -> str:
    """the model is converted with a batch of 1 and tensors of 2 to 4 axes"""
    tensors = (*site.node.activations, *site.node.outputs)
    return _first(times(tensor.shape) for tensor in tensors if not _is_map(tensor.shape))


def countable(site: Site) -> str:
    """the accelerator's fields count the rows, columns and channels of maps"""
    sizes = (shape for shape in site.maps if any(size > most for size, most in zip(shape, LARGEST)))
    return _first(f"{times(shape)}: at most {times(LARGEST)}" for shape in sizes)


# ---- Of the network ----


def ends(graph: Graph) -> list[str]:
    """Return the errors of the inputs and outputs of a network."""
    tensors = [*(("input", tensor) for tensor in graph.inputs), *(("output", tensor) for tensor in graph.outputs)]
    return [
        f"{end} {tensor.name} is uint8: {end}s are int8"
        for end, tensor in tensors
        if isinstance(tensor, Quantized) and tensor.unsigned
    ]


# ---- All of them ----

ANYWHERE: tuple[Constraint, ...] = (of_maps, int8_tensors, one_image)
SIZES: tuple[Constraint, ...] = (countable,)  # of those that keep the ones before


@dataclass(frozen=True)
class Obstacle:
    """An obstacle: an unsupported operator, its place and the reason. operator: "" for the network itself"""

    operator: str
    where: str
    reason: str


class Obstacles(Unsupported):
    """The error that lists all obstacles of a network in one line."""

    def __init__(self, obstacles: tuple[Obstacle, ...]) -> None:
        self.obstacles = obstacles
        super().__init__("; ".join(said(obstacles)), layer=obstacles[0].where or None)


def said(obstacles: Iterable[Obstacle]) -> Iterator[str]:
    """Yield a clause for each operator and reason, with all places, each once."""
    places: dict[tuple[str, str], dict[str, None]] = {}
    for obstacle in obstacles:
        places.setdefault((obstacle.operator, obstacle.reason), {})[obstacle.where] = None
    for (operator, reason), where in places.items():
        noun = "operator" if len(where) == 1 else "operators"
        yield f"{noun} {', '.join(where)} {operator}: {reason}" if operator else reason


def of_operator(node: Node, graph: Graph) -> list[str]:
    """Return the reasons why the accelerator does not run a node. For an operator type that it supports, these are all
    reasons."""
    site = Site(node, graph)
    if isinstance(node.operator, Unknown):
        return [node.operator.reason]
    if isinstance(node.operator, Interpreted) and node.operator.interpreter == ONNXRUNTIME:
        return [node.operator.reason]
    own = node.operator.constraints if isinstance(node.operator, Record) else None
    if own is None:
        return _broken((int8_tensors,), site) or [NO_OPERATOR]
    for constraints in (ANYWHERE, SIZES):
        if found := _broken(constraints, site):
            return found
    return _broken(own, site)


def check_known(graph: Graph) -> None:
    """Raise Obstacles, with all of them, if the host cannot run an operator either."""
    unknown = tuple(
        Obstacle(node.operator.name, node.where, node.operator.reason)
        for node in graph.nodes
        if isinstance(node.operator, Unknown)
    )
    if unknown:
        raise Obstacles(unknown)


def check(graph: Graph) -> Graph:
    """Return the graph. Raise Obstacles if the accelerator does not run it."""
    found = [Obstacle("", "", reason) for reason in ends(graph)]
    for node in graph.nodes:
        reasons = of_operator(node, graph)
        found += [Obstacle(node.operator.name, node.where, reason) for reason in reasons]
    if found:
        raise Obstacles(tuple(found))
    return graph


def _broken(constraints: Iterable[Constraint], site: Site) -> list[str]:
    return [_message(constraint, found) for constraint in constraints if (found := constraint(site))]


def _message(constraint: Constraint, found: str) -> str:
    return f"{' '.join((constraint.__doc__ or '').split())}, not {found}"


def _first(found: Iterable[str]) -> str:
    return next(iter(found), "")


def is_view(node: Node) -> bool:
    """Return whether a node is a RESHAPE that keeps the feature map, so that it needs no work."""
    shapes = node.inputs[0].shape, node.outputs[0].shape
    return (
        isinstance(node.operator, Reshape)
        and has_one_scale(node)
        and all(map(_is_map, shapes))
        and map_shape(shapes[0]) == map_shape(shapes[1])
    )


def _is_map(shape: tuple[int, ...]) -> bool:
    """Return whether a shape is one feature map."""
    return 2 <= len(shape) <= 4 and shape[0] == 1
