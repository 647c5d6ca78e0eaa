# SPDX-License-Identifier: Apache-2.0
"""Tensors of a graph that are the same in every run."""

from collections.abc import Mapping
from contextlib import suppress

import numpy as np
from torch import Tensor
from torch.fx import GraphModule, Node

from eyrie.compiler.frontend.pytorch.aliases import changed_in_place


def fixed_tensors(module: GraphModule, example_inputs: list[Tensor]) -> dict[Node, Tensor]:
    """Return parameters and buffers, which are arguments of the graph or its attributes, but for those that the graph
    changes."""
    found: dict[Node, Tensor] = {}
    changed = changed_in_place(module.graph)
    given = iter(example_inputs)
    for node in module.graph.nodes:
        if node.op == "placeholder":
            value = next(given)
            if "_dynamo_static_input_type" in (node.meta.get("tensor_dict") or {}) and node not in changed:
                found[node] = value
        elif node.op == "get_attr" and node not in changed:
            held: object = module
            for part in node.target.split("."):
                held = getattr(held, part)
            if isinstance(held, Tensor):
                found[node] = held
    return found


def arrays_of(tensors: Mapping[Node, Tensor]) -> dict[Node, np.ndarray]:
    """Return the values of tensors, but for types that NumPy lacks."""
    found: dict[Node, np.ndarray] = {}
    for node, tensor in tensors.items():
        with suppress(TypeError, RuntimeError):
            found[node] = tensor.detach().cpu().numpy()
    return found
