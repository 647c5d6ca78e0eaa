# SPDX-License-Identifier: Apache-2.0
"""Words that streams bring, against those that a pass takes: the model's verdicts, on a pass counted by hand."""

from dataclasses import replace

import numpy as np
import pytest

from eyrie.compiler.ir.layer import Output, Table
from eyrie.compiler.ir.window import Window
from eyrie.compiler.single_layer.layer_run import Finish, Ifmap
from eyrie.compiler.single_layer.separable import separable_case
from eyrie.model.array import unpack_tables
from eyrie.model.config import DEFAULT
from eyrie.model.demand import MissingWords, OverrunWords
from eyrie.model.descriptor import Descriptor, Level
from eyrie.model.encoding import Stream
from eyrie.model.passes import run_pass


def pointwise() -> tuple[np.ndarray, Descriptor]:
    """8 pixels of 8 channels in a row, 8 filters: the GLB and the descriptor."""
    rng = np.random.default_rng(0)
    table = Table(np.zeros(8, np.int32), np.full(8, 1 << 30, np.int32), np.zeros(8, np.int8), Output())
    case = separable_case(
        Ifmap(rng.integers(-128, 128, (8, 1, 8)).astype(np.int8)),
        Window(),
        None,
        rng.integers(-128, 128, (8, 8)).astype(np.int8),
        Finish(output=table),
    )
    return case.glb, case.descriptor


def verdict(stream: Stream, level: int, count: int) -> str:
    glb, descriptor = pointwise()
    program = descriptor.stream(stream)
    levels = list(program.levels)
    levels[level] = Level(count) if levels[level].count == 1 else replace(levels[level], count=count)
    descriptor.set_stream(stream, replace(program, levels=tuple(levels)))
    with pytest.raises((MissingWords, OverrunWords)) as error:
        run_pass(DEFAULT, descriptor, glb)
    return f"{error.type.__name__}: {error.value}"


def test_all_words_are_taken() -> None:
    glb, descriptor = pointwise()
    trace = run_pass(DEFAULT, descriptor, glb)
    assert trace.sums.shape == (1, 8 * descriptor.shape["pixels"], 8) and len(trace.words) == 8


@pytest.mark.parametrize(
    "stream, level, count, says",
    [
        (Stream.FILTER, 7, 2, "OverrunWords: filters of PE 0, 0: 6 words come, 3 are taken"),
        (Stream.FILTER, 0, 7, "MissingWords: filters of PE 1, 0: 2 words come, 3 are taken"),
        (Stream.PARAMETERS, 0, 10, "OverrunWords: parameters: 10 words come, 9 are taken"),
        (Stream.PARAMETERS, 0, 8, "MissingWords: parameters: 8 words come, 9 are taken"),
        (Stream.OFMAP, 7, 2, "OverrunWords: ofmap: the pass writes 4 times, for 8 places"),
    ],
)
def test_says_which_words_and_how_many(stream: Stream, level: int, count: int, says: str) -> None:
    assert verdict(stream, level, count) == says


def test_missing_words_come_before_overrun_ones() -> None:
    """Another tag: a PE gets the words of another one."""
    glb, descriptor = pointwise()
    program = descriptor.stream(Stream.FILTER)
    levels = (replace(program.levels[0], tag=0), *program.levels[1:])
    descriptor.set_stream(Stream.FILTER, replace(program, levels=levels))
    with pytest.raises(MissingWords, match="filters of PE 1, 0: 0 words come, 3 are taken"):
        run_pass(DEFAULT, descriptor, glb)


def test_any_bits_are_a_table() -> None:
    """Entries by hand: multipliers without their sign bits, of a shift's size the low five bits."""
    multipliers = np.array([-(2**31), -1, 2**31 - 1, 5, -(2**31) + 5, 0, 1, 2], np.int32)
    shifts = np.array([-128, -33, -32, -31, 31, 32, 127, 30], np.int8)
    words = np.zeros(9, np.uint64)
    words[4:8], words[8:] = multipliers.view(np.uint64), shifts.view(np.uint64)
    _, got, shift = unpack_tables(words[None])[0]
    assert got.tolist() == [0, 2**31 - 1, 2**31 - 1, 5, 5, 0, 1, 2]
    assert shift.tolist() == [0, -1, 0, -31, 31, 0, 31, 30]
