# SPDX-License-Identifier: Apache-2.0
"""A network as C99: `write` makes of a Graph, as the front end gives it, a header and sources for any C compiler.

steps     calls of kernels, which lowering makes of a graph's nodes
weighted, pooling, elementwise, functions, movement, host: what becomes of which operators
scales, tables: the numbers of the kernels, of the scales of a graph
axes      strides
arena     places of tensors
names     identifiers
kernels   C that is written by hand
sources   the files

Kernels and their numbers stand beside the golden model: nothing here asks it what comes out (docs/howto/c.md).
"""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eyrie.compiler.c.sources import Sources
    from eyrie.compiler.ir.graph import Graph


def write(graph: "Graph", folder: str | Path, name: str = "network") -> "Sources":
    """Writes NAME.h, NAME.c and NAME_constants.h into the folder, which is made if need be; name: an identifier, or
    what one is made of.

    Raises CompileError for what is not written as C, InputError, in one line, where files cannot be written.
    """
    from eyrie.compiler.c.sources import sources_of

    made = sources_of(graph, name)
    made.save(folder)
    return made
