# SPDX-License-Identifier: Apache-2.0
"""Command lists: a writer of commands, and random lists with a model of what they do.

Memories are NumPy arrays of 64-bit words. In the model commands execute one after the other, in
list order: the tokens of a random list make every other order that the accelerator may choose equivalent.
"""

from dataclasses import dataclass, field

import numpy as np

from eyrie.model import encoding
from eyrie.model.encoding import CONFIG_WORDS, Opcode
from tb.tiling.coded import Codes

CHUNK_WORDS = 64  # space of a chunk in the ring
RING = 4  # chunks
RING_BASE = 6144
LENGTHS = encoding.CODED_LENGTHS.names
GLB_DATA = 6144  # words below it are free for transfers and passes


@dataclass(frozen=True)
class Pass:
    """A pass of the stand-in pass side: target = 3 * source + number; chunks add to word 0."""

    source: int
    target: int
    words: int
    chunks: tuple[int, ...]  # numbers of the chunks it consumes, counted from the start


@dataclass
class Program:
    """Command words, the DRAM address they start at, and what the pass side should see.

    origin: what DRAM addresses of transfers count from.
    """

    base: int
    words: list[int] = field(default_factory=list)
    # ("config", index, data) and ("pass", wait_passes)
    handed: list[tuple] = field(default_factory=list)
    passes: list[Pass] = field(default_factory=list)
    transfers: int = 0
    loaded_words: int = 0
    stored_words: int = 0
    origin: int = 0

    @property
    def address(self) -> int:
        """The DRAM address of the next command."""
        return self.base + 8 * len(self.words)

    def end(self) -> None:
        self.words.append(encoding.END.pack(opcode=Opcode.END))

    def config(self, index: int, more: int, data: list[int]) -> None:
        """Write descriptor word `index`, and `index` + 1 + n for each bit n of `more`."""
        self.words.append(encoding.CONFIG.pack(opcode=Opcode.CONFIG, index=index, more=more))
        self.words += data
        written = [index, *(index + 1 + n for n in range(52) if more & 1 << n)]
        self.handed += [("config", index, word) for index, word in zip(written, data, strict=True)]

    def start_pass(self, what: Pass, wait_transfers: int = 0, wait_passes: int = 0) -> None:
        self.words.append(
            encoding.PASS.pack(opcode=Opcode.PASS, wait_transfers=wait_transfers, wait_passes=wait_passes)
        )
        self.handed.append(("pass", wait_passes))
        self.passes.append(what)

    def transfer(
        self,
        opcode: Opcode,
        dram: int,
        glb: int,
        words: int,
        rows: tuple[int, int, int] | None = None,
        planes: tuple[int, int, int] = (0, 0, 1),
        **fields: int,
    ) -> None:
        """A LOAD or STORE; `rows` and `planes` are (DRAM stride, GLB stride, count) of a block."""
        block = rows is not None
        self.words.append(encoding.TRANSFER.pack(opcode=opcode, block=block, **fields))
        self.words.append(
            encoding.TRANSFER_ADDRESS.pack(dram_address=(self.origin + dram) % (1 << 32), glb_address=glb, words=words)
        )
        if block:
            for form, shape in ((encoding.TRANSFER_ROWS, rows), (encoding.TRANSFER_PLANES, planes)):
                self.words.append(form.pack(dram_stride=shape[0], glb_stride=shape[1], count=shape[2]))
        self.transfers += 1
        moved = words * (rows[2] * planes[2] if block else 1)
        if opcode == Opcode.LOAD:
            self.loaded_words += moved
        else:
            self.stored_words += moved

    def chunks(self, dram: int, glb: int, words: int, count: int, ring: tuple[int, int], wait_chunks: int) -> None:
        """CHUNKS; ring: its first word and that behind it."""
        self.words += [
            encoding.TRANSFER.pack(opcode=Opcode.CHUNKS, wait_chunks=wait_chunks),
            encoding.TRANSFER_ADDRESS.pack(dram_address=(self.origin + dram) % (1 << 32), glb_address=glb, words=words),
            encoding.TRANSFER_CHUNKS.pack(ring_first=ring[0], ring_end=ring[1], count=count),
        ]
        self.transfers += count
        self.loaded_words += count * words

    def coded(
        self,
        dram: int,
        glb: int,
        words: int,
        lengths: list[int],
        ring: tuple[int, int] = (0, 0),
        **fields: int,
    ) -> None:
        """CODED; lengths: of each LOAD, in words of DRAM."""
        self.words += [
            encoding.CODED.pack(opcode=Opcode.CODED, **fields),
            encoding.TRANSFER_ADDRESS.pack(dram_address=(self.origin + dram) % (1 << 32), glb_address=glb, words=words),
            encoding.TRANSFER_CHUNKS.pack(ring_first=ring[0], ring_end=ring[1], count=len(lengths)),
        ]
        for first in range(0, len(lengths), len(LENGTHS)):
            self.words.append(encoding.CODED_LENGTHS.pack(**dict(zip(LENGTHS, lengths[first : first + len(LENGTHS)]))))
        self.transfers += len(lengths)
        self.loaded_words += sum(lengths)


def perform(what: Pass, number: int, source: np.ndarray, chunks: list[np.ndarray]) -> np.ndarray:
    """The words a pass writes, from its source and the words of its chunks."""
    target = source * np.uint64(3) + np.uint64(number)
    for chunk in chunks:
        target[:1] += chunk.sum(dtype=np.uint64)
    return target


class RandomProgram:
    """Draws a command list and executes it on `dram` and `glb`: then the expected memories."""

    def __init__(
        self,
        rng: np.random.Generator,
        dram: np.ndarray,
        glb: np.ndarray,
        base: int,
        data: tuple[int, int],
        commands: int,
        origin: int = 0,
        codes: Codes | None = None,
    ) -> None:
        """`data`: first and last + 1 word of `dram` that transfers may touch; origin: its address; codes: of coded
        weights that some LOADs bring."""
        self._rng = rng
        self._dram = dram
        self._glb = glb
        self._data = data
        self._codes = codes
        self._touched: list[tuple[np.ndarray, bool]] = []  # per transfer: GLB words, does it write
        self._chunk_of_pass: list[int] = []  # per chunk: number of the pass that frees it
        self.program = Program(base, origin=origin)
        kinds = [self._transfer, self._pass, self._config]
        for _ in range(commands):
            kinds[rng.choice(3, p=[0.6, 0.25, 0.15])]()
        self._pass()  # END has to wait for it
        self.program.end()

    def _int(self, low: int, high: int) -> int:
        """From low to high, both included."""
        return int(self._rng.integers(low, high + 1))

    def _config(self) -> None:
        index = self._int(0, CONFIG_WORDS - 1)
        more = self._int(0, (1 << min(CONFIG_WORDS - 1 - index, 52)) - 1)
        if self._rng.random() < 0.5:  # few
            more &= self._int(0, (1 << 52) - 1) & self._int(0, (1 << 52) - 1)
        self.program.config(index, more, [int.from_bytes(self._rng.bytes(8)) for _ in range(1 + more.bit_count())])

    def _transfer(self) -> None:
        if self._codes and self._codes.room() and self._rng.random() < 0.3:
            self._coded(self._codes)
            return
        opcode = Opcode.LOAD if self._rng.random() < 0.6 else Opcode.STORE
        if self._rng.random() < 0.5:
            words, rows, planes = self._int(1, 300), None, (0, 0, 1)
        else:
            words = self._int(1, 24)
            rows = (8 * self._int(-40, 60), self._int(-30, 40), self._int(1, 7))
            planes = (8 * self._int(-200, 500), self._int(-100, 200), self._int(1, 3))
        row, plane = np.meshgrid(np.arange(rows[2] if rows else 1), np.arange(planes[2]), indexing="xy")
        shape = rows or (0, 0, 1)
        dram = (row * shape[0] + plane * planes[0]) // 8
        glb = row * shape[1] + plane * planes[1]
        first, last = self._data
        dram += self._int(first - dram.min(), last - words - dram.max())
        glb += self._int(-glb.min(), GLB_DATA - words - glb.max())
        touched = np.unique((glb.reshape(-1, 1) + np.arange(words)).ravel())
        writes = opcode == Opcode.LOAD
        wait = self._last_pass(touched, writes)
        self.program.transfer(opcode, 8 * int(dram[0, 0]), int(glb[0, 0]), words, rows, planes, wait_passes=wait)
        for dram_row, glb_row in zip(dram.ravel(), glb.ravel(), strict=True):
            dram_words = self._dram[dram_row : dram_row + words]
            glb_words = self._glb[glb_row : glb_row + words]
            if writes:
                glb_words[:] = dram_words
            else:
                dram_words[:] = glb_words
        self._touched.append((touched, writes))

    def _coded(self, codes: Codes) -> None:
        """Loads coded weights that are no chunk."""
        chunk = codes.chunk()
        words = chunk.words.size
        glb = 2 * self._int(0, (GLB_DATA - words) // 2)
        touched = np.arange(glb, glb + words)
        wait = self._last_pass(touched, True)
        fields = {"with_table": int(chunk.begins), "wait_passes": wait}
        self.program.coded(8 * chunk.dram, glb, words, [chunk.length], **fields)
        self._glb[touched] = chunk.words
        self._touched.append((touched, True))

    def _last_pass(self, touched: np.ndarray, writes: bool) -> int:
        """How many passes have to be done before a transfer may touch these GLB words."""
        for number, what in reversed(list(enumerate(self.program.passes))):
            ranges = [what.target, what.source] if writes else [what.target]
            if any(((touched >= start) & (touched < start + what.words)).any() for start in ranges):
                return number + 1
        return 0

    def _chunks(self, count: int) -> list[np.ndarray]:
        """Loads the next chunks, whose places may still be in use: by CHUNKS, by CODED or each by itself."""
        number = len(self._chunk_of_pass)
        freed = number - RING + 1  # when the first of them may come
        looped = freed > 0 or freed + count <= 1  # each waits for one chunk more, or no one waits
        place, ring = RING_BASE + number % RING * CHUNK_WORDS, (RING_BASE, RING_BASE + RING * CHUNK_WORDS)
        if count and looped and self._codes and self._codes.room(CHUNK_WORDS, count) and self._rng.random() < 0.5:
            coded = self._codes.chunks(CHUNK_WORDS, count)
            fields = {"chunk": 1, "with_table": int(coded[0].begins), "wait_chunks": max(freed, 0)}
            lengths = [chunk.length for chunk in coded]
            self.program.coded(8 * coded[0].dram, place, CHUNK_WORDS, lengths, ring, **fields)
            return [self._chunk_there(chunk.words) for chunk in coded]
        if count and looped and self._rng.random() < 0.5:
            dram = self._int(self._data[0], self._data[1] - count * CHUNK_WORDS)
            self.program.chunks(8 * dram, place, CHUNK_WORDS, count, ring, max(freed, 0))
            loaded = self._dram[dram : dram + count * CHUNK_WORDS].reshape(count, CHUNK_WORDS)
            return [self._chunk_there(words) for words in loaded]
        found = []
        for n in range(count):
            words = self._int(1, CHUNK_WORDS)
            dram = self._int(self._data[0], self._data[1] - words)
            place = RING_BASE + (number + n) % RING * CHUNK_WORDS
            self.program.transfer(Opcode.LOAD, 8 * dram, place, words, chunk=1, wait_chunks=max(freed + n, 0))
            found.append(self._chunk_there(self._dram[dram : dram + words]))
        return found

    def _chunk_there(self, words: np.ndarray) -> np.ndarray:
        """The words of the next chunk's place when it has come."""
        place = RING_BASE + len(self._chunk_of_pass) % RING * CHUNK_WORDS
        self._touched.append((np.arange(place, place + words.size), True))
        self._chunk_of_pass.append(len(self.program.passes))
        self._glb[place : place + words.size] = words
        return self._glb[place : place + CHUNK_WORDS].copy()

    def _pass(self) -> None:
        words = self._int(1, 200)
        source, target = (self._int(0, GLB_DATA - words) for _ in range(2))
        number = len(self.program.passes)
        wait = 0
        for index, (touched, writes) in reversed(list(enumerate(self._touched))):
            ranges = [target, source] if writes else [target]
            if any(((touched >= start) & (touched < start + words)).any() for start in ranges):
                wait = index + 1
                break
        # Chunks for which there is room come before the pass, the others have to come after it.
        first = len(self._chunk_of_pass)
        count = int(self._rng.choice([0, 0, 1, 3, 9]))
        before = min(count, self._int(0, RING))
        chunks = self._chunks(before)
        what = Pass(source, target, words, tuple(range(first, first + count)))
        source_words = self._glb[source : source + words].copy()
        self.program.start_pass(what, wait, self._int(0, number))
        chunks += self._chunks(count - before)
        self._glb[target : target + words] = perform(what, number, source_words, chunks)
