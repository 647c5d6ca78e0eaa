# SPDX-License-Identifier: Apache-2.0
"""The bars of eyrie bench: values found by key, verdicts, what is said of a missed one; the README's figures meet
them."""

import re

import pytest

from eyrie.commands.bench import DIFFERS, PARTS, report_verdict
from eyrie.measure.thresholds import THRESHOLDS, Bar, entries, judged
from eyrie.runtime.folders import ROOT

SUMMARY = {
    "match": True,
    "cycles": 100,
    "layers": [{"name": "a", "use": 0.5}, {"name": "b", "use": 0.9}],
    "part": {"match": True, "cycles": 7},
}
MOST, LEAST = Bar("part.cycles", "<=", 7, "a part", "make p"), Bar("layers.b.use", ">=", 0.91, "layer b", "make q")


def test_values_by_key() -> None:
    assert MOST.value(SUMMARY) == 7 and LEAST.value(SUMMARY) == 0.9
    with pytest.raises(KeyError):
        Bar("layers.c.use", ">=", 1, "", "").value(SUMMARY)


@pytest.mark.parametrize(
    ("comparison", "value", "met"),
    [("<=", 6, True), ("<=", 7, True), ("<=", 8, False), (">=", 6, False), (">=", 7, True), (">=", 8, True)],
)
def test_comparisons(comparison: str, value: float, met: bool) -> None:
    assert Bar("x", comparison, 7, "", "").met(value) == met


def test_bars_of_what_ran() -> None:
    """One whose part did not run is not judged; one without a value is missed."""
    lost = Bar("part.nosuch", "<=", 7, "lost", "make r")
    assert judged(SUMMARY, {"part"}, [MOST, LEAST, lost]) == [(LEAST, 0.9)]
    results = judged(SUMMARY, set(), [MOST, LEAST, lost])
    assert results == [(MOST, 7), (LEAST, 0.9), (lost, None)]
    assert [(entry["key"], entry["value"], entry["met"]) for entry in entries(results)] == [
        ("part.cycles", 7, True),
        ("layers.b.use", 0.9, False),
        ("part.nosuch", None, False),
    ]


def test_a_missed_bar_is_named(capsys: pytest.CaptureFixture) -> None:
    assert not report_verdict(SUMMARY, {"part": SUMMARY["part"]}, [(MOST, 7), (LEAST, 0.9)])
    missed = "MISSED layer b: 0.9 >= 0.91 (layers.b.use, make q)"
    assert capsys.readouterr().out.splitlines() == [
        "met    a part: 7 <= 7 (part.cycles, make p)",
        missed,
        "1 wrong:",
        missed,
    ]


def test_a_value_that_is_not_there_is_missed(capsys: pytest.CaptureFixture) -> None:
    assert not report_verdict(SUMMARY, {}, [(MOST, None)])
    assert capsys.readouterr().out.splitlines()[-1] == "MISSED a part: not measured <= 7 (part.cycles, make p)"


def test_wrong_results_are_named(capsys: pytest.CaptureFixture) -> None:
    sections = {"part": {"match": False}, "other": {"match": False, "reason": "no reason"}}
    assert not report_verdict(SUMMARY, sections, [(MOST, 7)])
    assert capsys.readouterr().out.splitlines()[1:] == ["2 wrong:", f"part: {DIFFERS}", "other: no reason"]


def test_all_well(capsys: pytest.CaptureFixture) -> None:
    assert report_verdict(SUMMARY, {"part": SUMMARY["part"]}, [(MOST, 7)])
    assert capsys.readouterr().out.splitlines()[-1] == "all results right, no bar missed"


def test_every_bar_is_measured_by_its_command() -> None:
    """A key of a part names it in its command; all others are of the run that every bench makes."""
    assert len({bar.key for bar in THRESHOLDS}) == len(THRESHOLDS)
    for bar in THRESHOLDS:
        part = bar.key.split(".")[0]
        assert bar.command == (f"make bench PARTS={part}" if part in PARTS else "make bench"), bar


def test_figures_of_the_readme_meet_the_bars() -> None:
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \| `(make bench[^`]*)` \|$", (ROOT / "README.md").read_text(), re.M)
    checked = set()
    for about, text, command in rows:
        numbers = [int(number.replace(",", "")) for number in re.findall(r"[\d,]*\d", text)]
        if text.startswith(f"{numbers[0]:,} cycles"):
            found = {
                bar.key: numbers[0]
                for bar in THRESHOLDS
                if bar.command == command and "cycles" in bar.key.split(".")[-1]
            }
        else:
            assert about == "DRAM traffic, batch 1"
            found = {"dram_over_compulsory": numbers[0] / numbers[1]}
        for bar in THRESHOLDS:
            if bar.key in found:
                assert bar.met(found[bar.key]), f"{about}: {bar.line(found[bar.key])}"
                checked.add(bar.key)
    assert checked == {
        "cycles",
        "dram_over_compulsory",
        "latency100.cycles",
        "batch4.cycles_per_image",
        "bus128.cycles",
        "codes.cycles",
        "mult48.cycles",
    }
