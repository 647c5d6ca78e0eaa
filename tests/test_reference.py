# SPDX-License-Identifier: Apache-2.0
"""The generated pages of docs/reference/ are up to date, and their sources have a text for every name."""

import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from eyrie.compiler.operators.registry import Framework, of_tflite, translators
from eyrie.compiler.performance import Layer, Performance
from eyrie.measure.trials import Entry
from eyrie.model import descriptions, encoding
from eyrie.model.config import DEFAULT
from eyrie.model.descriptor_texts import FIELDS, VALUES, WORDS
from eyrie.model.status import Control, Status
from eyrie.runtime import summary_keys
from eyrie.runtime.folders import ROOT
from scripts import gen_reference
from scripts.reference import operators
from scripts.reference.markdown import docstring, table
from tests.runtime.runs import made_up


def test_the_pages_are_up_to_date() -> None:
    command = [sys.executable, "scripts/gen_reference.py", "--check"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def test_a_stale_page_is_found(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture, tmp_path) -> None:
    (tmp_path / "ports.md").write_text("# Ports\n")
    monkeypatch.setattr(gen_reference, "FOLDER", tmp_path)
    monkeypatch.setattr(gen_reference, "PAGES", {"ports.md": gen_reference.PAGES["ports.md"]})
    monkeypatch.setattr(sys, "argv", ["gen_reference.py", "--check"])
    assert gen_reference.main() == 1
    assert capsys.readouterr().err == f"{tmp_path / 'ports.md'}: not up to date; run scripts/gen_reference.py\n"


def test_every_name_has_a_text() -> None:
    assert list(descriptions.REGISTERS) == list(encoding.Register)
    assert list(descriptions.COUNTERS) == list(encoding.Counter)
    assert list(descriptions.ERRORS) == list(encoding.ErrorCode)
    assert list(descriptions.OPCODES) == list(encoding.Opcode)
    assert list(descriptions.CONTROL) == list(Control) and list(descriptions.STATUS) == list(Status)


@pytest.mark.parametrize(
    "words, texts", [(encoding.COMMAND_WORDS, descriptions.COMMAND_FIELDS), (encoding.CONFIG_FORMATS, FIELDS)]
)
def test_every_field_has_a_text(words: tuple, texts: dict) -> None:
    assert {word.name: [field.name for field in word.fields] for word in words} == {
        name: list(fields) for name, fields in texts.items()
    }


def test_every_value_has_a_text() -> None:
    for name, texts in VALUES.items():
        assert list(texts) == [item.name for item in getattr(encoding, name)], name


def test_every_word_of_a_descriptor_has_a_text() -> None:
    assert list(WORDS) == [word.name for word in encoding.CONFIG_FORMATS]


def test_keys_of_summaries_have_a_text() -> None:
    """The keys that network runs, compilations, models and syntheses write; status and match come from the commands."""
    image, metrics, _ = made_up(np.random.default_rng(1), ["conv"], replace(DEFAULT, rows=3))
    assert image.images == metrics["images"]
    assert metrics.keys() <= summary_keys.NETWORK.keys() | summary_keys.RUN.keys()
    assert list(metrics["layers"][0]) == list(summary_keys.NETWORK_LAYER)
    assert list(metrics["units"]) == list(summary_keys.UNITS)
    assert list(Performance.__annotations__) == list(summary_keys.COMPILATION)
    assert list(Layer.__annotations__) == list(summary_keys.COMPILATION_LAYER)
    assert set(Entry.__annotations__) == set(summary_keys.MODEL)


def test_markdown() -> None:
    assert table(("a", "b"), [(1, "x|y")]) == "| a | b |\n| --- | --- |\n| 1 | x\\|y |"
    text = docstring("Writes build/<test>.\n\n    eyrie docs [-o DIR]\n\nSee docs/howto/c.md and docs/reference/ir.md.")
    assert text.splitlines() == [
        "Writes build/&lt;test>.",
        "",
        "```text",
        "eyrie docs [-o DIR]",
        "```",
        "",
        "See [c.md](../howto/c.md) and [ir.md](ir.md).",
    ]


def test_every_name_of_a_record_is_in_the_page_of_operators() -> None:
    page = operators.text()
    listed = set(re.findall(r"`([\w:.]+)`", page))
    frameworks: tuple[Framework, ...] = ("onnx", "microsoft", "aten", "relax")
    known = {*of_tflite(), *(name for framework in frameworks for name in translators(framework))}
    assert len(known) > 150 and known <= listed
