# SPDX-License-Identifier: Apache-2.0
"""Places in the GLB: nothing lies where something else lives, and what is loaded goes where it can come early."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from eyrie.compiler.ir.buffer import Buffer, LiveRange, whole
from eyrie.compiler.ir.failure import DoesNotFit
from eyrie.compiler.plan.arrival import Piece, finished
from eyrie.compiler.plan.constants import LOAD_WORDS, Chunks
from eyrie.compiler.plan.placement import Space
from eyrie.compiler.target.times import late
from eyrie.model.config import DEFAULT, WIDE

WORDS, TIMES = 512, 12
LATE = late(DEFAULT)


def buffers(rng: np.random.Generator, count: int) -> list[Buffer]:
    found = []
    for n in range(count):
        cuts = np.sort(rng.choice(np.arange(2, 80, 2), size=rng.integers(1, 4), replace=False))
        edges = [0, *cuts.tolist()]
        parts = []
        for start, end in itertools.pairwise(edges):
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


def test_full_space_is_rejected_and_free_space_found() -> None:
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
    space.place(loaded)
    assert loaded.address == 0 and space.free_from(loaded, 2) == [1, 1]
    other = whole("group", "other", 4, 4, 5, loaded=True)
    space.place(other)
    assert other.address == 4 and space.free_from(other, 4) == [2]
    assert sorted(space.pieces(), key=lambda piece: piece.free) == [Piece(2, 1, 4), Piece(2, 2, 4)]


def test_a_wish_goes_before_what_is_free_longest() -> None:
    space = Space(8)
    space.place(whole("group", "early", 4, 0, 1))
    space.place(whole("group", "late", 4, 0, 3))
    for where, address in ((0.0, 0), (1.0, 4)):
        loaded = whole("group", "loaded", 4, 4, 5, loaded=True)
        space.place(loaded, where)
        assert loaded.address == address
        space.remove(loaded)


def ring(name: str, chunk: int, slots: int, count: int, job: int) -> Buffer:
    """Filters of a job that pass through a ring."""
    buffer = whole("group", name, chunk * slots, 2 * job, 2 * job + 1, loaded=True)
    buffer.chunk, buffer.passing, buffer.rotates = chunk, count, slots < count
    return buffer


def test_words_of_a_ring_fall_free_chunk_by_chunk(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(50):
        chunk, (slots, extra) = 2 * int(rng.integers(1, 5)), rng.integers(1, 9, 2).tolist()
        buffer, count = ring("filters", chunk, slots, slots + extra, 3), slots + extra
        buffer.address, buffer.start = 10, int(rng.integers(slots))
        last = {}
        for n in range(count):
            last[(buffer.start + n) % slots] = n
        expected = [(10 + slot * chunk, 10 + (slot + 1) * chunk, 3 + (last[slot] + 1) / count) for slot in range(slots)]
        assert buffer.falls_free(buffer.parts[0]) == expected


def test_rings_begin_where_words_fall_free_first() -> None:
    """A ring behind a ring: 6 chunks went through 4 slots, the last four of them in slots 2, 3, 0, 1."""
    space = Space(16)
    space.place(first := ring("first", 4, 4, 6, 0))
    space.place(second := ring("second", 4, 4, 9, 1))
    assert (first.start, second.start) == (0, 2)
    assert space.free_from(second, 4) == pytest.approx([5 / 6, 1, 3 / 6, 4 / 6])


def test_small_rings_wait_for_the_dram() -> None:
    """By hand: 64 chunks of 32 words through two slots wait for each other's trip to the DRAM, through 16 slots the
    port is busy; nothing waits where each chunk has a slot."""

    def words(slots: int, latency: int = 30) -> int:
        space, buffer = Space(4096), whole("layer", "filters", slots * 32, 0, 1, loaded=True)
        buffer.chunk = 32
        space.place(buffer)
        chunks = Chunks(np.zeros((64, 32), np.uint64), buffer, 32, slots)
        return sum(piece.words for piece in chunks.pieces(space, [0], replace(DEFAULT, dram_latency=latency)))

    assert words(64) == words(16) == 64 * (32 + LOAD_WORDS)
    assert words(2) == 64 * (32 + 30 + 10) and words(2, 100) == 64 * (32 + 100 + 10)


def test_what_comes_in_time_costs_nothing() -> None:
    assert finished([10, 20, 30], [Piece(1, 0, 10), Piece(2, 1, 15, chunk=5)], DEFAULT) == 60


def test_what_comes_late_is_waited_for() -> None:
    """Words that fall free when the job before is over; beats of two words take half as long."""
    assert finished([10, 20], [Piece(1, 1, 12)], DEFAULT) == 10 + 12 + LATE + 20
    assert finished([10, 20], [Piece(1, 1, 12)], WIDE) == 10 + 6 + LATE + 20
    assert finished([10, 20], [Piece(1, 0, 12)], DEFAULT) == 10 + 2 + 20  # but for the time of the first job


def test_a_slower_dram_is_waited_for_longer() -> None:
    """Beyond 255 cycles not all of them are hidden: then the beats that may be under way limit the port."""
    slow, slower = replace(DEFAULT, dram_latency=100), replace(DEFAULT, dram_latency=511)
    assert finished([10, 20], [Piece(1, 1, 12)], slow) == 10 + 12 + LATE + 70 + 20
    assert finished([10, 20], [Piece(1, 0, 12)], slow) == 10 + 2 + 20
    assert finished([10, 20], [Piece(1, 0, 12)], slower) == 10 + 14 + 20


def test_filters_come_while_their_job_runs() -> None:
    """But for the first chunk, and the port may take longer than the array."""
    assert finished([10, 20], [Piece(1, 1, 24, chunk=6)], DEFAULT) == 10 + 6 + LATE + 20
    assert finished([10, 20], [Piece(1, 1, 46, chunk=6)], DEFAULT) == 10 + 6 + LATE + 40


def test_filters_come_in_their_order() -> None:
    """Those of the next job come when the last of this one's have a slot: its last round is a quarter of it."""
    own = [Piece(0, 0, 10, chunk=5), Piece(0, 0, 30, chunk=5, again=True)]
    assert finished([100, 0], [*own, Piece(1, 0, 60, chunk=5)], DEFAULT) == 5 + 100 + 60 - 25
    assert finished([100, 0], [*own, Piece(1, 0, 60)], DEFAULT) == 5 + 100


def test_no_time_is_lost_or_won(seed: int) -> None:
    """Neither array nor port does more than it can, and one of them always works."""
    rng = np.random.default_rng(seed)
    for _ in range(200):
        cycles = rng.integers(1, 100, 6).tolist()
        pieces = []
        for need in range(6):
            pieces += [
                Piece(need, float(rng.integers(need + 1)), int(rng.integers(1, 80)), 8 * int(rng.integers(2)))
                for _ in range(rng.integers(4))
            ]
        words, end = sum(piece.words for piece in pieces), finished(cycles, pieces, DEFAULT)
        waits = len({piece.need for piece in pieces if piece.free == piece.need > 0})
        assert max(sum(cycles), words) - 1e-6 <= end <= sum(cycles) + words + LATE * waits + 1e-6
