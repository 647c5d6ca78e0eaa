# SPDX-License-Identifier: Apache-2.0
"""Translators of ATen operators, from the records of all operators."""

import torch
from torch.fx import Node

from eyrie.compiler.frontend.pytorch.call import Translation, named_arguments, takes_all
from eyrie.compiler.operators.float_functions import Identity
from eyrie.compiler.operators.registry import names, translators

_ATEN = "aten::"
_TRANSLATORS = {name if "::" in name else f"{_ATEN}{name}": made for name, made in translators("aten").items()}
_IDENTITIES = tuple(f"{_ATEN}{name}" for name in names(Identity, "aten"))


def translation(target: object) -> Translation | None:
    """Return the translator of an operator; its in-place variant has the same one."""
    if not isinstance(target, torch._ops.OpOverload):
        return None
    return _TRANSLATORS.get(target._schema.name.removesuffix("_"))


def changes_nothing(node: Node) -> bool:
    """Return whether an operator returns its input. The check covers operators that may do so, and slices."""
    if not isinstance(node.target, torch._ops.OpOverload):
        return False
    if node.target._schema.name == f"{_ATEN}slice":
        return takes_all(node)
    return node.target._schema.name in _IDENTITIES and not named_arguments(node).get("train", False)
