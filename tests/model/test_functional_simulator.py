# SPDX-License-Identifier: Apache-2.0
"""The functional simulator: what commands do, and where and why it stops, as the RTL does."""

from dataclasses import replace

import numpy as np
import pytest

from eyrie.compiler.ir.program import Block, Command, Config, End, Run, Transfer, assemble
from eyrie.model import encoding as enc
from eyrie.model.encoding import ErrorCode, Opcode
from eyrie.model.functional_simulator import FunctionalSimulator, ProgramError
from eyrie.testing import layers
from tb.tiling.command_errors import COMMAND_ERRORS
from tb.tiling.harness import DRAM_WORDS, WINDOW
from tb.tiling.programs import Program

BASE, SOURCE, TARGET = 0x100, 0x1000, 0x2000


def memory(commands: list[Command], base: int = BASE, size: int = 0x4000) -> np.ndarray:
    dram = np.zeros(size, np.uint8)
    words = assemble(commands)
    dram[base : base + words.nbytes] = words.view(np.uint8)
    return dram


def stopped(simulator: FunctionalSimulator, base: int) -> tuple[ErrorCode, int]:
    with pytest.raises(ProgramError) as caught:
        simulator.run(base)
    assert "\n" not in str(caught.value) and f"0x{caught.value.address:08x}" in str(caught.value)
    return caught.value.code, caught.value.address


def test_load_then_store_copies_data(seed: int) -> None:
    dram = memory([Transfer(True, SOURCE, 5, 40), Transfer(False, TARGET, 7, 30), End()])
    values = np.random.default_rng(seed).integers(0, 256, 320, np.uint8)
    dram[SOURCE : SOURCE + 320] = values
    simulator = FunctionalSimulator(dram)
    simulator.run(BASE)
    assert np.array_equal(dram[TARGET : TARGET + 240], values[16:256])
    assert not dram[TARGET + 240 :].any() and not dram[TARGET - 8 : TARGET].any()
    counts = {
        "TRANSFERS": 2,
        "PASSES": 0,
        "COMMAND_BYTES": 40,
        "DRAM_READ_BYTES": 360,
        "DRAM_WRITE_BYTES": 240,
        "GLB_LOAD_BYTES": 320,
        "GLB_STORE_BYTES": 240,
    }
    assert {name: simulator.counters[name] for name in counts} == counts


def test_block_of_rows_and_planes() -> None:
    block = Block(rows=3, row_dram=32, row_glb=2, planes=2, plane_dram=-256, plane_glb=6)
    dram = memory([Transfer(True, SOURCE + 256, 0, 2, block=block), Transfer(False, TARGET, 0, 12), End()])
    words = dram.view(np.uint64)
    words[SOURCE // 8 : SOURCE // 8 + 64] = np.arange(64)
    FunctionalSimulator(dram).run(BASE)
    rows = [first + n for first in (32, 36, 40, 0, 4, 8) for n in range(2)]
    assert words[TARGET // 8 : TARGET // 8 + 12].tolist() == rows


def test_a_run_keeps_the_glb_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eyrie.model.functional_simulator.broken_rule", lambda config, descriptor: None)
    dram = memory([Transfer(True, SOURCE, 0, 1), Config(3, (9,)), Run(1, 0), End()])
    again = assemble([Transfer(False, TARGET, 0, 1), Run(1, 0), End()])
    dram[0x800 : 0x800 + again.nbytes] = again.view(np.uint8)
    dram[SOURCE] = 77
    passes: list[list[int]] = []
    simulator = FunctionalSimulator(dram)
    simulator._execute = lambda descriptor: iter(passes.append(descriptor.words) or ())
    simulator.run(BASE)
    simulator.run(0x800)
    assert dram[TARGET] == 77 and simulator.counters["TRANSFERS"] == 1
    assert [words[3] for words in passes] == [9, 0]


@pytest.mark.parametrize("what", COMMAND_ERRORS)
@pytest.mark.parametrize("before", [0, 2])
def test_stops_where_the_rtl_stops(what: str, before: int) -> None:
    """The cases of the tiling bench, which the RTL is held to."""
    program = Program(WINDOW[0] + 64)
    for _ in range(before):
        program.transfer(Opcode.LOAD, 0x40000, 100, 20)
    code, address = COMMAND_ERRORS[what](program)
    program.end()
    dram = np.zeros(8 * DRAM_WORDS, np.uint8)
    words = np.array(program.words, np.uint64)
    dram[program.base : program.base + words.nbytes] = words.view(np.uint8)
    assert stopped(FunctionalSimulator(dram, window=WINDOW), program.base) == (code, address)


@pytest.mark.parametrize("opcode", sorted(set(range(16)) - set(Opcode)))
def test_unknown_opcodes(opcode: int) -> None:
    dram = memory([Transfer(True, SOURCE, 0, 1)])
    dram[BASE + 16] = opcode
    assert stopped(FunctionalSimulator(dram), BASE) == (ErrorCode.ILLEGAL_COMMAND, BASE + 16)


def test_the_last_descriptor_word_can_be_written() -> None:
    FunctionalSimulator(memory([Config(enc.CONFIG_WORDS - 1, (1,)), End()])).run(BASE)
    dram = memory([Config(enc.CONFIG_WORDS - 1, (1, 2)), End()])
    assert stopped(FunctionalSimulator(dram), BASE) == (ErrorCode.ILLEGAL_COMMAND, BASE)


def test_commands_outside_the_window() -> None:
    limit = BASE + 64
    for base in (BASE - 8, limit, BASE + 4):
        assert stopped(FunctionalSimulator(memory([End()]), window=(BASE, limit)), base) == (
            ErrorCode.DRAM_ADDRESS,
            base,
        )
    # A command that leaves the window is named by its first word, a list by the word outside.
    dram = memory([Config(0, (1, 2))], limit - 16)
    assert stopped(FunctionalSimulator(dram, window=(BASE, limit)), limit - 16) == (ErrorCode.DRAM_ADDRESS, limit - 16)
    dram = memory([Config(0, (1,))], limit - 16)
    assert stopped(FunctionalSimulator(dram, window=(BASE, limit)), limit - 16) == (ErrorCode.DRAM_ADDRESS, limit)
    FunctionalSimulator(memory([End()], limit - 8), window=(BASE, limit)).run(limit - 8)


def test_inside_the_window_but_beyond_the_memory() -> None:
    dram = memory([Transfer(True, SOURCE, 0, 1), Transfer(True, 0x3FF8, 0, 1), Transfer(True, 0x3FF8, 0, 2), End()])
    window = (0, 1 << 31)
    assert stopped(FunctionalSimulator(dram, window=window), BASE) == (ErrorCode.AXI_RESPONSE, BASE + 32)
    assert stopped(FunctionalSimulator(dram, window=window), 0x4000) == (ErrorCode.AXI_RESPONSE, 0x4000)


@pytest.mark.parametrize(
    "command",
    [Transfer(True, SOURCE, 0, 1, wait_passes=1), Transfer(False, TARGET, 0, 1, wait_chunks=1), Run(2, 0), Run(1, 1)],
)
def test_tokens_that_never_come(command: Command) -> None:
    dram = memory([Transfer(True, SOURCE, 0, 1), command, End()])
    assert stopped(FunctionalSimulator(dram), BASE) == (ErrorCode.WATCHDOG, BASE + 16)


def test_stream_beyond_the_glb() -> None:
    layer = layers.separable(np.random.default_rng(1), "pointwise", (8, 8, 2, 2))
    descriptor = layer.parts[0][0].descriptor
    stream = descriptor.stream(enc.Stream.IFMAP)
    descriptor.set_stream(enc.Stream.IFMAP, replace(stream, address={"row_address": 8191}))
    config = Config(0, tuple(descriptor.words))
    dram = memory([config, Run(0, 0), End()])
    assert stopped(FunctionalSimulator(dram), BASE) == (ErrorCode.GLB_ADDRESS, BASE + 8 * len(config.encode()))
