# SPDX-License-Identifier: Apache-2.0
"""The legality checks: the constraints of the accelerator on a network.

A constraint is a function of a Site, and its docstring states the requirement. It returns "" if the requirement is met,
else the actual value. A message is the docstring, "not", and that value.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from math import prod

from eyrie.compiler.ir.failure import Unsupported
from eyrie.compiler.ir.graph import Graph, Node, map_shape
from eyrie.compiler.ir.layer import map_of, window_of
from eyrie.compiler.ir.operators.convolution import Conv2D, DepthwiseConv2D, FullyConnected, Weighted, Windowed
from eyrie.compiler.ir.operators.elementwise import Add, Maximum, Minimum, Mul, Sub
from eyrie.compiler.ir.operators.movement import (
    Composed,
    Concatenation,
    Gather,
    MirrorPad,
    Pack,
    Pad,
    Reshape,
    ResizeNearestNeighbor,
    Slice,
    Split,
    StridedSlice,
    Tile,
    Transpose,
    Unpack,
)
from eyrie.compiler.ir.operators.operator import Operator, Unknown
from eyrie.compiler.ir.operators.pooling import AveragePool2D, MaxPool2D, Mean, Pool
from eyrie.compiler.ir.operators.tables import Function
from eyrie.compiler.ir.tensor import Quantized
from eyrie.compiler.passes.moves import Unmovable, moves_of
from eyrie.compiler.passes.pools import MOST_AVERAGED, MOST_AVERAGED_UP, mean_group, pixels_inside
from eyrie.compiler.passes.word_operations import operands_of, word_operation
from eyrie.model.encoding import COORDINATE_BITS, PPU_FIRST, PPU_RESULT, PPU_SECOND, STREAM_LEVEL, STREAM_RANGE
from eyrie.model.errors import InputError
from eyrie.model.messages import times

# Rows, columns and channels of a map: the fields of a stream's range; a loop counts channels, 4 at a time.
LARGEST = (STREAM_RANGE.largest("rows"), STREAM_RANGE.largest("cols"), 4 * (STREAM_LEVEL.largest("last") + 1))


@dataclass(frozen=True, eq=False)
class Site:
    """A node in its network."""

    node: Node
    graph: Graph

    @property
    def operator(self) -> Operator:
        return self.node.operator

    @property
    def maps(self) -> tuple[tuple[int, int, int], ...]:
        """Return the shapes [H, W, C] of the first input and the first output."""
        return map_shape(self.node.inputs[0].shape), map_shape(self.node.outputs[0].shape)


Constraint = Callable[[Site], str]


# ---- Of all operators ----


def int8_tensors(site: Site) -> str:
    """tensors are int8"""
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


# ---- Of operators with weights ----


def fixed_point(site: Site) -> str:
    """sums are rescaled as fixed point can"""
    assert isinstance(site.operator, Weighted)  # OF_OPERATORS says so, here and below
    found = site.operator.fixed_point(site.node.inputs, site.node.outputs)
    return "" if found else "in double, by a factor that it does not have"


# ---- Of operators of two tensors ----


def a_map_and_its_like(site: Site) -> str:
    """an operand, the first one of SUB, has the result's shape, the other that, or a single row or column, or is a
    constant"""
    result, maps = site.node.outputs[0].shape, operands_of(site.node)
    first = site.node.inputs[0] if isinstance(site.operator, Sub) else maps[0]
    if first not in maps or first.shape != result:
        return times(first.shape)
    shape, channels = map_shape(result), result[-1]
    others = (map_shape(tensor.shape) for tensor in maps if tensor is not first)
    return _first(
        times(other)
        for other in others
        if other[2] != channels or any(size not in (1, full) for size, full in zip(other, shape))
    )


def fields(site: Site) -> str:
    """its factors and shifts fit the fields of the accelerator's operation"""
    try:
        operation = word_operation(site.node)
        for word, values in (
            (PPU_FIRST, operation.first),
            (PPU_SECOND, operation.second),
            (PPU_RESULT, operation.result),
        ):
            word.pack(**values)
    except InputError as error:
        return str(error)
    return ""


# ---- Of windows ----


def countable_steps(site: Site) -> str:
    """the accelerator's fields count the steps of a window, over margins, too"""
    assert isinstance(site.operator, (Windowed, Pool))
    window, most = window_of(site.operator), 1 << COORDINATE_BITS
    ends = ((size - 1) * step + span for size, step, span in zip(site.maps[1], window.stride, window.span))
    within = (
        max(ends) < most
        and 2 * max(window.pads) < most
        and max(*window.stride, *window.dilation) <= STREAM_LEVEL.largest("step")
    )
    return "" if within else f"a {times(window.kernel)} kernel with {window}"


def few_averaged(site: Site) -> str:
    """averages are of 1 to 2896 pixels, of uint8 ones to 2052"""
    assert isinstance(site.operator, AveragePool2D)
    counts = pixels_inside(site.maps[0][:2], window_of(site.operator))
    most = MOST_AVERAGED_UP if site.operator.unsigned else MOST_AVERAGED
    return _first(str(count) for count in (counts.min(), counts.max()) if not 1 <= count <= most)


def countable_window(site: Site) -> str:
    """the accelerator's field counts the pixels of a window"""
    assert isinstance(site.operator, Pool)
    taps, most = prod(site.operator.kernel), PPU_FIRST.largest("window")
    return "" if taps <= most else f"{taps}: at most {most}"


def countable_mean(site: Site) -> str:
    """means leave axes in their places, and their number and factor fit the accelerator's fields"""
    assert isinstance(site.operator, Mean)
    maps = {tensor.name: map_of(tensor) for tensor in (*site.node.inputs, *site.node.outputs)}
    try:
        mean_group(site.node, site.operator, maps)
    except InputError as error:
        return str(error)
    return ""


# ---- Of moves ----


def movable(site: Site) -> str:
    """values are moved pixel by pixel in loops, and channel by channel"""
    if not _one_scale(site.node):
        return "with a change of scale"
    try:
        moves_of(site.node)
    except Unmovable as error:
        return str(error)
    return ""


def _one_scale(node: Node) -> bool:
    return len({getattr(tensor, "quantization", None) for tensor in (*node.inputs, *node.outputs)}) == 1


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
_OF_TWO = (a_map_and_its_like, fields)
_MOVES = (movable,)
# The constraints of operators that the accelerator supports, except functions of one value, which have none of their
# own.
OF_OPERATORS: dict[type[Operator], tuple[Constraint, ...]] = {
    Conv2D: (countable_steps,),
    DepthwiseConv2D: (countable_steps,),
    FullyConnected: (fixed_point,),
    Add: _OF_TWO,
    Sub: _OF_TWO,
    Mul: _OF_TWO,
    Maximum: _OF_TWO,
    Minimum: _OF_TWO,
    AveragePool2D: (countable_steps, countable_window, few_averaged),
    MaxPool2D: (countable_steps, countable_window),
    Mean: (countable_mean,),
    **dict.fromkeys(
        (
            Reshape,
            Transpose,
            Pad,
            MirrorPad,
            Tile,
            Slice,
            StridedSlice,
            Gather,
            ResizeNearestNeighbor,
            Concatenation,
            Split,
            Pack,
            Unpack,
            Composed,
        ),
        _MOVES,
    ),
}


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
    """Yield a clause for each operator and reason, with all places."""
    places: dict[tuple[str, str], list[str]] = {}
    for obstacle in obstacles:
        places.setdefault((obstacle.operator, obstacle.reason), []).append(obstacle.where)
    for (operator, reason), where in places.items():
        noun = "operator" if len(where) == 1 else "operators"
        yield f"{noun} {', '.join(where)} {operator}: {reason}" if operator else reason


def of_operator(node: Node, graph: Graph) -> list[str]:
    """Return the reasons why the accelerator does not run a node. For an operator type that it supports, these are all
    reasons."""
    site = Site(node, graph)
    if isinstance(node.operator, Unknown):
        return [node.operator.reason]
    own = () if isinstance(node.operator, Function) else OF_OPERATORS.get(type(node.operator))
    if own is None:
        return _broken((int8_tensors,), site) or ["the accelerator has no such operator"]
    for constraints in (ANYWHERE, SIZES):
        if found := _broken(constraints, site):
            return found
    return _broken(own, site)


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
        and _one_scale(node)
        and all(map(_is_map, shapes))
        and map_shape(shapes[0]) == map_shape(shapes[1])
    )


def _is_map(shape: tuple[int, ...]) -> bool:
    """Return whether a shape is one feature map."""
    return 2 <= len(shape) <= 4 and shape[0] == 1


def is_pointwise(node: Node) -> bool:
    """Return whether a node is a pointwise convolution of the feature map in its shape."""
    operator, channels = node.operator, map_shape(node.inputs[0].shape)[2]
    if isinstance(operator, FullyConnected):
        return operator.filters.shape[1] == channels
    return (
        isinstance(operator, Conv2D)
        and operator.kernel == (1, 1)
        and operator.stride == (1, 1)
        and not any(operator.pads)
        and operator.filters.shape[3] == channels
    )
