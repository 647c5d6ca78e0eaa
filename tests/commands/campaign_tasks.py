# SPDX-License-Identifier: Apache-2.0
"""Tasks of the campaigns in test_campaigns.py, and threads as workers."""

import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from eyrie.measure.campaigns.executors import Workers
from eyrie.measure.campaigns.task import Result, Task
from eyrie.model.errors import InputError


@contextmanager
def in_threads(jobs: int) -> Iterator[Workers]:
    """Stands for executors.local: tasks see what a test has replaced."""
    with ThreadPoolExecutor(jobs) as pool:
        yield Workers(pool, lambda: jobs)


def begin(value: str) -> None:
    """Called when a task `echo` begins; tests replace it."""


def echo(folder: Path, value: str, data: bytes = b"", more: int = 1) -> Result:
    assert folder.is_dir() and not list(folder.iterdir())
    begin(value)
    return Result({"value": value}, {"log.txt": value.encode()}, "it is bad" if value == "bad" else None)


def echoes(*values: str) -> list[Task]:
    return [Task(value, echo, {"value": value, "data": b"1", "more": 1}, f"eyrie echo {value}") for value in values]


def wait(folder: Path, file: str) -> Result:
    while not Path(file).exists():
        time.sleep(0.01)
    return Result({"value": "waited"})


def touch(folder: Path, file: str) -> Result:
    Path(file).touch()
    return Result({"value": "touched"})


def fail(folder: Path) -> Result:
    raise InputError("it fails")


def stay(folder: Path, file: str) -> Result:
    """Leave the number of the process in a file, and do not end."""
    part = Path(f"{file}.part")
    part.write_text(str(os.getpid()))
    part.rename(file)
    while True:
        time.sleep(1)


def die(folder: Path, file: str, times: int) -> Result:
    """Kill the worker, unless that happened so many times."""
    with Path(file).open("a") as count:
        count.write("x")
    if len(Path(file).read_text()) <= times:
        os.kill(os.getpid(), signal.SIGKILL)
    return Result({"value": "survived"})
