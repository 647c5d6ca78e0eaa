# SPDX-License-Identifier: Apache-2.0
"""Codes of weights: choice, encoder, golden decoder. The testbenches code0 to code3 compare the RTL with it."""

import numpy as np
import pytest

from eyrie.compiler.codes import choice
from eyrie.compiler.codes.encode import coded_bits, encode
from eyrie.model.encoding import CODE_LANES, CODE_TABLE, WEIGHT_CLASS
from eyrie.model.errors import InputError
from eyrie.model.weight_codes import (
    PREFIX_BITS,
    REST,
    TABLE_WORDS,
    CodeError,
    WeightClass,
    WeightCode,
    WeightDecoder,
    in_beats,
    number_of,
    weight_of,
)
from eyrie.testing.samples import scaled
from tb.common import weights as codes
from tb.common.weights import draw_weights

ALL = np.arange(-128, 128).astype(np.int8)


def test_order_of_weights() -> None:
    assert number_of(np.array([0, -1, 1, -2, 127, -128], np.int8)).tolist() == [0, 1, 2, 3, 254, 255]
    assert sorted(number_of(ALL)) == list(range(256))
    assert number_of(np.array([100, 99, 101, 127, -128, -28], np.int8), 100).tolist() == [0, 1, 2, 54, 56, 255]
    for centre in (0, 100, -128, 127):
        assert sorted(number_of(ALL, centre)) == list(range(256))
        np.testing.assert_array_equal(weight_of(number_of(ALL, centre), centre), ALL)


def chain(code: WeightCode, chunks: list[np.ndarray], beat_words: int = 1) -> list[np.ndarray]:
    """Return the coded words of a chain, the first ones with the table; none if a chunk is too short."""
    coded = encode(code, chunks, beat_words) or []
    return [np.concatenate([in_beats(code.table, beat_words), words]) for words in coded[:1]] + coded[1:]


@pytest.mark.parametrize("name", ["best", "packed", "bitmask"])
def test_chains_come_back(name: str, seed: int) -> None:
    rng, several = np.random.default_rng(seed), 0
    for _ in range(scaled(60)):
        lengths, beat_words = rng.integers(1, rng.choice([8, 120]), rng.integers(1, 5)), int(rng.integers(1, 3))
        weights = draw_weights(rng, int(lengths.sum()))
        code = {"best": choice.best, "packed": codes.packed, "bitmask": codes.bitmask}[name](weights)
        parts, decoder = np.split(weights, 8 * np.cumsum(lengths)[:-1]), WeightDecoder(beat_words)
        coded = chain(code, parts, beat_words)
        assert coded or len(parts) > 1
        for words, part in zip(coded, parts, strict=bool(coded)):
            assert words.size % beat_words == 0
            np.testing.assert_array_equal(decoder.decode(words, part.size // 8, words is coded[0]), part)
        several += len(coded) > 1
    assert several


def test_a_chain_has_no_words_between_its_chunks(seed: int) -> None:
    """Each chunk has the beats of its bits, up to one."""
    weights = np.clip(np.rint(np.random.default_rng(seed).normal(0, 10, (64, 8 * 32))), -128, 127).astype(np.int8)
    code = choice.best(weights)
    size = sum(words.size for words in encode(code, list(weights)) or [])
    assert 0 < size <= coded_bits(code, weights.ravel()) / 64 + 4
    assert size + 64 < sum(words.size for chunk in weights for words in encode(code, [chunk]) or [])


def test_chunks_that_are_too_short() -> None:
    """The lanes have the bits of some chunks of one word: their beats come early. More beats have no room."""
    weights = np.arange(64, dtype=np.int8) % 2
    code = choice.best(weights)
    coded = chain(code, [weights, weights[:8]])
    assert [words.size for words in coded] == [coded[0].size, 1]
    decoder = WeightDecoder()
    decoder.decode(coded[0], 8, True)
    np.testing.assert_array_equal(decoder.decode(coded[1], 1, False), weights[:8])
    assert not chain(code, [weights] + [weights[:8]] * 8)


@pytest.mark.parametrize(("zeros", "share"), [(0.8, 1.2), (0.95, 1.5), (0.99, 2.2)])
@pytest.mark.parametrize("centre", [0, 100])
def test_rests(zeros: float, share: float, centre: int, seed: int) -> None:
    """Weights that are nearly all the same take less than a bit, and come back."""
    rng = np.random.default_rng(seed)
    weights = np.where(rng.random(1 << 15) < zeros, centre, rng.integers(-128, 128, 1 << 15)).astype(np.int8)
    code, parts = choice.best(weights), np.split(weights, 16)
    coded = chain(code, parts)
    assert 64 * sum(words.size for words in coded) <= share * choice.entropy_bits(choice.histogram(weights))
    decoder = WeightDecoder()
    decoded = [decoder.decode(words, 256, n == 0) for n, words in enumerate(coded)]
    np.testing.assert_array_equal(decoded, parts)


def test_a_rest_ends_with_its_block_or_chunk() -> None:
    """Zeros in front of another weight of their block are in no rest."""
    half = 1 << PREFIX_BITS - 1
    rest, weight = WeightClass(0, 1, REST, 0), WeightClass(half, 1, 6, 0)
    code = WeightCode((rest, weight))
    lane = np.ones((40, CODE_LANES), np.int8)  # two blocks and a half
    assert coded_bits(code, lane.ravel()) == 7 * lane.size
    for first, last, found in ((14, 16, 1), (15, 16, 1), (14, 15, 7), (30, 40, 1 + 1), (28, 30, 14)):
        lane[:] = 1
        lane[first:last, 3] = 0
        assert coded_bits(code, lane.ravel()) == 7 * (lane.size - (last - first)) + found


@pytest.mark.parametrize(
    ("centre", "spread"), [(0, 1), (0, 2), (0, 3), (0, 12), (0, 40), (0, 300), (90, 2), (-60, 12), (40, 20)]
)
def test_best_is_near_the_entropy(centre: int, spread: float, seed: int) -> None:
    """The weights are normal or Laplacian, of more than a bit, in chunks of 1,024 words."""
    rng, share = np.random.default_rng(seed), 1.07 if spread < 3 else 1.035
    for draw in (rng.normal, rng.laplace):
        weights = np.clip(np.rint(draw(centre, spread, (16, 8192))), -128, 127).astype(np.int8)
        counts = choice.histogram(weights)
        size = 8 * sum(words.nbytes for words in encode(choice.best(weights), list(weights)) or [])
        assert choice.entropy_bits(counts) <= size <= share * choice.entropy_bits(counts)


def test_a_chunk_of_another_length_is_found(seed: int) -> None:
    """A beat less, or more beats than the lanes hold: for each code, the decoder says so, after the weights that it had
    bits for."""
    rng, found = np.random.default_rng(seed), 0
    for _ in range(scaled(60)):
        weights = draw_weights(rng, 64)
        code = choice.best(weights)
        [words] = chain(code, [weights])
        with pytest.raises(CodeError, match="too many") as error:
            WeightDecoder().decode(np.r_[words, np.zeros(16, np.uint64)], 64, True)
        np.testing.assert_array_equal(error.value.decoded, weights[:-16])
        if words.size > TABLE_WORDS + 1:
            with pytest.raises(CodeError, match="too few") as error:
                WeightDecoder().decode(words[:-1], 64, True)
            np.testing.assert_array_equal(error.value.decoded, weights[: len(error.value.decoded)])
            found += 1
    assert found


def test_tables_that_are_no_prefix_code() -> None:
    half = 1 << PREFIX_BITS - 1
    first, second = WeightClass(0, 1, 0, 0), WeightClass(half, 1, 6, 1)
    words = [CODE_TABLE.unpack(int(word)) for word in WeightCode((first, second), -5).table]
    assert [word["centre"] for word in words] == [-5] * 5
    entries = [word[name] for word in words for name in ("first", "second")]
    assert entries[1:] == [WEIGHT_CLASS.pack(**vars(second))] * 9
    for classes in ((), (first,), (second, first), (first, second, second), (first, WeightClass(half, 1, 8, 1))):
        with pytest.raises(InputError):
            WeightCode(classes)
