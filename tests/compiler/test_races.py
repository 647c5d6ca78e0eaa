# SPDX-License-Identifier: Apache-2.0
"""Races: none in what the compiler makes; each wait that is left out and matters is found.

What matters is decided by runs of the list at random timing (`any_timing.py`).
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from eyrie.compiler.emit import accesses, races
from eyrie.compiler.emit.races import Kind, ScheduleError, find_races
from eyrie.compiler.emit.timeline import Timeline
from eyrie.compiler.ir.feature_map import FeatureMap
from eyrie.compiler.ir.layer import Output
from eyrie.compiler.ir.program import Block, Command, Config, End, Run, Transfer
from eyrie.compiler.ir.window import Window
from eyrie.compiler.network import compile_network, compile_until
from eyrie.compiler.results import Request
from eyrie.compiler.target.blocks import Blocks, Filters
from eyrie.compiler.target.descriptors.separable import SeparablePass, separable_descriptor
from eyrie.model.config import DEFAULT, AcceleratorConfig
from eyrie.model.encoding import Stream
from eyrie.testing.samples import scaled
from tb.net.random_branches import draw_network
from tb.net.random_layers import draw_layer
from tests.commands.small_nets import INPUT, VALID, Quant, TfliteBuilder, bias, scales, separable, weights
from tests.compiler.any_timing import Program, Timing, holding, random_choice
from tests.compiler.test_networks import CONFIGS, late_network, network

COUNT = scaled(24, least=10)
TIMINGS = 40  # of each program
FEW_COMMANDS, FEW_PIECES = 100, 1500  # of programs that are run at many timings
WAITS = ("wait_transfers", "wait_passes", "wait_chunks")


@dataclass(frozen=True)
class Compiled:
    about: str
    commands: list[Command]
    config: AcceleratorConfig


def draw_model(rng: np.random.Generator) -> bytes:
    draw = rng.integers(4)
    if draw == 3:
        return draw_network(rng, side=8)
    if draw < 2:
        return (network, late_network)[draw](rng)[0]
    return draw_layer(rng).model(rng)


def draw_programs(seed: int, path: Path) -> Iterator[Compiled]:
    """Without end. path: for the models."""
    number = -1
    while True:
        number += 1
        rng = np.random.default_rng([seed, 2, number])
        path.write_bytes(draw_model(rng))
        config = CONFIGS[rng.integers(len(CONFIGS))] if rng.random() < 0.5 else DEFAULT
        images = int(rng.choice([1, 1, 1, 2, 4, 5, 8]))
        try:
            stages = compile_until("schedule", Request(path, config, search_iterations=8, images=images))
        except ValueError:  # of which other tests see to it that they are right
            continue
        yield Compiled(f"program {number} of seed {seed}, {images} images", stages.schedule.commands, config)


@pytest.fixture(scope="module")
def programs(seed: int, tmp_path_factory: pytest.TempPathFactory) -> list[Compiled]:
    drawn = draw_programs(seed, tmp_path_factory.mktemp("races") / "net.tflite")
    return [next(drawn) for _ in range(COUNT)]


@pytest.fixture(scope="module")
def small(programs: list[Compiled]) -> list[tuple[Compiled, Program]]:
    """Those that are gone through quickly, taken apart."""
    found = []
    for compiled in programs:
        if sum(not isinstance(command, Config) for command in compiled.commands) <= FEW_COMMANDS:
            program = Program(compiled.commands, compiled.config)
            if sum(len(pieces) for work in program.passes for pieces in work.pieces.values()) <= FEW_PIECES:
                program.serial()
                found.append((compiled, program))
    return found


def transfers(programs: list[Compiled]) -> Iterator[Transfer]:
    return (c for compiled in programs for c in compiled.commands if isinstance(c, Transfer))


def test_no_races(programs: list[Compiled]) -> None:
    for compiled in programs:
        assert not find_races(compiled.commands, compiled.config), compiled.about
    assert len({compiled.config for compiled in programs}) > 2
    assert any(t.wait_passes for t in transfers(programs))
    assert any(t.wait_chunks for t in transfers(programs)) or COUNT < 24
    assert sum(not t.load for t in transfers(programs)) > len(programs)


def test_no_timing_shows_a_race(small: list[tuple[Compiled, Program]], seed: int) -> None:
    rng, runs = np.random.default_rng([seed, 3]), 0
    for compiled, program in small:
        for _ in range(TIMINGS):
            run = Timing(program, random_choice(rng))
            assert not run.shows_race(), (compiled.about, run.different, run.candidates())
            runs += 1
    assert runs >= TIMINGS * COUNT // 4


def weakened(commands: list[Command], rng: np.random.Generator) -> list[Command]:
    """One wait is for less, or for nothing."""
    waits = [(n, name) for n, c in enumerate(commands) for name in WAITS if getattr(c, name, 0)]
    n, name = waits[rng.integers(len(waits))]
    token = getattr(commands[n], name)
    less = int(rng.choice([token - 1, 0, rng.integers(token)]))
    return [*commands[:n], replace(commands[n], **{name: less}), *commands[n + 1 :]]


def shown(program: Program, found: list[races.Race], rng: np.random.Generator) -> bool:
    """Whether a timing shows a race: a random one, or one that holds up the first access of a race."""
    if any(Timing(program, random_choice(rng)).shows_race() for _ in range(TIMINGS)):
        return True
    names = {Kind.LOAD: "land", Kind.STORE: "send", Kind.CHUNK: "FILTER"}
    for race in found:
        unit = names.get(race.first.kind, race.first.kind.name), race.first.command
        for piece in (0, 1) * (TIMINGS // 2):
            choose = holding(lambda u, piece=piece, unit=unit: u[:2] == unit and u[2] >= piece, rng)
            if Timing(program, choose).shows_race():
                return True
    return False


def test_planted_races(small: list[tuple[Compiled, Program]], seed: int) -> None:
    """What a timing shows is found; what is found, a timing shows, but for a few."""
    rng, found, seen = np.random.default_rng([seed, 4]), 0, 0
    while found < COUNT:
        compiled, unchanged = small[rng.integers(len(small))]
        commands = weakened(compiled.commands, rng)
        program = Program(commands, compiled.config)
        program.seen = unchanged.seen
        reported = find_races(commands, compiled.config)
        visible = shown(program, reported, rng)
        changed = [str(c) for c, before in zip(commands, compiled.commands) if c != before]
        assert reported or not visible, (compiled.about, changed)
        found += bool(reported)
        seen += bool(reported) and visible
    assert seen >= 0.95 * found, f"{seen} of {found}"


def test_every_pass_waits_for_a_transfer_less(programs: list[Compiled]) -> None:
    for compiled in programs:
        commands = [
            replace(c, wait_transfers=c.wait_transfers - 1) if isinstance(c, Run) else c for c in compiled.commands
        ]
        assert find_races(commands, compiled.config), compiled.about


# ---- Single passes ----


def pointwise(ofmap: int, ifmap: int = 64, tables: int = 200, tiles: int = 1) -> list[Command]:
    """A pass over a row of 8 pixels, 4 at a time; ofmap, ifmap, tables: their first GLB words. Filters lie
    from 300 on."""
    source, made = FeatureMap(1, 8, 1, ifmap, 1), FeatureMap(1, 8, tiles, ofmap, 1)
    blocks, filters = Blocks(1, 1, 4, along=2), Filters(8, tiles, 300, tables)
    descriptor = separable_descriptor(DEFAULT, SeparablePass(source, made, Window(), blocks, -128, Output(), filters))
    return [Config(0, tuple(descriptor.words)), Run(0, 0)]


def shows(commands: list[Command], rng: np.random.Generator, there: bool) -> bool:
    """Whether random timings show a race; one that is there is looked for in many more."""
    program = Program(commands, DEFAULT)
    program.serial()
    return any(Timing(program, random_choice(rng)).shows_race() for _ in range(50 * TIMINGS if there else TIMINGS))


@pytest.mark.parametrize(
    ("ofmap", "tiles", "first", "count"),
    [
        (64, 1, None, 0),  # each block takes its own words
        (60, 1, None, 0),  # and those of the block before
        (68, 1, 68, 4),  # the second block's, before that is read
        (65, 1, 68, 1),
        (64, 2, 64, 8),  # the second tile reads them again
        (80, 1, None, 0),
        (201, 1, 201, 8),  # its own tables
    ],
)
def test_work_in_place(ofmap: int, tiles: int, first: int | None, count: int, seed: int) -> None:
    commands = [*pointwise(ofmap, tiles=tiles), End()]
    found = find_races(commands, DEFAULT)
    assert [(race.address, race.count) for race in found] == ([] if first is None else [(first, count)])
    assert all((race.first.command, race.second.kind) == (1, Kind.OFMAP) for race in found)
    assert shows(commands, np.random.default_rng(seed), bool(found)) == bool(found)


@pytest.mark.parametrize(("ofmap", "count"), [(64, 0), (60, 0), (68, 4)])
def test_depthwise_groups_leave_by_themselves(ofmap: int, count: int, seed: int) -> None:
    """Two groups of 4 pixels: the first one's words may not take those of the second."""
    maps = (FeatureMap(1, 4, 2, address, 1) for address in (64, ofmap))
    window = Window((3, 3), (1, 1), (1, 1, 1, 1))
    work = SeparablePass(*maps, window, Blocks(1, 1, 4), -128, Output(), depthwise_address=300)
    descriptor = separable_descriptor(DEFAULT, work)
    commands = [Config(0, tuple(descriptor.words)), Run(0, 0), End()]
    assert [race.count for race in find_races(commands, DEFAULT)] == [count] * bool(count)
    assert shows(commands, np.random.default_rng(seed), count > 0) == bool(count)


def test_passes_behind_each_other(seed: int) -> None:
    """What the last but one has made is there; what the last one has made only behind its token."""
    rng = np.random.default_rng(seed)
    near = [*pointwise(64, 80), *pointwise(96, 64), End()]
    [race] = find_races(near, DEFAULT)
    assert str(race) == ("command 1 (pass, ofmap) and command 3 (pass, ifmap): 8 GLB words from 64 on, in no order")
    assert shows(near, rng, True)
    far = [*pointwise(64, 80), *pointwise(112, 96), *pointwise(128, 64), End()]
    assert not find_races(far, DEFAULT) and not shows(far, rng, False)
    near[3] = Run(0, 1)
    assert not find_races(near, DEFAULT) and not shows(near, rng, False)
    tables = [*pointwise(200, 80, tables=400), *pointwise(96, 64), End()]
    tables[3] = Run(0, 1)  # which holds the ifmap only
    assert [race.second.kind for race in find_races(tables, DEFAULT)] == [Kind.PARAMETERS]
    assert shows(tables, rng, True)


def test_transfers_and_a_pass(seed: int) -> None:
    rng = np.random.default_rng(seed)
    load, over, store = Transfer(True, 0, 64, 8), Transfer(True, 64, 64, 8, 1), Transfer(False, 128, 96, 8, 1)
    config, _ = pointwise(96)
    commands = [load, config, Run(1, 0), store, over, End()]
    assert not find_races(commands, DEFAULT) and not shows(commands, rng, False)
    for n, change, race in (
        (2, {"wait_transfers": 0}, (0, Kind.LOAD, 2, Kind.IFMAP)),
        (3, {"wait_passes": 0}, (2, Kind.OFMAP, 3, Kind.STORE)),
    ):
        changed = [*commands[:n], replace(commands[n], **change), *commands[n + 1 :]]
        [found] = find_races(changed, DEFAULT)
        assert (found.first.command, found.first.kind, found.second.command, found.second.kind) == race
        assert shows(changed, rng, True)
    # The STORE in front of the second LOAD waits for the pass: that is enough.
    implied = [*commands[:4], replace(over, wait_passes=0), End()]
    assert not find_races(implied, DEFAULT) and not shows(implied, rng, False)


def test_words_of_a_block() -> None:
    transfer = Transfer(True, 0, 100, 3, block=Block(2, 0, 10, 2, 0, 40))
    rows = [range(first, first + 3) for first in (100, 110, 140, 150)]
    assert accesses.transfer_words(transfer).tolist() == [word for row in rows for word in row]


# ---- Waits that never end ----


@pytest.mark.parametrize(
    ("commands", "message"),
    [
        ([*pointwise(96)[:1], Run(1, 0)], "command 1: waits for 1 transfer, 0 come before it"),
        ([*pointwise(96)[:1], Run(0, 1)], "command 1: waits for 1 pass, 0 come before it"),
        ([Transfer(True, 0, 0, 2, 1)], "command 0: waits for 1 pass, 0 come before it"),
        ([Transfer(True, 0, 0, 2, 0, 2)], "command 0: waits for 2 freed chunks, 0 come before it"),
        ([Transfer(True, 0, 8191, 2)], "command 0: GLB word 8192, there are 8192"),
        (pointwise(8190), "command 1: GLB word 8197, there are 8192"),
    ],
)
def test_impossible_lists(commands: list[Command], message: str) -> None:
    with pytest.raises(ScheduleError, match=f"^{message}$"):
        find_races([*commands, End()], DEFAULT)


def test_waits_for_more(small: list[tuple[Compiled, Program]], seed: int) -> None:
    """A list that stops at some wait is rejected."""
    rng, stopped = np.random.default_rng([seed, 5]), 0
    while stopped < COUNT:
        compiled, _ = small[rng.integers(len(small))]
        waits = [n for n, c in enumerate(compiled.commands) if isinstance(c, Run | Transfer)]
        n = waits[rng.integers(len(waits))]
        name = str(rng.choice([name for name in WAITS if hasattr(compiled.commands[n], name)]))
        more = getattr(compiled.commands[n], name) + int(rng.integers(1, 8))
        commands = list(compiled.commands)
        commands[n] = replace(commands[n], **{name: more})
        run = Timing(Program(commands, compiled.config), random_choice(rng))
        run.finish(note={})
        if not run.over:
            stopped += 1
            with pytest.raises(ScheduleError):
                find_races(commands, compiled.config)


def chunked(ring: tuple[int, int] | None = None, inner: int = 1) -> list[Command]:
    """A pass with two chunks of 8 words, at 300 and 308 or both in a ring; inner blocks use them again."""
    maps = FeatureMap(1, 4 * inner, 2, 64, 1), FeatureMap(1, 4 * inner, 1, 100, 1)
    blocks, filters = Blocks(1, 1, 4, inner=inner), Filters(8, 1, 300, 200, ring, chunk_groups=1)
    descriptor = separable_descriptor(DEFAULT, SeparablePass(*maps, Window(), blocks, -128, Output(), filters))
    return [Config(0, tuple(descriptor.words)), Run(0, 0)]


def test_ring_of_one_chunk(seed: int) -> None:
    rng, run = np.random.default_rng(seed), chunked((308, 8))
    first, second = (Transfer(True, 64 * n, 300, 8, 0, n, chunk=True) for n in range(2))
    good = [first, *run, second, End()]
    assert not find_races(good, DEFAULT) and not shows(good, rng, False)
    hasty = replace(second, wait_chunks=0)
    for commands in ([first, *run, hasty, End()], [first, hasty, *run, End()]):
        assert {race.count for race in find_races(commands, DEFAULT)} == {8}
        assert shows(commands, rng, True)
    # A chunk that inner blocks use again is not freed before the last of them, which needs the second, too.
    with pytest.raises(ScheduleError, match="^command 3: waits for 1 freed chunk, 0 come before it$"):
        find_races([first, *chunked((308, 8), inner=2), second, End()], DEFAULT)


def test_chunk_that_never_comes() -> None:
    """A chunk may come behind its pass, but has to come before what waits for the pass."""
    run = chunked()
    chunks = [Transfer(True, 64 * n, 300 + 8 * n, 8, chunk=True) for n in range(2)]
    store = Transfer(False, 128, 100, 4, 1)
    assert not find_races([chunks[0], *run, chunks[1], store, End()], DEFAULT)
    with pytest.raises(ScheduleError, match="^command 4: the pass before it waits for chunk 2, 1 are "):
        find_races([chunks[0], *run, replace(chunks[1], chunk=False), End()], DEFAULT)
    with pytest.raises(ScheduleError, match="^command 3: waits for 1 pass, 0 come before it$"):
        find_races([chunks[0], *run, store, chunks[1], End()], DEFAULT)


# ---- The compiler ----


def test_compiler_rejects_its_own_races(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, commands = tmp_path / "net.tflite", Timeline.commands
    path.write_bytes(separable(np.random.default_rng(seed)))
    compile_network(path, search_iterations=8)

    def forgetful(timeline: Timeline) -> list[Command]:
        return [Run(0, c.wait_passes) if isinstance(c, Run) else c for c in commands(timeline)]

    monkeypatch.setattr(Timeline, "commands", forgetful)
    with pytest.raises(ScheduleError, match=r"^command 0 \(load\) and command [0-9]+ \(pass, ifmap\): "):
        compile_network(path, search_iterations=8)


@pytest.mark.parametrize(
    ("shape", "filters", "size", "stride"),
    [((37, 7, 3), 8, 1, 1), ((37, 7, 3), 8, 1, 2), ((35, 3, 8), 64, 2, 1), ((35, 3, 8), 64, 2, 2)],
)
def test_rows_that_a_small_kernel_does_not_have(
    shape: tuple[int, int, int], filters: int, size: int, stride: int, seed: int, tmp_path: Path
) -> None:
    """Depthwise work takes three rows of pixels: the others are being brought, or made, meanwhile."""
    rng, net, path = np.random.default_rng(seed), TfliteBuilder("small kernel"), tmp_path / "net.tflite"
    x = net.input("image", (1, *shape), INPUT)

    def add(method, name: str, *kernel: int, count: int, **window) -> None:
        nonlocal x
        constants = weights(rng, *kernel), scales(rng, count), bias(rng, count)
        x = method(name, x, *constants, Quant(0.05, -128), **window)

    channels = shape[2]
    add(net.depthwise, "small", 1, size, size, channels, count=channels, stride=stride, padding=VALID)
    add(net.conv, "pointwise", filters, 1, 1, channels, count=filters)
    add(net.depthwise, "last", 1, 3, 3, filters, count=filters)
    path.write_bytes(net.build([x]))
    config = replace(DEFAULT, glb_bank_words=256)
    commands = compile_until("schedule", Request(path, config, search_iterations=8)).schedule.commands
    assert sum(isinstance(c, Run) for c in commands) > 4  # stripes
    assert not find_races(commands, config)


def test_kinds_begin_with_the_streams() -> None:
    assert all(Kind[stream.name] == stream for stream in Stream)
