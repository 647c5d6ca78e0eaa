# SPDX-License-Identifier: Apache-2.0
"""Translators of ATen operators, by name: a Call becomes operations of compiler/frontend/qdq/network.py."""

from typing import TypedDict

import torch

from eyrie.compiler.frontend.pytorch.call import Call, Shape, Translation, fixed
from eyrie.compiler.frontend.pytorch.moves import MOVES
from eyrie.compiler.frontend.qdq import Attribute, Operation
from eyrie.compiler.ir.failure import Unsupported
from eyrie.model.messages import times

_TYPES = {torch.int8: "int8", torch.uint8: "uint8", torch.int32: "int32"}


# ---- Quantisation ----


def _type(call: Call) -> str:
    if call["dtype"] not in _TYPES:
        raise Unsupported(f"its codes are {call['dtype']}, not int8")
    return _TYPES[call["dtype"]]


def _quantize(call: Call) -> list[Operation]:
    return [
        call.make(
            "quantize",
            call["input"],
            scale=call.number("scale"),
            zero_point=call.number("zero_point"),
            dtype=_type(call),
            minimum=call.number("quant_min"),
            maximum=call.number("quant_max"),
        )
    ]


def _dequantize(call: Call) -> list[Operation]:
    return [call.make("dequantize", call["input"], scale=call.number("scale"), zero_point=call.number("zero_point"))]


def _channels(call: Call, kind: str, /, **attributes: Attribute) -> list[Operation]:
    scales, points = call.array("scales"), call.array("zero_points")
    if scales is None:
        raise Unsupported("its scales are no constants")
    points = 0 * scales.astype("int64") if points is None else points
    form: dict[str, Attribute] = {"scale": scales, "zero_point": points, "axis": call.whole("axis")}
    return [call.make(kind, call["input"], **form, **attributes)]


def _dequantize_channels(call: Call) -> list[Operation]:
    return _channels(call, "dequantize")


def _quantize_channels(call: Call) -> list[Operation]:
    return _channels(
        call, "quantize", dtype=_type(call), minimum=call.whole("quant_min"), maximum=call.whole("quant_max")
    )


# ---- Weights ----


def _conv(call: Call) -> list[Operation]:
    rank = len(call.shape(call["weight"])) - 2
    pads = call["padding"]
    if isinstance(pads, str):
        if pads == "valid":
            pads = (0,) * rank
        else:
            raise Unsupported('its padding is "same": give it in numbers')
    else:
        pads = call.pair("padding", rank)
    if call.arguments.get("transposed"):
        raise Unsupported("it is transposed")
    operands = [call["input"], call["weight"]] + ([call["bias"]] if call.given("bias") else [])
    return [
        call.make(
            "conv",
            *operands,
            strides=call.pair("stride", rank),
            pads=_both_ends(pads),
            dilations=call.pair("dilation", rank),
            groups=call.whole("groups"),
        )
    ]


def _both_ends(pads: tuple[int, ...]) -> tuple[int, ...]:
    """Return the pads before and after, for each axis."""
    return tuple(pad for pad in pads for _ in range(2))


def _linear(call: Call) -> list[Operation]:
    return [call.make("linear", call["input"], call["weight"], *([call["bias"]] if call.given("bias") else []))]


def _batch_norm(call: Call) -> list[Operation]:
    if call["training"]:
        raise Unsupported("it is in training mode: call model.eval() first")
    if not (call.given("weight") and call.given("bias")):
        raise Unsupported("it has no weight or no bias")
    return [
        call.make(
            "batch_norm",
            call["input"],
            call["weight"],
            call["bias"],
            call["running_mean"],
            call["running_var"],
            epsilon=call.number("eps"),
        )
    ]


# ---- Value by value ----


def _binary(kind: str) -> Translation:
    def translate(call: Call) -> list[Operation]:
        if call.arguments.get("alpha", 1) != 1 or call.arguments.get("rounding_mode") is not None:
            raise Unsupported("it scales or rounds its operands")
        operands = call["input" if call.given("input") else "self"], call["other"]
        rank = len(call.made_shape)
        for each in operands:
            shape = call.shape(each)
            if (not call.is_constant(each) and len(shape) != rank) or (len(shape) == rank and shape[0] != 1):
                raise Unsupported(f"an operand of {times(shape)} goes across images")
        return [call.make(kind, *operands)]

    return translate


def _function(
    kind: str, *, names: dict[str, str] | None = None, wanted: dict[str, object] | None = None
) -> Translation:
    """Return the translator of a function. names: attributes, with the schema's name of each; wanted: values that other
    arguments must have"""

    def translate(call: Call) -> list[Operation]:
        for name, value in (wanted or {}).items():
            if call[name] != value:
                raise Unsupported(f"its {name} is {call[name]}, must be {value}")
        return [call.make(kind, _self(call), **{own: call.number(name) for own, name in (names or {}).items()})]

    return translate


def _gelu(call: Call) -> list[Operation]:
    return [call.make("gelu", _self(call), approximate=str(call["approximate"]))]


def _self(call: Call) -> object:
    return call["self"] if "self" in call.arguments else call["input"]


def _clip(low: str, high: str) -> Translation:
    def translate(call: Call) -> list[Operation]:
        bounds = {
            own: call.number(name) for own, name in (("minimum", low), ("maximum", high)) if name and call.given(name)
        }
        return [call.make("clip", call["self"], **bounds)]

    return translate


def _relu6(call: Call) -> list[Operation]:
    return [call.make("clip", call["self"], minimum=0.0, maximum=6.0)]


def _prelu(call: Call) -> list[Operation]:
    """Translate prelu. Its slopes are per channel, axis 1."""
    if not call.is_constant(call["weight"]):
        raise Unsupported("its slopes are no constants")
    rank, slopes = len(call.made_shape), call.shape(call["weight"])
    name = f"{call.node.name}.slopes"
    shape = (1, slopes[0], *(1,) * (rank - 2))
    return [call.inner("reshape", (name,), call["weight"], shape=shape), call.make("prelu", call["self"], name)]


# ---- Windows and means ----


class _Window(TypedDict):
    """Attributes of pools."""

    kernel: Shape
    strides: Shape
    pads: Shape


def _window(call: Call, rank: int) -> _Window:
    if len(call.shape(call["self"])) != rank + 2:
        raise Unsupported(f"it takes {times(call.shape(call['self']))} values, without images or channels")
    kernel = call.pair("kernel_size", rank)
    pads = call.pair("padding", rank)
    return {"kernel": kernel, "strides": call.pair("stride", rank, kernel), "pads": _both_ends(pads)}


def _fits(call: Call, attributes: _Window) -> None:
    """Raise Unsupported if rounding up adds a window that begins outside the input."""
    source, made = call.shape(call["self"])[2:], call.made_shape[2:]
    pads = attributes["pads"]
    down = tuple(
        (size + sum(pads[2 * n : 2 * n + 2]) - taps) // step + 1
        for n, (size, taps, step) in enumerate(zip(source, attributes["kernel"], attributes["strides"]))
    )
    if down != made:
        raise Unsupported("its windows reach over the edge (ceil_mode)")


def _max_pool(rank: int) -> Translation:
    def translate(call: Call) -> list[Operation]:
        attributes = _window(call, rank)
        if set(call.pair("dilation", rank)) != {1}:
            raise Unsupported("its windows have gaps")
        _fits(call, attributes)
        return [call.make("max_pool", call["self"], **attributes)]

    return translate


def _average_pool(rank: int) -> Translation:
    def translate(call: Call) -> list[Operation]:
        attributes = _window(call, rank)
        if call.arguments.get("divisor_override") is not None:
            raise Unsupported("its divisor is given")
        _fits(call, attributes)
        counted = bool(call["count_include_pad"])
        return [call.make("average_pool", call["self"], **attributes, count_pads=counted)]

    return translate


def _adaptive(call: Call) -> list[Operation]:
    source, made = call.shape(call["self"])[2:], call.made_shape[2:]
    if set(made) == {1}:
        return [call.make("mean", call["self"], axes=tuple(range(2, 2 + len(source))), keep=True)]
    if any(size % wanted for size, wanted in zip(source, made)):
        raise Unsupported(f"windows of {times(source)} pixels are not all alike for {times(made)}")
    kernel = tuple(size // wanted for size, wanted in zip(source, made))
    return [call.make("average_pool", call["self"], kernel=kernel, strides=kernel)]


def _mean(call: Call) -> list[Operation]:
    rank = len(call.shape(call["self"]))
    axes = call.wholes("dim") if call["dim"] is not None else tuple(range(rank))
    gone, keep = tuple(call.axis(axis, rank) for axis in axes), bool(call["keepdim"])
    return [call.make("mean", call["self"], axes=gone, keep=keep)]


def _softmax(call: Call) -> list[Operation]:
    rank = len(call.shape(call["self"]))
    return [call.make("softmax", call["self"], axis=call.axis(call.whole("dim"), rank))]


def _resize(kind: str) -> Translation:
    def translate(call: Call) -> list[Operation]:
        source, size = call.shape(_self(call))[2:], fixed(call.made_shape[2:])
        for name in ("scale_factors", "scales_h", "scales_w"):
            factors = call.arguments.get(name)
            for factor in factors if isinstance(factors, (list, tuple)) else [factors]:
                if factor is not None and factor not in {made / of for made, of in zip(size, source)}:
                    raise Unsupported("its factor is not the ratio of its sizes")
        corners = bool(call.arguments.get("align_corners"))
        return [
            call.make(
                kind,
                _self(call),
                size=size,
                align_corners=corners,
                half_pixel=kind == "resize_bilinear" and not corners,
            )
        ]

    return translate


OPERATORS: dict[str, Translation] = {
    "quantized_decomposed::quantize_per_tensor": _quantize,
    "quantized_decomposed::dequantize_per_tensor": _dequantize,
    "quantized_decomposed::quantize_per_channel": _quantize_channels,
    "quantized_decomposed::dequantize_per_channel": _dequantize_channels,
    "aten::conv1d": _conv,
    "aten::conv2d": _conv,
    "aten::convolution": _conv,
    "aten::linear": _linear,
    "aten::batch_norm": _batch_norm,
    "aten::add": _binary("add"),
    "aten::sub": _binary("sub"),
    "aten::mul": _binary("mul"),
    "aten::div": _binary("div"),
    "aten::minimum": _binary("minimum"),
    "aten::maximum": _binary("maximum"),
    "aten::relu": _function("relu"),
    "aten::relu6": _relu6,
    "aten::hardtanh": _clip("min_val", "max_val"),
    "aten::clamp": _clip("min", "max"),
    "aten::clamp_min": _clip("min", ""),
    "aten::clamp_max": _clip("", "max"),
    "aten::prelu": _prelu,
    "aten::leaky_relu": _function("leaky_relu", names={"alpha": "negative_slope"}),
    "aten::elu": _function("elu", names={"alpha": "alpha"}, wanted={"scale": 1, "input_scale": 1}),
    "aten::gelu": _gelu,
    "aten::softplus": _function("softplus", wanted={"beta": 1}),
    "aten::hardsigmoid": _function("hard_sigmoid"),
    "aten::hardswish": _function("hard_swish"),
    **{
        f"aten::{kind}": _function(kind)
        for kind in ("sigmoid", "tanh", "silu", "erf", "exp", "abs", "neg", "sqrt", "mish")
    },
    "aten::max_pool1d": _max_pool(1),
    "aten::max_pool2d": _max_pool(2),
    "aten::avg_pool1d": _average_pool(1),
    "aten::avg_pool2d": _average_pool(2),
    "aten::adaptive_avg_pool1d": _adaptive,
    "aten::adaptive_avg_pool2d": _adaptive,
    "aten::mean": _mean,
    "aten::softmax": _softmax,
    "aten::upsample_nearest2d": _resize("resize_nearest"),
    "aten::upsample_bilinear2d": _resize("resize_bilinear"),
    **MOVES,
}


def translation(target: object) -> Translation | None:
    """Return the translator of an operator; its in-place variant has the same one."""
    if not isinstance(target, torch._ops.OpOverload):
        return None
    return OPERATORS.get(target._schema.name.removesuffix("_"))
