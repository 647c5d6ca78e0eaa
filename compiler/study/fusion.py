# SPDX-License-Identifier: Apache-2.0
"""Fusion and partition of a chain of layers: which neighbours run as one group, and in how many parts.

A plan cuts the chain into groups of consecutive layers; each has a schedule (compiler/study/stripes.py). A dynamic
programme over the cuts finds the best plan exactly. Definitions and limits: docs/research/fusion.md.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise, product

from eyrie.compiler.cost.prices import PJ_PER_DRAM_BYTE, PJ_PER_GLB_BYTE, PJ_PER_MAC
from eyrie.compiler.ir.failure import DoesNotFit
from eyrie.compiler.ir.feature_map import FeatureMap
from eyrie.compiler.ir.layer import Convolution, Depthwise, Filtered, Group, Grouped, Separable
from eyrie.compiler.study.stripes import Chain, ChainLayer, FusedGroup, FusedWay, Halo, count, fused_group, partition
from eyrie.model.config import DEFAULT, GLB_WORD_BYTES, WORD_CHANNELS, AcceleratorConfig
from eyrie.model.encoding import PARAMETER_WORDS, depthwise_group_words
from eyrie.model.errors import InputError

Number = int | float
FusionPlan = tuple[FusedGroup, ...]
Cost = Callable[[FusedGroup], Number | None]  # of one group; None: it cannot run
Value = tuple[Number, ...]  # compared from the left

BUS_BYTES = 8  # bytes a cycle between DRAM and GLB
PASS_CYCLES = 100  # of a pass that no work hides: configuration, filling and draining the array
WORD = 2 * WORD_CHANNELS  # channels of a GLB word
WINDOW_FILTERS = 16  # minimum filters in the GLB if they are streamed: two tiles of 8


def describe(plan: FusionPlan) -> str:
    """Return one line per fusion group."""
    return "\n".join(map(str, plan))


# ---- The search space ----


@dataclass(frozen=True)
class SearchSpace:
    """The schedules of a group that are searched.

    max_parts  most parts of a group; None: as many as output rows
    on_chip    tensors between groups may stay in the GLB; otherwise they all go through DRAM
    streaming  constants may be streamed
    lifetimes  see fused_group
    """

    max_parts: int | None = None
    halos: tuple[Halo, ...] = (Halo.KEEP, Halo.RECOMPUTE)
    on_chip: bool = True
    streaming: bool = True
    lifetimes: bool = False

    def heights(self, rows: int) -> list[int]:
        """Return the distinct heights of row tiles, the whole map first."""
        most = min(rows, self.max_parts or rows)
        return sorted({-(-rows // parts) for parts in range(1, most + 1)}, reverse=True)

    def ways(self, chain: Chain, first: int, last: int) -> Iterator[FusedWay]:
        """Yield the schedules of layers `first` to `last` - 1; the chain's own input and output lie in DRAM."""
        head, tail = chain[first], chain[last - 1]
        rows = tail.out_height
        same = last - first == 1 and head.stride == 1 and ((head.height, head.row_bytes) == (rows, head.out_row_bytes))
        sources = (False, True) if self.on_chip and first > 0 else (False,)
        targets = (False, True) if self.on_chip and last < len(chain) else (False,)
        streams = (False, True) if self.streaming else (False,)
        for height, source, target, streamed in product(self.heights(rows), sources, targets, streams):
            halos = self.halos if height < rows else self.halos[:1]
            in_ring = (False, True) if same and source and target and height < rows else (False,)
            for halo, in_place in product(halos, in_ring):
                yield FusedWay(height, halo, source, target, in_place, streamed)


class Combine(Enum):
    """The combination of the costs of fusion groups into the cost of the plan."""

    SUM = "sum"
    MAX = "max"


@dataclass(frozen=True)
class Objective:
    """A cost to minimise.

    Ties are broken by the largest storage of a group (sum) or by transfer (maximum), then by the number of passes, then
    by the number of fused borders.
    """

    cost: Cost
    combine: Combine = Combine.SUM


def cycles(config: AcceleratorConfig = DEFAULT, bus_bytes: int = BUS_BYTES, pass_cycles: int = PASS_CYCLES) -> Cost:
    """Return the cost in cycles of a group: the longer of MACs and transfer, plus a fixed cost per pass."""

    def cost(group: FusedGroup) -> int:
        work = max(-(-group.macs // config.total_multipliers), -(-group.transfer // bus_bytes))
        return work + pass_cycles * group.passes

    return cost


def energy(group: FusedGroup) -> int:
    """Return the picojoules of a group, without leakage."""
    return PJ_PER_MAC * group.macs + PJ_PER_GLB_BYTE * group.glb + PJ_PER_DRAM_BYTE * group.transfer


def published_storage(group: FusedGroup, filter_parts: int = 1) -> int:
    """Return the bytes of the fusion paper's algorithm 1: the largest input of a layer in a part, and all weights.

    filter_parts: PEs over which the filters of the last layer are split
    """
    parts = partition(group.layers, group.way.height, Halo.RECOMPUTE)
    inputs = max(count(part.needed[t]) * layer.row_bytes for part in parts for t, layer in enumerate(group.layers))
    return inputs + sum(_published_weights(group, filter_parts))


def published_transfer(group: FusedGroup, filter_parts: int = 1) -> int:
    """Return the bytes of the fusion paper's algorithm 3: every part's input and weights, once for each part.

    filter_parts: see published_storage; each of these parts has the input and the weights of all layers but the last
    """
    parts = partition(group.layers, group.way.height, Halo.RECOMPUTE)
    inputs = sum(count(part.needed[0]) for part in parts) * group.layers[0].row_bytes
    return filter_parts * (inputs + len(parts) * sum(_published_weights(group, filter_parts)))


def _published_weights(group: FusedGroup, filter_parts: int) -> list[int]:
    """Return the bytes of weights of each layer in one part."""
    *inner, last = (layer.constants_bytes for layer in group.layers)
    return [*inner, -(-last // filter_parts)]


def most_filter_parts(group: FusedGroup, pes: int) -> int:
    """Return the largest number of parts of the last layer's filters, 0 if the parts of rows are more than the PEs."""
    return min(pes // group.parts, group.layers[-1].out_channels)


def filter_split(group: FusedGroup, capacity: int, pes: int) -> int | None:
    """Return the fewest parts of the last layer's filters with which a group's parts fit. None if no split fits.

    capacity: bytes of a PE; pes: PEs, each with one part of the group
    """
    return next(
        (n for n in range(1, most_filter_parts(group, pes) + 1) if published_storage(group, n) <= capacity), None
    )


MEASURES = {
    "storage": Objective(lambda group: group.storage, Combine.MAX),
    "transfer": Objective(lambda group: group.transfer),
    "cycles": Objective(cycles()),
    "energy": Objective(energy),
}


def plan_value(plan: FusionPlan, objective: Objective) -> Value:
    """Return the value by which plans are compared: cost, the tie of its kind, passes, fused borders."""
    costs = [cost for group in plan if (cost := objective.cost(group)) is not None]
    tail = sum(group.passes for group in plan), sum(len(group.layers) - 1 for group in plan)
    if objective.combine is Combine.MAX:
        return max(costs), sum(group.transfer for group in plan), *tail
    return sum(costs), max(group.storage for group in plan), *tail


# ---- Search ----

# Groups and their costs, by first layer and by whether their input lies in the GLB.
Choices = dict[tuple[int, bool], list[tuple[FusedGroup, Number]]]


def choices(chain: Chain, objective: Objective, capacity: int | None, space: SearchSpace) -> Choices:
    """Return all groups that fit, with all of their schedules. Raise InputError if layers do not follow each other."""
    for before, behind in pairwise(chain):
        if (before.out_height, before.out_row_bytes) != (behind.height, behind.row_bytes):
            raise InputError(f"layer {behind.name} does not take what {before.name} makes")
    found: Choices = {}
    for first, last in product(range(len(chain)), range(1, len(chain) + 1)):
        for way in space.ways(chain, first, last) if first < last else ():
            group = fused_group(chain, first, last, way, space.lifetimes)
            if capacity is not None and group.storage > capacity:
                continue
            cost = objective.cost(group)
            if cost is not None:
                found.setdefault((first, way.source_on_chip), []).append((group, cost))
    return found


def _search(
    options: Choices, layers: int, start: Value, extend: Callable[[Value, FusedGroup, Number], Value]
) -> tuple[Value, FusionPlan] | None:
    """Return the plan of the least value. Exact if extending two values by one group never swaps their order."""
    best: dict[tuple[int, bool], tuple[Value, FusionPlan]] = {(0, False): (start, ())}
    for state in product(range(layers), (False, True)):
        if state not in best:
            continue
        value, plan = best[state]
        for group, cost in options.get(state, ()):
            reached, total = (group.last, group.way.target_on_chip), extend(value, group, cost)
            if reached not in best or total < best[reached][0]:
                best[reached] = total, (*plan, group)
    return best.get((layers, False))


def best_plan(
    chain: Chain, objective: Objective | str, capacity: int | None = None, space: SearchSpace = SearchSpace()
) -> FusionPlan:
    """Return the best plan of a chain, exactly.

    capacity: bytes of GLB that no group may exceed. Raise DoesNotFit, or InputError for layers that do not
    follow each other.

    The first search finds the least cost and, of a sum, the least peak storage with it; the second settles
    the other ties among the groups that keep to that. In one search they would not be exact: a maximum hides
    differences that come before it.
    """
    objective = MEASURES[objective] if isinstance(objective, str) else objective
    options = choices(chain, objective, capacity, space)
    peak = objective.combine is Combine.MAX
    if peak:
        found = _search(options, len(chain), (0,), lambda v, g, cost: (max(v[0], cost),))
    else:
        found = _search(options, len(chain), (0, 0), lambda v, g, cost: (v[0] + cost, max(v[1], g.storage)))
    if found is None:
        raise _no_plan(chain, capacity, space)
    bound = found[0][-1]
    kept = {
        state: [(g, cost) for g, cost in groups if (cost if peak else g.storage) <= bound]
        for state, groups in options.items()
    }

    def settle(value: Value, group: FusedGroup, cost: Number) -> Value:
        first = group.transfer if peak else cost
        return value[0] + first, value[1] + group.passes, value[2] + len(group.layers) - 1

    settled = _search(kept, len(chain), (0, 0, 0), settle)
    assert settled  # the plan that is found above is among those that are left
    return settled[1]


def _no_plan(chain: Chain, capacity: int | None, space: SearchSpace) -> DoesNotFit:
    for n, layer in enumerate(chain):
        ways = space.ways(chain, n, n + 1)
        least = min(fused_group(chain, n, n + 1, way, space.lifetimes).storage for way in ways)
        if capacity is not None and least > capacity:
            return DoesNotFit(
                f"layer {layer.name}: needs {least} bytes of GLB at least, it has {capacity}",
                layer=layer.name,
                demand=least,
                bound=capacity,
            )
    return DoesNotFit("the groups that fit and that the cost function accepts do not make up the chain")


def _all_plans(options: Choices, layers: int, first: int = 0, place: bool = False) -> Iterator[FusionPlan]:
    if first == layers:
        yield ()
    for group, _ in options.get((first, place), ()):
        for rest in _all_plans(options, layers, group.last, group.way.target_on_chip):
            yield (group, *rest)


def brute_force(
    chain: Chain, objective: Objective | str, capacity: int | None = None, space: SearchSpace = SearchSpace()
) -> FusionPlan:
    """Return the best plan by trying every plan: all 2^(n-1) cuts, each group with all schedules."""
    objective = MEASURES[objective] if isinstance(objective, str) else objective
    plans = _all_plans(choices(chain, objective, capacity, space), len(chain))
    best = min(plans, key=lambda plan: plan_value(plan, objective), default=None)
    if best is None:
        raise _no_plan(chain, capacity, space)
    return best


# ---- From fused operators ----


def chain_of(groups: list[Group]) -> Chain:
    """Return the chain of a network as stored: 8 channels to a GLB word, rows of even width.

    A depthwise-separable block is one layer. One that averages its whole map needs all rows for its one row.
    """
    return tuple(map(_layer, groups))


def _layer(group: Group) -> ChainLayer:
    taken, made = (
        FeatureMap(rows, cols, -(-channels // WORD), 0, rows)
        for rows, cols, channels in (group.source.shape, group.output.shape)
    )
    kernel, stride, pads = group.window.span[0], group.window.stride[0], group.window.pads
    if group.averaged:
        kernel, stride, pads = taken.rows, 1, (0, 0, 0, 0)
    tables = made.groups * PARAMETER_WORDS * GLB_WORD_BYTES if isinstance(group, Filtered) else 0
    if isinstance(group, (Depthwise, Separable)):
        tables += taken.groups * depthwise_group_words(group.window.dense) * GLB_WORD_BYTES
    filter_bytes = 0
    if isinstance(group, Filtered):
        channels = 1 if isinstance(group, Grouped) else group.filters.shape[-1]
        unit = WORD_CHANNELS if isinstance(group, Convolution) and channels <= WORD_CHANNELS else WORD
        filter_bytes = -(-channels // unit) * unit * (group.filters[0].size // channels)
    weights = filter_bytes * made.groups * WORD
    return ChainLayer(
        group.name,
        taken.rows,
        taken.pitch,
        taken.groups * WORD,
        made.rows,
        made.pitch,
        made.groups * WORD,
        kernel,
        stride,
        pads,
        tables + weights,
        group.macs,
        tables + min(weights, WINDOW_FILTERS * filter_bytes),
    )
