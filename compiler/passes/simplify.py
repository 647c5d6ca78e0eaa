# SPDX-License-Identifier: Apache-2.0
"""What is done to a network first, whatever runs it: the values of its outputs stay as they are."""

from compiler.ir.graph import Graph
from compiler.passes.compose_moves import compose_moves
from compiler.passes.expand import expand
from compiler.passes.fold_moves import fold_moves
from compiler.passes.fold_pads import fold_pads
from compiler.passes.remove_idle import remove_idle


def simplified(graph: Graph) -> Graph:
    """Fewer and simpler operators. Layers take over what they can of moves before the rest of them is composed; that
    may be a PAD, or nothing."""
    return fold_pads(remove_idle(compose_moves(fold_moves(fold_pads(remove_idle(expand(graph)))))))
