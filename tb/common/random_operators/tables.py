# SPDX-License-Identifier: Apache-2.0
"""Random operators of one tensor that the accelerator has tables for."""

import numpy as np

from eyrie.model.operators import tables
from tb.common.random_operators.drawing import (
    LITERT,
    MICRO,
    activation,
    chance,
    draw_quantization,
    draw_shape,
    draw_values,
    graph,
    result,
)

# Whose inputs are drawn around zero. Those of real functions depend on the C library where a result is all but a tie.
REAL = {"LOGISTIC": lambda x: 1 / (1 + np.exp(-x)), "TANH": np.tanh, "EXP": np.exp, "ELU": np.expm1}
FUNCTIONS = (*REAL, "HARD_SWISH")
OF_ANY_OUTPUT = ("EXP", "ELU")  # whatever the scale of the input


def near_tie(name, input_, output):
    """Whether a real function has a value that float32 does not tell from a tie."""
    if name not in REAL:
        return False
    steps = REAL[name]((tables.VALUES - input_.zero_point) * input_.scale) / output.scale
    steps = steps[np.abs(steps) < 300]
    return bool(np.any(np.abs(steps - np.floor(steps) - 0.5) < 1e-6 * (1 + np.abs(steps))))


def draw_unary(rng, name, table, output=None, kind="int8", references=None, **options):
    """`table` is a function of both quantisations and the Reference."""
    while True:
        scale = np.exp(rng.uniform(np.log(0.004), np.log(0.2))) if name in FUNCTIONS else None
        input_ = draw_quantization(rng, scale)
        made = output or draw_quantization(rng, _output_scale(rng, name, input_))
        if not near_tie(name, input_, made):
            break
    shape = (1, 16, 16, 1) if chance(rng, 0.7) else draw_shape(rng)
    values = draw_values(rng, shape, input_.zero_point)
    if values.size == len(tables.VALUES):
        values = rng.permutation(tables.VALUES).astype(np.int8).reshape(shape)
    return graph(
        name,
        [activation(values, input_, kind)],
        [result(shape, made, kind)],
        lambda reference: tables.apply(table(input_, made, reference), values),
        references,
        **options,
    )


def _output_scale(rng, name, input_):
    """Drawn anew with the input: whether EXP of zero, which is 1, is near a tie depends on it alone."""
    if name in OF_ANY_OUTPUT:
        return np.exp(rng.uniform(np.log(0.004), np.log(0.1)))
    return input_.scale * np.exp(rng.uniform(-1, 1))


def draw_relu(rng, name, kind="int8", references=None):
    return draw_unary(
        rng,
        name,
        lambda input_, output, reference: tables.relu(input_, output, name, reference),
        kind=kind,
        references=references,
    )


def draw_leaky_relu(rng, kind="int8"):
    alpha = float(
        np.float32(
            rng.choice([0.0, 0.01, 0.1, 0.2, 0.3, -0.2, -1.0, rng.uniform(0, 1), rng.uniform(1, 2), rng.uniform(-2, 0)])
        )
    )
    return draw_unary(
        rng,
        "LEAKY_RELU",
        lambda input_, output, reference: tables.leaky_relu(input_, output, alpha, reference),
        kind=kind,
        alpha=alpha,
    )


def draw_logistic(rng, kind="int8"):
    return draw_unary(
        rng, "LOGISTIC", lambda input_, _, reference: tables.logistic(input_, reference), tables.LOGISTIC_OUTPUT, kind
    )


def draw_tanh(rng, kind="int8"):
    return draw_unary(
        rng, "TANH", lambda input_, _, reference: tables.tanh(input_, reference), tables.TANH_OUTPUT, kind
    )


def draw_function(rng, name, references):
    return draw_unary(
        rng, name, lambda input_, output, _: tables.of_function(name, input_, output), references=references
    )


def draw_hard_swish(rng, kind="int8"):
    return draw_unary(rng, "HARD_SWISH", tables.hard_swish, kind=kind)


def draw_absolute(rng):
    return draw_unary(rng, "ABS", tables.absolute)


OPERATORS = {
    "RELU": lambda rng: draw_relu(rng, "RELU"),
    "RELU uint8": lambda rng: draw_relu(rng, "RELU", "uint8"),
    "RELU6": lambda rng: draw_relu(rng, "RELU6", references=LITERT),
    "RELU6 uint8": lambda rng: draw_relu(rng, "RELU6", "uint8"),
    "RELU_N1_TO_1": lambda rng: draw_relu(rng, "RELU_N1_TO_1", references=LITERT),
    "LEAKY_RELU": draw_leaky_relu,
    "LEAKY_RELU uint8": lambda rng: draw_leaky_relu(rng, "uint8"),
    "LOGISTIC": draw_logistic,
    "LOGISTIC uint8": lambda rng: draw_logistic(rng, "uint8"),
    "TANH": draw_tanh,
    "TANH uint8": lambda rng: draw_tanh(rng, "uint8"),
    "HARD_SWISH": draw_hard_swish,
    "HARD_SWISH uint8": lambda rng: draw_hard_swish(rng, "uint8"),
    "ELU": lambda rng: draw_function(rng, "ELU", MICRO),
    "EXP": lambda rng: draw_function(rng, "EXP", LITERT),
    "ABS": draw_absolute,
}
