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
    """Start a process in a new process group. When the block ends, in any way, the whole group is stopped.

    The other arguments are as in subprocess.Popen, with text in the pipes. An interrupt from the terminal reaches this
    process only, which then stops the group. The group prints no message about it.
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
            if started.returncode is None:
                _reap(started)


def _reap(child: subprocess.Popen[str]) -> None:
    """Wait for a killed process. A signal that interrupted Popen.wait may have left its lock taken, for ever."""
    with suppress(ChildProcessError):
        _, status = os.waitpid(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
