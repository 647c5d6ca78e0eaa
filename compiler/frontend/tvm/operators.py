# SPDX-License-Identifier: Apache-2.0
"""Operators of Relax, by name: functions of a Call that give what they are in compiler/frontend/qdq/network.py."""

from collections.abc import Callable

import numpy as np

from eyrie.compiler.frontend.qdq import Operation
from eyrie.compiler.frontend.tvm.call import Call
from eyrie.compiler.frontend.tvm.moves import MOVES
from eyrie.compiler.frontend.tvm.steps import DEQUANTIZE, QUANTIZE
from eyrie.compiler.ir.failure import Unsupported
from eyrie.model.messages import times

Translation = Callable[[Call], list[Operation]]


# ---- Quantisation ----


def _scaled(kind: str) -> Translation:
    def translate(call: Call) -> list[Operation]:
        scale, zero_point = call.array(1, "scale"), call.array(2, "zero point")
        form = {"scale": scale.astype(np.float64), "zero_point": zero_point.astype(np.int64)}
        if scale.size > 1:
            form["axis"] = int(call["axis"])
        else:
            form |= {name: values.reshape(()) for name, values in form.items()}
        if kind == QUANTIZE:
            form["dtype"] = str(call["out_dtype"])
        elif str(call["out_dtype"]) != "float32":
            raise Unsupported(f"it makes {call['out_dtype']}, not float32")
        return [call.make(kind, call.operand(0), **form)]

    return translate


# ---- Weights ----


def _conv(layout: str, kernel: str) -> Translation:
    def translate(call: Call) -> list[Operation]:
        if (call["data_layout"], call["kernel_layout"], call["out_layout"]) != (layout, kernel, layout):
            raise Unsupported(
                f"its layouts are {call['data_layout']} and {call['kernel_layout']}, not {layout} and "
                f"{kernel}: see ConvertLayout"
            )
        return [
            call.make(
                "conv",
                call.operand(0),
                call.operand(1),
                strides=call.numbers("strides"),
                pads=call.pads,
                dilations=call.numbers("dilation"),
                groups=int(call["groups"]),
            )
        ]

    return translate


def _matmul(call: Call) -> list[Operation]:
    """Weights are C, M."""
    source, weights = call.operand(0), call.operand(1)
    if not call.is_constant(weights) or len(call.shape(weights)) != 2:
        raise Unsupported("its second operand is no constant of two axes")
    turned = f"{call.step.made.name}.turned"
    return [call.inner("transpose", turned, weights, axes=(1, 0)), call.make("linear", source, turned)]


# ---- Value by value ----


def _binary(kind: str) -> Translation:
    def translate(call: Call) -> list[Operation]:
        rank = len(call.made_shape)
        for each in call.step.operands:
            shape = call.shape(each)
            if (not call.is_constant(each) and len(shape) != rank) or (len(shape) == rank and shape[0] != 1):
                raise Unsupported(f"an operand of {times(shape)} goes across images")
        return [call.make(kind, *call.step.operands)]

    return translate


def _function(kind: str, wanted: dict[str, float] | None = None, **names: str) -> Translation:
    """names: attributes, with Relax's name of each; wanted: values that others have to have."""

    def translate(call: Call) -> list[Operation]:
        for name, value in (wanted or {}).items():
            if call[name] != value:
                raise Unsupported(f"its {name} is {call[name]}, must be {value}")
        return [call.make(kind, call.operand(0), **{own: float(call[name]) for own, name in names.items()})]

    return translate


def _clip(call: Call) -> list[Operation]:
    bounds = call.step.operands[1:]
    if not all(isinstance(each, (int, float)) for each in bounds):
        raise Unsupported("its bounds are no numbers")
    return [call.make("clip", call.operand(0), minimum=float(bounds[0]), maximum=float(bounds[1]))]


def _relu6(call: Call) -> list[Operation]:
    return [call.make("clip", call.operand(0), minimum=0.0, maximum=6.0)]


def _gelu(approximate: str) -> Translation:
    return lambda call: [call.make("gelu", call.operand(0), approximate=approximate)]


# ---- Windows and means ----


def _pool(kind: str, layout: str) -> Translation:
    def translate(call: Call) -> list[Operation]:
        if call["layout"] != layout or call["out_layout"] != layout:
            raise Unsupported(f"its layout is {call['layout']}, not {layout}")
        if set(call.numbers("dilation")) != {1}:
            raise Unsupported("its windows have gaps")
        form = {"kernel": call.numbers("pool_size"), "strides": call.numbers("strides"), "pads": call.pads}
        _check_windows(call, **form)
        if kind == "average_pool":
            form["count_pads"] = bool(call["count_include_pad"])
        return [call.make(kind, call.operand(0), **form)]

    return translate


def _check_windows(call: Call, kernel: tuple, strides: tuple, pads: tuple) -> None:
    """Raises Unsupported where rounding up makes more windows than lie inside."""
    source = call.shape(call.operand(0))[2:]
    inside = tuple((size + sum(pads[2 * n : 2 * n + 2]) - kernel[n]) // strides[n] + 1 for n, size in enumerate(source))
    if inside != call.made_shape[2:]:
        raise Unsupported("its windows reach over the edge (ceil_mode)")


def _adaptive(layout: str) -> Translation:
    def translate(call: Call) -> list[Operation]:
        if call["layout"] != layout or call["out_layout"] != layout:
            raise Unsupported(f"its layout is {call['layout']}, not {layout}")
        source, made = call.shape(call.operand(0))[2:], call.made_shape[2:]
        if set(made) == {1}:
            return [call.make("mean", call.operand(0), axes=tuple(range(2, 2 + len(source))), keep=True)]
        if any(size % wanted for size, wanted in zip(source, made)):
            raise Unsupported(f"windows of {times(source)} pixels are not all alike for {times(made)}")
        kernel = tuple(size // wanted for size, wanted in zip(source, made))
        return [call.make("average_pool", call.operand(0), kernel=kernel, strides=kernel)]

    return translate


def _mean(call: Call) -> list[Operation]:
    rank = len(call.shape(call.operand(0)))
    axes = call["axis"] if call["axis"] is not None else range(rank)
    return [
        call.make(
            "mean",
            call.operand(0),
            axes=tuple(call.axis(int(axis), rank) for axis in axes),
            keep=bool(call["keepdims"]),
        )
    ]


def _softmax(call: Call) -> list[Operation]:
    rank = len(call.shape(call.operand(0)))
    return [call.make("softmax", call.operand(0), axis=call.axis(int(call["axis"]), rank))]


OPERATORS: dict[str, Translation] = {
    QUANTIZE: _scaled(QUANTIZE),
    DEQUANTIZE: _scaled(DEQUANTIZE),
    "nn.conv1d": _conv("NCW", "OIW"),
    "nn.conv2d": _conv("NCHW", "OIHW"),
    "matmul": _matmul,
    "add": _binary("add"),
    "subtract": _binary("sub"),
    "multiply": _binary("mul"),
    "divide": _binary("div"),
    "maximum": _binary("maximum"),
    "minimum": _binary("minimum"),
    "clip": _clip,
    "nn.relu": _function("relu"),
    "nn.relu6": _relu6,
    "nn.leakyrelu": _function("leaky_relu", alpha="alpha"),
    "nn.softplus": _function("softplus", {"beta": 1.0}),
    "nn.gelu": _gelu("none"),
    "nn.gelu_tanh": _gelu("tanh"),
    "nn.silu": _function("silu"),
    "negative": _function("neg"),
    **{kind: _function(kind) for kind in ("sigmoid", "tanh", "erf", "exp", "abs", "sqrt")},
    "nn.max_pool1d": _pool("max_pool", "NCW"),
    "nn.max_pool2d": _pool("max_pool", "NCHW"),
    "nn.avg_pool1d": _pool("average_pool", "NCW"),
    "nn.avg_pool2d": _pool("average_pool", "NCHW"),
    "nn.adaptive_avg_pool1d": _adaptive("NCW"),
    "nn.adaptive_avg_pool2d": _adaptive("NCHW"),
    "mean": _mean,
    "nn.softmax": _softmax,
    **MOVES,
}
