# SPDX-License-Identifier: Apache-2.0
"""The lint of the prose: it finds given-up terms, and the project has none."""

from pathlib import Path

import pytest

from eyrie.runtime.folders import ROOT
from eyrie.testing import prose

RULES = prose.Rules()


def found(tmp_path: Path, name: str, text: str, kind: str) -> list[str]:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return RULES.terms_found(kind, prose.texts(tmp_path, kind))


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("docs/a.md", "The epoch of a pass.", "pages"),
        ("model/a.py", '"""Return the epoch of a pass."""\n', "Python"),
        ("model/a.py", "A = 1  # the epoch\n", "Python"),
        ("model/a.py", 'MESSAGE = f"the epoch of {1}"\n', "Python"),
        ("rtl/a.sv", "// the epoch of a pass\nmodule a; endmodule\n", "RTL"),
        ("runtime/a.h", "/* the epoch\n * of a pass */\n", "C"),
    ],
)
def test_terms_are_found(name: str, text: str, kind: str, tmp_path: Path) -> None:
    [line] = found(tmp_path, name, text, kind)
    assert line.startswith(f"{name}:1: 'epoch': write ")


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("docs/a.md", "Text.\n\n```sh\necho epoch\n```\n\n    epoch 1\n", "pages"),
        ("model/a.py", "epoch = 1\n", "Python"),
        ("rtl/a.sv", "logic epoch;\n", "RTL"),
        ("compiler/plan/a.py", "# the epoch\n", "Python"),
    ],
)
def test_code_is_left_out(name: str, text: str, kind: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.parent.mkdir(parents=True)
    path.write_text(text)
    assert RULES.terms_found(kind, prose.texts(tmp_path, kind, RULES.left_out)) == []


def test_long_sentences() -> None:
    long, short = " ".join(["Word"] * 36), " ".join(["Word"] * 35)
    assert prose.long_share([prose.Text("a", 1, f"{short}. One two three.")]) == 0
    assert prose.long_share([prose.Text("a", 1, f"{long}. One two three.")]) == pytest.approx(1 / 2)


def test_exceptions_have_reasons_and_are_few() -> None:
    text = prose.TERMS.read_text()
    assert text.count("[[exception]]") == text.count("reason = ") <= 15


def test_the_project_has_none() -> None:
    assert prose.faults(ROOT) == []
