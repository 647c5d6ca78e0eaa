# SPDX-License-Identifier: Apache-2.0
"""Machines as text: a level's text (docs/ir.md) with one value, `machine`."""

from pathlib import Path

from eyrie.compiler.ir.buffer_tree import BufferTree
from eyrie.compiler.ir.heading import heading
from eyrie.compiler.text.reading import Misread, values_of
from eyrie.compiler.text.writing import written
from eyrie.model.reading import read_file

LEVEL = "buffers"


def text_of(tree: BufferTree) -> str:
    return f"{heading(LEVEL)}\n{written({'machine': tree})}"


def load(path: str | Path) -> BufferTree:
    """Raises InputError, in one line that begins with the path and, as far as it can, line and column."""
    try:
        text = read_file(path, "write it as docs/buffers.md says").decode()
    except UnicodeDecodeError as error:
        raise Misread(f"{path}: no text: write it as docs/buffers.md says") from error
    if text.partition("\n")[0].rstrip() != heading(LEVEL):
        raise Misread(f"{path}:1:1: begin with the line {heading(LEVEL)!r}")
    machine = values_of(path, text).get("machine")
    if not isinstance(machine, BufferTree):
        raise Misread(f"{path}: machine is missing: write machine = BufferTree(..)")
    return machine
