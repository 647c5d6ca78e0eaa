# SPDX-License-Identifier: Apache-2.0
"""Schedules as text: a printed schedule compiles to the same program; a changed one changes no output, or is rejected
with the reason; each reason is the true one."""

import random
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from eyrie.compiler.ir.failure import DoesNotFit, Unsupported
from eyrie.compiler.ir.graph import Graph
from eyrie.compiler.ir.nest import ONE, Nest, Tiling
from eyrie.compiler.ir.nest_text import read_schedule
from eyrie.compiler.ir.plan import Plan
from eyrie.compiler.network import compile_network, compile_until
from eyrie.compiler.parts import compile_request
from eyrie.compiler.passes.partition import Side
from eyrie.compiler.pipeline import dumped
from eyrie.compiler.plan import search
from eyrie.compiler.plan.given import check_segments
from eyrie.compiler.plan.settle import as_planned
from eyrie.compiler.results import Built, Request
from eyrie.model.config import DEFAULT, AcceleratorConfig
from eyrie.model.errors import InputError
from eyrie.runtime.back_ends.functional import Functional
from eyrie.runtime.back_ends.golden import golden_outputs
from eyrie.runtime.bundled import MODEL
from eyrie.runtime.networks import named_on_model
from eyrie.testing.samples import scaled
from eyrie.testing.tflite_builder import STEPS, Builder
from tests.commands.commands import assert_rejected, eyrie
from tests.compiler.test_text import drawn

NETWORKS = scaled(4)
CHANGES = scaled(40, least=12)  # of the schedule of each network
FEW = 4  # search iterations
SMALL = AcceleratorConfig(glb_bank_words=256)


def run(stages: Built, seed: int) -> list[np.ndarray]:
    """Return the outputs of the functional simulator for random inputs."""
    rng, places = np.random.default_rng([seed, 2]), stages.image.inputs
    given = {name: rng.integers(-128, 128, (1, *place.shape)).astype(np.int8) for name, place in places.items()}
    return [values.ravel() for values in named_on_model(stages.image, given).values()]


def golden(graph: Graph, seed: int) -> list[np.ndarray]:
    rng = np.random.default_rng([seed, 2])
    found = graph.run(*(rng.integers(-128, 128, tensor.shape).astype(np.int8) for tensor in graph.inputs))
    return [found[tensor.name].ravel() for tensor in graph.outputs]


def changed(text: str, rng: random.Random) -> str:
    """Return a schedule with one or two random changes of its loops, transfers and segments."""
    lines = [line.partition("#")[0].rstrip() for line in text.splitlines()]
    for _ in range(rng.randint(1, 2)):
        at = rng.randrange(len(lines))
        kind, indent = rng.randrange(6), " " * (len(lines[at]) - len(lines[at].lstrip()))
        if kind == 0:
            lines[at] = re.sub(r"\d+$", lambda found: str(rng.choice([1, 2, 3, 4, int(found[0]) * 2])), lines[at])
        elif kind == 1 and "pass" in lines[at]:
            loop = rng.choice(["for filters in 2", "for channels in 2", "for rows by 2", "for rows by 3"])
            lines[at : at + 1] = [indent + loop, "  " + lines[at]]
        elif kind == 2 and "pass" in lines[at]:
            lines.insert(at, indent + rng.choice(["fetch filters", "fetch input", "prefetch input"]))
        elif kind == 3 and "pass" in lines[at]:
            lines.insert(at + 1, indent + "spill output")
        elif kind == 4 and lines[at] == "segment" and at:
            del lines[at]  # two segments become one
        elif kind == 5 and "segment" not in lines[at] and len(lines) > 2:
            del lines[at]
    return "\n".join(lines)


def is_accepted(model: Path, config: AcceleratorConfig, path: Path, expected: list[np.ndarray], seed: int) -> bool:
    """Compile a model with a schedule; compare the outputs. Return False if it is rejected, in one line."""
    try:
        found = compile_network(model, config, search_iterations=FEW, schedule=read_schedule(path))
    except InputError as error:
        assert str(error).startswith(f"{path}: ") and "\n" not in str(error), error
        return False
    for mine, right in zip(run(found, seed), expected, strict=True):
        np.testing.assert_array_equal(mine, right, err_msg=path.read_text())
    return True


@pytest.mark.parametrize("number", range(NETWORKS))
def test_printed_and_changed_schedules(number: int, seed: int, tmp_path: Path) -> None:
    model, path, rng = tmp_path / "net.tflite", tmp_path / "schedule.txt", random.Random(f"{seed}.{number}")
    model.write_bytes(drawn([seed, 5, number]))
    config = SMALL if number % 2 else DEFAULT
    stages = compile_network(model, config, search_iterations=FEW)
    printed, expected, counts = dumped(stages, "segments"), golden(stages.graph, seed), Counter()
    path.write_text(printed)
    found = compile_network(model, config, search_iterations=FEW, schedule=read_schedule(path))
    assert found.text == stages.text and np.array_equal(found.image.dram, stages.image.dram)
    assert dumped(found, "segments") == printed
    for _ in range(CHANGES):
        path.write_text(changed(printed, rng))
        counts["accepted" if is_accepted(model, config, path, expected, seed) else "rejected"] += 1
    assert counts["accepted"] and counts["rejected"], counts


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no segment: a schedule has at least one line 'segment'"),
        ("segment\n", "line 1: the segment has no pass"),
        ("segment\n pass a", "line 2: indent by 2 spaces for each loop, without tabs"),
        ("segments\nsegment", "line 1: 'segments' must be 'segment', without indentation"),
        ("segment\n  pass a\nspill output", "line 3: 'spill output' must be 'segment', or be indented"),
        ("segment\n  for rows by 0\n    pass a", "line 2: 'for rows by 0' must have a number from 1 to 65535"),
        ("segment\n  for filters in 1\n    pass a", "line 2: 'for filters in 1' must have at least 2 tiles, or"),
        ("segment\n  for rows by 2\n  pass a", "line 3: 'pass a' stands where '    pass NAME' is expected, or"),
        ("segment\n  for all\n    pass a", "line 2: 'for all' must be 'for rows by N', as the outermost loop, or"),
        ("segment\n  for rows by 2, lead 1\n    pass a", "line 1: a lead is between passes, and the segment has one"),
        ("segment\n  prefetch input\n  pass a", "line 2: 'prefetch input' must be 'fetch input' outside of"),
        ("segment\n  pass a\n  spill output\n  pass b", "line 4: 'pass b' comes after 'spill output', which"),
        ("segment\n  for rows by 2\n    fetch filters", "line 3: after 'fetch filters' a pass is missing"),
        ("segment\n  pass a\npart1:", "line 1: 'segment' must not stand before the first part"),
        ("part0:\npart1:\nsegment\n  pass a", "line 1: 'part0:' has no segment"),
        ("part0:\nsegment\n  pass a\npart0:", "line 4: 'part0:' is there twice"),
        ("part0:\nsegment\n  pass a\n part1:", "line 4: indent by 2 spaces"),
        (
            "part0:\nsegment\n  pass a\npart1:\nnot composed\nsegment\n  pass a",
            "line 4: 'part1:' must have 'not composed' like the first part, or leave it out like that",
        ),
    ],
)
def test_where_a_schedule_is_wrong(text: str, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "schedule.txt"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read_schedule(path)
    assert str(caught.value).startswith(f"{path}: {reason}")


NEST = Nest(from_dram=True)


@pytest.fixture(scope="module")
def bundled() -> Plan:
    return compile_until("segments", Request(MODEL, search_iterations=FEW)).plan


@pytest.mark.parametrize(
    ("first", "reason"),
    [
        (replace(NEST, from_dram=False), "its input comes from DRAM: fetch it"),
        (replace(NEST, rows=99), "row tiles of 99 rows, of "),
        (replace(NEST, tilings=(Tiling(channels=2),)), "conv0 has no channel tiles: it mixes channels, or its input"),
        (replace(NEST, tilings=(Tiling(filters=3),)), "32 filters of conv0 do not make 3 tiles of whole words"),
        (replace(NEST, tilings=(Tiling(filters=2),)), "filter tiles need refetched filters, a loop over rows, and"),
        (replace(NEST, refetch=True), "all filters are used once: leave out 'fetch filters'"),
        (replace(NEST, rows=2, in_place=True), "its input has another shape or stride, comes from DRAM, or is read"),
        (replace(NEST, in_place=True), "work in place is one pass in a loop over rows, without other loops"),
        (replace(NEST, rows=2, ahead=False), "only one pass with refetched filters, or several, can fetch the input"),
        (replace(NEST, tilings=(ONE, ONE)), "2 tilings for 1 pass"),
    ],
)
def test_why_a_nest_is_illegal(first: Nest, reason: str, bundled: Plan) -> None:
    """The first segment of the bundled network, a convolution, gets another nest."""
    segment, *others = bundled.segments
    with pytest.raises(Unsupported) as caught:
        check_segments(bundled.groups, [replace(segment, nest=first), *others])
    assert str(caught.value).startswith(f"the segment of group conv0: {reason}"), caught.value


def test_a_schedule_waits_for_stores_where_it_has_no_places_otherwise(
    bundled: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    find, overlaps = search.candidates, list[bool]()

    def candidates(plan: Plan, config: AcceleratorConfig, search_iterations: int) -> list[search.Placed]:
        overlaps.append(plan.stores_overlap)
        if plan.stores_overlap or rejects:
            raise search.Rejected(plan.segments[1])
        return find(plan, config, search_iterations)

    monkeypatch.setattr(search, "candidates", candidates)
    rejects = False
    plan, found = as_planned(bundled, DEFAULT, FEW)
    assert overlaps == [True, False] and not plan.stores_overlap and plan.segments == bundled.segments and found
    rejects = True
    with pytest.raises(DoesNotFit, match=f"^the segment of group {bundled.segments[1].groups[0].name}: the GLB of"):
        as_planned(bundled, DEFAULT, FEW)


def test_headers_that_are_illegal(tmp_path: Path) -> None:
    """Inputs and outputs of a network lie row by row; a schedule is of one image."""
    model, path = tmp_path / "net.tflite", tmp_path / "schedule.txt"
    model.write_bytes(drawn([3]))
    stages = compile_network(model, search_iterations=FEW)
    printed = "\n".join(line for line in dumped(stages, "segments").splitlines() if not line.startswith("planar:"))
    for name in (stages.graph.inputs[0].name, stages.graph.outputs[0].name):
        path.write_text(f"planar: {name}\n{printed}")
        with pytest.raises(InputError, match=f"planar: {re.escape(name)} is an input or an output of the network"):
            compile_network(model, search_iterations=FEW, schedule=read_schedule(path))
    path.write_text(printed)
    with pytest.raises(InputError, match="a schedule is of one image"):
        compile_network(model, search_iterations=FEW, images=2, schedule=read_schedule(path))


def in_parts(path: Path, rng: np.random.Generator) -> Path:
    """A uint8 network of two convolutions with a softmax of the host between them."""
    net = Builder()
    maps = [net.tensor((1, 8, 8, 8), scale=1 / 256, zero_point=0, dtype="uint8") for _ in range(4)]
    for source, output in (maps[:2], maps[2:]):
        if source == maps[2]:
            net.operator("SOFTMAX", maps[1:2], maps[2:3], beta=1.0)
        filters = rng.integers(0, 256, (8, 3, 3, 8)).astype(np.uint8)
        data = net.tensor(filters.shape, scale=0.01, zero_point=128, dtype="uint8", data=filters)
        net.operator("CONV_2D", [source, data], [output], **STEPS)
    path.write_bytes(net.pack(maps[:1], maps[3:]))
    return path


def test_network_in_parts(seed: int, tmp_path: Path) -> None:
    """The dump of all parts compiles to the same programs; one of a part changes that part."""
    rng, path = np.random.default_rng([seed, 9]), tmp_path / "schedule.txt"
    model = in_parts(tmp_path / "net.tflite", rng)
    options = ("--quiet", "--search-iterations", FEW)
    path.write_text(eyrie("compile", model, "--dump", "segments", *options).stdout)
    planned = compile_request(Request(model, search_iterations=FEW))
    given = compile_request(Request(model, search_iterations=FEW, given=read_schedule(path)))
    assert [each.part.side for each in given.parts] == [Side.ACCELERATOR, Side.HOST, Side.ACCELERATOR]
    for mine, other in zip(given.parts, planned.parts):
        assert (mine.stages and mine.stages.text) == (other.stages and other.stages.text)
    again = eyrie("compile", model, "--dump", "segments", "--schedule", path, *options)
    assert again.stdout == path.read_text()
    path.write_text("part2: of the accelerator\nsegment\n  fetch input\n  pass conv0\n  spill output\n")
    changed = compile_request(Request(model, search_iterations=FEW, given=read_schedule(path)))
    assert changed.parts[0].stages.text == planned.parts[0].stages.text
    assert dumped(changed.parts[2].stages, "segments").splitlines()[1:] == path.read_text().splitlines()[2:]
    given = rng.integers(0, 256, (1, 8, 8, 8)).astype(np.uint8)
    for mine, right in zip(Functional().run(changed.network, [given]).outputs, golden_outputs(changed.graph, [given])):
        np.testing.assert_array_equal(mine, right)
    for number in (1, 3):
        path.write_text(f"part{number}:\nsegment\n  pass conv0\n")
        with pytest.raises(InputError, match=f"^{path}: part{number} is no part of .*, which runs part0 part2$"):
            compile_request(Request(model, search_iterations=FEW, given=read_schedule(path)))
    path.write_text("part2:\nsegment\n  pass conv1\n")
    with pytest.raises(InputError, match=f"^{path}: part2: 'pass conv1' stands where conv0 is the next: "):
        compile_request(Request(model, search_iterations=FEW, given=read_schedule(path)))
    path.write_text("segment\n  pass conv0\n")
    with pytest.raises(InputError, match=r"SOFTMAX: the accelerator has no .*: --dump segments prints the "):
        compile_request(Request(model, search_iterations=FEW, given=read_schedule(path)))


def test_command(tmp_path: Path) -> None:
    model, path = tmp_path / "net.tflite", tmp_path / "schedule.txt"
    model.write_bytes(drawn([3]))
    path.write_text(eyrie("compile", model, "--dump", "segments", "--quiet", "--search-iterations", FEW).stdout)
    options = ("--quiet", "--search-iterations", FEW)
    assert eyrie("compile", model, "-o", tmp_path / "one", *options).returncode == 0
    assert eyrie("compile", model, "-o", tmp_path / "two", "--schedule", path, *options).returncode == 0
    assert (tmp_path / "one" / "image.bin").read_bytes() == (tmp_path / "two" / "image.bin").read_bytes()
    names = re.findall(r"pass (\S+)", path.read_text())
    path.write_text(path.read_text().replace(f"pass {names[-1]}", "pass other"))
    assert_rejected(
        eyrie("compile", model, "-o", tmp_path / "three", "--schedule", path, *options),
        f"eyrie compile: {path}: 'pass other' stands where {names[-1]} is the next: name the passes in their order",
    )
    assert not (tmp_path / "three").exists()
