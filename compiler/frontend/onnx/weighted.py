# SPDX-License-Identifier: Apache-2.0
"""Translators of Conv, Gemm, MatMul and BatchNormalization."""

from eyrie.compiler.frontend.onnx.call import Call
from eyrie.compiler.frontend.onnx.windows import window
from eyrie.compiler.frontend.qdq import Operation
from eyrie.compiler.ir.failure import Unsupported


def conv(call: Call) -> list[Operation]:
    kernel = call.shape(1)[2:]
    return [call.make("conv", groups=call.whole("group", 1), **window(call, kernel, call.shape(0)))]


def gemm(call: Call) -> list[Operation]:
    if call.whole("transA", 0):
        raise Unsupported("its first operand is transposed")
    if call.real("alpha", 1.0) != 1 or (call.has(2) and call.real("beta", 1.0) != 1):
        raise Unsupported("it has a factor alpha or beta")
    return linear(call, call.inputs, not call.whole("transB", 0))


def linear(call: Call, inputs: tuple[str, ...], turn: bool) -> list[Operation]:
    """Return a fully connected layer. turn: the weights are C, M"""
    if not turn:
        return [call.make("linear", inputs)]
    turned = call.inner("weight")
    return [
        call.make("transpose", (inputs[1],), (turned,), axes=(1, 0)),
        call.make("linear", (inputs[0], turned, *inputs[2:])),
    ]


def matmul(call: Call) -> list[Operation]:
    if len(call.shape(1)) != 2:
        raise Unsupported(f"its second operand has {len(call.shape(1))} axes, not two")
    return linear(call, call.inputs, True)


def batch_norm(call: Call) -> list[Operation]:
    if call.whole("training_mode", 0) or len([name for name in call.outputs if name]) > 1:
        raise Unsupported("it is trained")
    return [call.make("batch_norm", None, call.outputs[:1], epsilon=call.real("epsilon", 1e-5))]


OPERATORS = {"Conv": conv, "Gemm": gemm, "MatMul": matmul, "BatchNormalization": batch_norm}
