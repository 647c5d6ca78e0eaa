# SPDX-License-Identifier: Apache-2.0
"""Command lines for tests: run in this process, which saves the start of Python and its libraries."""

import io
import re
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from eyrie.command_line import COMMANDS, FAULT, run_command
from eyrie.runtime.folders import ROOT

PROGRESS = re.compile(r".*( \.\.\.|\(\d+ s\))\n")  # of work that takes a while (runtime/progress.py)


@dataclass(frozen=True)
class Ended:
    """How a command ended, as subprocess.run says it."""

    returncode: int
    stdout: str
    stderr: str


def eyrie(name: str, *arguments: object) -> Ended:
    """Runs `eyrie NAME ...`; an exception other than SystemExit comes through."""
    assert name in COMMANDS
    out, err, code = io.StringIO(), io.StringIO(), 0
    with redirect_stdout(out), redirect_stderr(err):
        try:
            code = run_command(name, [str(argument) for argument in arguments])
        except SystemExit as end:
            code = end.code
    return Ended(code, out.getvalue(), err.getvalue())


def functional_run(folder: Path, model: bytes, values: np.ndarray) -> Ended:
    """Compiles a model and runs it on the functional simulator; the folder gets net.tflite, x.npy, net and y.npy."""
    (folder / "net.tflite").write_bytes(model)
    np.save(folder / "x.npy", values)
    assert eyrie("compile", folder / "net.tflite", "-o", folder / "net").returncode == 0
    files = "--input", folder / "x.npy", "--output", folder / "y.npy"
    return eyrie("run", folder / "net", *files, "--back-end", "functional")


def python(*arguments: object) -> subprocess.CompletedProcess:
    """Runs Python in a process of its own."""
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


def assert_rejected(run: Ended | subprocess.CompletedProcess, start: str) -> None:
    """The command failed and said so in one line that begins like this."""
    assert run.returncode != 0
    said = [line for line in run.stderr.splitlines(keepends=True) if not PROGRESS.fullmatch(line)]
    assert len(said) == 1 and said[0].endswith("\n") and said[0].startswith(start), run.stderr
    assert run.returncode != FAULT, run.stderr


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}
