# SPDX-License-Identifier: Apache-2.0
"""Layer fusion with model partitioning: the plans of the text's algorithms, on its example and on our networks."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from eyrie.compiler.ir.failure import DoesNotFit
from eyrie.compiler.ir.window import input_rows
from eyrie.compiler.network import compile_until
from eyrie.compiler.pipeline import Grouped, Request, reached
from eyrie.compiler.study.fusion import (
    Combine,
    FusionPlan,
    Objective,
    SearchSpace,
    best_plan,
    brute_force,
    chain_of,
    published_storage,
    published_transfer,
)
from eyrie.compiler.study.stripes import Chain, ChainLayer, FusedGroup, Halo
from eyrie.measure.networks.mobilenets import Mobilenet, model
from eyrie.measure.studies.section import NOT_HAD, Row, Section, Table, compared
from eyrie.runtime.bundled import MODEL

SOURCE = """Layer fusion with model partitioning for ReRAM accelerators, Electronics 14 (2025) 2352, section 4. Its
figures and tables are pictures. The text repeats only the numbers of LeNet's rows. The plans below are ours, by its
algorithms (docs/research/fusion.md). Every tensor between groups goes through DRAM, halos are recomputed, and a part
has all weights of its group."""
KIB = 1024
PARTS = 8  # of a group at most
BIAS_BYTES = 4
LENET = (("conv1", 6, 5, 1), ("pool1", 6, 2, 2), ("conv2", 16, 5, 1), ("pool2", 16, 2, 2), ("conv3", 120, 5, 1))
LENET_INPUT = (32, 1)  # rows and columns, channels


def section(folder: Path) -> Section:
    """folder: for the networks that are compiled."""
    large = folder / "mobilenet_v1_1.00_224.tflite"
    large.write_bytes(model(Mobilenet(1, 1.0, 224)))
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
                "a formula that the stored text leaves out; (5 - 1) x 2 + 2",
            ),
            Row(
                "candidates with fusion alone, of n layers",
                NOT_HAD,
                f"2^(n - 1), {cuts} of LeNet",
                "a formula that the stored text leaves out",
            ),
        ),
    )


def _plans(name: str, chain: Chain, capacity: int) -> Table:
    rows = []
    for what, parts in (("no fusion, no partition", None), ("fusion", 1), (f"fusion, up to {PARTS} parts", PARTS)):
        for objective in ("storage", "transfer"):
            if parts is None and objective == "storage":
                continue
            rows.append(_row(what, objective, chain, capacity, parts))
    text = "In bytes. Storage is the maximum over the groups, transfer the sum."
    return Table(name, text, tuple(rows))


def _row(what: str, objective: str, chain: Chain, capacity: int, parts: int | None) -> Row:
    try:
        plan = _alone(chain, capacity) if parts is None else planned(chain, objective, capacity, parts)
    except DoesNotFit as failure:
        return Row(f"{what}: least {objective}", NOT_HAD, NOT_HAD, f"no plan: {failure}")
    storage, transfer = max(map(published_storage, plan)), sum(map(published_transfer, plan))
    note = (
        "by exhaustion, too"
        if parts and len(chain) <= len(LENET) and _same(plan, chain, objective, capacity, parts)
        else ""
    )
    return Row(
        f"{what}: least {objective}" if parts else what,
        NOT_HAD,
        f"storage {storage:,}, transfer {transfer:,}: {said(plan)}",
        note,
    )


def space(parts: int) -> SearchSpace:
    """The text's: nothing stays on chip, nothing is kept."""
    return SearchSpace(max_parts=parts, halos=(Halo.RECOMPUTE,), on_chip=False, streaming=False)


def objective_of(name: str, capacity: int) -> Objective:
    """Algorithm 5: the least storage, or the least transfer of what fits."""
    if name == "storage":
        return Objective(published_storage, Combine.MAX)
    return Objective(lambda group: published_transfer(group) if published_storage(group) <= capacity else None)


def planned(chain: Chain, objective: str, capacity: int, parts: int) -> FusionPlan:
    """Raises DoesNotFit."""
    plan = best_plan(chain, objective_of(objective, capacity), None, space(parts))
    if objective == "storage" and max(map(published_storage, plan)) > capacity:
        raise DoesNotFit(f"{max(map(published_storage, plan)):,} bytes at least")
    return plan


def _alone(chain: Chain, capacity: int) -> FusionPlan:
    plan = tuple(planned((layer,), "transfer", capacity, 1)[0] for layer in chain)
    return tuple(replace(group, first=n, last=n + 1) for n, group in enumerate(plan))


def _same(plan: FusionPlan, chain: Chain, objective: str, capacity: int, parts: int) -> bool:
    """Whether the search over all plans finds no better one."""
    cost = objective_of(objective, capacity)
    ours, best = (
        [value for group in found if (value := cost.cost(group)) is not None]
        for found in (plan, brute_force(chain, cost, None, space(parts)))
    )
    return max(ours) == max(best) if objective == "storage" else sum(ours) == sum(best)


def said(plan: FusionPlan) -> str:
    """The groups with their layers and parts."""
    return " / ".join(_group_said(group) for group in plan)


def _group_said(group: FusedGroup) -> str:
    names = [layer.name for layer in group.layers]
    layers = names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"
    rows = group.layers[-1].out_height
    parts = -(-rows // group.way.height)
    return layers if parts == 1 else f"{layers} in {parts} parts"


def _chain(path: Path) -> Chain:
    chain = chain_of(reached(compile_until("groups", Request(path)), Grouped).groups)
    assert all(before.out_height == behind.height for before, behind in pairwise(chain))
    return chain
