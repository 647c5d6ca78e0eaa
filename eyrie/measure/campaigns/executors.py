# SPDX-License-Identifier: Apache-2.0
"""Workers of a campaign: processes of this computer, or a Dask cluster that runs already."""

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager

from eyrie.compiler.frontend.extra import require
from eyrie.model.errors import InputError
from eyrie.runtime.signals import clean_up_first

CONNECT_S = 10
SIGNAL_S = 0.5  # seconds between two signals to a worker


@contextmanager
def local(jobs: int) -> Iterator[Executor]:
    """Yield `jobs` processes. After an exception, running tasks are stopped."""
    pool = ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"), _prepare)
    before = set(multiprocessing.active_children())
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        for child in set(multiprocessing.active_children()) - before:
            while child.is_alive():  # a task ends at a signal, and the worker when it waits for the next task
                child.terminate()
                child.join(SIGNAL_S)
        raise
    finally:
        pool.shutdown()


def _prepare() -> None:
    """Let a worker stop cleanly: at a signal, and if its parent has been killed. The parent handles SIGINT."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    clean_up_first()
    threading.Thread(target=_follow, daemon=True).start()


def _follow() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    while True:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(SIGNAL_S)


@contextmanager
def cluster(address: str) -> Iterator[Executor]:
    """Yield the workers of a Dask scheduler. Raise InputError, with one line."""
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
        try:
            with client.get_executor(pure=False) as executor:
                yield executor
        except distributed.KilledWorker as error:
            raise InputError(
                f"--scheduler {address}: a task ended {error.allowed_failures + 1} workers (is memory short?): "
                f"look at the log of the worker {error.last_worker.address}"
            ) from error
