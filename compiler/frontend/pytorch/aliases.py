# SPDX-License-Identifier: Apache-2.0
"""Values of an FX graph that an operator changes in place."""

from collections.abc import Iterator, Mapping
from operator import getitem

import torch
from torch.fx import Graph, Node
from torch.utils._pytree import tree_leaves

from eyrie.compiler.frontend.pytorch.call import named_arguments, short
from eyrie.compiler.frontend.pytorch.operators import is_idle, translation
from eyrie.compiler.ir.failure import Unsupported


def changed_in_place(graph: Graph) -> dict[Node, Node]:
    """Return the values that an operator changes in place although they, or values that share their memory, are read
    later, each with that operator. Inputs, parameters and buffers count as read later.

    The result of an in-place operator is a value of its own: `add_` on a value that is not read again is as good as
    `add`. An operator that is not known may change all its inputs, and share their memory.
    """
    place = {node: number for number, node in enumerate(graph.nodes)}
    owners: dict[Node, frozenset[Node]] = {}  # of the memory that a value may share
    last_read: dict[Node, int] = {}  # place of the last reader of an owner's memory, so far
    found: dict[Node, Node] = {}  # by owner
    for node in graph.nodes:
        inputs = frozenset[Node]().union(*(owners[each] for each in node.all_input_nodes))
        for owner in frozenset[Node]().union(*(owners[each] for each in _changed(node))):
            stays = owner.op in ("placeholder", "get_attr") or "out" in node.kwargs
            if stays or last_read[owner] > place[node]:
                found.setdefault(owner, node)
        owners[node] = inputs if _shares(node) and inputs else frozenset([node])
        last = max(map(place.__getitem__, node.users), default=0)
        last_read |= {owner: max(last, last_read.get(owner, 0)) for owner in owners[node]}
    return {node: next(found[each] for each in of if each in found) for node, of in owners.items() if of & found.keys()}


def reject_changes(changed: Mapping[Node, Node], names: Mapping[str, str]) -> None:
    """Raise Unsupported if an operator changes a value in place. names: the user's names of nodes"""
    if changed:
        operator = next(iter(changed.values()))
        raise Unsupported(
            f"{names.get(operator.name, short(operator))}: it changes a value in place, which is read again, shares "
            "memory, or stays for the next run",
            remedy="make a new value",
        )


def _shares(node: Node) -> bool:
    """Return whether a node's value may share the memory of its inputs."""
    if not isinstance(node.target, torch._ops.OpOverload):
        return node.op.startswith("call_")
    schema = node.target._schema
    if schema.name == "aten::clone" or schema.name.startswith("quantized_decomposed::"):
        return False
    return any(made.alias_info for made in schema.returns) or is_idle(node) or translation(node.target) is None


def _changed(node: Node) -> Iterator[Node]:
    """Yield the values that a node may change."""
    if not node.op.startswith("call_") or node.target is getitem or node.target == "_guards_fn":
        return  # the last one checks shapes, for torch.export
    if not isinstance(node.target, torch._ops.OpOverload):
        yield from node.all_input_nodes
        return
    given = named_arguments(node)
    for argument in node.target._schema.arguments:
        if argument.alias_info and argument.alias_info.is_write:
            yield from (each for each in tree_leaves(given.get(argument.name)) if isinstance(each, Node))
