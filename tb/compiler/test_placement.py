# SPDX-License-Identifier: Apache-2.0
"""Places in the GLB: nothing lies where something else lives, and transfers keep their order."""

import numpy as np
import pytest

from compiler.emit.timeline import AHEAD, hoist_loads
from compiler.ir.buffer import Buffer, LiveRange, whole
from compiler.ir.failure import DoesNotFit
from compiler.ir.program import Config, Run, Transfer
from compiler.plan.placement import Space

WORDS, TIMES = 512, 12


def buffers(rng: np.random.Generator, count: int) -> list[Buffer]:
    found = []
    for n in range(count):
        cuts = np.sort(rng.choice(np.arange(2, 80, 2), size=rng.integers(1, 4), replace=False))
        edges = [0, *cuts.tolist()]
        parts = []
        for start, end in zip(edges, edges[1:]):
            birth, death = np.sort(rng.integers(TIMES, size=2)).tolist()
            parts.append(LiveRange(start, end - start, birth, death))
        found.append(Buffer("group", f"buffer{n}", parts, bool(rng.integers(2))))
    return found


def test_no_word_is_taken_twice(seed: int) -> None:
    placed = 0
    for number in range(40):
        rng = np.random.default_rng([seed, number])
        space, owner = Space(WORDS), {}
        for buffer in buffers(rng, 30):
            try:
                space.place(buffer, rng.random())
            except DoesNotFit as error:
                assert str(error).startswith(f"{buffer.name}: no room for {buffer.words * 8} bytes")
                continue
            assert buffer.address % 2 == 0 and 0 <= buffer.address <= WORDS - buffer.words
            for part in buffer.parts:
                for time in range(part.birth, part.death + 1):
                    for word in range(buffer.address + part.offset, buffer.address + part.offset + part.words):
                        assert owner.setdefault((time, word), buffer.name) == buffer.name
            placed += 1
    assert placed > 400


def test_full_space_is_refused_and_free_space_found() -> None:
    space = Space(WORDS)
    space.place(whole("group", "low", WORDS - 10, 0, 1))
    with pytest.raises(DoesNotFit, match="^group high: no room for 96 bytes"):
        space.place(whole("group", "high", 11, 0, 0))
    space.place(last := whole("group", "last", 10, 0, 0))
    assert last.address == WORDS - 10


def test_loaded_buffers_take_what_is_free_longest() -> None:
    space = Space(8)
    space.place(whole("group", "early", 4, 0, 1))
    space.place(whole("group", "late", 4, 0, 3))
    loaded = whole("group", "loaded", 4, 4, 5, loaded=True)
    space.place(loaded, where=1.0)
    assert loaded.address == 0 and space.exposed_words() == 0
    other = whole("group", "other", 4, 4, 5, loaded=True)
    space.place(other)
    assert other.address == 4 and space.exposed_words() == 4


def test_loads_go_ahead_in_their_order(seed: int) -> None:
    rng = np.random.default_rng(seed)
    commands, passes = [], 0
    for _ in range(200):
        if rng.random() < 0.6:
            load, chunk = bool(rng.random() < 0.8), bool(rng.random() < 0.2)
            wait = int(rng.integers(passes + 1))
            commands.append(Transfer(load, 8 * len(commands), 0, 1, wait, int(chunk) * 2, chunk))
        else:
            commands += [Config(0, (passes,)), Run(0, 0)]
            passes += 1
    listed = hoist_loads(commands)
    assert sorted(map(str, listed)) == sorted(map(str, commands))
    assert [c for c in listed if isinstance(c, Transfer)] == [c for c in commands if isinstance(c, Transfer)]
    assert [c for c in listed if not isinstance(c, Transfer)] == [c for c in commands if not isinstance(c, Transfer)]

    def before(order: list, transfer: Transfer) -> int:
        """Passes listed before a transfer."""
        return sum(isinstance(c, Run) for c in order[: order.index(transfer)])

    for transfer in (c for c in commands if isinstance(c, Transfer)):
        there, here = before(listed, transfer), before(commands, transfer)
        assert here - AHEAD <= there <= here
        if not transfer.load or transfer.wait_chunks:
            assert there == here
        else:
            assert there >= min(transfer.wait_passes, here)
