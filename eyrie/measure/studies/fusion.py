# SPDX-License-Identifier: Apache-2.0
"""Layer fusion with model partitioning: the plans of the text's algorithms, on its example and on our networks."""

from itertools import pairwise
from pathlib import Path

from eyrie.compiler.ir.failure import DoesNotFit
from eyrie.compiler.ir.window import input_rows
from eyrie.compiler.network import compile_until
from eyrie.compiler.results import Grouped, Request, reached
from eyrie.compiler.study.fusion import (
    Combine,
    FusionPlan,
    Objective,
    SearchSpace,
    best_plan,
    brute_force,
    chain_of,
    filter_split,
    most_filter_parts,
    published_storage,
    published_transfer,
)
from eyrie.compiler.study.stripes import Chain, ChainLayer, FusedGroup, Halo
from eyrie.measure.networks.mobilenets import Mobilenet
from eyrie.measure.studies.section import NOT_HAD, Row, Section, Table, compared
from eyrie.runtime.bundled import MODEL

SOURCE = """Layer fusion with model partitioning for ReRAM accelerators, Electronics 14 (2025) 2352, section 4. Its
figures and tables are pictures. The text repeats only the numbers of LeNet's rows. The plans below are ours, by its
algorithms (docs/research/fusion.md). Every tensor between groups goes through DRAM, and halos are recomputed. PEs share
the rows of a group, the filters of its last layer, or both; each has all weights of the layers before."""
KIB = 1024
PARTS = 8  # of the rows of a group at most
PES = 48  # 6 x 8, of the baseline
BIAS_BYTES = 4
LENET = (("conv1", 6, 5, 1), ("pool1", 6, 2, 2), ("conv2", 16, 5, 1), ("pool2", 16, 2, 2), ("conv3", 120, 5, 1))
LENET_INPUT = (32, 1)  # rows and columns, channels


def section(folder: Path) -> Section:
    """folder: for the networks that are compiled."""
    large = folder / "mobilenet_v1_1.00_224.tflite"
    large.write_bytes(Mobilenet(1, 1.0, 224).model())
    chains = {
        "LeNet, 52 KiB": (lenet(), 52),
        "LeNet, 64 KiB": (lenet(), 64),
        "MobileNetV1 on CIFAR-10, 64 KiB": (_chain(MODEL), 64),
        "MobileNetV1 on CIFAR-10, 544 KiB": (_chain(MODEL), 544),
        "The first five layers of MobileNetV1 at 224 x 224, 256 KiB": (_chain(large)[:5], 256),
    }
    return Section(
        "Fusion and partition",
        SOURCE,
        (_example(), *(_plans(name, chain, kib * KIB) for name, (chain, kib) in chains.items())),
    )


def lenet() -> Chain:
    """LeNet, int8, up to its layer 5; each pooling is a layer, as in the text."""
    (size, channels), layers = LENET_INPUT, []
    for name, filters, kernel, stride in LENET:
        rows = (size - kernel) // stride + 1
        weights = 0 if name.startswith("pool") else filters * (kernel**2 * channels + BIAS_BYTES)
        macs = 0 if name.startswith("pool") else rows**2 * kernel**2 * channels * filters
        layers.append(
            ChainLayer(name, size, size, channels, rows, rows, filters, kernel, stride, (0, 0, 0, 0), weights, macs)
        )
        size, channels = rows, filters
    return tuple(layers)


def _example() -> Table:
    chain = lenet()
    pool2 = chain[3]
    first, last = input_rows(pool2.window, pool2.height, 0, pool2.out_height)
    cuts = 2 ** (len(chain) - 1)
    return Table(
        "LeNet, section 4",
        "`BackTrace` is `input_rows` here.",
        (
            compared(
                "input of layer 5: channels, rows, columns",
                "16, 5, 5",
                f"{pool2.out_channels}, {pool2.out_height}, {pool2.out_width}",
            ),
            Row(
                "rows and columns of the input of layer 4, traced back from it",
                NOT_HAD,
                str(last - first),
                'section 4: "the height and width of the input activation to the fourth layer are both", without the '
                "number; (5 - 1) x 2 + 2",
            ),
            Row(
                "candidates with fusion alone, of n layers",
                NOT_HAD,
                f"2^(n - 1), {cuts} of LeNet",
                'section 4: "The total number of candidate solutions is given by the following equation", '
                "without the equation",
            ),
        ),
    )


def _plans(name: str, chain: Chain, capacity: int) -> Table:
    groups = [_plan((layer,), "transfer", capacity, 1) for layer in chain]
    alone = None if None in groups else sum(_bytes(plan, capacity) for plan in groups if plan)
    fused = _plan(chain, "transfer", capacity, 1)
    whole, least = (planned(chain, "storage", 1 << 40, pes) for pes in (1, PES))
    storage = [
        max(published_storage(group, most_filter_parts(group, pes)) for group in plan)
        for plan, pes in ((whole, 1), (least, PES))
    ]
    split = _plan(chain, "transfer", capacity, PES)
    rejected = f"no plan: a PE needs {storage[0]:,} bytes at least"
    rows = (
        Row(
            "fusion alone",
            "fewer bytes transferred than without fusion",
            f"{alone:,} to {_bytes(fused, capacity):,} bytes: {said(fused, capacity)}" if fused and alone else rejected,
            "by exhaustion, too" if fused and _same(fused, chain, capacity, 1) else "",
            _bytes(fused, capacity) < alone if fused and alone else None,
        ),
        Row(
            f"fusion and partition over {PES} PEs, least storage",
            "less storage of a PE than with fusion alone",
            f"{storage[0]:,} to {storage[1]:,} bytes",
            agrees=storage[1] < storage[0],
        ),
        Row(
            f"fusion and partition over {PES} PEs, least transfer",
            "the least transfer of all plans that fit",
            f"{_bytes(split, capacity):,} bytes: {said(split, capacity)}" if split else rejected,
            "by exhaustion, too" if split and _same(split, chain, capacity, PES) else "",
        ),
    )
    return Table(name, "Storage is the maximum over the groups and PEs, transfer the sum.", rows)


def space() -> SearchSpace:
    """The text's: nothing stays on chip, nothing is kept; row tiles."""
    return SearchSpace(max_parts=PARTS, halos=(Halo.RECOMPUTE,), on_chip=False, streaming=False)


def objective_of(name: str, capacity: int, pes: int) -> Objective:
    """Algorithm 5: the least storage, or the least transfer of what fits. pes: PEs that share rows and filters"""

    def storage(group: FusedGroup) -> int | None:
        return published_storage(group, most_filter_parts(group, pes)) if group.parts <= pes else None

    def transfer(group: FusedGroup) -> int | None:
        parts = filter_split(group, capacity, pes)
        return parts and published_transfer(group, parts)

    return Objective(storage, Combine.MAX) if name == "storage" else Objective(transfer)


def planned(chain: Chain, objective: str, capacity: int, pes: int) -> FusionPlan:
    """Return the best plan. pes: PEs over which rows and filters of a group are split. Raise DoesNotFit."""
    return best_plan(chain, objective_of(objective, capacity, pes), None, space())


def _plan(chain: Chain, objective: str, capacity: int, pes: int) -> FusionPlan | None:
    try:
        return planned(chain, objective, capacity, pes)
    except DoesNotFit:
        return None


def _bytes(plan: FusionPlan, capacity: int) -> int:
    return sum(published_transfer(group, filter_split(group, capacity, PES) or 1) for group in plan)


def _same(plan: FusionPlan, chain: Chain, capacity: int, pes: int) -> bool:
    """Return whether the search over all plans finds no plan with less transfer."""
    if len(chain) > len(LENET):
        return False
    cost = objective_of("transfer", capacity, pes)
    best = brute_force(chain, cost, None, space())
    return _bytes(plan, capacity) == _bytes(best, capacity)


def said(plan: FusionPlan, capacity: int) -> str:
    """The groups with their layers, parts of rows and parts of filters."""
    return " / ".join(_group_said(group, filter_split(group, capacity, PES) or 1) for group in plan)


def _group_said(group: FusedGroup, filters: int) -> str:
    names = [layer.name for layer in group.layers]
    layers = names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"
    parts = [
        f"{number} parts of {what}" for number, what in ((group.parts, "rows"), (filters, "filters")) if number > 1
    ]
    return f"{layers} in {' x '.join(parts)}" if parts else layers


def _chain(path: Path) -> Chain:
    chain = chain_of(reached(compile_until("groups", Request(path)), Grouped).groups)
    assert all(before.out_height == behind.height for before, behind in pairwise(chain))
    return chain
