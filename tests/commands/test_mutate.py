# SPDX-License-Identifier: Apache-2.0
"""eyrie/commands/mutate.py: what it lists and draws; the working tree stays as it is."""

import time
from collections import Counter
from pathlib import Path

import pytest

from eyrie.commands import mutate
from eyrie.measure.campaigns import engine, executors
from eyrie.measure.campaigns.task import Result
from eyrie.runtime import folders
from eyrie.runtime.folders import ROOT
from tests.commands.campaign_tasks import in_threads

SAMPLE = """\
// a == b in a comment
`include "assertions.svh"
module sample
  import eyrie_pkg::*;
#(
  parameter int unsigned WIDTH = 4
) (
  input  logic clk_i,
  input  logic rst_ni,
  output logic [WIDTH-1:0] count_o
);

  logic [WIDTH-1:0] count_q;
  assign ready = a && !b;  // c == d
  assign more  = count_q <= 4'd3;
  assign word  = half ? word_i[7:4] : word_i[3:0];
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      count_q <= '0;
    end else if (step) begin
      count_q <= count_q + 4'd1;
      if (last) done_q <= 1'b1;
    end
  end
  `EYRIE_ASSERT(Counts, a ==
      b && c, "a message")
  `ifndef SYNTHESIS
  assign unseen = a && b;
  `endif
endmodule
"""

CHANGES = {
    14: {"assign ready = a || !b;", "assign ready = a && b;"},
    15: {"assign more  = count_q < 4'd3;", "assign more  = count_q <= 4'd4;", "assign more  = count_q <= 4'd2;"},
    16: {"assign word  = half ? word_i[3:0] : word_i[7:4];"},
    19: {"count_q <= '1;", ";"},
    20: {"end else if (!(step)) begin"},
    21: {"count_q <= count_q - 4'd1;", "count_q <= count_q + 4'd2;", "count_q <= count_q + 4'd0;", ";"},
    22: {"if (!(last)) done_q <= 1'b1;", "if (last) done_q <= 1'b0;", "if (last);"},
}


def test_candidates_of_a_sample() -> None:
    found: dict[int, set[str]] = {}
    lines = SAMPLE.splitlines()
    for candidate in mutate.candidates("rtl/common/sample.sv", SAMPLE):
        assert candidate.before == lines[candidate.line - 1].split("//")[0].strip()
        found.setdefault(candidate.line, set()).add(candidate.after)
    assert found == CHANGES


def test_a_change_is_of_one_line() -> None:
    for candidate in mutate.candidates("rtl/common/sample.sv", SAMPLE):
        changed = mutate.apply(candidate, SAMPLE).splitlines()
        differ = [n for n, pair in enumerate(zip(SAMPLE.splitlines(), changed, strict=True), 1) if pair[0] != pair[1]]
        assert differ == [candidate.line]


def _drawn(seed: int, count: int) -> list:
    queues, turns = mutate.draw(mutate.by_block(ROOT), seed, count)
    return [candidate for block, wanted in turns.items() for candidate in queues[block][:wanted]]


def test_the_seed_decides_and_blocks_take_turns() -> None:
    rounds = 2 * len(mutate.BLOCKS)
    drawn = _drawn(1, rounds)
    assert drawn == _drawn(1, rounds) and drawn != _drawn(2, rounds)
    assert len(set(drawn)) == rounds
    assert Counter(mutate.place(candidate.file)[0] for candidate in drawn) == dict.fromkeys(mutate.BLOCKS, 2)
    assert max(Counter(mutate.place(each.file)[0] for each in _drawn(1, 5)).values()) == 1


def test_every_file_has_benches_that_exist() -> None:
    from eyrie.testing.catalogue import simulation_tests

    for path in (ROOT / "rtl").rglob("*.sv"):
        if path.name not in mutate.GENERATED:
            names = mutate.place(str(path.relative_to(ROOT)))[1]
            assert names and set(names) <= set(simulation_tests())


def test_equivalent_changes_are_candidates() -> None:
    found = {(item.file, item.before, item.after) for block in mutate.by_block(ROOT).values() for item in block}
    assert set(mutate.EQUIVALENT) <= found


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A project with one RTL file."""
    for name in (*mutate.COPIED, "rtl/common", ".venv"):
        (tmp_path / name).mkdir(exist_ok=True)
    (tmp_path / "rtl" / "common" / "fifo.sv").write_text(SAMPLE)
    (tmp_path / "tb" / "new.txt").write_text("new")
    (tmp_path / "pyproject.toml").write_text("")
    return tmp_path


def _contents(root: Path) -> dict[Path, str]:
    paths = (path for path in root.rglob("*") if path.is_file())
    return {path: path.read_text() for path in paths if not {"build"} & set(path.relative_to(root).parts)}


@pytest.mark.parametrize(("status", "result"), [("fail", "killed"), ("pass", "survived"), ("no build", "no build")])
def test_the_working_tree_is_never_changed(
    repository: Path, monkeypatch: pytest.MonkeyPatch, status: str, result: str
) -> None:
    before = _contents(repository)
    candidate = mutate.candidates("rtl/common/fifo.sv", SAMPLE)[0]
    monkeypatch.setattr(folders, "BUILD", repository / "build")
    copy = repository / "build" / "mutations" / "0"
    seen = []

    def run(self: mutate.Tree, bench: str) -> dict[str, str | None]:
        text = (copy / candidate.file).read_text()
        seen.append((bench, text))
        changed = text != SAMPLE
        return {"status": status if changed else "pass", "reason": "because" if changed else None}

    monkeypatch.setattr(mutate.Tree, "run", run)
    with mutate.free_tree(repository) as tree, mutate.free_tree(repository) as other:
        assert (tree, other) == (copy, copy.with_name("1"))
        tried = mutate.Tree(tree, seed=1).trial(candidate)
    assert tried["result"] == result
    assert seen[0] == ("fifo0", mutate.apply(candidate, SAMPLE))
    assert (copy / "tb" / "new.txt").read_text() == "new"
    assert (copy / candidate.file).read_text() == SAMPLE  # taken back
    assert _contents(repository) == before


def test_a_bench_that_fails_anyway_is_rejected(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders, "BUILD", repository / "build")
    monkeypatch.setattr(mutate.Tree, "run", lambda *_: {"status": "fail", "reason": "it is broken"})
    with (
        mutate.free_tree(repository) as tree,
        pytest.raises(mutate.BaselineError, match="fifo0 fails without a change: it is broken"),
    ):
        mutate.Tree(tree, seed=1).trial(mutate.candidates("rtl/common/fifo.sv", SAMPLE)[0])


def test_a_mutant_that_does_not_build_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the next candidate of its block; the number of mutants stays."""
    began: list[str] = []

    def tried(folder: Path, candidate: dict, seed: int) -> Result:
        began.append(candidate["file"])
        result = "no build" if len(began) in (2, 5) else "killed"
        return Result(candidate | {"result": result, "bench": None, "reason": None})

    monkeypatch.setattr(folders, "BUILD", tmp_path / "build")
    monkeypatch.setattr(executors, "local", in_threads)
    monkeypatch.setattr(mutate, "tried", tried)
    found, left = mutate.mutants(engine.Campaign("mutate", time.time() + 60, 1), tmp_path, 1, 4)
    assert not left and len(found) == 4 and len(began) == 6
    blocks = [mutate.place(file)[0] for file in began]
    assert blocks[1] == blocks[4] == blocks[5] and len(set(blocks)) == 4
    (tmp_path / "again").mkdir()
    found, left = mutate.mutants(engine.Campaign("mutate", time.time() - 1, 1), tmp_path / "again", 2, 3)
    assert not found and len(left) == 3
