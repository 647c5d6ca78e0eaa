# SPDX-License-Identifier: Apache-2.0
"""Blocks in halves and averages by themselves where that costs less; where nothing fits, what needs least is named."""

from collections import Counter
from dataclasses import replace
from math import inf

import numpy as np
import pytest

from eyrie.compiler.ir.divisions import halves
from eyrie.compiler.ir.failure import DoesNotFit
from eyrie.compiler.ir.layer import Average, Group, Output, Pointwise, Separable, Table
from eyrie.compiler.ir.maps import Map
from eyrie.compiler.ir.window import Window
from eyrie.compiler.plan.flow import Flow
from eyrie.compiler.plan.pieces import in_pieces
from eyrie.compiler.plan.segments import SegmentPlanner
from eyrie.compiler.target.suit import average_apart
from eyrie.model.config import DEFAULT, AcceleratorConfig
from tests.compiler.test_segments import cheapest, estimates

BLOCKS = 12
SMALL = replace(DEFAULT, glb_bank_words=256)


def block(side: int, channels: int, filters: int, stride: int = 1) -> Separable:
    """What its tables hold does not matter here."""
    none = np.zeros(0)
    source, output = Map("x", (side, side, channels), None), Map("y", (-(-side // stride),) * 2 + (filters,), None)
    return Separable(
        name="block0",
        source=source,
        output=output,
        window=Window((3, 3), (stride, stride), (1, 1, 1, 1)),
        stored=True,
        filters=np.zeros((filters, channels), np.int8),
        table=None,
        depthwise=np.zeros((3, 3, channels), np.int8),
        middle=Table(none, none, none, Output()),
    )


def cost(pieces: tuple[Group, ...], config: AcceleratorConfig) -> float | None:
    """Of the cheapest plan there is of a map from DRAM to DRAM."""
    found = cheapest(Flow(pieces), config, "cycles")
    return found[0] if found else None


@pytest.mark.parametrize("config", [SMALL, DEFAULT], ids=["small", "default"])
def test_halves_are_chosen_where_they_cost_less(config: AcceleratorConfig, seed: int) -> None:
    chosen: Counter = Counter()
    number = 0
    while number < BLOCKS or not (chosen[1] and chosen[2]):
        rng, number = np.random.default_rng([seed, number]), number + 1
        assert number < 20 * BLOCKS, chosen
        drawn = block(
            int(rng.choice([2, 4, 8, 16, 32])),
            int(rng.choice([16, 64, 256, 512])),
            int(rng.choice([16, 64, 256, 512])),
            int(rng.integers(1, 3)),
        )
        whole, apart = cost((drawn,), config), cost(halves(drawn), config)
        pieces = in_pieces([drawn], estimates(config))
        chosen[len(pieces)] += 1
        assert [piece.kind for piece in pieces] in (["separable"], ["depthwise", "pointwise"], ["depthwise", "fc"])
        if whole is None and apart is None:
            with pytest.raises(DoesNotFit):
                SegmentPlanner(Flow(tuple(pieces)), estimates(config)).cheapest()
        elif len(pieces) == 2:
            assert whole is None or apart < 1.01 * whole
        else:
            assert apart is None or whole <= 1.01 * apart


def test_an_average_by_itself_where_the_map_is_large() -> None:
    """7 x 7 pixels are in flight at once, of a map that is in the GLB whole; of one that does not fit, they go there
    stripe by stripe, and the average is a group of its own."""

    def averaged(channels: int, filters: int) -> Pointwise:
        return Pointwise(
            name="pointwise0",
            source=Map("x", (7, 7, channels), None),
            output=Map("y", (1, 1, filters), None),
            epilogue=(Average(49),),
            filters=np.zeros((filters, channels), np.int8),
            table=None,
            stored=True,
        )

    small, large = averaged(64, 64), averaged(512, 256)
    for group, count in ((small, 1), (large, 2)):
        whole, apart = cost((group,), SMALL), cost(tuple(average_apart(group)), SMALL)
        pieces = in_pieces([group], estimates(SMALL))
        assert len(pieces) == count
        assert (apart if count == 2 else whole) is not None
        assert count == 2 or apart is None or whole <= 1.01 * apart
    assert cost((large,), SMALL) is None


def test_what_needs_least_is_named() -> None:
    """A row of 16 pixels of 4,096 channels does not fit, nor the rows of a window and its constants."""
    drawn = block(16, 4096, 64)
    pieces = in_pieces([drawn], estimates(DEFAULT))
    assert [piece.kind for piece in pieces] == ["depthwise", "pointwise"]
    demands = []
    for groups in (pieces, [drawn]):
        with pytest.raises(DoesNotFit) as caught:
            SegmentPlanner(Flow(tuple(groups)), estimates(DEFAULT)).cheapest()
        demands.append(caught.value.demand)
    assert DEFAULT.glb_bytes < demands[0] < demands[1]


def test_what_costs_about_as_much_is_chosen_for_the_network(seed: int) -> None:
    """The network never costs more than with the pieces that cost least by themselves, now and then less."""
    other = number = 0
    while number < BLOCKS or not other:
        rng, number = np.random.default_rng([seed, 2, number]), number + 1
        assert number < 40 * BLOCKS
        groups, channels = [], int(rng.choice([16, 64, 128]))
        for n in range(int(rng.integers(2, 4))):
            drawn = block(16, channels, int(rng.choice([16, 64, 128])))
            source, output = replace(drawn.source, name=f"t{n}"), replace(drawn.output, name=f"t{n + 1}")
            groups.append(replace(drawn, name=f"block{n}", source=source, output=output, stored=False))
            channels = output.shape[2]
        groups[-1] = replace(groups[-1], stored=True)
        known = estimates(SMALL)
        apart = [in_pieces([replace(group, stored=True)], known) for group in groups]
        by_themselves = [piece for pieces in apart for piece in pieces]
        by_themselves = [replace(piece, stored=piece is by_themselves[-1]) for piece in by_themselves]
        pieces = in_pieces(groups, known)
        costs = []
        for network in (pieces, by_themselves):
            try:
                costs.append(SegmentPlanner(Flow(tuple(network)), estimates(SMALL)).cheapest()[0])
            except DoesNotFit:
                costs.append((inf, inf))
        assert costs[0] <= costs[1]
        other += costs[0] < costs[1]
