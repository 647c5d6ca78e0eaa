# SPDX-License-Identifier: Apache-2.0
"""Verifiers of stages: what a compilation makes passes, and an error planted in each invariant is named.

Verifiers of graphs are in test_graph.py, of command lists in test_races.py, of descriptors in
tests/model/test_legality.py, of the binary form in test_program.py, of folders in tests/commands/test_run_net.py and
tests/runtime/test_session.py.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from eyrie.compiler.ir.buffer import LiveRange
from eyrie.compiler.ir.failure import InternalError, Unsupported
from eyrie.compiler.ir.layer import Average, Group, Pointwise, Separable
from eyrie.compiler.ir.maps import Map
from eyrie.compiler.ir.plan import Plan
from eyrie.compiler.ir.verify import verify_groups
from eyrie.compiler.ir.word_operation import WordOperation
from eyrie.compiler.network import compile_network, compile_until
from eyrie.compiler.passes.form_groups import _Forming
from eyrie.compiler.pipeline import STAGES
from eyrie.compiler.plan.search import Placed
from eyrie.compiler.plan.verify import verify_places, verify_plan
from eyrie.compiler.results import Built, Request
from eyrie.compiler.target.descriptors import separable
from eyrie.model import encoding
from eyrie.model.config import DEFAULT
from eyrie.model.encoding import Operation
from eyrie.model.operators.quantization import Quantization
from eyrie.runtime.bundled import MODEL
from eyrie.testing.tflite_builder import Builder
from tests.commands.small_nets import INPUT, VALID, Quant, TfliteBuilder, bias, scales, weights

SMALL = replace(DEFAULT, glb_bank_words=256)
OUT = Quant(0.05, -128)


def network(rng: np.random.Generator, side: int = 12) -> bytes:
    """A convolution, a block, a depthwise convolution, an addition of both, and a pointwise one with an average."""
    net = TfliteBuilder("verified")
    x = net.input("image", (1, side, side, 3), INPUT)
    x = net.conv("first", x, weights(rng, 16, 3, 3, 3), scales(rng, 16), bias(rng, 16), OUT)
    shortcut = net.depthwise("half", x, weights(rng, 1, 3, 3, 16), scales(rng, 16), bias(rng, 16), OUT)
    shortcut = net.conv("block", shortcut, weights(rng, 16, 1, 1, 16), scales(rng, 16), bias(rng, 16), OUT)
    x = net.depthwise("depthwise", x, weights(rng, 1, 3, 3, 16), scales(rng, 16), bias(rng, 16), OUT)
    x = net.add("sum", x, shortcut, OUT)
    x = net.conv("last", x, weights(rng, 24, 1, 1, 16), scales(rng, 24), bias(rng, 24), OUT, padding=VALID)
    return net.build([net.average_pool("mean", x, side, side)])


def chain(rng: np.random.Generator) -> bytes:
    """Blocks whose maps do not fit a small GLB: it is worked on in stripes, or in place."""
    net = TfliteBuilder("chain")
    x = net.input("image", (1, 40, 56, 8), INPUT)
    for n in range(3):
        x = net.depthwise(f"d{n}", x, weights(rng, 1, 3, 3, 8), scales(rng, 8), bias(rng, 8), OUT)
        x = net.conv(f"p{n}", x, weights(rng, 8, 1, 1, 8), scales(rng, 8), bias(rng, 8), OUT)
    return net.build([x])


@pytest.fixture(scope="module")
def stages(seed: int, tmp_path_factory: pytest.TempPathFactory) -> Built:
    path = tmp_path_factory.mktemp("stages") / "net.tflite"
    path.write_bytes(network(np.random.default_rng(seed), side=4))
    return compile_network(path, search_iterations=8)


@pytest.fixture(scope="module")
def striped(seed: int, tmp_path_factory: pytest.TempPathFactory) -> Built:
    path = tmp_path_factory.mktemp("striped") / "net.tflite"
    path.write_bytes(chain(np.random.default_rng(seed)))
    found = compile_network(path, SMALL, search_iterations=8)
    [segment] = found.plan.segments
    assert segment.nest.rows and len(segment.groups) > 1
    return found


def verified(work: Built, stage: str) -> None:
    [found] = [each for each in STAGES if each.name == stage]
    found.verify(work)


@pytest.mark.parametrize("stage", [stage.name for stage in STAGES if stage.verify])
def test_what_a_compilation_makes_is_right(stage: str, stages: Built, striped: Built) -> None:
    verified(stages, stage)
    verified(striped, stage)


def test_stages_that_are_verified() -> None:
    """Built whose result others build on; segments and places are final together."""
    assert [stage.name for stage in STAGES if stage.verify] == ["passes", "groups", "places", "schedule"]


# ---- Groups ----


def place_of(groups: list[Group], kind: type[Group]) -> int:
    return next(n for n, group in enumerate(groups) if isinstance(group, kind))


def change(n: int | type[Group], **fields: object) -> Callable[[list[Group]], list[Group]]:
    """A group with other fields, which may be functions of it."""

    def plant(groups: list[Group]) -> list[Group]:
        place = n if isinstance(n, int) else place_of(groups, n)
        made = {name: value(groups[place]) if callable(value) else value for name, value in fields.items()}
        return [*groups[:place], replace(groups[place], **made), *groups[place + 1 :]]

    return plant


def shaped(*shape: int) -> Callable[[Group], Map]:
    return lambda group: replace(group.output, shape=shape)


PACKED = "group conv0: a packed map is an input of at most 4 channels, whose readers are convolutions"
GROUPS: dict[str, tuple[Callable[[list[Group]], list[Group]], str]] = {
    "two of a name": (change(1, name="conv0"), "group conv0: two have this name"),
    "one is missing": (lambda groups: groups[1:], "group .*: reads first.*, which no group before it makes"),
    "another order": (
        lambda groups: [*groups[1:], groups[0]],
        "group .*: reads first.*, which no group before it makes",
    ),
    "the last is missing": (lambda groups: groups[:-1], "group .*: no group reads sum"),
    "reads another shape": (
        change(1, source=lambda group: replace(group.source, shape=(4, 4, 8))),
        "group .*: reads first 4 x 4 x 8 0.05/-128, which is first 4 x 4 x 16 0.05/-128",
    ),
    "reads another scale": (
        change(1, source=lambda group: replace(group.source, quantization=Quantization(2.0, -128))),
        "group .*: reads first 4 x 4 x 16 2/-128, which is first 4 x 4 x 16 0.05/-128",
    ),
    "reads another layout": (
        lambda groups: [
            groups[0],
            replace(groups[0], name="again", source=replace(groups[0].source, packed=False)),
            *groups[1:],
        ],
        "group again: reads image 4 x 4 x 3 .*, which is image 4 x 4 x 3 .*, packed",
    ),
    "makes a packed map": (change(0, output=lambda group: replace(group.output, packed=True)), PACKED),
    "a packed operand": (change(0, others=lambda group: (group.source,)), PACKED),
    "made twice": (
        lambda groups: [groups[0], replace(groups[0], name="again"), *groups[1:]],
        "group again: makes first, which is there already",
    ),
    "an output that is none": (change(0, stored=True), "group conv0: first is no output of the network"),
    "an output that is not stored": (change(-1, stored=False), "group .*: mean is an output of the network"),
    "an output that is not made": (lambda groups: [], "no group makes the output mean"),
    "shape of the output": (
        change(0, output=shaped(4, 3, 16)),
        "group conv0: makes 4 x 4 x 16, its output is 4 x 3 x 16",
    ),
    "average": (change(Pointwise, epilogue=(Average(15),)), "group .*: averages 15 of 4 x 4 pixels"),
    "weights": (
        change(0, filters=lambda group: group.filters[..., :2]),
        "group conv0: weights are 16 x 3 x 3 x 2, must be 16 x 3 x 3 x 3",
    ),
    "weights of a block": (
        change(Separable, depthwise=lambda group: group.depthwise[..., :8]),
        "group .*: weights are 16 x 16, 3 x 3 x 8, must be 16 x 16, 3 x 3 x 16",
    ),
    "operation": (
        change(0, epilogue=(WordOperation(Operation.TABLE),)),
        "group conv0: the operation table has no constants",
    ),
    "table": (
        change(0, table=lambda group: replace(group.table, shift=group.table.shift[:9])),
        "group conv0: a table of 16 biases, 16 multipliers and 9 shifts for 16 channels",
    ),
}


@pytest.mark.parametrize("what", GROUPS)
def test_groups(what: str, stages: Built) -> None:
    plant, message = GROUPS[what]
    work = replace(stages, groups=plant(list(stages.groups)))
    with pytest.raises(InternalError, match=f"^{message}$"):
        verified(work, "groups")


def test_groups_are_not_verified_by_halves(stages: Built) -> None:
    """A network without outputs, and one whose input is not there."""
    with pytest.raises(InternalError, match="reads image, which no group before it makes$"):
        verify_groups(stages.groups, [], stages.ends.values())
    with pytest.raises(InternalError, match="mean is no output of the network$"):
        verify_groups(stages.groups, [stages.groups[0].source], [])


def test_the_shape_of_an_output(stages: Built) -> None:
    [(name, end)] = stages.ends.items()
    with pytest.raises(InternalError, match=f"^the output {name} is 3 x 1 x .*, a group makes 1 x 1 x "):
        verify_groups(stages.groups, stages.inputs, [replace(end, shape=(3, 1, end.shape[2]))])


@pytest.mark.parametrize(
    ("name", "made"), [("pool", (3, 3, 8)), ("pool", (2, 2, 9)), ("turned", (1, 4, 8)), ("turned", (1, 6, 4))]
)
def test_pixels_of_words(name: str, made: tuple[int, int, int], tmp_path: Path) -> None:
    """Of a pool, and of a TRANSPOSE, which is a walk."""
    net = Builder()
    sizes = {"pool": (1, 2, 2, 8), "turned": (1, 4, 6, 8)}
    source = net.tensor((1, 6, 4, 8), scale=0.1)
    pool, turned = (net.tensor(size, scale=0.1) for size in sizes.values())
    net.operator("MAX_POOL_2D", [source], [pool], strideH=4, strideW=2, filterHeight=2, filterWidth=2, padding=1)
    net.operator("TRANSPOSE", [source, net.tensor((4,), "int32", data=np.int32([0, 2, 1, 3]))], [turned])
    (tmp_path / "net.tflite").write_bytes(net.pack([source], [pool, turned]))
    work = compile_network(tmp_path / "net.tflite", search_iterations=8)
    n = next(n for n, group in enumerate(work.groups) if group.output.shape == sizes[name][1:])
    wrong = change(n, output=shaped(*made))(list(work.groups))
    count = sizes[name][1] * sizes[name][2]
    with pytest.raises(InternalError, match=f"makes {count} pixels of 8 channels, its output is"):
        verified(replace(work, groups=wrong), "groups")


FORMED: dict[str, tuple[Callable[[list[Group]], list[Group]], str]] = {
    "one is missing": (lambda groups: groups[1:], "group .*: no group before it makes first"),
    "the last is missing": (lambda groups: groups[:-1], "the groups conv0, .* are not the whole network"),
    "one that nobody reads": (
        lambda groups: [*groups, replace(groups[0], output=replace(groups[0].output, name="x"))],
        "the groups conv0, .* are not the whole network",
    ),
}


@pytest.mark.parametrize("what", FORMED)
def test_groups_as_they_are_formed(what: str, stages: Built) -> None:
    plant, message = FORMED[what]
    forming = _Forming(stages.folded)
    forming.groups = dict(enumerate(plant(list(stages.groups))))
    with pytest.raises(Unsupported, match=f"^{message}$"):
        forming.finished()


# ---- The plan ----


def jobs(change: Callable[[list], list]) -> Callable[[Plan], Plan]:
    return lambda plan: replace(plan, jobs=change(list(plan.jobs)))


def job(n: int, **fields: object) -> Callable[[Plan], Plan]:
    return jobs(lambda jobs: [*jobs[:n], jobs[n]._replace(**fields), *jobs[n:][1:]])


def segment(n: int, **fields: int) -> Callable[[Plan], Plan]:
    return lambda plan: replace(
        plan, segments=[replace(each, **fields) if place == n else each for place, each in enumerate(plan.segments)]
    )


def in_planes(plan: Plan) -> Plan:
    """What the first group reads, from DRAM."""
    first = plan.read[0]
    return replace(plan, read=[replace(first, layout=replace(first.layout, planar=True)), *plan.read[1:]])


def in_planes_for_one(plan: Plan) -> Plan:
    """What the second group reads, as the first does not make it."""
    first, second, *others = plan.groups
    network = first, replace(second, source=replace(second.source, planar=True)), *others
    segments = [replace(each, network=network) for each in plan.segments]
    return replace(
        plan, groups=list(network), segments=segments, segment_of=[each for each in segments for _ in each.groups]
    )


PLANS: dict[str, tuple[Callable[[Plan], Plan], str]] = {
    "a job is missing": (jobs(lambda jobs: jobs[:-1]), "group .*: its jobs make [0-9]+ of 40 rows, [0-9]+ slices"),
    "the first job is missing": (
        jobs(lambda jobs: jobs[1:]),
        "group .*: a job makes rows .* the next ones of 40 are from 0 on, of slice 0|"
        "group .*: a job .* has not made before",
    ),
    "a job twice": (
        jobs(lambda jobs: [jobs[0], *jobs]),
        "group .*: a job makes rows 0 to .*, the next ones of 40 are .*",
    ),
    "in another order": (
        jobs(lambda jobs: jobs[::-1]),
        "group .*: a job makes rows .*, the next ones of 40 are from 0 on.*",
    ),
    "no rows": (job(0, last=0), "group .*: a job makes rows 0 to 0 .*"),
    "too many rows": (job(-1, last=41), "group .*: a job makes rows .* to 41 of slice 0, the next ones of 40 are .*"),
    "a slice": (
        job(0, part=1),
        "group .*: a job makes rows 0 to .* of slice 1, the next ones of 40 are from 0 on, of slice 0",
    ),
    "reads too few rows": (job(0, reads=(0, 1)), "group .*: a job reads rows 0 to 1 of 40, needs 0 to .*"),
    "reads rows that there are not": (job(0, reads=(0, 41)), "group .*: a job reads rows 0 to 41 of 40, needs 0 to .*"),
    "a segment is missing": (
        lambda plan: replace(plan, segments=plan.segments[:-1], segment_of=[]),
        "no segment has group .*",
    ),
    "a segment twice": (
        lambda plan: replace(plan, segments=[plan.segments[0], *plan.segments]),
        "a segment of groups 0 to .*, of 3 the next is .*",
    ),
    "an empty segment": (segment(0, last=0), "a segment of groups 0 to 0, of 3 the next is 0"),
    "another network": (
        lambda plan: replace(plan, groups=[replace(group) for group in plan.groups]),
        "a segment from group block0 on is of another network",
    ),
    "another segment's": (
        lambda plan: replace(plan, segment_of=[replace(plan.segments[0])] * len(plan.groups)),
        "a group is said to be of another segment",
    ),
    "planes that are rows": (in_planes_for_one, "group .*: .* lies in planes, in rows for a group before"),
    "other planes than in DRAM": (in_planes, "group .*: image lies in the GLB in parts of planes, in DRAM in rows"),
}


@pytest.mark.parametrize("what", PLANS)
def test_plans(what: str, striped: Built) -> None:
    plant, message = PLANS[what]
    with pytest.raises(InternalError, match=f"^({message})$"):
        verify_plan(plant(striped.plan))


def test_a_plan_that_reads_what_is_not_made(stages: Built) -> None:
    """The jobs of a group come before those of the one whose map it reads, beside its source or as its source."""

    def of(kind: Callable[[Group], bool]) -> int:
        return next(n for n, group in enumerate(stages.plan.groups) if kind(group))

    joined = of(lambda group: bool(group.others))
    for reader in (joined, len(stages.plan.groups) - 1):
        own = [each for each in stages.plan.jobs if each.group == reader]
        others = [each for each in stages.plan.jobs if each.group != reader]
        with pytest.raises(InternalError, match=r"^group .*: a job from row 0 on reads what .* has not made before$"):
            verify_plan(replace(stages.plan, jobs=own + others))


def test_slices_are_made_once() -> None:
    plan = compile_until("places", Request(MODEL, search_iterations=1, images=4)).plan
    assert any(not each.nest.rows and each.nest.tilings[0].filters > 1 for each in plan.segments)
    verify_plan(plan)
    n = next(place for place, each in enumerate(plan.jobs) if each.part == 1)
    for wrong in (plan.jobs[:n] + plan.jobs[n + 1 :], [*plan.jobs[:n], plan.jobs[n - 1], *plan.jobs[n:]]):
        with pytest.raises(InternalError, match="^group .*slice|^group .* has not made before$"):
            verify_plan(replace(plan, jobs=wrong))


# ---- Places ----


def buffers(change: Callable[[list], list]) -> Callable[[Plan, Placed], tuple[Plan, Placed]]:
    return lambda plan, placed: (plan, replace(placed, buffers=change([replace(buffer) for buffer in placed.buffers])))


def moved(address: int | None) -> Callable[[Plan, Placed], tuple[Plan, Placed]]:
    return buffers(lambda all_: [replace(all_[0], address=address), *all_[1:]])


def alive(all_: list) -> list:
    """The first buffer and the second take the same words all the time."""
    always = [replace(buffer, address=0, parts=[LiveRange(0, buffer.words, 0, 99)]) for buffer in all_[:2]]
    return [*always, *all_[2:]]


def elsewhere(plan: Plan, placed: Placed) -> tuple[Plan, Placed]:
    """A map of the plan that does not lie where its buffer was placed."""
    made = [replace(plan.made[0], buffer=replace(plan.made[0].buffer, address=2000)), *plan.made[1:]]
    return replace(plan, made=made), placed


PLACES: dict[str, tuple[Callable[[Plan, Placed], tuple[Plan, Placed]], str]] = {
    "no place": (moved(None), ".*: lies at word None, [0-9]+ words of 8192"),
    "an odd word": (moved(7), ".*: lies at word 7, .*"),
    "before the GLB": (moved(-2), ".*: lies at word -2, .*"),
    "beyond the GLB": (moved(8190), ".*: lies at word 8190, .*"),
    "the same words": (buffers(alive), ".* and .* take the same words at a time"),
    "a map elsewhere": (elsewhere, "conv0 output: the map lies at word 2000, was placed at [0-9]+"),
    "a map without a place": (
        buffers(lambda all_: [each for each in all_ if each.name != "conv0 output"]),
        "conv0 output: the map lies at word [0-9]+, was placed at None",
    ),
}


@pytest.mark.parametrize("what", PLACES)
def test_places(what: str, stages: Built) -> None:
    plant, message = PLACES[what]
    with pytest.raises(InternalError, match=f"^{message}$"):
        verify_places(*plant(stages.plan, stages.placed), stages.config)


def test_any_two_buffers_that_meet_are_found(stages: Built, seed: int) -> None:
    """Each is moved to where another one is at the time."""
    rng, found = np.random.default_rng(seed), 0
    for _ in range(100):
        all_ = [replace(buffer) for buffer in stages.placed.buffers]
        one, other = (all_[n] for n in rng.choice(len(all_), 2, replace=False))
        together = any(
            a.birth <= b.death
            and b.birth <= a.death
            and one.address + a.offset < other.address + b.offset + b.words
            and other.address + b.offset < one.address + a.offset + a.words
            for one.address in [other.address]
            for a in one.parts
            for b in other.parts
        )
        inside = one.address + one.words <= DEFAULT.glb_words
        if together and inside:
            found += 1
            with pytest.raises(InternalError, match="take the same words at a time$"):
                verify_places(stages.plan, replace(stages.placed, buffers=all_), stages.config)
    assert found > 5


# ---- Descriptors ----


def test_a_descriptor_that_the_accelerator_does_not_run(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of the compiler's own is rejected before it is in a list."""
    (tmp_path / "net.tflite").write_bytes(network(np.random.default_rng(seed), side=4))
    legal = separable.legal

    def spoilt(config, descriptor):
        fields = encoding.DRAIN.unpack(descriptor.words[encoding.DRAIN_INDEX])
        descriptor.set(encoding.DRAIN_INDEX, encoding.DRAIN, **fields | {"columns": 0})
        return legal(config, descriptor)

    monkeypatch.setattr(separable, "legal", spoilt)
    with pytest.raises(
        ValueError, match="the columns in use exceed the array: the accelerator does not run such a pass$"
    ):
        compile_network(tmp_path / "net.tflite", search_iterations=8)
