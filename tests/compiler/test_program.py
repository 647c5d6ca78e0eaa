# SPDX-License-Identifier: Apache-2.0
"""The assembler: text, commands and binary say the same; what is none of them is rejected."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from eyrie.compiler.assembly.commands import from_text, to_text
from eyrie.compiler.assembly.lexer import AssemblyError
from eyrie.compiler.ir.image import Image
from eyrie.compiler.ir.program import Block, Command, Config, End, Run, Transfer, assemble, disassemble, encoded
from eyrie.compiler.network import compile_network
from eyrie.runtime.bundled import MODEL


def random_command(rng: np.random.Generator) -> Command:
    def number(bits: int, signed: bool = False) -> int:
        low = -(1 << bits - 1) if signed else 0
        value = int(rng.integers(low, low + (1 << bits), dtype=np.int64))
        return int(rng.choice([low, low + (1 << bits) - 1, value]))  # ends of the range are frequent

    kind = rng.integers(4)
    if kind == 0:
        words = rng.integers(0, 1 << 64, rng.integers(1, 20), np.uint64, endpoint=False)
        return Config(number(7), tuple(int(word) for word in words))
    if kind == 1:
        return Run(number(16), number(16))
    block = None
    if rng.random() < 0.5:
        rows, planes = ((number(12), number(32, True), number(16, True)) for _ in range(2))
        block = Block(*rows, *planes)
    return Transfer(kind == 2, number(32), *(number(16) for _ in range(4)), bool(rng.integers(2)), block)


def is_one_config(command: Command, behind: Command) -> bool:
    """Return whether the words of two commands are neighbours: they are read back as one."""
    return (
        isinstance(command, Config)
        and isinstance(behind, Config)
        and command.index + len(command.words) == behind.index
    )


def test_text_commands_and_binary_round_trip(seed: int) -> None:
    rng = np.random.default_rng(seed)
    drawn = [random_command(rng) for _ in range(500)] + [End()]
    commands = [command for command, behind in pairwise(drawn) if not is_one_config(command, behind)] + [End()]
    assert {type(command) for command in commands} == {Config, Run, Transfer, End}
    text = to_text(commands)
    assert from_text(text) == commands
    binary = assemble(commands)
    assert disassemble(binary) == commands and to_text(disassemble(binary)) == text
    assert len(text.splitlines()) == sum(len(c.words) if isinstance(c, Config) else 1 for c in commands)


def test_bundled_network(tmp_path) -> None:
    stages = compile_network(MODEL)
    stages.image.save(tmp_path, stages.text)
    text, image = (tmp_path / "program.txt").read_text(), Image.load(tmp_path)
    place = image.program
    binary = image.dram[place.address :][: place.bytes].view(np.uint64)
    assert np.array_equal(assemble(from_text(text)), binary)
    assert to_text(disassemble(binary)) == text


def test_comments_and_blank_lines() -> None:
    text = "# a program\n\npass wait_transfers=0x10 wait_passes=2  # waits\nend\n"
    assert from_text(text) == [Run(16, 2), End()]


LOAD = "load dram=0x10 glb=1 words=2"


@pytest.mark.parametrize(
    ("line", "column", "message"),
    [
        ("halt", 1, "unknown command 'halt': choose from config, pass, load, store, end"),
        ("pass wait_transfer=1", 6, "unknown field of pass 'wait_transfer'; did you mean 'wait_transfers'?"),
        ("pass wait_passes=536870912", 6, "wait_passes = 536870912: must be in 0 to 536870911"),
        ("pass wait_transfers=-1", 6, "wait_transfers = -1: must be in 0 to 536870911"),
        ("pass wait_transfers=x", 6, "'x' is no whole number: write one like 12, 0x1f or -3"),
        ("pass wait_passes=", 6, "wait_passes= has no value: write it after the =, without a blank"),
        ("pass wait_passes=1 wait_passes=2", 20, "wait_passes= is given twice: leave one out"),
        ("pass 1", 6, "pass takes values by name only, not '1' as well: leave it out"),
        ("end now=1", 5, "end takes no named values, not 'now': leave it out"),
        ("config", 1, "config needs the name of a word of the descriptor: it is missing"),
        ("config drian", 8, "unknown word of the descriptor 'drian'; did you mean 'drain'?"),
        ("config word0 1", 8, "word0 is array_shape: write that"),
        ("config word43", 8, "word43 needs VALUE: VALUE is missing"),
        ("config word43 0x1ffffffffffffffff", 15, "0x1ffffffffffffffff: a word has 64 bits"),
        ("config word152 12", 8, "word152 lies beyond the descriptor: it has words 0 to 151"),
        ("config word4096 1", 8, "word4096 lies beyond the descriptor: it has words 0 to 151"),
        ("config drain mode=NIL", 14, "unknown DrainMode 'NIL': choose from CONVOLUTION, POINTWISE, WORDS, NONE"),
        ("config drain mode=7", 14, "Drain.mode = 7: must be in 0 to 3"),
        ("config row_ids.0 ifmap=1,2", 18, "2 values: row_ids.0 has 8 of each, with commas between"),
        ("drain mode=1", 1, "drain without config: write config drain"),
        (LOAD.replace("words=2", "words=65536"), 1, "TransferAddress.words = 65536: must be in 0 to 65535"),
        (LOAD + " chunk=2", 30, "chunk = 2: must be in 0 to 1"),
        (LOAD + " rows=2", 1, "load needs row_dram=: it is missing"),
    ],
)
def test_errors_name_the_place(line: str, column: int, message: str) -> None:
    with pytest.raises(AssemblyError) as caught:
        from_text(f"pass\n {line}\nend\n")
    assert str(caught.value) == f"2:{column + 1}: {message}"


def test_nothing_follows_the_end() -> None:
    with pytest.raises(AssemblyError, match="^2:1: pass follows end, which ends the program: put it before$"):
        from_text("end\npass\n")


def test_words_without_a_name_and_bits_without_a_field() -> None:
    """They are numbers, and come back."""
    config = Config(42, (1 << 63, 5, 7 << 45))
    assert to_text([config]).split() == [
        "config",
        "ifmap.options",
        f"0x{1 << 63:016x}",
        "word43",
        "0x0000000000000005",
        "ifmap.level0",
        "tag=7",
    ]
    assert from_text(to_text([config])) == [config]


def test_words_that_are_not_neighbours_are_several_configs() -> None:
    text = "config array_shape taps=3\n  ppu raw=1\n  ppu_first\nconfig ppu_second\n"
    assert [(each.index, len(each.words)) for each in from_text(text)] == [(0, 1), (4, 2), (6, 1)]


def chunk(number: int, **other: int) -> Transfer:
    """One of a ring of three, of 5 words each, from GLB word 10 on."""
    fields = {
        "dram_address": 800 + 40 * number,
        "glb_address": 10 + number % 3 * 5,
        "words": 5,
        "wait_passes": 2,
        "wait_chunks": 7 + number,
    }
    return Transfer(True, **{**fields, **other}, chunk=True)


@pytest.mark.parametrize(
    ("numbers", "changes", "counts"),
    [
        (range(8), {}, [8]),
        (range(1), {}, [1]),
        ((0, 1, 3, 4), {}, [2, 2]),
        ((0, 0), {}, [1, 1]),
        (range(6), {3: {"words": 4}}, [3, 1, 2]),
        (range(6), {3: {"glb_address": 25}}, [6]),  # the ring's end is behind its fourth place
        (range(6), {3: {"glb_address": 40}}, [4, 2]),
        (range(6), {4: {"wait_passes": 1}}, [4, 1, 1]),
        (range(6), {5: {"wait_chunks": 11}}, [5, 1]),
        (range(6), {2: {"dram_address": 0}}, [2, 1, 3]),
        (range(6), {key: {"wait_chunks": 0} for key in range(6)}, [6]),  # no wait
        (range(6), {key: {"wait_chunks": 0} for key in range(2)}, [2, 4]),
        (range(9), {6: {"glb_address": 15}}, [6, 2, 1]),  # a ring with another beginning
    ],
)
def test_chunks_that_go_on_are_one_command(numbers: list[int], changes: dict, counts: list[int]) -> None:
    """Of three words; none of them is more or less than the LOADs that it stands for."""
    commands = [*(chunk(number, **changes.get(number, {})) for number in numbers), End()]
    found = list(encoded(commands))
    assert [len(each) for each, _ in found[:-1]] == counts
    assert [len(words) for _, words in found[:-1]] == [2 if count == 1 else 3 for count in counts]
    assert disassemble(assemble(commands)) == commands


def test_a_chunk_at_the_last_word_of_all() -> None:
    """GLB addresses wrap behind it, whatever the ring is."""
    commands = [chunk(0, glb_address=65531), chunk(1, glb_address=0), chunk(2, glb_address=5), End()]
    assert len(assemble(commands)) == 4 and disassemble(assemble(commands)) == commands


def test_coded_chunks_are_one_command(seed: int) -> None:
    """With a word for each four lengths; the first one may begin with a table. A table later is another command."""
    rng = np.random.default_rng(seed)
    for count in range(1, 14):
        lengths, loads, dram = rng.integers(1, 200, count).tolist(), list[Command](), 64
        freed = int(rng.integers(3))
        for n, coded in enumerate(lengths):
            glb = 100 + 32 * (n % 3)
            waits = freed and freed + n
            loads.append(Transfer(True, dram, glb, 32, 5, waits, chunk=True, coded=coded, table=n == 0))
            dram += 8 * coded
        words = assemble([*loads, End()])
        assert words.size == 3 + -(-count // 4) + 1
        assert disassemble(words) == [*loads, End()]
        assert from_text(to_text(loads)) == loads
        if count > 1:
            again = [*loads[:-1], replace(loads[-1], table=True), End()]
            assert assemble(again).size == 3 + -(-(count - 1) // 4) + 4 + 1 and disassemble(assemble(again)) == again


def test_coded_commands_that_are_none() -> None:
    """No LOAD, a length of 0, several LOADs that are no chunks."""
    chunks = [Transfer(True, 64 + 40 * n, 2 * n, 2, chunk=True, coded=5) for n in range(2)]
    words = assemble([*chunks, End()])
    for number, value in ((2, 0), (3, 5), (0, int(words[0]) & ~16)):
        wrong = words.copy()
        wrong[number] = value
        with pytest.raises(ValueError, match="^word 0: .* a CODED of a wrong count, or with a length of 0$"):
            disassemble(wrong)


def test_coded_weights_of_other_transfers() -> None:
    for wrong in ({"load": False}, {"block": Block(1, 0, 0, 1, 0, 0)}, {"coded": 0}):
        with pytest.raises(ValueError, match="^coded weights are a load without a block, of some words in DRAM$"):
            replace(Transfer(True, 64, 0, 4, coded=3, table=True), **wrong).encode()


@pytest.mark.parametrize(
    ("written", "heads"),
    [
        ([0], 1),
        ([5, 6, 40, 57], 1),
        ([4, 57], 2),  # one word too far
        ([7, 3], 2),  # not in order
        ([3, 3], 2),
        (range(152), 3),
        ([0, 40, 41, 56, 88, 136, 140], 3),
    ],
)
def test_configs_share_a_command(written: Sequence[int], heads: int) -> None:
    """Each word follows the command that names it; the disassembled commands write the same words."""
    configs = [Config(index, (100 + n,)) for n, index in enumerate(written)]
    words = assemble([*configs, End()])
    assert words.size == heads + len(written) + 1
    found = [(c.index + n, word) for c in disassemble(words)[:-1] for n, word in enumerate(c.words)]
    assert found == [(index, 100 + n) for n, index in enumerate(written)]
    assert np.array_equal(assemble(disassemble(words)), words)


@pytest.mark.parametrize("opcode", [0, *range(8, 16)])
def test_unknown_opcode(opcode: int) -> None:
    with pytest.raises(ValueError, match=rf"^word 1: 0x000000000000000{opcode:x} is no command$"):
        disassemble(np.array([*Run(0, 0).encode(), opcode, 1], np.uint64))


@pytest.mark.parametrize(
    "command", [Config(1, (2, 3)), Transfer(True, 8, 1, 1), Transfer(False, 8, 1, 1, block=Block(1, 0, 0, 1, 0, 0))]
)
def test_list_that_ends_early(command: Command) -> None:
    reject_early_ends(assemble([Run(0, 0), command]))


def test_list_that_ends_within_chunks() -> None:
    reject_early_ends(assemble([Run(0, 0), chunk(0), chunk(1)]))


def reject_early_ends(words: np.ndarray) -> None:
    with pytest.raises(ValueError, match="^the list has no END$"):
        disassemble(words)
    for length in range(2, len(words)):
        with pytest.raises(ValueError, match="^word 1: .*: the list ends within the command$"):
            disassemble(words[:length])


@pytest.mark.parametrize(
    "command, at",
    [(End(), 0), (Run(1, 2), 0), (Transfer(True, 8, 1, 1, block=Block(1, 0, 0, 1, 0, 0)), 3)],
)
def test_bits_without_meaning(command: Command, at: int) -> None:
    words = assemble([command, End()])
    reject_bit(words, at, 63)


@pytest.mark.parametrize(("at", "bit"), [(0, 4), (0, 5), (2, 48), (2, 63)])
def test_bits_without_meaning_in_chunks(at: int, bit: int) -> None:
    reject_bit(assemble([chunk(0), chunk(1), End()]), at, bit)


def reject_bit(words: np.ndarray, at: int, bit: int) -> None:
    words[at] |= np.uint64(1 << bit)
    with pytest.raises(ValueError, match="^word 0: .*: a bit without meaning is set in the command$"):
        disassemble(words)
