# SPDX-License-Identifier: Apache-2.0
"""Translators of QuantizeLinear, DequantizeLinear, and operators of codes.

An operator of codes becomes DEQUANTIZE, a float operator, and QUANTIZE. Source for operators of com.microsoft:
onnxruntime's ContribOperators.md.
"""

from collections.abc import Callable

import numpy as np

from eyrie.compiler.frontend.onnx.call import Call
from eyrie.compiler.frontend.onnx.pooling import average_pool, softmax_axis
from eyrie.compiler.frontend.onnx.weighted import linear
from eyrie.compiler.frontend.onnx.windows import window
from eyrie.compiler.frontend.qdq import Operation
from eyrie.compiler.ir.failure import Unsupported

Translator = Callable[[Call], list[Operation]]


def quantize(call: Call) -> list[Operation]:
    if call.whole("block_size", 0):
        raise Unsupported("its scales are of blocks, not of channels")
    scale = call.scale(1)
    if not call.has(2) and call.whole("output_dtype", 0):
        raise Unsupported("it has a type of codes and no zero point")
    return [call.make("quantize", call.inputs[:1], axis=call.whole("axis", 1), **scale)]


def dequantize(call: Call) -> list[Operation]:
    if call.whole("block_size", 0):
        raise Unsupported("its scales are of blocks, not of channels")
    return [_dequantized(call, 0, 1, call.outputs[0], call.whole("axis", 1))]


def _dequantized(call: Call, codes: int, scale: int, output: str, axis: int | None = None) -> Operation:
    """Return the DEQUANTIZE of input `codes`, with the inputs `scale` and `scale` + 1 as scale and zero point."""
    found = call.scale(scale)
    axis = axis if found["scale"].size > 1 else None
    return call.make(
        "dequantize", (call.input(codes),), (output,), scale=found["scale"], zero_point=found["zero_point"], axis=axis
    )


def _quantized(call: Call, value: str, scale: int) -> Operation:
    return call.make("quantize", (value,), **call.scale(scale))


def _bias(call: Call, number: int, factor: float = 1.0) -> tuple[list[Operation], tuple[str, ...]]:
    """Return the operations and inputs of an int32 bias. Its scale is the product of inputs 1 and 4, times `factor`."""
    if not call.has(number):
        return [], ()
    name = call.inner("bias")
    scale = np.atleast_1d(call.scale(1)["scale"].astype(float) * call.scale(4)["scale"].astype(float) * factor)
    return [
        call.make(
            "dequantize",
            (call.inputs[number],),
            (name,),
            scale=scale if scale.size > 1 else scale[0],
            zero_point=np.zeros(scale.size, int) if scale.size > 1 else 0,
            axis=0,
        )
    ], (name,)


def conv(call: Call) -> list[Operation]:
    x, w, made = (call.inner(what) for what in ("x", "w", "float"))
    bias, names = _bias(call, 8)
    attributes = window(call, call.shape(3)[2:], call.shape(0))
    return [
        _dequantized(call, 0, 1, x),
        _dequantized(call, 3, 4, w, 0),
        *bias,
        call.make("conv", (x, w, *names), (made,), groups=call.whole("group", 1), **attributes),
        _quantized(call, made, 6),
    ]


def matmul(call: Call) -> list[Operation]:
    if len(call.shape(3)) != 2:
        raise Unsupported(f"its second operand has {len(call.shape(3))} axes, not two")
    return _product(call, (), [], True, 6)


def gemm(call: Call) -> list[Operation]:
    if call.whole("transA", 0):
        raise Unsupported("its first operand is transposed")
    if call.real("alpha", 1.0) != 1:
        raise Unsupported("it has a factor alpha")
    bias, names = _bias(call, 6)
    return _product(call, names, bias, not call.whole("transB", 0), 7)


def _product(call: Call, names: tuple[str, ...], bias: list[Operation], turn: bool, result: int) -> list[Operation]:
    x, w = call.inner("x"), call.inner("w")
    floats = linear(call, (x, w, *names), turn)
    made = [_dequantized(call, 0, 1, x), _dequantized(call, 3, 4, w, 1 if turn else 0), *bias, *floats]
    if not call.has(result):
        return made
    made[-1] = call.make("linear", made[-1].inputs, (call.inner("float"),))
    return [*made, _quantized(call, call.inner("float"), result)]


def _of_two(kind: str) -> Translator:
    """Return the translator of an operator with inputs A and B, each followed by scale and zero point. Scale and zero
    point of the result follow them."""

    def translate(call: Call) -> list[Operation]:
        a, b, made = (call.inner(what) for what in ("a", "b", "float"))
        return [
            _dequantized(call, 0, 1, a),
            _dequantized(call, 3, 4, b),
            call.make(kind, (a, b), (made,)),
            _quantized(call, made, 6),
        ]

    return translate


def _of_one(make: Callable[[Call, str, str], list[Operation]]) -> Translator:
    """Return the translator of an operator with input X, its scale and zero point, and the ones of the result.

    make: returns the operations for x and the name of the float result
    """

    def translate(call: Call) -> list[Operation]:
        if call.whole("channels_last", 0):
            raise Unsupported("its channels are last")
        x, made = call.inner("x"), call.inner("float")
        return [_dequantized(call, 0, 1, x), *make(call, x, made), _quantized(call, made, 3)]

    return translate


def _softmax(call: Call, x: str, made: str) -> list[Operation]:
    return [call.make("softmax", (x,), (made,), axis=softmax_axis(call, call.whole("opset", 13)))]


def _mean(call: Call, x: str, made: str) -> list[Operation]:
    return [call.make("mean", (x,), (made,), axes=tuple(range(2, len(call.shape(0)))), keep=True)]


def concat(call: Call) -> list[Operation]:
    """Translate QLinearConcat: scale and zero point of the result, then each input with its scale and zero point."""
    parts = [call.inner(str(number)) for number in range(2, len(call.inputs), 3)]
    made = [_dequantized(call, number, number + 1, part) for number, part in zip(range(2, len(call.inputs), 3), parts)]
    return [
        *made,
        call.make("concat", tuple(parts), (call.inner("float"),), axis=call.whole("axis")),
        _quantized(call, call.inner("float"), 0),
    ]


def dynamic(call: Call) -> list[Operation]:
    raise Unsupported("it finds its scale when it runs: quantise the model statically")


OPERATORS: dict[str, Translator] = {
    "QuantizeLinear": quantize,
    "DequantizeLinear": dequantize,
    "QLinearConv": conv,
    "QLinearMatMul": matmul,
    "QGemm": gemm,
    "QLinearAdd": _of_two("add"),
    "QLinearMul": _of_two("mul"),
    "QLinearConcat": concat,
    "QLinearGlobalAveragePool": _of_one(_mean),
    "QLinearSoftmax": _of_one(_softmax),
    "QLinearAveragePool": _of_one(lambda call, x, made: average_pool(call, (x,), (made,))),
    "QLinearSigmoid": _of_one(lambda call, x, made: [call.make("sigmoid", (x,), (made,))]),
    "QLinearLeakyRelu": _of_one(
        lambda call, x, made: [call.make("leaky_relu", (x,), (made,), alpha=call.real("alpha", 0.01))]
    ),
    "DynamicQuantizeLinear": dynamic,
    "ConvInteger": dynamic,
    "MatMulInteger": dynamic,
}
