# SPDX-License-Identifier: Apache-2.0
"""Fused operators in strips of columns: outputs stay the same, strips are chosen where they cost less, and only legal
ones can be scheduled by hand."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from eyrie.compiler import ir_text
from eyrie.compiler.ir.divisions import strips
from eyrie.compiler.ir.failure import DoesNotFit
from eyrie.compiler.ir.layer import Group, Separable
from eyrie.compiler.ir.nest_text import read_schedule
from eyrie.compiler.ir.window import Window
from eyrie.compiler.network import compile_network, compile_until
from eyrie.compiler.pipeline import dumped
from eyrie.compiler.plan.flow import Flow
from eyrie.compiler.plan.pieces import cost_in_pieces, in_pieces, pieces_of
from eyrie.compiler.plan.strips import in_strips, ways
from eyrie.compiler.results import Built, Request
from eyrie.compiler.target.suit import divisions
from eyrie.model.config import DEFAULT, WIDE
from eyrie.model.errors import InputError
from eyrie.testing.samples import scaled
from tests.commands.small_nets import INPUT, Quant, TfliteBuilder, bias, scales, weights
from tests.compiler.test_pieces import block
from tests.compiler.test_planar_maps import check
from tests.compiler.test_schedules import golden, run
from tests.compiler.test_segments import estimates

COUNT = scaled(60, least=6)
MORE = 100  # networks that may be drawn until all of PLANNED or DRAWN has come
FEW = 4  # search iterations
SMALL = replace(DEFAULT, glb_bank_words=256)
PLANNED = {"convolution and block", "stride", "residual", "odd columns", "even columns"}
DRAWN = PLANNED | {"block", "halves"}


def network(rng: np.random.Generator) -> bytes:
    """Blocks on a wide map, some behind a convolution and some with its source added."""
    net = TfliteBuilder("strips")

    def layer(method, name: str, x, *shape: int, count: int, **options):
        out = Quant(0.05, int(rng.choice([-128, rng.integers(-128, 128)])))
        return method(name, x, weights(rng, *shape), scales(rng, count), bias(rng, count), out, **options)

    x = net.input("image", (1, int(rng.integers(5, 12)), int(rng.integers(17, 60)), int(rng.choice([3, 8, 20]))), INPUT)
    for n in range(int(rng.integers(1, 4))):
        before, size, channels = x, int(rng.choice([3, 3, 5])), x.shape[3]
        if rng.random() < 0.6:
            channels, side = int(rng.choice([24, 48, 96])), int(rng.choice([1, 1, 3]))
            x = layer(net.conv, f"wide{n}", x, channels, side, side, x.shape[3], count=channels, padding="SAME")
        options = {"stride": int(rng.choice([1, 1, 2])), "padding": "SAME" if n else str(rng.choice(["SAME", "VALID"]))}
        x = layer(net.depthwise, f"depthwise{n}", x, 1, size, size, channels, count=channels, **options)
        count = int(rng.choice([8, 64, before.shape[3]]))
        x = layer(net.conv, f"narrow{n}", x, count, 1, 1, channels, count=count)
        if x.shape == before.shape:
            x = net.add(f"sum{n}", x, before, Quant(0.1, 3))
    return net.build([x])


def seen(groups: list[Group]) -> set[str]:
    """Return the kinds of strips that there are."""
    found = set[str]()
    for group in groups:
        if group.whole and isinstance(group.whole, Separable):
            found |= (
                {"block" if group.source.part else "convolution and block"} if group.kind == "separable" else {"halves"}
            )
            found |= {f"{'odd' if group.output.shape[1] % 2 else 'even'} columns"}
            found |= {"stride"} if group.window.stride[1] > 1 else set()
            found |= {"residual"} if group.others else set()
    return found


def in_drawn_strips(flow: Flow, rng: np.random.Generator) -> list[list[Group]]:
    """Return the segments of a schedule from DRAM to DRAM, each run that has strips in drawn ones."""
    found, n = list[list[Group]](), 0
    while n < len(flow.groups):
        count, parts = 1, [flow.groups[n]]
        if choices := list(ways(flow, n, DEFAULT)):
            count, parts = choices[rng.integers(len(choices))]
        together = count if rng.random() < 0.5 else 1
        if together == 1:
            ways_of = [list(divisions(part)) for part in parts]
            parts = [piece for of in ways_of for piece in of[rng.integers(len(of))]]
        found += [list(parts[at : at + together]) for at in range(0, len(parts), together)]
        n += count
    return found


def text_of(segments: list[list[Group]], rows: int) -> str:
    lines = list[str]()
    for groups in segments:
        loop = f"  for rows by {min(rows, groups[-1].map_shape[0])}" + ", lead 1" * (len(groups) > 1)
        passes = [f"    pass {group.name}" for group in groups]
        lines += ["segment", loop, "    prefetch input", *passes, "    spill output"]
    return "\n".join(lines)


def test_drawn_strips(seed: int, tmp_path: Path) -> None:
    """A schedule by hand with strips of any runs computes the golden outputs, and compiles again from its dump."""
    model, path, found, number = tmp_path / "net.tflite", tmp_path / "schedule.txt", Counter[str](), -1
    while (number := number + 1) < COUNT or not found.keys() >= DRAWN:
        assert number < COUNT + MORE, f"never seen: {DRAWN - found.keys()}"
        rng = np.random.default_rng([seed, number])
        model.write_bytes(network(rng))
        groups = compile_until("groups", Request(model, search_iterations=FEW)).groups
        path.write_text(text_of(in_drawn_strips(Flow(tuple(groups)), rng), int(rng.integers(1, 4))))
        try:
            stages = compile_network(model, search_iterations=FEW, schedule=read_schedule(path))
        except InputError as error:
            assert isinstance(error.__cause__, DoesNotFit), error
            continue
        found.update(seen(stages.plan.groups))
        verify_layers(stages)
        for mine, right in zip(run(stages, seed), golden(stages.graph, seed), strict=True):
            np.testing.assert_array_equal(mine, right, err_msg=path.read_text())
        path.write_text(printed := dumped(stages, "segments"))
        again = compile_network(model, search_iterations=FEW, schedule=read_schedule(path))
        assert dumped(again, "segments") == printed
        assert np.array_equal(again.image.dram, stages.image.dram)


def verify_layers(stages: Built) -> None:
    """Strips are one layer in tables, and their constants lie in DRAM once."""
    layers = {group.origin.layer for group in stages.plan.groups}
    assert {step.name for step in stages.image.steps} == layers
    owners = {name.partition(".")[0] for name in stages.image.areas} - {"input", "output", "spill", "program", "wait"}
    assert owners <= layers


def test_planned_strips(seed: int, tmp_path: Path) -> None:
    """In a small GLB strips are chosen, also for several images, from a GLB with anything in it; their text is the plan
    again."""
    path, text, found, number = tmp_path / "net.tflite", tmp_path / "segments.txt", Counter[str](), -1
    while (number := number + 1) < COUNT or not found.keys() >= PLANNED:
        assert number < COUNT + MORE, f"never seen: {PLANNED - found.keys()}"
        rng = np.random.default_rng([seed, 1, number])
        path.write_bytes(network(rng))
        stages = compiled(path, images := int(rng.choice([1, 1, 2])))
        if stages and (what := seen(stages.plan.groups)):
            found.update(what)
            if images == 1:
                text.write_text(ir_text.text_of(stages, "segments"))
                assert ir_text.compiled(text).text == stages.text
            check(stages, rng, f"network {number} of seed {seed}")


def compiled(path: Path, images: int) -> Built | None:
    try:
        return compile_network(path, SMALL, search_iterations=FEW, images=images)
    except DoesNotFit:
        return None


@pytest.mark.parametrize("side", [16, 120])
def test_strips_cost_less(side: int) -> None:
    """A block with room for several rows has no strips; a wide one costs less in strips."""
    flow, known = Flow((block(side, 96, 96),)), estimates(DEFAULT)
    found = in_strips(flow, known)
    if side == 16:
        assert found == list(flow.groups)
    else:
        apart = cost_in_pieces(in_pieces(list(flow.groups), known), known)
        assert len(found) > 1 and cost_in_pieces(found, known) < apart


def test_a_strip_and_a_block_of_its_geometry() -> None:
    """A strip stays in one piece, a block like it may be in halves."""
    strip = strips([block(37, 256, 256)], 3, beat=1)[1]
    alike = replace(strip, name="block1", whole=None)
    assert alike.geometry == strip.geometry
    for groups in ([strip, alike], [alike, strip]):
        pieces = pieces_of(groups, estimates(replace(DEFAULT, glb_bank_words=256)))
        assert [len(of) for group, of in zip(groups, pieces) if group is strip] == [1]
        assert [len(of) for group, of in zip(groups, pieces) if group is alike] == [2]


def test_strips_are_the_whole() -> None:
    """Columns of the output are made once; a strip reads the columns beside its own, and pads at the ends."""
    whole = block(37, 16, 24)
    parts = strips([whole], 3, beat=1)
    columns = [range(part.output.first_column, part.output.first_column + part.output.shape[1]) for part in parts]
    assert [n for of in columns for n in of] == list(range(37))
    assert [part.window.pads for part in parts] == [(1, 1, 1, 0), (1, 1, 0, 0), (1, 1, 0, 1)]
    assert [part.source.first_column for part in parts] == [0, columns[1][0] - 1, columns[2][0] - 1]


def test_what_has_no_strips() -> None:
    """A narrow map, a beat of two words that a strip would share with another, and a strip of pads alone."""
    assert strips([block(8, 16, 24)], 2, beat=1) == []
    assert strips([block(37, 16, 24)], 2, beat=WIDE.bus_words) == []
    narrow, wide = block(37, 16, 24), Window((3, 3), pads=(1, 1, 1, 20))
    padded = replace(narrow, window=wide, output=replace(narrow.output, shape=(37, 56, 24)))
    assert strips([padded], 2, beat=1) and strips([padded], 4, beat=1) == []


def test_strips_go_through_dram(seed: int, tmp_path: Path) -> None:
    """Schedules are rejected if a strip's output stays in the GLB, or if a strip is missing."""
    model, path = tmp_path / "net.tflite", tmp_path / "schedule.txt"
    rng = np.random.default_rng(seed)
    net = TfliteBuilder("strips")
    x = net.input("image", (1, 6, 20, 16), INPUT)
    for n in range(2):
        x = net.depthwise(
            f"depthwise{n}",
            x,
            weights(rng, 1, 3, 3, 16),
            scales(rng, 16),
            bias(rng, 16),
            Quant(0.05, 3),
            padding="SAME",
        )
        x = net.conv(f"narrow{n}", x, weights(rng, 16, 1, 1, 16), scales(rng, 16), bias(rng, 16), Quant(0.05, 3))
    model.write_bytes(net.build([x]))
    flow = Flow(tuple(compile_until("groups", Request(model, search_iterations=FEW)).groups))
    [(_, parts), *_] = ways(flow, 0, DEFAULT)
    text = text_of([[part] for part in (*parts, flow.groups[1])], 2)
    path.write_text(text.replace("    spill output\n", "", 1))
    with pytest.raises(InputError, match="its output goes to DRAM: spill it"):
        compile_network(model, schedule=read_schedule(path))
    path.write_text(text_of([[part] for part in (*parts[1:], flow.groups[1])], 2))
    with pytest.raises(
        InputError, match=f"'pass {parts[1].name}' stands where {flow.groups[0].name} or .* is the next"
    ):
        compile_network(model, schedule=read_schedule(path))
