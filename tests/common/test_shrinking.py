# SPDX-License-Identifier: Apache-2.0
"""A failure is shrunk to the least network that has it; every draw stands for itself."""

import numpy as np
import pytest

from eyrie.compiler.frontend import tflite
from tb.common.random_graphs import draw_graph
from tb.common.shrinking import Choices, shrinking, st


class Planted(Exception):
    """The failure that is looked for."""


@st.composite
def graphs(draw):
    return draw_graph(Choices(draw), longest=6)


@pytest.mark.parametrize("operator", [pytest.param("MAX_POOL_2D", marks=pytest.mark.regress), "PRELU"])
def test_a_failure_is_shrunk(operator: str) -> None:
    """Nothing is left but the operator and what makes its input."""
    failed = []

    def check(graph) -> None:
        if operator in graph.operators:
            failed.append(graph)
            raise Planted

    for number in range(200):
        try:
            shrinking(number, graphs(), check)
        except Planted as error:
            assert f"draw {number} of seed" in error.__notes__[-1]
            break
    assert len(failed[-1].operators) <= min(2, len(failed[0].operators))
    assert operator in str(tflite.from_bytes(failed[-1].model))


def test_a_draw_stands_for_itself() -> None:
    drawn = []
    for number in (3, 4, 3):
        shrinking(number, graphs(), lambda graph: drawn.append(graph.model))
    assert drawn[0] == drawn[2] != drawn[1]


def test_choices_are_a_generator() -> None:
    """Shapes, types and bounds are those of np.random.Generator."""

    def same(one, other) -> None:
        assert (np.shape(one), np.asarray(one).dtype.kind) == (np.shape(other), np.asarray(other).dtype.kind)

    @st.composite
    def choices(draw):
        return Choices(draw)

    def check(mine: Choices) -> None:
        theirs = np.random.default_rng(0)
        for call in (
            lambda rng: rng.integers(5),
            lambda rng: rng.integers(2, 9, (2, 3)),
            lambda rng: rng.random(),
            lambda rng: rng.integers(0, [[3], [4]], (2, 2), endpoint=True),
            lambda rng: rng.random(3),
            lambda rng: rng.uniform(-2, 3),
            lambda rng: rng.choice([1, 5, 9], 2),
            lambda rng: rng.choice("ab".split()),
            lambda rng: rng.choice([2, 3], p=[0.4, 0.6]),
            lambda rng: rng.permutation(5),
            lambda rng: rng.choice(6, 3, replace=False),
            lambda rng: rng.integers(-128, 128, (9, 9)),
        ):
            same(call(mine), call(theirs))
        values = mine.integers(-3, 4, 20)
        assert values.min() >= -3 and values.max() < 4 and 0 <= mine.random() < 1
        assert mine.integers(7, 7, endpoint=True) == 7 and sorted(mine.permutation(4)) == [0, 1, 2, 3]

    for number in range(20):
        shrinking(number, choices(), check)
