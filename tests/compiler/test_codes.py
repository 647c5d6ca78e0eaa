# SPDX-License-Identifier: Apache-2.0
"""Codes of weights: choice, encoder, golden decoder. The testbenches code0 to code3 compare the RTL with it."""

import numpy as np
import pytest

from eyrie.compiler.codes import choice
from eyrie.compiler.codes.encode import encode
from eyrie.model.encoding import CODE_TABLE, WEIGHT_CLASS
from eyrie.model.errors import InputError
from eyrie.model.weight_codes import PREFIX_BITS, CodeError, WeightClass, WeightCode, decode, number_of, weight_of
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


@pytest.mark.parametrize("name", ["best", "packed", "bitmask"])
def test_chunks_come_back(name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(scaled(60)):
        words, chunks, beat_words = (int(rng.integers(1, most)) for most in (120, 4, 3))
        weights = draw_weights(rng, words * chunks).reshape(chunks, -1)
        code = {"best": choice.best, "packed": codes.packed, "bitmask": codes.bitmask}[name](weights)
        for coded, part in zip(encode(code, weights, beat_words), weights, strict=True):
            assert coded.size % beat_words == 0
            np.testing.assert_array_equal(decode(code.table, coded.view(np.uint8), words, beat_words), part)


@pytest.mark.parametrize(
    ("centre", "spread"), [(0, 1), (0, 2), (0, 3), (0, 12), (0, 40), (0, 300), (90, 2), (-60, 12), (40, 20)]
)
def test_best_is_near_the_entropy(centre: int, spread: float, seed: int) -> None:
    """The weights are normal or Laplacian, of more than a bit, in chunks of 1,024 words."""
    rng, share = np.random.default_rng(seed), 1.07 if spread < 3 else 1.035
    for draw in (rng.normal, rng.laplace):
        weights = np.clip(np.rint(draw(centre, spread, (16, 8192))), -128, 127).astype(np.int8)
        counts = choice.histogram(weights)
        size = 8 * sum(chunk.nbytes for chunk in encode(choice.best(weights), weights))
        assert choice.entropy_bits(counts) <= size <= share * choice.entropy_bits(counts)


def test_a_chunk_of_another_length_is_found(seed: int) -> None:
    """A beat less, or enough beats more: for each code, the decoder says so, after the weights that it had bits for."""
    rng, found = np.random.default_rng(seed), 0
    for _ in range(scaled(60)):
        weights = draw_weights(rng, 64)
        code = choice.best(weights)
        units = encode(code, weights[None])[0].view(np.uint8)
        with pytest.raises(CodeError, match="too many") as error:
            decode(code.table, np.r_[units, np.zeros(64, np.uint8)], 64)
        np.testing.assert_array_equal(error.value.decoded, weights[:-16])
        if len(units) > 8:
            with pytest.raises(CodeError, match="too few") as error:
                decode(code.table, units[:-8], 64)
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
    for classes in ((), (first,), (second, first), (first, second, second), (first, WeightClass(half, 1, 7, 1))):
        with pytest.raises(InputError):
            WeightCode(classes)
