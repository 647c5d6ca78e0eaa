"""Fusion and partition of a chain of layers: which neighbours run as one group, and in how many parts.

A plan cuts the chain into groups. A group runs in parts, stripes of output rows of its last layer; its
intermediates stay in the buffer (GLB). The buffer, the DRAM traffic and the work of a group follow from the rows
that each part needs of each tensor, traced back through stride, kernel and padding. A dynamic programme over
the cuts finds the best plan exactly; docs/fusion.md has the definitions and what is not modelled.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from math import prod

from compiler.groups import Group
from compiler.layout import FeatureMap
from compiler.placement import DoesNotFit
from model.config import DEFAULT, GLB_WORD_BYTES, WORD_CHANNELS, MachineConfig
from model.encoding import DEPTHWISE_GROUP_WORDS, TABLE_WORDS

Rows = tuple[int, int]  # first row, row behind the last
Number = int | float

BUS_BYTES = 8  # bytes a cycle between DRAM and GLB
PASS_CYCLES = 100  # of a pass that no work hides: configuration, filling and draining the array
MAC_PJ, GLB_BYTE_PJ, DRAM_BYTE_PJ = 2, 10, 200
WINDOW_FILTERS = 16  # filters in the GLB at least where they are streamed: two tiles of 8


@dataclass(frozen=True)
class Layer:
    """One layer: H x W x C in, E x F x M out, one byte an element, as stored (with padded channels, if any).

    pads             top, bottom, left, right; top and bottom smaller than the kernel
    constants_bytes  weights and tables
    window_bytes     the least of them in the GLB at a time where they are streamed; 0: all of them
    macs             multiplications of the whole layer

    Raises ValueError if rows, kernel, stride and pads disagree.
    """

    name: str
    height: int
    width: int
    channels: int
    out_height: int
    out_width: int
    out_channels: int
    kernel: int
    stride: int
    pads: tuple[int, int, int, int]
    constants_bytes: int
    macs: int
    window_bytes: int = 0

    def __post_init__(self) -> None:
        top, bottom = self.pads[:2]
        if max(top, bottom) >= self.kernel:
            raise ValueError(f"layer {self.name}: pads {self.pads} must be smaller than the kernel, {self.kernel}")
        rows = (self.height + top + bottom - self.kernel) // self.stride + 1
        if rows != self.out_height or rows < 1:
            raise ValueError(f"layer {self.name}: {self.height} rows make {rows} rows, not {self.out_height}")

    @property
    def row_bytes(self) -> int:
        return self.width * self.channels

    @property
    def out_row_bytes(self) -> int:
        return self.out_width * self.out_channels


Chain = tuple[Layer, ...]


class Halo(Enum):
    """What becomes of rows that two parts need: they stay in a ring, or are read or computed again."""

    KEEP = "kept"
    RECOMPUTE = "recomputed"


@dataclass(frozen=True)
class Way:
    """How a group runs.

    height                            output rows of a part; the last part may have fewer
    source_on_chip, target_on_chip    the group's input or output lies whole in the GLB, else in DRAM
    in_place                          the output takes the rows of the input as they die, in one ring
    streamed                          constants pass through a window of the GLB in every part
    """

    height: int
    halo: Halo = Halo.KEEP
    source_on_chip: bool = False
    target_on_chip: bool = False
    in_place: bool = False
    streamed: bool = False


@dataclass(frozen=True)
class FusedGroup:
    """Layers `first` to `last` - 1 of a chain and what running them that way takes.

    storage   bytes of GLB
    transfer  bytes between DRAM and GLB: input, output, constants
    glb       bytes read from and written to the GLB
    macs      multiplications, recomputed ones included
    """

    first: int
    last: int
    layers: Chain
    way: Way
    parts: int
    storage: int
    transfer: int
    glb: int
    macs: int

    @property
    def passes(self) -> int:
        return self.parts * len(self.layers)

    def __str__(self) -> str:
        way = self.way
        place = {True: "GLB", False: "DRAM"}
        how = [f"{self.parts} x {way.height} rows" if self.parts > 1 else "whole"]
        how += [f"halo {way.halo.value}"] * (self.parts > 1) + ["in place"] * way.in_place
        how += ["constants streamed"] * way.streamed
        return (f"{'+'.join(layer.name for layer in self.layers)}: {place[way.source_on_chip]} -> "
                f"{place[way.target_on_chip]}, {', '.join(how)}; storage {self.storage} B, "
                f"transfer {self.transfer} B, {self.macs} MACs")


Plan = tuple[FusedGroup, ...]
Cost = Callable[[FusedGroup], Number | None]  # None: the group cannot run


def describe(plan: Plan) -> str:
    """One line per group."""
    return "\n".join(map(str, plan))


# ---- Rows ----


def needed_rows(layer: Layer, rows: Rows) -> Rows:
    """Input rows that output rows (at least one) of a layer read; padding is not among them."""
    top = layer.pads[0]
    return max(0, rows[0] * layer.stride - top), min(layer.height, (rows[1] - 1) * layer.stride - top + layer.kernel)


@dataclass(frozen=True)
class Part:
    """Rows of the group's tensors, 0 its input, the last its output.

    needed  read by the layer behind it for this part
    made    loaded or computed for this part
    """

    needed: tuple[Rows, ...]
    made: tuple[Rows, ...]


@lru_cache(maxsize=None)
def partition(layers: Chain, height: int, halo: Halo) -> tuple[Part, ...]:
    """The parts of a group in order, `height` output rows each. A part's rows may be none (a, a)."""
    parts, done = [], [0] * len(layers)
    for first in range(0, layers[-1].out_height, height):
        made = [(first, min(first + height, layers[-1].out_height))]
        needed = list(made)
        for t, layer in reversed(list(enumerate(layers))):
            rows = needed_rows(layer, made[0]) if made[0][0] < made[0][1] else (done[t], done[t])
            needed.insert(0, rows)
            made.insert(0, (max(rows[0], done[t]), rows[1]) if halo is Halo.KEEP else rows)
            done[t] = rows[1]
        parts.append(Part(tuple(needed), tuple(made)))
    return tuple(parts)


def _size(rows: Rows) -> int:
    return max(0, rows[1] - rows[0])


def _live_rows(parts: tuple[Part, ...], p: int, layer: int, t: int, way: Way, height: int) -> int:
    """Rows of tensor t in the GLB while part p runs `layer`; height: of the group's input."""
    part, behind = parts[p], parts[p + 1] if p + 1 < len(parts) else None
    last = len(part.made) - 1
    if t == 0 and way.source_on_chip:
        if layer == 0:
            return height - part.needed[0][0]
        return height - behind.needed[0][0] if behind else 0
    if t == last:
        if way.target_on_chip:
            return part.made[t][1] if layer == t - 1 else part.made[t][0]
        return _size(part.made[t]) if layer == t - 1 else 0
    if t in (layer, layer + 1):
        return _size(part.needed[t])
    if way.halo is Halo.RECOMPUTE:
        return 0
    if t < layer:
        return _size((behind.needed[t][0], part.needed[t][1])) if behind else 0
    return _size((part.needed[t][0], parts[p - 1].needed[t][1])) if p else 0


def _storage(layers: Chain, parts: tuple[Part, ...], way: Way, lifetimes: bool) -> int:
    """Bytes of GLB: the largest sum of what is live in a step, or (not lifetimes) a place for each tensor and
    constant that is as large as it ever gets."""
    widths = [layer.row_bytes for layer in layers] + [layers[-1].out_row_bytes]
    steps = []
    for p in range(len(parts)):
        for now in range(len(layers)):
            tensors = [_live_rows(parts, p, now, t, way, layers[0].height) * w for t, w in enumerate(widths)]
            if way.in_place:
                tensors = [sum(tensors)]
            if way.streamed:
                constants = [(c.window_bytes or c.constants_bytes) * (n == now) for n, c in enumerate(layers)]
            else:
                over = p == len(parts) - 1
                constants = [0 if over and n < now else c.constants_bytes for n, c in enumerate(layers)]
            steps.append(tensors + constants)
    return max(map(sum, steps)) if lifetimes else sum(map(max, zip(*steps)))


# ---- Groups ----


def fused_group(chain: Chain, first: int, last: int, way: Way, lifetimes: bool = False) -> FusedGroup:
    """Storage, traffic and work of layers `first` to `last` - 1, run that way.

    lifetimes: storage is the largest sum live at a time; otherwise every tensor has its place throughout.
    """
    layers = chain[first:last]
    parts = partition(layers, way.height, way.halo)
    constants = sum(layer.constants_bytes for layer in layers)
    transfer = constants * (len(parts) if way.streamed else 1)
    if not way.source_on_chip:
        transfer += sum(_size(part.made[0]) for part in parts) * layers[0].row_bytes
    if not way.target_on_chip:
        transfer += layers[-1].out_height * layers[-1].out_row_bytes
    glb, macs = transfer + constants * len(parts), 0
    for t, layer in enumerate(layers):
        made = sum(_size(part.made[t + 1]) for part in parts)
        glb += made * layer.out_row_bytes + sum(_size(part.needed[t]) for part in parts) * layer.row_bytes
        macs += -(-layer.macs * made // layer.out_height)
    return FusedGroup(first, last, layers, way, len(parts), _storage(layers, parts, way, lifetimes), transfer, glb, macs)


@dataclass(frozen=True)
class Space:
    """The ways that are searched.

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
        """Distinct stripe heights, the whole map first."""
        return sorted({-(-rows // k) for k in range(1, min(rows, self.max_parts or rows) + 1)}, reverse=True)

    def ways(self, chain: Chain, first: int, last: int) -> Iterator[Way]:
        """The ways of layers `first` to `last` - 1; the chain's own input and output lie in DRAM."""
        layers = chain[first:last]
        rows = layers[-1].out_height
        sources = (False, True) if self.on_chip and first > 0 else (False,)
        targets = (False, True) if self.on_chip and last < len(chain) else (False,)
        same = len(layers) == 1 and layers[0].stride == 1 and (
            (layers[0].height, layers[0].row_bytes) == (rows, layers[0].out_row_bytes))
        for height in self.heights(rows):
            whole = height == rows
            for halo in self.halos[:1] if whole else self.halos:
                for source in sources:
                    for target in targets:
                        for in_place in (False, True) if source and target and same and not whole else (False,):
                            for streamed in (False, True) if self.streaming else (False,):
                                yield Way(height, halo, source, target, in_place, streamed)


# ---- Objectives ----


class Combine(Enum):
    """How the costs of the groups make that of the plan."""

    SUM = "sum"
    MAX = "max"


@dataclass(frozen=True)
class Objective:
    """What is minimised. Ties: of a sum by the largest storage of a group, of a maximum by transfer; then by
    the number of passes, then by the number of layers fused to another."""

    cost: Cost
    combine: Combine = Combine.SUM


def cycles(machine: MachineConfig = DEFAULT, bus_bytes: int = BUS_BYTES, pass_cycles: int = PASS_CYCLES) -> Cost:
    """Cycles of a group: the longer of multiplication and transfer, and what every pass adds."""
    def cost(group: FusedGroup) -> int:
        work = max(-(-group.macs // machine.total_multipliers), -(-group.transfer // bus_bytes))
        return work + pass_cycles * group.passes
    return cost


def energy(group: FusedGroup) -> int:
    """Picojoules of a group, without leakage."""
    return MAC_PJ * group.macs + GLB_BYTE_PJ * group.glb + DRAM_BYTE_PJ * group.transfer


OBJECTIVES = {
    "storage": Objective(lambda group: group.storage, Combine.MAX),
    "transfer": Objective(lambda group: group.transfer),
    "cycles": Objective(cycles()),
    "energy": Objective(energy),
}


def plan_key(plan: Plan, objective: Objective) -> tuple[Number, ...]:
    """What is compared, in order: cost, the tie of its kind, passes, layers fused to another."""
    costs = [objective.cost(group) for group in plan]
    tail = sum(group.passes for group in plan), sum(len(group.layers) - 1 for group in plan)
    if objective.combine is Combine.MAX:
        return max(costs), sum(group.transfer for group in plan), *tail
    return sum(costs), max(group.storage for group in plan), *tail


# ---- Search ----

Choices = dict[tuple[int, bool], list[tuple[FusedGroup, Number]]]  # by first layer and place of the input


def _choices(chain: Chain, objective: Objective, capacity: int | None, space: Space) -> Choices:
    """All groups that fit, with their costs. Raises DoesNotFit for a chain that breaks."""
    for before, behind in zip(chain, chain[1:]):
        if (before.out_height, before.out_row_bytes) != (behind.height, behind.row_bytes):
            raise ValueError(f"layer {behind.name} does not take what {before.name} makes")
    found: Choices = {}
    for first in range(len(chain)):
        for last in range(first + 1, len(chain) + 1):
            for way in space.ways(chain, first, last):
                group = fused_group(chain, first, last, way, space.lifetimes)
                if capacity is not None and group.storage > capacity:
                    continue
                cost = objective.cost(group)
                if cost is not None:
                    found.setdefault((first, way.source_on_chip), []).append((group, cost))
    return found


def _search(choices: Choices, layers: int, start: tuple, extend: Callable) -> tuple[tuple, Plan] | None:
    """The plan with the least value; extend(value, group, cost) must not reverse the order of two values."""
    best: dict[tuple[int, bool], tuple[tuple, Plan]] = {(0, False): (start, ())}
    for first in range(layers):
        for place in (False, True):
            if (first, place) not in best:
                continue
            value, plan = best[first, place]
            for group, cost in choices.get((first, place), ()):
                state, total = (group.last, group.way.target_on_chip), extend(value, group, cost)
                if state not in best or total < best[state][0]:
                    best[state] = total, (*plan, group)
    return best.get((layers, False))


def best_plan(chain: Chain, objective: Objective | str, capacity: int | None = None, space: Space = Space()) -> Plan:
    """The best plan of a chain, exactly.

    capacity: bytes of GLB that no group may exceed. Raises DoesNotFit, or ValueError for a chain whose layers
    do not follow each other.

    Two searches: the first finds the least cost (and the least peak storage at it), the second settles the ties
    among groups that exceed neither. A sum after a maximum in one search would not be exact.
    """
    objective = OBJECTIVES[objective] if isinstance(objective, str) else objective
    choices = _choices(chain, objective, capacity, space)
    peak = objective.combine is Combine.MAX
    if peak:
        found = _search(choices, len(chain), (0,), lambda v, group, cost: (max(v[0], cost),))
    else:
        found = _search(choices, len(chain), (0, 0), lambda v, g, cost: (v[0] + cost, max(v[1], g.storage)))
    if found is None:
        raise DoesNotFit(_reason(chain, capacity, space))
    bound = found[0][-1]
    kept = {state: [(g, cost) for g, cost in groups if (cost if peak else g.storage) <= bound]
            for state, groups in choices.items()}

    def settle(value: tuple, group: FusedGroup, cost: Number) -> tuple:
        first = group.transfer if peak else cost
        return value[0] + first, value[1] + group.passes, value[2] + len(group.layers) - 1

    return _search(kept, len(chain), (0, 0, 0), settle)[1]


def _reason(chain: Chain, capacity: int | None, space: Space) -> str:
    for n, layer in enumerate(chain):
        least = min(fused_group(chain, n, n + 1, way, space.lifetimes).storage for way in space.ways(chain, n, n + 1))
        if capacity is not None and least > capacity:
            return f"layer {layer.name}: needs {least} bytes of GLB at least, there are {capacity}"
    return "no groups that the cost function accepts make up the chain"


def all_plans(choices: Choices, layers: int, first: int = 0, place: bool = False) -> Iterator[Plan]:
    if first == layers:
        yield ()
        return
    for group, _ in choices.get((first, place), ()):
        for rest in all_plans(choices, layers, group.last, group.way.target_on_chip):
            yield (group, *rest)


def brute_force(chain: Chain, objective: Objective | str, capacity: int | None = None, space: Space = Space()) -> Plan:
    """best_plan by looking at every plan: all 2^(n-1) cuts, each group in all its ways."""
    objective = OBJECTIVES[objective] if isinstance(objective, str) else objective
    plans = all_plans(_choices(chain, objective, capacity, space), len(chain))
    best = min(plans, key=lambda plan: plan_key(plan, objective), default=None)
    if best is None:
        raise DoesNotFit(_reason(chain, capacity, space))
    return best


# ---- From the compiler's layer groups ----


def chain_of(groups: list[Group]) -> Chain:
    """The chain of a network, with the machine's padding: 8 channels to a word, rows of even width.

    A depthwise-separable block is one layer. One that averages its whole map needs all rows for its one row.
    """
    return tuple(map(_layer, groups))


def _layer(group: Group) -> Layer:
    (height, width, channels), (rows, cols, filters) = group.source.shape, group.output.shape
    taken, made = (FeatureMap(*shape[:2], -(-shape[2] // 8), 0, shape[0]) for shape in (group.source.shape, group.output.shape))
    kernel, stride, pads = group.window.kernel[0], group.window.stride, group.window.pads
    if group.pool_count:
        kernel, stride, pads = height, 1, (0, 0, 0, 0)
    tables = made.groups * TABLE_WORDS * GLB_WORD_BYTES if group.table is not None else 0
    if group.depthwise is not None:
        tables += taken.groups * DEPTHWISE_GROUP_WORDS * GLB_WORD_BYTES
    unit = WORD_CHANNELS if group.is_convolution and channels <= WORD_CHANNELS else 2 * WORD_CHANNELS
    one = 0 if group.filters is None else -(-channels // unit) * unit * prod(group.filters.shape[1:-1])
    weights = one * made.groups * 8
    return Layer(group.name, height, taken.pitch, taken.groups * 8, rows, made.pitch, made.groups * 8, kernel, stride,
                 pads, tables + weights, group.macs, tables + min(weights, WINDOW_FILTERS * one))
