# SPDX-License-Identifier: Apache-2.0
"""The order of a list: which transfer the DRAM port takes when, and where the passes stand between them.

The port takes, of the transfers that can go, the one that is needed first: a list schedule, by estimated times of the
passes. The order is one in which the accelerator could run: whatever it takes, no command waits for one behind it
(docs/hardware/tiling.md, "How to program").
"""

from bisect import bisect_left
from collections import defaultdict
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from itertools import accumulate

from eyrie.compiler.ir.program import Command, Config, Run, Transfer
from eyrie.compiler.target.times import BETWEEN, GAP, port_words, ready
from eyrie.model.config import AcceleratorConfig

LISTED_AHEAD = 8  # transfers listed before a pass that begin behind the one before it: half of the accelerator's queue
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
class Passes:
    """When passes begin and end and chunks are freed, as far as it is known when transfers are done."""

    works: list[Work]
    done: dict[int, float] = field(default_factory=dict)  # by number of the transfer
    loaded: list[float] = field(default_factory=list)  # chunks
    begun: list[float] = field(default_factory=list)
    ended: list[float] = field(default_factory=list)
    freed: list[float] = field(default_factory=list)
    _now: float = 0
    _first: int = 0  # chunk of the pass that has begun
    _taken: int = 0  # chunks

    def go_on(self) -> None:
        while len(self.ended) < len(self.works):
            work = self.works[len(self.ended)]
            if len(self.begun) == len(self.ended):
                if not all(number in self.done for number in work.needs):
                    return
                self._now = max([self._now, *(self.done[number] for number in work.needs)])
                self.begun.append(self._now)
                self._first = self._taken
            if work.tiles:
                if not self._use_chunks(work, work.cycles / (work.tiles * work.chunks * work.uses)):
                    return
            else:
                self._now += work.cycles
            self.ended.append(self._now)
            self._now += BETWEEN

    def _use_chunks(self, work: Work, step: float) -> bool:
        """As far as they are loaded, each use taking a step; returns whether all have been used."""
        while self._taken < self._first + work.tiles * work.chunks:
            if self._taken == len(self.loaded):
                return False
            self._now = max(self._now, self.loaded[self._taken]) + step
            self._taken += 1
            if work.uses == 1:
                self.freed.append(self._now)
            elif (self._taken - self._first) % work.chunks == 0:  # a tile is there: its other uses
                self._now += (work.uses - 2) * work.chunks * step
                for _ in range(work.chunks):
                    self._now += step
                    self.freed.append(self._now)
        return True


class _Port:
    """The DRAM port's work: `order` has the transfers, counted from 0, as the port takes them, `starts` when."""

    def __init__(self, moves: list[Move], needs: list[Need], passes: Passes, config: AcceleratorConfig) -> None:
        self.order: list[int] = []
        self.starts: list[float] = []
        self._moves, self._needs, self._passes = moves, needs, passes
        self._words, self._ready_after = port_words(config), ready(config)
        self._open = [len(move.after) + 2 for move in moves]  # what it waits for: two tokens, other transfers
        self._from = [0.0] * len(moves)  # when all of that is over, as far as it is known
        self._behind, self._by_pass, self._by_chunk = defaultdict(list), defaultdict(list), defaultdict(list)
        for number, move in enumerate(moves):
            for before in move.after:
                self._behind[before].append(number)
            self._by_pass[move.transfer.wait_passes].append(number)
            self._by_chunk[move.transfer.wait_chunks].append(number)
        self._passes_told = self._chunks_told = 0
        self._known: list[tuple[float, Need, int]] = []  # what can go from a time on
        self._ready: list[tuple[Need, int]] = []

    def run(self) -> None:
        now, loading = 0.0, True
        self._over(self._by_pass[0], 0)
        self._over(self._by_chunk[0], 0)
        self._passes.go_on()
        while len(self.order) < len(self._moves):
            self._tell()
            while self._known and (self._known[0][0] <= now or not self._ready):
                at, need, number = heappop(self._known)
                now = max(now, at)
                heappush(self._ready, (need, number))
            _, number = heappop(self._ready)
            transfer = self._moves[number].transfer
            now += self._ready_after * (transfer.load != loading)
            loading = transfer.load
            self.order.append(number)
            self.starts.append(now)
            now += transfer.rows * transfer.words / self._words + GAP
            self._passes.done[number + 1] = now + self._ready_after
            if transfer.chunk:
                self._passes.loaded.append(now + self._ready_after)
            self._passes.go_on()
            self._over(self._behind[number + 1], self.starts[-1])

    def _tell(self) -> None:
        """Those that wait for passes and chunks whose end is known."""
        passes = self._passes
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
                heappush(self._known, (self._from[number], self._needs[number], number))


def listed(moves: list[Move], works: list[Work], config: AcceleratorConfig) -> list[Command]:
    """The commands of transfers and passes, without END; moves and works come each in their serial order."""
    passes = Passes(works)
    port = _Port(moves, needed_by(moves, works), passes, config)
    port.run()
    place = {number + 1: at for at, number in enumerate(port.order)}
    transfers = in_runs([moves[number].transfer for number in port.order])
    commands: list[Command] = []
    at = 0
    for work, last in zip(works, _listed_before(transfers, works, place, port.starts, passes.begun)):
        wait_transfers = max((place[number] + 1 for number in work.needs), default=0)
        commands += [*transfers[at:last], *work.configs, Run(wait_transfers, work.wait_passes)]
        at = last
    return commands + transfers[at:]


def in_runs(transfers: list[Transfer]) -> list[Transfer]:
    """With tokens by which chunks that come one behind the other are one command (`encoded` in ir/program.py).

    Transfers begin in order: whatever token one of them names that another has waited for before, it waits as long.
    """
    found: list[Transfer] = []
    passes = freed = 0  # the largest tokens so far
    for transfer in transfers:
        if found and found[-1].chunk and transfer.chunk:
            last = found[-1]
            following = last.wait_chunks and last.wait_chunks + 1
            transfer = replace(
                transfer,
                wait_passes=last.wait_passes if transfer.wait_passes <= passes else transfer.wait_passes,
                wait_chunks=following if max(transfer.wait_chunks, following) <= freed else transfer.wait_chunks,
            )
        found.append(transfer)
        passes, freed = max(passes, transfer.wait_passes), max(freed, transfer.wait_chunks)
    return found


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


def _listed_before(
    transfers: list[Transfer], works: list[Work], place: dict[int, int], starts: list[float], begun: list[float]
) -> list[int]:
    """Of each pass, how many transfers are listed before it: those that it needs and all chunks of the pass before,
    none that waits for it, and as many as keep the queues of both filled while the pass before runs.

    place: of each transfer by its number; starts, begun: when transfers and passes begin.
    """
    least, most = [0] * (len(works) + 1), [len(transfers)] * len(works)
    used_by = [n for n, work in enumerate(works) for _ in range(work.tiles * work.chunks)]  # of each chunk
    chunks = 0
    for at, transfer in enumerate(transfers):
        if transfer.wait_passes:
            most[transfer.wait_passes - 1] = min(most[transfer.wait_passes - 1], at)
        if transfer.wait_chunks:
            n = used_by[transfer.wait_chunks - 1]
            most[n] = min(most[n], at)
        if transfer.chunk:
            least[used_by[chunks] + 1] = at + 1
            chunks += 1
    found, before = [], 0
    latest = list(accumulate(reversed(most), min))[::-1]
    for n, work in enumerate(works):
        wanted = bisect_left(starts, begun[n - 1]) + LISTED_AHEAD if n else 0
        needed = max((place[number] + 1 for number in work.needs), default=0)
        before = max(before, least[n], needed, min(wanted, latest[n]))
        found.append(before)
    return found
