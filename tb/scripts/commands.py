"""Command lines for tests: run in this process, which saves the start of Python and its libraries."""

import io
import runpy
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from tb.common.sources import ROOT


@dataclass(frozen=True)
class Ended:
    """How a command ended, as subprocess.run says it."""

    returncode: int
    stdout: str
    stderr: str


def call(name: str, *arguments: object) -> Ended:
    """Runs scripts/NAME.py, or `python -m NAME`; an exception other than SystemExit comes through."""
    script = ROOT / "scripts" / f"{name}.py"
    out, err, code = io.StringIO(), io.StringIO(), 0
    argv = [str(script) if script.exists() else name, *map(str, arguments)]
    path = [str(script.parent), *sys.path]
    with (patch.object(sys, "argv", argv), patch.object(sys, "path", path),
          redirect_stdout(out), redirect_stderr(err)):
        try:
            if script.exists():
                runpy.run_path(str(script), run_name="__main__")
            else:
                runpy.run_module(name, run_name="__main__")
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
            if isinstance(end.code, str):
                print(end.code, file=err)
    return Ended(code, out.getvalue(), err.getvalue())


def python(*arguments: object) -> subprocess.CompletedProcess:
    """The same as a process of its own."""
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


def assert_refused(run: Ended | subprocess.CompletedProcess, start: str) -> None:
    """The command failed and said so in one line that begins like this."""
    assert run.returncode != 0
    assert run.stderr.startswith(start), run.stderr
    assert run.stderr.count("\n") == 1 and run.stderr.endswith("\n") and "Traceback" not in run.stderr


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}
