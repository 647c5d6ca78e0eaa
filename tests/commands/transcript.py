# SPDX-License-Identifier: Apache-2.0
"""Transcripts: commands, and the line that each ends in.

    # A remark.
    $ eyrie compile nosuch.tflite -o out
    eyrie compile: nosuch.tflite: cannot be read (No such file or directory): check the path

A line behind `$` is the shell's. `eyrie` runs in this process, which saves time; what begins
otherwise, like `make` or `timeout 500 eyrie`, in a shell.

    python -m tests.commands.transcript FILE ...

writes what the commands say today into the files: read what changes.
"""

import codecs
import os
import re
import shlex
import subprocess
import sys
import tempfile
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path

from eyrie.runtime.folders import ROOT
from tests.commands.commands import PROGRESS, Ended, eyrie

CAP_S = 600  # after which a process hangs
_BYTES = re.compile(r"\$'((?:[^'\\]|\\.)*)'")  # $'...' of a shell: a word with escape sequences


@dataclass(frozen=True)
class Entry:
    """A command and what it is to say; `number`: of its line in the file."""

    file: Path
    number: int
    command: str
    said: str

    def __str__(self) -> str:
        return f"{self.file.name}:{self.number}: $ {self.command}"


def entries(file: Path) -> list[Entry]:
    found, lines = [], [*file.read_text().splitlines(), ""]
    for number, line in enumerate(lines, 1):
        if line.startswith("$ "):
            said = lines[number]
            found.append(Entry(file, number, line[2:], "" if said.startswith(("$ ", "#")) else said))
    return found


def run(command: str, folder: Path) -> Ended:
    """Runs a command in a folder; make runs in the repository's."""
    if command.startswith("eyrie "):
        with chdir(folder):
            return eyrie(*words(command)[1:])
    # Without the variables of a make that runs the tests: with them this one talks about folders.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    environment["PATH"] = f"{ROOT / '.venv' / 'bin'}:{environment['PATH']}"
    place = ROOT if command.startswith("make ") else folder
    ended = subprocess.run(
        ["bash", "-c", command],
        cwd=place,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=CAP_S,
    )
    return Ended(ended.returncode, ended.stdout, ended.stderr)


def words(command: str) -> list[str]:
    """Of a command line, as a shell takes it apart."""
    found: dict[str, str] = {}

    def keep(match: re.Match) -> str:
        name = f"__word{len(found)}__"
        found[name] = os.fsdecode(codecs.decode(match[1], "unicode_escape").encode("latin-1"))
        return name

    parts = shlex.split(_BYTES.sub(keep, command))
    return [re.sub(r"__word\d+__", lambda name: found[name[0]], part) for part in parts]


def lines_said(ended: Ended) -> list[str]:
    """On standard error, without what says how far long work is, and without make's own line."""
    lines = ended.stderr.splitlines(keepends=True)
    return [line for line in lines if not PROGRESS.fullmatch(line) and not line.startswith("make: ***")]


def write(file: Path, folder: Path) -> None:
    """Puts what is said today into a file."""
    lines = file.read_text().splitlines()
    for entry in reversed(entries(file)):
        said = "".join(lines_said(run(entry.command, folder))).rstrip("\n")
        lines[entry.number : entry.number + bool(entry.said)] = [said]
    file.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    from tests.commands import bad_files

    with tempfile.TemporaryDirectory() as name:
        bad_files.make(Path(name))
        for argument in sys.argv[1:]:
            write(Path(argument), Path(name))
