# SPDX-License-Identifier: Apache-2.0
"""Translators of ATen data-movement operators. None of them moves values between images."""

import torch
from torch.fx import Node

from eyrie.compiler.frontend.pytorch.call import Call, Translation, fixed
from eyrie.compiler.frontend.qdq import Operation
from eyrie.compiler.ir.failure import Unsupported


def identity(call: Call) -> list[Operation]:
    """Translate an operator that changes no value."""
    if call.arguments.get("train"):
        raise Unsupported("it is in training mode: call model.eval() first")
    return [call.make("identity", _source(call))]


def _reshape(call: Call) -> list[Operation]:
    call.shape(_source(call))
    return [call.make("reshape", _source(call), shape=call.made_shape)]


def _permute(call: Call) -> list[Operation]:
    rank = len(call.shape(_source(call)))
    axes = [axis % rank for axis in call.wholes("dims")]
    return _transposed(call, axes)


def _transpose(call: Call) -> list[Operation]:
    axes = list(range(len(call.shape(_source(call)))))
    one, other = call.whole("dim0"), call.whole("dim1")
    axes[one], axes[other] = axes[other], axes[one]
    return _transposed(call, axes)


def _transposed(call: Call, axes: list[int]) -> list[Operation]:
    if axes[0] != 0:
        raise Unsupported("it goes across images")
    return [call.make("transpose", _source(call), axes=tuple(axes))]


def _concat(call: Call) -> list[Operation]:
    axis, tensors = call.axis(call.whole("dim"), len(call.made_shape)), call["tensors"]
    if not isinstance(tensors, (list, tuple)):
        raise Unsupported(f"it takes {tensors}")
    return [call.make("concat", *tensors, axis=axis)]


def _split(call: Call) -> list[Operation]:
    """Translate split. Each part has the name of the getitem that reads it."""
    source = call.shape(_source(call))
    axis = call.axis(call.whole("dim"), len(source))
    parts = call.node.meta["example_value"]
    sizes = fixed(tuple(part.shape[axis] for part in parts))
    names = tuple(part_name(call.node.name, number) for number in range(len(sizes)))
    return [call.inner("split", names, _source(call), axis=axis, sizes=sizes)]


def part_name(name: str, number: int) -> str:
    """Return the name of an output of an operator that has several."""
    return f"{name}.{number}"


def _pad(call: Call) -> list[Operation]:
    if call.arguments.get("mode", "constant") != "constant":
        raise Unsupported(f"its mode is {call['mode']}, not constant")
    rank, flat = len(call.shape(_source(call))), call.wholes("pad")
    margins = [(0, 0)] * (rank - len(flat) // 2) + list(zip(flat[::2], flat[1::2]))[::-1]
    if margins[0] != (0, 0):
        raise Unsupported("it goes across images")
    value = call.number("value") if call.given("value") else 0.0
    return [call.make("pad", _source(call), margins=tuple(margins), value=value)]


def changes_nothing(node: Node) -> bool:
    """Return whether an operator returns its input. The check covers operators that may do so, and slices."""
    if not isinstance(node.target, torch._ops.OpOverload):
        return False
    names = (each.name for each in node.target._schema.arguments)
    given: dict[str, object] = {**dict(zip(names, node.args)), **node.kwargs}
    if node.target._schema.name == "aten::slice":
        source = node.args[0]
        assert isinstance(source, Node)  # a slice is of a tensor
        taken, made = (each.meta["example_value"].shape for each in (source, node))
        return given.get("step", 1) == 1 and str(taken) == str(made)
    return MOVES.get(node.target._schema.name) is identity and not given.get("train", False)


def _slice(call: Call) -> list[Operation]:
    source = call.shape(_source(call))
    if changes_nothing(call.node):
        return identity(call)
    axis = call.axis(call.whole("dim"), len(source))
    part = slice(call["start"], call["end"], call["step"]).indices(source[axis])
    begin, end, steps = [0] * len(source), list(source), [1] * len(source)
    begin[axis], end[axis], steps[axis] = part
    return [call.make("slice", _source(call), begin=tuple(begin), end=tuple(end), steps=tuple(steps))]


def _source(call: Call) -> object:
    return call["self"] if "self" in call.arguments else call["input"]


MOVES: dict[str, Translation] = {
    **{f"aten::{name}": identity for name in ("dropout", "contiguous", "clone", "detach", "alias")},
    **{
        f"aten::{name}": _reshape
        for name in ("flatten", "view", "reshape", "_unsafe_view", "unsqueeze", "squeeze", "unflatten")
    },
    "aten::permute": _permute,
    "aten::transpose": _transpose,
    "aten::cat": _concat,
    "aten::concat": _concat,
    **{f"aten::{name}": _split for name in ("split", "split_with_sizes", "chunk")},
    "aten::constant_pad_nd": _pad,
    "aten::pad": _pad,
    "aten::slice": _slice,
}
