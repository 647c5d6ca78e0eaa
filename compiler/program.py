"""Programs: lists of commands, their binary form and their text form (one line per command)."""

from dataclasses import dataclass

import numpy as np

from model import encoding as enc
from model.encoding import Opcode


@dataclass(frozen=True)
class Config:
    """Writes `words` into the shadow descriptor from `index` on."""

    index: int
    words: tuple[int, ...]

    def encode(self) -> list[int]:
        return [enc.CONFIG.pack(opcode=Opcode.CONFIG, index=self.index, count=len(self.words)), *self.words]

    def __str__(self) -> str:
        return " ".join([f"config index={self.index}", *(f"{word:016x}" for word in self.words)])


@dataclass(frozen=True)
class Run:
    """Runs a pass, after so many transfers and passes are done."""

    wait_transfers: int
    wait_passes: int

    def encode(self) -> list[int]:
        return [enc.PASS.pack(opcode=Opcode.PASS, wait_transfers=self.wait_transfers & 0xFFFF,
                              wait_passes=self.wait_passes & 0xFFFF)]

    def __str__(self) -> str:
        return f"pass wait_transfers={self.wait_transfers} wait_passes={self.wait_passes}"


@dataclass(frozen=True)
class Transfer:
    """Moves `words` contiguous GLB words; load: from DRAM into the GLB."""

    load: bool
    dram_address: int
    glb_address: int
    words: int
    wait_passes: int = 0
    wait_chunks: int = 0
    chunk: bool = False

    def encode(self) -> list[int]:
        return [
            enc.TRANSFER.pack(opcode=Opcode.LOAD if self.load else Opcode.STORE, chunk=int(self.chunk),
                              words=self.words, wait_passes=self.wait_passes & 0xFFFF,
                              wait_chunks=self.wait_chunks & 0xFFFF),
            enc.TRANSFER_ADDRESS.pack(dram_address=self.dram_address, glb_address=self.glb_address),
        ]

    def __str__(self) -> str:
        return (f"{'load' if self.load else 'store'} dram=0x{self.dram_address:08x} glb={self.glb_address}"
                f" words={self.words} wait_passes={self.wait_passes} wait_chunks={self.wait_chunks}"
                f" chunk={int(self.chunk)}")


@dataclass(frozen=True)
class End:
    """Stops when everything is done."""

    def encode(self) -> list[int]:
        return [enc.END.pack(opcode=Opcode.END)]

    def __str__(self) -> str:
        return "end"


Command = Config | Run | Transfer | End


def assemble(commands: list[Command]) -> np.ndarray:
    """Binary form, uint64."""
    return np.array([word for command in commands for word in command.encode()], np.uint64)


def disassemble(words: np.ndarray) -> list[Command]:
    """Commands of a binary list, up to END. Raises ValueError for what is no command."""
    commands: list[Command] = []
    source = iter(int(word) for word in words)
    for word in source:
        opcode = word & 0xF
        if opcode == Opcode.END:
            return [*commands, End()]
        if opcode == Opcode.CONFIG:
            fields = enc.CONFIG.unpack(word)
            commands.append(Config(fields["index"], tuple(next(source) for _ in range(fields["count"]))))
        elif opcode == Opcode.PASS:
            fields = enc.PASS.unpack(word)
            commands.append(Run(fields["wait_transfers"], fields["wait_passes"]))
        elif opcode in (Opcode.LOAD, Opcode.STORE):
            fields, where = enc.TRANSFER.unpack(word), enc.TRANSFER_ADDRESS.unpack(next(source))
            commands.append(Transfer(opcode == Opcode.LOAD, where["dram_address"], where["glb_address"],
                                     fields["words"], fields["wait_passes"], fields["wait_chunks"],
                                     bool(fields["chunk"])))
        else:
            raise ValueError(f"0x{word:016x} is no command")
    raise ValueError("the list has no END")


def to_text(commands: list[Command]) -> str:
    return "\n".join(map(str, commands)) + "\n"


def from_text(text: str) -> list[Command]:
    """Commands of their text form. Raises ValueError with the line's number."""
    commands: list[Command] = []
    for number, line in enumerate(text.splitlines(), 1):
        kind, *rest = line.split("#")[0].split() or [""]
        try:
            values = {name: int(value, 0) for name, value in (item.split("=") for item in rest if "=" in item)}
            if kind == "config":
                words = tuple(int(item, 16) for item in rest if "=" not in item)
                commands.append(Config(values["index"], words))
            elif kind == "pass":
                commands.append(Run(**values))
            elif kind in ("load", "store"):
                commands.append(Transfer(kind == "load", values["dram"], values["glb"], values["words"],
                                         values["wait_passes"], values["wait_chunks"], bool(values["chunk"])))
            elif kind == "end":
                commands.append(End())
            elif kind:
                raise ValueError(f"unknown command {kind}")
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"line {number}: {line.strip()!r}: {error}") from error
    return commands
