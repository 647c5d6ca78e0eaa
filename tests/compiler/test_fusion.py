# SPDX-License-Identifier: Apache-2.0
"""Fusion and partition: rows traced back are exactly those that a convolution reads, storage is what a
step-by-step count finds, and the optimiser's plans are those of a search over everything.

Every random choice comes from EYRIE_SEED (1).
"""

import numpy as np
import pytest

from eyrie.compiler.frontend import tflite
from eyrie.compiler.ir.failure import DoesNotFit
from eyrie.compiler.ir.window import input_rows
from eyrie.compiler.passes.fold_pads import fold_pads
from eyrie.compiler.passes.form_groups import form_groups
from eyrie.compiler.study.fusion import (
    MEASURES,
    Combine,
    Objective,
    SearchSpace,
    best_plan,
    brute_force,
    chain_of,
    cycles,
    describe,
    plan_value,
    published_storage,
    published_transfer,
)
from eyrie.compiler.study.stripes import Chain, ChainLayer, FusedWay, Halo, Stripe, fused_group, partition
from eyrie.runtime.bundled import MODEL

KIB = 1024
Stored = dict[int, np.ndarray]  # rows of a map by number


def layer(
    name: str,
    shape: tuple[int, int, int],
    filters: int,
    kernel: int,
    stride: int,
    pads: tuple[int, int, int, int],
    constants: int = 0,
) -> ChainLayer:
    height, width, channels = shape
    rows = (height + pads[0] + pads[1] - kernel) // stride + 1
    cols = (width + pads[2] + pads[3] - kernel) // stride + 1
    macs = rows * cols * filters * channels * kernel**2
    return ChainLayer(name, *shape, rows, cols, filters, kernel, stride, pads, constants, macs, constants // 3)


def random_chain(rng: np.random.Generator, count: int, dense: bool = False, rows: int = 16) -> Chain:
    """rows: at most; dense: no stride above its kernel, so every row between two that are read is read."""
    shape = int(rng.integers(rows // 2, rows + 1)), int(rng.integers(6, 12)), int(rng.integers(1, 5))
    layers = []
    for n in range(count):
        kernel = min(int(rng.integers(1, 4)), *shape[:2])
        stride = min(int(rng.choice([1, 1, 2])), kernel if dense else 2)
        pads = tuple(int(pad) for pad in rng.integers(0, kernel, 4))
        filters, constants = int(rng.integers(1, 9)), int(rng.integers(200))
        layers.append(layer(f"l{n}", shape, filters, kernel, stride, pads, constants))
        shape = layers[-1].out_height, layers[-1].out_width, layers[-1].out_channels
    return tuple(layers)


# ---- Rows ----


def convolve(layer: ChainLayer, weights: np.ndarray, store: Stored, rows: range) -> Stored:
    """Output rows from stored input rows, one channel; rows that are not stored count as padding."""
    left, right = layer.pads[2:]
    out = {}
    for y in rows:
        out[y] = np.zeros(layer.out_width, object)
        for r in range(layer.kernel):
            row = store.get(y * layer.stride - layer.pads[0] + r, np.zeros(layer.width, object))
            row = np.pad(row, (left, right))
            for s in range(layer.kernel):
                out[y] += weights[r, s] * row[s :: layer.stride][: layer.out_width]
    return out


def whole_maps(rng: np.random.Generator, chain: Chain) -> tuple[list[np.ndarray], list[Stored]]:
    """Weights and all tensors of a chain, run layer by layer; all values are positive."""
    first = rng.integers(1, 50, (chain[0].height, chain[0].width)).astype(object)
    weights, maps = [], [dict(enumerate(first))]
    for one in chain:
        weights.append(rng.integers(1, 9, (one.kernel, one.kernel)).astype(object))
        maps.append(convolve(one, weights[-1], maps[-1], range(one.out_height)))
    return weights, maps


def same(got: Stored, whole: Stored) -> bool:
    return all(np.array_equal(row, whole[y]) for y, row in got.items())


@pytest.mark.parametrize("halo", Halo)
def test_parts_make_the_whole(seed: int, halo: Halo) -> None:
    """A part computes from exactly the rows it is said to need, and one row less at either end is wrong."""
    rng, compared, cut = np.random.default_rng([seed, 1]), 0, 0
    for _ in range(25):
        chain = random_chain(rng, int(rng.integers(1, 5)))
        weights, maps = whole_maps(rng, chain)
        height = int(rng.integers(1, chain[-1].out_height + 1))
        stores = [{} for _ in maps]
        for part in partition(chain, height, halo):
            if halo is Halo.RECOMPUTE:
                stores = [{} for _ in maps]
            stores[0].update((y, maps[0][y]) for y in range(*part.made[0]))
            for t, one in enumerate(chain):
                kept = {y: row for y, row in stores[t].items() if y >= part.needed[t][0]}
                assert list(kept) == list(range(*part.needed[t])), f"EYRIE_SEED={seed}"
                stores[t] = kept
                rows = range(*part.made[t + 1])
                made = convolve(one, weights[t], kept, rows)
                assert same(made, maps[t + 1]), f"EYRIE_SEED={seed}"
                stores[t + 1].update(made)
                for end in {part.needed[t][0], part.needed[t][1] - 1} if kept else ():
                    less = {y: row for y, row in kept.items() if y != end}
                    assert not same(convolve(one, weights[t], less, rows), maps[t + 1]), f"EYRIE_SEED={seed}"
                    cut += 1
            compared += len(range(*part.made[-1]))
    assert compared > 25 and cut > 100


def test_rows_of_lenet() -> None:
    """The fusion paper's example: 5 rows behind a 2 x 2 kernel of stride 2 take 10; 14 before a 5 x 5."""
    pool = layer("pool2", (10, 10, 16), 16, 2, 2, (0, 0, 0, 0))
    conv = layer("conv2", (14, 14, 6), 16, 5, 1, (0, 0, 0, 0))
    assert input_rows(pool.window, pool.height, 0, 5) == (0, 10)
    assert input_rows(conv.window, conv.height, 0, 10) == (0, 14)


def test_halos_are_kept_or_recomputed() -> None:
    chain = (layer("a", (8, 4, 1), 1, 3, 1, (1, 1, 1, 1)), layer("b", (8, 4, 1), 1, 3, 1, (1, 1, 1, 1)))
    assert partition(chain, 4, Halo.KEEP)[1] == Stripe(((4, 8), (3, 8), (4, 8)), ((6, 8), (5, 8), (4, 8)))
    assert partition(chain, 4, Halo.RECOMPUTE)[1] == Stripe(((2, 8), (3, 8), (4, 8)), ((2, 8), (3, 8), (4, 8)))


# ---- Costs ----


def counted_storage(chain: Chain, way: FusedWay) -> int:
    """Bytes live in the fullest step, from when each row is made and when it is last read (halo kept)."""
    steps = [(first, n) for first in range(0, chain[-1].out_height, way.height) for n in range(len(chain))]
    made: list[dict[int, int]] = [{} for _ in range(len(chain) + 1)]  # step in which a row is made
    read: list[dict[int, int]] = [{} for _ in made]  # step in which it is last read
    for first in range(0, chain[-1].out_height, way.height):
        wanted = set(range(first, min(first + way.height, chain[-1].out_height)))
        for n in reversed(range(len(chain))):
            one, step = chain[n], steps.index((first, n))
            made[n + 1].update(dict.fromkeys(wanted, step))
            taps = {y * one.stride - one.pads[0] + r for y in wanted for r in range(one.kernel)}
            taps &= set(range(one.height))
            read[n].update(dict.fromkeys(taps, step))
            wanted = taps - set(made[n])
        made[0].update(dict.fromkeys(wanted, steps.index((first, 0))))
    if way.source_on_chip:
        made[0] = dict.fromkeys(range(chain[0].height), 0)
        read[0] = {y: read[0].get(y, len(steps)) for y in made[0]}
    read[-1] = dict.fromkeys(made[-1], len(steps)) if way.target_on_chip else made[-1]
    widths = [one.row_bytes for one in chain] + [chain[-1].out_row_bytes]

    def live(step: int) -> int:
        return sum(width * sum(made[t][y] <= step <= read[t][y] for y in made[t]) for t, width in enumerate(widths))

    return max(map(live, range(len(steps))))


def test_storage_by_lifetimes_is_what_is_live(seed: int) -> None:
    rng, counted = np.random.default_rng([seed, 2]), 0
    for _ in range(60):
        chain = random_chain(rng, int(rng.integers(1, 5)), dense=True)
        height, places = int(rng.integers(1, chain[-1].out_height + 1)), map(bool, rng.integers(0, 2, 2))
        way = FusedWay(height, Halo.KEEP, *places)
        free = tuple(ChainLayer(**{**vars(one), "constants_bytes": 0}) for one in chain)
        if way.source_on_chip and partition(chain, height, Halo.KEEP)[-1].needed[0][1] < chain[0].height:
            continue  # the input has rows that nothing reads
        counted += 1
        group = fused_group(free, 0, len(free), way, lifetimes=True)
        assert group.storage == counted_storage(free, way), f"EYRIE_SEED={seed} {chain} {way}"
        assert group.storage <= fused_group(free, 0, len(free), way).storage
    assert counted > 20


def test_costs_of_a_group() -> None:
    """Two 3 x 3 layers on 8 x 4 maps in two parts: rows counted by hand, 4 bytes each."""
    one = layer("a", (8, 4, 1), 1, 3, 1, (1, 1, 1, 1), 30)
    chain = one, layer("b", (8, 4, 1), 1, 3, 1, (1, 1, 1, 1), 60)
    kept = fused_group(chain, 0, 2, FusedWay(4))
    assert kept.storage == 4 * (6 + 5 + 4) + 90
    assert (kept.transfer, kept.macs, kept.passes) == (4 * (8 + 8) + 90, 2 * 8 * 36, 4)
    assert kept.glb == kept.transfer + 2 * 90 + 4 * ((6 + 4 + 8) + (5 + 5 + 8))
    again = fused_group(chain, 0, 2, FusedWay(4, Halo.RECOMPUTE))
    assert again.storage == 4 * (6 + 5 + 4) + 90
    assert (again.transfer, again.macs) == (4 * (12 + 8) + 90, (10 + 8) * 36)
    streamed = fused_group(chain, 0, 2, FusedWay(4, streamed=True))
    assert streamed.storage == kept.storage - 90 + 10 + 20
    assert streamed.transfer == kept.transfer + 90
    assert published_storage(kept) == 4 * 6 + 90
    assert published_transfer(kept) == 4 * 12 + 2 * 90


@pytest.mark.parametrize(("height", "rows"), [(1, 18), (2, 19), (4, 21)])
def test_one_ring_for_input_and_output(height: int, rows: int) -> None:
    """In place, a ring needs a stripe and a halo row more than the map has."""
    chain = (layer("block3", (16, 16, 128), 128, 3, 1, (1, 1, 1, 1), 1000),)
    way = FusedWay(height, source_on_chip=True, target_on_chip=True, in_place=True)
    assert fused_group(chain, 0, 1, way).storage == rows * 2 * KIB + 1000


# ---- Plans ----

SEARCHED = {**MEASURES, "bottleneck": Objective(cycles(), Combine.MAX)}


def compare(seed: int, chain: Chain, name: str, capacity: int | None, space: SearchSpace) -> int:
    """Passes of the best plan."""
    objective, where = SEARCHED[name], f"EYRIE_SEED={seed} {name} {capacity} {space} {chain}"
    found = best_plan(chain, objective, capacity, space)
    expected = brute_force(chain, objective, capacity, space)
    assert plan_value(found, objective) == plan_value(expected, objective), where
    assert [group.first for group in found] == [0, *(group.last for group in found[:-1])], where
    return sum(group.passes for group in found)


def room(rng: np.random.Generator, chain: Chain, space: SearchSpace) -> int:
    """A capacity that binds: between the largest layer and the whole chain as one group."""
    least = max(
        min(fused_group(chain, n, n + 1, way).storage for way in space.ways(chain, n, n + 1)) for n in range(len(chain))
    )
    whole = fused_group(chain, 0, len(chain), FusedWay(chain[-1].out_height)).storage
    return int(rng.integers(least, max(whole, least) + 1))


@pytest.mark.parametrize("name", SEARCHED)
def test_best_plan_of_short_chains_in_all_ways(seed: int, name: str) -> None:
    rng, passes = np.random.default_rng([seed, 3]), 0
    for n in range(12):
        chain = random_chain(rng, int(rng.integers(1, 4)))
        space = SearchSpace(max_parts=2 + n % 2, lifetimes=bool(n % 4 > 1))
        passes += compare(seed, chain, name, room(rng, chain, space) if n % 3 else None, space)
    assert passes > 12


@pytest.mark.parametrize("name", SEARCHED)
def test_best_plan_of_long_chains(seed: int, name: str) -> None:
    """Up to 10 layers, groups in one or two parts, tensors between them in DRAM."""
    rng, passes = np.random.default_rng([seed, 4]), 0
    space = SearchSpace(max_parts=2, halos=(Halo.KEEP,), on_chip=False, streaming=False)
    for layers in (10, 8, 8, 7, 7, 6, 6):
        chain = random_chain(rng, layers, rows=48)
        passes += compare(seed, chain, name, room(rng, chain, space), space)
    assert passes > 7


def test_groups_that_cannot_run_are_left_out() -> None:
    chain = random_chain(np.random.default_rng(1), 4)
    alone = Objective(lambda group: group.transfer if len(group.layers) == 1 else None)
    assert len(best_plan(chain, alone)) == 4
    with pytest.raises(DoesNotFit, match="^the groups that fit and that the cost function accepts do not"):
        best_plan(chain, Objective(lambda group: None))


def test_rejections() -> None:
    one = layer("a", (8, 8, 4), 8, 3, 1, (1, 1, 1, 1), 100)
    other = layer("b", (8, 8, 4), 8, 3, 1, (1, 1, 1, 1))
    with pytest.raises(ValueError, match="^layer b does not take what a makes$"):
        best_plan((one, other), "transfer")
    with pytest.raises(DoesNotFit, match="^layer a: needs 193 bytes of GLB at least, it has 100$"):
        best_plan((one,), "transfer", capacity=100)
    with pytest.raises(ValueError, match="^layer c: pads of 3 and 0 rows are not below the kernel, 3$"):
        layer("c", (8, 8, 4), 8, 3, 1, (3, 0, 0, 0))
    with pytest.raises(ValueError, match="^layer d: 8 rows make 6 rows, not 8$"):
        ChainLayer("d", 8, 8, 1, 8, 8, 1, 3, 1, (0, 0, 0, 0), 0, 0)


# ---- The bundled network ----


@pytest.fixture(scope="module")
def network() -> Chain:
    return chain_of(form_groups(fold_pads(tflite.load(MODEL))))


def names(plan: tuple) -> list[str]:
    return ["+".join(one.name for one in group.layers) for group in plan]


def test_mobilenet_reaches_compulsory_traffic(network: Chain) -> None:
    """With 64 KiB only input, output and constants of the network cross the DRAM port."""
    plan = best_plan(network, "transfer", 64 * KIB)
    head, tail = network[0], network[-1]
    constants = sum(one.constants_bytes for one in network)
    compulsory = head.height * head.row_bytes + tail.out_row_bytes + constants
    assert sum(group.transfer for group in plan) == compulsory
    assert sum(group.macs for group in plan) == sum(one.macs for one in network)
    assert names(plan) == ["conv0+block1+block2", *(f"block{n}" for n in range(3, 9)), "fc9"]
    assert plan[1].way.in_place
    assert describe(plan).splitlines()[1] == (
        "block3: GLB -> GLB, 8 x 2 rows, halo kept, in place; storage 58752 B, transfer 19840 B, 4489216 MACs"
    )


@pytest.mark.parametrize(("height", "placed", "live"), [(1, 59168, 54560), (2, 65824, 57728), (4, 79136, 65920)])
def test_mobilenet_first_stripes(network: Chain, height: int, placed: int, live: int) -> None:
    """conv0 to block2 in stripes: bytes with a place for everything, and live at a time."""
    way = FusedWay(height, target_on_chip=True)
    assert fused_group(network, 0, 3, way).storage == placed
    assert fused_group(network, 0, 3, way, lifetimes=True).storage == live


def test_mobilenet_needs_fusion(network: Chain) -> None:
    """Without tensors that stay in the GLB, fusion alone moves more; without fusion, more again."""

    def moved(space: SearchSpace, most: int) -> int:
        cost = Objective(lambda group: group.transfer if len(group.layers) <= most else None)
        return sum(group.transfer for group in best_plan(network, cost, 64 * KIB, space))

    assert moved(SearchSpace(), 10) < moved(SearchSpace(on_chip=False), 10) < moved(SearchSpace(on_chip=False), 1)
    assert moved(SearchSpace(), 10) < moved(SearchSpace(), 1)
