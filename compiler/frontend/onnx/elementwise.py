# SPDX-License-Identifier: Apache-2.0
"""Translators of elementwise operators of one or two values."""

from collections.abc import Callable

from eyrie.compiler.frontend.onnx.call import Call
from eyrie.compiler.frontend.qdq import Operation
from eyrie.compiler.ir.failure import Unsupported

Translator = Callable[[Call], list[Operation]]


def _same(kind: str, **defaults: float) -> Translator:
    """Return the translator of an operator with the same attribute names. defaults: ONNX's default values"""

    def translate(call: Call) -> list[Operation]:
        return [call.make(kind, **{name: call.real(name, default) for name, default in defaults.items()})]

    return translate


def _of_many(kind: str) -> Translator:
    """Return the translator of an operator with many inputs: it combines them one by one."""

    def translate(call: Call) -> list[Operation]:
        if len(call.inputs) == 1:
            return [call.make("identity")]
        made, last = [], call.inputs[0]
        for number, name in enumerate(call.inputs[1:], 1):
            output = call.outputs[0] if number == len(call.inputs) - 1 else call.inner(str(number))
            made.append(call.make(kind, (last, name), (output,)))
            last = output
        return made

    return translate


def clip(call: Call) -> list[Operation]:
    return [call.make("clip", call.inputs[:1], minimum=call.number("min", 1), maximum=call.number("max", 2))]


def dropout(call: Call) -> list[Operation]:
    if len([name for name in call.outputs if name]) > 1:
        raise Unsupported("its mask is used")
    return [call.make("identity", call.inputs[:1], call.outputs[:1])]


def cast(call: Call) -> list[Operation]:
    """Translate Cast to float32 of a float32 value or a constant."""
    if call.whole("to", 0) != 1:
        raise Unsupported("it casts to another type than float32")
    return [call.make("identity")]


def power(call: Call) -> list[Operation]:
    if not call.is_constant(1) or call.constant(1).size != 1 or float(call.constant(1).ravel()[0]) != 2:
        raise Unsupported("its power is not 2")
    return [call.make("mul", (call.inputs[0], call.inputs[0]))]


def gelu(call: Call) -> list[Operation]:
    return [call.make("gelu", approximate=call.text("approximate", "none"))]


OPERATORS: dict[str, Translator] = {
    "Add": _same("add"),
    "Sub": _same("sub"),
    "Mul": _same("mul"),
    "Div": _same("div"),
    "Pow": power,
    "Max": _of_many("maximum"),
    "Min": _of_many("minimum"),
    "Sum": _of_many("add"),
    "Relu": _same("relu"),
    "Clip": clip,
    "PRelu": _same("prelu"),
    "Sigmoid": _same("sigmoid"),
    "Tanh": _same("tanh"),
    "HardSwish": _same("hard_swish"),
    "HardSigmoid": _same("hard_sigmoid", alpha=0.2, beta=0.5),
    "Erf": _same("erf"),
    "Exp": _same("exp"),
    "Abs": _same("abs"),
    "Neg": _same("neg"),
    "Sqrt": _same("sqrt"),
    "Softplus": _same("softplus"),
    "Mish": _same("mish"),
    "LeakyRelu": _same("leaky_relu", alpha=0.01),
    "Elu": _same("elu", alpha=1.0),
    "Gelu": gelu,
    "Identity": _same("identity"),
    "Dropout": dropout,
    "Cast": cast,
}
