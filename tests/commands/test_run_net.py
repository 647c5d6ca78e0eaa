# SPDX-License-Identifier: Apache-2.0
"""eyrie/commands/run.py: the model's outputs, progress, and rejections in one line without output."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from eyrie.compiler.folder import network_of, save
from eyrie.compiler.frontend import tflite
from eyrie.compiler.ir.image import Image
from eyrie.compiler.network import compile_network
from eyrie.runtime import progress
from eyrie.runtime.soc.runs import on_rtl
from tests.commands.commands import assert_rejected, eyrie, files, python
from tests.commands.small_nets import separable
from tests.runtime.damages import reseal


@pytest.fixture(scope="module")
def compiled(seed: int, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with net.tflite and what the compiler made of it, net/."""
    folder = tmp_path_factory.mktemp("compiled")
    (folder / "net.tflite").write_bytes(separable(np.random.default_rng(seed)))
    stages = compile_network(folder / "net.tflite")
    save(network_of(stages), folder / "net")
    return folder


@pytest.fixture
def net(compiled: Path, tmp_path: Path) -> Path:
    """A copy of net/, and good inputs x.npy beside it."""
    shutil.copytree(compiled / "net", tmp_path / "net")
    np.save(tmp_path / "x.npy", np.zeros((8, 8, 3), np.int8))
    return tmp_path / "net"


def run(net: Path, *more: object):
    folder = net.parent
    return eyrie(
        "run", net, "--input", folder / "x.npy", "--output", folder / "y.npy", "--back-end", "functional", *more
    )


@pytest.mark.parametrize("batch", [1, 2])
def test_golden_outputs(batch: int, compiled: Path, seed: int, tmp_path: Path) -> None:
    """Three images, in runs of one or of two at once."""
    values = np.random.default_rng(seed).integers(-128, 128, (3, 8, 8, 3)).astype(np.int8)
    np.save(tmp_path / "x.npy", values)
    net = compiled / "net"
    if batch > 1:
        net = tmp_path / "net"
        assert eyrie("compile", compiled / "net.tflite", "-o", net, "--batch", batch).returncode == 0
    ended = python(
        "-m",
        "eyrie",
        "run",
        net,
        "--back-end",
        "functional",
        "--input",
        tmp_path / "x.npy",
        "--output",
        tmp_path / "y.npy",
    )
    assert ended.returncode == 0, ended.stderr
    graph = tflite.load(compiled / "net.tflite")
    outputs = np.load(tmp_path / "y.npy")
    assert outputs.dtype == np.int8 and len(np.unique(outputs)) > 5
    np.testing.assert_array_equal(outputs, graph.run_images(values))


def entry(contents: dict, ends: str) -> dict:
    """Of the only input or output."""
    [found] = contents[ends].values()
    return found


def change_map(change: Callable[[dict], object]) -> Callable[[Path], object]:
    def damage(net: Path) -> None:
        contents = json.loads((net / "layout.json").read_text())
        change(contents)
        (net / "layout.json").write_text(json.dumps(contents))

    return damage


def truncate(path: Path, count: int) -> None:
    path.write_bytes(path.read_bytes()[:-count])


OUTSIDE = "layout.json: buffer "
NETWORKS: dict[str, tuple[Callable[[Path], object], str]] = {
    "no folder": (shutil.rmtree, "network.json: cannot be read (No such file or directory)"),
    "no image": (lambda net: (net / "image.bin").unlink(), "image.bin: cannot be read (No such file"),
    "map truncated": (lambda net: truncate(net / "layout.json", 50), "layout.json: not JSON ("),
    "map of something else": (
        lambda net: (net / "layout.json").write_text("[1, 2]"),
        "layout.json: an entry is unknown, missing or of the wrong kind",
    ),
    "map binary": (lambda net: (net / "layout.json").write_bytes(b"\xff\xfe\x80"), "layout.json: not JSON (no text in"),
    "another version": (
        change_map(lambda m: m.update(version=1)),
        "layout.json: has version 1 of the format, this is version ",
    ),
    "no version": (change_map(lambda m: m.pop("version")), "layout.json: has version null of the format"),
    "no program": (change_map(lambda m: m.pop("program")), "layout.json: program is missing"),
    "no layout": (change_map(lambda m: entry(m, "inputs").pop("layout")), "layout.json: layout is missing"),
    "layout of text": (change_map(lambda m: entry(m, "outputs")["layout"].update(cols="8")), "layout.json: "),
    "another shape": (
        change_map(lambda m: entry(m, "inputs").update(shape=[9, 8, 3])),
        "layout.json: shape and layout differ",
    ),
    "planes that are no truth": (
        change_map(lambda m: entry(m, "inputs")["layout"].update(planar=1)),
        "layout.json: planar must be true or false, is 1",
    ),
    "packed that is no truth": (
        change_map(lambda m: entry(m, "inputs")["layout"].update(packed=1)),
        "layout.json: packed must be true or false, is 1",
    ),
    "more channels than half a word": (
        change_map(lambda m: entry(m, "outputs")["layout"].update(packed=True)),
        "layout.json: shape and layout differ",
    ),
    "more channels than words": (
        change_map(lambda m: entry(m, "outputs").update(shape=[1, 1, 17])),
        "layout.json: shape and layout differ",
    ),
    "no rows": (
        change_map(lambda m: entry(m, "inputs")["layout"].update(rows=0)),
        "layout.json: rows must be an integer of at least 1, is 0",
    ),
    "no outputs": (change_map(lambda m: m.update(outputs={})), "layout.json: no inputs or no outputs"),
    "no images": (
        change_map(lambda m: m.update(images=0)),
        "layout.json: images must be an integer of at least 1, is 0",
    ),
    "program before the memory": (
        change_map(lambda m: m["program"].update(address=-8)),
        "layout.json: address must be an integer of at least 0, is -8",
    ),
    "program beyond the memory": (
        change_map(lambda m: m["program"].update(bytes=1 << 30)),
        "layout.json: something lies beyond the memory",
    ),
    "output where the input lies": (
        change_map(lambda m: entry(m, "outputs").update(address=entry(m, "inputs")["address"])),
        "layout.json: the program, an input or an output has no area of its own",
    ),
    "output a word further": (
        change_map(lambda m: entry(m, "outputs").update(address=entry(m, "outputs")["address"] + 8)),
        "layout.json: the program, an input or an output has no area of its own",
    ),
    "no steps": (change_map(lambda m: m.update(steps=[])), "layout.json: no steps"),
    "step without passes": (
        change_map(lambda m: m["steps"][0].update(passes=[])),
        "layout.json: a step without a name or without passes",
    ),
    "step of half a pass": (
        change_map(lambda m: m["steps"][0].update(passes=[0.5])),
        "layout.json: passes must be an integer, is 0.5",
    ),
    "step of less than nothing": (
        change_map(lambda m: m["steps"][0].update(macs=-1)),
        "layout.json: macs must be an integer of at least 0, is -1",
    ),
    "impossible accelerator": (change_map(lambda m: m["config"].update(rows=4)), "layout.json: rows = 4"),
    "input beyond": (
        change_map(lambda m: entry(m, "inputs").update(address=1 << 30)),
        "layout.json: something lies beyond the memory",
    ),
    "no buffers": (change_map(lambda m: m.pop("buffers")), "layout.json: buffers is missing"),
    "buffer beyond the GLB": (change_map(lambda m: m["buffers"][0].update(address=65_536)), OUTSIDE),
    "buffer beyond the passes": (change_map(lambda m: m["buffers"][0].update(last=10_000)), OUTSIDE),
    "buffer without a name": (
        change_map(lambda m: m["buffers"][0].update(name="")),
        "layout.json: a buffer without a name",
    ),
    "buffer at a text": (
        change_map(lambda m: m["buffers"][0].update(address="0")),
        'layout.json: address must be an integer, is "0"',
    ),
    "image truncated": (lambda net: truncate(net / "image.bin", 64), "image.bin: has "),
    "image empty": (lambda net: (net / "image.bin").write_bytes(b""), "image.bin: has 0 bytes, layout.json "),
}


@pytest.mark.parametrize("what", NETWORKS)
def test_no_compiled_network(what: str, net: Path) -> None:
    damage, message = NETWORKS[what]
    damage(net)
    before = files(net.parent)
    ended = run(net)
    assert_rejected(ended, f"eyrie run: {net}/{message}")
    assert ended.stderr.endswith(": give a folder that eyrie compile wrote\n")
    assert files(net.parent) == before


def seal(net: Path) -> None:
    """Let the digests go with the files as they are."""
    reseal(net)


def test_a_map_that_was_changed(net: Path) -> None:
    """Nothing but the seal speaks against another configuration, whose results are others."""
    change_map(lambda m: m["config"].update(cols=16))(net)
    assert_rejected(run(net), f"eyrie run: {net}: layout.json and image.bin are not as they were written together: ")
    assert not (net.parent / "y.npy").exists()


def test_accelerator_stops(net: Path) -> None:
    place = json.loads((net / "layout.json").read_text())["program"]["address"]
    dram = bytearray((net / "image.bin").read_bytes())
    dram[place] = 15
    (net / "image.bin").write_bytes(dram)
    assert_rejected(run(net), f"eyrie run: {net}: layout.json and image.bin are not as they ")
    seal(net)
    assert_rejected(run(net), f"eyrie run: {net}: ILLEGAL_COMMAND at command 0x{place:08x}: ")
    assert not (net.parent / "y.npy").exists()


@pytest.mark.parametrize("seed_", ["-1", "x"])
def test_seeds_rejected(seed_: str, net: Path) -> None:
    assert_rejected(run(net, "--seed", seed_), "eyrie run: ")


def test_networks_that_the_bench_cannot_run(net: Path, tmp_path: Path) -> None:
    values = np.zeros((1, 8, 8, 3), np.int8)
    change_map(lambda m: m["steps"][0].update(passes=list(range(9000))))(net)
    seal(net)
    with pytest.raises(
        ValueError, match="^the network takes 90[0-9]+ passes, the simulated SoC keeps account of 8192$"
    ):
        on_rtl(Image.load(net), values)


def test_networks_larger_than_the_usual_memory(net: Path, tmp_path: Path) -> None:
    """The simulated memory grows to what the image needs."""
    values = np.zeros((1, 8, 8, 3), np.int8)
    small = on_rtl(Image.load(net), values).output
    change_map(lambda m: m.update(bytes=5 << 20))(net)
    with (net / "image.bin").open("ab") as file:
        file.truncate(5 << 20)
    seal(net)
    assert np.array_equal(on_rtl(Image.load(net), values).output, small)


def test_the_rtl_says_how_far_it_is(net: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two runs of one image each: after each of them, and now and then within."""
    seen = []
    monkeypatch.setattr(progress.Task, "at", lambda self, *how_far: seen.append(how_far))
    values = np.zeros((2, 8, 8, 3), np.int8)
    on_rtl(Image.load(net), values)
    steps = json.loads((net / "layout.json").read_text())["steps"]
    names = [step["name"] for step in steps for _ in step["passes"]]
    told = [place for place in seen if len(place) == 3]  # a build of the model says less
    possible = [(0, 2 * len(names), "run 1 of 2, ")] + [
        (n + 1, 2 * len(names), f"run {n // len(names) + 1} of 2, {name}") for n, name in enumerate(2 * names)
    ]
    assert told == sorted(told) and set(told) <= set(possible)
    assert possible[len(names)] in told and told[-1] == possible[-1]
