# SPDX-License-Identifier: Apache-2.0
"""Programs: lists of commands, and their binary form; their text is that of assembly (assembly/commands.py)."""

from dataclasses import dataclass

import numpy as np

from model import encoding as enc
from model.encoding import Opcode

MOST_TOKENS = (1 << enc.TOKEN_BITS) - 1  # the last event that a token can name


@dataclass(frozen=True)
class Config:
    """Writes `words` into the shadow descriptor from `index` on."""

    index: int
    words: tuple[int, ...]

    def encode(self) -> list[int]:
        return [enc.CONFIG.pack(opcode=Opcode.CONFIG, index=self.index, count=len(self.words)), *self.words]


@dataclass(frozen=True)
class Run:
    """Runs a pass, after so many transfers and passes are done."""

    wait_transfers: int
    wait_passes: int

    def encode(self) -> list[int]:
        return [enc.PASS.pack(opcode=Opcode.PASS, wait_transfers=self.wait_transfers,
                              wait_passes=self.wait_passes)]


@dataclass(frozen=True)
class Block:
    """Repeats a transfer: `planes` of `rows` each, so many bytes of DRAM and words of GLB apart."""

    rows: int
    row_dram: int
    row_glb: int
    planes: int
    plane_dram: int
    plane_glb: int

    def encode(self) -> list[int]:
        return [
            enc.TRANSFER_ROWS.pack(dram_stride=self.row_dram, glb_stride=self.row_glb, count=self.rows),
            enc.TRANSFER_PLANES.pack(dram_stride=self.plane_dram, glb_stride=self.plane_glb,
                                     count=self.planes),
        ]

    @classmethod
    def decode(cls, words: list[int]) -> "Block":
        rows, planes = enc.TRANSFER_ROWS.unpack(words[0]), enc.TRANSFER_PLANES.unpack(words[1])
        return cls(rows["count"], rows["dram_stride"], rows["glb_stride"],
                   planes["count"], planes["dram_stride"], planes["glb_stride"])


@dataclass(frozen=True)
class Transfer:
    """Moves `words` contiguous GLB words, or a block of such rows; load: from DRAM into the GLB."""

    load: bool
    dram_address: int
    glb_address: int
    words: int
    wait_passes: int = 0
    wait_chunks: int = 0
    chunk: bool = False
    block: Block | None = None

    def encode(self) -> list[int]:
        return [
            enc.TRANSFER.pack(opcode=Opcode.LOAD if self.load else Opcode.STORE, chunk=int(self.chunk),
                              block=int(self.block is not None), wait_passes=self.wait_passes,
                              wait_chunks=self.wait_chunks),
            enc.TRANSFER_ADDRESS.pack(dram_address=self.dram_address, glb_address=self.glb_address,
                                      words=self.words),
            *(self.block.encode() if self.block else []),
        ]


@dataclass(frozen=True)
class End:
    """Stops when everything is done."""

    def encode(self) -> list[int]:
        return [enc.END.pack(opcode=Opcode.END)]


Command = Config | Run | Transfer | End


def assemble(commands: list[Command]) -> np.ndarray:
    """Binary form, uint64."""
    return np.array([word for command in commands for word in command.encode()], np.uint64)


def disassemble(words: np.ndarray) -> list[Command]:
    """Commands of a binary list, up to END. Raises ValueError, naming the word, for what is no command."""
    commands: list[Command] = []
    values, at = [int(word) for word in words], 0
    while at < len(values):
        command = _decode(values, at)
        encoded = command.encode()
        if encoded != values[at : at + len(encoded)]:
            raise ValueError(f"word {at}: 0x{values[at]:016x}: a bit without meaning is set in the command")
        commands.append(command)
        if isinstance(command, End):
            return commands
        at += len(encoded)
    raise ValueError("the list has no END")


def _decode(words: list[int], at: int) -> Command:
    """The command that begins at a word. Raises ValueError."""
    word = words[at]

    def following(count: int) -> list[int]:
        if at + 1 + count > len(words):
            raise ValueError(f"word {at}: 0x{word:016x}: the list ends within the command")
        return words[at + 1 : at + 1 + count]

    opcode = word & 0xF
    if opcode == Opcode.END:
        return End()
    if opcode == Opcode.CONFIG:
        fields = enc.CONFIG.unpack(word)
        return Config(fields["index"], tuple(following(fields["count"])))
    if opcode == Opcode.PASS:
        fields = enc.PASS.unpack(word)
        return Run(fields["wait_transfers"], fields["wait_passes"])
    if opcode in (Opcode.LOAD, Opcode.STORE):
        fields = enc.TRANSFER.unpack(word)
        place, *block = following(3 if fields["block"] else 1)
        where = enc.TRANSFER_ADDRESS.unpack(place)
        return Transfer(opcode == Opcode.LOAD, where["dram_address"], where["glb_address"], where["words"],
                        fields["wait_passes"], fields["wait_chunks"], bool(fields["chunk"]),
                        Block.decode(block) if block else None)
    raise ValueError(f"word {at}: 0x{word:016x} is no command")
