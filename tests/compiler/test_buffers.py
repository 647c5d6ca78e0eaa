# SPDX-License-Identifier: Apache-2.0
"""Machines described by their buffers: descriptions come back from their text, damaged ones are rejected with line and
column; networks on drawn buffers give the golden model's outputs; a program that is wrong is caught.
"""

import random
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from eyrie.compiler.buffers import description
from eyrie.compiler.buffers.array import array_tree
from eyrie.compiler.buffers.execution import MOST_BYTES, _Buffer, execute
from eyrie.compiler.buffers.nests import nest_of
from eyrie.compiler.buffers.network import compiled
from eyrie.compiler.buffers.partition import Partitioner
from eyrie.compiler.buffers.program import Compute, Load, Program, Store, program_of
from eyrie.compiler.buffers.timing import timing_of
from eyrie.compiler.command_line import what_is_wrong
from eyrie.compiler.frontend import tflite
from eyrie.compiler.frontend.file import load
from eyrie.compiler.ir.buffer_tree import BufferTree, Memory, Role, Unit, Work
from eyrie.compiler.ir.failure import DoesNotFit, InternalError
from eyrie.compiler.network import compile_greedily
from eyrie.measure.networks.mobilenets import Layers
from eyrie.model.config import DEFAULT
from eyrie.model.errors import InputError
from eyrie.runtime.bundled import MODEL
from eyrie.runtime.folders import ROOT
from eyrie.testing.configurations import model_rejection, random_configs
from eyrie.testing.samples import scaled
from tb.common.random_graphs import draw_graph
from tests.commands.commands import assert_rejected, eyrie
from tests.compiler.test_text import drawn

NETWORKS = scaled(25)
CONFIGS = sorted((ROOT / "data" / "configurations").glob("*.buffers"))
OPERANDS = (Role.INPUT, Role.OTHER, Role.FILTERS, Role.TABLE, Role.OUTPUT)
PLACE = re.compile(r"[^:\n]+:\d+:\d+: [^\n]+")


def random_tree(rng: np.random.Generator) -> BufferTree:
    """One to three levels; operands of a level share buffers or have their own, some stop short of the last level."""
    memories: list[Memory] = []
    parts = [(OPERANDS, "")]
    sums = int(rng.integers(1, 4))
    for level in range(1, int(rng.integers(1, 4)) + 1):
        behind = []
        for roles, source in parts:
            cut = int(rng.integers(len(roles) + 1)) if len(roles) > 1 else 0
            for group in filter(None, (roles[:cut], roles[cut:])):
                if level > 1 and rng.random() < 0.3:
                    continue
                name = f"buffer{len(memories)}"
                memories.append(
                    Memory(
                        name=name,
                        bytes=int(rng.integers(200, 12000)) >> level,
                        source=source,
                        holds=group,
                        width=int(rng.choice([1, 8, 16])),
                        latency=int(rng.integers(0, 40)),
                        alignment=int(rng.choice([1, 4, 8, 16])),
                    )
                )
                behind.append((group, name))
        parts = behind
    holder = rng.choice([n for n, memory in enumerate(memories)])
    if sums < 3:  # else the unit has them itself
        memories[holder] = replace(memories[holder], holds=(*memories[holder].holds, Role.SUMS))
        inner = [n for n, memory in enumerate(memories) if memory.source == memories[holder].name]
        if inner and sums == 2:
            memories[inner[0]] = replace(memories[inner[0]], holds=(Role.SUMS, *memories[inner[0]].holds))
    units = tuple(
        Unit(
            works=works,
            **{loop: int(rng.choice([1, 2, 8])) for loop in ("rows", "columns", "filters", "channels")},
            latency=int(rng.integers(3)),
        )
        for works in ((Work.CONVOLUTION, Work.DEPTHWISE), (Work.POOL, Work.ELEMENTWISE))
    )
    return BufferTree(name="drawn", memories=tuple(memories), units=units)


def test_random_networks_on_drawn_buffers(seed: int) -> None:
    """Many networks have operators of all kinds, and many configurations all depths."""
    works, levels = set[Work](), 0
    for number in range(NETWORKS):
        rng = np.random.default_rng([seed, number])
        graph = draw_graph(rng)
        imported, tree = tflite.from_bytes(graph.model), random_tree(rng)
        plain, doubled = compiled(imported, tree), compiled(imported, tree, True)
        for one, two in zip(plain.steps, doubled.steps, strict=True):
            assert one.timing is two.timing is None or two.timing.cycles <= one.timing.cycles, two
        golden = imported.run(*graph.values)
        for found in (plain, doubled):
            for tensor, value in zip(imported.outputs, found.run(*graph.values), strict=True):
                np.testing.assert_array_equal(value, golden[tensor.name], f"{tree}\n{imported}\n{found}", strict=True)
            works |= {step.program.nest.work for step in found.steps if step.program}
        levels = max(levels, tree.levels)
    assert NETWORKS < 25 or (works == {*Work} and levels == 3)


def test_one_network_on_all_kinds_of_configurations(seed: int) -> None:
    """That the array's program and the C give the golden model's outputs is tests/runtime's to show."""
    graph = load(MODEL)
    image = np.random.default_rng(seed).integers(-128, 128, graph.input.shape).astype(np.int8)
    golden = graph.run(image)[graph.output.name]
    for tree in (array_tree(DEFAULT), *map(description.load, CONFIGS)):
        plain, doubled = compiled(graph, tree), compiled(graph, tree, True)
        for found in (plain, doubled):
            assert sum(step.program is not None for step in found.steps) >= len(found.steps) - 1
            assert np.array_equal(found.run(image)[0], golden)
        assert doubled.cycles < plain.cycles, tree.name


def test_descriptions_come_back(seed: int, tmp_path: Path) -> None:
    sizes = [each for each in random_configs(seed, 8) if model_rejection(each) is None]
    rng = np.random.default_rng(seed)
    trees = [array_tree(replace(DEFAULT, **each)) for each in sizes] + [random_tree(rng) for _ in range(8)]
    for tree in (*trees, *map(description.load, CONFIGS)):
        path = tmp_path / "machine.buffers"
        path.write_text(description.text_of(tree))
        assert description.load(path) == tree
    assert len(CONFIGS) == 2 and len(trees) > 8


def test_damaged_descriptions(seed: int, tmp_path: Path) -> None:
    """Are rejected with their place, or describe another configuration."""
    rng, path, counts = random.Random(seed), tmp_path / "machine.buffers", Counter()
    text = CONFIGS[0].read_text()
    for _ in range(200):
        at = rng.randrange(text.index("=") - 8, len(text))
        path.write_text(text[:at] + rng.choice(["", "(", ",", "x", "'", "0", "-"]) + text[at + rng.randrange(4) :])
        try:
            description.load(path)
        except ValueError as error:
            said = what_is_wrong(error)
            assert said.startswith(str(path)) and (PLACE.fullmatch(said) or "accelerator is missing" in said), said
            counts["rejected"] += 1
        else:
            counts["taken"] += 1
    assert counts["rejected"] and counts["taken"], counts  # of 400 seeds, each took 6 to 28


def test_where_a_description_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "machine.buffers"
    all_ = "INPUT, OTHER, FILTERS, TABLE, OUTPUT".split(", ")
    holds = ", ".join(f"Role.{name}" for name in all_)
    for lines, said in (
        (
            ["accelerator = BufferTree(name='m', memories=(), units=())"],
            "2:15: no BufferTree is like that: no buffer holds input: let one have Role.INPUT",
        ),
        (
            [f"a = Memory(name='a', bytes=0, holds=({holds}))"],
            "2:5: no Memory is like that: bytes of buffer a is 0: give 1 or more",
        ),
        (
            [
                f"a = Memory(name='a', bytes=9, source='b', holds=({holds}))",
                "accelerator = BufferTree(name='m', memories=(a,), units=())",
            ],
            "3:15: no BufferTree is like that: source of a: unknown buffer 'b': choose from a",
        ),
        (
            [
                f"a = Memory(name='a', bytes=9, source='a', holds=({holds}))",
                "accelerator = BufferTree(name='m', memories=(a,), units=())",
            ],
            "3:15: no BufferTree is like that: buffer a is a source of itself: let one come from DRAM, source=''",
        ),
        (
            [
                f"a = Memory(name='a', bytes=9, holds=({holds}))",
                "b = Memory(name='b', bytes=9, holds=(Role.INPUT,))",
                "accelerator = BufferTree(name='m', memories=(a, b), units=())",
            ],
            "4:15: no BufferTree is like that: buffer b has its input from a, its source is DRAM: connect the "
            "buffers that hold it in one chain",
        ),
        (
            ["a = Unit(works=(Work.POOL,), rows=0)"],
            "2:5: no Unit is like that: rows, columns, filters and channels of a unit are 1 or more, its latency 0 or "
            "more",
        ),
        (
            [
                f"a = Memory(name='a', bytes=9, holds=({holds}))",
                "u = Unit(works=(Work.POOL,))",
                "accelerator = BufferTree(name='m', memories=(a,), units=(u, u))",
            ],
            "4:15: no BufferTree is like that: two units do pool: leave it to one",
        ),
    ):
        path.write_text("\n".join(["# Eyrie buffers", *lines]))
        with pytest.raises(ValueError) as caught:
            description.load(path)
        assert str(caught.value) == f"{path}:{said}"


@pytest.fixture(scope="module")
def program() -> Program:
    """Of the pointwise half of block 4 on the accelerator with three levels: sums come back from the buffer around."""
    step = next(step for step in compiled(load(MODEL), description.load(CONFIGS[0])).steps if step.node.where == "#10")
    assert step.program.tree.levels == 3 and step.timing.moved["accumulators"]
    return step.program


def mutated(program: Program, number: int, *changed: object) -> Program:
    """With other instructions, or none, in the place of one."""
    instructions = program.instructions
    return replace(program, instructions=[*instructions[:number], *changed, *instructions[number + 1 :]])


def values(program: Program) -> dict[str, np.ndarray]:
    source = program.nest.node.inputs[0]
    return {source.name: np.random.default_rng(1).integers(-128, 128, source.shape).astype(np.int8)}


def test_missing_instructions_are_caught(program: Program, seed: int) -> None:
    """A load that is left out, a store, an operation: what reads what they bring finds that it is not there."""
    execute(program, values(program))
    rng, said = random.Random(seed), Counter()
    for kind in (Load, Store, Compute):
        places = [n for n, each in enumerate(program.instructions) if isinstance(each, kind)]
        for number in rng.sample(places, 6):
            with pytest.raises(InternalError, match="^operator #10 CONV_2D on systolic: [^\n]+$") as caught:
                execute(mutated(program, number), values(program))
            said[str(caught.value).split(":")[1]] += 1
    assert said


def test_wrong_places_are_caught(program: Program) -> None:
    number = next(n for n, each in enumerate(program.instructions) if isinstance(each, Load))
    load = program.instructions[number]
    room = program.tree.memory(load.place.memory).bytes
    for place, said in (
        (replace(load.place, address=room // 16 * 16), f"leave buffer {load.place.memory} of {room}$"),
        (replace(load.place, bytes=load.place.bytes // 2), rf"in a place of {load.place.bytes // 2} bytes of buffer"),
        (replace(load.place, address=1), "at 1 of buffer scratchpad, of which addresses are multiples of 16$"),
        (replace(load.place, memory="queue"), "buffer queue does not hold|goes no other way than through weights$"),
        (replace(load.place, role=Role.FILTERS), "buffer scratchpad does not hold filters$"),
    ):
        with pytest.raises(InternalError, match=said):
            execute(mutated(program, number, replace(load, place=place)), values(program))


def test_a_tile_larger_than_its_buffer_is_caught() -> None:
    """The same program on an accelerator with a smaller buffer."""
    graph, tree = load(MODEL), array_tree(DEFAULT)
    program = compiled(graph, tree).steps[0].program
    for memory in tree.memories:
        needed = Partitioner(program.nest, tree, False).needed(memory, program.partition.tiles)
        small = replace(memory, bytes=needed - 1)
        memories = tuple(small if each is memory else each for each in tree.memories)
        with pytest.raises(InternalError, match=f"leave buffer {memory.name} of {small.bytes}$"):
            execute(replace(program, tree=replace(tree, memories=memories)), values(program))


def test_overlapping_places_are_caught(program: Program) -> None:
    """What another operand has been put over is not read."""
    filters = next(
        each.place
        for each in program.instructions
        if isinstance(each, Load) and each.place.memory == "weights" and each.place.role is Role.FILTERS
    )

    def moved(place):
        return replace(place, address=filters.address) if place and place.role is Role.TABLE else place

    changed = [
        replace(each, place=moved(each.place))
        if isinstance(each, Load)
        else replace(each, places={role: moved(place) for role, place in each.places.items()})
        if isinstance(each, Compute)
        else each
        for each in program.instructions
    ]
    with pytest.raises(InternalError, match="before all of it is there, or when something else has taken its bytes$"):
        execute(replace(program, instructions=changed), values(program))


def test_cycles_counted_by_hand() -> None:
    """A 1x1 convolution of a pixel with 32 channels and 4 filters, filter by filter: the input's 32 bytes take
    4 + 32 / 8 cycles, as those of a filter; 12 of the table 6, an output 5; an operation 32."""
    layers = Layers("by hand", 1, seed=1, channels=32)
    graph = tflite.from_bytes(layers.net.build([layers.conv(layers.input, 4)]))
    memories = tuple(
        Memory(name=name, bytes=size, holds=holds, latency=4)
        for name, size, holds in (
            ("inputs", 64, (Role.INPUT, Role.OTHER)),
            ("filters", 32, (Role.FILTERS,)),
            ("table", 12, (Role.TABLE,)),
            ("outputs", 5, (Role.OUTPUT, Role.SUMS)),
        )
    )
    tree = BufferTree(name="small", memories=memories, units=(Unit(works=(Work.CONVOLUTION,)),))
    nest = nest_of(graph.nodes[0])
    program = program_of(nest, tree, False)
    assert program.partition.tiles == ((1, 1, 1, 32),)
    timing = timing_of(program)
    assert timing.computing == 4 * 32 and timing.cycles == 4 * (8 + 32) + 5
    assert timing.moved == {"inputs": 32, "filters": 128, "table": 48, "outputs": 4}
    wide = replace(tree, memories=tuple(replace(memory, bytes=2 * memory.bytes) for memory in memories))
    doubled = timing_of(program_of(nest, wide, True))
    assert doubled.cycles == 8 + 4 * 32 + 5 and doubled.moved == timing.moved
    assert timing.transferring == doubled.transferring == 4 * 8  # of the filters
    slow = replace(wide, units=(replace(wide.units[0], channels=32),))  # little to hide: smaller tiles, more latencies
    kept = compiled(graph, slow, True).steps[0]
    assert kept.timing == min(
        (timing_of(program_of(nest, slow, each)) for each in (False, True)), key=lambda t: t.cycles
    )


def test_commands(seed: int, tmp_path: Path) -> None:
    """eyrie buffers says whether outputs match, and writes the array's description; eyrie ir --greedy writes a plan
    that eyrie compile takes."""
    model = tmp_path / "net.tflite"
    model.write_bytes(drawn([seed, 5]))
    ended = eyrie("buffers", model, "--hierarchy", CONFIGS[1], "--double-buffering", "--run")
    assert ended.returncode == 0 and ended.stdout.splitlines()[-1] == "match"
    assert eyrie("buffers", model, "-o", tmp_path / "array.buffers", "--quiet").returncode == 0
    assert description.load(tmp_path / "array.buffers") == array_tree(DEFAULT)
    assert (
        eyrie("ir", model, "segments", "--greedy", "--search-iterations", 4, "-o", tmp_path / "net.ir").returncode == 0
    )
    assert eyrie("compile", tmp_path / "net.ir", "-o", tmp_path / "net", "--quiet").returncode == 0
    program = (tmp_path / "net" / "program.txt").read_text().splitlines()
    assert program == compile_greedily(model, search_iterations=4).text.splitlines()
    (tmp_path / "bad.buffers").write_text("# Eyrie buffers\nmachine = Memory(name='a')")
    assert_rejected(
        eyrie("buffers", model, "--hierarchy", tmp_path / "bad.buffers"),
        f"eyrie buffers: {tmp_path / 'bad.buffers'}:2:11: Memory lacks bytes, holds: give bytes=value",
    )


def test_exhaustion_is_no_worse_than_greed(seed: int) -> None:
    """Nor is a tile outside its buffers, by either choice."""
    rng, compared = np.random.default_rng(seed), 0
    while compared < 20:
        node = tflite.from_bytes(drawn([seed, compared])).nodes[0]
        tree = random_tree(rng)
        tree = replace(tree, units=tuple(Unit(works=unit.works) for unit in tree.units))
        partitioner = Partitioner(nest_of(node), tree, bool(rng.integers(2)))
        try:
            greedy, best = partitioner.greedy(), partitioner.exhaustive()
        except DoesNotFit as failure:
            assert failure.demand > failure.bound
            compared += 1
            continue
        for found in (greedy, best):
            assert all(partitioner.needed(memory, found.tiles) <= memory.bytes for memory in tree.memories)
        assert partitioner.cycles(best, 1) <= partitioner.cycles(greedy, 1)
        compared += 1


def test_a_buffer_that_is_too_large_to_run() -> None:
    with pytest.raises(InputError, match=f"^buffer far has {10**21} bytes, a run takes {MOST_BYTES} at most: "):
        _Buffer(Memory(name="far", bytes=10**21, holds=()))
