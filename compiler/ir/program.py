# SPDX-License-Identifier: Apache-2.0
"""Programs: lists of commands, and their binary form. assembly/commands.py has their text."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from eyrie.model import encoding as enc
from eyrie.model.config import GLB_WORD_BYTES
from eyrie.model.encoding import Opcode
from eyrie.model.errors import InputError

DRAM_ADDRESSES, GLB_ADDRESSES = 1 << 32, 1 << 16  # which wrap
MOST_CHUNKS = (1 << 16) - 1  # of a CHUNKS
MORE_WORDS = enc.CONFIG.largest("more").bit_length()  # of a CONFIG, behind its first one
LENGTHS = enc.CODED_LENGTHS.names
MOST_TOKENS = (1 << enc.SEMAPHORE_BITS) - 1  # the last event that a wait count can name


@dataclass(frozen=True)
class Config:
    """Write `words` into the shadow descriptor from `index` on."""

    index: int
    words: tuple[int, ...]

    def encode(self) -> list[int]:
        return ConfigCommands((self,)).encode()


def runs_of_words(written: dict[int, int]) -> tuple[Config, ...]:
    """Return descriptor words, by index, as runs of neighbours."""
    indices = sorted(written)
    firsts = [n for n, index in enumerate(indices) if not n or index != indices[n - 1] + 1]
    spans = (indices[a:b] for a, b in pairwise([*firsts, len(indices)]))
    return tuple(Config(span[0], tuple(written[index] for index in span)) for span in spans)


@dataclass(frozen=True)
class Run:
    """Run a pass, after `wait_transfers` transfers and `wait_passes` passes are done."""

    wait_transfers: int
    wait_passes: int

    def encode(self) -> list[int]:
        return [enc.PASS.pack(opcode=Opcode.PASS, wait_transfers=self.wait_transfers, wait_passes=self.wait_passes)]


@dataclass(frozen=True)
class Block:
    """The repetition of a transfer: `planes` of `rows` each, with steps in bytes of DRAM and words of GLB."""

    rows: int
    row_dram: int
    row_glb: int
    planes: int
    plane_dram: int
    plane_glb: int

    def encode(self) -> list[int]:
        return [
            enc.TRANSFER_ROWS.pack(dram_stride=self.row_dram, glb_stride=self.row_glb, count=self.rows),
            enc.TRANSFER_PLANES.pack(dram_stride=self.plane_dram, glb_stride=self.plane_glb, count=self.planes),
        ]

    @classmethod
    def decode(cls, words: list[int]) -> "Block":
        rows, planes = enc.TRANSFER_ROWS.unpack(words[0]), enc.TRANSFER_PLANES.unpack(words[1])
        return cls(
            rows["count"],
            rows["dram_stride"],
            rows["glb_stride"],
            planes["count"],
            planes["dram_stride"],
            planes["glb_stride"],
        )


@dataclass(frozen=True)
class Transfer:
    """Move `words` contiguous GLB words, or a block of such rows.

    load: from DRAM into the GLB; coded: DRAM words of a LOAD of coded weights, otherwise 0; table: it begins with the
    table of its code
    """

    load: bool
    dram_address: int
    glb_address: int
    words: int
    wait_passes: int = 0
    wait_chunks: int = 0
    chunk: bool = False
    block: Block | None = None
    coded: int = 0
    table: bool = False

    @property
    def dram_words(self) -> int:
        """Return the words of a row in DRAM."""
        return self.coded or self.words

    @property
    def rows(self) -> int:
        """Return the number of rows."""
        return self.block.rows * self.block.planes if self.block else 1

    @property
    def row_addresses(self) -> list[int]:
        """Return the DRAM address of each row."""
        if not self.block:
            return [self.dram_address]
        planes, rows = range(self.block.planes), range(self.block.rows)
        steps = (plane * self.block.plane_dram + row * self.block.row_dram for plane in planes for row in rows)
        return [(self.dram_address + step) % DRAM_ADDRESSES for step in steps]

    @property
    def dram_range(self) -> tuple[int, int]:
        """Return the first DRAM byte, and the end of the last row. They may wrap."""
        begin = end = self.dram_address
        if block := self.block:
            steps = [(block.rows - 1) * block.row_dram, (block.planes - 1) * block.plane_dram]
            begin, end = begin + sum(min(step, 0) for step in steps), end + sum(max(step, 0) for step in steps)
        return begin, end + self.words * GLB_WORD_BYTES

    def encode(self) -> list[int]:
        if self.coded or self.table:
            if not (self.coded and self.load) or self.block:
                raise InputError("coded weights are a load without a block, of some words in DRAM")
            return Chunks((self,)).encode()
        return [
            enc.TRANSFER.pack(
                opcode=Opcode.LOAD if self.load else Opcode.STORE,
                chunk=int(self.chunk),
                block=int(self.block is not None),
                wait_passes=self.wait_passes,
                wait_chunks=self.wait_chunks,
            ),
            enc.TRANSFER_ADDRESS.pack(dram_address=self.dram_address, glb_address=self.glb_address, words=self.words),
            *(self.block.encode() if self.block else []),
        ]


@dataclass(frozen=True)
class End:
    """Stop when all work is done."""

    def encode(self) -> list[int]:
        return [enc.END.pack(opcode=Opcode.END)]


@dataclass(frozen=True)
class ConfigCommands:
    """The CONFIG commands that write these words: a word goes into the command of the word before if that can name
    it."""

    parts: tuple[Config, ...]

    def encode(self) -> list[int]:
        heads = list[tuple[int, int]]()  # of each command: index and `more`
        found = list[list[int]]()
        for part in self.parts:
            for index, word in enumerate(part.words, part.index):
                first, more = heads[-1] if heads else (0, 0)
                if heads and first + more.bit_length() < index <= first + MORE_WORDS:
                    heads[-1] = (first, more | 1 << index - first - 1)
                else:
                    heads.append((index, 0))
                    found.append([])
                found[-1].append(word)
        packed = (enc.CONFIG.pack(opcode=Opcode.CONFIG, index=index, more=more) for index, more in heads)
        return [word for head, words in zip(packed, found) for word in (head, *words)]


@dataclass(frozen=True)
class Chunks:
    """A looped LOAD (CHUNKS, or CODED if the LOADs are coded): LOADs that are contiguous in DRAM and in a circular
    buffer of the GLB.

    Each LOAD waits until one more chunk is freed; with wait count 0, no LOAD waits for chunks. ring: first word and end
    of the circular buffer, if the chunks reach its end
    """

    loads: tuple[Transfer, ...]
    ring: tuple[int, int] | None = None

    def encode(self) -> list[int]:
        first, (ring_first, ring_end) = self.loads[0], self.ring or (0, 0)
        waits = {"wait_passes": first.wait_passes, "wait_chunks": first.wait_chunks}
        head = enc.TRANSFER.pack(opcode=Opcode.CHUNKS, **waits)
        if first.coded:
            head = enc.CODED.pack(opcode=Opcode.CODED, chunk=int(first.chunk), with_table=int(first.table), **waits)
        lengths = [load.coded for load in self.loads if load.coded]
        return [
            head,
            enc.TRANSFER_ADDRESS.pack(
                dram_address=first.dram_address, glb_address=first.glb_address, words=first.words
            ),
            enc.TRANSFER_CHUNKS.pack(ring_first=ring_first, ring_end=ring_end, count=len(self.loads)),
            *(
                enc.CODED_LENGTHS.pack(**dict(zip(LENGTHS, lengths[at : at + len(LENGTHS)])))
                for at in range(0, len(lengths), len(LENGTHS))
            ),
        ]


def _next_chunk(chunk: Transfer, ring: tuple[int, int] | None, coded: int) -> Transfer:
    """Return the next LOAD of a looped LOAD. coded: its words in DRAM if it is coded"""
    end = (chunk.glb_address + chunk.words) % GLB_ADDRESSES
    return replace(
        chunk,
        dram_address=(chunk.dram_address + chunk.dram_words * GLB_WORD_BYTES) % DRAM_ADDRESSES,
        glb_address=ring[0] if ring and end == ring[1] else end,
        wait_chunks=chunk.wait_chunks and chunk.wait_chunks + 1,
        coded=coded,
        table=False,
    )


Command = Config | Run | Transfer | End  # of a list; a CONFIG has the words of several, a CHUNKS is several LOADs


def assemble(commands: list[Command]) -> np.ndarray:
    """Return the binary form, uint64."""
    return np.array([word for _, words in encoded(commands) for word in words], np.uint64)


def encoded(commands: Sequence[Command]) -> Iterator[tuple[list[Command], list[int]]]:
    """Yield the commands of the accelerator: the commands of the list that each stands for (several LOADs for a looped
    LOAD, neighbouring Configs for a CONFIG or more), and its words."""
    at = 0
    while at < len(commands):
        first = commands[at]
        if isinstance(first, Transfer) and first.chunk and not first.block:
            run = _run_of_chunks(first, commands, at)
            yield [*run.loads], run.encode() if len(run.loads) > 1 else first.encode()
            at += len(run.loads)
        elif isinstance(first, Config):
            configs = _run_of_configs(commands, at)
            yield [*configs], ConfigCommands(configs).encode()
            at += len(configs)
        else:
            yield [first], first.encode()
            at += 1


def written_by(words: Sequence[int]) -> list[int | None]:
    """Return the index of the descriptor word that each word of CONFIG commands writes; None for their first words."""
    found = list[int | None]()
    while len(found) < len(words):
        found += [None, *enc.config_indices(enc.CONFIG.unpack(words[len(found)]))]
    return found


def _run_of_configs(commands: Sequence[Command], at: int) -> tuple[Config, ...]:
    """Return the Configs from index `at` to the next other command."""
    found = list[Config]()
    while at < len(commands) and isinstance(part := commands[at], Config):
        found.append(part)
        at += 1
    return tuple(found)


def _run_of_chunks(first: Transfer, commands: Sequence[Command], at: int) -> Chunks:
    """Return the looped LOAD from the chunk at index `at` on, with all following LOADs that continue it."""
    loads, whole_ring = [first], None
    for n in range(at + 1, min(len(commands), at + MOST_CHUNKS)):
        behind, last = commands[n], loads[-1]
        if not isinstance(behind, Transfer) or bool(behind.coded) != bool(first.coded):
            break
        end = (last.glb_address + last.words) % GLB_ADDRESSES
        ring = (behind.glb_address, end) if whole_ring is None and behind.glb_address != end else whole_ring
        if behind != _next_chunk(last, ring, behind.coded):
            break
        loads.append(behind)
        whole_ring = ring
    return Chunks(tuple(loads), whole_ring)


def disassemble(words: np.ndarray) -> list[Command]:
    """Return the commands of a binary list, up to END. Raise InputError, with the word's number, if a word is no
    command."""
    commands: list[Command] = []
    values, at = [int(word) for word in words], 0
    while at < len(values):
        command = _decode(values, at)
        encoding = command.encode()
        if encoding != values[at : at + len(encoding)]:
            raise InputError(f"word {at}: 0x{values[at]:016x}: a bit without meaning is set in the command")
        if isinstance(command, ConfigCommands):
            _append(commands, command.parts)
        else:
            commands += command.loads if isinstance(command, Chunks) else [command]
        if isinstance(command, End):
            return commands
        at += len(encoding)
    raise InputError("the list has no END")


def _append(commands: list[Command], parts: tuple[Config, ...]) -> None:
    """Add the Configs of a CONFIG. The first one is joined with the command before it if their words are neighbours."""
    last = commands[-1] if commands else None
    if isinstance(last, Config) and last.index + len(last.words) == parts[0].index:
        commands[-1:] = [Config(last.index, last.words + parts[0].words), *parts[1:]]
    else:
        commands += parts


def _decode(words: list[int], at: int) -> Run | Transfer | End | Chunks | ConfigCommands:
    """Return the command that begins at a word. Raise InputError."""
    word = words[at]

    def following(count: int) -> list[int]:
        if at + 1 + count > len(words):
            raise InputError(f"word {at}: 0x{word:016x}: the list ends within the command")
        return words[at + 1 : at + 1 + count]

    opcode = word & 0xF
    if opcode == Opcode.END:
        return End()
    if opcode == Opcode.CONFIG:
        indices = enc.config_indices(enc.CONFIG.unpack(word))
        return ConfigCommands(runs_of_words(dict(zip(indices, following(len(indices))))))
    if opcode == Opcode.PASS:
        fields = enc.PASS.unpack(word)
        return Run(fields["wait_transfers"], fields["wait_passes"])
    if opcode in (Opcode.LOAD, Opcode.STORE):
        fields = enc.TRANSFER.unpack(word)
        place, *block = following(3 if fields["block"] else 1)
        where = enc.TRANSFER_ADDRESS.unpack(place)
        return Transfer(
            opcode == Opcode.LOAD,
            where["dram_address"],
            where["glb_address"],
            where["words"],
            fields["wait_passes"],
            fields["wait_chunks"],
            bool(fields["chunk"]),
            Block.decode(block) if block else None,
        )
    if opcode in (Opcode.CHUNKS, Opcode.CODED):
        coded = opcode == Opcode.CODED
        fields = (enc.CODED if coded else enc.TRANSFER).unpack(word)
        place, ring = following(2)
        where, chunks = enc.TRANSFER_ADDRESS.unpack(place), enc.TRANSFER_CHUNKS.unpack(ring)
        words = following(2 + -(-chunks["count"] // len(LENGTHS)))[2:] if coded else []
        lengths = [length for word in words for length in enc.CODED_LENGTHS.unpack(word).values()]
        used = lengths[: chunks["count"]]
        if coded and (not used or not all(used) or (len(used) > 1 and not fields["chunk"])):
            raise InputError(f"word {at}: 0x{word:016x}: a CODED of a wrong count, or with a length of 0")
        chunk = Transfer(
            True,
            where["dram_address"],
            where["glb_address"],
            where["words"],
            fields["wait_passes"],
            fields["wait_chunks"],
            chunk=bool(fields["chunk"]) if coded else True,
            coded=lengths[0] if coded else 0,
            table=coded and bool(fields["with_table"]),
        )
        rest, loads = lengths[1:] if coded else [0] * chunks["count"], [chunk]
        for coded_words in rest[: chunks["count"] - 1]:
            loads.append(_next_chunk(loads[-1], (chunks["ring_first"], chunks["ring_end"]), coded_words))
        return Chunks(tuple(loads), (chunks["ring_first"], chunks["ring_end"]))
    raise InputError(f"word {at}: 0x{word:016x} is no command")
