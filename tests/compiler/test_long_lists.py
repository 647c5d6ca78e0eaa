# SPDX-License-Identifier: Apache-2.0
"""Command lists of any length: what the compiler's own parts make of 70,000 transfers and 40,000 chunks."""

import numpy as np
import pytest

from eyrie.compiler.assembly.commands import from_text, to_text
from eyrie.compiler.emit.image import ADDRESS_SPACE
from eyrie.compiler.emit.races import find_races
from eyrie.compiler.emit.timeline import Timeline
from eyrie.compiler.ir.feature_map import FeatureMap
from eyrie.compiler.ir.layer import Output
from eyrie.compiler.ir.program import Command, Config, End, Run, Transfer, assemble, disassemble
from eyrie.compiler.ir.window import Window
from eyrie.compiler.target.blocks import Blocks, Filters
from eyrie.compiler.target.descriptors.separable import SeparablePass, separable_descriptor
from eyrie.model import encoding as enc
from eyrie.model.config import DEFAULT
from eyrie.model.functional_simulator import FunctionalSimulator
from eyrie.model.word import WORD_BITS

GROUPS = 512  # channel groups of a pass: 4,096 channels, each group's filters a chunk
PASSES = 79
STORES = 375  # behind each pass
IFMAP, OFMAP, TABLE, RING = 0, 2100, 2200, 2304  # GLB words
FILTERS = 8  # a chunk is as many words
SLOTS = 4  # of the ring


@pytest.fixture(scope="module")
def listed() -> tuple[list[Command], np.ndarray]:
    """The list, made by Timeline as the compiler does, and DRAM (uint8) without it: ifmap, table, filters."""
    rng = np.random.default_rng(1)
    sizes = {"ifmap": 4 * GROUPS, "table": enc.PARAMETER_WORDS, "filters": GROUPS * FILTERS, "output": PASSES * STORES}
    places = dict(zip(sizes, np.cumsum([0, *sizes.values()])[:-1].tolist()))
    dram = rng.integers(0, 1 << 64, sum(sizes.values()), np.uint64)
    biases, multipliers, shifts = [1 << 20 | 7 << 52] * 4, [3 << 27 | 3 << 59] * 4, [0xF5F5_F5F5_F5F5_F5F5]
    dram[places["table"] :][: enc.PARAMETER_WORDS] = biases + multipliers + shifts
    dram[places["output"] :] = 0
    source, made = FeatureMap(1, 4, GROUPS, IFMAP, 1), FeatureMap(1, 4, 1, OFMAP, 1)
    ring = (RING + SLOTS * FILTERS, SLOTS * FILTERS)
    descriptor = separable_descriptor(
        DEFAULT,
        SeparablePass(
            source,
            made,
            Window(),
            Blocks(1, 1, 4),
            -128,
            Output(),
            Filters(FILTERS, 1, RING, TABLE, ring, chunk_groups=1),
        ),
    )
    line = Timeline(DEFAULT)
    line.load(8 * places["ifmap"], IFMAP, sizes["ifmap"])
    line.load(8 * places["table"], TABLE, enc.PARAMETER_WORDS)

    def load_chunks(first: int, last: int, number: int) -> None:
        for chunk in range(first, last):
            at = RING + (number * GROUPS + chunk) % SLOTS * FILTERS
            line.load_chunk(8 * (places["filters"] + chunk * FILTERS), at, FILTERS)

    for number in range(PASSES):
        load_chunks(0, SLOTS, number)
        line.run(
            descriptor,
            [(IFMAP, source.words)],
            [(TABLE, enc.PARAMETER_WORDS)],
            [(OFMAP, made.words)],
            [(RING, SLOTS * FILTERS)],
        )
        load_chunks(SLOTS, GROUPS, number)
        for n in range(STORES):
            line.store(8 * (places["output"] + number * STORES + n), OFMAP + n % 4, 1)
    return [*line.commands(), End()], dram.view(np.uint8)


def test_tokens_count_on(listed: tuple[list[Command], np.ndarray]) -> None:
    """They go beyond 16 bits, and come back as they were from words and from text."""
    commands, _ = listed
    transfers = [c for c in commands if isinstance(c, Transfer)]
    assert len(transfers) > 70_000 and sum(c.chunk for c in transfers) > 40_000
    assert max(c.wait_transfers for c in commands if isinstance(c, Run)) > 1 << 16
    assert max(c.wait_chunks for c in transfers) > 1 << 15
    assert disassemble(assemble(commands)) == commands
    assert from_text(to_text(commands)) == commands


def test_no_races(listed: tuple[list[Command], np.ndarray]) -> None:
    assert not find_races(listed[0], DEFAULT)


def test_the_model_runs_them(listed: tuple[list[Command], np.ndarray]) -> None:
    """Each pass reads the same and so writes the same: all stored words are those of the first pass."""
    commands, data = listed
    program = assemble(commands)
    dram = np.concatenate([data, program.view(np.uint8)])
    simulator = FunctionalSimulator(dram)
    simulator.run(len(data))
    assert simulator.counters["PASSES"] == PASSES
    assert simulator.counters["TRANSFERS"] == sum(isinstance(c, Transfer) for c in commands)
    output = dram[: len(data)].view(np.uint64)[-PASSES * STORES :].reshape(PASSES, STORES)
    assert len(np.unique(output[0])) > 2 and (output == output[0]).all()


def test_tokens_reach_as_far_as_addresses() -> None:
    """A list cannot have more words, and so events, than a token can name; the fields have no bit to spare."""
    words = ADDRESS_SPACE // (WORD_BITS // 8)
    assert words <= 1 << enc.SEMAPHORE_BITS
    last = (1 << enc.SEMAPHORE_BITS) - 1
    for command in (Run(last, last), Transfer(True, 0, 0, 1, last, last)):
        assert disassemble(np.append(assemble([command]), assemble([End()]))) == [command, End()]
    for command in (
        Run(last + 1, 0),
        Run(0, last + 1),
        Transfer(True, 0, 0, 1, last + 1),
        Transfer(True, 0, 0, 1, 0, last + 1),
    ):
        with pytest.raises(ValueError, match="must be in 0 to 536870911$"):
            command.encode()


def test_configs_are_listed_once(listed: tuple[list[Command], np.ndarray]) -> None:
    """A pass like the one before needs no words."""
    assert sum(isinstance(c, Config) for c in listed[0]) < 20
