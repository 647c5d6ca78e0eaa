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


def test_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "SILENCE_S", 0.05)
    stream = io.StringIO()
    progress.show(stream)
    with progress.task("work", "files") as task:
        task.at(1200, 3000, "one.cpp")
        while stream.getvalue().count("\n") < 3:
            time.sleep(0.01)
    first, *more, last = stream.getvalue().splitlines()
    assert first == "work ..." and last.startswith("  work: done (")
    assert more and all(line.startswith("  work: 1,200 of 3,000 files, one.cpp (") for line in more)


def test_short_work_is_one_line() -> None:
    stream = io.StringIO()
    progress.show(stream)
    with progress.task("work"):
        pass
    assert stream.getvalue() == "work ...\n"


def test_a_terminal_has_one_line_that_stays() -> None:
    stream = Terminal()
    progress.show(stream)
    with progress.task("work", "files") as task:
        task.at(2, 2)
    assert "work" in stream.getvalue() and "2 of 2 files" in stream.getvalue()


def test_a_failure_ends_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    progress.show(stream)
    with pytest.raises(ValueError), progress.task("work"):
        raise ValueError
    assert stream.getvalue() == "work ...\n"
