# SPDX-License-Identifier: Apache-2.0
"""Translators of Relax data-movement operators. None of them moves values between images."""

from eyrie.compiler.frontend.qdq import Operation
from eyrie.compiler.frontend.tvm.call import Call, Translation
from eyrie.compiler.ir.failure import Unsupported


def _reshape(call: Call) -> list[Operation]:
    call.shape(call.operand(0))
    return [call.make("reshape", call.operand(0), shape=call.made_shape)]


def _permute(call: Call) -> list[Operation]:
    source = call.operand(0)
    rank = len(call.shape(source))
    axes = call.numbers("axes") if call.given("axes") else tuple(reversed(range(rank)))
    axes = tuple(axis % rank for axis in axes)
    if axes[0] != 0 and not call.is_constant(source):
        raise Unsupported("it goes across images")
    return [call.make("transpose", source, axes=axes)]


def _concat(call: Call) -> list[Operation]:
    tensors = call.operand(0)
    if not isinstance(tensors, tuple) or not call.given("axis"):
        raise Unsupported("its tensors are not given one by one, with an axis")
    return [call.make("concat", *tensors, axis=call.axis(call.whole("axis"), len(call.made_shape)))]


def _pad(call: Call) -> list[Operation]:
    if (mode := call.text("pad_mode")) != "constant":
        raise Unsupported(f"its mode is {mode}, not constant")
    flat = call.numbers("pad_width")
    margins = tuple(zip(flat[::2], flat[1::2]))
    if margins[0] != (0, 0):
        raise Unsupported("it goes across images")
    return [call.make("pad", call.operand(0), margins=margins, value=call.real("pad_value"))]


def _slice(call: Call) -> list[Operation]:
    source = call.operand(0)
    shape = call.shape(source)
    given = [_integers(each) for each in call.step.operands[1:]]
    axes, begin, end = given[:3]
    steps = given[3] if len(given) > 3 and given[3] else (1,) * len(axes)
    parts = {call.axis(axis, len(shape)): slice(*each) for axis, *each in zip(axes, begin, end, steps, strict=True)}
    begin, end, steps = zip(*(parts.get(axis, slice(None)).indices(size) for axis, size in enumerate(shape)))
    return [call.make("slice", source, begin=begin, end=end, steps=steps)]


def _integers(operand: object) -> tuple[int, ...]:
    """Return the integers of a slice, () if the operand is left out. Raise Unsupported if they are known only at run
    time."""
    values = () if operand is None else operand
    if not isinstance(values, tuple) or not all(isinstance(each, int) for each in values):
        raise Unsupported("its ends are no numbers")
    return values


MOVES: dict[str, Translation] = {
    **dict.fromkeys(("reshape", "flatten", "squeeze", "expand_dims", "nn.batch_flatten"), _reshape),
    "permute_dims": _permute,
    "concat": _concat,
    "nn.pad": _pad,
    "strided_slice": _slice,
}
