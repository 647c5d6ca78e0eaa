# SPDX-License-Identifier: Apache-2.0
"""Signals that end a process: what was begun is cleaned up on the way; some steps are not cut."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Terminated(SystemExit):
    """SIGTERM or SIGHUP came; status: the exit code, which is what a shell gives to a process that ended so."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


def clean_up_first() -> None:
    """From here on SIGTERM and SIGHUP raise Terminated, as SIGINT raises KeyboardInterrupt."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _terminate)


def _terminate(number: int, _frame: object) -> None:
    raise Terminated(128 + number)


@contextmanager
def held() -> Iterator[None]:
    """What ends the process waits until the block has ended: for steps after which there is something to clean
    up, like the start of a process."""
    if threading.current_thread() is not threading.main_thread():  # the only one that signals reach
        yield
        return
    came: list[int] = []
    before = {number: signal.signal(number, lambda number, _frame: came.append(number)) for number in ENDING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if came:
            signal.raise_signal(came[0])
