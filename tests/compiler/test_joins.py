# SPDX-License-Identifier: Apache-2.0
"""Concatenations and slices of whole rows and whole words: parts lie where the larger map has them, and few passes copy
anything."""

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest

from eyrie.compiler.command_line import what_is_wrong
from eyrie.compiler.cost.predict import predict
from eyrie.compiler.frontend import tflite
from eyrie.compiler.ir.elementwise import Elementwise
from eyrie.compiler.ir.failure import DoesNotFit, InternalError, Unsupported
from eyrie.compiler.ir.feature_map import NARROW_GROUPS
from eyrie.compiler.ir.layer import Group
from eyrie.compiler.ir.maps import Map, Part
from eyrie.compiler.ir.nest_text import read_schedule
from eyrie.compiler.ir.program import Transfer
from eyrie.compiler.ir.verify import verify_groups
from eyrie.compiler.ir_text import compiled as compiled_text
from eyrie.compiler.ir_text import text_of
from eyrie.compiler.network import compile_network
from eyrie.compiler.pipeline import dumped
from eyrie.compiler.results import Built
from eyrie.model.config import DEFAULT, WIDE, AcceleratorConfig
from eyrie.model.errors import InputError
from eyrie.model.messages import about
from eyrie.testing.samples import scaled
from tests.compiler.test_moves import Drawn
from tests.compiler.test_schedules import changed, golden, is_accepted
from tests.compiler.test_text import outputs, same
from tests.compiler.test_turned_maps import checked, compiled

NETWORKS = scaled(40, least=9)
CHANNELS, COLUMNS, ROWS = 3, 2, 1  # axes
WIDTHS = (8, 16, 24, 40)
JOINED = ("plain", "nested", "shared", "twice", "input", "ragged", "output", "growing", "added")
# By kind. Columns of a larger map are for that alone.
COPIES = {"twice": 1, "input": 1, "output": 1, "swapped": 2}
COPIES |= {
    "twice columns": 2,
    "shared columns": 1,
    "nested columns": 1,
    "growing columns": 8,
    "input columns": 8,
    "output columns": 1,
}
DIVIDED = ("input", "made", "joined", "nested", "swapped")
CONFIGS = (DEFAULT, AcceleratorConfig(rows=3), AcceleratorConfig(rows=12), WIDE, replace(DEFAULT, glb_bank_words=256))


def joined_network(rng: np.random.Generator, number: int) -> tuple[bytes, str]:
    """Concatenations of convolutions, in concatenations too; some parts are also read by others. With its kind."""
    net = Drawn(int(rng.integers(1 << 30)), (1, *map(int, rng.integers(4, 24, 2)), int(rng.choice(WIDTHS))))
    kind = JOINED[number % len(JOINED)]
    axis = CHANNELS if kind == "added" else int(rng.choice([CHANNELS, CHANNELS, ROWS, COLUMNS]))
    width, channels = net.shapes[net.input][COLUMNS:]
    filters = channels if kind == "input" else int(rng.choice(WIDTHS))

    def branch(count: int = 0) -> int:
        if axis == COLUMNS:  # an even number of columns, or one
            even = 2 * int(rng.integers(1, width // 2 + 1))
            return net.conv(net.input, filters, cols=width + 1 - (1 if count % 8 else even))
        return net.conv(net.input, filters if axis == ROWS else count or int(rng.choice(WIDTHS)))

    widths = [int(rng.choice(WIDTHS)) for _ in range(rng.integers(2, 5))]
    early = net.conv(net.input, sum(widths)) if kind == "added" else -1
    first, *others = map(branch, widths)
    if kind == "nested":
        others = [net.concatenation(axis, *others, branch())]
    elif kind == "twice":
        others.append(first)
    elif kind == "input":
        others.insert(int(rng.integers(len(others) + 1)), net.input)
    elif kind == "ragged":
        others.append(branch(11))
    elif kind == "growing":
        others.append(net.conv(net.concatenation(axis, first, *others), net.shapes[first][CHANNELS]))
    joined = net.concatenation(axis, first, *others)
    if kind == "added":
        joined = net.add(*rng.permutation([early, joined]).tolist())
    outputs = [net.conv(joined, 8, *map(int, rng.integers(1, 4, 2)))]
    outputs += [net.conv(others[-1], 8, rows=2, cols=3 - 2 * (axis == COLUMNS))] if kind in ("shared", "nested") else []
    outputs += [joined, others[0]] if kind == "output" else []
    return net.model(*outputs), f"{kind} columns" if axis == COLUMNS else kind


def divided_network(rng: np.random.Generator, number: int) -> tuple[bytes, str]:
    """Convolutions of parts of an input, of a convolution or of a concatenation, and of parts of parts."""
    shape = (1, *map(int, rng.integers(4, 24, 2)), int(rng.choice([16, 24, 40, 20])))
    net = Drawn(int(rng.integers(1 << 30)), shape)
    kind = DIVIDED[number % len(DIVIDED)]
    x = net.input if kind == "input" else net.conv(net.input, int(rng.choice([16, 24, 40])))
    if kind == "joined":
        x = net.concatenation(int(rng.choice([CHANNELS, ROWS])), x, net.conv(net.input, net.shapes[x][CHANNELS]))
    outputs = [net.conv(part_of(net, x, rng), 8, cols=int(rng.integers(1, 4))) for _ in range(rng.integers(1, 4))]
    if kind == "nested":
        outputs.append(net.conv(part_of(net, part_of(net, x, rng), rng), 8))
    if kind == "swapped":
        half = net.shapes[x][CHANNELS] // 16 * 8
        first, second = (part_of(net, x, rng, (CHANNELS, at, half)) for at in (0, half))
        outputs.append(net.conv(net.concatenation(CHANNELS, second, first, net.conv(x, 8)), 8))
    if rng.random() < 0.3:
        outputs.append(net.conv(x, 8, cols=2))
    if kind != "input" and rng.random() < 0.3:
        outputs.append(x)
    return net.model(*outputs), kind


def part_of(net: Drawn, x: int, rng: np.random.Generator, place: tuple[int, int, int] | None = None) -> int:
    """Return rows, or words of channels, of a tensor. place: axis, first and number"""
    axis = int(rng.choice([CHANNELS, ROWS]))
    size, step = net.shapes[x][axis], 8 if axis == CHANNELS else 1
    places = -(-size // step)
    first = int(rng.integers(places))
    end = min(int(rng.integers(first + 1, places + 1)) * step, size)
    axis, first, count = place or (axis, first * step, end - first * step)
    begin, shape = [0, 0, 0, 0], list(net.shapes[x])
    begin[axis], shape[axis] = first, count
    return net.slice(x, tuple(begin), tuple(shape))


def copies(built: Built) -> int:
    return sum(isinstance(group, Elementwise) for group in built.groups)


@pytest.mark.parametrize("draw", [joined_network, divided_network])
def test_random_networks(draw, seed: int) -> None:
    """Their outputs are the reference's. Nothing is copied but what has two places, or is no output of a layer."""
    seen = Counter[str]()
    for n in range(NETWORKS):
        model, kind = draw(np.random.default_rng([seed, n]), n)
        config, where = CONFIGS[n % len(CONFIGS)], f"network {n} of seed {seed}"
        try:
            built = checked(model, config, seed, where)
        except (DoesNotFit, Unsupported):
            seen["rejected"] += 1
            continue
        if config.bus_words == 1 or "columns" not in kind:  # DRAM has whole beats of some columns
            assert copies(built) <= COPIES.get(kind, 0), where
        seen[kind] += 1
    assert seen["rejected"] <= NETWORKS // 2, seen


def squeezing(side: int, channels: int) -> bytes:
    """A SqueezeNet module: few channels, and two convolutions of them, joined."""
    net = Drawn(1, (1, side, side, channels))
    squeezed = net.conv(net.input, channels // 4)
    padded = net.pad(squeezed, (0, 0), (1, 1), (1, 1), (0, 0))
    joined = net.concatenation(CHANNELS, net.conv(squeezed, channels), net.conv(padded, channels, 3, 3))
    return net.model(net.conv(joined, channels // 4))


@pytest.mark.parametrize(("side", "channels"), [(8, 32), (28, 64)])
def test_joins_take_no_time(side: int, channels: int) -> None:
    """Small results stay in the GLB, large ones go through DRAM: the layers alone cost cycles."""
    built = compiled(tflite.from_bytes(squeezing(side, channels)), DEFAULT, turn=False)
    macs = sum(group.macs for group in built.groups)
    assert macs == side * side * channels**2 * (1 + 1 + 9 + 2) // 4
    assert predict(built.image).cycles < 1.3 * macs / DEFAULT.total_multipliers + 1000
    spilt = [name for name in built.schedule.dram.areas if name.startswith("spill")]
    assert bool(spilt) == (side * side * 2 * channels > DEFAULT.glb_bytes)


def test_parts_that_go_to_dram_leave_room_for_all_readers(tmp_path: Path) -> None:
    """Two layers read the map, one of them without its first part."""
    model = tmp_path / "net.tflite"
    model.write_bytes(joined_network(np.random.default_rng(4), JOINED.index("nested"))[0])
    assert "spill.t17" in compile_network(model, search_iterations=4).schedule.dram.areas


def test_given_schedules(seed: int, tmp_path: Path) -> None:
    """A changed schedule, in which one part may go to DRAM and another not, changes no output, or is rejected."""
    model, path, counts = tmp_path / "net.tflite", tmp_path / "schedule.txt", Counter[str]()
    for n in range(scaled(6)):
        random = Random(f"{seed}.{n}")
        draw = (joined_network, divided_network)[n % 2]
        model.write_bytes(draw(np.random.default_rng([seed, 1, n]), n)[0])
        stages = compile_network(model, search_iterations=4)
        printed, expected = dumped(stages, "segments"), golden(stages.graph, seed)
        changes = 0
        while changes < scaled(12, least=6) or (changes < 60 and len(counts) < 2):
            path.write_text(changed(printed, random))
            counts["accepted" if is_accepted(model, DEFAULT, path, expected, seed) else "rejected"] += 1
            changes += 1
    assert counts["accepted"] and counts["rejected"], counts


def test_maps_with_parts_have_no_planes(tmp_path: Path) -> None:
    model, path = tmp_path / "net.tflite", tmp_path / "schedule.txt"
    model.write_bytes(squeezing(14, 32))
    stages = compile_network(model, search_iterations=4)
    part = stages.groups[1].output.name
    path.write_text(f"planar: {part}\n{dumped(stages, 'segments')}")
    with pytest.raises(InputError, match=f"planar: {part} has parts, or is one: leave it out"):
        compile_network(model, search_iterations=4, schedule=read_schedule(path))


@pytest.mark.parametrize("level", ["groups", "segments"])
def test_texts(level: str, seed: int, tmp_path: Path) -> None:
    """A text gives the same program. A damaged one is rejected in one line, or computes the same if it says so."""
    model, path, counts = tmp_path / "net.tflite", tmp_path / "net.txt", Counter[str]()
    model.write_bytes(joined_network(np.random.default_rng(seed), JOINED.index("nested"))[0])
    stages = compile_network(model, search_iterations=4)
    text, random = text_of(stages, level), Random(seed)
    path.write_text(text)
    assert compiled_text(path).text == stages.text
    parts = list(re.finditer(r"(?<=, row=)\d+|(?<=, group=)\d+", text))
    for _ in range(12):
        match = random.choice(parts)
        path.write_text(text[: match.start()] + str(random.choice([0, 1, 2, 5, -1, 10**9])) + text[match.end() :])
        try:
            with about(path):
                found = compiled_text(path)
        except ValueError as error:
            said = what_is_wrong(error)
            assert said and "\n" not in said and said.startswith(str(path)), said
            counts["rejected"] += 1
            continue
        made, golden = outputs(found, stages.graph, seed)
        assert same(made, golden), path.read_text()
    assert counts["rejected"], counts


@pytest.mark.parametrize("widths", [(2, 3), (1, 1, 3), (4, 1, 2), (6, 5), (5, 1, 2, 3)])
def test_columns_in_any_order(widths: tuple[int, ...], seed: int) -> None:
    """No part writes over another: a pair of words at its end has one of its columns only."""
    for order in (1, -1):
        net = Drawn(seed, (1, 5, 9, 16))
        parts = [net.conv(net.input, 16, cols=10 - width) for width in widths[::order]][::order]
        checked(net.model(net.conv(net.concatenation(COLUMNS, *parts), 8, 2, 2)), DEFAULT, seed)


def test_parts_of_another_pitch(seed: int) -> None:
    """A vector of so many channels has no second word in a row; one of half as many does."""
    net = Drawn(seed, (1, 1, 1, channels := 8 * NARROW_GROUPS))
    checked(
        net.model(net.conv(net.slice(net.input, (0, 0, 0, channels // 2), (1, 1, 1, channels // 2)), 8)), DEFAULT, seed
    )


@pytest.mark.parametrize(
    ("axis", "width", "kernel"), [(CHANNELS, 10, 1), (ROWS, 9, 1), (COLUMNS, 10, 3), (COLUMNS, 9, 9)]
)
def test_inputs_are_loaded_into_their_parts(axis: int, width: int, kernel: int, seed: int) -> None:
    """No pass copies them. Loads of columns do not wait for the pass that makes the other columns."""
    net = Drawn(seed, (1, 6, width, 16))
    joined = net.concatenation(axis, net.input, net.conv(net.input, 16, cols=kernel))
    built = checked(net.model(net.conv(joined, 8, 2, 2)), DEFAULT, seed)
    assert copies(built) == 1 and all(step.kind != "move" for step in built.image.steps)
    loads = [command for command in built.schedule.commands if isinstance(command, Transfer) and command.load]
    assert axis != COLUMNS or all(load.wait_passes == 0 for load in loads)


@pytest.mark.parametrize("config", [DEFAULT, WIDE])
def test_slices_of_columns(config: AcceleratorConfig, seed: int) -> None:
    """They begin and end within a DRAM beat of two words."""
    net = Drawn(seed, (1, 5, 4, 16))
    checked(net.model(net.conv(net.slice(net.input, (0, 0, 1, 0), (1, 5, 3, 16)), 8)), config, seed)


def joined_groups() -> tuple[list[Group], Map, list[Map]]:
    built = compiled(tflite.from_bytes(squeezing(8, 32)), DEFAULT, turn=False)
    return list(built.groups), built.inputs[0], list(built.ends.values())


def moved(group: Group, row: int, word_group: int) -> Group:
    part = group.output.part
    assert part
    return replace(group, output=replace(group.output, part=Part(part.whole, row, word_group)))


@pytest.mark.parametrize(("row", "word_group"), [(0, 0), (0, 5), (1, 4)])
def test_parts_are_verified(row: int, word_group: int) -> None:
    """Parts must lie inside, and beside each other."""
    groups, source, ends = joined_groups()
    verify_groups(groups, [source], ends)
    groups[2] = moved(groups[2], row, word_group)
    with pytest.raises(InternalError, match="is no part of|a part of it is missing"):
        verify_groups(groups, [source], ends)


def test_a_result_needs_all_parts() -> None:
    groups, source, ends = joined_groups()
    with pytest.raises(InternalError, match="which no group before it makes"):
        verify_groups([groups[0], groups[1], groups[3]], [source], ends)
