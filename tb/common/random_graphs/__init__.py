# SPDX-License-Identifier: Apache-2.0
"""Random networks with branches and joins, as .tflite models: operators of every kind after each other.

Each takes tensors that are there; what nobody takes is an output. Shapes are followed here, values are not: what comes
out is the references' to say.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from eyrie.model.operators.quantization import from_uint8
from eyrie.model.operators.reference import Reference
from tb.common.random_graphs import elementwise, interpreted, movement, weighted
from tb.common.random_graphs.net import Net
from tb.common.random_operators.drawing import chance, draw_quantization, whole

Operator = Callable  # of a Net and a tensor of it

OF_MAPS: tuple[Operator, ...] = (  # of four axes
    weighted.conv_2d,
    weighted.conv_2d,
    weighted.pointwise,
    weighted.depthwise_conv_2d,
    weighted.separable,
    weighted.pooled_pointwise,
    weighted.average_pool_2d,
    weighted.max_pool_2d,
    movement.resize_nearest_neighbor,
    movement.resize_bilinear,
)
OF_ANY: tuple[Operator, ...] = (
    elementwise.add,
    elementwise.add,
    elementwise.sub,
    elementwise.maximum,
    elementwise.minimum,
    elementwise.quantize,
    elementwise.leaky_relu,
    elementwise.clamp_at_6,
    elementwise.softmax,
    elementwise.arg_max,
    elementwise.dequantize,
    weighted.mean,
    movement.concatenation,
    movement.split,
    movement.split_v,
    movement.slice_,
    movement.strided_slice,
    movement.pad,
    movement.pad_v2,
    movement.mirror_pad,
    movement.reshape,
    movement.transpose,
    movement.squeeze,
    movement.expand_dims,
    movement.pack,
    movement.unpack,
    movement.gather,
)
# In which the references differ, if seldom.
DIFFERENT: tuple[Operator, ...] = (
    weighted.fully_connected,
    weighted.fully_connected,
    elementwise.mul,
    elementwise.prelu,
    elementwise.relu,
    elementwise.logistic,
    elementwise.tanh,
    elementwise.hard_swish,
)
OF_INT8: tuple[Operator, ...] = (elementwise.squared_difference,)
OF_MICRO: tuple[Operator, ...] = (elementwise.absolute, elementwise.elu)
OF_LITERT: tuple[Operator, ...] = (
    movement.tile,
    elementwise.relu6,
    elementwise.relu_n1_to_1,
    *elementwise.real,
)
WITHOUT_GOLDEN: tuple[Operator, ...] = (
    interpreted.reverse,
    interpreted.reduce,
    interpreted.select,
    interpreted.whole_numbers,
    interpreted.real_numbers,
    interpreted.top,
    interpreted.depth_to_space,
)
OF_UINT8: tuple[Operator, ...] = (movement.tile, elementwise.relu6, movement.rescaling_concatenation)

# Of a network's type and the references that run it: operators, and how often it is drawn.
FAMILIES: tuple[tuple[str, tuple[Reference, ...], tuple[Operator, ...], float], ...] = (
    ("int8", (Reference.MICRO,), OF_MAPS + OF_ANY + OF_INT8 + DIFFERENT + OF_MICRO, 0.45),
    ("int8", tuple(Reference), OF_MAPS + OF_ANY + OF_INT8, 0.15),
    ("int8", (Reference.LITERT,), OF_MAPS + OF_ANY + OF_INT8 + OF_LITERT + WITHOUT_GOLDEN, 0.2),
    ("uint8", (Reference.LITERT,), OF_MAPS + OF_ANY + DIFFERENT + OF_UINT8 + WITHOUT_GOLDEN, 0.2),
)


@dataclass(frozen=True)
class RandomGraph:
    """A model, inputs as the references take them, and which references give the answer that is followed."""

    model: bytes
    inputs: tuple
    references: tuple
    operators: tuple

    @property
    def values(self):
        """The inputs as a Graph takes them."""
        return [from_uint8(value) if value.dtype == np.uint8 else value for value in self.inputs]


def draw_shape(rng, side=12):
    """One in ten has more than one image, or one axis."""
    axes = int(rng.choice([4, 2, 3, 1], p=[0.75, 0.1, 0.1, 0.05]))
    first = 1 if chance(rng, 0.95) else 2
    sizes = [whole(rng, 1, side) for _ in range(axes - 1)]
    if axes > 1 and chance(rng, 0.3):
        sizes[-1] = whole(rng, 13, 40)
    return (first, *sizes) if axes > 1 else (whole(rng, 1, 40),)


def draw_graph(rng, longest=14):
    """A network of up to so many draws of operators, by an np.random.Generator or by Choices (tb/common/shrinking.py).
    Half are of all operators that TensorFlow Lite Micro has, one in five is of uint8."""
    family = int(rng.choice(len(FAMILIES), p=[share for *_, share in FAMILIES]))
    kind, references, operators, _ = FAMILIES[family]
    net = Net(rng, kind)
    for _ in range(whole(rng, 1, 2)):
        net.input(draw_shape(rng), draw_quantization(rng))
    if chance(rng, 0.1):
        net.input(draw_shape(rng))
        net.add("QUANTIZE", [net.inputs[-1][0]], [(net.inputs[-1][0].shape, draw_quantization(rng))])
    together = getattr(rng, "together", lambda step: step())  # an operator is left out as a whole
    for _ in range(whole(rng, 1, longest)):
        together(lambda: _grow(net, operators))
    if not net.operators:
        elementwise.quantize(net, net.values[0])
    return _drawn(net, references)


def _grow(net, operators):
    """Adds an operator, or now and then none: that is what one that nothing needs shrinks to."""
    if not whole(net.rng, 0, 9):
        return
    operator = net.one_of(operators)
    maps = operator in OF_MAPS or operator is interpreted.depth_to_space
    if x := net.take(lambda value: len(value.shape) == 4 or not maps):
        operator(net, x)


def _drawn(net, references):
    outputs = [value for value in net.made if value.index not in net.taken or chance(net.rng, 0.1)]
    return RandomGraph(
        net.builder.pack([value.index for value, _ in net.inputs], [value.index for value in outputs]),
        tuple(operand.stored for _, operand in net.inputs),
        references,
        tuple(net.operators),
    )
