# SPDX-License-Identifier: Apache-2.0
"""Commands as text, one a line; the words of a CONFIG have a line each (docs/reference/assembly.md)."""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields

from eyrie.compiler.assembly.lexer import Item, Statement, statements
from eyrie.compiler.assembly.words import is_word, parse_word, word_text
from eyrie.compiler.ir.program import MOST_TOKENS, Block, Command, Config, End, Run, Transfer
from eyrie.model.errors import InputError
from eyrie.model.messages import unknown

TRANSFERS = {"load": True, "store": False}
RUN = tuple(each.name for each in fields(Run))
BLOCK = tuple(each.name for each in fields(Block))
PLACES = {"dram": "dram_address", "glb": "glb_address"}  # fields of a transfer by their short names
TRANSFER = (*PLACES, "words", "wait_passes", "wait_chunks", "chunk", "coded", "table")
KEYWORDS = ("config", "pass", *TRANSFERS, "end")
_LIMITS = dict.fromkeys(("wait_transfers", "wait_passes", "wait_chunks"), MOST_TOKENS) | {"chunk": 1, "table": 1}


def to_text(commands: Sequence[Command]) -> str:
    return "".join(f"{command_text(command)}\n" for command in commands)


def command_text(command: Command) -> str:
    """Return the lines of a command, without the last one's end; fields that are 0 are left out."""
    if isinstance(command, Config):
        lines = [word_text(command.index + n, word) for n, word in enumerate(command.words)]
        return "config " + "\n  ".join(lines)
    if isinstance(command, Run):
        return " ".join(["pass", *_fields(vars(command))])
    if isinstance(command, Transfer):
        short = {name: getattr(command, PLACES.get(name, name)) for name in TRANSFER}
        block = [f"{name}={value}" for name, value in vars(command.block).items()] if command.block else []
        return " ".join(
            [
                "load" if command.load else "store",
                f"dram=0x{short.pop('dram'):08x}",
                f"glb={short.pop('glb')}",
                f"words={short.pop('words')}",
                *_fields(short),
                *block,
            ]
        )
    return "end"


def _fields(values: dict[str, int]) -> list[str]:
    return [f"{name}={int(value)}" for name, value in values.items() if value]


@dataclass
class Parser:
    """The parser of command lines. dram, glb: symbols for DRAM addresses and GLB words

    places: line and column of each command
    """

    dram: dict[str, int] = field(default_factory=dict)
    glb: dict[str, int] = field(default_factory=dict)
    commands: list[Command] = field(default_factory=list)
    places: list[tuple[int, int]] = field(default_factory=list)

    def take(self, statement: Statement) -> None:
        """Add the command of a line. Raise AssemblyError."""
        if self.commands and isinstance(self.commands[-1], End):
            raise statement.error(f"{statement.keyword} follows end, which ends the program: put it before")
        if is_word(statement.keyword):
            self._word(statement, goes_on=True)
        elif statement.keyword == "config":
            if not statement.unnamed:
                raise statement.error("config needs the name of a word of the descriptor: it is missing")
            first, *rest = statement.unnamed
            self._word(Statement(first.place, first.text, tuple(rest), statement.named), goes_on=False)
        else:
            self._add(statement, self._command(statement))

    def _add(self, statement: Statement, command: Command) -> None:
        try:
            command.encode()
        except InputError as error:
            raise statement.error(str(error)) from None
        self.commands.append(command)
        self.places.append(statement.place)

    def _word(self, statement: Statement, goes_on: bool) -> None:
        """Add a word of the descriptor to the CONFIG before it, or begin a CONFIG with it."""
        index, value = parse_word(statement, self.glb)
        before = self.commands[-1] if self.commands else None
        if goes_on:
            if not isinstance(before, Config):
                raise statement.error(f"{statement.keyword} without config: write config {statement.keyword}")
            if index == before.index + len(before.words):
                self.commands[-1] = Config(before.index, (*before.words, value))
                return
        self._add(statement, Config(index, (value,)))

    def _command(self, statement: Statement) -> Command:
        keyword = statement.keyword
        if keyword == "end":
            statement.expect((), ())
            return End()
        if keyword == "pass":
            statement.expect((), RUN)
            return Run(*(self._number(statement, name) for name in RUN))
        if keyword not in TRANSFERS:
            raise statement.error(unknown("command", keyword, KEYWORDS))
        block = any(name in statement.named for name in BLOCK)
        statement.expect((), (*TRANSFER, *BLOCK), ("dram", "glb", "words", *(BLOCK if block else ())))
        values = {name: self._number(statement, name) for name in TRANSFER}
        return Transfer(
            TRANSFERS[keyword],
            dram_address=values["dram"],
            glb_address=values["glb"],
            words=values["words"],
            wait_passes=values["wait_passes"],
            wait_chunks=values["wait_chunks"],
            chunk=bool(values["chunk"]),
            block=Block(*(self._number(statement, name) for name in BLOCK)) if block else None,
            coded=values["coded"],
            table=bool(values["table"]),
        )

    def _number(self, statement: Statement, name: str) -> int:
        """Return the value of a field, 0 if the line does not give it."""
        item = statement.named.get(name)
        if item is None:
            return 0
        value = item.number({"dram": self.dram, "glb": self.glb}.get(name))
        return _within(item, value)


def _within(item: Item, value: int) -> int:
    limit = _LIMITS.get(item.name)
    if limit is not None and not 0 <= value <= limit:
        raise item.error(f"{item.name} = {value}: must be in 0 to {limit}")
    return value


def from_text(text: str) -> list[Command]:
    """Return the commands of a text. Raise AssemblyError."""
    parser = Parser()
    for statement in statements(text):
        parser.take(statement)
    return parser.commands
