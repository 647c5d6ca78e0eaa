# SPDX-License-Identifier: Apache-2.0
"""Node scheduling: an order of nodes in which few values wait for later readers."""

from dataclasses import replace

from eyrie.compiler.ir.graph import Graph, Node


def order_nodes(graph: Graph) -> Graph:
    """Return the graph in the order with the smallest most_waiting.

    Candidates: the model's order, and depth first from the outputs with operands forwards or backwards. The first of
    equal ones wins.
    """
    orders = (graph.nodes, _depth_first(graph, 1), _depth_first(graph, -1))
    graphs = [replace(graph, nodes=nodes) for nodes in orders]
    return min(graphs, key=most_waiting)


def most_waiting(graph: Graph) -> int:
    """Return the peak number of values of tensors that are live at once."""
    last = {tensor.name: n for n, node in enumerate(graph.nodes) for tensor in node.activations}
    made = {tensor.name for node in graph.nodes for tensor in node.outputs}
    waiting = most = 0
    for n, node in enumerate(graph.nodes):
        waiting += sum(tensor.size for tensor in node.outputs)
        most = max(most, waiting)
        over = {
            tensor.name: tensor.size for tensor in node.activations if tensor.name in made and last[tensor.name] == n
        }
        over |= {tensor.name: tensor.size for tensor in node.outputs if tensor.name not in last}
        waiting -= sum(over.values())
    return most


def _depth_first(graph: Graph, step: int) -> tuple[Node, ...]:
    """Return the nodes so that each follows the makers of its operands. step: -1 visits operands from the last to the
    first"""
    makers = {tensor.name: node for node in graph.nodes for tensor in node.outputs}
    done: dict[int, Node] = {}
    stack = [makers[tensor.name] for tensor in reversed(graph.outputs)]
    while stack:
        node = stack[-1]
        before = [makers[tensor.name] for tensor in node.activations[::-step] if tensor.name in makers]
        missing = [each for each in before if id(each) not in done]
        if missing:
            stack += missing
            continue
        done.setdefault(id(stack.pop()), node)
    return tuple(done.values())
