# SPDX-License-Identifier: Apache-2.0
"""Levels as text: compiling on from each gives the program that compiling from the model gives; other segments change
no output; a text that is damaged, or says what cannot be, is rejected in one line that says where."""

import random
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from eyrie.commands import ir as ir_command
from eyrie.compiler.command_line import what_is_wrong
from eyrie.compiler.ir.graph import Graph
from eyrie.compiler.ir.heading import IMPORT, stage_of
from eyrie.compiler.ir_text import CHECKPOINTS, compiled, load, text_of
from eyrie.compiler.network import compile_network
from eyrie.compiler.results import Built
from eyrie.compiler.text.classes import classes, hints, takes
from eyrie.compiler.text.reading import Misread, values_of
from eyrie.compiler.text.writing import NoText, written
from eyrie.measure.networks.mobilenets import Layers
from eyrie.model.config import AcceleratorConfig
from eyrie.model.messages import about
from eyrie.runtime.networks import named_on_model
from tests.commands.commands import assert_rejected, eyrie

DAMAGED = 40  # texts of each level
FEW = 4  # arrangements that are tried: what they cost does not matter here
NUMBER = re.compile(r"(?<![\w.'])-?\d+(?![\w.'])")
PLACE = re.compile(r"[^:\n]+:\d+:\d+: [^\n]+")


def drawn(seed: list[int]) -> bytes:
    """A small network with a block, a residual branch, an average and a fully connected layer."""
    rng = np.random.default_rng(seed)
    layers = Layers("drawn", int(rng.integers(7, 15)), int(rng.integers(1 << 30)), channels=int(rng.integers(1, 6)))
    x = layers.conv(layers.input, int(rng.integers(1, 30)), 3, int(rng.integers(1, 3)))
    x = layers.conv(layers.depthwise(x, int(rng.integers(1, 3))), int(rng.integers(1, 40)))
    x = layers.add(x, layers.conv(layers.depthwise(x, 1), x.shape[3], relu=0))
    return layers.net.build([layers.fully_connected(layers.net.mean("average", x, x.quant), int(rng.integers(1, 20)))])


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory, seed: int) -> Path:
    path = tmp_path_factory.mktemp("text") / "drawn.tflite"
    path.write_bytes(drawn([seed, 1]))
    return path


@pytest.fixture(scope="module")
def work(model: Path) -> Built:
    return compile_network(model, search_iterations=FEW)


def outputs(work: Built, graph: Graph, seed: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """What the functional simulator makes of random inputs, and what the graph's golden model makes."""
    rng = np.random.default_rng([seed, 2])
    inputs = [rng.integers(-128, 128, tensor.shape).astype(np.int8) for tensor in graph.inputs]
    places = work.image.inputs
    given = {
        tensor.name: np.ascontiguousarray(value.reshape(1, *places[tensor.name].shape))
        for tensor, value in zip(graph.inputs, inputs)
    }
    made, golden = named_on_model(work.image, given), graph.run(*inputs)
    return ([value.ravel() for value in made.values()], [golden[tensor.name].ravel() for tensor in graph.outputs])


def same(made: list[np.ndarray], golden: list[np.ndarray]) -> bool:
    return all(np.array_equal(*pair) for pair in zip(made, golden, strict=True))


@pytest.mark.parametrize("level", CHECKPOINTS)
def test_compiling_goes_on_from_every_level(level: str, work: Built, tmp_path: Path) -> None:
    path = tmp_path / "net.txt"
    path.write_text(text_of(work, level))
    assert stage_of(path.read_bytes()) == level
    found = compile_network(path, search_iterations=FEW) if level == IMPORT else compiled(path)
    assert found.text == work.text
    assert np.array_equal(found.image.dram, work.image.dram) and found.image.layout == work.image.layout
    assert text_of(found, level) == text_of(work, level)


def test_commands(model: Path, work: Built, tmp_path: Path) -> None:
    """eyrie ir writes what eyrie compile goes on from; the text of the first level is a model."""
    assert tuple(CHECKPOINTS) == ir_command.STAGES
    for level in CHECKPOINTS:
        path = tmp_path / f"{level}.txt"
        assert eyrie("ir", model, level, "-o", path, "--quiet", "--search-iterations", FEW).returncode == 0
        assert path.read_text() == text_of(work, level)
        search_iterations = ["--search-iterations", FEW] if level == IMPORT else []
        assert eyrie("compile", path, "-o", tmp_path / level, "--quiet", *search_iterations).returncode == 0
        assert (tmp_path / level / "program.txt").read_text().splitlines() == work.text.splitlines()
    assert_rejected(
        eyrie("compile", path, "-o", tmp_path / "other", "--search-iterations", FEW),
        f"eyrie compile: {path}: the text says for which accelerator, and what else it is asked for: leave out",
    )
    assert str(load(tmp_path / "import.txt")) == str(work.graph)


def test_other_stripes_change_no_output(work: Built, tmp_path: Path, seed: int) -> None:
    """Segments with any height of stripes are compiled to the same outputs, or rejected."""
    text, rng, counts = text_of(work, "segments"), random.Random(seed), Counter()
    path = tmp_path / "net.txt"
    for _ in range(12):

        def changed(found: re.Match) -> str:
            return f"rows={rng.randint(1, 8)}" if rng.random() < 0.5 else found.group()

        body, mark, rest = text.partition("segments = ")
        path.write_text(body + mark + re.sub(r"rows=\d+", changed, rest))
        try:
            found = compiled(path)
        except ValueError as error:
            assert str(error).startswith(f"{path}: "), error
            counts["rejected"] += 1
            continue
        assert same(*outputs(found, work.graph, seed)), path.read_text()
        counts["same"] += 1
    assert counts["same"], counts


def damaged(text: str, level: str, rng: random.Random) -> str:
    """With another number, name or character in a line that is no long array; of segments, in those themselves."""
    lines = text.split("\n")
    number = rng.choice(
        [
            n
            for n, line in enumerate(lines)
            if n
            and line
            and not line.startswith(("data", "search_iterations"))
            and (level != "segments" or line.startswith(("segment", "tuple")))
        ]
    )
    line = lines[number]
    found = list(NUMBER.finditer(line))
    if found and rng.random() < 0.7:
        at = rng.choice(found)
        value = int(at.group())
        new = str(rng.choice([value - 1, value + 1, value + 8, 0, -1, 10**9]))
        lines[number] = line[: at.start()] + new + line[at.end() :]
    else:
        at = rng.randrange(len(line))
        lines[number] = line[:at] + rng.choice(["", "(", ",", "x", "'", "1"]) + line[at + rng.randrange(3) :]
    return "\n".join(lines)


@pytest.mark.parametrize("level", CHECKPOINTS)
def test_damaged_texts(level: str, work: Built, tmp_path: Path, seed: int) -> None:
    """Rejected in one line that begins with the path, or compiled; what is compiled computes what the text's own graph
    says, and of segments what the network does."""
    rng, text, counts = random.Random(f"{seed} {level}"), text_of(work, level), Counter()
    path = tmp_path / "net.txt"
    for _ in range(DAMAGED):
        path.write_text(damaged(text, level, rng))
        try:
            with about(path):
                found = compile_network(path, search_iterations=FEW) if level == IMPORT else compiled(path)
        except ValueError as error:
            said = what_is_wrong(error)
            assert said and "\n" not in said and said.startswith(str(path)), said
            counts["rejected"] += 1
            continue
        counts["taken"] += 1
        if level != "groups":
            graph = found.graph if level == IMPORT else found.folded if level == "passes" else work.graph
            made, golden = outputs(found, graph, seed)
            assert same(made, golden), path.read_text()
    # Of segments hardly any other is possible; test_other_stripes_change_no_output has those that are.
    assert counts["rejected"] > DAMAGED // 20 and (counts["taken"] or level == "segments"), counts


def test_where_a_text_is_wrong() -> None:
    for text, said in (
        ("a = Map(name='x', shape=(1, 2))", "1:25: Map.shape is (1, 2): it has to be tuple[int, int, int]"),
        ("a = 1\nb = c", "2:5: unknown value c: define it first"),
        ("a = b\nb = [a]", "2:6: a is made of itself: leave that out"),
        ("a = 1\na = 2", "2:1: a is there already: give another name"),
        ("a = ArrayMode.SIDEWAYS", "1:5: ArrayMode.SIDEWAYS is not there: ArrayMode has CONVOLUTION, "),
        ("a = Window(kernel=(1, 1), taps=3)", "1:27: Window has no field taps: it has kernel, "),
        ("a = open('x')", "1:5: no class open: "),
        ("a = [1 for x in y]", "1:5: not a value: "),
        ("import os", "1:1: name = value is wanted"),
        ("a = array('int8', [1, 300])", "1:5: no array: numbers are not a row of int8"),
        ("a = array('int8', (2,), 'eJxjBAAAAgAC')", "1:5: no array: (2,) of int8 are 2 bytes, not those"),
        ("a = (", "1:5: '(' was never closed"),
        ("a = 1\nb = 1or 2", "2:5: invalid decimal literal"),
    ):
        with pytest.raises(Misread) as caught:
            values_of("net.txt", text)
        assert str(caught.value).startswith(f"net.txt:{said}"), caught.value
        assert PLACE.fullmatch(str(caught.value))


def test_values_of_all_kinds_come_back(seed: int) -> None:
    rng = np.random.default_rng(seed)
    large = rng.integers(-99, 99, (5, 7)).astype(np.int16)
    config = AcceleratorConfig()
    values = {
        "a": [1, -2.5, float("inf"), None, True, "it's\n"],
        "b": {"x": (1,), 2: ()},
        "c": frozenset({"n", "m"}),
        "d": [large, large, np.array([1.5, -0.0], np.float32)],
        "e": (config, config),
    }
    found = values_of("net.txt", written(values))
    assert [found[name] for name in "abc"] == [values[name] for name in "abc"]
    assert found["d"][0] is found["d"][1] and np.array_equal(found["d"][0], large)
    assert found["d"][2].dtype == np.float32 and found["e"] == (config, config) and found["e"][0] is found["e"][1]
    with pytest.raises(NoText, match="^a function has no text$"):
        written({"a": [written]})


def test_all_classes_say_what_their_fields_take() -> None:
    known = classes()
    assert len(known) > 60
    for made in known.values():
        if not hasattr(made, "__members__"):
            assert all(hint is not None for hint in hints(made).values())
    assert takes(tuple[int, ...], (1, 2)) and not takes(tuple[int, ...], (1, True))
    assert takes(float, 1) and not takes(int, 1.0) and takes(int | None, None) and not takes(list[str], ["a", 1])
