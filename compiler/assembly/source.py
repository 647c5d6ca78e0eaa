# SPDX-License-Identifier: Apache-2.0
"""An assembly source after parsing: its declarations, and its blocks, which barriers separate.

docs/reference/assembly.md defines the language.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import numpy as np

from eyrie.compiler.assembly.commands import KEYWORDS
from eyrie.compiler.assembly.lexer import AssemblyError, Statement, statements
from eyrie.compiler.assembly.macros import MACROS, Known, node_of
from eyrie.compiler.assembly.tables import filter_of, quantization_of, shape_of, words_of
from eyrie.compiler.assembly.words import by_name, is_word
from eyrie.compiler.ir.graph import Graph, Node
from eyrie.compiler.ir.image import Image
from eyrie.compiler.ir.operator import quantized
from eyrie.compiler.ir.tensor import Quantized
from eyrie.model.config import DEFAULT, AcceleratorConfig
from eyrie.model.errors import InputError
from eyrie.model.messages import unknown
from eyrie.model.reading import read_file

REMEDY = "give a source of assembly (docs/reference/assembly.md)"
MOVES = {"fetch": True, "send": False}  # whether they load
DECLARATIONS = ("accelerator", "image", "input", "tensor", "output", "filter", "data", "buffer")
NAME = re.compile(r"[^\W\d][\w.]*")


@dataclass
class Layers:
    """A block of layers, which are planned together. places: of the tensors that they make, by name"""

    nodes: list[Node] = field(default_factory=list)
    places: dict[str, tuple[int, int]] = field(default_factory=dict)

    @property
    def reads(self) -> dict[str, Quantized]:
        """Return the tensors that the block reads and does not make."""
        return {
            tensor.name: quantized(tensor)
            for node in self.nodes
            for tensor in node.inputs
            if tensor.name not in self.places
        }

    def graph(self, wanted: set[str]) -> Graph:
        """Return the graph of the block, with the tensors in `wanted` as its outputs."""
        made = [node.outputs[0] for node in self.nodes]
        return Graph(
            tuple(self.reads.values()), tuple(self.nodes), tuple(tensor for tensor in made if tensor.name in wanted)
        )


@dataclass
class Commands:
    """A block of commands."""

    lines: list[Statement] = field(default_factory=list)

    @property
    def words(self) -> set[str]:
        """Return all names in the lines."""
        return {item.text.partition("+")[0] for line in self.lines for item in line.items}


Block = TypeVar("Block", bound=Layers | Commands)


@dataclass
class Source:
    """A parsed source.

    buffers: GLB address and words, by name; image: the folder that has the DRAM image of the program; given: tensors
    that commands write; outputs: places in the source that name them; last: the place of the last line
    """

    path: Path
    known: Known
    config: AcceleratorConfig = DEFAULT
    image: Image | None = None
    inputs: dict[str, Quantized] = field(default_factory=dict)
    given: dict[str, Quantized] = field(default_factory=dict)
    outputs: dict[str, tuple[int, int]] = field(default_factory=dict)
    data: dict[str, np.ndarray] = field(default_factory=dict)
    buffers: dict[str, tuple[int, int]] = field(default_factory=dict)
    blocks: list[Layers | Commands] = field(default_factory=list)
    places: dict[str, tuple[int, int]] = field(default_factory=dict)
    ended: bool = False
    last: tuple[int, int] = (1, 1)
    _fresh: bool = True  # whether the next line begins a block

    def take(self, statement: Statement) -> None:
        """Add a line. Raise AssemblyError."""
        keyword, self.last = statement.keyword, statement.place
        if self.ended:
            raise statement.error(f"{keyword} follows end, which ends the program: put it before")
        if keyword in DECLARATIONS:
            getattr(self, f"_{keyword}")(statement)
        elif keyword == "barrier":
            statement.expect((), ())
            self._fresh = True
        elif keyword in MACROS:
            node = node_of(statement, self.known)
            self._name(statement)
            block = self._block(Layers)
            block.nodes.append(node)
            block.places[node.where] = statement.place
            self.known.tensors[node.where] = quantized(node.outputs[0])
        elif keyword == "end":
            statement.expect((), ())
            self.ended = True
        elif keyword in KEYWORDS or keyword in MOVES or is_word(keyword):
            self._block(Commands).lines.append(statement)
        else:
            known = (*DECLARATIONS, *MACROS, *MOVES, *KEYWORDS, "barrier", *by_name())
            raise statement.error(unknown("statement", keyword, known, "docs/reference/assembly.md"))

    def _block(self, kind: type[Block]) -> Block:
        if not self._fresh and isinstance(self.blocks[-1], kind):
            return self.blocks[-1]
        block = kind()
        self.blocks.append(block)
        self._fresh = False
        return block

    def _name(self, statement: Statement) -> str:
        """Return the first item, a name that is not in use. Raise AssemblyError if it is."""
        item = statement.unnamed[0]
        if not NAME.fullmatch(item.text):
            raise item.error(f"{item.text!r} is no name: begin with a letter, go on with letters, digits, _ and .")
        if item.text in self.places:
            raise item.error(f"{item.text} is there already, from line {self.places[item.text][0]}: take another name")
        self.places[item.text] = item.place
        return item.text

    def _first(self, statement: Statement) -> None:
        if self.places or self.blocks:
            raise statement.error(f"{statement.keyword} after other lines: put it first")

    # ---- Declarations ----

    def _accelerator(self, statement: Statement) -> None:
        self._first(statement)
        try:
            if statement.named:
                statement.expect((), list(DEFAULT.as_dict()))
                values = {name: item.number() for name, item in statement.named.items()}
                self.config = AcceleratorConfig.of(values)
            else:
                statement.expect(("FILE|NAME=VALUE",), ())
                self.config = AcceleratorConfig.load(self.known.folder / statement.unnamed[0].text)
        except AssemblyError:
            raise
        except InputError as error:
            raise statement.error(str(error)) from None

    def _image(self, statement: Statement) -> None:
        self._first(statement)
        statement.expect(("FOLDER",), ())
        try:
            self.image = Image.load(self.known.folder / statement.unnamed[0].text)
        except InputError as error:
            raise statement.unnamed[0].error(str(error)) from None
        self.config = self.image.config

    def _tensor(self, statement: Statement) -> Quantized:
        statement.expect(("NAME", "SHAPE"), ("scale", "zero_point"), ("scale",))
        shape, quantization = shape_of(statement.unnamed[1]), quantization_of(statement)
        tensor = Quantized(name=self._name(statement), shape=shape, dtype="int8", quantization=quantization)
        self.known.tensors[tensor.name] = self.given[tensor.name] = tensor
        return tensor

    def _input(self, statement: Statement) -> None:
        tensor = self._tensor(statement)
        self.inputs[tensor.name] = self.given.pop(tensor.name)

    def _output(self, statement: Statement) -> None:
        statement.expect(("NAME...",), ())
        for item in statement.unnamed:
            name = self.known.tensor(item).name
            if name in self.inputs or name in self.outputs:
                what = "an input" if name in self.inputs else "an output already"
                raise item.error(f"{name} is {what}: leave it out")
            self.outputs[name] = item.place

    def _filter(self, statement: Statement) -> None:
        found = filter_of(statement, self.known.folder)
        self.known.filters[self._name(statement)] = found

    def _data(self, statement: Statement) -> None:
        found = words_of(statement, self.known.folder)
        self.data[self._name(statement)] = found

    def _buffer(self, statement: Statement) -> None:
        """Add a buffer at its `at` address, by default after the last buffer. Raise AssemblyError."""
        statement.expect(("NAME",), ("words", "at"), ("words",))
        words = statement.named["words"].number()
        last = max((address + size for address, size in self.buffers.values()), default=0)
        address = statement.named["at"].number() if "at" in statement.named else last
        if not 0 <= address < address + words <= self.config.glb_words:
            raise statement.error(
                f"buffer {statement.unnamed[0].text} takes GLB words {address} to {address + words}, "
                f"but the GLB has {self.config.glb_words}: make it smaller, or share words with at="
            )
        self.buffers[self._name(statement)] = address, words

    # ---- What blocks need of each other ----

    def wanted(self, number: int) -> set[str]:
        """Return the names of tensors that are outputs or that a later block reads."""
        behind = self.blocks[number + 1 :]
        return set(self.outputs).union(*(block.reads if isinstance(block, Layers) else block.words for block in behind))

    def shared(self, number: int) -> frozenset[str]:
        """Return the names of tensors that a block of layers and another block read or make."""
        own = self.blocks[number]
        assert isinstance(own, Layers)
        others = self.blocks[:number] + self.blocks[number + 1 :]
        known = (block.words if isinstance(block, Commands) else {*block.reads, *block.places} for block in others)
        return frozenset((*own.reads, *own.places)).intersection(set().union(*known))

    def checked(self) -> Source:
        """Return the source. Raise AssemblyError if the program is empty."""
        if not self.blocks:
            raise AssemblyError((1, 1), f"no command and no layer: {REMEDY}")
        if self.image:
            self._check_with_image()
        elif not self.inputs or not self.outputs:
            missing = "input" if not self.inputs else "output"
            raise AssemblyError((1, 1), f"the program has no {missing}: add a line, {missing} NAME ...")
        return self

    def _check_with_image(self) -> None:
        surplus = [*self.known.tensors, *self.known.filters, *self.data]
        if surplus:
            raise AssemblyError(
                self.places[surplus[0]], f"{surplus[0]} beside an image, which has all data of DRAM: leave it out"
            )


def read(path: str | Path) -> Source:
    """Read and parse a source. Raise InputError, with one line, if the file cannot be read, AssemblyError if it has an
    error."""
    contents = read_file(path, REMEDY)
    try:
        text = contents.decode()
    except UnicodeDecodeError as error:
        line = contents.count(b"\n", 0, error.start) + 1
        column = error.start - contents.rfind(b"\n", 0, error.start)
        raise AssemblyError((line, column), f"no text in UTF-8: {REMEDY}") from None
    source = Source(Path(path), Known(Path(path).parent))
    for statement in statements(text):
        source.take(statement)
    return source.checked()
