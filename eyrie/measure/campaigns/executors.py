# SPDX-License-Identifier: Apache-2.0
"""Workers of a campaign: processes of this computer, or a Dask cluster that runs already."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

from eyrie.compiler.frontend.extra import require
from eyrie.model.errors import InputError
from eyrie.runtime.signals import Terminated

CONNECT_S = 10
CLEAN_UP_S = 30  # that a stopped task may take


@dataclass(frozen=True)
class Workers:
    """The executor of tasks, and a function that returns the present number of workers."""

    executor: Executor
    count: Callable[[], int]


@contextmanager
def local(jobs: int) -> Iterator[Workers]:
    """Yield `jobs` processes. After an exception, running tasks are stopped."""
    before = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"), _prepare)
    try:
        yield Workers(pool, lambda: jobs)
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        children = set(multiprocessing.active_children()) - before
        for child in children:
            child.terminate()
        for child in children:
            child.join(CLEAN_UP_S)
        raise
    finally:
        pool.shutdown()


def _prepare() -> None:
    """Let a worker stop cleanly: at a signal, and if its parent has been killed. The parent handles SIGINT."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _terminate)
    threading.Thread(target=_follow, daemon=True).start()


def _terminate(number: int, _frame: object) -> None:
    """End the worker after the clean-up of its task, which a second signal must not interrupt."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise Terminated(128 + number)


def _follow() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)


@contextmanager
def cluster(address: str) -> Iterator[Workers]:
    """Yield the workers of a Dask scheduler. After an exception, tasks that have not begun are cancelled. Raise
    InputError, with one line."""
    distributed = require("distributed", "cluster")
    try:
        client = distributed.Client(address, timeout=CONNECT_S)
    except (OSError, ValueError) as error:
        raise InputError(
            f"--scheduler {address}: no Dask scheduler answers: start one with `dask scheduler`"
        ) from error
    with client:
        if not client.nthreads():
            raise InputError(f"--scheduler {address}: no worker: start some with `dask worker {address} --nthreads 1`")
        executor = client.get_executor(pure=False)
        try:
            yield Workers(executor, lambda: sum(client.nthreads().values()))
        except distributed.KilledWorker as error:
            raise InputError(
                f"--scheduler {address}: a task ended {error.allowed_failures + 1} workers (is memory short?): "
                f"look at the log of the worker {error.last_worker.address}"
            ) from error
        finally:
            executor.shutdown(wait=False)
