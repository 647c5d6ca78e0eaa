# SPDX-License-Identifier: Apache-2.0
"""The graph optimisations that run first, for all targets. They keep the values of the outputs."""

from collections.abc import Collection

from eyrie.compiler.ir.graph import Graph
from eyrie.compiler.passes.compose_functions import compose_functions
from eyrie.compiler.passes.compose_moves import compose_moves
from eyrie.compiler.passes.expand import expand
from eyrie.compiler.passes.fold_moves import fold_moves
from eyrie.compiler.passes.fold_pads import fold_pads
from eyrie.compiler.passes.remove_idle import remove_idle
from eyrie.compiler.passes.stack_images import stack_images
from eyrie.compiler.passes.turn_maps import has_columns, turn_maps
from eyrie.compiler.passes.undo_reshapes import undo_reshapes


def simplified(graph: Graph, compose: bool = True, turn: bool = False, shared: Collection[str] = ()) -> Graph:
    """Return the graph with fewer and simpler operators.

    compose: compose data-movement operators, or fold them into layers. Layers come first; this may leave a PAD, or no
    operator. turn: feature maps of one column become rows, but for inputs and outputs that another program shares
    """
    graph = fold_pads(remove_idle(compose_functions(expand(stack_images(undo_reshapes(graph))))))
    graph = turn_maps(graph, shared) if turn else graph
    return fold_pads(remove_idle(compose_moves(fold_moves(graph)))) if compose else graph


def composes(graph: Graph) -> bool:
    """Return whether a network has data-movement operators that can be composed or folded into a layer."""
    composed, as_it_is = ([*map(str, simplified(graph, compose).nodes)] for compose in (True, False))
    return sorted(composed) != sorted(as_it_is)


def turns(graph: Graph) -> bool:
    """Return whether a network has feature maps of one column that can become rows."""
    return has_columns(simplified(graph))
