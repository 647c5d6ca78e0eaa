# SPDX-License-Identifier: Apache-2.0
"""eyrie explore: spaces, costs of points, Pareto front, runs on the RTL, and stored results."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import eyrie as library
from eyrie.compiler.parts import compile_parts
from eyrie.measure.exploration import COSTS
from eyrie.measure.exploration.explored import ALL, _mark_pareto, best
from eyrie.measure.exploration.space import Space
from eyrie.model.config import AcceleratorConfig
from eyrie.model.errors import InputError
from eyrie.runtime import summary_keys
from eyrie.runtime.synthesis.gate_model import gate_equivalents, memory_bits
from tests.commands.commands import assert_rejected, eyrie
from tests.commands.spaces import written
from tests.commands.test_zoo import convolution

SPACE = """
models = ["one.tflite", "two.tflite"]
[configuration]
rows = [3, 4, 6]
cols = [4, 8]
[options]
objective = ["cycles", "bytes"]
"""


@pytest.fixture
def space(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return written(SPACE, seed, tmp_path, monkeypatch)


def summary(space: Path) -> dict:
    return json.loads((space.parent / "build" / "explore" / "summary.json").read_text())


def test_costs_of_points(space: Path) -> None:
    """A point that is compiled alone has the same costs. The second time, stored results are used."""
    ended = eyrie("explore", space)
    assert ended.returncode == 0, ended.stderr
    found = summary(space)
    assert (found["combinations"], found["points"]) == (12, 8)  # 4 rows of PEs are illegal
    assert set(found) == set(summary_keys.EXPLORE) | {"test", "status", "seconds", "mismatches"}
    rows = found["rows"]
    assert len(rows) == 8 * 3 and rows[-1]["model"] == ALL
    for row in rows[::7]:
        if row["model"] != ALL:
            config = AcceleratorConfig(rows=row["rows"], cols=row["cols"])
            [part] = compile_parts(space.parent / row["model"], config, row["objective"]).performances
            assert (row["cycles"], row["dram_bytes"]) == (part.cycles, part.dram_bytes) and row["status"] == "ok"
            assert row["energy_uJ"] == round(part.energy_uJ, 2) and row["macs"] == part.macs
            assert sum(layer["macs"] for layer in row["layers"]) == part.macs
            assert row["gate_equivalents"] == round(gate_equivalents(config))
            assert row["memory_bits"] == memory_bits(config) and row["measured_cycles"] is None
    for first in range(0, len(rows), 3):
        one, two, both = rows[first : first + 3]
        assert both["cycles"] == one["cycles"] + two["cycles"] and both["point"] == one["point"] == first // 3
        assert len(both["layers"]) == len(one["layers"]) + len(two["layers"])
    assert ended.stdout.splitlines()[-1] == "pass: 8 points of 12 combinations, 8 of them run all models"
    assert eyrie("explore", space, "--budget", 0).stdout == ended.stdout


def test_points_on_the_rtl(space: Path) -> None:
    """The best points by an objective are measured, within a limit of gates."""
    space.write_text('models = ["one.tflite"]\n[configuration]\nrows = [3, 6]\ncols = [4]\n')
    ended = eyrie("explore", space, "--rtl", 1, "--gates", 1.3)
    assert ended.returncode == 0, ended.stderr
    small, large = summary(space)["rows"]
    assert small["measured_cycles"] and large["measured_cycles"] is None
    assert abs(small["cycles"] / small["measured_cycles"] - 1) < 0.03
    assert (
        "1 of them run all models with at most 1.3 MGE\n" in ended.stdout
        and f"{small['measured_cycles']:,}" in ended.stdout
    )
    wrong = eyrie("explore", space, "--gates", "x")
    assert_rejected(wrong, "eyrie explore: --gates 'x': must be a number of millions above 0")


def test_a_sample(space: Path) -> None:
    every = Space.load(space).points()
    sample = Space.load(space).sample(5, 1)
    assert len(sample) == 5 and all(point in every for point in sample) and sample != Space.load(space).sample(5, 2)
    assert Space.load(space).sample(50, 1) == every


def test_a_large_space(space: Path) -> None:
    """It is sampled or searched: its combinations are not enumerated."""
    sizes = {"rows": "3, 6, 9", "cols": range(3, 15), "dram_latency": range(10, 300), "psum_words": range(16, 100)}
    lines = [f"{name} = [{', '.join(map(str, v)) if isinstance(v, range) else v}]" for name, v in sizes.items()]
    space.write_text("\n".join(['models = ["one.tflite"]', "[configuration]", *lines]))
    assert_rejected(eyrie("explore", space), f"eyrie explore: {space}: has 876,960 combinations: use --search N or")
    sample = Space.load(space).sample(7, 1)
    assert len(sample) == 7 == len({point.name for point in sample}) and sample == Space.load(space).sample(7, 1)
    assert all(point.config for point in sample)


def test_pareto_front() -> None:
    """A point is on it unless another one is at least as good in each cost and better in one."""
    rng = np.random.default_rng(1)
    rows = [
        {"model": "a", "status": "ok", "point": n} | dict(zip(COSTS, map(int, rng.integers(0, 6, 4))))
        for n in range(200)
    ]
    _mark_pareto(rows)
    for row in rows:
        better = (
            all(other[cost] <= row[cost] for cost in COSTS) and any(other[cost] < row[cost] for cost in COSTS)
            for other in rows
        )
        assert row["pareto"] is not any(better)
    order = best(rows, "energy_uJ", 3)
    assert order[0]["energy_uJ"] == min(row["energy_uJ"] for row in rows if row["gate_equivalents"] <= 3)
    assert all(row["gate_equivalents"] <= 3 for row in order)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("rows = ", "not a TOML file (Invalid value (at end of document)): correct it"),
        ("model = []", "unknown entry 'model'; did you mean 'models'?"),
        ("models = []", "models: must be a list of files"),
        (
            'models = ["three.tflite"]',
            "three.tflite: cannot be read (No such file or directory): name a .tflite or .onnx model beside the space",
        ),
        ("[configuration]\nrow = [3]", "unknown parameter 'row'; did you mean 'rows'?"),
        ("[configuration]\nrows = 3", "rows: must be a list of different values: rows = [value, value]"),
        ("[configuration]\nrows = [3, 3]", "rows: must be a list of different values: rows = [value, value]"),
        ("[configuration]\nrows = [4, 5]", "no configuration is legal: rows = 4: must be 3, 6, 9, 12 or 15"),
        ('[configuration]\nrows = ["x"]', 'no configuration is legal: rows must be an integer, is "x"'),
        ('[options]\nobjective = ["speed"]', "unknown objective 'speed': choose from cycles, bytes, energy"),
        ("[options]\nsearch_iterations = [-1]", "search_iterations -1: must be a whole number, 1 or more"),
        ("[options]\nsearch = [1]", "unknown option 'search'; did you mean 'search_iterations'?"),
    ],
)
def test_wrong_spaces(space: Path, text: str, said: str) -> None:
    space.write_text(text)
    ended = eyrie("explore", space)
    assert ended.returncode == 1 and ended.stderr.startswith(f"eyrie explore: {space}: ") and said in ended.stderr
    assert len(ended.stderr.splitlines()) == 1


def test_a_rejected_model_is_a_row(space: Path) -> None:
    (space.parent / "two.tflite").write_bytes(convolution(np.random.default_rng(1), "float32"))
    assert eyrie("explore", space).returncode == 0
    rows = summary(space)["rows"]
    assert [row["status"] for row in rows[:3]] == ["ok", "rejected", "rejected"]
    assert rows[2]["reason"].startswith("two.tflite: operator #0 CONV_2D")


@pytest.mark.parametrize(("package", "options"), [("optuna", ["--search", 2]), ("pyarrow", ["--export", "x.parquet"])])
def test_without_the_extra(space: Path, monkeypatch: pytest.MonkeyPatch, package: str, options: list[object]) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    assert_rejected(eyrie("explore", space, *options), f"eyrie explore: {package} is not installed: make extra-explore")


def test_wrong_options(space: Path) -> None:
    both = eyrie("explore", space, "--sample", 2, "--search", 2)
    assert_rejected(both, "eyrie explore: --sample and --search choose points")
    assert_rejected(
        eyrie("explore", space, "--export", "x.txt"), "eyrie explore: --export x.txt: give a file .parquet or .csv"
    )


def test_the_library_needs_pandas(space: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    space.write_text('models = ["one.tflite"]')
    with pytest.raises(InputError, match="pandas is not installed: make extra-explore"):
        library.explore(space)
