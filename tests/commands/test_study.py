# SPDX-License-Identifier: Apache-2.0
"""eyrie study: its page is the one in docs/, a number that differs has a reason, and of LeNet the numbers are those
counted by hand."""

import json
from importlib import import_module
from pathlib import Path

import pytest

from eyrie.commands import study
from eyrie.measure.studies import fusion, library
from eyrie.measure.studies.section import NOT_HAD, Row, compared
from eyrie.runtime import folders
from tests.commands.commands import assert_rejected, eyrie

LONG = {"library"}  # compiles layers for minutes
SLOW = dict.fromkeys(("buffers", "movement"), pytest.mark.regress)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=SLOW.get(name, ())) for name in study.TEXTS if name not in LONG]
)
def test_the_page_is_up_to_date(name: str, tmp_path: Path) -> None:
    made = import_module(f"eyrie.measure.studies.{name}").section(tmp_path).markdown().strip()
    assert made in study.PAGE.read_text(), f"docs/research/study.md is not what make study makes of {name}"


def test_the_page_has_the_layers_of_the_library(tmp_path: Path) -> None:
    """All but what is found of layers, which are not compiled: other figures change no more than where they stand."""
    page = study.PAGE.read_text()
    low, high = (
        library.tables({layer.name: library.Found(cycles, 4) for layer in library.STUDIED}, tmp_path)
        for cycles in (8, 5)
    )
    found = 0
    for one, other in zip(low.rows, high.rows, strict=True):
        start = f"| {one.what} | {one.printed} |"
        found += one.ours != other.ours
        assert start in page and (one.ours != other.ours or f"{start} {one.ours} | {one.note} |" in page)
        assert one.note in page
    assert found == 12 and low.source in page and all(table.text in page for table in low.tables)


def test_summary_and_page_of_some_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study, "BUILD", tmp_path)
    monkeypatch.setattr(folders, "BUILD", tmp_path)
    page = tmp_path / "page.md"
    ended = eyrie("study", "--texts", "tiling", "--page", page)
    assert ended.returncode == 0, ended
    summary = json.loads((tmp_path / "study" / "summary.json").read_text())
    rows = summary["texts"]["tiling"]
    assert summary["agree"] == sum(row["agrees"] is True for row in rows) > 40
    assert summary["differ"] == sum(row["agrees"] is False for row in rows)
    text = page.read_text()
    assert all(f"| {row['what']} | {row['printed']} | {row['ours']} |" in text for row in rows)


def test_a_text_that_is_not_there() -> None:
    ended = eyrie("study", "--texts", "tilling")
    assert_rejected(ended, "eyrie study: unknown text 'tilling'; did you mean 'tiling'?")


def test_a_number_that_differs_wants_a_reason() -> None:
    for row in (("1", NOT_HAD, "", None), ("1", "2", "", False)):
        with pytest.raises(ValueError, match="^cycles: .* wants a reason$"):
            Row("cycles", *row)
    assert compared("cycles", "2", "2", "why").note == "" and compared("cycles", "1", "2", "why").note == "why"


def test_storage_and_transfer_of_lenet() -> None:
    """Counted by hand: weights and biases of 174, 2,464 and 48,480 bytes; maps of 1,024, 4,704, 1,176, 1,600, 400."""
    chain = fusion.lenet()
    alone = fusion.planned(chain[4:], "transfer", 48880, 1)
    assert [fusion.published_storage(group) for group in alone] == [400 + 48480]
    [whole] = fusion.planned(chain, "transfer", 1 << 16, 1)
    assert fusion.published_storage(whole) == 4704 + 174 + 2464 + 48480
    assert fusion.published_transfer(whole) == 1024 + 174 + 2464 + 48480
    first, last = fusion.planned(chain, "transfer", 52 * 1024, 1)
    assert (len(first.layers), len(last.layers)) == (4, 1)
    assert fusion.published_transfer(first) == 1024 + 174 + 2464
