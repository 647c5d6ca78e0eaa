# SPDX-License-Identifier: Apache-2.0
"""What is done to a network first, whatever runs it: the values of its outputs stay as they are."""

from compiler.ir.graph import Graph
from compiler.passes.expand import expand
from compiler.passes.fold_pads import fold_pads
from compiler.passes.remove_idle import remove_idle


def simplified(graph: Graph) -> Graph:
    """Fewer and simpler operators."""
    return fold_pads(remove_idle(expand(graph)))
