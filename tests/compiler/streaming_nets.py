# SPDX-License-Identifier: Apache-2.0
"""Networks with variables, as .tflite models."""

import numpy as np
from ai_edge_litert import schema_py_generated as schema

from eyrie.compiler.frontend.tflite.contents import packed
from eyrie.testing.tflite_builder import STEPS, Builder

FRAME, KEPT = (1, 1, 1, 8), (1, 3, 1, 8)


def streaming(rng: np.random.Generator, kind: str = "int8", starts: bool = True) -> bytes:
    """Return a convolution over the last four frames, of which a variable keeps three.

    starts: whether CALL_ONCE gives the variable random values
    """
    net, zero = Builder(), 128 if kind == "uint8" else 0
    x, made = (net.tensor(shape, kind, 0.1, zero) for shape in (FRAME, (1, 1, 1, 16)))
    handle = net.tensor((), "resource")
    read, rows, kept = (net.tensor(shape, kind, 0.1, zero) for shape in (KEPT, (1, 4, 1, 8), KEPT))
    net.operator("VAR_HANDLE", [], [handle], sharedName="last")
    net.operator("READ_VARIABLE", [handle], [read])
    net.operator("CONCATENATION", [read, x], [rows], axis=1)
    ends = [net.tensor((4,), "int32", data=values) for values in ([0, 1, 0, 0], [1, 4, 1, 8], [1, 1, 1, 1])]
    net.operator("STRIDED_SLICE", [rows, *ends], [kept])
    net.operator("ASSIGN_VARIABLE", [handle, kept], [])
    drawn = rng.integers(-127, 128, (16, 4, 1, 8))
    filters = net.tensor(drawn.shape, kind, 0.01, zero, data=drawn + zero)
    bias = net.tensor((16,), "int32", 0.001, data=rng.integers(-500, 500, 16))
    net.operator("CONV_2D", [rows, filters, bias], [made], padding=schema.Padding.VALID, **STEPS)
    return _with_starts(net, [x], [made], rng.integers(-100, 100, KEPT) + zero if starts else None, kind)


def _with_starts(net: Builder, inputs: list[int], outputs: list[int], start: np.ndarray | None, kind: str) -> bytes:
    """Return the bytes, with a subgraph that gives the variable its start values."""
    if start is None:
        return net.pack(inputs, outputs)
    other = Builder(codes=net.codes, buffers=net.buffers)
    handle = other.tensor((), "resource")
    values = other.tensor(start.shape, kind, 0.1, data=start.astype(kind))
    other.operator("VAR_HANDLE", [], [handle], sharedName="last")
    other.operator("ASSIGN_VARIABLE", [handle, values], [])
    net.operator("CALL_ONCE", [], [], initSubgraphIndex=1)
    net.operators.insert(0, net.operators.pop())
    model = schema.ModelT.InitFromPackedBuf(net.pack(inputs, outputs), 0)
    model.subgraphs.append(
        schema.SubGraphT(name="starts", tensors=other.tensors, inputs=[], outputs=[], operators=other.operators)
    )
    return packed(model)


def recurrent(rng: np.random.Generator) -> bytes:
    """Return an SVDF of real numbers, which keeps its own state, between two quantised ends."""
    net = Builder()
    x, real, made, y = (
        net.tensor((1, 6), "int8", 0.05),
        net.tensor((1, 6), "float32"),
        net.tensor((1, 4), "float32"),
        net.tensor((1, 4), "int8", 0.05),
    )
    features, times = (net.tensor(shape, "float32", data=rng.normal(size=shape)) for shape in ((8, 6), (8, 5)))
    bias = net.tensor((4,), "float32", data=rng.normal(size=4))
    state = net.tensor((1, 40), "float32")
    net.tensors[state].isVariable = True
    net.operator("DEQUANTIZE", [x], [real])
    net.operator("SVDF", [real, features, times, bias, state], [made], rank=2)
    net.operator("QUANTIZE", [made], [y])
    return net.pack([x], [y])
