# SPDX-License-Identifier: Apache-2.0
"""The names of values in a user's model: names of modules, arguments, and operators outside of modules."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from torch.fx import GraphModule, Node

from eyrie.compiler.frontend.pytorch.call import short
from eyrie.compiler.ir.graph import Graph
from eyrie.compiler.ir.tensor import Tensor

_QUANTIZE = "quantize_per_tensor"
_LAYOUT = re.compile(r"(\w+)(\.image|#\d+)")  # of a value whose axes have another order


def names_of(model: GraphModule) -> dict[str, str]:
    """Return the user's name of each operator of an exported model, by the node's name. A QUANTIZE is named after what
    it quantises, and no two of them alike."""
    names: dict[str, str] = {}
    counts: Counter[str] = Counter()
    for node in model.graph.nodes:
        if node.op != "call_function":
            continue
        source = node.args[0] if short(node) == _QUANTIZE else None
        if not isinstance(source, Node):
            names[node.name] = _name(node)
            continue
        name = _name(source)
        names[node.name] = f"{name}_{counts[name]}" if counts[name] else name
        counts[name] += 1
    return names


def _name(node: Node) -> str:
    """Return the path of a module of PyTorch's, or of the module around an operator, and the operator."""
    if node.op == "placeholder":
        return str(node.target)
    modules = list((node.meta.get("nn_module_stack") or {"": ("", "")}).values())
    path, kind = modules[-1]
    return path if str(kind).startswith("torch.nn.") else f"{path}.{short(node)}".lstrip(".")


def _is_value(name: str) -> bool:
    """Return whether a name belongs to a node's value, in some order of its axes."""
    return name.isidentifier() or bool(_LAYOUT.fullmatch(name))


def _base(name: str) -> str:
    return re.split(r"\W", name, maxsplit=1)[0]


def renamed(graph: Graph, names: Mapping[str, str]) -> Graph:
    """Return a Graph whose tensors have the names of `names_of` in place of their nodes'. A value that is there in
    one order of its axes only has no order in its name."""
    tensors = [*graph.inputs, *(tensor for node in graph.nodes for tensor in (*node.inputs, *node.outputs))]
    orders = Counter(_base(name) for name in {each.name for each in tensors} if _is_value(name))

    def new(tensor: Tensor) -> Tensor:
        base = _base(tensor.name)
        tail = "" if _is_value(tensor.name) and orders[base] == 1 else tensor.name[len(base) :]
        return replace(tensor, name=f"{names[base]}{tail}") if base in names else tensor

    def all_new(some: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return tuple(map(new, some))

    nodes = (replace(node, inputs=all_new(node.inputs), outputs=all_new(node.outputs)) for node in graph.nodes)
    return Graph(all_new(graph.inputs), tuple(nodes), all_new(graph.outputs))
