# SPDX-License-Identifier: Apache-2.0
"""eyrie/command_line.py: a fault of Eyrie is told from a mistake in the input; version, groups, caches."""

import os
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

import eyrie as package
from eyrie.command_line import COMMANDS, FAULT, GROUPS, add_options, main, module_name
from eyrie.commands import cache, ids
from eyrie.compiler.command_line import Parser
from eyrie.model.errors import InputError
from eyrie.runtime import folders
from tests.commands.commands import eyrie, functional_run, python
from tests.commands.small_nets import separable

IDS = ("ids", "--e", "8", "--p", "4", "--q", "4", "--r", "1", "--t", "2")


def raising(error: Exception):
    def run(options: object) -> None:
        raise error

    return run


@pytest.mark.parametrize(
    "error", [ValueError("of a library"), KeyError("name"), AssertionError(), ZeroDivisionError("x")]
)
def test_a_fault_is_called_one(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ids, "run", raising(error))
    ended = eyrie(*IDS)
    assert ended.returncode == FAULT and ended.stderr.count("\n") == 1
    assert ended.stderr.startswith(f"eyrie ids: a fault of Eyrie ({type(error).__name__}: {error}): please report it")
    place = Path(re.search(r"traceback in (\S+)$", ended.stderr.strip())[1])
    assert f"{type(error).__name__}" in place.read_text() and "Traceback" in place.read_text()
    place.unlink()


def test_debug_shows_the_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ids, "run", raising(ValueError("of a library")))
    ended = eyrie(*IDS, "--debug")
    assert ended.returncode == FAULT and "Traceback (most recent call last)" in ended.stderr
    assert ended.stderr.splitlines()[-1].endswith("with the command line and the traceback above")


def test_a_mistake_in_the_input_is_not_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ids, "run", raising(InputError("net.tflite: is empty: give a model")))
    ended = eyrie(*IDS)
    assert (ended.returncode, ended.stderr) == (1, "eyrie ids: net.tflite: is empty: give a model\n")


def test_unknown_variables_of_make() -> None:
    """All variables that `make help` lists are known, with any value; another one is an error."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}

    def make(*words: str) -> subprocess.CompletedProcess:
        return subprocess.run(["make", *words], cwd=folders.ROOT, env=environment, capture_output=True, text=True)

    known = re.findall(r"^(\w+) *\?=", (folders.ROOT / "Makefile").read_text(), re.MULTILINE)
    ended = make("help", *(f"{name}=a 'b' X=1" for name in known))
    assert ended.returncode == 0 and not ended.stderr and all(f"\n  {name} " in ended.stdout for name in known)
    ended = make("help", "IMAG=nosuch.png")
    assert ended.returncode == 2 and "unknown variable IMAG: make help lists" in ended.stderr and not ended.stdout


def test_version(capsys: pytest.CaptureFixture) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"eyrie {package.__version__}\n"


def test_optimised_python() -> None:
    """With -O everything works; with -OO, which removes docstrings, Eyrie says that it does not run."""
    words = ["-m", "eyrie", "compile", "nosuch.tflite", "-o", "out"]
    assert python("-O", *words).stderr.startswith("eyrie compile: nosuch.tflite: cannot be read")
    ended = python("-OO", *words)
    assert ended.returncode == 2 and ended.stderr == f"eyrie: {package.NO_DOCSTRINGS}\n"
    ended = python("-OO", "-c", "import eyrie; eyrie.load")
    assert ended.stderr.splitlines()[-1] == f"RuntimeError: {package.NO_DOCSTRINGS}"


def test_every_command_is_in_one_group_and_has_a_file() -> None:
    files = {path.stem for path in (folders.ROOT / "eyrie" / "commands").glob("*.py")} - {"__init__"}
    assert files == set(map(module_name, COMMANDS))
    assert len(COMMANDS) == sum(map(len, GROUPS.values())) == len(set(COMMANDS))


@pytest.mark.parametrize("name", COMMANDS)
def test_every_argument_has_a_help_text(name: str) -> None:
    parser = Parser(prog=f"eyrie {name}")
    add_options(parser, name)
    assert not [action.dest for action in parser._actions if not action.help]


def test_caches_are_shown_and_cleared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders, "BUILD", tmp_path / "build")
    for name in ("models/fifo-1", "programs/net-2", "demo"):
        (tmp_path / "build" / name).mkdir(parents=True)
        (tmp_path / "build" / name / "file").write_bytes(bytes(500_000))
    shown = eyrie("cache").stdout.splitlines()
    assert [line.split(" MB  ")[0].strip() for line in shown] == ["0.5", "0.5", "0.5", "1.5"]
    assert shown[-1].endswith(f"in all: {tmp_path / 'build'}")
    (tmp_path / "build" / "mine.txt").write_text("kept")
    assert "removed" in eyrie("cache", "--clear").stdout
    assert [path.name for path in (tmp_path / "build").iterdir()] == ["mine.txt"]
    (tmp_path / "build" / "mine.txt").unlink()
    eyrie("cache", "--clear")
    assert not (tmp_path / "build").exists() and set(cache.CACHES) >= {"models", "socs", "programs"}


def test_clearing_leaves_the_files_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders, "BUILD", tmp_path)
    files = [tmp_path / name for name in ("asm/hand.s", "c/net.c", "schedule/apart.txt", "compile/layout.json")]
    files += [tmp_path / name / "mine.txt" for name in COMMANDS if name not in cache.RESULTS]
    results = [tmp_path / name for name in ("schedule/net.html", "graph/net.svg", "run/report.html")]
    for file in files + results:
        file.parent.mkdir(exist_ok=True)
        file.touch()
    eyrie("cache", "--clear")
    assert all(file.exists() for file in files) and not any(file.exists() for file in results)


def test_a_golden_run_says_what_it_wrote(tmp_path: Path) -> None:
    run = functional_run(tmp_path, separable(np.random.default_rng(1)), np.zeros((2, 8, 8, 3), np.int8))
    assert run.stdout.startswith(f"{tmp_path / 'y.npy'}: int8 2 x ")
