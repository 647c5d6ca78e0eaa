# SPDX-License-Identifier: Apache-2.0
"""Bad input ends in one line: tests/commands/bad_inputs has the commands and what each says, word for word."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from eyrie.command_line import COMMANDS
from eyrie.runtime import folders
from eyrie.runtime.folders import ROOT
from tests.commands import bad_files
from tests.commands.transcript import Entry, entries, lines_said, run

FILES = sorted((ROOT / "tests" / "commands" / "bad_inputs").glob("*.txt"))
ENTRIES = [entry for file in FILES for entry in entries(file)]
# What people do not write: Python's classes, tuples and lists, numbers of system errors, usage, absolute paths.
PYTHON = re.compile(
    r"\w+(Error|Exception)\b|<class|object at|\(\d+,|\[\d+,|Posix|NoneType|Errno|Traceback|"
    r"usage:|argument -|/tmp/"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("bad")
    bad_files.make(made)
    return made


def contents(folder: Path) -> dict[str, tuple]:
    """Everything in a folder: kind, size and time of its last change."""
    found = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        found[os.fsdecode(path.relative_to(folder))] = (status.st_mode, status.st_size, status.st_mtime_ns)
    return found


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: f"{entry.file.stem}-{entry.number}")
def test_says_one_line_and_leaves_nothing(entry: Entry, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = _watched(monkeypatch)
    before, beside = contents(folder), {path.name for path in ROOT.iterdir()} | {"build"}
    ended = run(entry.command, folder)
    said = lines_said(ended)
    assert said == [entry.said + "\n"], f"{entry}\n- {entry.said}\n+ {'+ '.join(said)}"
    assert ended.returncode != 0 and not ended.stdout, f"{entry}\nexit code {ended.returncode}, {ended.stdout}"
    assert contents(folder) == before and {path.name for path in ROOT.iterdir()} <= beside, entry
    assert not [place for place in begun if place.exists()], entry


def _watched(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The folders that a command begins to fill; none may take its place."""
    begun: list[Path] = []
    own_folder = folders._own_folder

    @contextmanager
    def recorded(target: Path) -> Iterator[Path]:
        with own_folder(target) as own:
            begun.append(own)
            yield own

    monkeypatch.setattr(folders, "_own_folder", recorded)
    monkeypatch.setattr(folders, "_take_place", lambda own, target: pytest.fail(f"writes {target}"))
    return begun


def test_the_lines_are_for_people() -> None:
    assert len(ENTRIES) >= 250
    for entry in ENTRIES:
        assert not PYTHON.search(entry.said), f"{entry}\n{entry.said}"
        assert re.match(r"eyrie( [\w-]+)?: ", entry.said), entry


def test_every_command_is_there() -> None:
    named = {word for entry in ENTRIES for word in re.findall(r"(?:eyrie|make) ([\w-]+)", entry.command)}
    assert set(COMMANDS) <= named


def test_commands_of_the_transcript_are_different() -> None:
    commands = [entry.command for entry in ENTRIES]
    assert len(commands) == len(set(commands))


def test_a_difference_is_found(folder: Path) -> None:
    entry = next(entry for entry in ENTRIES if entry.command.startswith("eyrie compile nosuch"))
    wrong = Entry(entry.file, entry.number, "eyrie compile net.tflite --dump import", entry.said)
    assert lines_said(run(wrong.command, folder)) != [entry.said + "\n"]
