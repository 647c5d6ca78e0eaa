# SPDX-License-Identifier: Apache-2.0
"""Fused operators in strips of columns, where that costs less.

A few rows of a wide map with many channels may fill the GLB. Then a block's halves run apart, with all words between
them through DRAM, or a pass makes one row. In strips, a block, or a convolution and a block, has room for more rows.
Input and output of strips are in DRAM; filters come for each strip, and columns at their borders for both.
"""

from collections.abc import Iterator
from dataclasses import replace
from math import inf

from eyrie.compiler.ir.divisions import STRIP_BLOCK, strips
from eyrie.compiler.ir.failure import DoesNotFit
from eyrie.compiler.ir.layer import Separable
from eyrie.compiler.ir.nest import ONE, Nest
from eyrie.compiler.plan.estimates import Cost, Estimates
from eyrie.compiler.plan.flow import Flow
from eyrie.compiler.plan.nests import segment_of
from eyrie.compiler.plan.pieces import Pieces, cost_in_pieces, is_less, pieces_of
from eyrie.model.config import AcceleratorConfig

MOST_STRIPS = 4
MOST_RUN = 2  # fused operators of a run
LEAST_GAIN = 0.985  # of a run's cost without strips: estimates are no more exact
ROOM_ROWS = 3  # of a row tile: a run that has room for them is not tried in strips


def in_strips(flow: Flow, estimates: Estimates) -> Pieces:
    """Return fused operators, those runs in strips with which all cost less; runs of one geometry in as many strips."""
    taken: dict[int, Pieces] = {}  # strips by number of the run's first fused operator, () by others'
    least, pieces = None, list[Pieces]()
    for count, firsts in _runs(flow, estimates):
        pieces = pieces or pieces_of(flow.groups, estimates)
        firsts = [first for first in firsts if not taken.keys() & range(first, first + count)]
        if not firsts or not (number := _cheapest_number(flow, firsts[0], count, pieces, estimates)):
            continue
        tried = dict(taken)
        for first in firsts:
            if parts := strips(flow.groups[first : first + count], number, estimates.config.bus_words):
                tried |= dict.fromkeys(range(first, first + count), ()) | {first: parts}
        least = least or cost_in_pieces(_flat(pieces, taken), estimates)
        cost = cost_in_pieces(_flat(pieces, tried), estimates)
        if is_less(cost, least):
            least, taken = cost, tried
    return _flat([(group,) for group in flow.groups], taken)


def _flat(pieces: list[Pieces], taken: dict[int, Pieces]) -> Pieces:
    return [piece for n, each in enumerate(pieces) for piece in taken.get(n, each)]


def _cheapest_number(flow: Flow, first: int, count: int, pieces: list[Pieces], estimates: Estimates) -> int:
    """Return the number of strips in which a run costs least, from DRAM to DRAM; 0 if they gain little."""
    apart = cost_in_pieces(_flat(pieces[first : first + count], {}), estimates, begins=False)
    least: Cost | DoesNotFit = apart if isinstance(apart, DoesNotFit) else (LEAST_GAIN * apart[0], apart[1])
    parts_of = _ways(flow, first, count, estimates.config)
    if not parts_of:
        return 0
    number = min(parts_of, key=lambda number: _expected_cost(parts_of[number], count, estimates))
    cost = cost_in_pieces(parts_of[number], estimates, begins=False)
    return number if not isinstance(cost, DoesNotFit) and is_less(cost, least) else 0


def _expected_cost(parts: Pieces, count: int, estimates: Estimates) -> Cost:
    """Return the cost of the strips of a run if each block of columns costs as much as in the widest one."""
    widths = [-(-group.output.shape[1] // STRIP_BLOCK) for group in parts[count - 1 :: count]]
    widest = widths.index(max(widths))
    cost = cost_in_pieces(parts[widest * count : (widest + 1) * count], estimates, begins=False)
    share = sum(widths) / widths[widest]
    return (inf, inf) if isinstance(cost, DoesNotFit) else (share * cost[0], share * cost[1])


def _runs(flow: Flow, estimates: Estimates) -> Iterator[tuple[int, list[int]]]:
    """Yield the fused operators of a run, and the first one of each run of one geometry that has little room."""
    for count in range(MOST_RUN, 0, -1):
        alike: dict[tuple, list[int]] = {}
        for first in range(len(flow.groups) - count + 1):
            if _is_run(flow, first, count):
                run = flow.groups[first : first + count]
                alike.setdefault(tuple((group.geometry, group.output.shape) for group in run), []).append(first)
        yield from ((count, firsts) for firsts in alike.values() if not _has_room(flow, firsts[0], count, estimates))


def _is_run(flow: Flow, first: int, count: int) -> bool:
    """Return whether fused operators are a block, behind another convolution if there are two."""
    *before, last = flow.groups[first : first + count]
    passed_on = all(flow.passed_on(n) for n in range(first, first + count - 1))
    return isinstance(last, Separable) and passed_on and not any(isinstance(group, Separable) for group in before)


def _has_room(flow: Flow, first: int, count: int, estimates: Estimates) -> bool:
    """Return whether the GLB has room for row tiles of ROOM_ROWS rows of a run."""
    *before, last = flow.groups[first : first + count]
    alone, rows = Flow((*before, replace(last, stored=True))), min(ROOM_ROWS, last.map_shape[0])
    nest = Nest((ONE,) * count, rows, from_dram=True, to_dram=True)
    nests = (nest, replace(nest, refetch=True)) if count == 1 else (nest,)
    return any(
        estimates.needed_words(segment_of(alone, 0, count, each)) <= estimates.config.glb_words for each in nests
    )


def ways(flow: Flow, first: int, config: AcceleratorConfig) -> Iterator[tuple[int, Pieces]]:
    """Yield how many fused operators a run from one on has, and its strips: the most strips first."""
    for count in range(1, min(MOST_RUN, len(flow.groups) - first) + 1):
        if _is_run(flow, first, count):
            yield from ((count, parts) for parts in _ways(flow, first, count, config).values())


def _ways(flow: Flow, first: int, count: int, config: AcceleratorConfig) -> dict[int, Pieces]:
    """Return the strips of a run by their number."""
    run = flow.groups[first : first + count]
    found = {number: strips(run, number, config.bus_words) for number in range(MOST_STRIPS, 1, -1)}
    return {number: parts for number, parts in found.items() if parts}
