# SPDX-License-Identifier: Apache-2.0
"""Values of an FX graph that an operator changes in place."""

from collections.abc import Iterator
from operator import getitem

import torch
from torch.fx import Graph, Node

from eyrie.compiler.frontend.pytorch.operators import changes_nothing

IN_PLACE = "it changes a value in place that is read again, or stays for the next run: make a new value of it"


def changed_in_place(graph: Graph) -> dict[Node, Node]:
    """Return the values that an operator changes in place although others read them later, each with that operator, and
    all values that share memory with them. Inputs, parameters and buffers count as read later.

    The result of an in-place operator is a value of its own: `add_` on a value that is not read again is as good as
    `add`.
    """
    place = {node: number for number, node in enumerate(graph.nodes)}
    owner: dict[Node, Node] = {}  # of the memory
    found: dict[Node, Node] = {}  # by owner
    for node in graph.nodes:
        source = _shared(node)
        owner[node] = owner[source] if source else node
        for changed in map(owner.__getitem__, _changed(node)):
            before = (each for each in place if owner.get(each) is changed and each is not node)
            read = any(place[reader] > place[node] for each in before for reader in each.users)
            if read or changed.op in ("placeholder", "get_attr"):
                found.setdefault(changed, node)
    return {node: found[owner[node]] for node in graph.nodes if owner[node] in found}


def _shared(node: Node) -> Node | None:
    """Return the value whose memory a node's value may share, None for a value of its own."""
    if not node.op.startswith("call_") or not node.all_input_nodes:
        return None
    own = isinstance(node.target, torch._ops.OpOverload) and not (
        any(made.alias_info for made in node.target._schema.returns) or changes_nothing(node)
    )
    return None if own else node.all_input_nodes[0]


def _changed(node: Node) -> Iterator[Node]:
    """Yield the values that a node changes."""
    if isinstance(node.target, torch._ops.OpOverload):
        for argument, value in zip(node.target._schema.arguments, node.args):
            if isinstance(value, Node) and argument.alias_info and argument.alias_info.is_write:
                yield value
    elif node.op in ("call_method", "call_function") and node.target is not getitem:
        name = str(getattr(node.target, "__name__", node.target))
        if (name.endswith("_") and not name.endswith("__")) or name in ("setitem", "iadd", "isub", "imul", "itruediv"):
            yield from node.all_input_nodes[:1]
