# SPDX-License-Identifier: Apache-2.0
"""Operators of one value and of two: functions, joins of tensors, and tensors with constants, which may broadcast."""

import numpy as np
from ai_edge_litert import schema_py_generated as schema

from eyrie.model.operators import host, tables
from tb.common.random_graphs.net import LARGEST, SCALES
from tb.common.random_operators.drawing import chance, constant, draw_activation, draw_axis, draw_quantization, whole
from tb.common.random_operators.tables import REAL, near_tie


def _function(name, output=None, same=False, **draws):
    """`output`: its fixed quantisation; `same`: that of the input; draws: options, of a generator."""

    def add(net, x):
        made = output or (x.quantization if same else net.near(x))
        # Functions of uint8, and those evaluated in float32, are the C library's.
        fixed = net.kind == "int8" and name not in REAL
        if fixed or not near_tie(name, x.quantization, made):
            net.add(name, [x], [(x.shape, made)], **{key: draw(net.rng) for key, draw in draws.items()})

    return add


relu, hard_swish, quantize, absolute = map(_function, ("RELU", "HARD_SWISH", "QUANTIZE", "ABS"))
relu6, relu_n1_to_1, elu = map(_function, ("RELU6", "RELU_N1_TO_1", "ELU"))
real = tuple(_function(name) for name in REAL if name != "ELU")  # which LiteRT alone has
clamp_at_6 = _function("RELU6", same=True)
logistic, tanh = _function("LOGISTIC", tables.LOGISTIC_OUTPUT), _function("TANH", tables.TANH_OUTPUT)
leaky_relu = _function(
    "LEAKY_RELU", alpha=lambda rng: float(np.float32(rng.choice([0.01, 0.1, 0.3, rng.uniform(0, 1)])))
)


def _shape_of_operand(net, shape):
    """One that broadcasts to a shape: the same, its channels, one value, or with some axes of size 1."""
    kind, made = net.one_of(["same", "channels", "one", "some"]), list(shape)
    for axis in range(len(made)):
        if kind == "one" or (kind == "channels" and axis < len(made) - 1) or (kind == "some" and chance(net.rng, 0.5)):
            made[axis] = 1
    while len(made) > 1 and made[0] == 1 and chance(net.rng, 0.3):
        made.pop(0)
    return tuple(made)


def _go_together(one, other):
    try:
        return np.prod(np.broadcast_shapes(one, other)) <= LARGEST
    except ValueError:
        return False


def _operand(net, x, scaled):
    """What goes with a tensor: another that is there, the same one, or a constant; `scaled`: of any scale."""
    if chance(net.rng, 0.3):
        return net.constant(_shape_of_operand(net, x.shape), draw_quantization(net.rng) if scaled else x.quantization)

    def fits(value):
        if not scaled:
            return value.quantization == x.quantization
        return SCALES[0] < value.quantization.scale < SCALES[1]

    others = [value for value in net.values if value.shape and fits(value) and _go_together(value.shape, x.shape)]
    alike = [value for value in others if value.shape == x.shape]
    return net.one_of(alike if chance(net.rng, 0.7) else others)


def _join(name, scaled=True):
    def add(net, x):
        pair = [x, _operand(net, x, scaled)]
        if chance(net.rng, 0.5):
            pair.reverse()
        output, scales = x.quantization, [value.quantization.scale for value in pair]
        if scaled:
            output = draw_quantization(net.rng, max(scales) * np.exp(net.rng.uniform(np.log(0.6), np.log(4))))
        if name == "MUL":
            output = draw_quantization(net.rng, np.prod(scales) * np.exp(net.rng.uniform(np.log(8), np.log(200))))
        if name == "SQUARED_DIFFERENCE":
            output = draw_quantization(net.rng, max(scales) ** 2 * np.exp(net.rng.uniform(np.log(8), np.log(200))))
        plain = not scaled or name == "SQUARED_DIFFERENCE"  # which has no activation
        options = {} if plain else {"fusedActivationFunction": draw_activation(net.rng)[1]}
        net.add(name, pair, [(np.broadcast_shapes(*(value.shape for value in pair)), output)], **options)

    return add


add, sub, mul, squared_difference = map(_join, ("ADD", "SUB", "MUL", "SQUARED_DIFFERENCE"))
maximum, minimum = _join("MAXIMUM", scaled=False), _join("MINIMUM", scaled=False)


def prelu(net, x):
    """Slopes are constants as a rule: of each channel, or of other axes, too."""
    slopes = list(x.shape)[whole(net.rng, 0, len(x.shape) - 1) :]
    slopes = [1 if chance(net.rng, 0.5) else size for size in slopes[:-1]] + slopes[-1:]
    alphas = [value for value in net.values if value.shape == x.shape]
    alpha = net.constant(tuple(slopes), draw_quantization(net.rng)) if chance(net.rng, 0.85) else net.one_of(alphas)
    net.add("PRELU", [x, alpha], [(x.shape, net.near(x))])


def softmax(net, x):
    """Both references end their process where exponentials add up to more than some hundreds."""
    if x.shape[-1] <= 256:
        net.add("SOFTMAX", [x], [(x.shape, host.SOFTMAX_OUTPUT)], beta=1.0)


def arg_max(net, x):
    axis = draw_axis(net.rng, len(x.shape))
    net.add(
        "ARG_MAX",
        [x],
        [(np.delete(x.shape, axis), "int32")],
        [constant(np.int32([axis]))],
        outputType=schema.TensorType.INT32,
    )


def dequantize(net, x):
    net.add("DEQUANTIZE", [x], [(x.shape, "float32")])
