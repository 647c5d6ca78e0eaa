# SPDX-License-Identifier: Apache-2.0
"""Translators of Relax operators, by name: a Call becomes operations of compiler/frontend/qdq/network.py."""

import numpy as np

from eyrie.compiler.frontend.qdq import Attribute, Operation
from eyrie.compiler.frontend.tvm.call import Call, Shape, Translation
from eyrie.compiler.frontend.tvm.moves import MOVES
from eyrie.compiler.frontend.tvm.steps import DEQUANTIZE, QUANTIZE
from eyrie.compiler.ir.failure import Unsupported
from eyrie.model.messages import times

# ---- Quantisation ----


def _scaled(kind: str) -> Translation:
    def translate(call: Call) -> list[Operation]:
        scale, zero_point = call.array(1, "scale").astype(np.float64), call.array(2, "zero point").astype(np.int64)
        form: dict[str, Attribute] = {"scale": scale, "zero_point": zero_point}
        if scale.size > 1:
            form["axis"] = call.whole("axis")
        else:
            form |= {"scale": scale.reshape(()), "zero_point": zero_point.reshape(())}
        made = call.text("out_dtype")
        if kind == QUANTIZE:
            form["dtype"] = made
        elif made != "float32":
            raise Unsupported(f"it makes {made}, not float32")
        return [call.make(kind, call.operand(0), **form)]

    return translate


# ---- Weights ----


def _conv(layout: str, kernel: str) -> Translation:
    def translate(call: Call) -> list[Operation]:
        own = tuple(call.text(name) for name in ("data_layout", "kernel_layout", "out_layout"))
        if own != (layout, kernel, layout):
            raise Unsupported(f"its layouts are {own[0]} and {own[1]}, not {layout} and {kernel}: see ConvertLayout")
        return [
            call.make(
                "conv",
                call.operand(0),
                call.operand(1),
                strides=call.numbers("strides"),
                pads=call.pads,
                dilations=call.numbers("dilation"),
                groups=call.whole("groups"),
            )
        ]

    return translate


def _matmul(call: Call) -> list[Operation]:
    """Translate matmul, whose weights are C, M."""
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
    """Return the translator of a function. names: attributes, with Relax's name of each; wanted: values that others
    must have"""

    def translate(call: Call) -> list[Operation]:
        for name, value in (wanted or {}).items():
            if (found := call.real(name)) != value:
                raise Unsupported(f"its {name} is {found}, must be {value}")
        return [call.make(kind, call.operand(0), **{own: call.real(name) for own, name in names.items()})]

    return translate


def _clip(call: Call) -> list[Operation]:
    low, high = call.operand(1), call.operand(2)
    if not isinstance(low, (int, float)) or not isinstance(high, (int, float)):
        raise Unsupported("its bounds are no numbers")
    return [call.make("clip", call.operand(0), minimum=float(low), maximum=float(high))]


def _relu6(call: Call) -> list[Operation]:
    return [call.make("clip", call.operand(0), minimum=0.0, maximum=6.0)]


def _gelu(approximate: str) -> Translation:
    return lambda call: [call.make("gelu", call.operand(0), approximate=approximate)]


# ---- Windows and means ----


def _check_layout(call: Call, layout: str) -> None:
    if (own := call.text("layout")) != layout or call.text("out_layout") != layout:
        raise Unsupported(f"its layout is {own}, not {layout}")


def _pool(kind: str, layout: str) -> Translation:
    def translate(call: Call) -> list[Operation]:
        _check_layout(call, layout)
        if set(call.numbers("dilation")) != {1}:
            raise Unsupported("its windows have gaps")
        kernel, strides, pads = call.numbers("pool_size"), call.numbers("strides"), call.pads
        _check_windows(call, kernel, strides, pads)
        counted = bool(call.whole("count_include_pad")) if kind == "average_pool" else None
        return [call.make(kind, call.operand(0), kernel=kernel, strides=strides, pads=pads, count_pads=counted)]

    return translate


def _check_windows(call: Call, kernel: Shape, strides: Shape, pads: Shape) -> None:
    """Raise Unsupported if rounding up adds a window that begins outside the input."""
    source = call.shape(call.operand(0))[2:]
    inside = tuple((size + sum(pads[2 * n : 2 * n + 2]) - kernel[n]) // strides[n] + 1 for n, size in enumerate(source))
    if inside != call.made_shape[2:]:
        raise Unsupported("its windows reach over the edge (ceil_mode)")


def _adaptive(layout: str) -> Translation:
    def translate(call: Call) -> list[Operation]:
        _check_layout(call, layout)
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
    axes = call.numbers("axis") if call.given("axis") else tuple(range(rank))
    return [
        call.make(
            "mean",
            call.operand(0),
            axes=tuple(call.axis(axis, rank) for axis in axes),
            keep=bool(call.whole("keepdims")),
        )
    ]


def _softmax(call: Call) -> list[Operation]:
    rank = len(call.shape(call.operand(0)))
    return [call.make("softmax", call.operand(0), axis=call.axis(call.whole("axis"), rank))]


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
