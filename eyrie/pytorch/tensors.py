# SPDX-License-Identifier: Apache-2.0
"""Tensors of a graph that are the same in every run."""

import numpy as np
from torch import Tensor
from torch.fx import GraphModule, Node


def fixed_tensors(module: GraphModule, example_inputs: list[Tensor]) -> dict[Node, Tensor]:
    """Return parameters and buffers, which are arguments of the graph or its attributes."""
    found: dict[Node, Tensor] = {}
    given = iter(example_inputs)
    for node in module.graph.nodes:
        if node.op == "placeholder":
            value = next(given)
            if "_dynamo_static_input_type" in (node.meta.get("tensor_dict") or {}):
                found[node] = value
        elif node.op == "get_attr":
            held: object = module
            for part in node.target.split("."):
                held = getattr(held, part)
            if isinstance(held, Tensor):
                found[node] = held
    return found


def array_of(tensor: Tensor) -> np.ndarray:
    return tensor.detach().cpu().numpy()
