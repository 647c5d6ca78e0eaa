# SPDX-License-Identifier: Apache-2.0
"""Random networks with branches and joins, as .tflite models: single operators after each other.

Each takes one tensor that is there, or joins two; what nobody takes is an output. Shapes are followed here, values are
not: what comes out is the references' to say.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from model.operators import host, tables
from model.operators.quantization import Quantization
from model.operators.reference import Reference
from tb.common.random_operators.convolution import Geometry, Weights, draw_output
from tb.common.random_operators.drawing import (
    chance,
    constant,
    draw_activation,
    draw_quantization,
    draw_values,
    result,
    whole,
)
from tb.common.random_operators.tables import near_tie
from tb.common.tflite_builder import Builder

LARGEST = 3000  # values of a tensor
SCALES = (1e-4, 4)  # of one that is read: sums and products of others grow without end


@dataclass(frozen=True)
class Value:
    """A tensor of the graph."""

    index: int
    shape: tuple
    quantization: Quantization


@dataclass
class Net:
    """A graph that grows. kind: int8 or uint8, of all tensors."""

    rng: np.random.Generator
    kind: str
    builder: Builder = field(default_factory=Builder)
    inputs: list = field(default_factory=list)
    values: list = field(default_factory=list)
    taken: set = field(default_factory=set)
    operators: list = field(default_factory=list)  # their names

    def value(self, shape, quantization):
        operand = result(shape, quantization, self.kind)
        made = Value(operand.add_to(self.builder), operand.shape, quantization)
        self.values.append(made)
        return made

    def input(self, shape):
        self.inputs.append(self.value(shape, draw_quantization(self.rng)))

    def add(self, name, sources, shape, quantization, arguments=(), **options):
        """One operator with one output; arguments are constants behind its tensors."""
        self.add_several(name, sources, [(shape, quantization)], arguments, **options)

    def add_several(self, name, sources, made, arguments=(), first=False, **options):
        """With several outputs; `first`: its constants come before its tensors."""
        taken = [source.index for source in sources]
        constants = [operand.add_to(self.builder) for operand in arguments]
        outputs = [self.value(*each).index for each in made]
        self.builder.operator(name, constants + taken if first else taken + constants, outputs, **options)
        self.taken |= set(taken)
        self.operators.append(name)

    def like(self, source):
        """A value that goes with another in a join: the same shape and, for some joins, scale."""
        return [value for value in self.values if value.shape == source.shape and value is not source]


def _weighted(net, x, name, shape, axis, terms, made, **options):
    """An operator with filters of a shape."""
    sample = draw_values(net.rng, (64,), x.quantization.zero_point)
    weights = Weights.draw(net.rng, shape, axis, terms, sample, x.quantization, net.kind, False)
    fused, code = draw_activation(net.rng)
    output = draw_output(net.rng, x.quantization, weights.scales, weights.deviation, fused)
    net.add(name, [x], made, output, weights.operands(x.quantization, net.kind, axis), fusedActivationFunction=code,
            **options)


def _geometry(net, x, modes=("SAME", "VALID"), taps=4, dilations=(1, 1, 2)):
    """A window that goes over a map, and what becomes of its shape."""
    drawn = Geometry.draw(net.rng, modes, taps, dilations)
    geometry = Geometry(x.shape[:3], drawn.kernel, drawn.stride, drawn.dilation, drawn.mode)
    output = geometry.output(geometry.pads(net.rng))
    return (geometry, tuple(map(int, output))) if min(output) > 0 else (None, None)


def conv_2d(net, x):
    geometry, output = _geometry(net, x)
    if geometry:
        channels, outputs = x.shape[3], whole(net.rng, 1, 20)
        _weighted(net, x, "CONV_2D", (outputs, *geometry.kernel, channels), 0, np.prod(geometry.kernel) * channels,
                  (1, *output, outputs), **geometry.options, **geometry.dilations)


def depthwise_conv_2d(net, x):
    geometry, output = _geometry(net, x)
    if geometry:
        repeats = int(net.rng.choice([1, 1, 2]))
        outputs = x.shape[3] * repeats
        _weighted(net, x, "DEPTHWISE_CONV_2D", (1, *geometry.kernel, outputs), 3, np.prod(geometry.kernel),
                  (1, *output, outputs), depthMultiplier=repeats, **geometry.options, **geometry.dilations)


def fully_connected(net, x):
    outputs, inputs = whole(net.rng, 1, 30), int(np.prod(x.shape))
    _weighted(net, x, "FULLY_CONNECTED", (outputs, inputs), 0, inputs, (1, outputs), keepNumDims=False)


def _pool(name):
    def add(net, x):
        geometry, output = _geometry(net, x, dilations=(1,))
        if geometry:
            height, width = geometry.kernel
            net.add(name, [x], (1, *output, x.shape[3]), x.quantization, fusedActivationFunction=draw_activation(
                net.rng)[1], filterHeight=height, filterWidth=width, **geometry.options)
    return add


def mean(net, x):
    keep = chance(net.rng, 0.5)
    shape = (1, 1, 1, x.shape[3]) if keep else (1, x.shape[3])
    net.add("MEAN", [x], shape, _near(net, x), [constant(np.int32([1, 2]))], keepDims=keep)


def _near(net, x):
    """A scale that is not far from another."""
    return draw_quantization(net.rng, x.quantization.scale * np.exp(net.rng.uniform(-1, 1)))


def _function(name, output=None):
    def add(net, x):
        made = output or _near(net, x)
        if net.kind == "int8" or not near_tie(name, x.quantization, made):  # uint8 ones are the C library's
            net.add(name, [x], x.shape, made)
    return add


def _join(name, scaled=True):
    """Of two tensors of one shape, or one twice; `scaled`: of one scale, too."""
    def add(net, x):
        others = [value for value in net.like(x) if scaled or value.quantization == x.quantization] or [x]
        other = others[whole(net.rng, 0, len(others) - 1)]
        output = x.quantization
        if scaled:
            larger = max(x.quantization.scale, other.quantization.scale)
            output = draw_quantization(net.rng, larger * np.exp(net.rng.uniform(np.log(0.6), np.log(3))))
        if name == "MUL":
            output = draw_quantization(net.rng, x.quantization.scale * other.quantization.scale * 60)
        options = {"fusedActivationFunction": draw_activation(net.rng)[1]} if scaled else {}
        net.add(name, [x, other], x.shape, output, **options)
    return add


def concatenation(net, x):
    others = [value for value in net.like(x) if value.quantization == x.quantization]
    parts = [x, *others[: whole(net.rng, 0, 2)], x][: whole(net.rng, 2, 3)]
    shape = (*x.shape[:-1], sum(part.shape[-1] for part in parts))
    net.add("CONCATENATION", parts, shape, x.quantization, axis=-1, fusedActivationFunction=0)


def split(net, x):
    axis = whole(net.rng, 1, len(x.shape) - 1)
    counts = [count for count in (2, 3, 4) if x.shape[axis] % count == 0]
    if counts:
        count = counts[whole(net.rng, 0, len(counts) - 1)]
        shape = tuple(size // count if place == axis else size for place, size in enumerate(x.shape))
        net.add_several("SPLIT", [x], [(shape, x.quantization)] * count, [constant(np.int32([axis]))], first=True,
                        numSplits=count)


def pad(net, x):
    margins = net.rng.integers(0, 3, (len(x.shape), 2))
    margins[0] = 0
    if chance(net.rng, 0.7):
        margins[-1] = 0
    net.add("PAD", [x], np.add(x.shape, margins.sum(axis=1)), x.quantization, [constant(np.int32(margins))])


def slice_(net, x):
    begin = [whole(net.rng, 0, size - 1) for size in x.shape]
    size = [whole(net.rng, 1, total - start) for start, total in zip(begin, x.shape, strict=True)]
    net.add("SLICE", [x], size, x.quantization, [constant(np.int32(begin)), constant(np.int32(size))])


def transpose(net, x):
    axes = [0, *(1 + net.rng.permutation(len(x.shape) - 1))]
    net.add("TRANSPOSE", [x], [x.shape[axis] for axis in axes], x.quantization, [constant(np.int32(axes))])


def reshape(net, x):
    """To a vector, or a vector to a map."""
    count = int(np.prod(x.shape))
    shape = (1, count) if len(x.shape) == 4 else (1, 1, 1, count)
    net.add("RESHAPE", [x], shape, x.quantization, [constant(np.int32(shape))], newShape=list(shape))


def resize_nearest_neighbor(net, x):
    wanted = [whole(net.rng, 1, 9), whole(net.rng, 1, 9)]
    net.add("RESIZE_NEAREST_NEIGHBOR", [x], (1, *wanted, x.shape[3]), x.quantization, [constant(np.int32(wanted))],
            alignCorners=False, halfPixelCenters=chance(net.rng, 0.5))


def softmax(net, x):
    """Both references end their process where exponentials add up to more than some hundreds."""
    if x.shape[-1] <= 256:
        net.add("SOFTMAX", [x], x.shape, host.SOFTMAX_OUTPUT, beta=1.0)


OF_MAPS: tuple[Callable, ...] = (
    conv_2d, conv_2d, conv_2d, depthwise_conv_2d, depthwise_conv_2d, _pool("AVERAGE_POOL_2D"), _pool("MAX_POOL_2D"),
    mean, resize_nearest_neighbor)
OF_ANY: tuple[Callable, ...] = (
    _join("ADD"), _join("ADD"), _join("SUB"), _join("MAXIMUM", scaled=False), concatenation, split, pad, slice_,
    transpose, reshape, softmax, _function("QUANTIZE"))
# In which the references differ, if seldom.
DIFFERENT: tuple[Callable, ...] = (
    fully_connected, fully_connected, _join("MUL"), _function("RELU"), _function("LOGISTIC", tables.LOGISTIC_OUTPUT),
    _function("TANH", tables.TANH_OUTPUT))


@dataclass(frozen=True)
class DrawnGraph:
    """A model, inputs as the references take them, and which references give one answer."""

    model: bytes
    inputs: tuple
    references: tuple
    operators: tuple


def draw_graph(rng, longest=14):
    """A network of up to so many operators. One in five is of uint8, which LiteRT alone runs; half of the others are of
    operators that both references compute alike."""
    kind = "uint8" if chance(rng, 0.2) else "int8"
    alike = kind == "int8" and chance(rng, 0.5)
    net = Net(rng, kind)
    for _ in range(whole(rng, 1, 2)):
        net.input((1, whole(rng, 1, 12), whole(rng, 1, 12), whole(rng, 1, 12)))
    for _ in range(whole(rng, 1, longest)):
        recent = net.values[-whole(rng, 1, len(net.values)) :]
        x = recent[whole(rng, 0, len(recent) - 1)]
        choices = OF_ANY + (OF_MAPS if len(x.shape) == 4 else ()) + (() if alike else DIFFERENT)
        if np.prod(x.shape) <= LARGEST and SCALES[0] < x.quantization.scale < SCALES[1]:
            choices[whole(rng, 0, len(choices) - 1)](net, x)
    if not net.operators:
        _function("QUANTIZE")(net, net.values[0])
    outputs = [value for value in net.values if value.index not in net.taken and value not in net.inputs]
    dtype = np.dtype(kind)
    limits = np.iinfo(dtype)
    values = tuple(rng.integers(limits.min, limits.max + 1, value.shape).astype(dtype) for value in net.inputs)
    references = (Reference.LITERT,) if kind == "uint8" else tuple(Reference) if alike else (Reference.MICRO,)
    return DrawnGraph(net.builder.pack([value.index for value in net.inputs], [value.index for value in outputs]),
                      values, references, tuple(net.operators))
