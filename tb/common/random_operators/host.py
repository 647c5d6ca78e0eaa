# SPDX-License-Identifier: Apache-2.0
"""Random SOFTMAX, ARG_MAX, RESIZE_BILINEAR, QUANTIZE, DEQUANTIZE and BATCH_MATMUL."""

import numpy as np
from ai_edge_litert import schema_py_generated as schema

from eyrie.model.operators import host, products, tables
from eyrie.model.operators.quantization import from_uint8, requantization, requantize
from tb.common.random_operators.drawing import (
    LITERT,
    Operand,
    activation,
    chance,
    constant,
    draw_axis,
    draw_map,
    draw_quantization,
    draw_shape,
    draw_values,
    graph,
    result,
    whole,
)


def draw_softmax(rng, kind="int8"):
    input_ = draw_quantization(rng, np.exp(rng.uniform(np.log(0.002), np.log(0.5))))
    shape = (*draw_shape(rng, 0, 3, 5), whole(rng, 1, 40))
    values = draw_values(rng, shape, input_.zero_point, chance(rng, 0.2))
    beta = 1.0 if chance(rng, 0.7) else float(np.float32(rng.uniform(0.3, 3)))
    return graph(
        "SOFTMAX",
        [activation(values, input_, kind)],
        [result(shape, host.SOFTMAX_OUTPUT, kind)],
        lambda _: host.softmax(values, input_, beta),
        beta=beta,
    )


def draw_arg_max(rng):
    """Values of few kinds, so that several are the largest."""
    shape = draw_shape(rng, 2, 4)
    axis = draw_axis(rng, len(shape))
    kind = str(rng.choice(["int32", "int64"], p=[0.7, 0.3]))
    quantization = draw_quantization(rng)
    values = rng.choice([-128, -3, 0, 1, 127], shape).astype(np.int8)
    return graph(
        "ARG_MAX",
        [activation(values, quantization), constant(np.int32([axis]))],
        [result(np.delete(shape, axis), None, kind)],
        lambda _: host.arg_max(values, axis).astype(kind),
        references=None if kind == "int32" else LITERT,
        outputType=getattr(schema.TensorType, kind.upper()),
    )


def draw_resize_bilinear(rng, kind="int8"):
    shape, wanted = draw_map(rng, channels=8), [whole(rng, 1, 20), whole(rng, 1, 20)]
    align_corners, half_pixel_centers = [(False, False), (True, False), (False, True)][whole(rng, 0, 2)]
    quantization = draw_quantization(rng)
    values = draw_values(rng, shape, quantization.zero_point, chance(rng, 0.2))
    operand = activation(values, quantization, kind)
    resize = host.resize_bilinear_uint8 if kind == "uint8" else host.resize_bilinear

    def golden(_):
        resized = resize(operand.stored, wanted, align_corners, half_pixel_centers)
        return from_uint8(resized) if kind == "uint8" else resized

    return graph(
        "RESIZE_BILINEAR",
        [operand, constant(np.int32(wanted))],
        [result((shape[0], *wanted, shape[3]), quantization, kind)],
        golden,
        alignCorners=align_corners,
        halfPixelCenters=half_pixel_centers,
    )


def draw_quantize(rng, source, target="int8"):
    """From float32, int8, uint8 or int32 sums of any magnitude."""
    shape = (1, 16, 16, 1) if chance(rng, 0.3) else draw_shape(rng)
    output = draw_quantization(rng)
    if source == "float32":
        values = (rng.normal(0, 60 * output.scale, shape)).astype(np.float32)
        if chance(rng, 0.3):  # ties
            values = (np.rint(values / output.scale) + 0.5).astype(np.float32) * np.float32(output.scale)
        operand, golden = Operand(shape, source, values), lambda _: host.quantize(values, output)
    elif source == "int32":
        bits = whole(rng, 6, 31)
        values = rng.integers(-(2**bits), 2**bits, shape).astype(np.int32)
        input_ = draw_quantization(rng, output.scale * 2.0 ** (8 - bits) * rng.uniform(0.5, 1))
        operand = Operand(shape, source, values, None, False, np.float32([input_.scale]))
        parameters = requantization(input_, 1.0, output)

        def golden(_):
            return requantize(values, parameters)
    else:
        input_ = output if chance(rng, 0.1) else draw_quantization(rng, output.scale * np.exp(rng.uniform(-1.5, 1.5)))
        values = draw_values(rng, shape)
        if values.size == 256:
            values = rng.permutation(tables.VALUES).astype(np.int8).reshape(shape)
        operand = activation(values, input_, source)

        def golden(_):
            return tables.apply(tables.rescale(input_, output), values)

    return graph(
        "QUANTIZE",
        [operand],
        [result(shape, output, target)],
        golden,
        LITERT if (source, target) == ("float32", "uint8") else None,
    )


def draw_dequantize(rng, kind="int8"):
    shape, input_ = draw_shape(rng), draw_quantization(rng)
    values = draw_values(rng, shape)
    return graph(
        "DEQUANTIZE",
        [activation(values, input_, kind)],
        [result(shape, None, "float32")],
        lambda _: host.dequantize(values, input_),
    )


def draw_batch_matmul(rng):
    """Draw a product of any matrices, either one turned, whose leading axes broadcast; one may be a constant."""
    rows, terms, columns = (whole(rng, 1, most) for most in (12, 200, 12))
    leading = tuple(whole(rng, 1, 3) for _ in range(whole(rng, 0, 2)))
    scales = draw_quantization(rng), draw_quantization(rng)
    turns, fixed = (chance(rng, 0.3), chance(rng, 0.4)), int(rng.integers(2)) if chance(rng, 0.3) else None
    matrices = [(rows, terms), (terms, columns)]
    operands, values = [], []
    for place, (matrix, scale, turn) in enumerate(zip(matrices, scales, turns, strict=True)):
        lead = leading[whole(rng, 0, len(leading)) :] if place else leading
        lead = tuple(1 if chance(rng, 0.3) else size for size in lead)
        drawn = draw_values(rng, (*lead, *matrix), scale.zero_point, narrow=chance(rng, 0.15))
        values.append(drawn)
        stored = np.ascontiguousarray(drawn.swapaxes(-1, -2)) if turn else drawn
        operands.append(activation(stored, scale, constant=place == fixed))
    deviation = max(float(np.sqrt(terms)) * np.prod([each.astype(float).std() + 1 for each in values]), 1.0)
    spread = scales[0].scale * scales[1].scale * deviation / 40
    output = draw_quantization(rng, spread * np.exp(rng.uniform(np.log(0.5), np.log(2))))
    parameters = requantization(scales[0], scales[1].scale, output)
    made = (*np.broadcast_shapes(*(each.shape[:-2] for each in values)), rows, columns)
    return graph(
        "BATCH_MATMUL",
        operands,
        [result(made, output)],
        lambda _: products.batch_matmul(*values, scales, parameters),
        adjX=turns[0],
        adjY=turns[1],
    )


OPERATORS = {
    "SOFTMAX": draw_softmax,
    "SOFTMAX uint8": lambda rng: draw_softmax(rng, "uint8"),
    "ARG_MAX": draw_arg_max,
    "RESIZE_BILINEAR": draw_resize_bilinear,
    "RESIZE_BILINEAR uint8": lambda rng: draw_resize_bilinear(rng, "uint8"),
    "QUANTIZE": lambda rng: draw_quantize(rng, "int8"),
    "QUANTIZE uint8": lambda rng: draw_quantize(rng, "uint8", "uint8"),
    "QUANTIZE from float32": lambda rng: draw_quantize(rng, "float32"),
    "QUANTIZE from int32": lambda rng: draw_quantize(rng, "int32"),
    "QUANTIZE from uint8": lambda rng: draw_quantize(rng, "uint8"),
    "QUANTIZE to uint8": lambda rng: draw_quantize(rng, "int8", "uint8"),
    "QUANTIZE from float32 to uint8": lambda rng: draw_quantize(rng, "float32", "uint8"),
    "DEQUANTIZE": draw_dequantize,
    "DEQUANTIZE uint8": lambda rng: draw_dequantize(rng, "uint8"),
    "BATCH_MATMUL": draw_batch_matmul,
}
