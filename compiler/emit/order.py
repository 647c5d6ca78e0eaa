# SPDX-License-Identifier: Apache-2.0
"""The order of a list: which transfer the DRAM port takes when, and where the passes stand between them.

The port takes, of the transfers that can go, the one that is needed first: a list schedule, by estimated times of the
passes. The order is one in which the machine could run: whatever it takes, no command waits for one behind it
(docs/tiling.md, "How to program").
"""

from collections import defaultdict
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush

from compiler.ir.program import Command, Config, Run, Transfer

READY = 40  # cycles from a load's start to its first word, and from a store's last word to its end
GAP = 2  # cycles of the port for a transfer's commands
BETWEEN = 30  # cycles from a pass's last multiplication to the next one's first
LISTED_AHEAD = 8  # transfers listed before a pass that begin behind the one before it: half of the machine's queue
LAST = 1 << 60

Need = tuple[int, int, int]  # pass, chunk and number by which transfers are sorted


@dataclass(frozen=True)
class Move:
    """A transfer with its tokens; after: numbers of transfers, from 1 on, that come before it."""

    transfer: Transfer
    after: tuple[int, ...]


@dataclass(frozen=True)
class Work:
    """A pass: its CONFIG words, the transfers that it waits for, numbered from 1 on, and the passes that its ifmap
    stream waits for.

    cycles  estimate, when nothing holds it up
    tiles, chunks, uses  of the filters that come in chunks: tiles, chunks of each, and how often these are used in turn
    """

    configs: tuple[Config, ...]
    needs: tuple[int, ...]
    wait_passes: int
    cycles: int
    tiles: int = 0
    chunks: int = 0
    uses: int = 0


@dataclass
class _Passes:
    """When passes end and chunks are freed, as far as it is known which transfers are done when."""

    works: list[Work]
    done: dict[int, int] = field(default_factory=dict)  # by transfer
    loaded: list[int] = field(default_factory=list)  # chunks
    begun: list[int] = field(default_factory=list)
    ended: list[int] = field(default_factory=list)
    freed: list[int] = field(default_factory=list)
    _taken: int = 0  # chunks
    _now: int = 0

    def go_on(self) -> None:
        while len(self.ended) < len(self.works):
            work = self.works[len(self.ended)]
            if len(self.begun) == len(self.ended):
                if any(number not in self.done for number in work.needs):
                    return
                self._now = max([self._now, *(self.done[number] for number in work.needs)])
                self.begun.append(self._now)
                self._first, self._step = self._taken, work.cycles / max(work.tiles * work.chunks * work.uses, 1)
            if not self._work_chunks(work):
                return
            if not work.tiles:
                self._now += work.cycles
            self._now += BETWEEN
            self.ended.append(self._now)

    def _work_chunks(self, work: Work) -> bool:
        """Whether all of a pass's chunks have been used."""
        last = self._first + work.tiles * work.chunks
        while self._taken < last:
            if self._taken == len(self.loaded):
                return False
            self._now = max(self._now, self.loaded[self._taken]) + self._step
            self._taken += 1
            if work.uses == 1:
                self.freed.append(self._now)
            elif (self._taken - self._first) % work.chunks == 0:  # a tile is there: its other uses
                self._now += (work.uses - 2) * work.chunks * self._step
                for _ in range(work.chunks):
                    self._now += self._step
                    self.freed.append(self._now)
        return True


@dataclass
class _Port:
    """The transfers in the order in which the port takes them, and when it does so."""

    moves: list[Move]
    needs: list[Need]
    passes: _Passes
    bus_words: int
    order: list[int] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)

    def run(self) -> None:
        self._open = [len(move.after) + 2 for move in self.moves]  # what is not known to be over: the tokens are two
        self._from = [0] * len(self.moves)
        self._behind, self._by_pass, self._by_chunk = defaultdict(list), defaultdict(list), defaultdict(list)
        self._known: list[tuple[int, Need, int]] = []  # can go from a time on
        self._ready: list[tuple[Need, int]] = []
        self._passes_told = self._chunks_told = now = 0
        loading = True
        for number, move in enumerate(self.moves):
            for before in move.after:
                self._behind[before].append(number)
            self._by_pass[move.transfer.wait_passes].append(number)
            self._by_chunk[move.transfer.wait_chunks].append(number)
        self.passes.go_on()
        self._over(self._by_pass[0], 0)
        self._over(self._by_chunk[0], 0)
        while len(self.order) < len(self.moves):
            self._tell()
            while self._known and (self._known[0][0] <= now or not self._ready):
                at, need, number = heappop(self._known)
                now = max(now, at)
                heappush(self._ready, (need, number))
            _, number = heappop(self._ready)
            transfer = self.moves[number].transfer
            now += READY * (transfer.load != loading)
            loading = transfer.load
            self.order.append(number)
            self.starts.append(now)
            now += transfer.words // self.bus_words + GAP
            self.passes.done[number + 1] = now + READY
            if transfer.chunk:
                self.passes.loaded.append(now + READY)
            self.passes.go_on()
            self._over(self._behind[number + 1], self.starts[-1])

    def _tell(self) -> None:
        """What waits for passes and chunks whose end is known."""
        passes = self.passes
        for n in range(self._passes_told, len(passes.ended)):
            self._over(self._by_pass[n + 1], passes.ended[n])
        for n in range(self._chunks_told, len(passes.freed)):
            self._over(self._by_chunk[n + 1], passes.freed[n])
        self._passes_told, self._chunks_told = len(passes.ended), len(passes.freed)

    def _over(self, waiting: list[int], at: float) -> None:
        for number in waiting:
            self._open[number] -= 1
            self._from[number] = max(self._from[number], at)
            if not self._open[number]:
                heappush(self._known, (self._from[number], self.needs[number], number))


def listed(moves: list[Move], works: list[Work], bus_words: int) -> list[Command]:
    """The commands of transfers and passes, without END. moves and works come each in their serial order."""
    passes = _Passes(works)
    port = _Port(moves, needed_by(moves, works), passes, bus_words)
    port.run()
    place = {number + 1: at for at, number in enumerate(port.order)}
    before = _passes_before(moves, works, port, place)
    commands: list[Command] = []
    at = 0
    for work, last in zip(works, before):
        commands += [moves[number].transfer for number in port.order[at:last]]
        at = last
        wait_transfers = max((place[number] + 1 for number in work.needs), default=0)
        commands += [*work.configs, Run(wait_transfers, work.wait_passes)]
    return commands + [moves[number].transfer for number in port.order[at:]]


def needed_by(moves: list[Move], works: list[Work]) -> list[Need]:
    """What transfers are sorted by: the first pass that needs them or another that comes behind them, the chunk within
    it, and their serial order."""
    needs: list[Need] = [(LAST, 0, number) for number in range(len(moves))]
    chunks = [number for number, move in enumerate(moves) if move.transfer.chunk]
    taken = 0
    for n, work in enumerate(works):
        for number in work.needs:
            needs[number - 1] = min(needs[number - 1], (n, 0, number - 1))
        for chunk in range(work.tiles * work.chunks):
            number = chunks[taken]
            needs[number] = min(needs[number], (n, chunk + 1, number))
            taken += 1
    for number in reversed(range(len(moves))):
        for before in moves[number].after:
            needs[before - 1] = min(needs[before - 1], (*needs[number][:2], before - 1))
    return needs


def _passes_before(moves: list[Move], works: list[Work], port: _Port, place: dict[int, int]) -> list[int]:
    """Of each pass, how many transfers are listed before it: those that it needs, none that waits for it, and as many
    as keep the queues of both filled while the pass before it runs."""
    latest, chunk_pass = [len(moves)] * len(works), []
    for n, work in enumerate(works):
        chunk_pass += [n] * (work.tiles * work.chunks)
    brought, chunks = [0] * (len(works) + 1), 0  # transfers up to the last chunk of the pass before
    for at, number in enumerate(port.order):
        transfer = moves[number].transfer
        if transfer.chunk:
            brought[chunk_pass[chunks] + 1] = at + 1
            chunks += 1
        for n in ([transfer.wait_passes - 1] if transfer.wait_passes else []) + (
                [chunk_pass[transfer.wait_chunks - 1]] if transfer.wait_chunks else []):
            latest[n] = min(latest[n], at)
    for n in reversed(range(len(works) - 1)):
        latest[n] = min(latest[n], latest[n + 1])
    found, most, begun = [], 0, 0
    for n, work in enumerate(works):
        most = max([most, brought[n], *(place[number] + 1 for number in work.needs)])
        while begun < len(moves) and n and port.starts[begun] < port.passes.begun[n - 1]:
            begun += 1
        most = max(most, min(begun + LISTED_AHEAD if n else 0, latest[n]))
        found.append(most)
    return found
