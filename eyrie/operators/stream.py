# SPDX-License-Identifier: Apache-2.0
"""Operators that run one after the other while the caller continues."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path

from eyrie.operators.status import OperatorError


@dataclass(frozen=True)
class Ran:
    """An operator that has run on the accelerator.

    folder   of its program (docs/concepts/compiler.md)
    cycles   by the accelerator's counter, from start to done
    clocked  clock cycles from the first register write to the end of the interrupt
    """

    name: str
    folder: Path
    cycles: int
    clocked: int


class Stream:
    """Operators in the order of their calls. If one fails, the following ones do not run.

    The streams of a handle share the accelerator, one operator at a time.
    """

    def __init__(self) -> None:
        self._worker = ThreadPoolExecutor(1, "eyrie-stream")
        self._lock = threading.Lock()  # for all fields below; not held while an operator runs
        self._queue: list = []
        self._failure: OperatorError | None = None
        self._ran: list[Ran] = []
        self.ran: tuple[Ran, ...] = ()  # of the last synchronisation

    def add(self, work: Callable[[], list[Ran]]) -> None:
        with self._lock:
            self._queue.append(self._worker.submit(self._run, work))

    def _run(self, work: Callable[[], list[Ran]]) -> None:
        with self._lock:
            if self._failure is not None:
                return
        try:
            ran = work()
        except OperatorError as failure:
            with self._lock:
                self._failure = failure
        else:
            with self._lock:
                self._ran += ran

    @property
    def cycles(self) -> int:
        """Return the clock cycles of the operators that the last synchronisation waited for, from the first register
        write.
        """
        return sum(ran.clocked for ran in self.ran)

    def synchronize(self) -> None:
        """Wait until all operators are done. Raise the OperatorError of a failed one, once."""
        with self._lock:
            queue, self._queue = self._queue, []
        wait(queue)
        with self._lock:
            if queue:
                self.ran, self._ran = tuple(self._ran), []
            failure, self._failure = self._failure, None
        for ended in queue:
            ended.result()
        if failure:
            raise failure

    def close(self) -> None:
        self._worker.shutdown(cancel_futures=True)
