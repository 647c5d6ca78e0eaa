# SPDX-License-Identifier: Apache-2.0
"""runtime/progress.py: something is said, in lines or on a terminal, and nothing unless asked for."""

import io
import os
import pty
import re
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from eyrie.runtime import progress
from eyrie.runtime.folders import ROOT


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def silent_again(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TERM", "xterm")
    yield
    progress.show(None)


def test_nothing_unless_asked_for(capsys: pytest.CaptureFixture) -> None:
    with progress.task("work", "files") as task:
        task.at(1, 2)
    assert capsys.readouterr() == ("", "")


@pytest.fixture
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "SILENCE_S", 0.05)
    monkeypatch.setattr(progress, "SHORT_S", 0.02)


def test_lines(fast: None) -> None:
    stream = io.StringIO()
    progress.show(stream)
    with progress.task("work", "files") as task:
        task.at(1200, 3000, "one.cpp")
        while stream.getvalue().count("\n") < 3:
            time.sleep(0.01)
    first, *more, last = stream.getvalue().splitlines()
    assert first == "work ..." and last.startswith("work: done (")
    assert more and all(line.startswith("work, 1,200 of 3,000 files, one.cpp (") for line in more)


def test_steps_are_numbered(fast: None) -> None:
    stream = io.StringIO()
    progress.show(stream)
    with progress.step(2, 3), progress.task("work", "files") as task:
        task.at(8, 11)
        while stream.getvalue().count("\n") < 2:
            time.sleep(0.01)
    first, second, *_ = stream.getvalue().splitlines()
    assert first == "[2/3] work ..." and second.startswith("[2/3] work, 8 of 11 files (")


def test_of_short_work_nothing_is_said() -> None:
    stream = io.StringIO()
    progress.show(stream)
    with progress.task("work"):
        pass
    with pytest.raises(ValueError), progress.task("work"):
        raise ValueError
    assert stream.getvalue() == ""


def test_a_terminal_has_one_line_and_what_took_long_stays(fast: None) -> None:
    stream = Terminal()
    progress.show(stream)
    with progress.task("work", "files") as task:
        task.at(2, 2)
        while "2 of 2 files" not in stream.getvalue():
            time.sleep(0.01)
    assert re.search(r"work: done \(\d+ s\)\n$", stream.getvalue())


def test_what_fails_says_no_more(fast: None) -> None:
    stream = io.StringIO()
    progress.show(stream)
    with pytest.raises(ValueError), progress.task("work"):
        while not stream.getvalue():
            time.sleep(0.01)
        raise ValueError
    assert stream.getvalue() == "work ...\n"


def test_a_dumb_terminal_has_lines(fast: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    stream = Terminal()
    progress.show(stream)
    with progress.task("work"):
        while stream.getvalue().count("\n") < 2:
            time.sleep(0.01)
    assert "\x1b" not in stream.getvalue() and stream.getvalue().startswith("work ...\nwork, at work (")


def test_a_terminal_beside_a_redirected_output(tmp_path: Path) -> None:
    """What is printed goes to the standard output, all of it, while a line moves on the terminal."""
    code = (
        "import time; from eyrie.runtime import progress; progress.show()\n"
        "with progress.task('work'):\n"
        "    for n in range(40): print('x' * 200, n, flush=True); time.sleep(0.01)\n"
    )
    try:
        terminal, other = pty.openpty()
    except OSError:
        pytest.skip("no terminal is to be had here")
    with (tmp_path / "out.txt").open("w") as out:
        run = subprocess.Popen(
            [sys.executable, "-c", code], cwd=ROOT, stdout=out, stderr=other, env=os.environ | {"TERM": "xterm"}
        )
    os.close(other)
    seen = b""
    with suppress(OSError):  # at its end
        while chunk := os.read(terminal, 4096):
            seen += chunk
    assert run.wait() == 0 and b"work" in seen
    assert (tmp_path / "out.txt").read_text() == "".join(f"{'x' * 200} {n}\n" for n in range(40))
