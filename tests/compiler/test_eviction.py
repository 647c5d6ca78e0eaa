# SPDX-License-Identifier: Apache-2.0
"""Evictions in the GLB: buffers that fit together find addresses in any order, and a failure changes nothing."""

from contextlib import suppress

import numpy as np

from eyrie.compiler.ir.buffer import Buffer, whole
from eyrie.compiler.plan.eviction import EvictingSpace
from eyrie.compiler.plan.placement import NoRoom, Space
from eyrie.testing.samples import scaled

WORDS, TIMES = 256, 12
CASES = scaled(60, least=30)


def packed(rng: np.random.Generator) -> list[Buffer]:
    """Buffers that fit together: rectangles of words and times that are cut out of the whole GLB."""
    pieces = [(WORDS, 0, TIMES - 1)]
    for _ in range(11):
        words, birth, death = pieces.pop(int(rng.integers(len(pieces))))
        if rng.random() < 0.5 and words >= 8:
            cut = 2 * int(rng.integers(1, words // 2))
            pieces += [(cut, birth, death), (words - cut, birth, death)]
        elif death > birth:
            cut = int(rng.integers(birth, death))
            pieces += [(words, birth, cut), (words, cut + 1, death)]
        else:
            pieces.append((words, birth, death))
    return [whole("group", f"buffer{n}", *piece) for n, piece in enumerate(pieces)]


def check(space: Space) -> None:
    owner: dict[tuple[int, int], str] = {}
    for buffer in space.placed:
        assert 0 <= buffer.placed <= WORDS - buffer.words
        for time in range(buffer.birth, buffer.death + 1):
            for word in range(buffer.placed, buffer.placed + buffer.words):
                assert owner.setdefault((time, word), buffer.name) == buffer.name


def test_evictions_find_room_that_is_in_pieces(seed: int) -> None:
    fitted = {Space: 0, EvictingSpace: 0}
    for number in range(CASES):
        for kind in fitted:
            rng = np.random.default_rng([seed, number])
            buffers, space = packed(rng), kind(WORDS)
            rng.shuffle(buffers)
            with suppress(NoRoom):
                for buffer in buffers:
                    space.place(buffer, rng.random())
                assert {id(buffer) for buffer in space.placed} == {id(buffer) for buffer in buffers}
                check(space)
                fitted[kind] += 1
    assert fitted[EvictingSpace] > CASES / 2 and fitted[EvictingSpace] > 1.5 * fitted[Space]


def test_room_is_made_or_all_stays_in_place(seed: int) -> None:
    made = refused = 0
    for number in range(CASES):
        rng, space = np.random.default_rng([seed, 1, number]), EvictingSpace(WORDS)
        for buffer in packed(rng)[: int(rng.integers(2, 8))]:
            with suppress(NoRoom):
                space.place(buffer, rng.random())
        before = [(buffer.name, buffer.address) for buffer in space.placed]
        birth, death = np.sort(rng.integers(TIMES, size=2)).tolist()
        words = 2 * int(rng.integers(1, WORDS // 2))
        if space.make_room(words, birth, death):
            assert space.largest_free(birth, death) >= words
            made += 1
        else:
            assert [(buffer.name, buffer.address) for buffer in space.placed] == before
            refused += 1
        check(space)
        space.place(whole("group", "last", space.largest_free(0, TIMES - 1), 0, TIMES - 1))
    assert made and refused
