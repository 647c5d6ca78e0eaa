# SPDX-License-Identifier: Apache-2.0
"""Memory hierarchies as text: a stage's text (docs/reference/ir.md) with one value."""

from pathlib import Path

from eyrie.compiler.ir.buffer_tree import BufferTree
from eyrie.compiler.ir.heading import heading
from eyrie.compiler.text.reading import Misread, values_of
from eyrie.compiler.text.writing import written
from eyrie.model.reading import read_file

STAGE = "buffers"


def text_of(tree: BufferTree) -> str:
    return f"{heading(STAGE)}\n{written({'accelerator': tree})}"


def load(path: str | Path) -> BufferTree:
    """Read a memory hierarchy. Raise InputError, with one line that begins with the path and, if possible, line and
    column."""
    try:
        text = read_file(path, "write it as docs/howto/buffers.md says").decode()
    except UnicodeDecodeError as error:
        raise Misread(f"{path}: no text: write it as docs/howto/buffers.md says") from error
    if text.partition("\n")[0].rstrip() != heading(STAGE):
        raise Misread(f"{path}:1:1: begin with the line {heading(STAGE)!r}")
    tree = values_of(path, text).get("accelerator")
    if not isinstance(tree, BufferTree):
        raise Misread(f"{path}: accelerator is missing: write accelerator = BufferTree(..)")
    return tree
