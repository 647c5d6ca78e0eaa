# SPDX-License-Identifier: Apache-2.0
"""runtime/progress.py: something is said, in lines or on a terminal, and nothing unless asked for."""

import io
import time

import pytest

from runtime import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def silent_again():
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
    assert more and all(line.startswith("work: 1,200 of 3,000 files, one.cpp (") for line in more)


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
    assert stream.getvalue().endswith("work: done (0 s)\n")


def test_what_fails_says_no_more(fast: None) -> None:
    stream = io.StringIO()
    progress.show(stream)
    with pytest.raises(ValueError), progress.task("work"):
        while not stream.getvalue():
            time.sleep(0.01)
        raise ValueError
    assert stream.getvalue() == "work ...\n"
