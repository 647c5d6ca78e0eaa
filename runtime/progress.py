# SPDX-License-Identifier: Apache-2.0
"""The progress of long tasks: a line that moves on a terminal, plain lines elsewhere.

    with progress.task("building the model of soc", "files") as task:
        task.at(12, 30)

Progress is shown only after a command line has called `show`. It goes to the standard error, so that the standard
output has results only.
"""

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

SILENCE_S = 10.0  # seconds between two lines of a log
SHORT_S = 1.0  # shorter work is not reported

_shown: TextIO | None = None
_moving = False
_number = ""  # of the current step, before the names of its tasks


def show(stream: TextIO | None = sys.stderr, moving: bool = True) -> None:
    """Show tasks on `stream` from here on, or on no stream if it is None.

    With `moving`, show a line that moves if the stream is a terminal. Such a line does not mix with other output.
    """
    global _shown, _moving
    able = stream is not None and stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"
    _shown, _moving = stream, moving and able


class Task:
    """A running task. Any thread may call `at` as often as it likes."""

    def __init__(self, name: str, unit: str) -> None:
        self.name, self.unit = name, unit
        self.done, self.total, self.detail = 0, 0, ""

    def at(self, done: int, total: int, detail: str = "") -> None:
        """Report that `done` of `total` units are done (0: not known); `detail` describes the current work."""
        self.done, self.total, self.detail = done, total, detail

    def say(self, detail: str) -> None:
        self.detail = detail

    @property
    def text(self) -> str:
        count = f"{self.done:,} of {self.total:,} {self.unit}".rstrip() if self.total else ""
        return ", ".join(part for part in (count, self.detail) if part)


@contextmanager
def step(number: int, count: int) -> Iterator[None]:
    """Number the tasks of the block: they belong to step `number` of `count`."""
    global _number
    before, _number = _number, f"[{number}/{count}] "
    try:
        yield
    finally:
        _number = before


@contextmanager
def task(name: str, unit: str = "") -> Iterator[Task]:
    """Show a task until the block ends; `unit` names the counted things, in the plural."""
    work = Task(_number + name, unit)
    if _shown is None:
        yield work
        return
    with (_on_terminal if _moving else _in_lines)(work, _shown):
        yield work


@contextmanager
def _on_terminal(work: Task, stream: TextIO) -> Iterator[None]:
    """Show one line that moves. If the task took long, leave a line with its time."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        SpinnerColumn,
        TextColumn,
        TimeElapsedColumn,
    )

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(24),
        TextColumn("{task.fields[text]}"),
        TimeElapsedColumn(),
    )
    start = time.monotonic()
    # The standard output is another stream, which may be redirected: it must not pass through here.
    with Progress(
        *columns, console=Console(file=stream), transient=True, redirect_stdout=False, redirect_stderr=False
    ) as bar:
        line = bar.add_task(work.name, total=None, text="")

        def draw() -> None:
            bar.update(line, total=work.total or None, completed=work.done, text=work.text)

        with _repeating(draw, 0.2):
            yield
    if time.monotonic() - start > SHORT_S:
        print(f"{work.name}: done ({time.monotonic() - start:.0f} s)", file=stream, flush=True)


@contextmanager
def _in_lines(work: Task, stream: TextIO) -> Iterator[None]:
    """Show a line every few seconds, the first after a short time, and one at the end if the task took long."""
    start, lines = time.monotonic(), 0

    def line() -> None:
        nonlocal lines
        seconds = time.monotonic() - start
        if seconds > lines * SILENCE_S + SHORT_S:
            text = f"{work.name}, {work.text or 'at work'} ({seconds:.0f} s)" if lines else f"{work.name} ..."
            print(text, file=stream, flush=True)
            lines += 1

    with _repeating(line, SHORT_S / 4):
        yield
    if lines > 1:
        print(f"{work.name}: done ({time.monotonic() - start:.0f} s)", file=stream, flush=True)


@contextmanager
def _repeating(action: Callable[[], None], period_s: float) -> Iterator[None]:
    """Call `action` every `period_s` seconds while the block runs."""
    ended = threading.Event()

    def repeat() -> None:
        while not ended.wait(period_s):
            with suppress(OSError):  # the reader has closed the pipe: the work continues
                action()

    thread = threading.Thread(target=repeat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
