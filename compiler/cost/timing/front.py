# SPDX-License-Identifier: Apache-2.0
"""When a program's commands are fetched, and its transfers and passes run: the accelerator as queues and times.

Times are cycles from the start of a run, the first cycle counted being 0. Each unit is asked for the time of
an event and works its way to it; no unit steps through cycles. What the numbers come from is said at each.
"""

from bisect import bisect_left
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from eyrie.compiler.cost.timing.banks import Banks
from eyrie.compiler.cost.traffic import FETCH_AHEAD, FETCH_WORDS
from eyrie.compiler.ir.program import Command, Config, Run, Transfer, encoded, written_by
from eyrie.model.config import AcceleratorConfig

READ_BURSTS = 28  # of loads under way at most (axi_reader)
WRITE_BURSTS = 8  # of stores, until their response (axi_writer)
RESPONDED = 5  # from a response until the beat of the burst that waits for it
BURST_BEATS = 64  # MAX_BEATS of burst_splitter
PAGE_WORDS = 512  # a burst stays in 4 KiB: 64-bit words
TURNS = 1.05  # of the decoder for two words: some only bring bits
MIXED = 0.79, 0.28  # shares of beats and turns, where both are about as many and wait for each other
DECODED = 4  # from a beat of coded weights to their words: window, lanes (weight_decoder)
CHUNK_END = 2  # from the last beat of a coded chunk to the first one of the next
LANDED = 2  # from a load's last beat to its count: skid buffer of dma_load, semaphores
FIRST_ASK = 2  # StClear, then started_q of command_fetch
STORE_START = 6  # from a store's start to its first beat: dma_rows, splitter, offer, GLB read, queue, W register
STORE_READ = 3  # from a word's GLB read to its beat
AR_REGISTER = 1  # from a burst's issue in axi_reader to its request
STORED = 1  # from a store's response to its count
TRANSFER_QUEUE, PASS_QUEUE = 16, 64  # of tiling_controller
NEVER = 1 << 40
FINISH = 2  # run_control: StFinish, and one cycle to reach it


@dataclass
class ReadPort:
    """axi_reader: bursts in the order of their issue. latency: of the DRAM, in cycles; interval: cycles from beat to
    beat; most: beats under way, above which a load waits"""

    latency: int
    interval: int
    most: int
    issued: int = -1  # cycle of the last issue
    free: int = 0  # first cycle in which no beat is planned
    _ends: list[int] = field(default_factory=list)  # beats up to and with each burst
    _starts: list[int] = field(default_factory=list)  # cycle of its first beat

    def issue(self, at: int, beats: int, cycles: int = 0) -> int:
        """Issues a burst in a cycle; returns the cycle of its first beat. cycles: in which its beats are decoded"""
        self.issued = at
        start = max(self.free, at + AR_REGISTER + self.latency)
        self.free = start + max(beats * self.interval, cycles)
        self._ends.append((self._ends[-1] if self._ends else 0) + beats)
        self._starts.append(start)
        return start

    def earliest(self, ready: int) -> int:
        """When a burst of a load that is there from `ready` on can be issued."""
        at = max(ready, self.issued + 1)
        count = self._ends[-1] if self._ends else 0
        if count > self.most:
            at = max(at, self._beat_at(count - self.most) + 1)
        if len(self._ends) >= READ_BURSTS:
            beats = self._ends[-READ_BURSTS] - (self._ends[-READ_BURSTS - 1] if len(self._ends) > READ_BURSTS else 0)
            at = max(at, self._starts[-READ_BURSTS] + (beats - 1) * self.interval + 1)
        return at

    def _beat_at(self, number: int) -> int:
        """Cycle of a beat, counted from 1."""
        burst = bisect_left(self._ends, number)
        before = self._ends[burst - 1] if burst else 0
        return self._starts[burst] + (number - before - 1) * self.interval


def bursts(address: int, words: int, bus_words: int) -> Iterator[int]:
    """Beats of the bursts of a stretch of words on a port of so many words."""
    beat, left = address // 8 // bus_words, words // bus_words
    page = PAGE_WORDS // bus_words
    while left:
        beats = min(left, BURST_BEATS, page - beat % page)
        yield beats
        beat, left = beat + beats, left - beats


@dataclass(frozen=True)
class PassCommand:
    """Where a pass stands in the list: its CONFIG words and the PASS by their number, and its tokens."""

    configs: tuple[int, ...]
    word: int
    wait_transfers: int
    wait_passes: int
    ids_written: bool


@dataclass(frozen=True)
class TransferTimes:
    """The cycle in which the DMA starts a load or store, and the cycle from which it counts."""

    load: bool
    started: int
    done: int


class Front:
    """Command fetch, decoder, queues and DMA; the pass side tells it when words leave the pass queue, when
    passes are done and when chunks are freed. The rows of a block count as one behind the other.
    """

    def __init__(self, commands: Sequence[Command], ids: range, banks: Banks, config: AcceleratorConfig) -> None:
        """ids: indices of the descriptor's ID words"""
        self._port = ReadPort(config.dram_latency, config.dram_interval, config.read_beats)
        self._banks, self._bus_words, self._interval = banks, config.bus_words, config.dram_interval
        self._stored = config.dram_latency + STORED  # from a store's last beat to its count
        self._transfers_known = 0  # what transfers do to the banks is known before this cycle
        self._taken: list[int] = []  # cycle in which the decoder takes each word
        self._fetched: list[int] = []  # cycle in which each word is at its input
        self._asked = 0  # chunks
        # Of each word: the transfers that it completes, True for an entry of the pass queue, None for another.
        self._kinds: list[list[Transfer] | bool | None] = []
        self.passes: list[PassCommand] = []
        self.left: list[int] = []  # cycle in which each entry leaves the pass queue
        self.passes_done: list[int] = []  # cycle from which each counts
        self.chunks_freed: list[int] = []
        self.chunks_loaded: list[int] = []
        self.transfers_done: list[int] = []
        self._entries = self._listed = 0
        self._handed = 0  # transfers of the word that is being decoded
        self._queue: list[tuple[Transfer, int]] = []  # with the cycle of its decoding
        self._started: list[int] = []
        self._pending: list[int] = []  # bursts of the load under way that have not gone out
        self._moved = 0  # words of that load that have
        self._row_taken = self._splitter_free = 0  # cycles: the last row is taken; the next can be
        self._store_free = 0
        self._responses = deque([-RESPONDED] * WRITE_BURSTS, WRITE_BURSTS)  # cycles in which bursts of stores count
        self._list(commands, ids)

    def _list(self, commands: Sequence[Command], ids: range) -> None:
        configs, ids_written = list[int](), False
        for found, words in encoded(commands):
            first, count, command = len(self._kinds), len(words), found[0]
            if isinstance(command, Config):
                written = written_by(words)
                self._kinds += [None if index is None else True for index in written]
                configs += [first + n for n, index in enumerate(written) if index is not None]
                ids_written |= any(index in ids for index in written)
            elif isinstance(command, Run):
                self._kinds.append(True)
                self.passes.append(
                    PassCommand(tuple(configs), first, command.wait_transfers, command.wait_passes, ids_written)
                )
                configs, ids_written = [], False
            elif isinstance(command, Transfer):
                transfers = [each for each in found if isinstance(each, Transfer)]
                self._kinds += [*[None] * (count - 1), transfers]
            else:
                self._kinds.append(None)

    # ---- What the pass side asks for ----

    def word(self, number: int) -> int:
        """The cycle in which the decoder takes a word of the list."""
        while len(self._taken) <= number:
            self._advance()
        return self._taken[number]

    def transfer_done(self, number: int) -> int:
        """The cycle from which so many transfers are done."""
        while len(self.transfers_done) < number:
            self._advance()
        return self.transfers_done[number - 1] if number else 0

    def chunk(self, number: int) -> int:
        """The cycle from which so many chunks are loaded."""
        while len(self.chunks_loaded) < number:
            self._advance()
        return self.chunks_loaded[number - 1]

    def catch_up(self, cycle: int) -> None:
        """Goes on as far as is known and begins before a cycle."""
        while True:
            ask, start = self._next_times()
            if (ask is None or ask >= cycle) and (start is None or start >= cycle):
                return
            self._go(ask, start, cycle)

    def know_transfers(self, cycle: int) -> None:
        """Makes sure that the banks that stores take before a cycle are known, and where loads write: transfers that
        begin later take them some cycles after that."""
        if cycle >= self._transfers_known:
            self.catch_up(cycle)
            self._transfers_known = cycle + STORE_START - STORE_READ

    def finish(self) -> int:
        """Cycles of the run, when all passes have been told."""
        end = self.word(len(self._kinds) - 1) + 1
        last = max([end, *self.transfers_done[-1:], *self.passes_done[-1:]])
        last = max(last, self.transfer_done(self._listed))
        while self._asked < (len(self._kinds) - 1) // FETCH_WORDS + FETCH_AHEAD:
            self._ask()
        return max(last + FINISH - 1, self._port.free + FINISH - 1)

    def transfer_times(self) -> list[TransferTimes]:
        """Of all transfers, behind `finish`."""
        times = zip(self._queue, self._started, self.transfers_done, strict=True)
        return [TransferTimes(transfer.load, started, done) for (transfer, _), started, done in times]

    # ---- How it goes on ----

    def _advance(self) -> None:
        """One step: the earlier of a chunk of commands, which goes first where both can, and of a burst or a
        transfer goes out."""
        taken = len(self._taken)
        times = self._next_times()
        if times != (None, None):
            self._go(*times)
        elif len(self._taken) == taken:  # nothing was decoded, either
            raise RuntimeError("the list waits for something behind it")

    def _next_times(self) -> tuple[int | None, int | None]:
        """Decodes what it can; when a chunk of commands could be next, and when a burst or a transfer."""
        while self._decode():
            pass
        start = self._port.earliest(self._row_taken + 1) if self._pending else self._start_time()
        return self._ask_time(), start

    def _go(self, ask: int | None, start: int | None, limit: int = NEVER) -> None:
        """Goes on by a chunk of commands, a transfer, or the bursts of the load under way that go out before `limit`
        and before the chunk."""
        if start is None or (ask is not None and ask + 1 <= start):
            self._ask()
        elif self._pending:
            limit = limit if ask is None else min(limit, ask + 1)
            while self._pending and start < limit:
                self._load_burst(start)
                start = self._port.earliest(self._row_taken + 1)
        else:
            self._start(start)

    def _decode(self) -> bool:
        number = len(self._taken)
        if number >= len(self._kinds) or number >= len(self._fetched):
            return False
        at = max(self._fetched[number], self._taken[-1] + 1 if self._taken else 0)
        kind = self._kinds[number]
        if kind is True:
            if self._entries >= PASS_QUEUE:
                if self._entries - PASS_QUEUE >= len(self.left):
                    return False
                at = max(at, self.left[self._entries - PASS_QUEUE] + 1)
            self._entries += 1
        elif isinstance(kind, list):
            if not self._hand_over(kind, at):
                return False
            at = self._queue[-1][1] - 1
        self._taken.append(at)
        return True

    def _hand_over(self, transfers: list[Transfer], at: int) -> bool:
        """Transfers of a command to their queue, one a cycle from `at` on; whether all of them went there."""
        while self._handed < len(transfers):
            if self._handed:
                at = self._queue[-1][1]
            if self._listed >= TRANSFER_QUEUE:
                if self._listed - TRANSFER_QUEUE >= len(self._started):
                    return False
                at = max(at, self._started[self._listed - TRANSFER_QUEUE] + 1)
            self._queue.append((transfers[self._handed], at + 1))
            self._listed += 1
            self._handed += 1
        self._handed = 0
        return True

    def _ask_time(self) -> int | None:
        """When the next chunk of commands can be asked for; None: not known yet, or never."""
        needed = (self._asked - FETCH_AHEAD + 1) * FETCH_WORDS  # words taken before
        if needed <= 0:
            return FIRST_ASK + self._asked
        if needed >= len(self._kinds):  # nothing is asked for behind END
            return None
        return self._taken[needed - 1] + 1 if needed <= len(self._taken) else None

    def _ask(self) -> None:
        ready = self._ask_time()
        assert ready is not None
        start = self._port.issue(max(ready, self._port.issued) + 1, FETCH_WORDS // self._bus_words)
        self._fetched += [start + 1 + word // self._bus_words * self._interval for word in range(FETCH_WORDS)]
        self._asked += 1

    def _start_time(self) -> int | None:
        number = len(self._started)
        if number >= len(self._queue):
            return None
        transfer, at = self._queue[number]
        if transfer.wait_passes > len(self.passes_done) or transfer.wait_chunks > len(self.chunks_freed):
            return None
        at = max(at, self._row_taken)
        if transfer.wait_passes:
            at = max(at, self.passes_done[transfer.wait_passes - 1])
        if transfer.wait_chunks:
            at = max(at, self.chunks_freed[transfer.wait_chunks - 1])
        if number and self._queue[number - 1][0].load != transfer.load:
            at = max(at, self.transfers_done[-1])
        return at

    def _start(self, at: int) -> None:
        transfer = self._queue[len(self._started)][0]
        self._started.append(at)
        if transfer.load:
            rows = transfer.row_addresses
            self._pending = [beats for row in rows for beats in bursts(row, transfer.dram_words, self._bus_words)]
            self._row_taken, self._moved = max(at + 1, self._splitter_free), 0
            return
        step = transfer.block.row_glb if transfer.block else 0
        for row, dram in enumerate(transfer.row_addresses):
            self._row_taken = max(at + 1, self._splitter_free, self._row_taken)
            done = self._store_row(dram, transfer.glb_address + row * step, transfer.words)
        self.transfers_done.append(done)

    def _load_burst(self, at: int) -> None:
        """The next burst of the load under way, in a cycle."""
        beats = self._pending.pop(0)
        transfer = self._queue[len(self._started) - 1][0]
        if transfer.coded:
            last = self._load_coded(transfer, at, beats)
        else:
            start = self._port.issue(at, beats)
            last = start + (beats - 1) * self._interval
            words = beats * self._bus_words
            self._banks.sweep(True, start + LANDED - 1, transfer.glb_address + self._moved, words)
            self._moved += words
        if not self._pending:
            self._splitter_free = self._port.issued
            self.transfers_done.append(last + LANDED)
            if transfer.chunk:
                self.chunks_loaded.append(self.transfers_done[-1])

    def _load_coded(self, transfer: Transfer, at: int, beats: int) -> int:
        """The next burst of a load of coded weights; the cycle of its last pair of words."""
        words, between = transfer.words - self._moved, CHUNK_END
        if self._pending:
            share = beats * self._bus_words * transfer.words // transfer.coded
            words, between = min(share - share % 2, words - words % 2), 0
        moved, turns = beats * self._interval, TURNS * words / 2
        cycles = max(moved, round(max(turns, MIXED[0] * moved + MIXED[1] * turns)))
        start = self._port.issue(at, beats, cycles + between)
        self._banks.sweep_pairs(start + DECODED + LANDED - 1, transfer.glb_address + self._moved, words, cycles)
        self._moved += words
        return start + cycles + DECODED - 1

    def _store_row(self, dram: int, glb: int, words: int) -> int:
        first, moved = max(self._row_taken + STORE_START - 1, self._store_free), 0
        for beats in bursts(dram, words, self._bus_words):
            first = max(first, self._responses[0] + RESPONDED)
            self._banks.sweep(False, first - STORE_READ, glb + moved, beats * self._bus_words)
            moved += beats * self._bus_words
            first += beats * self._interval
            self._responses.append(first - self._interval + self._stored)
        self._store_free, self._splitter_free = first, self._row_taken + 1
        return self._responses[-1]
