# SPDX-License-Identifier: Apache-2.0
"""Processes that end with the block that started them."""

import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from eyrie.runtime.signals import held


@contextmanager
def process(
    command: Sequence[str],
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdin: int | None = None,
    stdout: int | IO[str] | IO[bytes] | None = None,
    stderr: int | IO[str] | IO[bytes] | None = None,
) -> Iterator[subprocess.Popen[str]]:
    """A process in a group of its own. When the block ends, however it does, none of the group is left.

    The rest is as subprocess.Popen has it, with text in its pipes. An interrupt from the terminal reaches this process
    only, which then ends the group: nobody else prints about it.
    """
    started = None
    try:
        with held():
            started = subprocess.Popen(
                command,
                cwd=cwd,
                env=env,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                text=True,
                errors="replace",
                start_new_session=True,
            )
        yield started
    finally:
        if started is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(started.pid, signal.SIGKILL)
            started.wait()
