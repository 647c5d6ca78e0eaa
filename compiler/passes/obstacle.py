# SPDX-License-Identifier: Apache-2.0
"""The check whether the accelerator can run all of a Graph."""

from eyrie.compiler.ir.graph import Graph
from eyrie.compiler.passes.constraints import of_operator
from eyrie.compiler.passes.simplify import simplified


def obstacle(graph: Graph) -> str:
    """Return the reason why the accelerator cannot run a Graph, or "" if it can."""
    found = []
    for compose in (True, False):
        made = simplified(graph, compose)
        found.append([f"{node.operator.name}: {reason}" for node in made.nodes for reason in of_operator(node, made)])
    return found[-1][0] if all(found) else ""
