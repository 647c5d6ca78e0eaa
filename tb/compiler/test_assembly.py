# SPDX-License-Identifier: Apache-2.0
"""Sources of assembly: they become what the same network compiles to, and what they may not do is refused."""

import re
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from compiler.assemble import Assembled, assemble_file, disassembled
from compiler.assembly.commands import from_text, to_text
from compiler.assembly.macros import MACROS
from compiler.assembly.words import slots
from compiler.cost.counters import commands_of
from compiler.frontend import tflite
from compiler.ir.program import Config, assemble, disassemble
from compiler.network import compile_network
from compiler.performance import performance
from model import encoding as enc
from model.encoding import Stream
from runtime.networks import named_on_model
from runtime.shipped import MODEL
from tb.compiler.assembly_sources import TEN_LAYERS, Both, examples, fully_connected, mixed, ten_layers, write
from tb.net.programs import draw_networks

EFFORT = 4
BY_HAND = examples()[1]


def outputs(assembled: Assembled, rng: np.random.Generator) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Drawn inputs, and what the command-level model makes of them."""
    image = assembled.image
    inputs = {name: rng.integers(-128, 128, (2, *place["shape"])).astype(np.int8)
              for name, place in image.map["inputs"].items()}
    return list(inputs.values()), list(named_on_model(image, inputs).values())


# ---- Words ----


def test_every_word_with_a_meaning_has_a_name() -> None:
    """The places of a descriptor are those that the encoding has room for."""
    names = [slot.name for slot in slots().values()]
    assert len(names) == len(set(names)) and max(slots()) < enc.CONFIG_WORDS
    per_stream = 3 + enc.LEVELS
    single = sum(name.endswith("_INDEX") and isinstance(getattr(enc, name.removesuffix("_INDEX"), None), enc.Word)
                 for name in vars(enc))
    assert len(names) == single + enc.STREAMS_INDEX - enc.ROW_IDS_INDEX + len(Stream) * per_stream


def test_fields_of_every_word_come_back(seed: int) -> None:
    """Any bits of any word: of its fields, or not."""
    rng = np.random.default_rng(seed)
    for index, slot in slots().items():
        fields = slot.word.pack(**{field.name: int(rng.integers(1 << field.width - field.signed))
                                   for field in slot.word.fields})
        for word in (0, fields, int(rng.integers(1 << 63)), (1 << 64) - 1):
            assert from_text(to_text([Config(index, (word,))])) == [Config(index, (word,))]
        assert slot.count > 1 or "0x" not in slot.text(fields)


def test_drawn_networks_round_trip(seed: int) -> None:
    for drawn in islice(draw_networks(seed, 80_000), 8):
        text = to_text(drawn.commands)
        words = assemble(from_text(text))
        assert disassemble(words) == drawn.commands
        assert words.tobytes() == drawn.image.dram[drawn.image.program :][: words.nbytes].tobytes()


# ---- Layers ----


@pytest.mark.parametrize("network", [fully_connected, ten_layers])
def test_layers_are_the_network(network: Callable[[np.random.Generator, Path], Both], seed: int,
                                tmp_path: Path) -> None:
    """As fast as the model, and with the model's values, which its golden model says."""
    rng = np.random.default_rng(seed)
    both = network(rng, tmp_path)
    assembled, compiled = assemble_file(both.source), compile_network(both.model)
    assert performance(compiled).cycles / performance(assembled.stages).cycles >= 0.97
    [inputs], [found] = outputs(assembled, rng)
    golden = tflite.load(both.model).run_images(inputs)
    assert len(np.unique(golden)) > 5 and np.array_equal(found, golden)


def test_two_layers_take_few_lines() -> None:
    assert len(examples()[0].splitlines()) <= 15
    layers = [line.split()[0] for line in TEN_LAYERS.splitlines() if " " in line and line.split()[0] in MACROS]
    assert len(layers) == 10 and len(set(layers)) == 7


@pytest.mark.parametrize("cut", ["depthwise_conv", "add", "max_pool", "fc +head"])
def test_barriers_change_no_value(cut: str, seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    both = ten_layers(rng, tmp_path)
    (tmp_path / "net.s").write_text(re.sub(rf"^{cut}", r"barrier\n\g<0>", TEN_LAYERS, flags=re.MULTILINE))
    assembled = assemble_file(both.source, effort=EFFORT)
    assert assembled.stages is None
    [inputs], [found] = outputs(assembled, rng)
    assert np.array_equal(found, tflite.load(both.model).run_images(inputs))


def test_blocks_that_read_the_same_map_of_few_channels(seed: int, tmp_path: Path) -> None:
    """Alone, a convolution would have it packed, a pool would not."""
    rng = np.random.default_rng(seed)
    lines = """input x 8,8,3 scale=0.1
        filter w w.npy scale=0.01
        conv c x w scale=1
        barrier
        max_pool p x kernel=2
        output c p"""
    weights = rng.integers(-127, 128, (8, 3, 3, 3)).astype(np.int8)
    found, whole = (outputs(assemble_file(write(tmp_path, text, w=weights)), np.random.default_rng(seed))
                    for text in (lines, lines.replace("barrier\n", "")))
    for barrier, alone in zip(found[1], whole[1], strict=True):
        assert len(np.unique(alone)) > 5 and np.array_equal(barrier, alone)


# ---- Commands ----


def expected_sum(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Of two maps with a scale of 0.05, in one of 0.1; halves may go either way."""
    return np.clip((a.astype(int) + b) / 2, -128, 127)


def test_an_addition_by_hand(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    (a, b), [found] = outputs(assemble_file(write(tmp_path, BY_HAND)), rng)
    assert np.abs(found - expected_sum(a, b)).max() <= 0.5


def test_commands_between_layers(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    assembled = assemble_file(write(tmp_path, mixed()))
    [a], [found, between] = outputs(assembled, rng)
    padded = np.pad(a.astype(int), ((0, 0), (1, 1), (1, 1), (0, 0)), constant_values=-128)
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(1, 2)).max((-1, -2))
    assert np.array_equal(between, windows)
    assert np.abs(found - expected_sum(a, windows).max((1, 2), keepdims=True)).max() <= 0.5
    assert {step["way"] for step in assembled.image.map["steps"]} > {"by hand"}


def test_a_machine_of_ones_own(tmp_path: Path) -> None:
    text = "machine glb_bank_words=512 bus_words=2\n" + BY_HAND
    machine = assemble_file(write(tmp_path, text)).image.machine
    assert (machine.glb_bank_words, machine.bus_words) == (512, 2)


def test_the_shipped_network_disassembles(tmp_path: Path) -> None:
    """A source that is its program makes the same folder; what is changed in it is what the program does."""
    stages = compile_network(MODEL, effort=EFFORT)
    stages.image.save(tmp_path / "net", stages.text)
    source = tmp_path / "net.s"
    source.write_text(disassembled(tmp_path / "net"))
    again = assemble_file(source)
    assert np.array_equal(again.image.dram, stages.image.dram) and again.text == stages.text
    source.write_text(source.read_text().replace("\nend\n", "\nload dram=0x0 glb=0 words=8 wait_passes=1\nend\n"))
    longer = assemble_file(source).image
    assert len(commands_of(longer)) == len(stages.schedule.commands) + 1
    assert longer.program >= stages.image.dram.size
    source.write_text(re.sub(r"wait_transfers=\d+", "wait_transfers=0", source.read_text(), count=1))
    with pytest.raises(ValueError, match=rf"^{source}:\d+:1: .*which nothing has written.*|in no order"):
        assemble_file(source)


# ---- What is refused ----

LINES = [line for line in BY_HAND.splitlines() if line]
LAYERS = """input x 8,8,8 scale=0.05
filter w 8,8 values=WEIGHTS scale=0.01
filter d 3,3,8 values=TAPS scale=0.01
pointwise_conv p x w scale=0.1 zero_point=3 bias=1,2,3,4,5,6,7,8 activation=RELU
depthwise_conv q p d scale=0.1 pad=1,1,1,1 stride=2
max_pool r q kernel=2
mean s r
output s
""".replace("WEIGHTS", ",".join(["3"] * 64)).replace("TAPS", ",".join(["2"] * 72)).splitlines()

Damage = Callable[[np.random.Generator, list[str]], tuple[list[str], int, int, str]]


def at(lines: list[str], number: int, new: str, column: int, what: str) -> tuple[list[str], int, int, str]:
    """Lines with one replaced; where, from 1, and what is to be said."""
    return [*lines[:number], new, *lines[number + 1 :]], number + 1, column, what


def chosen(rng: np.random.Generator, lines: list[str], pattern: str) -> tuple[int, re.Match]:
    """A line in which something is, and where."""
    found = [(number, match) for number, line in enumerate(lines) for match in re.finditer(pattern, line)]
    number, match = found[rng.integers(len(found))]
    return number, match


def misspelt_keyword(rng, lines):
    number, match = chosen(rng, lines, r"^[a-z_]+(?= )")
    word = match[0] + "qx"
    return at(lines, number, word + lines[number][match.end() :], 1, "no statement is named")


def misspelt_field(rng, lines):
    number, match = chosen(rng, lines, r"(?<= )[a-z_]+(?==)")
    line = lines[number]
    return at(lines, number, line[: match.end()] + "qx" + line[match.end() :], match.start() + 1,
              f"is named '{match[0]}qx'")


def no_number(rng, lines):
    number, match = chosen(rng, lines, r"\b(?:scale|last|words|zero_point|rows|kernel)=([-.\w]+)")
    line = lines[number]
    column = match.start() + 1
    return at(lines, number, line[: match.start(1)] + "1z" + line[match.end(1) :], column, "'1z' is no ")


def given_twice(rng, lines):
    number, match = chosen(rng, lines, r"(?<= )[a-z_]+=[^ ]+")
    return at(lines, number, f"{lines[number]} {match[0]}", len(lines[number]) + 2, "is given twice")


def no_value(rng, lines):
    number, match = chosen(rng, lines, r"(?<= )[a-z_]+=(?=[^ ])")
    line = lines[number]
    return at(lines, number, f"{line[: match.end()]} {line[match.end() :]}", match.start() + 1, "has no value")


def no_scale(rng, lines):
    number, match = chosen(rng, lines, r"^ *(?:input|tensor|filter|pointwise_conv|depthwise_conv)\b.*?( scale=[^ ]+)")
    line = lines[number]
    return at(lines, number, line[: match.start(1)] + line[match.end(1) :], 1, "scale=: it is missing")


def bad_scale(rng, lines):
    number, match = chosen(rng, lines, r"scale=([.\d]+)")
    line, bad = lines[number], rng.choice(["0", "-0.5", "nan", "inf", "1e99"])
    return at(lines, number, line[: match.start(1)] + bad + line[match.end(1) :], match.start() + 1,
              f"a scale is positive and finite, got {bad}")


def too_large(rng, lines):
    """For the field of a descriptor."""
    number, match = chosen(rng, lines, r"\b(last|rows|cols|multiplier|enable)=(\w+)")
    line = lines[number]
    return at(lines, number, line[: match.start(2)] + "0x7fffffffff" + line[match.end(2) :], match.start() + 1,
              f".{match[1]} = {0x7fffffffff}: must be in 0 to")


def beyond_int8(rng, lines):
    number, match = chosen(rng, lines, r"(?:values|zero_point)=(\d+)")
    line = lines[number]
    return at(lines, number, line[: match.start(1)] + "128" + line[match.end(1) :], match.start() + 1, "-128 to 127")


def unknown_operand(rng, lines):
    number, match = chosen(rng, lines, r"^(?:\w+_conv|max_pool|mean|fetch|send) +\w+ (\w+)")
    line = lines[number]
    return at(lines, number, line[: match.start(1)] + "nobody" + line[match.end(1) :], match.start(1) + 1, "'nobody'")


def taken_name(rng, lines):
    number, match = chosen(rng, lines[1:], r"^(?:input|tensor|filter|buffer|pointwise_conv|depthwise_conv) +(\w+)")
    line, [first] = lines[number + 1], re.findall(r"^input +(\w+)", lines[0])
    return at(lines, number + 1, line[: match.start(1)] + first + line[match.end(1) :], match.start(1) + 1,
              f"{first} is there already, from line 1")


def one_too_many(rng, lines):
    number, match = chosen(rng, lines, r"^(?:input|tensor|filter|fetch|send|mean|max_pool|\w+_conv)\b.*")
    return at(lines, number, f"{match[0]} more", len(match[0]) + 2, "not 'more' as well: leave it out")


def no_file(rng, lines):
    number, match = chosen(rng, lines, r"(?<=^filter \w )[\d,]+ values=[^ ]+")
    line = lines[number]
    return at(lines, number, f"{line[: match.start()]}none.npy{line[match.end() :]}", match.start() + 1,
              "none.npy: cannot be read")


def ragged_values(rng, lines):
    number, match = chosen(rng, lines, r"(?:values|bias)=(\d+,)")
    line = lines[number]
    return at(lines, number, line[: match.start(1)] + line[match.end(1) :], match.start() + 1, " values, | biases for ")


def shape_of_two(rng, lines):
    number, match = chosen(rng, lines, r"(?<= )\d+,(?=\d+,8 scale)")
    line = lines[number]
    return at(lines, number, line[: match.start()] + line[match.end() :], match.start() + 1, "one size, N, or three")


def window_too_large(rng, lines):
    number, match = chosen(rng, lines, r"^max_pool.*kernel=2")
    return at(lines, number, match[0].replace("=2", "=9"), 1, "a kernel of 9 x 9 does not fit")


def other_channels(rng, lines):
    """The filters of another layer."""
    number, match = chosen(rng, lines, r"^pointwise_conv \w \w (w)")
    line = lines[number]
    return at(lines, number, line[: match.start(1)] + "d" + line[match.end(1) :], match.start(1) + 1, "takes [M, C]")


def behind_the_end(rng, lines):
    return [*lines, "end", "barrier"], len(lines) + 2, 1, "barrier behind end"


def idle_stream(rng, lines):
    """A descriptor that the machine does not run: a stream is missing."""
    stream = rng.choice(["ifmap", "residual", "ofmap"])
    [start] = [n for n, line in enumerate(lines) if f"{stream}.options" in line]
    [run] = [n for n, line in enumerate(lines) if line.startswith("pass")]
    text, *_ = at(lines, start, lines[start].replace("enable=1", "enable=0"), 1, "")
    return text, run + 1, 1, "the machine stops with DESCRIPTOR"


def words_too_few(rng, lines):
    """A stream brings less than the others take, or more: it is said of the pass."""
    found = [n for n, line in enumerate(lines) if ".level1 last=3" in line]
    [run] = [n for n, line in enumerate(lines) if line.startswith("pass")]
    number = found[rng.integers(len(found) - 1)]  # of an operand
    text, *_ = at(lines, number, lines[number].replace("last=3", f"last={rng.choice([0, 1, 2, 4, 5])}"), 1, "")
    return text, run + 1, 1, "the machine stops with|which nothing has written"


def nothing_fetched(rng, lines):
    found = [n for n, line in enumerate(lines) if line.startswith("fetch")]
    number = found[rng.integers(len(found))]
    [run] = [n for n, line in enumerate(lines) if line.startswith("pass")]
    text = [line.replace("wait_transfers=2", "wait_transfers=1") for line in lines]
    return [*text[:number], *text[number + 1 :]], run, 1, "which nothing has written"


def token_that_never_comes(rng, lines):
    number, match = chosen(rng, lines, r"(wait_transfers|wait_passes)=(\d)")
    line = lines[number]
    return at(lines, number, f"{line[: match.start(2)]}{rng.integers(3, 99)}{line[match.end(2) :]}", 1,
              "the machine stops with WATCHDOG")


def no_wait(rng, lines):
    """A race."""
    number, match = chosen(rng, lines, r" (wait_transfers=[12]|wait_passes=1)")
    line = lines[number]
    return at(lines, number, line[: match.start()] + line[match.end() :], 1, "in no order")


def beyond_the_glb(rng, lines):
    number, match = chosen(rng, lines, r"^buffer +\w+ +words=16")
    return at(lines, number, f"{match[0]} at={8192 - rng.integers(16)}", 1, "there are 8192")


def beyond_the_window(rng, lines):
    number, match = chosen(rng, lines, r"^fetch (\w+) \w+$")
    far = int(rng.integers(1 << 20, 1 << 28)) * 8
    return at(lines, number, f"load dram={far} glb={match[1]} words=16", 1, "the machine stops with DRAM_ADDRESS")


def nothing_stored(rng, lines):
    """A load of a tensor that the program has not made."""
    number, match = chosen(rng, lines, r"^fetch (\w+) \w+$")
    return at(lines, number, f"fetch {match[1]} y", 1, "where nothing is")


def stored_over_an_input(rng, lines):
    number, match = chosen(rng, lines, r"^send y .*")
    more = match[0].replace("y", rng.choice(["a", "b"]), 1)
    return [*lines[: number + 1], more, *lines[number + 1 :]], number + 2, 1, "no tensor is"


def output_in_part(rng, lines):
    """A word of the output is not stored: the line that names it is at fault."""
    number, _ = chosen(rng, lines, r"^send")
    line, words = f"store dram=y glb=first words={rng.integers(1, 16)} wait_passes=1", lines
    assert words[-1] == "output y"
    return [*words[:number], line, *words[number + 1 :]], len(words), 8, "is not stored"


def long_stream(rng, lines):
    found = [n for n, line in enumerate(lines) if ".level1 last=3" in line]
    number = found[rng.integers(len(found))]
    [run] = [n for n, line in enumerate(lines) if line.startswith("pass")]
    stream = re.search(r"(\w+)\.level1", lines[number])[1]
    more = [f"  {stream}.level{n} last=16383" for n in (2, 3, 4)]
    text = [line + " level_pairs=2" if line.startswith(f"  {stream}.options") else line for line in lines]
    return [*text[: number + 1], *more, *text[number + 1 :]], run + 4, 1, "positions, "


BOTH = (misspelt_keyword, misspelt_field, no_number, given_twice, no_value, no_scale, bad_scale, unknown_operand,
        taken_name, one_too_many, behind_the_end, shape_of_two)
OF_LAYERS = (beyond_int8, no_file, ragged_values, window_too_large, other_channels)
OF_COMMANDS = (too_large, idle_stream, words_too_few, nothing_fetched, token_that_never_comes, no_wait, beyond_the_glb,
               beyond_the_window, nothing_stored, stored_over_an_input, output_in_part,
               long_stream)
DAMAGES = [(damage, lines) for lines, those in ((LINES, BOTH + OF_COMMANDS), (LAYERS, BOTH + OF_LAYERS))
           for damage in those]


@pytest.mark.parametrize("damage, lines", DAMAGES, ids=lambda value: getattr(value, "__name__", ""))
def test_damaged_sources(damage: Damage, lines: list[str], seed: int, tmp_path: Path) -> None:
    """300 in all: each is refused in one line with the place of the damage, or of the pass that suffers from it."""
    rng = np.random.default_rng(seed)
    for _ in range(-(-300 // len(DAMAGES))):
        text, line, column, said = damage(rng, lines)
        source = write(tmp_path, "\n".join(text) + "\n")
        with pytest.raises(ValueError) as caught:
            assemble_file(source, effort=1)
        message = str(caught.value)
        assert message.startswith(f"{source}:{line}:{column}: ") and "\n" not in message, message
        pattern = said if "|" in said else re.escape(said)
        assert re.search(pattern, message), message


@pytest.mark.parametrize("text, message", [
    ("", "1:1: no command and no layer"),
    ("input x 8 scale=1\n", "1:1: no command and no layer"),
    ("buffer b words=1\nload dram=0 glb=b words=1\n", "1:1: the program has no input"),
    ("input x 8 scale=1\noutput x\n", "2:8: x is an input: leave it out"),
    ("barrier\ninput x 8 scale=1\ntensor y 8 scale=1\noutput y\nbuffer b words=2\nfetch b x\nsend y b\n",
     "7:1: the program has no pass"),
    ("input x 8 scale=1\nmachine rows=6\n", "2:1: machine behind other lines: put it first"),
    ("machine rows=5\n", "1:1: rows = 5: must be"),
    ("machine none.json\n", "1:1: "),
    ("image none\n", "1:7: "),
    ("input x 66,66,8 scale=1\nmax_pool y x kernel=1\naverage_pool z y kernel=66\noutput z\n",
     "3:1: AVERAGE_POOL_2D z: averages are of 1 to 2896 pixels"),
    ("input x 600,600,64 scale=1\nmax_pool y x kernel=2\nmean z y\noutput z\n",
     "3:1: group average1 needs at least"),
])
def test_refusals(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError) as caught:
        assemble_file(write(tmp_path, text))
    assert str(caught.value).startswith(f"{tmp_path / 'net.s'}:{message}"), caught.value
    assert "\n" not in str(caught.value)


def test_no_text(tmp_path: Path) -> None:
    (tmp_path / "net.s").write_bytes(b"input x\n \xff")
    with pytest.raises(ValueError, match=r"net\.s:2:2: no text in UTF-8: "):
        assemble_file(tmp_path / "net.s")
