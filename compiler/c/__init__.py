# SPDX-License-Identifier: Apache-2.0
"""Compilation of networks to C99: `write` turns a Graph from the front end into a header and sources for any C
compiler.

lowering  kernel calls of a graph's nodes, by the records of their operators
arena     memory allocation of tensors
names     identifiers
kernels   C code that is written by hand
sources   the files

Kernels and their numbers (compiler/kernel_calls/) are independent of the golden model, so that each checks the other
(docs/howto/c.md).
"""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eyrie.compiler.c.sources import Sources
    from eyrie.compiler.ir.graph import Graph


def write(graph: "Graph", folder: str | Path, name: str = "network") -> "Sources":
    """Write NAME.h, NAME.c and NAME_constants.h into the folder, and make the folder if it does not exist.

    name: an identifier, or a text from which `write` makes one. Raise CompileError if an operator is not supported, and
    InputError, with one line, if files cannot be written.
    """
    from eyrie.compiler.c.sources import sources_of

    made = sources_of(graph, name)
    made.save(folder)
    return made
