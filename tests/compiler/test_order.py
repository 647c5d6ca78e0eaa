# SPDX-License-Identifier: Apache-2.0
"""The list schedule: the port takes what is needed first, and the list is one in which the accelerator can run.

The other opinion steps through cycles, and for few transfers tries all orders.
"""

from dataclasses import dataclass, field
from itertools import accumulate, permutations

import numpy as np

from eyrie.compiler.emit.order import BETWEEN, Move, Work, in_runs, listed, needed_by
from eyrie.compiler.ir.program import Command, Run, Transfer, encoded
from eyrie.compiler.target.times import GAP, ready
from eyrie.model.config import DEFAULT

SLOTS = 3  # of a ring
READY = ready(DEFAULT)


@dataclass
class Drawn:
    """Passes and transfers in serial order."""

    moves: list[Move] = field(default_factory=list)
    works: list[Work] = field(default_factory=list)
    chunks: list[int] = field(default_factory=list)

    def load(
        self, words: int, wait_passes: int = 0, wait_chunks: int = 0, chunk: bool = False, load: bool = True
    ) -> int:
        """The number of a transfer, which is its DRAM address, too."""
        number = len(self.moves) + 1
        after = (self.chunks[-1],) if chunk and self.chunks else ()
        self.moves.append(Move(Transfer(load, number, 0, words, wait_passes, wait_chunks, chunk), after))
        if chunk:
            self.chunks.append(number)
        return number

    def commands(self) -> list[Command]:
        return listed(self.moves, self.works, DEFAULT)


def drawn(rng: np.random.Generator, passes: int, waits: bool = True, streams: bool = True) -> Drawn:
    """Loads for each pass, which wait for passes before; stores of some passes; chunks through rings."""
    net = Drawn()
    for n in range(passes):
        needs = [
            net.load(int(rng.integers(1, 40)), int(rng.integers(n + 1)) if waits else 0) for _ in range(rng.integers(4))
        ]
        if waits and n and rng.random() < 0.3:
            net.load(int(rng.integers(1, 10)), n, load=False)
        tiles, each, uses = (int(rng.integers(1, 4)), int(rng.integers(1, SLOTS)), int(rng.integers(1, 3)))
        if not streams or rng.random() < 0.5:
            net.works.append(Work((), tuple(needs), 0, int(rng.integers(1, 80))))
            continue
        first = len(net.chunks)
        for _ in range(min(SLOTS, tiles * each)):
            net.load(int(rng.integers(1, 20)), int(rng.integers(n + 1)), chunk=True)
        net.works.append(Work((), tuple(needs), 0, tiles * each * uses * int(rng.integers(1, 20)), tiles, each, uses))
        for chunk in range(SLOTS, tiles * each):
            net.load(int(rng.integers(1, 20)), 0, first + chunk - SLOTS + 1, chunk=True)
    return net


@dataclass
class Stepped:
    """A run cycle by cycle, with transfers in an order: when each of them could go, began, and the last pass's end."""

    net: Drawn
    order: list[int]
    could: dict[int, int] = field(default_factory=dict)
    began: dict[int, int] = field(default_factory=dict)
    end: int = 0

    def run(self) -> "Stepped | None":
        """None where nothing goes on."""
        done, loaded, freed = {}, [], []  # cycles
        ended: list[int] = []
        place = free = now = pass_free = used = quiet = 0
        loading, work, uses = True, None, []
        while place < len(self.order) or len(ended) < len(self.net.works):
            quiet += 1
            for number, move in enumerate(self.net.moves, 1):
                token = move.transfer
                if (
                    number not in self.could
                    and all(n in self.began for n in move.after)
                    and (token.wait_passes <= len(ended) and token.wait_chunks <= len(freed))
                ):
                    self.could[number] = now
            if place < len(self.order) and now >= free and self.order[place] in self.could:
                number, quiet = self.order[place], 0
                transfer = self.net.moves[number - 1].transfer
                begin = now + READY * (transfer.load != loading)
                loading, place = transfer.load, place + 1
                self.began[number], free = begin, begin + transfer.words + GAP
                done[number] = free + READY
                if transfer.chunk:
                    loaded.append(free + READY)
            if work is None and len(ended) < len(self.net.works) and now >= pass_free:
                work = self.net.works[len(ended)]
                if all(done.get(number, now + 1) <= now for number in work.needs):
                    uses, left, quiet = _uses(work, used), 0, 0
                else:
                    work = None
            if work is not None:
                quiet = 0 if left else quiet
                if not left and uses and uses[0][0] < len(loaded) and loaded[uses[0][0]] <= now:
                    left = work.cycles // (work.tiles * work.chunks * work.uses)
                elif not left and not work.tiles:
                    left = work.cycles
                left -= bool(left)
                if not left and uses and uses[0][0] < len(loaded) and loaded[uses[0][0]] <= now:
                    _chunk, last = uses.pop(0)
                    freed += [now + 1] * last
                if not left and not uses:
                    used += work.tiles * work.chunks
                    ended.append(now + 1)
                    pass_free, work = now + 1 + BETWEEN, None
            now += 1
            if quiet > 1000:
                return None
        self.end = ended[-1]
        return self


def _uses(work: Work, first: int) -> list[tuple[int, bool]]:
    """The chunks that a pass uses, one after the other, and whether it is for the last time."""
    return [
        (first + tile * work.chunks + chunk, use == work.uses - 1)
        for tile in range(work.tiles)
        for use in range(work.uses)
        for chunk in range(work.chunks)
    ]


def order_of(commands: list[Command]) -> list[int]:
    return [command.dram_address for command in commands if isinstance(command, Transfer)]


def test_lists_are_serial_executions(seed: int) -> None:
    """What a command waits for comes before it, and nothing is lost."""
    chunked = 0
    for number in range(60):
        net = drawn(np.random.default_rng([seed, number]), 12)
        commands = net.commands()
        order = order_of(commands)
        assert sorted(order) == list(range(1, len(net.moves) + 1))
        assert [n for n in order if n in net.chunks] == net.chunks
        passes, loads, taken = 0, [], 0
        for command in commands:
            if isinstance(command, Run):
                work = net.works[passes]
                assert sum(n in net.chunks for n in loads) >= taken  # the pass before can end
                taken, passes = taken + work.tiles * work.chunks, passes + 1
                assert set(work.needs) <= set(loads[: command.wait_transfers])
                assert not work.needs or loads[command.wait_transfers - 1] in work.needs
            else:
                assert command.wait_passes <= passes and command.wait_chunks <= taken
                loads.append(command.dram_address)
                chunked += command.chunk
        assert passes == len(net.works)
    assert chunked > 100


def test_the_port_takes_what_is_needed_first(seed: int) -> None:
    """It is never idle while a transfer can go, and takes none before one that could go and is needed earlier."""
    chosen = 0
    for number in range(40):
        net = drawn(np.random.default_rng([seed, 1, number]), 10)
        order, needs = order_of(net.commands()), needed_by(net.moves, net.works)
        run = Stepped(net, order).run()
        assert run is not None
        free, loading = 0, True
        for place, taken in enumerate(order):
            transfer = net.moves[taken - 1].transfer
            turn = READY * (transfer.load != loading)
            waiting = [run.could[other] for other in order[place:]]
            assert abs(run.began[taken] - max(free, min(waiting)) - turn) <= 1
            for other in order[place + 1 :]:
                if run.could[other] < run.began[taken] - turn - 1:
                    assert needs[taken - 1] < needs[other - 1]
                    chosen += 1
            free, loading = run.began[taken] + transfer.words + GAP, transfer.load
    assert chosen > 100


def test_no_order_is_better_where_all_can_go(seed: int) -> None:
    """Loads that wait for nothing: among all orders none ends earlier."""
    compared = 0
    for number in range(60):
        net = drawn(np.random.default_rng([seed, 2, number]), 4, waits=False, streams=False)
        if not 2 <= len(net.moves) <= 5:
            continue
        ends = [Stepped(net, list(order)).run().end for order in permutations(range(1, len(net.moves) + 1))]
        assert Stepped(net, order_of(net.commands())).run().end == min(ends)
        compared += len(set(ends)) > 1
    assert compared > 3


def test_what_others_wait_for_is_needed_when_they_are() -> None:
    """A store whose words come back goes before what is needed later than these."""
    net = Drawn()
    net.works = [Work((), (), 0, 10), Work((), (3,), 0, 10), Work((), (2,), 0, 10)]
    net.load(5, 1, load=False)
    net.load(5, 1)
    net.load(5, 1)
    net.moves[2] = Move(net.moves[2].transfer, (1,))
    assert order_of(net.commands()) == [1, 3, 2]


def test_passes_are_listed_while_the_one_before_runs() -> None:
    """Many loads for later passes do not keep a pass from being listed."""
    net = Drawn()
    for _n in range(4):
        net.works.append(Work((), (net.load(4),), 0, 100))
    for _ in range(60):
        net.load(50)
    commands = net.commands()
    places = [n for n, command in enumerate(commands) if isinstance(command, Run)]
    assert len(places) == 4 and places[-1] < 32


def test_chunks_come_before_the_next_pass() -> None:
    """A pass whose chunks come one for another is followed by one that needs nothing: only behind them all."""
    net = Drawn()
    net.works = [Work((), (), 0, 400, 5, 4, 1), Work((), (), 0, 10)]
    for chunk in range(20):
        net.load(5, 0, max(0, chunk - 1), chunk=True)
    commands = net.commands()
    assert [n for n, command in enumerate(commands) if isinstance(command, Run)] == [0, 21]


def test_chunks_that_come_in_a_row_are_few_commands(seed: int) -> None:
    """Their tokens are others than those drawn, which make every transfer wait as long: they begin in order."""
    rng = np.random.default_rng(seed)
    transfers = [Transfer(True, 0, 0, 6, wait_passes=3, wait_chunks=4)]
    for n in range(20):  # the first four come into places that others left long ago
        passes, freed = int(rng.integers(4)), n + 1 if n > 3 else int(rng.integers(2))
        transfers.append(Transfer(True, 48 * (n + 1), 100 + n % 4 * 6, 6, passes, freed, chunk=True))
    found = in_runs(transfers)
    counts = [len(each) for each, _ in encoded(found)]
    assert len(counts) <= 3 and counts[-1] >= 16
    for name in ("wait_passes", "wait_chunks"):
        before, now = ([getattr(each, name) for each in each_list] for each_list in (transfers, found))
        assert list(accumulate(before, max)) == list(accumulate(now, max)), name
