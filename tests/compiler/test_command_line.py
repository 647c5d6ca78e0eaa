# SPDX-License-Identifier: Apache-2.0
"""eyrie compile: what it prints and writes; bad input ends in one line, without output."""

import csv
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from eyrie.compiler.files import check_file
from eyrie.compiler.pipeline import NAMES
from eyrie.model.config import AcceleratorConfig
from eyrie.model.errors import InputError
from eyrie.runtime.bundled import MODEL
from eyrie.runtime.folders import ROOT
from eyrie.testing.samples import scaled
from eyrie.testing.tflite_builder import Builder
from tests.commands.commands import assert_rejected, eyrie, files, python
from tests.commands.small_nets import deep, separable
from tests.compiler.rejections import with_room


def compile_(*arguments: object):
    return eyrie("compile", *arguments)


def told(stderr: str) -> str:
    """Without the progress of slow configurations."""
    return "".join(line for line in stderr.splitlines(True) if not line.startswith("compiling "))


@pytest.fixture(scope="module")
def small(seed: int) -> bytes:
    return separable(np.random.default_rng(seed))


def test_compiles_and_dumps(small: bytes, tmp_path: Path) -> None:
    (tmp_path / "net.tflite").write_bytes(small)
    out = tmp_path / "new" / "out"
    run = compile_(tmp_path / "net.tflite", "-o", out)
    assert (run.returncode, told(run.stderr)) == (0, "")
    assert files(out) == FILES
    rows = list(csv.DictReader((out / "layers.csv").open()))
    summary = json.loads((out / "summary.json").read_text())
    steps = json.loads((out / "layout.json").read_text())["steps"]
    names = [step["name"] for step in steps]
    assert [row["name"] for row in rows] == [layer["name"] for layer in summary["layers"]] == names
    assert [line.split()[0] for line in run.stdout.splitlines()[: len(names) + 1]] == ["layer", *names]
    assert [int(row["macs"]) for row in rows] == [step["macs"] for step in steps]
    for stage in NAMES:
        run = compile_(tmp_path / "net.tflite", "--dump", stage)
        assert run.returncode == 0 and run.stdout.strip() and not told(run.stderr)
    assert run.stdout.splitlines()[0].startswith("0x00000000")


def test_quiet(small: bytes, tmp_path: Path) -> None:
    (tmp_path / "net.tflite").write_bytes(small)
    run = compile_(tmp_path / "net.tflite", "-o", tmp_path / "out", "--quiet")
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")
    assert files(tmp_path / "out") == FILES


def test_dump_takes_the_place_of_the_table(small: bytes, tmp_path: Path) -> None:
    (tmp_path / "net.tflite").write_bytes(small)
    run = compile_(tmp_path / "net.tflite", "-o", tmp_path / "out", "--dump", "assemble")
    assert run.returncode == 0
    assert run.stdout.rstrip("\n") == (tmp_path / "out" / "program.txt").read_text().rstrip("\n")
    assert files(tmp_path / "out") == FILES


@pytest.mark.parametrize(
    ("target", "said"), [("/dev/full", "eyrie compile: standard output: No space left on device\n"), ("pipe", "")]
)
def test_output_that_nobody_takes(target: str, said: str, small: bytes, tmp_path: Path) -> None:
    (tmp_path / "net.tflite").write_bytes(small)
    if target == "pipe":
        reader, writer = os.pipe()
        os.close(reader)
    elif not Path(target).exists():
        pytest.skip("no such device here")
    else:
        writer = os.open(target, os.O_WRONLY)
    command = [sys.executable, "-m", "eyrie", "compile", str(tmp_path / "net.tflite"), "--dump", "assemble"]
    run = subprocess.run(command, cwd=ROOT, stdout=writer, stderr=subprocess.PIPE, text=True)
    os.close(writer)
    assert (run.returncode, told(run.stderr)) == (1, said)


@pytest.mark.parametrize(
    ("lines", "slow"),
    [
        (
            "from argparse import ArgumentParser; from eyrie.compiler.command import add_arguments; "
            "add_arguments(ArgumentParser())",
            "numpy",
        ),
        ("from eyrie.command_line import run_command; run_command('compile', ['nosuch.tflite', '-o', 'out'])", "numpy"),
        *[
            (
                "from eyrie.command_line import run_command; "
                f"run_command({command.split()[0]!r}, {command.split()[1:]})",
                slow,
            )
            for command, slow in (
                ("accuracy --cifar10 nosuch", "torch"),
                ("train --cifar10 nosuch -o w.npz", "torch"),
                ("quantize nosuch.npz out.tflite --cifar10 nosuch", "torch"),
                ("profile nosuch", "numpy"),
                ("run nosuch --input x.npy --output nosuch/y.npy", "numpy"),
                ("demo --image nosuch", "torch"),
            )
        ],
        (
            "from eyrie.compiler.network import compile_until; from eyrie.compiler.pipeline import Request; "
            f"compile_until('groups', Request({str(MODEL)!r}))",
            "eyrie.compiler.plan.segments",
        ),
    ],
)
def test_imports_what_it_needs(lines: str, slow: str) -> None:
    run = python("-c", f"{lines}; import sys; print({slow!r} in sys.modules)")
    assert run.stdout.endswith("False\n"), run.stderr


def test_in_a_process_of_its_own(tmp_path: Path) -> None:
    run = python("-m", "eyrie", "compile", tmp_path / "none.tflite", "-o", tmp_path / "out")
    assert_rejected(
        run, f"eyrie compile: {tmp_path / 'none.tflite'}: cannot be read (No such file or directory): check the path"
    )
    assert not files(tmp_path)


PYTHON = re.compile(r"\w+Error\b|<class|object at|\(\d+, |\[\d+, |numpy|NoneType")  # what people do not write
PROGRAM = {"image.bin", "layout.json", "program.txt", "network.h", "layers.csv", "summary.json"}
FILES = PROGRAM | {"network.json", "graph.txt", "constants.bin"}
BROKEN = "damaged TensorFlow Lite file: something in it lies beyond its end"


def with_custom() -> bytes:
    """Has an operator that neither accelerator nor host runs."""
    net = Builder()
    source, output = (net.tensor((1, 8, 8, 8), scale=0.1) for _ in range(2))
    net.custom("Theirs", [source], [output])
    return net.pack([source], [output])


MODELS: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "empty": (lambda _: b"", "not a TensorFlow Lite or ONNX file: give an int8 .tflite or .onnx model"),
    "random": (lambda net: np.random.default_rng(1).bytes(len(net)), "not a TensorFlow Lite or ONNX file"),
    "header only": (lambda net: net[:8], BROKEN),
    "half": (lambda net: net[: len(net) // 2], BROKEN),
    "last bytes missing": (lambda net: net[:-64], BROKEN),
    "unsupported": (lambda _: with_custom(), "operator #0 Theirs: no such operator is known: write a function "),
}


@pytest.mark.parametrize("what", MODELS)
def test_models_rejected(what: str, small: bytes, tmp_path: Path) -> None:
    damage, message = MODELS[what]
    model = tmp_path / "net.tflite"
    model.write_bytes(damage(small))
    assert_rejected(compile_(model, "-o", tmp_path / "out"), f"eyrie compile: {model}: {message}")
    assert files(tmp_path) == {"net.tflite"}


def test_damaged_models_compile_or_are_rejected_in_one_line(small: bytes, seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    model = tmp_path / "net.tflite"
    rejected = 0
    for _ in range(scaled(150)):
        damaged = bytearray(small)
        for place in rng.integers(8, len(small), rng.integers(1, 6)):
            damaged[place] = rng.integers(256)
        model.write_bytes(damaged)
        run = compile_(model, "-o", tmp_path / "out")
        if run.returncode:
            assert_rejected(run, "eyrie compile: ")
            assert not PYTHON.search(run.stderr), run.stderr
            rejected += 1
    assert rejected > scaled(150) // 15


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"rows": 3, "cols": 2, "glb_bank_words": 256}, "group fc0 needs at least 20304 bytes of GLB, there are 16384"),
        ({"rows": 3, "glb_bank_words": 256}, "group fc0 needs at least 20304 bytes of GLB, there are 16384"),
    ],
)
def test_configurations_too_small(sizes: dict[str, int], message: str, tmp_path: Path) -> None:
    """With what the message asks for, and a little more for places, it compiles."""
    model = tmp_path / "deep.tflite"
    model.write_bytes(deep())
    config = tmp_path / "config.json"
    config.write_text(json.dumps(sizes))
    run = compile_(model, "-o", tmp_path / "out", "--config", config)
    remedy = "use a larger GLB or a smaller layer"
    assert_rejected(run, f"eyrie compile: {model}: operator #0: {message}: {remedy}")
    assert files(tmp_path) == {"config.json", "deep.tflite"}
    demand = int(re.search(r"at least (\d+) bytes", message)[1])
    config.write_text(json.dumps(with_room(AcceleratorConfig(**sizes), demand * 101 // 100).as_dict()))
    assert compile_(model, "-o", tmp_path / "out", "--config", config, "--search-iterations", 8).returncode == 0


@pytest.mark.parametrize("place", ["file", "file/below"])
def test_output_cannot_be_written(place: str, small: bytes, tmp_path: Path) -> None:
    (tmp_path / "net.tflite").write_bytes(small)
    (tmp_path / "file").write_text("in the way")
    run = compile_(tmp_path / "net.tflite", "-o", tmp_path / place)
    reason = f"cannot be written ({tmp_path / 'file'} is no folder): name a place"
    assert_rejected(run, f"eyrie compile: {tmp_path / place}: {reason}")
    assert files(tmp_path) == {"net.tflite", "file"} and (tmp_path / "file").read_text() == "in the way"


def test_a_file_without_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(InputError, match=r"\(no permission in .*\): name a folder that can be written$"):
        check_file(tmp_path / "net.svg")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_output_without_permission(small: bytes, tmp_path: Path) -> None:
    (tmp_path / "net.tflite").write_bytes(small)
    (tmp_path / "locked").mkdir(mode=0o555)
    run = compile_(tmp_path / "net.tflite", "-o", tmp_path / "locked" / "out")
    assert_rejected(run, f"eyrie compile: {tmp_path / 'locked' / 'out'}: cannot be written (no permission in ")


def test_said_before_compiling(small: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An unwritable folder: no stage begins."""
    from eyrie.compiler import command

    (tmp_path / "net.tflite").write_bytes(small)
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setattr(command, "compile_until", lambda *_, **__: pytest.fail("compiles"))
    assert_rejected(compile_(tmp_path / "net.tflite", "-o", tmp_path / "file"), "eyrie compile: ")


def test_output_is_whole_or_as_it_was(small: bytes, tmp_path: Path) -> None:
    (tmp_path / "net.tflite").write_bytes(small)
    out = tmp_path / "out"
    (out / "program.txt").mkdir(parents=True)
    (out / "layout.json").write_text("before")
    run = compile_(tmp_path / "net.tflite", "-o", out)
    assert_rejected(run, f"eyrie compile: {out / 'program.txt'}: cannot be written (a folder)")
    assert files(out) == {"layout.json", "program.txt"} and (out / "layout.json").read_text() == "before"
