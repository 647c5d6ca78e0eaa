# SPDX-License-Identifier: Apache-2.0
"""Commands on networks with several inputs and outputs, and on networks in parts for accelerator and host."""

import json
from pathlib import Path

import numpy as np
import pytest

from eyrie.compiler.artefact import files
from eyrie.compiler.frontend import tflite
from eyrie.model.interpreters import run_micro
from eyrie.runtime import folders
from tests.commands.commands import Ended, assert_rejected, eyrie
from tests.commands.small_nets import INPUT, Quant, TfliteBuilder
from tests.compiler.test_partition import image_classifier


@pytest.fixture(autouse=True)
def build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for runs that no other test writes to."""
    monkeypatch.setattr(folders, "BUILD", tmp_path / "build")
    return tmp_path / "build"


@pytest.fixture
def two(tmp_path: Path) -> Path:
    """Two inputs that are read and one that is not; two outputs."""
    net = TfliteBuilder("two")
    parts = [net.input(name, (1, 2, 3, 8), INPUT) for name in ("left", "unread", "right")]
    made = [net.add("sum", parts[0], parts[2], Quant(0.1, 0)), net.binary("MUL", "product", parts[2], parts[0], INPUT)]
    (tmp_path / "two.tflite").write_bytes(net.build(made))
    assert eyrie("compile", tmp_path / "two.tflite", "-o", tmp_path / "two").returncode == 0
    return tmp_path / "two"


@pytest.fixture
def parts(tmp_path: Path) -> Path:
    (tmp_path / "parts.tflite").write_bytes(image_classifier())
    assert eyrie("compile", tmp_path / "parts.tflite", "-o", tmp_path / "parts").returncode == 0
    return tmp_path / "parts"


def run(net: Path, *more: object) -> Ended:
    return eyrie("run", net, "--input", net.parent / "x.npz", "--output", net.parent / "y.npz", *more)


@pytest.mark.parametrize(
    "how",
    [
        (),
        (
            "--back-end",
            "functional",
        ),
    ],
)
def test_several_inputs_and_outputs(how: tuple[str, ...], two: Path, build: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    left, unread, right = (rng.integers(-128, 128, (3, 2, 3, 8)).astype(np.int8) for _ in range(3))
    np.savez(two.parent / "x.npz", left, unread, right)
    ended = run(two, *how)
    assert ended.returncode == 0, ended.stderr
    graph = tflite.load(two.with_suffix(".tflite"))
    with np.load(two.parent / "y.npz") as found:
        for n in range(3):
            values = graph.run(left[n : n + 1], np.zeros((1, 2, 3, 8), np.int8), right[n : n + 1])
            for number, name in enumerate(("sum", "product")):
                np.testing.assert_array_equal(found[f"arr_{number}"][n], values[name][0])
    if not how:
        summary = json.loads((build / "run" / "summary.json").read_text())
        assert (summary["test"], summary["status"], summary["runs"]) == ("run", "pass", 3)
        assert (build / "run" / "report.html").exists()


ZEROS = np.zeros((2, 3, 8), np.int8)
BAD = {
    "one array": (lambda path: np.save(path.open("wb"), ZEROS), "an .npy file, a single array: save 3 arrays"),
    "too few": (lambda path: np.savez(path, ZEROS), "has arr_0, must have arr_0, arr_1, arr_2: save 3 arrays with "),
    "other names": (
        lambda path: np.savez(path, left=ZEROS, right=ZEROS),
        "has left, right, must have arr_0, arr_1, arr_2: ",
    ),
    "another shape": (
        lambda path: np.savez(path, ZEROS, ZEROS, ZEROS[1:]),
        "input right is int8 1 x 3 x 8, the network takes ",
    ),
    "another count": (
        lambda path: np.savez(path, ZEROS[None], ZEROS[None], np.stack([ZEROS] * 2)),
        "input right is int8 2 x 2 x 3 x 8, the network takes int8 1 x 2 x 3 x 8, or N of them",
    ),
}


@pytest.mark.parametrize("what", BAD)
def test_inputs_that_do_not_fit(what: str, two: Path) -> None:
    write, message = BAD[what]
    write(two.parent / "x.npz")
    assert_rejected(run(two, "--back-end", "functional"), f"eyrie run: {two.parent / 'x.npz'}: {message}")


def test_a_profile_of_several_inputs(two: Path, build: Path) -> None:
    """Random ones, and the outputs compared."""
    ended = eyrie("profile", two.with_suffix(".tflite"))
    assert ended.returncode == 0 and ended.stdout.endswith("match\n"), ended.stderr
    summary = json.loads((build / "profile" / "summary.json").read_text())
    assert summary["match"] and summary["comparisons"] == 2 * 2 * 3 * 8


def test_a_run_of_a_network_in_parts(parts: Path, build: Path, seed: int) -> None:
    values = np.random.default_rng(seed).normal(0, 5, (2, 4, 4, 1)).astype(np.float32)
    np.save(parts.parent / "x.npy", values)
    ended = eyrie("run", parts, "--input", parts.parent / "x.npy", "--output", parts.parent / "y.npy", "--seed", 5)
    assert ended.returncode == 0, ended.stderr
    expected = np.concatenate([run_micro(image_classifier(), value[None])[0] for value in values])
    np.testing.assert_array_equal(np.load(parts.parent / "y.npy"), expected)
    summary = json.loads((build / "run" / "summary.json").read_text())
    assert (summary["test"], summary["status"], summary["seed"]) == ("run", "pass", 5)
    assert summary["cycles"] == sum(part["cycles"] for part in summary["parts"]) and len(summary["parts"]) == 2
    assert summary["class"] == int(expected[0].argmax()) and summary["comparisons"] == 0 and "match" not in summary
    for number in range(2):
        page = build / "run" / f"report{number}" / "report.html"
        assert (
            f"accelerator part {number + 1} of 2" in page.read_text() and f"report{number}/report.html" in ended.stdout
        )


@pytest.mark.parametrize("what", ["folder", "model"])
def test_a_profile_of_a_network_in_parts(what: str, parts: Path, build: Path) -> None:
    ended = eyrie("profile", parts if what == "folder" else parts.with_suffix(".tflite"))
    assert ended.returncode == 0 and ended.stdout.endswith("match\n"), ended.stderr
    summary = json.loads((build / "profile" / "summary.json").read_text())
    assert summary["match"] and summary["comparisons"] == 3 and len(summary["parts"]) == 2
    assert ended.stdout.count("predicted  MAC bound") == 2 and "of all operations on the host" in ended.stdout


def test_dumps_of_a_network_in_parts(parts: Path) -> None:
    """A dump has each subgraph of the accelerator; with -o the folder is written, too."""
    model, out = parts.with_suffix(".tflite"), parts.parent / "out"
    alone = eyrie("compile", model, "--dump", "groups")
    assert alone.returncode == 0 and [line.split()[0] for line in alone.stdout.splitlines() if line] == [
        "part1:",
        "pointwise0",
        "part3:",
        "fc0",
    ]
    ended = eyrie("compile", model, "--dump", "groups", "-o", out)
    assert ended.stdout == alone.stdout and (out / "network.json").exists()


def test_a_batch_of_a_network_in_parts(parts: Path) -> None:
    out = parts.parent / "batch"
    assert eyrie("compile", parts.with_suffix(".tflite"), "-o", out, "--batch", 2).returncode == 0
    assert files.load(out).images == 2
