# SPDX-License-Identifier: Apache-2.0
"""Translators of ATen operators, from the records of all operators."""

import torch
from torch.fx import Node

from eyrie.compiler.frontend.pytorch.call import Translation, named_arguments, takes_all
from eyrie.compiler.operators.float_functions import Identity
from eyrie.compiler.operators.registry import names, translators

_ATEN = "aten::"
_TRANSLATORS = {name if "::" in name else f"{_ATEN}{name}": made for name, made in translators("aten").items()}
_OF_SHARES = (1 / 256, -128)  # scale and zero point of 0 to 1
FIXED_SCALES = {"sigmoid": _OF_SHARES, "hardsigmoid": _OF_SHARES, "softmax": _OF_SHARES, "tanh": (1 / 128, 0)}
KEEP_SCALE = ("split", "split_with_sizes", "chunk", "upsample_bilinear2d")  # of their input, without one of their own
_IDENTITIES = tuple(f"{_ATEN}{name}" for name in names(Identity, "aten"))


def translation(target: object) -> Translation | None:
    """Return the translator of an operator; its in-place variant has the same one."""
    if not isinstance(target, torch._ops.OpOverload):
        return None
    return _TRANSLATORS.get(target._schema.name.removesuffix("_"))


def is_idle(node: Node) -> bool:
    """Return whether an operator makes the values of its input, such as a dropout that does not train."""
    if not isinstance(node.target, torch._ops.OpOverload):
        return False
    return node.target._schema.name in _IDENTITIES and not named_arguments(node).get("train", False)


def changes_nothing(node: Node) -> bool:
    """Return whether an operator is idle, or a slice of all values."""
    if isinstance(node.target, torch._ops.OpOverload) and node.target._schema.name == f"{_ATEN}slice":
        return takes_all(node)
    return is_idle(node)
