# SPDX-License-Identifier: Apache-2.0
"""Signals that end a process: clean-up still runs, and some steps are not interrupted."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Terminated(SystemExit):
    """SIGTERM or SIGHUP arrived. `status` is the exit code that a shell reports for the signal."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


def clean_up_first() -> None:
    """Raise Terminated on SIGTERM and SIGHUP from here on, as SIGINT raises KeyboardInterrupt."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _terminate)


def _terminate(number: int, _frame: object) -> None:
    raise Terminated(128 + number)


@contextmanager
def held() -> Iterator[None]:
    """Delay ending signals until the block has ended.

    The block is a step that needs clean-up afterwards, such as the start of a process.
    """
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
