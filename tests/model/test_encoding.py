# SPDX-License-Identifier: Apache-2.0
"""Commands and configuration words: fields survive packing."""

import numpy as np
import pytest

from eyrie.model import encoding as enc
from eyrie.model.word import WORD_BITS, Field, Word

WORDS = [*enc.COMMAND_WORDS, *enc.CONFIG_FORMATS]


def limits(field: Field) -> tuple[int, int]:
    half = 1 << (field.width - 1)
    return (-half, half - 1) if field.signed else (0, 2 * half - 1)


@pytest.mark.parametrize("word", WORDS, ids=lambda word: word.name)
def test_fields_survive(word: Word, seed: int) -> None:
    rng = np.random.default_rng(seed)
    draws = [{f.name: limits(f)[end] for f in word.fields} for end in (0, 1)]
    for _ in range(20):
        draws.append({f.name: int(rng.integers(*limits(f), endpoint=True)) for f in word.fields})
    for values in draws:
        packed = word.pack(**values)
        assert 0 <= packed < 1 << WORD_BITS and word.unpack(packed) == values


@pytest.mark.parametrize("word", WORDS, ids=lambda word: word.name)
def test_fields_have_bits_of_their_own(word: Word) -> None:
    ones = [word.pack(**{f.name: -1 if f.signed else (1 << f.width) - 1}) for f in word.fields]
    assert sum(ones) == (1 << sum(f.width for f in word.fields)) - 1
    assert [bits & -bits for bits in ones] == sorted(bits & -bits for bits in ones)
    assert word.pack() == 0


def test_values_that_do_not_fit_are_rejected() -> None:
    with pytest.raises(ValueError, match=r"^ArrayShape.taps = 8: must be in 0 to 7$"):
        enc.ARRAY_SHAPE.pack(taps=8)
    with pytest.raises(ValueError, match=r"^StreamRange.x = -4097: must be in -4096 to 4095$"):
        enc.STREAM_RANGE.pack(x=-4097)
    with pytest.raises(ValueError, match=r"^TagWrong has more than 64 bits$"):
        Word("TagWrong", (Field("a", 65),))
    with pytest.raises(ValueError, match=r"^Tag has no field nothing$"):
        enc.TAG.pack(nothing=1)


def test_indices_leave_room() -> None:
    """The words of a descriptor do not overlap, for the largest array."""
    rows, pes = 15, 15 * 16
    assert enc.ROW_IDS_INDEX + -(-rows // enc.IDS_PER_WORD) <= enc.COLUMN_IDS_INDEX
    assert enc.COLUMN_IDS_INDEX + -(-pes // enc.IDS_PER_WORD) <= enc.STREAMS_INDEX
    assert enc.STREAMS_INDEX + len(enc.Stream) * enc.STREAM_WORDS <= enc.CONFIG_WORDS
    assert enc.STREAM_LEVELS_OFFSET + enc.LEVELS <= enc.STREAM_WORDS
    last = enc.counter_register(max(enc.Counter)) + 4
    assert list(enc.Counter) == list(range(len(enc.Counter))) and last < 1 << 12
