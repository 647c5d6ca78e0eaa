# SPDX-License-Identifier: Apache-2.0
"""Processes that end with the block that started them."""

import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from eyrie.runtime.signals import held


@contextmanager
def process(command: Sequence[str], **options: object) -> Iterator[subprocess.Popen]:
    """A process in a group of its own. When the block ends, however it does, none of the group is left.

    options: of subprocess.Popen. An interrupt from the terminal reaches this process only, which then ends the
    group: nobody else prints about it.
    """
    started = None
    try:
        with held():
            started = subprocess.Popen(command, start_new_session=True, **options)
        yield started
    finally:
        if started is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(started.pid, signal.SIGKILL)
            started.wait()
