# SPDX-License-Identifier: Apache-2.0
"""Networks in parts for accelerator and host: compiled, loaded and run they give the reference's outputs; a folder that
is not what was compiled is rejected. test_random_graphs.py has random ones."""

import json
import random
import shutil
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from eyrie.compiler.artefact import files
from eyrie.compiler.folder import save
from eyrie.compiler.ir.failure import CompileError
from eyrie.compiler.parts import compile_parts
from eyrie.model.errors import InputError
from eyrie.model.interpreters import run_micro
from eyrie.runtime.back_ends.functional import Functional
from eyrie.runtime.back_ends.golden import golden_outputs
from eyrie.runtime.back_ends.rtl import Rtl
from eyrie.session import load
from eyrie.testing.samples import scaled
from eyrie.testing.tflite_builder import STEPS, Builder
from tb.net.random_branches import draw_network
from tests.commands.commands import assert_rejected, eyrie
from tests.compiler.test_partition import image_classifier
from tests.compiler.test_text import damaged
from tests.runtime.damages import places, reseal

EDITS = 15  # of each file


@pytest.fixture
def net(tmp_path: Path) -> Path:
    """QUANTIZE, a convolution, RESIZE_BILINEAR, a fully connected layer, SOFTMAX, DEQUANTIZE."""
    (tmp_path / "net.tflite").write_bytes(image_classifier())
    assert eyrie("compile", tmp_path / "net.tflite", "-o", tmp_path / "net").returncode == 0
    return tmp_path / "net"


def test_command_level_and_rtl(net: Path, seed: int, tmp_path: Path) -> None:
    values = np.random.default_rng(seed).normal(0, 5, (3, 4, 4, 1)).astype(np.float32)
    expected = np.concatenate([run_micro(image_classifier(), value[None])[0] for value in values])
    network = files.load(net)
    for back_end in (Functional(), Rtl(seed)):
        done = back_end.run(network, [values[:, None]])
        assert np.array_equal(done.outputs[0][:, 0], expected) and len(done.accelerator) == 2
        assert network.host_share == pytest.approx(30 / 68)
        assert network.host == ("#0 QUANTIZE", "#2 RESIZE_BILINEAR", "#5 SOFTMAX", "#6 DEQUANTIZE")
    assert all(part.runs[0]["counters"]["CYCLES"] > 0 for part in done.accelerator)
    np.save(tmp_path / "x.npy", values)
    ended = eyrie("run", net, "--input", tmp_path / "x.npy", "--output", tmp_path / "y.npy", "--back-end", "functional")
    assert ended.returncode == 0 and np.array_equal(np.load(tmp_path / "y.npy"), expected), ended.stderr
    np.save(tmp_path / "x.npy", values.astype(np.int8))
    ended = eyrie("run", net, "--input", tmp_path / "x.npy", "--output", tmp_path / "y.npy", "--back-end", "functional")
    assert_rejected(ended, f"eyrie run: {tmp_path / 'x.npy'}: input t0 is int8 3 x 4 x 4 x 1, the network takes ")


def test_branches_in_one_accelerator_part(seed: int, tmp_path: Path) -> None:
    """Several inputs and outputs of an accelerator part by name, on the functional simulator and on the RTL."""
    rng, path = np.random.default_rng(seed), tmp_path / "net.tflite"
    while True:
        path.write_bytes(draw_network(rng, side=8))
        with suppress(CompileError):
            compiled = compile_parts(path)
            if len(compiled.graph.inputs) > 1 < len(compiled.graph.outputs) and compiled.partition.host_share == 0:
                break
    save(compiled.network, tmp_path / "net")
    network = files.load(tmp_path / "net")
    inputs = [rng.integers(-128, 128, (2, *tensor.shape)).astype(np.int8) for tensor in network.inputs]
    for back_end in (Functional(), Rtl(seed)):
        done = back_end.run(network, inputs)
        assert len(done.accelerator) == 1
        for output, expected in zip(done.outputs, golden_outputs(network.whole_graph(), inputs), strict=True):
            np.testing.assert_array_equal(output, expected)


def test_predicted_second_operands(seed: int, tmp_path: Path) -> None:
    """A maximum that is fused with a convolution reads its second operand word by word, which limits the pass."""
    rng = np.random.default_rng(seed)
    net, shape, weights = Builder(), (1, 32, 32, 8), rng.integers(-127, 128, (8, 1, 1, 8))
    source, convolved, made = (net.tensor(shape, scale=0.1) for _ in range(3))
    filters = net.tensor(weights.shape, scale=0.01, data=weights)
    bias = net.tensor((8,), "int32", 0.001, data=rng.integers(-500, 500, 8))
    net.operator("CONV_2D", [source, filters, bias], [convolved], **STEPS)
    net.operator("MAXIMUM", [convolved, source], [made])
    (tmp_path / "net.tflite").write_bytes(net.pack([source], [made]))
    session = load(tmp_path / "net.tflite")
    session(rng.integers(-128, 128, shape).astype(np.int8))
    profile = session.profile()
    assert abs(profile.predicted_cycles - profile.measured_cycles) <= 0.03 * profile.measured_cycles


def test_several_outputs(tmp_path: Path) -> None:
    net = Builder()
    source, two = (net.tensor((1, 2, 2, 3), scale=scale) for scale in (0.1, 0.2))
    one = net.tensor((1, 2, 2, 3), scale=1 / 256, zero_point=-128)
    net.operator("SOFTMAX", [source], [one], beta=1.0)
    net.operator("QUANTIZE", [source], [two])
    (tmp_path / "net.tflite").write_bytes(net.pack([source], [one, two]))
    values = np.arange(-12, 12, dtype=np.int8).reshape(2, 2, 2, 3)
    np.save(tmp_path / "x.npy", values)
    assert eyrie("compile", tmp_path / "net.tflite", "-o", tmp_path / "net").returncode == 0
    ended = eyrie(
        "run",
        tmp_path / "net",
        "--input",
        tmp_path / "x.npy",
        "--output",
        tmp_path / "y.npz",
        "--back-end",
        "functional",
    )
    assert ended.returncode == 0, ended.stderr
    with np.load(tmp_path / "y.npz") as found:
        for number in range(2):
            expected = [run_micro((tmp_path / "net.tflite").read_bytes(), value[None])[number][0] for value in values]
            np.testing.assert_array_equal(found[f"arr_{number}"], expected)


def edit(change: Callable[[dict, dict[int, dict]], object]) -> Callable[[Path], None]:
    """Changes the description, or the maps of parts by number, and seals all of it again."""

    def damage(net: Path) -> None:
        contents = json.loads((net / "network.json").read_text())
        files = {int(path.parent.name[4:]): path for path in net.glob("part*/layout.json")}
        maps = {number: json.loads(path.read_text()) for number, path in files.items()}
        change(contents, maps)
        for number, path in files.items():
            path.write_text(json.dumps(maps[number]))
        (net / "network.json").write_text(json.dumps(contents))
        reseal(net)

    return damage


def text(old: str, new: str) -> Callable[[Path], None]:
    """Changes graph.txt, and seals all of it again."""

    def damage(net: Path) -> None:
        before = (net / "graph.txt").read_text()
        assert old in before
        (net / "graph.txt").write_text(before.replace(old, new, 1))
        reseal(net)

    return damage


def rename(contents: dict, end: str) -> None:
    [place] = contents[end].values()
    contents[end] = {"other": place}


@edit
def swap_folders(contents: dict, _: dict[int, dict]) -> None:
    one, other = (entry for entry in contents["subgraphs"] if entry["folder"])
    one["folder"], other["folder"] = other["folder"], one["folder"]


def unsealed(net: Path) -> None:
    contents = json.loads((net / "network.json").read_text())
    contents["subgraphs"][0]["reasons"] = []
    (net / "network.json").write_text(json.dumps(contents))


NOT_THE_ONE = "network.json: {} is not the one that was compiled with it"
DAMAGES = {
    "another graph": (
        lambda net: (net / "graph.txt").write_text("graph = None"),
        NOT_THE_ONE.format("graph.txt"),
    ),
    "other constants": (lambda net: (net / "constants.bin").write_bytes(b""), NOT_THE_ONE.format("constants.bin")),
    "another prediction": (
        lambda net: (net / "part1" / "summary.json").write_text("{}"),
        NOT_THE_ONE.format("part1/summary.json"),
    ),
    "another part": (lambda net: (net / "part1" / "layout.json").write_text("{}"), "part1/layout.json: has version"),
    "a resealed part": (
        lambda net: shutil.copytree(net / "part3", net / "part1", dirs_exist_ok=True),
        NOT_THE_ONE.format("part1/layout.json"),
    ),
    "no description": (lambda net: (net / "network.json").unlink(), "network.json: cannot be read (No such file"),
    "no graph": (lambda net: (net / "graph.txt").unlink(), "graph.txt: cannot be read (No such file"),
    "another version": (
        edit(lambda contents, _: contents.update(version=1)),
        "network.json: has version 1 of the format, this is version ",
    ),
    "not sealed": (unsealed, "network.json: an entry is not as it was written"),
    "no text": (lambda net: (net / "network.json").write_bytes(b"\xff"), "network.json: not JSON (no text in UTF-8)"),
    "another order": (
        edit(lambda contents, _: contents["subgraphs"].reverse()),
        "network.json: subgraph 1 reads t4, which no earlier subgraph computes",
    ),
    "a subgraph less": (
        edit(lambda contents, _: contents["subgraphs"].pop()),
        "network.json: graph.txt has another number of subgraphs",
    ),
    "an input renamed": (
        edit(lambda _, maps: rename(maps[1], "inputs")),
        "network.json: subgraph 1 reads other, which no earlier subgraph computes",
    ),
    "an output renamed": (
        edit(lambda _, maps: rename(maps[1], "outputs")),
        "network.json: subgraph 2 reads t3, which no earlier subgraph computes",
    ),
    "folders swapped": (swap_folders, "network.json: subgraph 1 reads t4, which no earlier subgraph computes"),
    "another configuration": (
        edit(lambda contents, _: contents["config"].update(cols=16)),
        "network.json: subgraph 1 is compiled for another configuration",
    ),
    "a word for a number": (
        edit(lambda contents, _: contents["config"].update(cols="16")),
        'network.json: cols must be an integer, is "16"',
    ),
    "a text for a list": (
        edit(lambda contents, _: contents.update(subgraphs="word")),
        "network.json: subgraphs: an entry is unknown, missing or",
    ),
    "an unknown entry": (edit(lambda contents, _: contents.update(moon=3)), "network.json: moon: an entry is unknown"),
    "no digests": (edit(lambda contents, _: contents.pop("digests")), "network.json: digests is missing"),
    "a list": (lambda net: (net / "network.json").write_text("[]"), "network.json: an entry is unknown, missing or of"),
    "a graph of half the text": (text("inputs = (", "inputs = (("), "network.json: graph.txt is not as it was written"),
    "another shape": (text("shape=(1, 4, 4, 2)", "shape=(1, 4, 2, 2)"), "network.json: "),
}


@pytest.mark.parametrize("what", DAMAGES)
def test_damaged_folders(what: str, net: Path, tmp_path: Path) -> None:
    damage, message = DAMAGES[what]
    damage(net)
    np.save(tmp_path / "x.npy", np.zeros((4, 4, 1), np.float32))
    ended = eyrie("run", net, "--input", tmp_path / "x.npy", "--output", tmp_path / "y.npy", "--back-end", "functional")
    assert_rejected(ended, f"eyrie run: {net}/{message}")
    assert ended.stderr.endswith(": give a folder that eyrie compile wrote\n")


def test_edited_and_sealed_again(net: Path, seed: int) -> None:
    """An entry missing, swapped with another, or of another kind: rejected in one line, or of no consequence."""
    rng = np.random.default_rng(seed)
    inputs = [rng.normal(0, 5, (1, 1, 4, 4, 1)).astype(np.float32)]
    expected = Functional().run(files.load(net), inputs).outputs[0]
    maps = [json.loads((net / f"part{number}" / "layout.json").read_text()) for number in (1, 3)]
    counts = [len(list(places(each))) for each in (json.loads((net / "network.json").read_text()), *maps)]
    rejected = 0
    for file, count in enumerate(counts):
        for number in sorted(rng.choice(count, min(count, EDITS), replace=False)):
            for value in (None, [], "word", -1):

                def change(contents: dict, maps: dict[int, dict], file=file, number=number, value=value) -> None:
                    container, key = list(places((contents, *maps.values())[file]))[number]
                    if value is None:
                        del container[key]
                    else:
                        container[key] = value

                copy = net.with_name("copy")
                shutil.copytree(net, copy)
                edit(change)(copy)
                try:
                    assert Functional().run(files.load(copy), inputs).outputs[0].shape == expected.shape
                except InputError as error:
                    assert str(error).startswith(str(copy)) and "\n" not in str(error), error
                    rejected += 1
                shutil.rmtree(copy)
    assert rejected


def test_a_graph_that_was_edited_and_sealed_again(net: Path, seed: int) -> None:
    """Another number, name or character in graph.txt: rejected in one line, or another network of the same shapes."""
    rng, written = random.Random(seed), (net / "graph.txt").read_text()
    inputs = [np.random.default_rng(seed).normal(0, 5, (1, 1, 4, 4, 1)).astype(np.float32)]
    counts: Counter = Counter()
    for _ in range(scaled(300)):
        (net / "graph.txt").write_text(damaged(written, "import", rng))
        reseal(net)
        try:
            network = files.load(net)
        except InputError as error:
            assert str(error).startswith(f"{net}/") and "\n" not in str(error), error
            assert str(error).endswith(": give a folder that eyrie compile wrote")
            counts["rejected"] += 1
            continue
        [output], [expected] = Functional().run(network, inputs).outputs, network.outputs
        assert output.shape == (1, *expected.shape)
        counts["accepted"] += 1
    assert min(counts["rejected"], counts["accepted"]) > 0, counts
