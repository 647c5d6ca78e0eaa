# SPDX-License-Identifier: Apache-2.0
"""The functional simulator: it executes the command list of a DRAM image as the RTL does, without timing.

Passes and transfers are executed in the order of the list. If a pass waits for filter chunks, the following transfers
continue, as in the two queues of the accelerator. If neither can continue, the list cannot be executed in order, and
the simulator raises ProgramError.
"""

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field

import numpy as np

from eyrie.model import demand, streams
from eyrie.model import encoding as enc
from eyrie.model.config import DEFAULT, GLB_WORD_BYTES, AcceleratorConfig
from eyrie.model.descriptor import Descriptor, StreamDescriptor
from eyrie.model.encoding import ErrorCode, Opcode, Stream
from eyrie.model.errors import InputError
from eyrie.model.legality import broken_rule
from eyrie.model.passes import PassTrace, run_pass
from eyrie.model.weight_codes import CodeError, WeightDecoder
from eyrie.model.word import Word


class ProgramError(InputError):
    """The accelerator stopped with an error code.

    `code` is the error code, `address` the DRAM byte address of the command, and `reason` the cause in words.
    """

    def __init__(self, code: ErrorCode, address: int, reason: str) -> None:
        super().__init__(f"{code.name} at command 0x{address:08x}: {reason}")
        self.code, self.address, self.reason = code, address, reason


@dataclass
class FunctionalSimulator:
    """GLB, DRAM and semaphores; `run` executes a program.

    dram     uint8 array; it is not copied
    observe  called with a PassTrace after each pass
    """

    dram: np.ndarray
    config: AcceleratorConfig = DEFAULT
    window: tuple[int, int] | None = None
    observe: Callable[[PassTrace], None] | None = None
    glb: np.ndarray = field(init=False)
    counters: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        self.glb = np.zeros(self.config.glb_words, np.uint64)
        self._first, self._end = self.window or (0, len(self.dram))
        self._reset()

    def _reset(self) -> None:
        self.counters = dict.fromkeys(
            (
                "TRANSFERS",
                "PASSES",
                "DRAM_READ_BYTES",
                "DRAM_WRITE_BYTES",
                "COMMAND_BYTES",
                "GLB_LOAD_BYTES",
                "DECODED_BYTES",
                "GLB_STORE_BYTES",
                "GLB_OFMAP_BYTES",
            ),
            0,
        )
        self._shadow = Descriptor()
        self._decoder = WeightDecoder(self.config.bus_words)
        self._chunks_loaded = self._chunks_taken = self._chunks_freed = 0
        self._pass: Iterator[None] | None = None  # waits for a chunk

    # ---- Commands ----

    def run(self, base: int) -> None:
        """Execute the list at DRAM address `base` until END. Only the GLB is kept from a previous run.

        Raise ProgramError if the accelerator would stop with an error code.
        """
        self._reset()
        self._next = base
        while True:
            address = self._next
            word = self._fetch(address)
            opcode = word & 0xF
            if opcode == Opcode.END:
                _unpack(enc.END, word, address)
                self._finish_pass()
                return
            if opcode == Opcode.CONFIG:
                self._configure(address, _unpack(enc.CONFIG, word, address))
            elif opcode == Opcode.PASS:
                self._start_pass(address, _unpack(enc.PASS, word, address))
            elif opcode in (Opcode.LOAD, Opcode.STORE):
                self._transfer(address, _unpack(enc.TRANSFER, word, address))
            elif opcode == Opcode.CHUNKS:
                self._chunks(address, _unpack(enc.TRANSFER, word, address))
            elif opcode == Opcode.CODED and self.config.weight_codes:
                self._coded(address, _unpack(enc.CODED, word, address))
            else:
                raise ProgramError(ErrorCode.ILLEGAL_COMMAND, address, f"opcode {opcode}")

    def _fetch(self, command: int) -> int:
        data = self._dram_words(self._next, 1, command)
        self._next += GLB_WORD_BYTES
        self.counters["DRAM_READ_BYTES"] += GLB_WORD_BYTES
        self.counters["COMMAND_BYTES"] += GLB_WORD_BYTES
        return int(data[0])

    def _beats(self, address: int, count: int, command: int) -> np.ndarray:
        """Return the words of a transfer, which are whole beats of the port."""
        beat = self.config.bus_words
        if address % (GLB_WORD_BYTES * beat) or count % beat:
            raise ProgramError(ErrorCode.DRAM_ADDRESS, command, f"{count} words at 0x{address:08x} are no whole beats")
        return self._dram_words(address, count, command)

    def _dram_words(self, address: int, count: int, command: int) -> np.ndarray:
        end = address + count * GLB_WORD_BYTES
        if address % GLB_WORD_BYTES or address < self._first or end > self._end:
            raise ProgramError(
                ErrorCode.DRAM_ADDRESS, command, f"0x{address:08x} to 0x{end:08x} is not aligned or not in the window"
            )
        if end > len(self.dram):
            raise ProgramError(ErrorCode.AXI_RESPONSE, command, f"no memory at 0x{end:08x}")
        return self.dram[address:end].view(np.uint64)

    def _configure(self, address: int, command: dict[str, int]) -> None:
        for index in enc.config_indices(command):
            word = self._fetch(address)
            _expect(index < enc.CONFIG_WORDS, address, "CONFIG beyond the descriptor")
            self._shadow.words[index] = word

    def _transfer(self, address: int, command: dict[str, int]) -> None:
        load = command["opcode"] == Opcode.LOAD
        _expect(load or not command["chunk"], address, "STORE of a chunk")
        where = _unpack(enc.TRANSFER_ADDRESS, self._fetch(address), address)
        _expect(where["words"], address, "a transfer without words")
        rows = {"count": 1, "dram_stride": 0, "glb_stride": 0}
        planes = dict(rows)
        if command["block"]:
            rows = _unpack(enc.TRANSFER_ROWS, self._fetch(address), address)
            _expect(rows["count"], address, "a block without rows")
            planes = _unpack(enc.TRANSFER_PLANES, self._fetch(address), address)
            _expect(planes["count"], address, "a block without planes")
        self._wait(address, command)
        for plane in range(planes["count"]):
            for row in range(rows["count"]):
                dram = where["dram_address"] + plane * planes["dram_stride"] + row * rows["dram_stride"]
                glb = where["glb_address"] + plane * planes["glb_stride"] + row * rows["glb_stride"]
                self._move(address, load, dram % (1 << 32), glb % (1 << 16), where["words"])
        self.counters["TRANSFERS"] += 1
        self._chunks_loaded += command["chunk"]

    def _chunks(self, address: int, command: dict[str, int]) -> None:
        _expect(not command["chunk"] and not command["block"], address, "CHUNKS with a bit of LOAD")
        where, chunks = self._looped(address, command)
        dram, glb = where["dram_address"], where["glb_address"]
        for number in range(chunks["count"]):
            self._wait(address, command | {"wait_chunks": command["wait_chunks"] and command["wait_chunks"] + number})
            self._move(address, True, dram, glb, where["words"])
            self.counters["TRANSFERS"] += 1
            self._chunks_loaded += 1
            dram = (dram + where["words"] * GLB_WORD_BYTES) % (1 << 32)
            glb = _next_place(glb, where, chunks)

    def _looped(self, address: int, command: dict[str, int]) -> tuple[dict[str, int], dict[str, int]]:
        """Fetch place and number of the LOADs of a looped LOAD."""
        where = _unpack(enc.TRANSFER_ADDRESS, self._fetch(address), address)
        _expect(where["words"], address, "a looped LOAD without words")
        chunks = _unpack(enc.TRANSFER_CHUNKS, self._fetch(address), address)
        _expect(chunks["count"], address, "a looped LOAD without a chunk")
        _expect(
            command["wait_chunks"] + chunks["count"] <= 1 << enc.SEMAPHORE_BITS,
            address,
            "a looped LOAD beyond the largest wait count",
        )
        return where, chunks

    def _coded(self, address: int, command: dict[str, int]) -> None:
        where, chunks = self._looped(address, command)
        _expect(command["chunk"] or chunks["count"] == 1, address, "several LOADs that are no chunks")
        dram, glb, words = where["dram_address"], where["glb_address"], where["words"]
        for number in range(chunks["count"]):
            if number % 4 == 0:
                lengths = [*_unpack(enc.CODED_LENGTHS, self._fetch(address), address).values()]
            length, *later = lengths[number % 4 :]
            _expect(length, address, "a LOAD of no coded words")
            _expect(number < chunks["count"] - 1 or not any(later), address, "a length too many")
            self._wait(address, command | {"wait_chunks": command["wait_chunks"] and command["wait_chunks"] + number})
            self._decode(
                address, self._beats(dram, length, address), glb, words, bool(command["with_table"] and number == 0)
            )
            self.counters["TRANSFERS"] += 1
            self._chunks_loaded += command["chunk"]
            dram, glb = (dram + length * GLB_WORD_BYTES) % (1 << 32), _next_place(glb, where, chunks)

    def _decode(self, command: int, coded: np.ndarray, glb: int, words: int, with_table: bool) -> None:
        if glb + words > self.config.glb_words or glb % 2:
            raise ProgramError(ErrorCode.GLB_ADDRESS, command, f"GLB words {glb} to {glb + words}")
        try:
            weights = self._decoder.decode(coded, words, with_table)
        except CodeError as error:
            raise ProgramError(ErrorCode.CODED_WEIGHTS, command, str(error)) from error
        self.glb[glb : glb + words] = weights.view(np.uint64)
        self.counters["DRAM_READ_BYTES"] += len(coded) * GLB_WORD_BYTES
        self.counters["GLB_LOAD_BYTES"] += words * GLB_WORD_BYTES
        self.counters["DECODED_BYTES"] += words * GLB_WORD_BYTES

    def _wait(self, address: int, command: dict[str, int]) -> None:
        """Resume a pass that waits for chunks, until the wait counts of a transfer are reached."""
        while not self._tokens(command):
            if not self._resume():
                raise ProgramError(ErrorCode.WATCHDOG, address, "the wait counts of the transfer are never reached")

    def _tokens(self, command: dict[str, int]) -> bool:
        return self.counters["PASSES"] >= command["wait_passes"] and self._chunks_freed >= command["wait_chunks"]

    def _move(self, command: int, load: bool, dram: int, glb: int, words: int) -> None:
        outside = self._beats(dram, words, command)
        if glb + words > self.config.glb_words or glb % self.config.bus_words:
            raise ProgramError(ErrorCode.GLB_ADDRESS, command, f"GLB words {glb} to {glb + words}")
        inside = self.glb[glb : glb + words]
        if load:
            inside[:] = outside
        else:
            outside[:] = inside
        moved = words * GLB_WORD_BYTES
        self.counters["DRAM_READ_BYTES" if load else "DRAM_WRITE_BYTES"] += moved
        self.counters["GLB_LOAD_BYTES" if load else "GLB_STORE_BYTES"] += moved

    # ---- Passes ----

    def _start_pass(self, address: int, command: dict[str, int]) -> None:
        self._finish_pass()
        if self.counters["TRANSFERS"] < command["wait_transfers"]:
            raise ProgramError(ErrorCode.WATCHDOG, address, "the pass waits for transfers that follow it")
        if self.counters["PASSES"] < command["wait_passes"]:
            raise ProgramError(ErrorCode.WATCHDOG, address, "the pass waits for passes that follow it")
        descriptor = Descriptor(self._shadow.words)
        if broken := broken_rule(self.config, descriptor):
            raise ProgramError(ErrorCode.DESCRIPTOR, address, broken)
        self._pass, self._pass_command = self._execute(descriptor), address
        self._resume()

    def _finish_pass(self) -> None:
        """Finish the previous pass. Raise ProgramError if it cannot end."""
        self._resume()
        if self._pass is not None:
            raise ProgramError(ErrorCode.WATCHDOG, self._pass_command, "it waits for filter chunks that do not come")

    def _resume(self) -> bool:
        """Resume a pass that waits for a chunk; return whether it made progress."""
        if self._pass is None:
            return False
        before = self._chunks_taken
        try:
            next(self._pass)
        except StopIteration:
            self._pass = None
            return True
        except IndexError as error:
            raise ProgramError(ErrorCode.GLB_ADDRESS, self._pass_command, f"a stream: {error}") from error
        except demand.OverrunWords as error:
            raise ProgramError(ErrorCode.DESCRIPTOR, self._pass_command, str(error)) from error
        except demand.MissingWords as error:
            raise ProgramError(ErrorCode.WATCHDOG, self._pass_command, str(error)) from error
        return self._chunks_taken != before

    def _execute(self, descriptor: Descriptor) -> Iterator[None]:
        """Execute one pass; yield whenever it has to wait for a filter chunk."""
        filters = yield from self._read_filters(descriptor.stream(Stream.FILTER))
        trace = run_pass(self.config, descriptor, self.glb, filters)
        self.counters["GLB_OFMAP_BYTES"] += trace.written
        self.counters["PASSES"] += 1
        if self.observe:
            self.observe(trace)

    def _read_filters(self, program: StreamDescriptor) -> Generator[None, None, streams.Beats | None]:
        """Return the filter beats of a pass whose filters come in chunks; yield until a missing chunk is loaded."""
        if not (program.options["enable"] and program.options["chunk"]):
            return None
        at = streams.positions(program, self.config.filter_lanes)
        level = program.options["chunk_level"]
        size = int(np.prod([v.count for v in program.levels[:level]]))
        reuses = program.levels[level + 1].count  # by inner blocks
        parts = []
        for first in range(0, len(at.address), size):
            use = at.digits[first, level + 1]
            while use == 0 and self._chunks_taken == self._chunks_loaded:
                yield
            self._chunks_taken += int(use == 0)
            chunk = slice(first, first + size)
            part = streams.Positions(**{name: values[chunk] for name, values in vars(at).items()})
            parts.append(streams.read(program, self.glb, self.config.filter_lanes, part))
            self._chunks_freed += int(use == reuses - 1)
        return streams.Beats(
            np.concatenate([part.data for part in parts]),
            np.concatenate([part.lanes for part in parts]),
            at.tag,
            parts[0].half_by_set,
        )


def _next_place(glb: int, where: dict[str, int], chunks: dict[str, int]) -> int:
    """Return the GLB address of the LOAD after one of a looped LOAD."""
    end = (glb + where["words"]) % (1 << 16)
    return chunks["ring_first"] if end == chunks["ring_end"] else end


def _expect(legal: object, address: int, reason: str) -> None:
    """Raise ProgramError unless the command at `address` is legal."""
    if not legal:
        raise ProgramError(ErrorCode.ILLEGAL_COMMAND, address, reason)


def _unpack(format_: Word, word: int, address: int) -> dict[str, int]:
    """Return the fields of a command word. Raise ProgramError if a bit outside of them is set."""
    values = format_.unpack(word)
    _expect(format_.pack(**values) == word, address, "a bit without meaning is set")
    return values
