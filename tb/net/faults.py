# SPDX-License-Identifier: Apache-2.0
"""Programs that have to fail: a network's program with one fault, for each error code.

A fault takes the list of commands of a good program and gives back the list, window and start of one
that fails. Where the accelerator fails, and that it does, is said by the model.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from eyrie.compiler.ir.program import Block, Command, Config, End, Run, Transfer, encoded
from eyrie.model import encoding as enc
from eyrie.model import streams
from eyrie.model.config import GLB_WORD_BYTES
from eyrie.model.descriptor import Descriptor
from eyrie.model.encoding import ErrorCode, Opcode, Stream
from eyrie.model.legality import broken_rule
from tb.net.programs import Network, Program, draw_base, move, place

ADDRESSES = 1 << 16  # of GLB words
DESCRIPTOR_WORDS = (
    (enc.ARRAY_SHAPE_INDEX, enc.ARRAY_SHAPE),
    (enc.ARRAY_LOOPS_INDEX, enc.ARRAY_LOOPS),
    (enc.DRAIN_INDEX, enc.DRAIN),
    (enc.PPU_INDEX, enc.PPU),
)
TOKENS = 100  # at most so many more than there are


@dataclass(frozen=True)
class Raw:
    """Words that are no command."""

    words: tuple[int, ...]

    def encode(self) -> list[int]:
        return list(self.words)


_ROW = enc.TRANSFER.pack(opcode=Opcode.LOAD)
_BLOCK = enc.TRANSFER.pack(opcode=Opcode.LOAD, block=1)
_PLACE = enc.TRANSFER_ADDRESS.pack(words=1)
_ONE = enc.TRANSFER_ROWS.pack(count=1)
_CHUNKS = enc.TRANSFER.pack(opcode=Opcode.CHUNKS)
ILLEGAL = (
    *((opcode,) for opcode in sorted(set(range(16)) - set(Opcode))),
    (Opcode.END | 1 << 4,),
    (Opcode.PASS | 1 << 63,),
    (enc.CONFIG.pack(opcode=Opcode.CONFIG, index=enc.CONFIG_WORDS),),
    (enc.CONFIG.pack(opcode=Opcode.CONFIG, index=enc.CONFIG_WORDS - 1, more=1 << 51), 0),
    (enc.TRANSFER.pack(opcode=Opcode.STORE, chunk=1),),
    (_ROW, 0),
    (_BLOCK, 0, _ONE, _ONE),
    (_CHUNKS | 1 << 4,),
    (_CHUNKS | 1 << 5,),
    (_CHUNKS, 0),
    (enc.CODED.pack(opcode=Opcode.CODED), 0),
    (_CHUNKS, _PLACE, 0),
    (_CHUNKS, _PLACE, 1 << 32 | 1 << 48),
    (_BLOCK, _PLACE, 0, _ONE),
    (_BLOCK, _PLACE, _ONE, 0),
    (_BLOCK, _PLACE, _ONE | 1 << 63, _ONE),
)


@dataclass(frozen=True)
class Faulty:
    """A program with a fault.

    good          the program without it, in the same place
    code          how it fails
    passes_right  passes that end after the error are those of `good`
    later         addresses of PASSes that the accelerator may have begun, and names, before it sees the fault
    """

    program: Program
    good: Program
    code: ErrorCode
    passes_right: bool = True
    later: tuple[int, ...] = ()


class Fault:
    """One faulty program in the making: the parts that a fault may change."""

    def __init__(
        self, rng: np.random.Generator, network: Network, dram_bytes: int, window: tuple[int, int] | None = None
    ) -> None:
        """window: of every program, at whose begin the network lies; else both are drawn."""
        self.rng, self.network, self.dram_bytes, self.window = rng, network, dram_bytes, window
        self.glb_words = network.image.config.glb_words
        self.base = window[0] if window else draw_base(rng, network, dram_bytes)
        self.commands: list[Command | Raw] = move(network.commands, self.base)
        self.good = place(network, self.base, self.commands)
        self.good = replace(self.good, window=window or self.good.window)
        self.limit: int | None = None  # of the window
        self.start: int | None = None
        self.passes_right = True
        self.seen_late: int | None = None  # index of a PASS whose fault shows when later ones have begun

    def any_of(self, *kinds: type) -> int:
        """The index of some command of these kinds."""
        return int(self.rng.choice([n for n, c in enumerate(self.commands) if isinstance(c, kinds)]))

    def between(self, low: int, high: int) -> int:
        """A multiple of 8, low <= it < high."""
        return 8 * int(self.rng.integers(low // 8, -(-high // 8)))

    def build(self, name: str, code: ErrorCode) -> Faulty:
        program = place(self.network, self.base, self.commands, f"{name}, {self.network.about}")
        low, high = program.window
        program = replace(program, window=self.window or (low, self.limit or high), start=self.start or program.start)
        later, address = [], program.start
        index = 0
        for (command, *others), words in encoded(self.commands):
            if self.seen_late is not None and isinstance(command, Run) and index > self.seen_late:
                later.append(address)
            address += GLB_WORD_BYTES * len(words)
            index += 1 + len(others)
        return Faulty(program, self.good, code, self.passes_right, tuple(later))


def illegal_command(fault: Fault) -> None:
    """Words that are no command, somewhere in the list."""
    words = ILLEGAL[fault.rng.integers(len(ILLEGAL))]
    fault.commands.insert(int(fault.rng.integers(len(fault.commands))), Raw(words))


def bad_transfer(
    fault: Fault, first: Callable[[Transfer], dict[str, int]], **stride: Callable[[Transfer], int]
) -> None:
    """A transfer whose first row fails, with these fields changed; or its second, by the stride, unless it is coded."""
    index = fault.any_of(Transfer)
    command = fault.commands[index]
    if fault.rng.random() < 0.5 or command.coded:
        fault.commands[index] = replace(command, block=None, **first(command))
    else:
        dram, glb = (stride[memory](command) if memory in stride else 0 for memory in ("dram", "glb"))
        block = Block(2, dram, glb, 1, 0, 0)
        fault.commands[index] = replace(command, block=block)


def outside_window(fault: Fault) -> None:
    """A transfer below the window, over its limit, or of half words."""
    low, high = fault.good.window

    def first(command: Transfer) -> dict[str, int]:
        places = (
            fault.between(0, low),
            fault.between(high - 8 * command.words + 8, 1 << 32),
            command.dram_address + int(fault.rng.integers(1, 8)),
        )
        return {"dram_address": places[fault.rng.integers(3)]}

    def stride(command: Transfer) -> int:
        return int(fault.rng.choice([low - command.dram_address - 8, high - low, 4]))

    bad_transfer(fault, first, dram=stride)


def list_outside_window(fault: Fault) -> None:
    """A list that begins outside the window, or that goes on outside it."""
    low, high = fault.good.window
    if fault.rng.random() < 0.5:
        fault.start = int(fault.rng.choice([low - 8, high, fault.good.start + 4]))
    else:
        fault.limit = fault.between(fault.good.start + 8, high)


def transfer_beyond_memory(fault: Fault) -> None:
    """A transfer inside the window where no memory is."""
    size = fault.dram_bytes
    fault.limit = 1 << 31

    def first(command: Transfer) -> dict[str, int]:
        within = 8 * (command.words - 1) if command.load else 0  # what a LOAD can still read
        return {"dram_address": fault.between(size - within, 2 * size)}

    bad_transfer(fault, first, dram=lambda _: size)


def list_beyond_memory(fault: Fault) -> None:
    """A list where no memory is."""
    fault.limit = 1 << 31
    fault.start = fault.between(fault.dram_bytes, 1 << 31)


def transfer_beyond_glb(fault: Fault) -> None:
    """A transfer that ends beyond the GLB."""

    words = fault.glb_words

    def first(command: Transfer) -> dict[str, int]:
        return {"glb_address": int(fault.rng.integers(words - command.words + 1, ADDRESSES))}

    bad_transfer(fault, first, glb=lambda _: words)


def descriptor_of(fault: Fault, index: int) -> Descriptor:
    """The descriptor of the pass at an index of the list."""
    shadow = Descriptor()
    for command in fault.commands[:index]:
        if isinstance(command, Config):
            shadow.words[command.index : command.index + len(command.words)] = command.words
    return shadow


def wrong_stream(fault: Fault, index: int, stream: Stream, **changed: int) -> None:
    """A stream of the pass at an index with a wrong address. The pass may come to its end, and is wrong; it is
    the last one, as the accelerator names the PASS that it began last."""
    word = enc.STREAMS_INDEX + stream * enc.STREAM_WORDS + enc.STREAM_ADDRESS_OFFSET
    address = enc.STREAM_ADDRESS.unpack(descriptor_of(fault, index).words[word]) | changed
    behind = [c for c in fault.commands[index + 1 :] if isinstance(c, (Transfer, End))]
    wrong = Config(word, (enc.STREAM_ADDRESS.pack(**address),))
    fault.commands[index:] = [wrong, fault.commands[index], *behind]
    fault.passes_right = False


def stream_beyond_glb(fault: Fault) -> None:
    """A stream of a pass whose words lie beyond the GLB."""
    index = fault.any_of(Run)
    shadow = descriptor_of(fault, index)
    enabled = [stream for stream in Stream if shadow.stream(stream).options["enable"]]
    stream = enabled[fault.rng.integers(len(enabled))]
    more = int(fault.rng.integers(fault.glb_words, ADDRESSES // 2))
    wrong_stream(fault, index, stream, row_address=shadow.stream(stream).address["row_address"] + more, ring_size=0)


def odd_pair(fault: Fault) -> None:
    """An ifmap whose pairs of words begin at odd addresses."""
    passes = [n for n, command in enumerate(fault.commands) if isinstance(command, Run)]
    fault.rng.shuffle(passes)
    for index in passes:
        stream = descriptor_of(fault, index).stream(Stream.IFMAP)
        odd = {"offset": stream.address["offset"] ^ 1}
        try:  # single words may lie anywhere
            streams.read(replace(stream, address=stream.address | odd), np.zeros(ADDRESSES, np.uint64), 2)
        except IndexError:
            wrong_stream(fault, index, Stream.IFMAP, **odd)
            return
    stream_beyond_glb(fault)


def change_loop(
    fault: Fault,
    change: Callable[[Descriptor, Stream], tuple[int, int] | None],
) -> tuple[int, Stream] | None:
    """One PASS, without chunks, whose stream has a loop of another length, in a list without chunks if there are others
    behind it; its index and the stream, or None if there is no such PASS. change: the loop's level and iterations, or
    None."""
    passes = [n for n, command in enumerate(fault.commands) if isinstance(command, Run)]
    descriptors = {n: descriptor_of(fault, n) for n in passes}
    chunked = [n for n in passes if descriptors[n].stream(Stream.FILTER).options["chunk"]]
    ways = [
        (n, stream, found)
        for n in passes
        if n not in chunked
        for stream in Stream
        if descriptors[n].uses(stream) and (found := change(descriptors[n], stream))
    ]
    if not ways:
        return None
    index, stream, (level, count) = ways[fault.rng.integers(len(ways))]
    word = enc.STREAMS_INDEX + stream * enc.STREAM_WORDS + enc.STREAM_LEVELS_OFFSET + level
    before = descriptors[index].words[word]
    after = enc.STREAM_LEVEL.pack(**enc.STREAM_LEVEL.unpack(before) | {"last": count - 1})
    behind = [Config(word, (before,)), *fault.commands[index + 1 :]]
    if chunked:
        behind = [command for command in behind if isinstance(command, (Transfer, End))]
    fault.commands[index:] = [Config(word, (after,)), fault.commands[index], *behind]
    return index + 1, stream


def overrun_words(fault: Fault) -> None:
    """A PASS that brings, or writes, all words of a stream twice; others begin behind it. One that writes ends, if at
    all, with what those make."""

    def twice(descriptor: Descriptor, stream: Stream) -> tuple[int, int] | None:
        program = descriptor.stream(stream)
        last = 2 * program.options["level_pairs"] + 1  # of those that are loaded
        return (last, 2) if program.levels[last].count == 1 else None

    if changed := change_loop(fault, twice):
        fault.seen_late, stream = changed
        fault.passes_right = stream != Stream.OFMAP
    else:
        illegal_descriptor(fault)


def missing_words(fault: Fault) -> None:
    """A PASS that brings too few words of a stream; those of the PASS behind it are not taken for them."""

    def less(descriptor: Descriptor, stream: Stream) -> tuple[int, int] | None:
        counts = [(n, level.count - 1) for n, level in enumerate(descriptor.stream(stream).levels) if level.count > 1]
        return counts[fault.rng.integers(len(counts))] if counts and stream != Stream.OFMAP else None

    if change_loop(fault, less) is None:
        ifmap_waits(fault)


def illegal_descriptor(fault: Fault) -> None:
    """A PASS whose descriptor breaks a rule by one field."""
    index = fault.any_of(Run)
    before = descriptor_of(fault, index)
    while True:
        word, format_ = DESCRIPTOR_WORDS[fault.rng.integers(len(DESCRIPTOR_WORDS))]
        field = format_.fields[fault.rng.integers(len(format_.fields))]
        least = -(1 << field.width - 1) if field.signed else 0
        value = int(fault.rng.integers(least, format_.largest(field.name), endpoint=True))
        after = Descriptor(before.words)
        after.set(word, format_, **{**format_.unpack(before.words[word]), field.name: value})
        if broken_rule(fault.network.image.config, after):
            break
    fault.commands.insert(index, Config(word, (after.words[word],)))


def transfer_waits(fault: Fault) -> None:
    """A transfer that waits for more passes, or chunks to be freed, than there are."""
    index, name = fault.any_of(Transfer), str(fault.rng.choice(["wait_passes", "wait_chunks"]))
    passes = sum(isinstance(command, Run) for command in fault.commands)
    there = {"wait_passes": passes, "wait_chunks": 10_000}[name]
    more = {name: there + int(fault.rng.integers(1, TOKENS))}
    fault.commands[index] = replace(fault.commands[index], **more)


def pass_waits(fault: Fault) -> None:
    """A PASS that waits for more transfers than there are."""
    index = fault.any_of(Run)
    transfers = sum(isinstance(command, Transfer) for command in fault.commands)
    waits = transfers + int(fault.rng.integers(1, TOKENS))
    fault.commands[index] = replace(fault.commands[index], wait_transfers=waits)


def ifmap_waits(fault: Fault) -> None:
    """A PASS whose ifmap waits for more passes than there are: it begins and does not end."""
    index = fault.any_of(Run)
    waits = len(fault.commands) + int(fault.rng.integers(1, TOKENS))
    fault.commands[index] = replace(fault.commands[index], wait_passes=waits)


FAULTS: tuple[tuple[Callable[[Fault], None], ErrorCode], ...] = (
    (illegal_command, ErrorCode.ILLEGAL_COMMAND),
    (outside_window, ErrorCode.DRAM_ADDRESS),
    (list_outside_window, ErrorCode.DRAM_ADDRESS),
    (transfer_beyond_memory, ErrorCode.AXI_RESPONSE),
    (list_beyond_memory, ErrorCode.AXI_RESPONSE),
    (transfer_beyond_glb, ErrorCode.GLB_ADDRESS),
    (stream_beyond_glb, ErrorCode.GLB_ADDRESS),
    (odd_pair, ErrorCode.GLB_ADDRESS),
    (illegal_descriptor, ErrorCode.DESCRIPTOR),
    (overrun_words, ErrorCode.DESCRIPTOR),
    (missing_words, ErrorCode.WATCHDOG),
    (transfer_waits, ErrorCode.WATCHDOG),
    (pass_waits, ErrorCode.WATCHDOG),
    (ifmap_waits, ErrorCode.WATCHDOG),
)


def draw_fault(
    rng: np.random.Generator,
    network: Network,
    dram_bytes: int,
    plant: Callable[[Fault], None],
    code: ErrorCode,
    window: tuple[int, int] | None = None,
) -> Faulty:
    """A network's program with a fault of one kind; window: see Fault."""
    fault = Fault(rng, network, dram_bytes, window)
    plant(fault)
    return fault.build(plant.__name__.replace("_", " "), code)
