# SPDX-License-Identifier: Apache-2.0
"""What the machine asks of a network.

One constraint is one function of a Site, whose docstring says what it asks; it returns "" where that is so, else what
there is instead: a message is both, with a "not" between them.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from compiler.ir.failure import Unsupported
from compiler.ir.graph import Graph, Node, map_shape
from compiler.ir.operators.convolution import Conv2D, DepthwiseConv2D, FullyConnected
from compiler.ir.operators.elementwise import Add, Maximum, Minimum, Mul, Sub
from compiler.ir.operators.movement import Pad, Reshape
from compiler.ir.operators.operator import Operator, Unknown
from compiler.ir.operators.pooling import AveragePool2D
from compiler.ir.tensor import Quantized
from model.encoding import PPU_FIRST, STREAM_LEVEL, STREAM_RANGE
from model.messages import times

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
        """Of its first input and its first output, [H, W, C]."""
        return map_shape(self.node.inputs[0].shape), map_shape(self.node.outputs[0].shape)


Constraint = Callable[[Site], str]


# ---- Of all operators ----


def int8_tensors(site: Site) -> str:
    """tensors are int8"""
    tensors = (*site.node.inputs, *site.node.outputs)
    return _first(tensor.dtype for tensor in tensors if tensor.dtype != "int8" or not isinstance(tensor, Quantized))


def one_image(site: Site) -> str:
    """the model is converted with a batch of 1 and tensors of 2 to 4 axes"""
    tensors = (*site.node.inputs, *site.node.outputs)
    return _first(times(tensor.shape) for tensor in tensors
                  if not 2 <= len(tensor.shape) <= 4 or tensor.shape[0] != 1)


def countable(site: Site) -> str:
    """the machine's fields count the rows, columns and channels of maps"""
    sizes = (shape for shape in site.maps if any(size > most for size, most in zip(shape, LARGEST)))
    return _first(f"{times(shape)}: at most {times(LARGEST)}" for shape in sizes)


# ---- Of operators with weights ----


def fixed_point(site: Site) -> str:
    """sums are rescaled as fixed point can"""
    found = site.operator.fixed_point(site.node.inputs, site.node.outputs)
    return "" if found else "in double, by a factor that it does not have"


# ---- Of operators of two maps ----


def no_constants(site: Site) -> str:
    """both operands are maps"""
    return "" if len(site.node.activations) == 2 else "a constant"


def same_shapes(site: Site) -> str:
    """both operands have one shape"""
    shapes = [map_shape(tensor.shape) for tensor in site.node.inputs]
    return "" if len(set(shapes)) == 1 else " and ".join(map(times, shapes))


def small_factors(site: Site) -> str:
    """operands are shifted right by the bits that the machine's field has"""
    parameters = site.operator.parameters(site.node.inputs, site.node.outputs)
    shifts = (-int(each.shift) for each in (parameters.first, parameters.second))
    most = PPU_FIRST.largest("right_shift")
    return _first(f"by {shift}: at most {most}" for shift in shifts if not 0 <= shift <= most)


# ---- Of the others ----


def whole_map(site: Site) -> str:
    """averages are over the whole map"""
    kernel, pads = site.operator.kernel, site.operator.pads
    return "" if kernel == site.maps[0][:2] and not any(pads) else f"over windows of {times(kernel)}"


def without_activation(site: Site) -> str:
    """averages have no fused activation"""
    return "" if site.operator.activation == "NONE" else site.operator.activation


def ties_away(site: Site) -> str:
    """averages round ties away from zero"""
    return "up, as uint8 ones do" if site.operator.unsigned else ""


def behind_pointwise(site: Site) -> str:
    """an average needs a pointwise convolution before it"""
    makers = {tensor.name: node for node in site.graph.nodes for tensor in node.outputs}
    ends = {tensor.name for tensor in site.graph.outputs}
    name = site.node.inputs[0].name
    while name in makers:
        if name in ends or len(site.graph.readers[name]) > 1:
            return "one whose map something else takes, too"
        before = makers[name]
        if not isinstance(before.operator, Reshape):
            return "" if is_pointwise(before) else before.operator.name
        name = before.inputs[0].name
    return "the model's input"


def goes_into_a_convolution(site: Site) -> str:
    """a PAD of rows and columns goes into the convolution behind it"""
    margins = site.operator.margins
    if len(margins) != 4 or any(margins[0] + margins[3]):
        return "one of other axes"
    readers = site.graph.readers.get(site.node.outputs[0].name, [])
    return f"into {readers[0].operator.name}" if readers else "into the model's output"


def same_map(site: Site) -> str:
    """a map keeps its shape"""
    source, output = site.maps
    return "" if source == output and _same_scale(site.node) else f"from {times(source)} to {times(output)}"


def _same_scale(node: Node) -> bool:
    return node.inputs[0].quantization == node.outputs[0].quantization


# ---- Of the network ----


def ends(graph: Graph) -> list[str]:
    """What is wrong with the inputs and outputs of a network."""
    tensors = [*(("input", tensor) for tensor in graph.inputs), *(("output", tensor) for tensor in graph.outputs)]
    return [f"{end} {tensor.name} is uint8: {end}s are int8" for end, tensor in tensors
            if isinstance(tensor, Quantized) and tensor.unsigned]


# ---- All of them ----

ANYWHERE: tuple[Constraint, ...] = (int8_tensors, one_image)
_OF_TWO_MAPS = (countable, no_constants, same_shapes)
OF_OPERATORS: dict[type[Operator], tuple[Constraint, ...]] = {
    Conv2D: (countable,),
    DepthwiseConv2D: (countable,),
    FullyConnected: (countable, fixed_point),
    AveragePool2D: (countable, whole_map, without_activation, ties_away, behind_pointwise),
    Pad: (goes_into_a_convolution,),
    Reshape: (same_map,),
    Add: (*_OF_TWO_MAPS, small_factors),
    Sub: (*_OF_TWO_MAPS, small_factors),
    Mul: _OF_TWO_MAPS,
    Maximum: _OF_TWO_MAPS,
    Minimum: _OF_TWO_MAPS,
}


@dataclass(frozen=True)
class Obstacle:
    """What the machine does not run: operator, place and reason; no operator: the network itself."""

    operator: str
    where: str
    reason: str


class Obstacles(Unsupported):
    """All that stands in a network's way, in one line."""

    def __init__(self, obstacles: tuple[Obstacle, ...]) -> None:
        self.obstacles = obstacles
        super().__init__("; ".join(_said(obstacles)), layer=obstacles[0].where or None)


def _said(obstacles: tuple[Obstacle, ...]) -> Iterable[str]:
    """A clause for each operator and reason, with all places."""
    places: dict[tuple[str, str], list[str]] = {}
    for obstacle in obstacles:
        places.setdefault((obstacle.operator, obstacle.reason), []).append(obstacle.where)
    for (operator, reason), where in places.items():
        noun = "operator" if len(where) == 1 else "operators"
        yield f"{noun} {', '.join(where)} {operator}: {reason}" if operator else reason


def of_operator(node: Node, graph: Graph) -> list[str]:
    """Why the machine does not run a node of a graph: each reason there is, if it runs such operators at all."""
    site = Site(node, graph)
    if isinstance(node.operator, Unknown):
        return [node.operator.reason]
    if type(node.operator) not in OF_OPERATORS:
        names = (operator.name for operator in OF_OPERATORS if isinstance(operator.name, str))
        return [f"the machine runs {', '.join(names)}, not {node.operator.name}"]
    if found := _broken(ANYWHERE, site):
        return found
    return _broken(OF_OPERATORS[type(node.operator)], site)


def check(graph: Graph) -> Graph:
    """The graph, if the machine runs it. Raises Obstacles."""
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
    return f"{constraint.__doc__}, not {found}"


def _first(found: Iterable[str]) -> str:
    return next(iter(found), "")


def is_pointwise(node: Node) -> bool:
    """Whether it is pointwise work on the map as it is."""
    operator, channels = node.operator, map_shape(node.inputs[0].shape)[2]
    if isinstance(operator, FullyConnected):
        return operator.filters.shape[1] == channels
    return (isinstance(operator, Conv2D) and operator.kernel == (1, 1) and operator.stride == (1, 1)
            and not any(operator.pads) and operator.filters.shape[3] == channels)
