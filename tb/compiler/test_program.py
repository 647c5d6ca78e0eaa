# SPDX-License-Identifier: Apache-2.0
"""The assembler: text, commands and binary say the same; what is none of them is refused."""

import numpy as np
import pytest

from compiler.ir.image import Image
from compiler.ir.program import Block, Command, Config, End, Run, Transfer, assemble, disassemble, from_text, to_text
from compiler.network import compile_network
from runtime.shipped import MODEL


def random_command(rng: np.random.Generator) -> Command:
    def number(bits: int, signed: bool = False) -> int:
        low = -(1 << bits - 1) if signed else 0
        value = int(rng.integers(low, low + (1 << bits), dtype=np.int64))
        return int(rng.choice([low, low + (1 << bits) - 1, value]))  # ends of the range are frequent

    kind = rng.integers(4)
    if kind == 0:
        words = rng.integers(0, 1 << 64, rng.integers(1, 20), np.uint64, endpoint=False)
        return Config(number(12), tuple(int(word) for word in words))
    if kind == 1:
        return Run(number(16), number(16))
    block = None
    if rng.random() < 0.5:
        rows, planes = ((number(12), number(32, True), number(16, True)) for _ in range(2))
        block = Block(*rows, *planes)
    return Transfer(kind == 2, number(32), *(number(16) for _ in range(4)), bool(rng.integers(2)), block)


def test_text_commands_and_binary_round_trip(seed: int) -> None:
    rng = np.random.default_rng(seed)
    commands = [random_command(rng) for _ in range(500)] + [End()]
    assert {type(command) for command in commands} == {Config, Run, Transfer, End}
    text = to_text(commands)
    assert from_text(text) == commands
    binary = assemble(commands)
    assert disassemble(binary) == commands and to_text(disassemble(binary)) == text
    assert len(text.splitlines()) == len(commands)


def test_shipped_network(tmp_path) -> None:
    stages = compile_network(MODEL)
    stages.image.save(tmp_path, stages.text)
    text, image = (tmp_path / "program.txt").read_text(), Image.load(tmp_path)
    place = image.map["program"]
    binary = image.dram[place["address"] :][: place["bytes"]].view(np.uint64)
    assert np.array_equal(assemble(from_text(text)), binary)
    assert to_text(disassemble(binary)) == text


def test_comments_and_blank_lines() -> None:
    text = "# a program\n\npass wait_transfers=0x10 wait_passes=2  # waits\nend\n"
    assert from_text(text) == [Run(16, 2), End()]


LOAD = "load dram=0x10 glb=1 words=2 wait_passes=0 wait_chunks=0 chunk=0"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("halt", "unknown command halt"),
        ("pass wait_transfers=1", "wait_passes is missing"),
        ("pass wait_transfers=1 wait_passes=536870912", "wait_passes = 536870912: must be in 0 to 536870911"),
        ("pass wait_transfers=-1 wait_passes=0", "wait_transfers = -1: must be in 0 to 536870911"),
        ("pass wait_transfers=x wait_passes=0", "invalid literal for int() with base 0: 'x'"),
        ("pass wait_transfers=1 wait_passes=0 chunk=1", "unknown: chunk"),
        ("end now=1", "unknown: now"),
        ("end 1", "1 word(s) without a name"),
        ("config index=3", "config needs words of 64 bits"),
        ("config index=3 1ffffffffffffffff", "config needs words of 64 bits"),
        ("config 12", "index is missing"),
        ("config index=4096 12", "ConfigCommand.index = 4096: must be in 0 to 4095"),
        (LOAD.replace("words=2", "words=65536"), "TransferAddress.words = 65536: must be in 0 to 65535"),
        (LOAD.replace("chunk=0", "chunk=2"), "chunk = 2: must be in 0 to 1"),
        (LOAD + " rows=2", "row_dram is missing"),
    ],
)
def test_errors_name_the_line(line: str, message: str) -> None:
    with pytest.raises(ValueError) as caught:
        from_text(f"end\n{line}\nend\n")
    assert str(caught.value) == f"line 2: {line!r}: {message}"


@pytest.mark.parametrize("opcode", [0, *range(6, 16)])
def test_unknown_opcode(opcode: int) -> None:
    with pytest.raises(ValueError, match=rf"^word 1: 0x000000000000000{opcode:x} is no command$"):
        disassemble(np.array([*Run(0, 0).encode(), opcode, 1], np.uint64))


@pytest.mark.parametrize("command", [Config(1, (2, 3)), Transfer(True, 8, 1, 1),
                                     Transfer(False, 8, 1, 1, block=Block(1, 0, 0, 1, 0, 0))])
def test_list_that_ends_early(command: Command) -> None:
    words = assemble([Run(0, 0), command])
    with pytest.raises(ValueError, match="^the list has no END$"):
        disassemble(words)
    for length in range(2, len(words)):
        with pytest.raises(ValueError, match="^word 1: .*: the list ends within the command$"):
            disassemble(words[:length])


@pytest.mark.parametrize("command, at", [(End(), 0), (Config(0, (1,)), 0), (Run(1, 2), 0),
                                         (Transfer(True, 8, 1, 1, block=Block(1, 0, 0, 1, 0, 0)), 3)])
def test_bits_without_meaning(command: Command, at: int) -> None:
    words = assemble([command, End()])
    words[at] |= np.uint64(1 << 63)
    with pytest.raises(ValueError, match="^word 0: .*: a bit without meaning is set in the command$"):
        disassemble(words)
