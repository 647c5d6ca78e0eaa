# SPDX-License-Identifier: Apache-2.0
"""eyrie study: its page and pictures equal the files in docs/, a number that differs has a reason, and of LeNet the
numbers equal those counted by hand."""

import json
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from eyrie.commands import study
from eyrie.compiler.buffers.doubling import Doubling, Doublings, nests_of
from eyrie.compiler.buffers.doubling import doubling as doubling_of
from eyrie.compiler.frontend import tflite
from eyrie.compiler.study.fusion import filter_split
from eyrie.compiler.study.run_length import coded_bytes
from eyrie.measure.networks.classics import CLASSICS
from eyrie.measure.studies import compiled, doubling, fusion
from eyrie.measure.studies.section import NOT_HAD, PICTURES, Row, compared
from eyrie.model.config import DEFAULT
from eyrie.runtime import folders
from tests.commands.commands import assert_rejected, eyrie

SLOW = dict.fromkeys(("buffers", "movement"), pytest.mark.regress)


@pytest.mark.parametrize("name", [pytest.param(name, marks=SLOW.get(name, ())) for name in study.TEXTS])
def test_the_page_is_up_to_date(name: str, tmp_path: Path) -> None:
    section = import_module(f"eyrie.measure.studies.{name}").section(tmp_path)
    assert section.markdown().strip() in study.PAGE.read_text(), f"docs/research/study.md: run make study for {name}"
    for curves in section.curves:
        path = study.PAGE.parent / PICTURES / curves.file
        assert path.read_text() == curves.svg(), f"{path}: run make study"


def test_stored_compilations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All layers and networks are stored; their rooflines follow from the shapes; a short one compiles to the same."""
    found = compiled.stored()
    assert list(found) == [*compiled.STUDIED, *compiled.NETWORKS]
    least = {name: 0.1 if layer.kind == "normalization" else 0.5 for name, layer in compiled.STUDIED.items()}
    assert all(least.get(name, 0.5) < each.share <= 1 for name, each in found.items())
    for name, layer in compiled.STUDIED.items():
        if layer.kind == "convolution":
            [node] = layer.graph(np.zeros((layer.outputs, layer.kernel, layer.kernel, layer.channels), np.int8)).nodes
            assert found[name].roofline_cycles == node.macs // DEFAULT.total_multipliers
    monkeypatch.setattr(compiled, "STORED", tmp_path / "compiled.csv")
    compiled.store([compiled.compiled(tmp_path, "pool1").entry])
    assert compiled.stored() == {"pool1": found["pool1"]}
    assert_rejected(eyrie("study", "--compile", "pool3"), "eyrie study: unknown layer 'pool3'; did you mean 'pool2'?")


def test_few_numbers_are_missing() -> None:
    """Each has a reason."""
    missing = [line for line in study.PAGE.read_text().splitlines() if "| - |" in line]
    assert len(missing) <= 10 and all(line.count("| - |") == 1 for line in missing)


def test_accelerators_of_the_dissertation() -> None:
    """Each is as table 5.3 prints it. On LeNet-5 double buffering never loses, and no program is shorter than its
    bound."""
    nests = nests_of(tflite.from_bytes(CLASSICS["lenet5"]()))
    doublings = Doublings()
    for name in doubling.MACHINES:
        tree = doubling.machine(name)
        found = doublings.of(nests, tree)
        assert tree.name == name and found.bound <= found.best <= min(found.single, found.doubled)
        assert found.gain >= max(0, found.change)
        assert found == sum((doubling_of(nest, tree) for nest in nests), Doubling())


def test_run_lengths_counted_by_hand() -> None:
    """With runs of 2 bits, a pair has at most 3 zeros: 0 0 5 | 0 0 0 0 | 7 | 0 are 4 pairs of 10 bits."""
    values = np.array([0, 0, 5, 0, 0, 0, 0, 7, 0], np.int8)
    assert coded_bytes(values, 0, 2) == 5
    assert coded_bytes(values[:3], 0, 2) == coded_bytes(values[2:3], 0, 2) == 2
    assert coded_bytes(values[:0], 0, 5) == 0


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
    [split] = fusion.planned(chain[4:], "transfer", 400 + 24240, 2)
    assert filter_split(split, 400 + 24240, 2) == 2 and filter_split(split, 400 + 24239, 2) is None
    assert fusion.published_transfer(split, 2) == 2 * (400 + 24240)
    assert fusion.published_storage(split, 2) == 400 + 24240
