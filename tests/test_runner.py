# SPDX-License-Identifier: Apache-2.0
"""The runner's own promises: a run that proves nothing fails, bad requests are one line."""

import json
from dataclasses import replace

import pytest

from eyrie.runtime.simulator.simulate import _failure, simulate
from eyrie.runtime.simulator.sources import SourceError, closure
from eyrie.testing.catalogue import find


def test_summary_has_the_promised_entries(tmp_path) -> None:
    simulate(find("fifo0"), seed=3, target=tmp_path)
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["status"] == "pass" and summary["test"] == "fifo0" and summary["seed"] == 3
    assert summary["cycles"] > 0 and summary["comparisons"] > 0 and summary["mismatches"] == 0


def test_same_seed_same_run(tmp_path) -> None:
    runs = [simulate(find("skid0"), seed, target=tmp_path)["cycles"] for seed in (5, 5, 6)]
    assert runs[0] == runs[1] != runs[2]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("assert0", "planted: the bit rose"),
        ("assert3", "expected 1, got 2"),
        ("assert4", "nothing was compared"),
    ],
)
def test_alarms_fail_a_run(name, reason, tmp_path) -> None:
    result = simulate(replace(find(name), expect_fail=None), seed=1, target=tmp_path)
    assert result["status"] == "fail" and reason in result["reason"]


def test_expected_failure_has_to_happen(tmp_path) -> None:
    for name in ("fifo0", "assert0"):  # one that passes, one that fails with another message
        bench = replace(find(name), expect_fail="no such message")
        assert simulate(bench, seed=1, target=tmp_path)["status"] == "fail"


def test_missing_testcase_fails(tmp_path) -> None:
    result = simulate(replace(find("fifo0"), testcase="no_such"), seed=1, target=tmp_path)
    assert result["status"] == "fail" and result["reason"].startswith("the module has no test")


@pytest.mark.parametrize(
    ("failure", "reason"),
    [
        ("<failure/>", "the test failed"),
        ('<failure message=""/>', "the test failed"),
        ('<error message="one&#10;two"/>', "one"),
    ],
)
def test_reason_is_one_line_whatever_the_message(failure, reason, tmp_path) -> None:
    (tmp_path / "log.txt").write_text("")
    (tmp_path / "results.xml").write_text(f"<testsuite><testcase>{failure}</testcase></testsuite>")
    assert _failure(tmp_path) == reason


def test_endless_simulation_is_ended(tmp_path) -> None:
    result = simulate(replace(find("fifo0"), cycles=100), seed=1, target=tmp_path)
    assert result["status"] == "fail" and "no end after 100 cycles" in result["reason"]


def test_benches_of_one_test_draw_differently() -> None:
    assert find("pass0").testcase == find("pass4").testcase
    assert len({find(name).seed(seed) for name in ("pass0", "pass4") for seed in (1, 2)}) == 4


def test_sources_come_before_their_users() -> None:
    names = [path.name for path in closure("fifo")]
    assert names == ["assertions.svh", "fifo.sv"]
    with pytest.raises(SourceError, match="module nosuch needs one file nosuch.sv"):
        closure("nosuch")
