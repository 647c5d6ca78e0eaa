# SPDX-License-Identifier: Apache-2.0
"""Random functions of one value, from the records of operators: those without attributes need no entry here."""

from functools import partial

import numpy as np

from eyrie.compiler.ir.qdq.network import Operation
from eyrie.compiler.operators.functions import NamedFunction, RealFunction
from eyrie.compiler.operators.quantization import Requantize
from eyrie.compiler.operators.registry import of_tflite
from eyrie.model.operators import tables
from eyrie.model.operators.reference import Reference
from tb.common.random_operators.drawing import (
    BOTH,
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

NAMED = {
    name: record
    for name, record in of_tflite().items()
    if issubclass(record, NamedFunction) and not record.schema_options and record is not Requantize
}
REAL = tuple(name for name, record in NAMED.items() if issubclass(record, RealFunction))
OUTPUTS = {"LOGISTIC": tables.LOGISTIC_OUTPUT, "TANH": tables.TANH_OUTPUT}  # fixed ones
UINT8 = ("LOGISTIC", "TANH", "HARD_SWISH")
# The C library's, in which a result depends on it where it is all but a tie.
OF_C_LIBRARY = (*REAL, *OUTPUTS)
AROUND_ZERO = (*OF_C_LIBRARY, "HARD_SWISH")  # where the inputs are drawn


def near_tie(name, input_, output):
    """Return whether a function of the C library has a value that float32 does not tell from a tie."""
    if name not in OF_C_LIBRARY:
        return False
    record, values = of_tflite()[name], (tables.VALUES - input_.zero_point) * input_.scale
    with np.errstate(all="ignore"):
        steps = record.real(Operation(record.kind, (), (), "", name), values) / output.scale
    steps = steps[np.abs(steps) < 300]
    return bool(np.any(np.abs(steps - np.floor(steps) - 0.5) < 1e-6 * (1 + np.abs(steps))))


def draw_unary(rng, name, table, output=None, kind="int8", references=None, **options):
    """`table` is a function of both quantisations and the Reference."""
    while True:
        scale = np.exp(rng.uniform(np.log(0.004), np.log(0.2))) if name in AROUND_ZERO else None
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
    if name in REAL:  # whatever the scale of the input
        return np.exp(rng.uniform(np.log(0.004), np.log(0.1)))
    return input_.scale * np.exp(rng.uniform(-1, 1))


def draw_named(rng, name, kind="int8"):
    """A function without attributes. One that is evaluated in float32 has one reference."""
    references = (MICRO if name == "ELU" else LITERT) if name in REAL else None

    def table(input_, output, reference):
        if name == "ABS":
            return tables.absolute(input_, output, reference)
        return NAMED[name](unsigned=reference == Reference.LITERT).table(input_, output)

    return draw_unary(rng, name, table, OUTPUTS.get(name), kind, references)


def draw_relu(rng, name, kind="int8"):
    return draw_unary(
        rng,
        name,
        lambda input_, output, reference: tables.relu(input_, output, name, reference),
        kind=kind,
        references=None if kind == "uint8" else BOTH if name == "RELU" else LITERT,
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


OPERATORS = {
    "RELU": partial(draw_relu, name="RELU"),
    "RELU uint8": partial(draw_relu, name="RELU", kind="uint8"),
    "RELU6": partial(draw_relu, name="RELU6"),
    "RELU6 uint8": partial(draw_relu, name="RELU6", kind="uint8"),
    "RELU_N1_TO_1": partial(draw_relu, name="RELU_N1_TO_1"),
    "LEAKY_RELU": draw_leaky_relu,
    "LEAKY_RELU uint8": partial(draw_leaky_relu, kind="uint8"),
    **{name: partial(draw_named, name=name) for name in NAMED},
    **{f"{name} uint8": partial(draw_named, name=name, kind="uint8") for name in UINT8},
}
