# SPDX-License-Identifier: Apache-2.0
"""The scoreboard itself: every kind of mutation is found and located."""

import numpy as np
import pytest

from tb.common.scoreboard import Scoreboard


def filled(expected: list[int], observed: list[int]) -> Scoreboard:
    scoreboard = Scoreboard("layers")
    scoreboard.expect_all(expected, "pass 3")
    for item in observed:
        scoreboard.observe(item)
    return scoreboard


def test_equal_sequences_pass() -> None:
    scoreboard = filled([1, 2, 3], [1, 2, 3])
    scoreboard.finish()
    assert (scoreboard.comparisons, scoreboard.mismatches, scoreboard.done) == (3, 0, True)


def test_first_difference_is_reported_with_context() -> None:
    scoreboard = filled([1, 2, 3, 4], [1, 2, 9, 8])
    message = r"layers: pass 3 \(comparison 3\): expected 3, got 9; before it: 1, 2"
    with pytest.raises(AssertionError, match=message):
        scoreboard.finish()
    assert scoreboard.mismatches == 2


def test_a_difference_names_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Scoreboard, "moment", staticmethod(lambda: "cycle 7, 14 ns"))
    with pytest.raises(AssertionError, match=r"layers: pass 3 \(comparison 2, cycle 7, 14 ns\): expected 2, got 3"):
        filled([1, 2], [1, 3]).finish()


@pytest.mark.parametrize(
    ("expected", "observed", "message"),
    [
        ([1, 2], [1], "1 items missing, the first: pass 3 2"),
        ([1], [1, 2], "after the last item .*: expected nothing, got 2"),
        ([1, 2], [2, 1], "expected 1, got 2"),
        ([], [], "nothing was compared"),
    ],
)
def test_planted_errors_are_found(expected, observed, message) -> None:
    with pytest.raises(AssertionError, match=message):
        filled(expected, observed).finish()


def test_arrays_count_every_element() -> None:
    scoreboard = Scoreboard("sums")
    expected = np.arange(12).reshape(3, 4)
    got = expected.copy()
    scoreboard.compare(expected, got)
    got[1, 2], got[2, 0] = -1, -2
    scoreboard.compare(expected, got, "tile 1")
    assert (scoreboard.comparisons, scoreboard.mismatches) == (24, 2)
    message = r"tile 1 \[1, 2\], 2 of 12 differ .*: expected 6, got -1"
    with pytest.raises(AssertionError, match=message):
        scoreboard.finish()


def test_arrays_of_different_shape_differ() -> None:
    scoreboard = Scoreboard("sums")
    scoreboard.compare(np.zeros((2, 3)), np.zeros((3, 2)))
    with pytest.raises(AssertionError, match=r"expected shape \(2, 3\), got shape \(3, 2\)"):
        scoreboard.finish()
