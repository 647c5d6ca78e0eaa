# SPDX-License-Identifier: Apache-2.0
"""What is done to a network first, whatever runs it: the values of its outputs stay as they are."""

from eyrie.compiler.ir.graph import Graph
from eyrie.compiler.passes.compose_functions import compose_functions
from eyrie.compiler.passes.compose_moves import compose_moves
from eyrie.compiler.passes.expand import expand
from eyrie.compiler.passes.fold_moves import fold_moves
from eyrie.compiler.passes.fold_pads import fold_pads
from eyrie.compiler.passes.remove_idle import remove_idle
from eyrie.compiler.passes.turn_maps import has_columns, turn_maps


def simplified(graph: Graph, compose: bool = True, turn: bool = False) -> Graph:
    """Fewer and simpler operators. compose: moves become one, or part of a layer. Layers take over what they can before
    the rest is composed; that may be a PAD, or nothing. turn: maps of one column become rows."""
    graph = fold_pads(remove_idle(compose_functions(expand(graph))))
    graph = turn_maps(graph) if turn else graph
    return fold_pads(remove_idle(compose_moves(fold_moves(graph)))) if compose else graph


def composes(graph: Graph) -> bool:
    """Whether a network has moves that can be put together, or in a layer."""
    composed, as_it_is = ([*map(str, simplified(graph, compose).nodes)] for compose in (True, False))
    return sorted(composed) != sorted(as_it_is)


def turns(graph: Graph) -> bool:
    """Whether a network has maps of one column that operators can take as rows."""
    return has_columns(simplified(graph))
