# SPDX-License-Identifier: Apache-2.0
"""What sources of assembly may not do is rejected, in one line with its place: damages of whole ones, and
rejections."""

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from eyrie.compiler.assemble import assemble_file
from tests.compiler.assembly_sources import examples, write

LINES = [line for line in examples()[1].splitlines() if line]
LAYERS = (
    """input x 8,8,8 scale=0.05
filter w 8,8 values=WEIGHTS scale=0.01
filter d 3,3,8 values=TAPS scale=0.01
pointwise_conv p x w scale=0.1 zero_point=3 bias=1,2,3,4,5,6,7,8 activation=RELU
depthwise_conv q p d scale=0.1 pad=1,1,1,1 stride=2
max_pool r q kernel=2
mean s r
output s
""".replace("WEIGHTS", ",".join(["3"] * 64))
    .replace("TAPS", ",".join(["2"] * 72))
    .splitlines()
)

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
    return at(lines, number, word + lines[number][match.end() :], 1, "unknown statement")


def misspelt_field(rng, lines):
    number, match = chosen(rng, lines, r"(?<= )[a-z_]+(?==)")
    line = lines[number]
    return at(lines, number, line[: match.end()] + "qx" + line[match.end() :], match.start() + 1, f"'{match[0]}qx'")


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
    return at(
        lines,
        number,
        line[: match.start(1)] + bad + line[match.end(1) :],
        match.start() + 1,
        f"a scale is positive and finite, got {bad}",
    )


def too_large(rng, lines):
    """For the field of a descriptor."""
    number, match = chosen(rng, lines, r"\b(last|rows|cols|multiplier|enable)=(\w+)")
    line = lines[number]
    return at(
        lines,
        number,
        line[: match.start(2)] + "0x7fffffffff" + line[match.end(2) :],
        match.start() + 1,
        f".{match[1]} = {0x7FFFFFFFFF}: must be in 0 to",
    )


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
    return at(
        lines,
        number + 1,
        line[: match.start(1)] + first + line[match.end(1) :],
        match.start(1) + 1,
        f"{first} is there already, from line 1",
    )


def one_too_many(rng, lines):
    number, match = chosen(rng, lines, r"^(?:input|tensor|filter|fetch|send|mean|max_pool|\w+_conv)\b.*")
    return at(lines, number, f"{match[0]} more", len(match[0]) + 2, "not 'more' as well: leave it out")


def no_file(rng, lines):
    number, match = chosen(rng, lines, r"(?<=^filter \w )[\d,]+ values=[^ ]+")
    line = lines[number]
    return at(
        lines,
        number,
        f"{line[: match.start()]}none.npy{line[match.end() :]}",
        match.start() + 1,
        "none.npy: cannot be read",
    )


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
    return [*lines, "end", "barrier"], len(lines) + 2, 1, "barrier follows end"


def idle_stream(rng, lines):
    """A descriptor that the accelerator does not run: a stream is missing."""
    stream = rng.choice(["ifmap", "residual", "ofmap"])
    [start] = [n for n, line in enumerate(lines) if f"{stream}.options" in line]
    [run] = [n for n, line in enumerate(lines) if line.startswith("pass")]
    text, *_ = at(lines, start, lines[start].replace("enable=1", "enable=0"), 1, "")
    return text, run + 1, 1, "the accelerator stops with DESCRIPTOR"


def words_too_few(rng, lines):
    """A stream brings less than the others take, or more: it is said of the pass."""
    found = [n for n, line in enumerate(lines) if ".level1 last=3" in line]
    [run] = [n for n, line in enumerate(lines) if line.startswith("pass")]
    number = found[rng.integers(len(found) - 1)]  # of an operand
    text, *_ = at(lines, number, lines[number].replace("last=3", f"last={rng.choice([0, 1, 2, 4, 5])}"), 1, "")
    return text, run + 1, 1, "the accelerator stops with|which has no value"


def nothing_fetched(rng, lines):
    found = [n for n, line in enumerate(lines) if line.startswith("fetch")]
    number = found[rng.integers(len(found))]
    [run] = [n for n, line in enumerate(lines) if line.startswith("pass")]
    text = [line.replace("wait_transfers=2", "wait_transfers=1") for line in lines]
    return [*text[:number], *text[number + 1 :]], run, 1, "which has no value"


def token_that_never_comes(rng, lines):
    number, match = chosen(rng, lines, r"(wait_transfers|wait_passes)=(\d)")
    line = lines[number]
    return at(
        lines,
        number,
        f"{line[: match.start(2)]}{rng.integers(3, 99)}{line[match.end(2) :]}",
        1,
        "the accelerator stops with WATCHDOG",
    )


def no_wait(rng, lines):
    """A race."""
    number, match = chosen(rng, lines, r" (wait_transfers=[12]|wait_passes=1)")
    line = lines[number]
    return at(lines, number, line[: match.start()] + line[match.end() :], 1, "in no order")


def beyond_the_glb(rng, lines):
    number, match = chosen(rng, lines, r"^buffer +\w+ +words=16")
    return at(lines, number, f"{match[0]} at={8192 - rng.integers(16)}", 1, "the GLB has 8192")


def beyond_the_window(rng, lines):
    number, match = chosen(rng, lines, r"^fetch (\w+) \w+$")
    far = int(rng.integers(1 << 20, 1 << 28)) * 8
    return at(lines, number, f"load dram={far} glb={match[1]} words=16", 1, "the accelerator stops with DRAM_ADDRESS")


def nothing_stored(rng, lines):
    """A load of a tensor that the program has not made."""
    number, match = chosen(rng, lines, r"^fetch (\w+) \w+$")
    return at(lines, number, f"fetch {match[1]} y", 1, "which has no value")


def stored_over_an_input(rng, lines):
    number, match = chosen(rng, lines, r"^send y .*")
    more = match[0].replace("y", rng.choice(["a", "b"]), 1)
    return [*lines[: number + 1], more, *lines[number + 1 :]], number + 2, 1, "in no tensor"


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


BOTH = (
    misspelt_keyword,
    misspelt_field,
    no_number,
    given_twice,
    no_value,
    no_scale,
    bad_scale,
    unknown_operand,
    taken_name,
    one_too_many,
    behind_the_end,
    shape_of_two,
)
OF_LAYERS = (beyond_int8, no_file, ragged_values, window_too_large, other_channels)
OF_COMMANDS = (
    too_large,
    idle_stream,
    words_too_few,
    nothing_fetched,
    token_that_never_comes,
    no_wait,
    beyond_the_glb,
    beyond_the_window,
    nothing_stored,
    stored_over_an_input,
    output_in_part,
    long_stream,
)
DAMAGES = [
    (damage, lines) for lines, those in ((LINES, BOTH + OF_COMMANDS), (LAYERS, BOTH + OF_LAYERS)) for damage in those
]


@pytest.mark.parametrize("damage, lines", DAMAGES, ids=lambda value: getattr(value, "__name__", ""))
def test_damaged_sources(damage: Damage, lines: list[str], seed: int, tmp_path: Path) -> None:
    """300 in all: each is rejected in one line with the place of the damage, or of the pass that suffers from it."""
    rng = np.random.default_rng(seed)
    for _ in range(-(-300 // len(DAMAGES))):
        text, line, column, said = damage(rng, lines)
        source = write(tmp_path, "\n".join(text) + "\n")
        with pytest.raises(ValueError) as caught:
            assemble_file(source, search_iterations=1)
        message = str(caught.value)
        assert message.startswith(f"{source}:{line}:{column}: ") and "\n" not in message, message
        pattern = said if "|" in said else re.escape(said)
        assert re.search(pattern, message), message


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "1:1: no command and no layer"),
        ("input x 8 scale=1\n", "1:1: no command and no layer"),
        ("buffer b words=1\nload dram=0 glb=b words=1\n", "1:1: the program has no input"),
        ("input x 8 scale=1\noutput x\n", "2:8: x is an input: leave it out"),
        (
            "barrier\ninput x 8 scale=1\ntensor y 8 scale=1\noutput y\nbuffer b words=2\nfetch b x\nsend y b\n",
            "7:1: the program has no pass",
        ),
        ("input x 8 scale=1\naccelerator rows=6\n", "2:1: accelerator after other lines: put it first"),
        ("accelerator rows=5\n", "1:1: rows = 5: must be"),
        ("accelerator none.json\n", "1:1: "),
        ("image none\n", "1:7: "),
        (
            "input x 66,66,8 scale=1\nmax_pool y x kernel=1\naverage_pool z y kernel=66\noutput z\n",
            "3:1: AVERAGE_POOL_2D z: averages are of 1 to 2896 pixels",
        ),
        (
            "input x 600,600,64 scale=1\nmax_pool y x kernel=2\nmean z y\noutput z\n",
            "3:1: group average1 needs at least",
        ),
    ],
)
def test_rejections(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError) as caught:
        assemble_file(write(tmp_path, text))
    assert str(caught.value).startswith(f"{tmp_path / 'net.s'}:{message}"), caught.value
    assert "\n" not in str(caught.value)


def test_no_text(tmp_path: Path) -> None:
    (tmp_path / "net.s").write_bytes(b"input x\n \xff")
    with pytest.raises(ValueError, match=r"net\.s:2:2: no text in UTF-8: "):
        assemble_file(tmp_path / "net.s")
